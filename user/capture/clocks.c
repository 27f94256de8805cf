/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/clocks.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "base/tasks.h"
#include "kern/abi.h"

#define MAX_SCANS 100 /* how often a task list that never stops growing is looked at */

struct clocks {
	uint64_t interval;
	int thread_prog, cpu_prog;
	int *cpu_fd;
	size_t ncpu;
	int *fd; /* of threads */
	pid_t *tid;
	size_t n, cap;
};

/* See GN_CPU_CLOCK_KEEP. Never 0: intervals are 100us and more. */
static uint64_t cpu_period(uint64_t interval)
{
	return interval * GN_CPU_CLOCK_KEEP / 1000;
}

static int event_open(const struct clocks *c, pid_t tid, int cpu, int prog)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = cpu < 0 ? c->interval : cpu_period(c->interval),
		.disabled = 1,
		.exclude_idle = 1,
		.inherit = cpu < 0,
		.inherit_thread = cpu < 0,
	};
	int fd, rc;

	fd = (int)syscall(SYS_perf_event_open, &attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, prog) || ioctl(fd, PERF_EVENT_IOC_ENABLE, 0)) {
		rc = -errno;
		close(fd);
		return rc;
	}
	return fd;
}

static int event_error(struct error *e, int rc, const char *what)
{
	if (rc == -EACCES || rc == -EPERM) {
		error_set(e, rc, EXIT_PERMISSION, "not permitted to open a CPU clock for %s", what);
		return error_hint(e, "run as root, or with CAP_PERFMON");
	}
	return error_set(e, rc, EXIT_KERNEL, "cannot open a CPU clock for %s: %s", what,
			 strerror(-rc));
}

/* A CPU that is offline has no clock, which is no error. */
static int cpu_clocks_open(struct clocks *c, struct error *e)
{
	long n = sysconf(_SC_NPROCESSORS_CONF);
	size_t opened = 0;
	char what[32];

	c->cpu_fd = calloc((size_t)n, sizeof(*c->cpu_fd));
	if (!c->cpu_fd)
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	for (c->ncpu = 0; c->ncpu < (size_t)n; c->ncpu++) {
		int fd = event_open(c, -1, (int)c->ncpu, c->cpu_prog);

		c->cpu_fd[c->ncpu] = fd;
		if (fd >= 0) {
			opened++;
		} else if (fd != -ENODEV && fd != -ENXIO) {
			snprintf(what, sizeof(what), "CPU %zu", c->ncpu);
			return event_error(e, fd, what);
		}
	}
	return opened ? 0 : event_error(e, -ENODEV, "any CPU");
}

int clocks_interval(struct clocks *c, uint64_t interval_ns, struct error *e)
{
	int rc = 0;

	if (c->interval == interval_ns)
		return 0;
	c->interval = interval_ns;
	for (size_t i = 0; i < c->ncpu; i++) {
		int fd = event_open(c, -1, (int)i, c->cpu_prog);

		if (fd < 0) {
			rc = fd == -ENODEV || fd == -ENXIO ? rc : fd;
			continue;
		}
		if (c->cpu_fd[i] >= 0)
			close(c->cpu_fd[i]);
		c->cpu_fd[i] = fd;
	}
	return rc ? event_error(e, rc, "a CPU") : 0;
}

static void files_limit_raise(void)
{
	struct rlimit rl;

	if (!getrlimit(RLIMIT_NOFILE, &rl) && rl.rlim_cur < rl.rlim_max) {
		rl.rlim_cur = rl.rlim_max;
		setrlimit(RLIMIT_NOFILE, &rl);
	}
}

int clocks_open(struct clocks **out, uint64_t interval_ns, int thread_prog, int cpu_prog,
		struct error *e)
{
	struct clocks *c = calloc(1, sizeof(*c));
	int rc;

	if (!c)
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	files_limit_raise();
	c->interval = interval_ns;
	c->thread_prog = thread_prog;
	c->cpu_prog = cpu_prog;
	rc = cpu_clocks_open(c, e);
	if (rc) {
		clocks_close(c);
		return rc;
	}
	*out = c;
	return 0;
}

/* The index of tid in tid[], which is sorted, or where it would be inserted. */
static size_t tid_find(const struct clocks *c, pid_t tid)
{
	size_t lo = 0, hi = c->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (c->tid[mid] < tid)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static int thread_room(struct clocks *c)
{
	size_t cap = c->cap ? c->cap * 2 : 256;
	pid_t *tid;
	int *fd;

	if (c->n < c->cap)
		return 0;
	tid = realloc(c->tid, cap * sizeof(*tid));
	if (!tid)
		return -ENOMEM;
	c->tid = tid;
	fd = realloc(c->fd, cap * sizeof(*fd));
	if (!fd)
		return -ENOMEM;
	c->fd = fd;
	c->cap = cap;
	return 0;
}

/* 1 if the thread is new and has its clock now, 0 if there was nothing to do. */
static int thread_add(struct clocks *c, pid_t tid)
{
	size_t at = tid_find(c, tid);
	int fd;

	if (at < c->n && c->tid[at] == tid)
		return 0;
	if (thread_room(c))
		return -ENOMEM;
	fd = event_open(c, tid, -1, c->thread_prog);
	if (fd == -ESRCH)
		return 0; /* ended meanwhile */
	if (fd < 0)
		return fd;
	memmove(c->tid + at + 1, c->tid + at, (c->n - at) * sizeof(*c->tid));
	memmove(c->fd + at + 1, c->fd + at, (c->n - at) * sizeof(*c->fd));
	c->tid[at] = tid;
	c->fd[at] = fd;
	c->n++;
	return 1;
}

/* Number of threads that were new, or -errno. */
static int threads_scan(struct clocks *c, pid_t tgid)
{
	pid_t *tids = NULL;
	int added = 0, rc;
	size_t n;

	rc = tasks_read(tgid, &tids, &n);
	for (size_t i = 0; i < n && rc >= 0; i++) {
		rc = thread_add(c, tids[i]);
		added += rc > 0;
	}
	free(tids);
	return rc < 0 ? rc : added;
}

void clocks_drop(struct clocks *c)
{
	for (size_t i = 0; i < c->n; i++)
		close(c->fd[i]);
	c->n = 0;
}

int clocks_add(struct clocks *c, pid_t tgid, struct error *e)
{
	char what[32];
	int rc = 1;

	if (c->thread_prog < 0)
		return 0;
	for (int i = 0; rc > 0 && i < MAX_SCANS; i++)
		rc = threads_scan(c, tgid);
	if (rc >= 0)
		return 0;
	if (rc == -EMFILE || rc == -ENFILE) {
		clocks_drop(c);
		return -EMFILE;
	}
	if (rc == -ESRCH)
		return error_set(e, rc, EXIT_TARGET, "process %d is gone", tgid);
	snprintf(what, sizeof(what), "process %d", tgid);
	return event_error(e, rc, what);
}

size_t clocks_count(const struct clocks *c)
{
	return c->n;
}

void clocks_close(struct clocks *c)
{
	if (!c)
		return;
	clocks_drop(c);
	for (size_t i = 0; i < c->ncpu; i++)
		if (c->cpu_fd[i] >= 0)
			close(c->cpu_fd[i]);
	free(c->cpu_fd);
	free(c->fd);
	free(c->tid);
	free(c);
}
