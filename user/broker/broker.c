/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beat.h"
#include "base/clock.h"
#include "base/fdmsg.h"
#include "base/log.h"
#include "broker/grants.h"
#include "broker/opening.h"
#include "broker/workers.h"

#define LOOK_MS	   50 /* a worker that takes longer is looked at so often */
#define LOOKS	   (BROKER_ANSWER_MS / LOOK_MS) /* so many times it must be seen waiting */
#define QUEUE_NS   60000000000ull		/* for so long a worker is waited for at most */
#define MEMORY_NS  30000000000ull		/* who took long is remembered for so long */
#define SPENT_MAX  64
#define OWN_TIMES  3 /* a process may let so many questions wait for as long as that */
#define USER_TIMES 6 /* and all of a user together so many */

_Static_assert(BROKER_TEXTS == OPENING_PIDS && BROKER_TEXT_BYTES == OPENING_SLOT, "as asked");

static struct workers *workers;
static bool reliant;
static _Atomic uint32_t last_id; /* several processes ask, who are told by it, too */

int broker_start(void)
{
	int rc = workers ? 0 : workers_start(&workers);

	if (rc)
		log_warn("files of targets are opened without a time limit: %s", strerror(-rc));
	return rc;
}

void broker_stop(void)
{
	if (workers)
		workers_stop(workers);
	workers = NULL;
	reliant = false;
	grants_close();
}

size_t broker_descriptors(int fds[2])
{
	return workers ? workers_descriptors(workers, fds) : 0;
}

uint64_t broker_cpu_ns(void)
{
	return workers ? workers_cpu_ns(workers) : 0;
}

/* ---- patience ---- */

/* What a process has made who asks wait for of late. */
static struct patience {
	pid_t pid;
	uid_t uid;
	int looks;
	uint64_t until_ns; /* it is remembered */
} spent[SPENT_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool any_spent;

/* Whose process it is; root for one that may not be looked into. */
static uid_t owner_of(pid_t pid)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", pid);
	return stat(path, &st) ? 0 : st.st_uid;
}

/*
 * Whether there is no time left for the process: it has had its own, or its user his, however many
 * he has. Root's are many people's: those of containers.
 */
static bool is_spent(pid_t pid, uint64_t now)
{
	uid_t uid = any_spent ? owner_of(pid) : 0;
	int own = 0, users = 0;

	if (!any_spent)
		return false;
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < SPENT_MAX; i++) {
		if (now >= spent[i].until_ns)
			continue;
		own += spent[i].pid == pid ? spent[i].looks : 0;
		users += uid && spent[i].uid == uid ? spent[i].looks : 0;
	}
	pthread_mutex_unlock(&lock);
	return own >= OWN_TIMES * LOOKS || users >= USER_TIMES * LOOKS;
}

bool broker_waited(pid_t pid)
{
	uint64_t now = now_ns();
	bool waited = false;

	if (!any_spent)
		return false;
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < SPENT_MAX; i++)
		waited |= spent[i].pid == pid && now < spent[i].until_ns && spent[i].looks >= LOOKS;
	pthread_mutex_unlock(&lock);
	return waited;
}

/* The process's entry, or a new one in place of that which is forgotten first. */
static struct patience *entry_of(pid_t pid, uint64_t now)
{
	struct patience *oldest = spent;

	for (size_t i = 0; i < SPENT_MAX; i++) {
		if (spent[i].pid == pid && now < spent[i].until_ns)
			return &spent[i];
		if (spent[i].until_ns < oldest->until_ns)
			oldest = &spent[i];
	}
	*oldest = (struct patience){.pid = pid, .uid = owner_of(pid)};
	return oldest;
}

static void spend(pid_t pid, int looks)
{
	uint64_t now = now_ns();
	struct patience *p;
	bool first;

	pthread_mutex_lock(&lock);
	p = entry_of(pid, now);
	first = p->looks < LOOKS && p->looks + looks >= LOOKS;
	p->looks += looks;
	p->until_ns = now + MEMORY_NS;
	any_spent = true;
	pthread_mutex_unlock(&lock);
	if (first)
		log_info("process %d: a file could not be opened within %d s", pid,
			 BROKER_ANSWER_MS / 1000);
}

/* ---- asking ---- */

/* Whether the process waits for something else than a CPU. */
static bool is_waiting(pid_t pid)
{
	char path[32], text[512], *close_paren;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return true;
	text[n] = '\0';
	close_paren = strrchr(text, ')');
	return !close_paren || close_paren[1] != ' ' || close_paren[2] != 'R';
}

