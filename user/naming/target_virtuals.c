/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The virtual threads of a target that nobody runs, as far as a bound of CPU time allows, by where
 * they wait (gnomon.UnmountedThreads, gnomon.UnmountedLook).
 */
#include "naming/target_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "base/clock.h"
#include "jvm/unmounted.h"
#include "kern/unwind.h"

#define LOOK_NS	      1000000000ull /* between looks */
#define LOOK_LAST_NS  100000000ull  /* so long since the last one is worth another at the end */
#define PERIOD_MAX_NS 10000000000ull
#define COST_NS	      30000000ull /* CPU time of one, after which nothing more is drawn */
#define COST_SHARE    25	  /* and so many times what it was it takes to the next */
#define DRAW	      256	  /* places */
#define DRAWS	      16
#define ALL	      1024 /* so few are all looked at */
#define MISSES	      4	   /* draws that may be void */
#define PLACES_MAX    4096 /* different stacks in one look */

/* Threads that wait at the same place in the same state. */
struct place {
	uint64_t key, seen, pending; /* pending: of a draw that may yet be void */
	enum unmounted_state state;
	struct gn_stack *stack;
	int64_t id; /* of one of them, and its name */
	char name[UNMOUNTED_NAME];
	UT_hash_handle hh;
};

struct virtuals {
	struct unmounted *reader; /* NULL: not needed so far */
	struct place *places;
	uint64_t over;	    /* threads at places beyond PLACES_MAX */
	uint64_t looked_ns; /* the time from then on is not told yet */
	uint64_t due_ns, draw;
};

struct virtuals *target_virtuals_new(void)
{
	return calloc(1, sizeof(struct virtuals));
}

static void places_drop(struct virtuals *v)
{
	struct place *p, *tmp;

	HASH_ITER(hh, v->places, p, tmp) {
		HASH_DEL(v->places, p);
		free(p->stack);
		free(p);
	}
	v->over = 0;
}

void target_virtuals_free(struct virtuals *v)
{
	if (!v)
		return;
	places_drop(v);
	unmounted_free(v->reader);
	free(v);
}

/* ---- what is drawn ----------------------------------------------------------------------------
 */

struct draw {
	struct virtuals *v;
	struct target *t;
	struct vm *vm;
	uint64_t over;
};

static uint64_t stack_id(const struct unmounted_thread *u)
{
	uint64_t h = u->cut;

	for (uint32_t i = 0; i < u->nframes; i++)
		h = uw_mix(h, uw_frame_hash(u->frames[i].pc, u->frames[i].data));
	return h | GN_STACK_WHOLE;
}

static struct gn_stack *stack_new(const struct draw *d, const struct unmounted_thread *u,
				  uint64_t id)
{
	size_t size = u->nframes * sizeof(struct gn_frame);
	struct gn_stack *s = calloc(1, sizeof(*s) + size);

	if (!s)
		return NULL;
	s->h.type = GN_REC_STACK;
	s->h.tgid = s->h.tid = (uint32_t)d->t->tgid;
	s->h.time = now_ns();
	s->id = id;
	s->nuser = (uint16_t)u->nframes;
	s->end = u->cut ? GN_END_DEPTH : GN_END_CONT;
	s->way = GN_WAY_REMOTE;
	if (size)
		memcpy(s + 1, u->frames, size);
	return s;
}

static struct place *place_new(struct draw *d, const struct unmounted_thread *u, uint64_t key,
			       uint64_t id)
{
	struct virtuals *v = d->v;
	struct place *p;

	if (HASH_COUNT(v->places) >= PLACES_MAX)
		return NULL;
	p = calloc(1, sizeof(*p));
	if (!p || !(p->stack = stack_new(d, u, id))) {
		free(p);
		return NULL;
	}
	p->key = key;
	p->state = u->state;
	p->id = u->id;
	unmounted_name(d->vm, u->name, p->name);
	HASH_ADD(hh, v->places, key, sizeof(p->key), p);
	return p;
}

static void thread_take(void *ctx, const struct unmounted_thread *u)
{
	struct draw *d = ctx;
	uint64_t id = stack_id(u), key = uw_mix(id, u->state);
	struct place *p;

	HASH_FIND(hh, d->v->places, &key, sizeof(key), p);
	if (!p)
		p = place_new(d, u, key, id);
	if (p)
		p->pending++;
	else
		d->over++;
}

/* What was drawn counts, or is void. */
static void draw_settle(struct draw *d, bool counts)
{
	struct place *p, *tmp;

	HASH_ITER(hh, d->v->places, p, tmp) {
		p->seen += counts ? p->pending : 0;
		p->pending = 0;
		if (p->seen)
			continue;
		HASH_DEL(d->v->places, p);
		free(p->stack);
		free(p);
	}
	d->v->over += counts ? d->over : 0;
	d->over = 0;
}

/* Draws until there is enough, or it has cost enough: how many places that were, 0: none. */
static uint64_t draws_make(struct virtuals *v, struct target *t, struct vm *vm, uint64_t began,
			   struct unmounted_counts *counts)
{
	uint64_t places = unmounted_places(v->reader), drawn = 0;
	uint32_t n = places <= ALL ? (uint32_t)places : DRAW, missed = 0;
	struct draw d = {.v = v, .t = t, .vm = vm};
	int rc;

