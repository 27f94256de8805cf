/* SPDX-License-Identifier: Apache-2.0 */
#include "push/follower.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "push/follow.h"

#define PIPE_BYTES (1 << 20) /* some thousand chunks */

struct follower_page {
	struct delivery delivery;
	_Atomic uint64_t untold;
};

static void run(const struct follower_config *cfg, int in, struct follower_page *page)
{
	setpgid(0, 0); /* what ends us at a terminal is told to it by the pipe */
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	prctl(PR_SET_NAME, "gnomon-push");
	_exit(follow(cfg, in, &page->delivery) ? EXIT_INTERNAL : EXIT_OK);
}

static int failed(struct follower *f, int err, struct error *e)
{
	if (f->page)
		munmap(f->page, sizeof(*f->page));
	*f = (struct follower){.in = -1};
	return error_set(e, -err, EXIT_INTERNAL, "cannot start the process that sends: %s",
			 strerror(err));
}

int follower_start(struct follower *f, const struct follower_config *cfg, struct error *e)
{
	int p[2];

	*f = (struct follower){.in = -1};
	f->page = mmap(NULL, sizeof(*f->page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (f->page == MAP_FAILED)
		f->page = NULL;
	if (!f->page || pipe2(p, O_CLOEXEC))
		return failed(f, errno, e);
	f->pid = fork();
	if (!f->pid) {
		close(p[1]);
		run(cfg, p[0], f->page);
	}
	close(p[0]);
	if (f->pid < 0) {
		int err = errno;

		close(p[1]);
		return failed(f, err, e);
	}
	f->in = p[1];
	fcntl(f->in, F_SETFL, O_NONBLOCK);
	fcntl(f->in, F_SETPIPE_SZ, PIPE_BYTES); /* more than the usual 64 KB is no need */
	return 0;
}

struct finished_to follower_to(const struct follower *f)
{
	return (struct finished_to){.fd = f->in, .untold = &f->page->untold};
}

void follower_read(const struct follower *f, struct delivery *d)
{
	delivery_read(&f->page->delivery, d);
	d->untold = atomic_load(&f->page->untold);
}

bool follower_finish(struct follower *f, struct delivery *d)
{
	int status = -1;

	*d = (struct delivery){0};
	if (f->pid <= 0)
		return true;
	close(f->in);
	while (waitpid(f->pid, &status, 0) < 0 && errno == EINTR)
		;
	follower_read(f, d);
	munmap(f->page, sizeof(*f->page));
	*f = (struct follower){.in = -1};
	return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_OK;
}
