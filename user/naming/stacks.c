/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/stacks.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "base/clock.h"
#include "base/slab.h"
#include "naming/watching.h"
#include "model/jvmwait.h"
#include "model/state.h"
#include "model/vmop.h"
#include "naming/stacklog.h"

/* old stacks are dropped when there are so many more than twice those left the last time */
#define GROWTH	  512
#define LISTS_MAX (2u << 20) /* bytes of frames kept to be named again */
/* beyond that only the interpreted frames are kept, up to so many bytes in all */
#define PARTS_MAX   (8u << 20)
#define PART_SAME   16 /* a method that is among the last so many of these is not kept again */
#define ADDRESS_MAX 20 /* characters */
/* how long we hurry after a method was unloaded before it had a name */
#define HURRY_NS 1000000000u

/* `stack` is first. */
struct stack_entry {
	struct stack stack;
	bool interpreted; /* has frames whose names hold for a span of time only */
	bool doubted;	  /* has a frame whose name is not certain */
	bool part;	  /* its list has the interpreted frames only */
	/* with `part`: what those frames are called, as resolver_interpreted() tells it */
	uint64_t names;
	struct resolver_span span;
	/* the frames, to name them again; NULL: that is never needed, or there was no room */
	struct gn_stack *list;
	UT_hash_handle hh;
};

struct stacks {
	struct target_env *env;
	struct resolver *names;
	struct jfrw *out;
	uint64_t keep_ns;
	struct stack_entry *table;
	struct slab slab;
	unsigned int left;	 /* how many were left when some were forgotten last */
	size_t list_bytes;	 /* of all lists */
	uint32_t out_generation; /* of the ids in the file */
	uint32_t none, too_many; /* 0: not written yet */
};

/* ---- keeping ---- */

static size_t list_size(const struct gn_stack *list)
{
	return sizeof(*list) + ((size_t)list->nkernel + list->nuser) * sizeof(struct gn_frame);
}

static void list_free(struct stacks *s, struct stack_entry *k)
{
	if (k->list)
		s->list_bytes -= list_size(k->list);
	free(k->list);
	k->list = NULL;
}

static void drop(struct stacks *s, struct stack_entry *k)
{
	HASH_DEL(s->table, k);
	list_free(s, k);
	slab_free(&s->slab, k);
}

/* Drops stacks that were not seen for long, and those whose ids the writer has dropped. */
static void forget(struct stacks *s, uint64_t now)
{
	struct stack_entry *k, *tmp;

	HASH_ITER(hh, s->table, k, tmp) {
		if (!jfrw_has_stack(s->out, k->stack.jfr) || k->stack.seen_ns + s->keep_ns < now)
			drop(s, k);
	}
	s->left = HASH_COUNT(s->table);
	s->env->cfg.on_epoch(s->env->cfg.ctx);
}

bool stacks_check(struct stacks *s)
{
	bool void_ids = jfrw_generation(s->out) != s->out_generation;

	if (void_ids) {
		s->out_generation = jfrw_generation(s->out);
		s->none = s->too_many = 0;
	}
	if (void_ids || HASH_COUNT(s->table) > 2 * s->left + GROWTH)
		forget(s, now_ns());
	return void_ids;
}

static struct stack_entry *find(struct stacks *s, uint64_t id)
{
	struct stack_entry *k;

	HASH_FIND(hh, s->table, &id, sizeof(id), k);
	return k;
}

struct stack *stacks_find(struct stacks *s, uint64_t id)
{
	struct stack_entry *k = find(s, id);

	return k ? &k->stack : NULL;
}

static bool has_interpreted(const struct gn_stack *rec)
{
	const struct gn_frame *f = gn_stack_frames(rec) + rec->nkernel;

	for (int i = 0; i < rec->nuser; i++)
		if (gn_frame_kind(&f[i]) == GN_FRAME_INTERP)
			return true;
	return false;
}

/* Room for a copy of `rec`; NULL: none is left under `max`. */
static struct gn_stack *list_new(struct stacks *s, const struct gn_stack *rec, size_t max)
{
	size_t size = list_size(rec);

	return s->list_bytes + size > max ? NULL : malloc(size);
}