/*
 * Waits until there is an answer. A worker that is kept from working by others on this machine is
 * not the target's fault: what counts is how often it is seen waiting.
 */
static int answer_await(const struct opening_ask *ask, int from)
{
	struct pollfd p = {.fd = from, .events = POLLIN};
	uint64_t queued = now_ns();
	int seen = 0;

	while (!poll(&p, 1, LOOK_MS)) {
		pid_t who = workers_who(workers, ask->id);

		beat_step();
		if (!who && now_ns() - queued > QUEUE_NS)
			return -EBUSY;
		if (who && is_waiting(who))
			seen++;
		else
			beat_ours();
		if (seen < LOOKS)
			continue;
		workers_give_up(workers, ask->id);
		spend(ask->pid, seen);
		return -ETIMEDOUT;
	}
	if (seen)
		spend(ask->pid, seen);
	return 0;
}

/* The descriptor, 0 if none is wanted, how many `bytes` came, or -errno. */
static int answer_read(const struct opening_ask *ask, int from, struct broker_file *file,
		       void *bytes)
{
	struct opening_answer a;
	struct iovec v[2] = {{&a, sizeof(a)}, {bytes, opening_room(ask)}};
	struct fdmsg with;
	ssize_t got = fdmsg_take(from, v, 2, &with, MSG_DONTWAIT);
	int fd = fdmsg_only(&with);

	if (got < (ssize_t)sizeof(a) || got != (ssize_t)(sizeof(a) + a.len)) {
		fdmsg_close(&with, 0);
		return -EIO; /* the worker has died */
	}
	*file = a.file;
	if (a.rc || !opening_gives(ask)) {
		fdmsg_close(&with, 0);
		return a.rc ? a.rc : (int)a.len;
	}
	return fd < 0 ? -EIO : fd;
}

/* Others may ask so much that there is no room just now. */
static int ask_send(const struct opening_ask *ask, int at, int answer)
{
	struct pollfd p = {.fd = workers_asks(workers), .events = POLLOUT};
	uint64_t until = now_ns() + QUEUE_NS;
	int rc;

	while ((rc = workers_ask(workers, ask, at, answer)) == -EAGAIN && now_ns() < until) {
		poll(&p, 1, LOOK_MS);
		beat_ours();
	}
	return rc;
}

static int worker_do(struct opening_ask *ask, int at, struct broker_file *file, void *bytes)
{
	int ends[2], rc;

	if (is_spent(ask->pid, now_ns()))
		return -ETIMEDOUT;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	ask->id = (uint64_t)getpid() << 32 | ++last_id;
	rc = ask_send(ask, at, ends[1]);
	close(ends[1]);
	if (!rc)
		rc = answer_await(ask, ends[0]);
	if (!rc)
		rc = answer_read(ask, ends[0], file, bytes);
	close(ends[0]);
	return rc;
}

static int ask_do(struct opening_ask *ask, int at, const char *path, struct broker_file *file)
{
	struct broker_file unused;

	file = file ? file : &unused;
	if (path && snprintf(ask->path, sizeof(ask->path), "%s", path) >= (int)sizeof(ask->path))
		return -ENAMETOOLONG;
	return workers ? worker_do(ask, at, file, NULL) : opening_do(ask, at, file);
}

int broker_below(pid_t pid, int root, const char *path, struct broker_file *file)
{
	struct opening_ask ask = {.kind = OPENING_BELOW, .pid = pid};

	return ask_do(&ask, root, path, file);
}

int broker_rooted(pid_t pid, int proc_fd, const char *path, struct broker_file *file)
{
	struct opening_ask ask = {.kind = OPENING_ROOTED, .pid = pid};

	return ask_do(&ask, proc_fd, path, file);
}

int broker_exe(pid_t pid, int proc_fd)
{
	struct opening_ask ask = {.kind = OPENING_EXE, .pid = pid};

	return ask_do(&ask, proc_fd, NULL, NULL);
}

int broker_mapped(pid_t pid, int proc_fd, const struct broker_mapping *m, const char *path,
		  struct broker_file *file)
{
	struct opening_ask ask = {.kind = OPENING_MAPPED, .pid = pid, .mapping = *m};

	return ask_do(&ask, proc_fd, path, file);
}

