/* SPDX-License-Identifier: Apache-2.0 */
#include "push/follower.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "push/follow.h"

#define PIPE_BYTES (1 << 20) /* some thousand chunks */
#define AGAIN_MS   1000	     /* before another one is made in place of one that was lost */

/* ---- the process, and whoever makes it ------------------------------------------------------- */

static void whole_begin(void)
{
	setpgid(0, 0); /* what ends us at a terminal is told to it by the pipe */
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	prctl(PR_SET_NAME, "gnomon-push");
	prctl(PR_SET_CHILD_SUBREAPER, 1); /* those of one that was lost become ours */
}

/* How it ended. What else ends is of one that was there before, or of a helper's. */
static int end_await(pid_t pid)
{
	int status = 0;
	pid_t ended;

	do
		ended = waitpid(-1, &status, 0);
	while (ended != pid && (ended >= 0 || errno == EINTR));
	return status;
}

/*
 * Until all that it has left have ended, who send from the same spools: they do once they see that
 * nobody tells them anything any more.
 */
static void left_await(void)
{
	while (waitpid(-1, NULL, 0) >= 0 || errno == EINTR)
		;
}

static void parent_main(const struct follower *f, const struct follower_config *cfg, int in)
{
	whole_begin();
	for (;;) {
		pid_t pid = fork();
		int status;

		if (!pid)
			_exit(follow(cfg, in, f->delivery) ? EXIT_INTERNAL : EXIT_OK);
		status = pid > 0 ? end_await(pid) : -1;
		if (pid > 0 && WIFEXITED(status))
			_exit(WEXITSTATUS(status));
		log_warn("the process that has recordings sent was lost; another one is made");
		left_await();
		poll(NULL, 0, AGAIN_MS);
	}
}

/* ---- for others ------------------------------------------------------------------------------ */

static void shared_free(struct follower *f)
{
	if (f->delivery)
		munmap(f->delivery, sizeof(*f->delivery));
	*f = (struct follower){.in = -1};
}

static int failed(struct follower *f, int err, struct error *e)
{
	shared_free(f);
	return error_set(e, -err, EXIT_INTERNAL, "cannot start the process that sends: %s",
			 strerror(err));
}

int follower_start(struct follower *f, const struct follower_config *cfg, struct error *e)
{
	void *shared = mmap(NULL, sizeof(*f->delivery), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int p[2];

	*f = (struct follower){.in = -1};
	f->delivery = shared == MAP_FAILED ? NULL : shared;
	if (!f->delivery || pipe2(p, O_CLOEXEC))
		return failed(f, errno, e);
	f->pid = fork();
	if (!f->pid) {
		close(p[1]);
		parent_main(f, cfg, p[0]);
	}
	close(p[0]);
	if (f->pid < 0) {
		int err = errno;

		close(p[1]);
		return failed(f, err, e);
	}
	/* what was sent is nobody's to say who is made later, and names */
	madvise(f->delivery, sizeof(*f->delivery), MADV_DONTFORK);
	f->in = p[1];
	fcntl(f->in, F_SETFL, O_NONBLOCK);
	fcntl(f->in, F_SETPIPE_SZ, PIPE_BYTES); /* more than the usual 64 KB is no need */
	return 0;
}

struct finished_to follower_to(struct follower *f)
{
	return (struct finished_to){.fd = f->in, .untold = &f->untold};
}

void follower_read(const struct follower *f, struct delivery *d)
{
	delivery_read(f->delivery, d);
	d->untold = atomic_load(&f->untold);
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
	shared_free(f);
	return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_OK;
}
