/* SPDX-License-Identifier: Apache-2.0 */
#include "target/neighbours.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "target/procfs.h"

#define TRIES	      10
#define CLOSE_NS      2000000u
#define PROCESSES_MAX 32768 /* if there are more, those found later count in the sum alone */

struct cpu_use {
	pid_t pid;
	uint64_t start; /* clock ticks since boot: with the pid, which process it is */
	uint64_t ns;
	char comm[PROC_COMM_LEN];
};

struct look {
	struct cpu_use *v; /* by pid, ascending */
	size_t n;
	uint64_t time_ns, busy_ns;
};

struct neighbours {
	struct look first;
	struct cpu_use *each; /* used since the first look, by name */
	size_t neach;
	uint64_t period_ns, machine_ns;
};

static int on_pid(pid_t pid, void *arg)
{
	struct look *l = arg;
	struct proc_stat st;
	struct cpu_use *u;

	if (proc_stat_read(pid, 0, &st))
		return 0; /* it has ended */
	u = &l->v[l->n++];
	*u = (struct cpu_use){
		.pid = pid, .start = st.start, .ns = proc_ticks_ns(st.utime + st.stime)};
	memcpy(u->comm, st.comm, sizeof(u->comm));
	return l->n == PROCESSES_MAX;
}

static int pid_order(const void *a, const void *b)
{
	const struct cpu_use *x = a, *y = b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

/* Reads the machine's sum and the time, as close to each other as a busy machine allows. */
static int sum_take(struct look *l)
{
	int rc = 0;

	for (int i = 0; i < TRIES && !rc; i++) {
		l->time_ns = now_ns();
		rc = host_busy_read(&l->busy_ns);
		if (now_ns() - l->time_ns < CLOSE_NS)
			break;
	}
	return rc;
}

static int look_take(struct look *l)
{
	struct cpu_use *v;
	int rc;

	*l = (struct look){.v = malloc(PROCESSES_MAX * sizeof(*l->v))};
	if (!l->v)
		return -ENOMEM;
	rc = sum_take(l);
	if (!rc)
		rc = proc_each(on_pid, l) < 0 ? -EIO : 0;
	v = realloc(l->v, (l->n + 1) * sizeof(*l->v));
	l->v = v ? v : l->v;
	qsort(l->v, l->n, sizeof(*l->v), pid_order);
	return rc;
}

struct neighbours *neighbours_new(void)
{
	struct neighbours *n = calloc(1, sizeof(*n));

	if (n && look_take(&n->first)) {
		neighbours_free(n);
		return NULL;
	}
	return n;
}

void neighbours_free(struct neighbours *n)
{
	if (!n)
		return;
	free(n->first.v);
	free(n->each);
	free(n);
}

/* Subtracts from the second look what each process had used at the first. */
static void since_first(const struct look *first, struct look *l)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct cpu_use *was =
			bsearch(&l->v[i], first->v, first->n, sizeof(*first->v), pid_order);

		if (was && was->start == l->v[i].start)
			l->v[i].ns -= was->ns < l->v[i].ns ? was->ns : l->v[i].ns;
	}
}

static int name_order(const void *a, const void *b)
{
	const struct cpu_use *x = a, *y = b;
	int rc = strncmp(x->comm, y->comm, sizeof(x->comm));

	return rc ? rc : x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : pid_order(a, b);
}

static int most_order(const void *a, const void *b)
{
	const struct neighbour *x = a, *y = b;

	return x->cpu_ns < y->cpu_ns ? 1 : x->cpu_ns > y->cpu_ns ? -1 : x->pid - y->pid;
}

/*
 * Makes one entry of the processes of one name, as a build or a pool has them. `v` is sorted by
 * name.
 */
static size_t names_sum(const struct cpu_use *v, size_t n, pid_t but, struct neighbour *out)
{
	size_t found = 0;

	for (size_t i = 0; i < n; i++) {
		struct neighbour *last = found ? &out[found - 1] : NULL;

		if (!v[i].ns || v[i].pid == but)
			continue;
		if (!last || strncmp(last->comm, v[i].comm, sizeof(last->comm))) {
			last = &out[found++];
			*last = (struct neighbour){.pid = v[i].pid};
			memcpy(last->comm, v[i].comm, sizeof(last->comm));
		}
		last->count++;
		last->cpu_ns += v[i].ns;
	}
	qsort(out, found, sizeof(*out), most_order);
	return found;
}

int neighbours_end(struct neighbours *n)
{
	struct look l;
	int rc = look_take(&l);

	if (!rc) {
		since_first(&n->first, &l);
		n->period_ns = l.time_ns - n->first.time_ns;
		n->machine_ns = l.busy_ns > n->first.busy_ns ? l.busy_ns - n->first.busy_ns : 0;
		qsort(l.v, l.n, sizeof(*l.v), name_order);
		n->each = l.v;
		n->neach = l.n;
	} else {
		free(l.v);
	}
	return rc;
}

size_t neighbours_top(const struct neighbours *n, pid_t but, struct neighbour *top, size_t max)
{
	struct neighbour *all = calloc(n->neach + 1, sizeof(*all));
	size_t found;

	if (!all)
		return 0;
	found = names_sum(n->each, n->neach, but, all);
	if (found > max)
		found = max;
	memcpy(top, all, found * sizeof(*top));
	free(all);
	return found;
}

void neighbours_sums(const struct neighbours *n, pid_t own, struct neighbours_sums *sums)
{
	*sums = (struct neighbours_sums){.period_ns = n->period_ns, .machine_ns = n->machine_ns};
	for (size_t i = 0; i < n->neach; i++)
		if (n->each[i].pid == own)
			sums->own_ns = n->each[i].ns;
}
