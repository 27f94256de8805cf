/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of the unwinder on memory made for them: include kern/unwind_walk.h before. */
#ifndef TESTS_UWWALK_H
#define TESTS_UWWALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Process 1, which has nothing mapped but this. */
static inline void uwwalk_proc(struct uw_proc *p, __u64 start, struct uw_mapping map)
{
	for (int i = 0; i < UW_MAX_MAPS; i++)
		p->start[i] = UW_NO_START;
	p->tgid = 1;
	p->n = 1;
	p->start[0] = start;
	p->map[0] = map;
}

/*
 * Walk to the end; with nothing remembered of code, or what there is; with a memo if `o` is not
 * NULL. Aborts unless it ends, with a reason, within its cap, with sp rising but for signal frames; a
 * leaf may have nothing on the stack.
 */
static inline void uwwalk_once(struct uw_state *s, const struct uw_env *env, bool remember,
			       struct uw_memo *o, struct uw_trail *t)
{
	struct uw_loop l = {s, env, env->proc, env->jvm, o, t};
	__u64 sp = s->sp;
	int signals = 0;

	if (t)
		t->changes = env->changes;
	if (uw_memo_begin(&l) == UW_ENDED) {
		uw_memo_end(&l);
		return;
	}
	for (int i = 0; i <= GN_MAX_FRAMES; i++) {
		/* the JVM's note of its last frame may lead to where the walk is */
		bool leaf = s->leaf || !s->hs[1];

#ifdef UW_HOTSPOT
		if (!remember)
			hs_code(s)->key = 0;
#endif
		if (uw_walk_on(&l)) {
			if (s->end == GN_END_NONE || s->n > s->max)
				abort();
			uw_memo_end(&l);
			return;
		}
		if ((s->sp < sp || (s->sp == sp && !leaf)) && s->signals == signals)
			abort();
		signals = s->signals;
		sp = s->sp;
	}
	abort();
}

/* From where `begun` was, with what `s` has learnt of code since. Not the frames. */
static inline void uwwalk_rewind(struct uw_state *s, const struct uw_state *begun)
{
	static struct uw_code code[UW_CODES];
	__u64 walks = s->walks + 1;

	memcpy(code, s->code, sizeof(code));
	memcpy(s, begun, offsetof(struct uw_state, frames));
	memcpy(s->code, code, sizeof(code));
	s->walks = walks;
	s->gen = walks << 1;
}

/* But for the frames. */
static inline bool uwwalk_alike(const struct uw_state *a, const struct uw_state *b)
{
	return a->n == b->n && a->end == b->end && a->hash == b->hash && a->blind == b->blind;
}

static inline bool uwwalk_equal(const struct uw_state *a, const struct uw_state *b)
{
	return uwwalk_alike(a, b) && !memcmp(a->frames, b->frames, a->n * sizeof(a->frames[0]));
}

/*
 * Or one of them came by memory that cannot be read, and ends there. What is known of code, and how
 * much is read at once around a word, decides how far a walk comes then (a saved memory has holes
 * that begin within a page, as no kernel's has), and what its last frame is.
 */
static inline bool uwwalk_holed(const struct uw_state *a, const struct uw_state *b)
{
	__u32 n = a->n < b->n ? a->n : b->n;

	if (a->end != GN_END_BADADDR && b->end != GN_END_BADADDR)
		return false;
	return a->same || b->same || n < 2 ||
	       !memcmp(a->frames, b->frames, (n - 1) * sizeof(a->frames[0]));
}

/* What `s` has found. */
static inline void uwwalk_result(struct uw_state *to, const struct uw_state *s)
{
	to->n = s->n;
	to->end = s->end;
	to->hash = s->hash;
	to->blind = s->blind;
	to->same = s->same;
	memcpy(to->frames, s->frames, s->n * sizeof(s->frames[0]));
}

/* ---- memos ---- */

/* The memory of `env` with a few words changed. */
struct uwwalk_changed {
	const struct uw_env *env;
	struct {
		__u64 addr, val;
	} word[2];
};

static inline int uwwalk_read(void *ctx, __u64 addr, void *dst, __u32 len)
{
	const struct uwwalk_changed *c = ctx;
	int rc = c->env->read(c->env->ctx, addr, dst, len);

	for (int i = 0; !rc && i < 2; i++)
		for (__u32 b = 0; c->word[i].addr && b < 8; b++)
			if (c->word[i].addr + b - addr < len)
				((__u8 *)dst)[c->word[i].addr + b - addr] =
					(__u8)(c->word[i].val >> 8 * b);
	return rc;
}

