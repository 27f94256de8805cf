/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/mould.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fdmsg.h"
#include "naming/cell.h"
#include "naming/confine.h"

#define COPY_MS 10000 /* it takes a millisecond, and longer on a busy machine */

struct mould {
	struct cell *cell;
	int ours, theirs;
	mould_main_fn main;
	void *arg;
	pid_t session; /* whose children the copies are */
};

/* ---- the process ---- */

/* All of the descriptors, or nothing: false at the end. */
static bool fds_take(int from, int fds[MOULD_FDS])
{
	char byte;
	struct fdmsg with;

	if (fdmsg_take(from, &(struct iovec){&byte, 1}, 1, &with, 0) < 0)
		return false;
	if (with.n == MOULD_FDS) {
		memcpy(fds, with.fds, sizeof(with.fds[0]) * MOULD_FDS);
		return true;
	}
	fdmsg_close(&with, 0);
	return false;
}

/* Where one of these fails its caller finds nobody at the other end. */
static void copy_main(const struct mould *m, const int fds[MOULD_FDS])
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != m->session)
		_exit(0);
	close(m->theirs);
	prctl(PR_SET_NAME, "gnomon-namer");
	if (!confine_calls())
		m->main(m->arg, fds);
	_exit(0);
}

/* Its number, or -errno. There is one thread, so nothing has to be put in order for a fork. */
static int copy_make(const struct mould *m, const int fds[MOULD_FDS])
{
	long pid = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);

	if (!pid)
		copy_main(m, fds);
	return pid < 0 ? -errno : (int)pid;
}

static void mould_main(void *arg)
{
	const struct mould *m = arg;
	int fds[MOULD_FDS], confined = confine_mould();

	while (fds_take(m->theirs, fds)) {
		int rc = confined ? confined : copy_make(m, fds);

		for (size_t i = 0; i < MOULD_FDS; i++)
			close(fds[i]);
		if (send(m->theirs, &rc, sizeof(rc), MSG_NOSIGNAL) != sizeof(rc))
			break;
	}
}

/* ---- for others ---- */

int mould_start(struct mould **out, mould_main_fn main, void *arg, int keep)
{
	struct mould *m = calloc(1, sizeof(*m));
	int fds[2], ends[2], rc;
	size_t n = 1;

	if (!m)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) {
		rc = -errno;
		free(m);
		return rc;
	}
	*m = (struct mould){
		.ours = ends[0],
		.theirs = ends[1],
		.main = main,
		.arg = arg,
		.session = getpid(),
	};
	fds[0] = m->theirs;
	if (keep > 0)
		fds[n++] = keep;
	rc = cell_start(&m->cell, mould_main, m, fds, n);
	close(m->theirs);
	m->theirs = -1;
	*out = m;
	if (rc) {
		mould_stop(m);
		*out = NULL;
	}
	return rc;
}

void mould_stop(struct mould *m)
{
	if (!m)
		return;
	close(m->ours);
	cell_free(m->cell);
	free(m);
}

static int fds_send(int to, const int fds[MOULD_FDS])
{
	char byte = 0;

	return fdmsg_send(to, &(struct iovec){&byte, 1}, 1, fds, MOULD_FDS, 0);
}

int mould_copy(struct mould *m, const int fds[MOULD_FDS], struct cell **out)
{
	struct pollfd p = {.fd = m->ours, .events = POLLIN};
	int rc = fds_send(m->ours, fds), pid;

	if (rc)
		return rc;
	while (poll(&p, 1, COPY_MS) < 0 && errno == EINTR)
		;
	if (recv(m->ours, &pid, sizeof(pid), MSG_DONTWAIT) != sizeof(pid))
		return -ECHILD;
	return pid < 0 ? pid : cell_of(out, pid);
}

uint64_t mould_cpu_ns(const struct mould *m)
{
	return m ? cell_cpu_ns(m->cell) : 0;
}

uint64_t mould_memory(const struct mould *m)
{
	return m ? cell_memory(m->cell) : 0;
}