static bool frame_among(const struct gn_frame *f, const struct gn_frame *last, int n)
{
	for (int i = 0; i < n && i < PART_SAME; i++)
		if (last[-1 - i].pc == f->pc && last[-1 - i].data >> 16 == f->data >> 16)
			return true;
	return false;
}

/*
 * Copies the interpreted frames of `rec`; of frames of one method that are near each other one is
 * enough.
 */
static void part_fill(struct gn_stack *part, const struct gn_stack *rec)
{
	const struct gn_frame *f = gn_stack_frames(rec) + rec->nkernel;
	struct gn_frame *out = (struct gn_frame *)(part + 1);

	*part = *rec;
	part->nkernel = part->nuser = 0;
	for (int i = 0; i < rec->nuser; i++)
		if (gn_frame_kind(&f[i]) == GN_FRAME_INTERP &&
		    !frame_among(&f[i], out + part->nuser, part->nuser))
			out[part->nuser++] = f[i];
}

/*
 * With many stacks there is room only for their interpreted frames, which is enough to find out
 * whether their names still hold.
 */
static void part_keep(struct stacks *s, struct stack_entry *k, const struct gn_stack *rec)
{
	struct gn_stack *part = malloc(list_size(rec));

	if (!part)
		return;
	part_fill(part, rec);
	k->list = list_new(s, part, PARTS_MAX);
	if (k->list)
		memcpy(k->list, part, list_size(part));
	k->names = k->list ? resolver_interpreted(s->names, k->list) : 0;
	k->part = true;
	free(part);
}

static void list_keep(struct stacks *s, struct stack_entry *k, const struct gn_stack *rec)
{
	list_free(s, k);
	if (!k->interpreted)
		return;
	k->list = list_new(s, rec, LISTS_MAX);
	k->part = false;
	if (k->list)
		memcpy(k->list, rec, list_size(rec));
	else
		part_keep(s, k, rec);
	s->list_bytes += k->list ? list_size(k->list) : 0;
}

/* ---- naming ---- */

static void hurry(struct stacks *s)
{
	uint64_t until = now_ns() + HURRY_NS;

	if (atomic_load(&s->env->board->hurry_ns) < until)
		atomic_store(&s->env->board->hurry_ns, until);
}

/*
 * For how long names that were given as of `time` hold. A span that began later is not one of that
 * time's: they are given anew for the next sample.
 */
static struct resolver_span span_of(const struct stacks *s, uint64_t time)
{
	struct resolver_span span = resolver_span(s->names);

	if (span.since_ns > time)
		span.count = UINT64_MAX;
	return span;
}

/* Names the frames of `rec` as of its time. */
static void name(struct stacks *s, struct stack_entry *k, const struct gn_stack *rec)
{
	struct frame_name *frames = s->env->frames;
	struct stack *st = &k->stack;
	bool cut = false;
	size_t n = resolver_stack(s->names, rec, frames, TARGET_FRAMES, &cut);

	k->doubted = resolver_in_doubt(s->names);
	k->span = span_of(s, rec->h.time);
	st->jfr = jfrw_stack(s->out, frames, n, cut || !gn_end_is_whole(rec->end));
	st->guessed = resolver_guessed(s->names);
	st->unnamed = resolver_unnamed(s->names);
	if (st->unnamed)
		hurry(s);
	st->end = rec->end < GN_END_MAX ? rec->end : GN_END_NORULE;
	st->sleep = (uint8_t)state_of(GN_ST_SLEEP, frames, n);
	st->jvm = jvmwait_of(frames, n);
	st->vmop = vmop_of(frames, n);
	st->delays = vmop_delays(frames, n);
	st->disk = (uint8_t)state_on_disk(st->sleep);
	st->watch = s->env->watch.number;
	st->watched = watching_fits(&s->env->watch, frames, n);
}

static struct stack_entry *add(struct stacks *s, const struct gn_stack *rec)
{
	struct stack_entry *k = slab_alloc(&s->slab);

	if (!k)
		return NULL;
	k->stack.id = rec->id;
	k->stack.seen_ns = rec->h.time;
	k->interpreted = has_interpreted(rec);
	HASH_ADD(hh, s->table, stack.id, sizeof(k->stack.id), k);
	return k;
}

bool stacks_add(struct stacks *s, const struct gn_stack *rec)
{
	struct stack_entry *known = find(s, rec->id), *k = known ? known : add(s, rec);

	if (!k)
		return false;
	name(s, k, rec);
	stacklog(rec);
	list_keep(s, k, rec);
	return !known;
}

