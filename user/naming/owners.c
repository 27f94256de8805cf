/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/owners.h"

#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#define LOCKS_MAX 16384
#define RUNS_MAX  OWNERS_KEEP_TICKS

struct known {
	struct owners_thread t;
	UT_hash_handle by_tid, by_thread, by_id;
};

/* Runs in the order of time: v[from] to v[n - 1]. */
struct timeline {
	uint64_t cause;
	struct owners_run *v;
	size_t from, n, cap;
	UT_hash_handle hh;
};

struct owners {
	struct known *tids, *threads, *ids;
	struct timeline *lines;
};

struct owners *owners_new(void)
{
	return calloc(1, sizeof(struct owners));
}

/* ---- threads ---- */

static void known_drop(struct owners *o, struct known *k)
{
	struct known *same;

	HASH_DELETE(by_tid, o->tids, k);
	HASH_FIND(by_thread, o->threads, &k->t.thread, sizeof(k->t.thread), same);
	if (same == k)
		HASH_DELETE(by_thread, o->threads, k);
	HASH_FIND(by_id, o->ids, &k->t.id, sizeof(k->t.id), same);
	if (same == k)
		HASH_DELETE(by_id, o->ids, k);
	free(k);
}

void owners_part(struct owners *o, pid_t tid)
{
	struct known *k;

	HASH_FIND(by_tid, o->tids, &tid, sizeof(tid), k);
	if (k)
		known_drop(o, k);
}

void owners_exec(struct owners *o, uint64_t time_ns)
{
	struct known *k, *next;

	for (k = o->tids; k; k = next) {
		next = k->by_tid.next;
		if (k->t.met_ns < time_ns)
			known_drop(o, k);
	}
}

/* Another that was said to be the same is none any more: it has ended unheard. */
void owners_meet(struct owners *o, const struct owners_thread *t)
{
	struct known *k, *same;

	owners_part(o, t->tid);
	HASH_FIND(by_thread, o->threads, &t->thread, sizeof(t->thread), same);
	if (same)
		known_drop(o, same);
	HASH_FIND(by_id, o->ids, &t->id, sizeof(t->id), same);
	if (same)
		known_drop(o, same);
	k = calloc(1, sizeof(*k));
	if (!k)
		return;
	k->t = *t;
	HASH_ADD(by_tid, o->tids, t.tid, sizeof(k->t.tid), k);
	HASH_ADD(by_thread, o->threads, t.thread, sizeof(k->t.thread), k);
	HASH_ADD(by_id, o->ids, t.id, sizeof(k->t.id), k);
}

const struct owners_thread *owners_search(const struct owners *o,
					  bool (*fn)(void *ctx, const struct owners_thread *t),
					  void *ctx)
{
	for (const struct known *k = o->tids; k; k = k->by_tid.next)
		if (fn(ctx, &k->t))
			return &k->t;
	return NULL;
}

static bool has_on_stack(void *ctx, const struct owners_thread *t)
{
	const uint64_t *addr = ctx;

	return *addr >= t->low && *addr < t->high;
}

const struct owners_thread *owners_who(const struct owners *o, enum gn_owner_kind kind,
				       uint64_t owner)
{
	struct known *k = NULL;

	if (kind == GN_OWNER_ID)
		HASH_FIND(by_id, o->ids, &owner, sizeof(owner), k);
	else if (kind == GN_OWNER_WORD)
		HASH_FIND(by_thread, o->threads, &owner, sizeof(owner), k);
	if (k)
		return &k->t;
	return kind == GN_OWNER_WORD ? owners_search(o, has_on_stack, &owner) : NULL;
}

/* ---- locks ---- */

static struct timeline *line_find(const struct owners *o, uint64_t cause)
{
	struct timeline *l;

	HASH_FIND(hh, o->lines, &cause, sizeof(cause), l);
	return l;
}

static void line_drop(struct owners *o, struct timeline *l)
{
	HASH_DEL(o->lines, l);
	free(l->v);
	free(l);
}

static struct timeline *line_get(struct owners *o, uint64_t cause)
{
	struct timeline *l = line_find(o, cause);

	if (l)
		return l;
	if (HASH_COUNT(o->lines) >= LOCKS_MAX) /* the one that was met first */
		line_drop(o, o->lines);
	l = calloc(1, sizeof(*l));
	if (!l)
		return NULL;
	l->cause = cause;
	HASH_ADD(hh, o->lines, cause, sizeof(l->cause), l);
	return l;
}

static bool line_room(struct timeline *l)
{
	struct owners_run *v;
	size_t cap;

	if (l->n - l->from >= RUNS_MAX)
		l->from++;
	if (l->n < l->cap)
		return true;
	if (l->from >= l->cap / 2 && l->from) {
		memmove(l->v, l->v + l->from, (l->n - l->from) * sizeof(*l->v));
		l->n -= l->from;
		l->from = 0;
		return true;
	}
	cap = l->cap ? l->cap * 2 : 8;
	v = realloc(l->v, cap * sizeof(*v));
	if (!v)
		return false;
	l->v = v;
	l->cap = cap;
	return true;
}

struct owners_run *owners_note(struct owners *o, const struct gn_owner_rec *rec)
{
	struct timeline *l = line_get(o, rec->cause);
	struct owners_run *last;

	if (!l)
		return NULL;
	last = l->n > l->from ? &l->v[l->n - 1] : NULL;
	if (last && rec->tick <= last->last)
		return NULL;
	if (last && rec->tick == last->last + 1 && last->kind == rec->kind &&
	    last->owner == rec->owner) {
		last->last = rec->tick;
		return last;
	}
	if (!line_room(l))
		return NULL;
	last = &l->v[l->n++];
	*last = (struct owners_run){
		.first = rec->tick,
		.last = rec->tick,
		.owner = rec->owner,
		.kind = rec->kind < GN_OWNER_KINDS ? (enum gn_owner_kind)rec->kind : 0,
	};
	return last;
}

const struct owners_run *owners_at(const struct owners *o, uint64_t cause, uint64_t tick,
				   uint64_t *until)
{
	const struct timeline *l = line_find(o, cause);
	size_t low, high;

	*until = UINT64_MAX;
	if (!l)
		return NULL;
	low = l->from; /* the first run that does not end before the tick */
	high = l->n;
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (l->v[mid].last < tick)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == l->n)
		return NULL;
	if (l->v[low].first <= tick)
		return &l->v[low];
	*until = l->v[low].first;
	return NULL;
}

void owners_expire(struct owners *o, uint64_t tick)
{
	struct timeline *l, *tmp;

	HASH_ITER(hh, o->lines, l, tmp) {
		while (l->from < l->n && l->v[l->from].last < tick)
			l->from++;
		if (l->from == l->n)
			line_drop(o, l);
	}
}

void owners_free(struct owners *o)
{
	struct timeline *l, *tmp;
	struct known *k, *next;

	if (!o)
		return;
	HASH_ITER(hh, o->lines, l, tmp)
		line_drop(o, l);
	for (k = o->tids; k; k = next) {
		next = k->by_tid.next;
		known_drop(o, k);
	}
	free(o);
}
