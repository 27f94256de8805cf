/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/clocks.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "base/log.h"
#include "base/tasks.h"
#include "kern/abi.h"

#define MAX_SCANS 100 /* how often a task list that never stops growing is looked at */

#define ONLINE "/sys/devices/system/cpu/online"

struct clocks {
	uint64_t interval;
	int thread_prog, cpu_prog;
	int *cpu_fd;	   /* -1 or less: it has none */
	size_t ncpu;	   /* that there may be */
	char online[1024]; /* which there are, as the kernel writes it */
	int *fd;	   /* of threads */
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

/* Which CPUs there are. "": that cannot be read, and is taken for a set that never changes. */
static void online_read(char *buf, size_t cap)
{
	int fd = open(ONLINE, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, cap - 1);

	buf[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		close(fd);
}

/*
 * Opens the clocks of all CPUs, each in place of the one that it has. A CPU that is offline has
 * none, which is no error. 0, or the first -errno; the clocks that could not be opened are as they
 * were.
 */
static int cpu_clocks_renew(struct clocks *c, int *cpu)
{
	int rc = 0;

	online_read(c->online, sizeof(c->online));
	for (size_t i = 0; i < c->ncpu; i++) {
		int fd = event_open(c, -1, (int)i, c->cpu_prog);
		bool is_offline = fd == -ENODEV || fd == -ENXIO;

		if (fd < 0 && !is_offline) {
			*cpu = rc ? *cpu : (int)i;
			rc = rc ? rc : fd;
			continue;
		}
		if (c->cpu_fd[i] >= 0)
			close(c->cpu_fd[i]);
		c->cpu_fd[i] = fd;
	}
	return rc;
}

static int cpu_error(struct error *e, int rc, int cpu)
{
	char what[32];

	snprintf(what, sizeof(what), "CPU %d", cpu);
	return event_error(e, rc, what);
}

static int cpu_clocks_open(struct clocks *c, struct error *e)
{
	int n = libbpf_num_possible_cpus(), cpu, rc;
	size_t opened = 0;

	if (n < 0)
		return error_set(e, n, EXIT_KERNEL, "cannot count the CPUs: %s", strerror(-n));
	c->cpu_fd = malloc((size_t)n * sizeof(*c->cpu_fd));
	if (!c->cpu_fd)
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	for (c->ncpu = 0; c->ncpu < (size_t)n; c->ncpu++)
		c->cpu_fd[c->ncpu] = -1;
	rc = cpu_clocks_renew(c, &cpu);
	if (rc)
		return cpu_error(e, rc, cpu);
	for (size_t i = 0; i < c->ncpu; i++)
		opened += c->cpu_fd[i] >= 0;
	return opened ? 0 : event_error(e, -ENODEV, "any CPU");
}

int clocks_interval(struct clocks *c, uint64_t interval_ns, struct error *e)
{
	uint64_t before = c->interval;
	int cpu, rc;

	if (before == interval_ns)
		return 0;
	c->interval = interval_ns;
	rc = cpu_clocks_renew(c, &cpu);
	if (!rc)
		return 0;
	c->interval = before; /* to be tried again */
	return cpu_error(e, rc, cpu);
}

int clocks_follow(struct clocks *c, struct error *e)
{
	char online[sizeof(c->online)];
	int cpu, rc;

	online_read(online, sizeof(online));
	if (!strcmp(online, c->online))
		return 0;
	rc = cpu_clocks_renew(c, &cpu);
	return rc ? cpu_error(e, rc, cpu) : 1;
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