int broker_is_mapped(pid_t pid, int proc_fd, const struct broker_mapping *m, const char *path)
{
	struct opening_ask ask = {
		.kind = OPENING_MAPPED, .pid = pid, .mapping = *m, .look = 1, .path_only = 1};

	return ask_do(&ask, proc_fd, path, NULL);
}

int broker_directory(pid_t pid, int root, const char *path)
{
	struct opening_ask ask = {.kind = OPENING_DIRECTORY, .pid = pid};

	return ask_do(&ask, root, path, NULL);
}

int broker_answers(pid_t pid, int proc_fd, const struct broker_mapping *m)
{
	struct opening_ask ask = {.kind = OPENING_ANSWERS, .pid = pid, .mapping = *m};

	return ask_do(&ask, proc_fd, NULL, NULL);
}

/* Bytes: how many, or -errno. */
static int bytes_do(struct opening_ask *ask, int at, void *to)
{
	struct broker_file unused;

	return workers ? worker_do(ask, at, &unused, to) : opening_bytes(ask, at, to);
}

int broker_memory(pid_t pid, int mem_fd, uint64_t addr, void *dst, size_t len)
{
	struct opening_ask ask = {.kind = OPENING_MEMORY, .pid = pid};
	int rc = 0;

	for (size_t done = 0; rc >= 0 && done < len; done += OPENING_BYTES) {
		size_t n = len - done < OPENING_BYTES ? len - done : OPENING_BYTES;

		ask.mapping.start = addr + done;
		ask.mapping.end = ask.mapping.start + n;
		rc = bytes_do(&ask, mem_fd, (char *)dst + done);
	}
	return rc < 0 ? rc : 0;
}

/* ---- the kernel's own files of a process ---- */

void broker_rely(void)
{
	reliant = workers;
}

bool broker_is_relied_on(void)
{
	return reliant;
}

static int proc_ask(struct opening_ask *ask, const char *name)
{
	return snprintf(ask->path, sizeof(ask->path), "%s", name) < (int)sizeof(ask->path)
		       ? 0
		       : -ENAMETOOLONG;
}

int broker_proc_open(pid_t pid, const char *name, int flags)
{
	struct opening_ask ask = {.kind = OPENING_PROC, .pid = pid, .flags = (uint32_t)flags};

	return ask_do(&ask, workers_asks(workers), name, NULL);
}

int broker_proc_text(pid_t pid, const char *name, char *buf, size_t cap)
{
	struct opening_ask ask = {.kind = OPENING_TEXT, .pid = pid, .room = (uint32_t)(cap - 1)};
	int rc = proc_ask(&ask, name), n;

	if (rc)
		return rc;
	n = bytes_do(&ask, workers_asks(workers), buf);
	buf[n < 0 ? 0 : n] = '\0';
	return n;
}

int broker_proc_link(pid_t pid, const char *name, char *buf, size_t cap)
{
	struct opening_ask ask = {.kind = OPENING_LINK, .pid = pid, .room = (uint32_t)(cap - 1)};
	int rc = proc_ask(&ask, name), n;

	if (rc)
		return rc;
	n = bytes_do(&ask, workers_asks(workers), buf);
	buf[n < 0 ? 0 : n] = '\0';
	return n;
}

int broker_user(uid_t uid, char *buf, size_t cap)
{
	struct opening_ask ask = {
		.kind = OPENING_USER, .pid = getpid(), .flags = uid, .room = (uint32_t)(cap - 1)};
	int n = bytes_do(&ask, workers ? workers_asks(workers) : -1, buf);

	buf[n < 0 ? 0 : n] = '\0';
	return n;
}

/* Nobody's own time is spent on it: who is slow is found by asking for each alone. */
int broker_proc_texts(const pid_t *pids, size_t n, const char *name, bool link,
		      char (*texts)[BROKER_TEXT_BYTES])
{
	struct opening_ask ask = {.kind = link ? OPENING_LINKS : OPENING_TEXTS,
				  .npids = (uint32_t)n};
	int rc = n > BROKER_TEXTS ? -E2BIG : proc_ask(&ask, name);

	if (rc || !n)
		return rc;
	memcpy(ask.pids, pids, n * sizeof(*pids));
	rc = bytes_do(&ask, workers_asks(workers), texts);
	if (rc >= 0 && rc != (int)(n * BROKER_TEXT_BYTES))
		rc = -EIO;
	return rc < 0 ? rc : 0;
}
