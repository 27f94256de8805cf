/* SPDX-License-Identifier: Apache-2.0 */
#include "jvm/agenttids.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uthash.h>

#include "base/clock.h"
#include "jvm/mem.h"
#include "jvm/tidplace.h"
#include "target/procfs.h"

#define KNOWN_MAX 400000

struct pair {
	uint32_t outer, inner;
	UT_hash_handle hh, hi;
};

struct agenttids {
	const struct jproc *proc;
	struct pair *by_outer, *by_inner;
	uint32_t seen_threads;
};

struct agenttids *agenttids_new(const struct jproc *p)
{
	struct agenttids *t = calloc(1, sizeof(*t));

	if (t)
		t->proc = p;
	return t;
}

void agenttids_free(struct agenttids *t)
{
	struct pair *p, *tmp;

	if (!t)
		return;
	HASH_CLEAR(hi, t->by_inner);
	HASH_ITER(hh, t->by_outer, p, tmp) {
		HASH_DEL(t->by_outer, p);
		free(p);
	}
	free(t);
}

/* ---- PID namespaces -------------------------------------------------------------------------- */

static void pair_drop(struct agenttids *t, struct pair *p)
{
	HASH_DELETE(hh, t->by_outer, p);
	HASH_DELETE(hi, t->by_inner, p);
	free(p);
}

static void pair_add(struct agenttids *t, uint32_t outer, uint32_t inner)
{
	struct pair *p;

	HASH_FIND(hh, t->by_outer, &outer, sizeof(outer), p);
	if (p && p->inner == inner)
		return;
	if (p)
		pair_drop(t, p);
	HASH_FIND(hi, t->by_inner, &inner, sizeof(inner), p);
	if (p)
		pair_drop(t, p);
	if (HASH_CNT(hh, t->by_outer) >= KNOWN_MAX)
		return;
	p = calloc(1, sizeof(*p));
	if (!p)
		return;
	p->outer = outer;
	p->inner = inner;
	HASH_ADD(hh, t->by_outer, outer, sizeof(p->outer), p);
	HASH_ADD(hi, t->by_inner, inner, sizeof(p->inner), p);
}

static bool nested(const struct agenttids *t)
{
	return t->proc->inner != t->proc->pid;
}

static uint32_t inner_known(const struct agenttids *t, pid_t tid)
{
	uint32_t outer = (uint32_t)tid;
	struct pair *p;

	HASH_FIND(hh, t->by_outer, &outer, sizeof(outer), p);
	return p ? p->inner : 0;
}

uint32_t agenttids_inner(struct agenttids *t, pid_t tid)
{
	uint32_t inner;

	if (!nested(t))
		return (uint32_t)tid;
	inner = jproc_inner_tid(t->proc, tid);
	if (!inner)
		return inner_known(t, tid);
	pair_add(t, (uint32_t)tid, inner);
	return inner;
}

/* As it was when it was read first, which costs little for all threads. */
static uint32_t inner_as_known(struct agenttids *t, pid_t tid)
{
	uint32_t inner = nested(t) ? inner_known(t, tid) : 0;

	return inner ? inner : agenttids_inner(t, tid);
}

bool agenttids_is_younger(const struct agenttids *t, pid_t tid, uint64_t time)
{
	uint64_t now = now_ns(); /* before what it is compared with: rather older than it is */
	struct proc_stat st;

	return !proc_stat_read(t->proc->pid, tid, &st) && now - proc_uptime_ns(st.start) > time;
}

typedef void (*task_fn)(struct agenttids *t, pid_t tid, void *arg);

static void tasks_each(struct agenttids *t, task_fn fn, void *arg)
{
	int fd = openat(t->proc->dir, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *de;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((de = readdir(d)))
		if (de->d_name[0] != '.')
			fn(t, atoi(de->d_name), arg);
	closedir(d);
}

static void task_learn(struct agenttids *t, pid_t tid, void *arg)
{
	inner_as_known(t, tid);
}

void agenttids_learn(struct agenttids *t, struct agentindex *ix)
{
	struct agentindex_stats s;

	agentindex_stats(ix, &s);
	if (!nested(t) || s.threads == t->seen_threads)
		return;
	t->seen_threads = s.threads;
	tasks_each(t, task_learn, NULL);
}

/* ---- from JavaThread* to tid ------------------------------------------------------------------
 */

static int target_read(void *ctx, uint64_t addr, void *to, size_t n)
{
	return mem_read_now(ctx, addr, to, n);
}

/* Threads that have a JavaThread*, and inner tids of the process's tasks. */
struct census {
	struct mem *mem;
	struct tidplace_thread *threads;
	size_t nthreads, threads_cap;
	uint32_t *tids;
	size_t ntids, tids_cap;
};

static void census_thread(uint64_t javathread, uint32_t tid, const char *name, void *arg)
{
	struct census *c = arg;

	if (c->nthreads == c->threads_cap) {
		size_t cap = c->threads_cap ? c->threads_cap * 2 : 64;
		struct tidplace_thread *v = realloc(c->threads, cap * sizeof(*v));

		if (!v)
			return;
		c->threads = v;
		c->threads_cap = cap;
	}
	c->threads[c->nthreads++] = (struct tidplace_thread){javathread, tid};
}

static void census_task(struct agenttids *t, pid_t tid, void *arg)
{
	uint32_t inner = inner_as_known(t, tid);
	struct census *c = arg;

	if (!inner)
		return; /* it has ended */
	if (c->ntids == c->tids_cap) {
		size_t cap = c->tids_cap ? c->tids_cap * 2 : 64;
		uint32_t *v = realloc(c->tids, cap * sizeof(*v));

		if (!v)
			return;
		c->tids = v;
		c->tids_cap = cap;
	}
	c->tids[c->ntids++] = inner;
}

static int compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* *out points into *c, which is the caller's to free. */
static int census_take(struct census *c, struct tidplace_census *out, struct agenttids *t,
		       struct agentindex *ix)
{
	*c = (struct census){0};
	agentindex_threads(ix, census_thread, c);
	tasks_each(t, census_task, c);
	if (!c->nthreads || !c->ntids)
		return -ENOENT;
	c->mem = mem_open(t->proc->pid);
	if (!c->mem)
		return -errno;
	qsort(c->tids, c->ntids, sizeof(c->tids[0]), compare_u32);
	*out = (struct tidplace_census){
		.read = target_read,
		.ctx = c->mem,
		.threads = c->threads,
		.nthreads = c->nthreads,
		.tids = c->tids,
		.ntids = c->ntids,
	};
	return 0;
}

static void census_free(struct census *c)
{
	mem_close(c->mem);
	free(c->threads);
	free(c->tids);
}

static void census_bind(struct agentindex *ix, const struct tidplace_census *c,
			const struct tidplace *at)
{
	for (size_t i = 0; i < c->nthreads; i++) {
		uint32_t tid = tidplace_tid(c, at, c->threads[i].javathread);

		if (tid)
			agentindex_thread_bind(ix, c->threads[i].javathread, tid);
	}
}

int agenttids_calibrate(struct agenttids *t, struct agentindex *ix)
{
	struct tidplace_census known;
	struct tidplace at;
	struct census c;
	int rc = census_take(&c, &known, t, ix);

	if (!rc)
		rc = tidplace_find(&known, &at);
	if (!rc)
		census_bind(ix, &known, &at);
	census_free(&c);
	return rc;
}