static const struct uw_page *uwwalk_page(void *ctx, __u32 file, __u32 page)
{
	const struct uwwalk_changed *c = ctx;

	return c->env->page(c->env->ctx, file, page);
}

static const struct uw_rule *uwwalk_rule(void *ctx, __u32 rule)
{
	const struct uwwalk_changed *c = ctx;

	return c->env->rule(c->env->ctx, rule);
}

/* Walks that were over before they began. */
static __u64 uwwalk_sames;

/* Of the last memo that uwwalk_memo() made: frames that a walk took from it when all was the same. */
static __u32 uwwalk_told;

/*
 * Aborts unless the memo ends with the outermost frames of the walk that has just been: all of
 * them, all but an interrupted leaf, as many as it can have, or those that were told.
 */
static inline void uwwalk_kept(const struct uw_memo *o, const struct uw_trail *t,
			       const struct uw_state *s)
{
	__u32 n = s->n - t->first, same = uw_trail_bare(t) && t->tail ? t->tail : o->n;

	if (same != t->tail && same && same != n && same + 1 != n && same != UW_MEMO_FRAMES)
		abort();
	for (__u32 i = 0; i < same; i++)
		if (memcmp(&o->frames[i], &s->frames[s->n - 1 - i], sizeof(s->frames[0])))
			abort();
}

/*
 * The walk from `begun` in memory `env`, with and without the memo of another walk: aborts unless
 * both find the same. `s` knows code. In between another thread has had the trail.
 */
static inline void uwwalk_both(struct uw_state *s, const struct uw_state *begun, __u64 gen,
			       const struct uw_env *env, struct uw_memo *o, struct uw_trail *t)
{
	static struct uw_state plain;

	uwwalk_rewind(s, begun);
	uw_code_begin(s, gen);
	uwwalk_once(s, env, false, NULL, NULL);
	uwwalk_result(&plain, s);
	uwwalk_rewind(s, begun);
	uw_code_begin(s, gen);
	t->keep = 1;
	t->lists = 0;
	memset(t->marks, 0x5a, sizeof(t->marks));
	uwwalk_once(s, env, true, o, t);
	if (!uwwalk_equal(s, &plain) && !uwwalk_holed(s, &plain))
		abort();
	uwwalk_kept(o, t, s);
}

/* And where it is known as a whole, without its frames: all but these is the same. */
static inline void uwwalk_each(struct uw_state *s, const struct uw_state *begun, __u64 gen,
			       const struct uw_env *env, struct uw_memo *o, struct uw_trail *t)
{
	static struct uw_state found;
	struct uw_env in_gen = *env;

	in_gen.code_gen = gen;
	uwwalk_both(s, begun, gen, env, o, t);
	uwwalk_result(&found, s);
	uwwalk_rewind(s, begun);
	uw_code_begin(s, gen);
	t->lists = 1;
	uwwalk_once(s, &in_gen, true, o, t);
	uwwalk_sames += s->same;
	if (!(s->same ? uwwalk_alike(s, &found) : uwwalk_equal(s, &found)) &&
	    !uwwalk_holed(s, &found))
		abort();
}

/* Words of the stack that changed since, one of them where a frame of the memo has its caller's pc
 * or fp, or is interpreted; some become what another frame has. */
static inline void uwwalk_change(struct uwwalk_changed *c, const struct uw_memo *o, __u64 seed)
{
	__u32 n = o->n ? o->n : 1;

	for (int i = 0; i < 2; i++) {
		const struct uw_mark *m, *other;

		seed = uw_mix(seed, (__u64)i);
		m = &o->known[(seed >> 8) % n % UW_MEMO_FRAMES].mark;
		other = &o->known[(seed >> 20) % n % UW_MEMO_FRAMES].mark;
		c->word[i].addr = o->base + m->sp - 8 * (seed >> 32 & 15) + 32;
		switch (seed >> 40 & 7) {
		case 0:
			c->word[i].val = other->pc & UW_HOW_PC;
			break;
		case 1:
			c->word[i].val = o->base + other->fp;
			break;
		case 2:
			c->word[i].val = o->base + other->sp;
			break;
		case 3:
			c->word[i].val = 0;
			break;
		case 4:
			c->word[i].val = (m->pc & UW_HOW_PC) + (seed >> 44 & 15);
			break;
		case 5: /* none */
			c->word[i].addr = 0;
			break;
		default:
			c->word[i].val = seed;
		}
		c->word[i].addr &= ~7ULL;
	}
}