/* A stack of one frame that says why there is no other; 0: not written yet. */
static uint32_t excuse(struct stacks *s, const char *words, uint32_t *id)
{
	struct frame_name why = {KLASS_GNOMON, words, "", -1, -1, FRAME_NATIVE, 0, 0};

	if (!*id)
		*id = jfrw_stack(s->out, &why, 1, true);
	return *id;
}

static void address_name(struct frame_name *out, char text[ADDRESS_MAX], uint64_t pc, bool kernel)
{
	snprintf(text, ADDRESS_MAX, "0x%" PRIx64, pc);
	*out = (struct frame_name){KLASS_ANON, text, "", -1, -1, FRAME_NATIVE, 0, 0};
	if (kernel) {
		out->klass = KLASS_KERNEL;
		out->type = FRAME_KERNEL;
	}
}

static uint32_t addresses(struct stacks *s, const struct gn_stack *rec)
{
	static char text[TARGET_FRAMES][ADDRESS_MAX];
	const struct gn_frame *f = gn_stack_frames(rec);
	size_t all = (size_t)rec->nkernel + rec->nuser, n = all;

	if (n > TARGET_FRAMES)
		n = TARGET_FRAMES;
	for (size_t i = 0; i < n; i++)
		address_name(&s->env->frames[i], text[i], f[i].pc, i < rec->nkernel);
	return jfrw_stack(s->out, s->env->frames, n, n < all || !gn_end_is_whole(rec->end));
}

/* Nothing of it is to be named again. */
static bool add_as_it_is(struct stacks *s, const struct gn_stack *rec, uint32_t jfr)
{
	struct stack_entry *known = find(s, rec->id), *k = known ? known : add(s, rec);

	if (!k)
		return false;
	list_free(s, k);
	k->interpreted = false;
	k->stack.watched = 0;
	k->stack.jfr = jfr;
	k->stack.end = rec->end < GN_END_MAX ? rec->end : GN_END_NORULE;
	k->stack.sleep = (uint8_t)state_of(GN_ST_SLEEP, NULL, 0);
	k->stack.disk = (uint8_t)state_of(GN_ST_DISK, NULL, 0);
	return !known;
}

bool stacks_add_unnamed(struct stacks *s, const struct gn_stack *rec)
{
	return add_as_it_is(s, rec, excuse(s, "[one of too many new stacks]", &s->too_many));
}

bool stacks_add_addresses(struct stacks *s, const struct gn_stack *rec)
{
	return add_as_it_is(s, rec, addresses(s, rec));
}

/* Whether its methods have the same names at its list's time as when it was named. */
static bool part_holds(struct stacks *s, struct stack_entry *k)
{
	if (!k->names || resolver_interpreted(s->names, k->list) != k->names)
		return false;
	k->span = span_of(s, k->list->h.time);
	return true;
}

struct stack *stacks_as_of(struct stacks *s, struct stack *st, uint64_t time_ns)
{
	struct stack_entry *k = (struct stack_entry *)st;

	if (!k->interpreted)
		return st;
	if (s->env->board->haste)
		return NULL;
	if (resolver_spans(s->names, &k->span, time_ns) &&
	    !(k->doubted && k->list && !k->part && time_ns > k->list->h.time))
		return st;
	if (!k->list)
		return NULL;
	k->list->h.time = time_ns;
	if (k->part)
		return part_holds(s, k) ? st : NULL;
	name(s, k, k->list);
	return st;
}

uint32_t stacks_none(struct stacks *s)
{
	return excuse(s, "[stack not captured]", &s->none);
}

/* ---- beginning and end ---- */

struct stacks *stacks_new(struct target_env *env, struct resolver *names, struct jfrw *out,
			  uint64_t keep_ns)
{
	struct stacks *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->env = env;
	s->names = names;
	s->out = out;
	s->keep_ns = keep_ns;
	s->slab.item = sizeof(struct stack_entry);
	return s;
}

void stacks_free(struct stacks *s)
{
	struct stack_entry *k, *tmp;

	if (!s)
		return;
	HASH_ITER(hh, s->table, k, tmp)
		drop(s, k);
	slab_release(&s->slab);
	free(s);
}
