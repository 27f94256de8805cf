/* SPDX-License-Identifier: Apache-2.0 */
#include "jvm/agenttids.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
#include <uthash.h>

#define OSTHREAD_MAX  2048 /* bytes of a JavaThread looked through for the OSThread* */
#define THREAD_ID_MAX 256  /* bytes of an OSThread looked through for the tid */
#define KNOWN_MAX     400000

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

uint32_t agenttids_inner(struct agenttids *t, pid_t tid)
{
	uint32_t outer = (uint32_t)tid, inner;
	struct pair *p;

	if (!nested(t))
		return outer;
	HASH_FIND(hh, t->by_outer, &outer, sizeof(outer), p);
	if (p)
		return p->inner;
	inner = jproc_inner_tid(t->proc, tid);
	if (inner)
		pair_add(t, outer, inner);
	return inner;
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
	agenttids_inner(t, tid);
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

static bool target_read(const struct agenttids *t, uint64_t addr, void *to, size_t n)
{
	struct iovec l = {to, n}, r = {(void *)(uintptr_t)addr, n};

	return process_vm_readv(t->proc->pid, &l, 1, &r, 1, 0) == (ssize_t)n;
}

static uint32_t thread_tid(const struct agenttids *t, uint64_t javathread, uint32_t osthread,
			   uint32_t thread_id)
{
	uint64_t os;
	uint32_t tid;

	if (!target_read(t, javathread + osthread, &os, sizeof(os)) || !os ||
	    !target_read(t, os + thread_id, &tid, sizeof(tid)))
		return 0;
	return tid;
}

struct known {
	uint64_t javathread;
	uint32_t tid;
};

struct census {
	struct known *v; /* every thread that has a JavaThread* */
	size_t n, cap;
	uint32_t *tids; /* inner tids of the process's tasks, sorted */
	size_t ntids, tids_cap;
	uint32_t *found; /* tids by the offsets under test */
};

static void census_thread(uint64_t javathread, uint32_t tid, const char *name, void *arg)
{
	struct census *c = arg;

	if (c->n == c->cap) {
		size_t cap = c->cap ? c->cap * 2 : 64;
		struct known *v = realloc(c->v, cap * sizeof(*v));

		if (!v)
			return;
		c->v = v;
		c->cap = cap;
	}
	c->v[c->n++] = (struct known){javathread, tid};
}

static void census_task(struct agenttids *t, pid_t tid, void *arg)
{
	struct census *c = arg;

	if (c->ntids == c->tids_cap) {
		size_t cap = c->tids_cap ? c->tids_cap * 2 : 64;
		uint32_t *v = realloc(c->tids, cap * sizeof(*v));

		if (!v)
			return;
		c->tids = v;
		c->tids_cap = cap;
	}
	c->tids[c->ntids++] = agenttids_inner(t, tid);
}

static int compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static bool is_task(const struct census *c, uint32_t tid)
{
	return bsearch(&tid, c->tids, c->ntids, sizeof(tid), compare_u32);
}

/* Every thread must get another tid, one of the process's own, and the known ones their own. */
static bool offsets_fit(const struct agenttids *t, struct census *c, uint32_t osthread,
			uint32_t thread_id)
{
	size_t i, n = 0, missing = 0;

	for (i = 0; i < c->n; i++) {
		uint32_t tid = thread_tid(t, c->v[i].javathread, osthread, thread_id);

		if (c->v[i].tid && tid != c->v[i].tid)
			return false;
		if (is_task(c, tid))
			c->found[n++] = tid;
		else
			missing++; /* may have ended since */
	}
	if (!n || missing > c->n / 8 + 1)
		return false;
	qsort(c->found, n, sizeof(c->found[0]), compare_u32);
	for (i = 1; i < n; i++)
		if (c->found[i] == c->found[i - 1])
			return false;
	return true;
}

/* Places near os where the tid lies. */
static bool osthread_try(const struct agenttids *t, struct census *c, const struct known *k,
			 uint64_t os, uint32_t osthread, uint32_t *thread_id)
{
	uint8_t text[THREAD_ID_MAX];
	uint32_t off;

	if (os % 8 || os < 4096 || !target_read(t, os, text, sizeof(text)))
		return false;
	for (off = 0; off < THREAD_ID_MAX; off += 4) {
		if (!memcmp(text + off, &k->tid, sizeof(k->tid)) &&
		    offsets_fit(t, c, osthread, off)) {
			*thread_id = off;
			return true;
		}
	}
	return false;
}

static const struct known *census_known(const struct census *c)
{
	size_t i;

	for (i = 0; i < c->n; i++)
		if (c->v[i].tid && is_task(c, c->v[i].tid))
			return &c->v[i];
	return NULL;
}

static int offsets_search(struct agenttids *t, struct census *c, uint32_t *osthread,
			  uint32_t *thread_id)
{
	const struct known *k = census_known(c);
	uint64_t words[OSTHREAD_MAX / 8];
	uint32_t i, n = OSTHREAD_MAX / 8;

	if (!k)
		return -ENOENT;
	/* a JavaThread is smaller than that, but malloc'ed memory goes on behind it, mostly */
	while (n && !target_read(t, k->javathread, words, n * 8))
		n /= 2;
	for (i = 0; i < n; i++) {
		*osthread = i * 8;
		if (osthread_try(t, c, k, words[i], *osthread, thread_id))
			return 0;
	}
	return -ENOENT;
}

static void census_free(struct census *c)
{
	free(c->v);
	free(c->tids);
	free(c->found);
}

static int census_take(struct census *c, struct agenttids *t, struct agentindex *ix)
{
	*c = (struct census){0};
	agentindex_threads(ix, census_thread, c);
	tasks_each(t, census_task, c);
	if (!c->n || !c->ntids)
		return -ENOENT;
	qsort(c->tids, c->ntids, sizeof(c->tids[0]), compare_u32);
	c->found = calloc(c->n, sizeof(c->found[0]));
	return c->found ? 0 : -ENOMEM;
}

static int census_bind(struct agenttids *t, struct agentindex *ix, const struct census *c,
		       uint32_t osthread, uint32_t thread_id)
{
	int bound = 0;
	size_t i;

	for (i = 0; i < c->n; i++) {
		uint32_t tid = thread_tid(t, c->v[i].javathread, osthread, thread_id);

		if (!is_task(c, tid))
			continue;
		agentindex_thread_bind(ix, c->v[i].javathread, tid);
		bound++;
	}
	return bound;
}

int agenttids_calibrate(struct agenttids *t, struct agentindex *ix)
{
	uint32_t osthread, thread_id;
	struct census c;
	int rc = census_take(&c, t, ix);

	if (!rc)
		rc = offsets_search(t, &c, &osthread, &thread_id);
	if (!rc)
		census_bind(t, ix, &c, osthread, thread_id);
	census_free(&c);
	return rc;
}

int agenttids_bind(struct agenttids *t, struct agentindex *ix, uint32_t osthread,
		   uint32_t thread_id)
{
	struct census c;
	int rc = census_take(&c, t, ix);

	if (!rc)
		rc = census_bind(t, ix, &c, osthread, thread_id);
	census_free(&c);
	return rc;
}
