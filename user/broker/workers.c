/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/workers.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fdmsg.h"
#include "base/shared.h"
#include "base/rights.h"
#include "broker/grants.h"

#define READY	 2	      /* workers that wait for work, or do some */
#define END_NS	 200000000ull /* the ends of those that do not hang are waited for */
#define AGAIN_MS 1000 /* after so long it is tried again to make those that could not be made */
#define SLOTS	 64 /* of which the others hang: with more, nothing is opened until one comes back */

/*
 * In memory that all of them share, and those that ask: who believes it is misled at most. A
 * process's number is 0 where there is none.
 */
struct slot {
	_Atomic uint64_t id; /* what it does; 0: nothing */
	_Atomic pid_t pid;
};

/* The same as their parent has it, which kills by it. */
static struct worker {
	pid_t pid;
	bool lost; /* given up */
} made[SLOTS];

struct board {
	struct slot slots[SLOTS];
	_Atomic uint64_t cpu_ns;
};

struct workers {
	const struct board *board;
	int asks;    /* for workers */
	int control; /* for their parent: what is given up */
	pid_t parent;
};

/* ---- a worker ---- */

/*
 * What opening takes: to look into others' processes and directories, and by map_files. The rest
 * goes for good, so also what a program would get that has more rights than who starts it.
 */
static void rights_lessen(void)
{
	const unsigned int keep[] = {CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_CHECKPOINT_RESTORE};

	rights_keep(keep, sizeof(keep) / sizeof(*keep));
}

/* Whether the other end of the socket is closed: nobody waits for the answer any more. */
static bool is_closed(int fd)
{
	struct pollfd p = {.fd = fd};

	return poll(&p, 1, 0) > 0 && p.revents & POLLHUP;
}

static void bytes_answer(const struct opening_ask *ask, int at, int to)
{
	static char bytes[OPENING_BYTES];
	int n = opening_bytes(ask, at, bytes);
	struct opening_answer a = {.rc = n < 0 ? n : 0, .len = n < 0 ? 0 : (uint32_t)n};
	const struct iovec v[2] = {{&a, sizeof(a)}, {bytes, a.len}};

	fdmsg_send(to, v, 2, NULL, 0, MSG_DONTWAIT);
}

static void answer(const struct opening_ask *ask, int at, int to)
{
	struct opening_answer a = {0};
	const struct iovec v = {&a, sizeof(a)};
	bool gives = opening_gives(ask);
	int fd = opening_do(ask, at, &a.file);

	a.rc = fd < 0 ? fd : 0;
	fdmsg_send(to, &v, 1, &fd, fd >= 0 && gives, MSG_DONTWAIT);
	if (fd >= 0 && gives)
		close(fd);
}

/* Of one that is bound: what it says of that itself does not count. */
static void limits_set(struct opening_ask *ask, pid_t asker)
{
	ask->bound = grants_is_bound(asker);
	ask->denied = !grants_has(asker, ask->pid);
	ask->uid = ask->bound ? grants_uid(asker, ask->pid) : GRANTS_ANY;
	if (ask->kind != OPENING_TEXTS && ask->kind != OPENING_LINKS)
		return;
	ask->denied = 0;
	for (uint32_t i = 0; i < ask->npids && i < OPENING_PIDS; i++)
		if (!grants_has(asker, ask->pids[i]))
			ask->pids[i] = 0;
}

static void worker_main(struct board *b, struct slot *s, int asks)
{
	uint64_t told = 0, used;
	struct opening_ask ask;
	const struct iovec v = {&ask, sizeof(ask)};
	struct fdmsg with;

	prctl(PR_SET_NAME, "gnomon-opener");
	for (;;) {
		ssize_t got = fdmsg_take(asks, &v, 1, &with, 0);

		if (got < 0)
			_exit(0);
		ask.path[sizeof(ask.path) - 1] = '\0';
		if (got == sizeof(ask) && with.n == 2 && !is_closed(with.fds[1])) {
			s->id = ask.id;
			limits_set(&ask, with.sender);
			(opening_room(&ask) ? bytes_answer : answer)(&ask, with.fds[0],
								     with.fds[1]);
			s->id = 0;
		}
		fdmsg_close(&with, 0);
		used = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
		b->cpu_ns += used - told;
		told = used;
	}
}

/* ---- their parent ---- */

static void worker_make(struct board *b, int asks, int control, int children)
{
	struct slot *s;
	pid_t pid;
	int at = 0;

	while (at < SLOTS && made[at].pid)
		at++;
	if (at == SLOTS)
		return;
	s = &b->slots[at];
	s->id = 0;
	pid = fork();
	if (!pid) {
		close(control);
		close(children);
		worker_main(b, s, asks);
	}
	made[at] = (struct worker){.pid = pid < 0 ? 0 : pid};
	s->pid = made[at].pid;
}

static int workers_ready(void)
{
	int ready = 0;

	for (int i = 0; i < SLOTS; i++)
		ready += made[i].pid && !made[i].lost;
	return ready;
}

/* Whether there are as many as there should be. */
static bool workers_fill(struct board *b, int asks, int control, int children)
{
	for (int missing = READY - workers_ready(); missing > 0; missing--)
		worker_make(b, asks, control, children);
	return workers_ready() >= READY;
}

static void ended_reap(struct board *b)
{
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		for (int i = 0; i < SLOTS; i++)
			if (made[i].pid == pid)
				b->slots[i].pid = made[i].pid = 0;
}