/* From a frame that the walk from `begun` has come by; i of them. */
static inline void uwwalk_start_at(struct uw_state *to, const struct uw_state *begun,
				   const struct uw_memo *o, __u32 i)
{
	memcpy(to, begun, offsetof(struct uw_state, frames));
	to->pc = o->known[i].mark.pc & UW_HOW_PC;
	to->sp = o->base + (o->known[i].mark.sp & UW_MARK_SP);
	to->fp = o->base + o->known[i].mark.fp;
	to->leaf = 0;
	to->flags = GN_FF_RETADDR;
}

/*
 * Walks with a memo find what they would find without: in a memory where nothing has changed, where
 * words of the stack have, when all is as before again, in another generation of the code, with
 * a smaller cap, and from elsewhere in the stack.
 */
static inline void uwwalk_memo(struct uw_state *s, const struct uw_state *begun, __u64 gen,
			       const struct uw_env *env)
{
	static struct uw_memo o, kept;
	static struct uw_trail t;
	static struct uw_state other;
	struct uwwalk_changed c = {.env = env};
	struct uw_env changed = *env;
#ifdef UW_HOTSPOT
	struct gn_jvm unsure;
#endif
	__u64 seed = begun->pc ^ begun->sp << 7;

	changed.ctx = &c;
	changed.read = uwwalk_read;
	changed.page = uwwalk_page;
	changed.rule = uwwalk_rule;
#ifdef UW_HOTSPOT
	if (env->jvm) { /* in these stacks, metadata may lie in the stack: it may have changed */
		unsure = *env->jvm;
		unsure.unloads = 0;
		changed.jvm = &unsure;
	}
#endif
	memset(&o, 0, sizeof(o));
	uwwalk_both(s, begun, gen, env, &o, &t);
	uwwalk_both(s, begun, gen, env, &o, &t);
	uwwalk_told = t.tail;
	kept = o;
	for (int i = 0; i < 8; i++) {
		seed = uw_mix(seed, (__u64)i + 1);
		uwwalk_change(&c, &kept, seed);
		uwwalk_each(s, begun, gen, &changed, &o, &t);
		if (i & 1)
			uwwalk_each(s, begun, gen, env, &o, &t);
	}
	uwwalk_each(s, begun, gen + 2, env, &o, &t);
	memcpy(&other, begun, offsetof(struct uw_state, frames));
	other.leaf = 1;
	other.flags = GN_FF_RETADDR;
	for (int i = 0; i < 3; i++)
		uwwalk_each(s, &other, gen + 2, i & 1 ? &changed : env, &o, &t);
	for (int i = 0; i < 4 && kept.n; i++) {
		seed = uw_mix(seed, (__u64)i);
		uwwalk_start_at(&other, begun, &kept, (__u32)(seed >> 8) % kept.n);
		other.leaf = seed >> 5 & 1; /* in a system call */
		if (i & 1)
			other.fp = seed;
		if (i & 2)
			uw_limit(&other, 1 + (seed >> 40 & 7));
		uwwalk_each(s, &other, gen + 2, env, &o, &t);
		uwwalk_each(s, begun, gen + 2, env, &o, &t);
	}
}

/*
 * The same with nothing remembered, while learning, by what was learnt when that is looked at again,
 * and when it is not since no compiler has run; and with memos; else aborts.
 */
static inline void uwwalk_run(struct uw_state *s, const struct uw_env *env)
{
	static struct uw_state begun, found;
	static __u64 gen = 1;

	gen += 4;
	memcpy(&begun, s, offsetof(struct uw_state, frames));
	uwwalk_once(s, env, false, NULL, NULL);
	uwwalk_result(&found, s);
	for (int i = 0; i < 3; i++) {
		uwwalk_rewind(s, &begun);
		if (i)
			uw_code_begin(s, gen);
		uwwalk_once(s, env, true, NULL, NULL);
		if (!uwwalk_equal(s, &found))
			abort();
	}
	uwwalk_memo(s, &begun, gen, env);
	uwwalk_rewind(s, &begun);
	uwwalk_once(s, env, true, NULL, NULL);
}

#endif