	while (missed < MISSES && drawn < (uint64_t)DRAW * DRAWS) {
		uint64_t random = uw_mix(now_ns() ^ v->draw++ << 32, (uint64_t)t->tgid);

		rc = unmounted_draw(v->reader, vm, n, random, thread_take, &d, counts);
		draw_settle(&d, !rc);
		missed += rc != 0;
		drawn += rc ? 0 : n;
		if (rc == -E2BIG || (!rc && n == places) ||
		    clock_ns(CLOCK_THREAD_CPUTIME_ID) - began > COST_NS)
			break;
	}
	return drawn;
}

/* ---- events -----------------------------------------------------------------------------------
 */

static uint32_t place_stack(struct target *t, const struct place *p)
{
	struct stack *st = stacks_find(t->stacks, p->stack->id);

	if (!st) {
		target_stack_add(t, p->stack);
		st = stacks_find(t->stacks, p->stack->id);
	}
	if (st && st->seen_ns < p->stack->h.time)
		st->seen_ns = p->stack->h.time;
	st = st ? stacks_as_of(t->stacks, st, p->stack->h.time) : NULL;
	return st ? st->jfr : stacks_none(t->stacks);
}

static void place_write(struct target *t, const struct place *p, double each, uint64_t now,
			uint64_t period)
{
	static const uint32_t state[UNMOUNTED_STATES] = {
		[UNMOUNTED_QUEUED] = JFR_STATE_QUEUED,
		[UNMOUNTED_PARKED] = JFR_STATE_PARKED,
		[UNMOUNTED_PARKED_TIMED] = JFR_STATE_PARKED_TIMED,
		[UNMOUNTED_BLOCKED] = JFR_STATE_BLOCKED,
		[UNMOUNTED_WAITING] = JFR_STATE_WAITING,
		[UNMOUNTED_WAITING_TIMED] = JFR_STATE_WAITING_TIMED,
	};

	jfrw_unmounted_threads(t->out, now,
			       &(struct jfr_unmounted_threads){
				       .stack = place_stack(t, p),
				       .state = state[p->state],
				       .threads = (double)p->seen * each,
				       .seen = p->seen,
				       .period_ns = period,
				       .name = p->name,
				       .id = (uint64_t)p->id,
			       });
}

/* The time that a look tells of: not of long times in which nothing could be seen. */
static uint64_t period_of(const struct virtuals *v, uint64_t now)
{
	uint64_t ns = now - v->looked_ns;

	return ns < PERIOD_MAX_NS ? ns : PERIOD_MAX_NS;
}

static void look_write(struct virtuals *v, struct target *t, const struct unmounted_counts *c,
		       uint64_t drawn, uint64_t began, uint64_t now)
{
	uint64_t places = unmounted_places(v->reader);
	double each = drawn ? (double)places / (double)drawn : 0;
	uint64_t period = period_of(v, now);
	struct place *p, *tmp;

	target_ids_check(t);
	HASH_ITER(hh, v->places, p, tmp)
		place_write(t, p, each, now, period);
	jfrw_unmounted_look(t->out, now,
			    &(struct jfr_unmounted_look){
				    .period_ns = drawn ? period : 0,
				    .places = places,
				    .drawn = drawn,
				    .threads = (double)c->told * each,
				    .mounted = (double)c->mounted * each,
				    .unsettled = (double)c->unsettled * each,
				    .unknown = (double)(c->unknown + v->over) * each,
				    .strange = (double)c->strange * each,
				    .left_out = unmounted_left_out(v->reader),
				    .cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - began,
			    });
}

/* ---- when -------------------------------------------------------------------------------------
 */

/* False: it could not be seen, and the next look tells of this time, too. */
static bool look(struct virtuals *v, struct target *t, struct vm *vm, uint64_t now, uint64_t began)
{
	uint64_t drawn = 0;
	struct unmounted_counts counts = {0};
	int rc = unmounted_begin(v->reader, vm);

	if (rc == -ENOENT || rc == -ENOTSUP)
		return true; /* there are none, and so no time of theirs that passes */
	if (!rc)
		drawn = draws_make(v, t, vm, began, &counts);
	look_write(v, t, &counts, drawn, began, now);
	places_drop(v);
	return drawn != 0;
}

void target_virtuals_poll(struct target *t, uint64_t now, bool last)
{
	uint64_t began = clock_ns(CLOCK_THREAD_CPUTIME_ID), cost;
	struct virtuals *v = t->virtuals;
	struct vm *vm = resolver_vm(t->names);

	if (!vm || !t->env->cfg.unmounted ||
	    (last ? now < v->looked_ns + LOOK_LAST_NS : now < v->due_ns))
		return;
	if (!v->looked_ns || v->looked_ns < t->start_ns)
		v->looked_ns = t->start_ns;
	if (!v->reader)
		v->reader = unmounted_new();
	if (v->reader && now > v->looked_ns && look(v, t, vm, now, began))
		v->looked_ns = now;
	cost = (clock_ns(CLOCK_THREAD_CPUTIME_ID) - began) * COST_SHARE;
	v->due_ns = now + (cost > LOOK_NS ? cost : LOOK_NS);
}