/* Those that hang end when what they wait for does; nobody waits for them. */
static void all_end(void)
{
	uint64_t until = now_ns() + END_NS;

	for (int i = 0; i < SLOTS; i++)
		if (made[i].pid)
			kill(made[i].pid, SIGKILL);
	while (now_ns() < until && waitpid(-1, NULL, WNOHANG) >= 0)
		poll(NULL, 0, 1);
	_exit(0);
}

static void lost_take(struct board *b, int control)
{
	uint64_t id;
	struct fdmsg with;
	ssize_t got = fdmsg_take(control, &(struct iovec){&id, sizeof(id)}, 1, &with, 0);

	if (got < 0)
		all_end();
	fdmsg_close(&with, 0);
	if (got != sizeof(id) || !id ||
	    (grants_is_bound(with.sender) && (pid_t)(id >> 32) != with.sender))
		return; /* nothing of its own */
	for (int i = 0; i < SLOTS; i++) {
		if (b->slots[i].id != id || !made[i].pid || made[i].lost)
			continue;
		made[i].lost = true;
		kill(made[i].pid, SIGKILL);
	}
}

/* Descriptors of whoever made us would be held by a worker that hangs. */
static void others_close(int a, int b)
{
	int low = a < b ? a : b, high = a < b ? b : a;

	if (low > 0)
		close_range(0, (unsigned int)low - 1, 0);
	if (high > low + 1)
		close_range((unsigned int)low + 1, (unsigned int)high - 1, 0);
	close_range((unsigned int)high + 1, UINT_MAX, 0);
}

/*
 * In a session of its own, so that the terminal's signals are for whoever made us: all end when
 * that closes its sockets.
 */
static void parent_main(struct board *b, int asks, int control)
{
	struct pollfd on[2];
	struct signalfd_siginfo si;
	sigset_t set;

	others_close(asks, control);
	setsid();
	sigfillset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	prctl(PR_SET_NAME, "gnomon-broker");
	rights_lessen();
	on[0] = (struct pollfd){.fd = control, .events = POLLIN};
	on[1] = (struct pollfd){.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK),
				.events = POLLIN};
	for (;;) {
		poll(on, 2, workers_fill(b, asks, control, on[1].fd) ? -1 : AGAIN_MS);
		if (on[0].revents)
			lost_take(b, control);
		while (read(on[1].fd, &si, sizeof(si)) == sizeof(si))
			;
		ended_reap(b);
	}
}

/* ---- for who asks ---- */

static pid_t parent_fork(struct board *b, int asks, int control)
{
	pid_t pid = fork();

	if (!pid)
		parent_main(b, asks, control);
	return pid < 0 ? -errno : pid;
}

static void ends_close(int ends[2])
{
	for (int i = 0; i < 2; i++)
		if (ends[i] >= 0)
			close(ends[i]);
}

/* 0 or -errno; of the sockets' ends the first are ours. */
static int parent_make(struct workers *w, const int asks[2], const int control[2])
{
	void *board;
	int fd = shared_begin("gnomon-openers", sizeof(*w->board), &board), rc;

	if (fd < 0)
		return fd;
	rc = w->parent = parent_fork(board, asks[1], control[1]);
	if (rc > 0)
		rc = shared_end(fd, sizeof(*w->board), &board);
	else
		close(fd);
	w->board = board;
	return rc;
}

int workers_start(struct workers **out)
{
	int asks[2] = {-1, -1}, control[2] = {-1, -1}, rc = 0;
	struct workers *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, asks) ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control))
		rc = -errno;
	if (!rc)
		rc = grants_open();
	if (!rc)
		rc = grants_listen(asks[1]);
	if (!rc)
		rc = grants_listen(control[1]);
	if (!rc)
		rc = parent_make(w, asks, control);
	if (rc) {
		ends_close(asks);
		ends_close(control);
		if (w->board)
			munmap((void *)w->board, sizeof(*w->board));
		free(w);
		return rc;
	}
	close(asks[1]);
	close(control[1]);
	w->asks = asks[0];
	w->control = control[0];
	*out = w;
	return 0;
}

int workers_ask(struct workers *w, const struct opening_ask *ask, int at, int answer)
{
	int fds[2] = {at, answer};

	return fdmsg_send(w->asks, &(struct iovec){(void *)ask, sizeof(*ask)}, 1, fds, 2,
			  MSG_DONTWAIT);
}

pid_t workers_who(const struct workers *w, uint64_t id)
{
	for (int i = 0; i < SLOTS; i++)
		if (w->board->slots[i].id == id)
			return w->board->slots[i].pid;
	return 0;
}

void workers_give_up(struct workers *w, uint64_t id)
{
	fdmsg_send(w->control, &(struct iovec){&id, sizeof(id)}, 1, NULL, 0, MSG_DONTWAIT);
}

void workers_stop(struct workers *w)
{
	/* who was made of us and hangs has them, too, and will not close them */
	shutdown(w->asks, SHUT_RDWR);
	shutdown(w->control, SHUT_RDWR);
	close(w->asks);
	close(w->control);
	waitpid(w->parent, NULL, 0);
	munmap((void *)w->board, sizeof(*w->board));
	free(w);
}

int workers_asks(const struct workers *w)
{
	return w->asks;
}

size_t workers_descriptors(const struct workers *w, int fds[2])
{
	fds[0] = w->asks;
	fds[1] = w->control;
	return 2;
}

uint64_t workers_cpu_ns(const struct workers *w)
{
	return w->board->cpu_ns;
}
