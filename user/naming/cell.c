/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/cell.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/inherit.h"
#include "broker/broker.h"
#include "target/procfs.h"

#define LOOK_MS 2
#define FREE_MS 200

struct cell {
	pid_t pid;	 /* 0: it has ended */
	uint64_t cpu_ns; /* then */
};

/* ---- in the cell ---- */

/* Keeps stderr and those; stdin and stdout lead nowhere. */
static void begin(const int *fds, size_t n)
{
	int keep[INHERIT_MAX], null = open("/dev/null", O_RDWR);

	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	for (size_t i = 0; i < n; i++)
		keep[i] = fds[i];
	inherit_begin("gnomon-spare", keep, n + broker_descriptors(keep + n));
}

static void files_allow(void)
{
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl))
		return;
	rl.rlim_cur = rl.rlim_max;
	setrlimit(RLIMIT_NOFILE, &rl);
}

/* The death of whoever made us is ours. */
static void run(pid_t parent, void (*main)(void *arg), void *arg, const int *fds, size_t n)
{
	begin(fds, n);
	files_allow();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == parent)
		main(arg);
	_exit(0);
}

/* ---- for others ---- */

int cell_start(struct cell **out, void (*main)(void *arg), void *arg, const int *fds, size_t n)
{
	struct cell *c = n <= (INHERIT_MAX - 2) ? calloc(1, sizeof(*c)) : NULL;
	pid_t parent = getpid();

	if (!c)
		return -ENOMEM;
	c->pid = fork();
	if (!c->pid)
		run(parent, main, arg, fds, n);
	if (c->pid < 0) {
		int rc = -errno;

		free(c);
		return rc;
	}
	*out = c;
	return 0;
}

int cell_of(struct cell **out, pid_t pid)
{
	struct cell *c = calloc(1, sizeof(*c));

	if (!c) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		return -ENOMEM;
	}
	c->pid = pid;
	*out = c;
	return 0;
}

pid_t cell_pid(const struct cell *c)
{
	return c->pid;
}

void cell_kill(struct cell *c)
{
	if (c->pid)
		kill(c->pid, SIGKILL);
}

static uint64_t time_ns(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_usec * 1000u;
}

static bool ended_take(struct cell *c)
{
	struct rusage used;
	int status;

	if (c->pid && wait4(c->pid, &status, WNOHANG, &used) == c->pid) {
		c->pid = 0;
		c->cpu_ns = time_ns(&used.ru_utime) + time_ns(&used.ru_stime);
	}
	return !c->pid;
}

bool cell_wait(struct cell *c, int ms)
{
	struct timespec ts = {0, LOOK_MS * 1000000};
	uint64_t until = now_ns() + (uint64_t)ms * 1000000;

	while (!ended_take(c) && now_ns() < until)
		nanosleep(&ts, NULL);
	return !c->pid;
}

void cell_free(struct cell *c)
{
	if (!c)
		return;
	cell_kill(c);
	cell_wait(c, FREE_MS);
	free(c);
}

uint64_t cell_cpu_ns(const struct cell *c)
{
	struct timespec ts;
	clockid_t clock;

	if (!c->pid || clock_getcpuclockid(c->pid, &clock) || clock_gettime(clock, &ts))
		return c->cpu_ns;
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* What it shares with us is ours. */
uint64_t cell_memory(const struct cell *c)
{
	char text[4096];
	const char *at;

	if (!c->pid || proc_read(c->pid, "status", text, sizeof(text)) <= 0)
		return 0;
	at = strstr(text, "RssAnon:");
	return at ? strtoull(at + strlen("RssAnon:"), NULL, 10) * 1024 : 0;
}

uint64_t cell_delay_ns(const struct cell *c)
{
	unsigned long long ran, waited;
	char text[128];

	if (!c->pid || proc_read(c->pid, "schedstat", text, sizeof(text)) <= 0 ||
	    sscanf(text, "%llu %llu", &ran, &waited) != 2)
		return 0;
	return waited;
}
