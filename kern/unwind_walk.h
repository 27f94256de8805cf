/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The loop over the steps. HotSpot code is walked when kern/hotspot.h was included before (it
 * defines UW_HOTSPOT); else its frames go by frame pointer, or nowhere on machines without rules.
 */
#ifndef GNOMON_UNWIND_WALK_H
#define GNOMON_UNWIND_WALK_H

#include "native.h"
#ifdef UW_MEMO
#include "memo.h"
#endif

/* The last mapping that begins at or below pc, or the first. */
uw_fn __u32 uw_map_search(const struct uw_proc *p, __u64 pc)
{
	__u64 pos = 0;

	/* without branches, as uw_page_search(); UW_NO_START - pc does not wrap */
#pragma GCC unroll 10
	for (int bit = __builtin_ctz(UW_MAX_MAPS) - 1; bit >= 0; bit--) {
		__u64 le = (p->start[pos + (1 << bit)] - pc - 1) >> 63;

		uw_barrier(le);
		pos += le << bit;
		uw_barrier(pos);
	}
	return pos;
}

uw_fn int uw_map_has(const struct uw_proc *p, __u32 i, __u64 pc)
{
	return p->start[i] <= pc && pc < p->map[i].end;
}

/*
 * Find what is mapped at pc: s->map; kind UW_MAP_NONE when nothing known is. Where it was found
 * the last time is looked at first: a search goes all over the table, which is mostly in no cache.
 */
uw_fn void uw_map_find(struct uw_state *s, const struct uw_proc *p)
{
	__u64 pc = uw_lookup_pc(s);
	__u16 *known = &s->place[pc >> UW_PLACE_SHIFT & (UW_PLACES - 1)];
	__u32 i = *known & (UW_MAX_MAPS - 1);

	if (pc - s->map_start < s->map.end - s->map_start)
		return;
	if (!uw_map_has(p, i, pc))
		*known = i = uw_map_search(p, pc);
	i &= UW_MAX_MAPS - 1;
	if (!uw_map_has(p, i, pc)) {
		s->map_start = 0;
		s->map.end = 0;
		s->map.kind = UW_MAP_NONE;
		return;
	}
	s->map_start = p->start[i];
	s->map = p->map[i];
}

/* In BPF it is kept on its stack, of which there is little: no more than is needed. */
#if defined(__bpf__) && !defined(UW_REMOTE)
#define UW_LOOP_MEM(l) ((uw_mem)0)
#else
#define UW_LOOP_MEM(l) ((l)->m)
#endif

struct uw_loop {
	struct uw_state *s;
#if !defined(__bpf__) || defined(UW_REMOTE)
	uw_mem m;
#endif
	const struct uw_proc *p;
	const struct gn_jvm *j; /* NULL: no JVM */
#ifdef UW_MEMO
	struct uw_memo *o;  /* of the thread's last walk */
	struct uw_trail *t; /* in user space NULL: without a memo */
#endif
};

/* One frame. 0, or 1 when the walk has ended. */
uw_fn int uw_step(struct uw_state *s, uw_mem m, const struct uw_loop *l)
{
	int ended;

	uw_map_find(s, l->p);
#ifdef UW_HOTSPOT
	if (s->map.kind == UW_MAP_HOTSPOT && l->j)
		return hs_step(s, m, l->j);
#endif
	ended = s->map.kind == UW_MAP_FILE ? native_step(s, m) : native_unknown_step(s, m);
#ifdef UW_HOTSPOT
	if (ended && l->j && !hs_recover(s, m, l->j))
		return 0;
	/* who has no frame pointer of his own leads to his caller's caller, and compiled code may
	 * have one, or anything */
	if (s->flags & GN_FF_FP && l->j && hs_is_code(l->j, s->pc))
		s->flags |= GN_FF_GUESSED;
#endif
	return ended;
}

#ifdef UW_MEMO
/* What is as it was the last time. */
uw_fn int uw_walk_told(struct uw_loop *l)
{
	int next = uw_call(uw_follow, l->s, UW_LOOP_MEM(l), l->j, l->o, l->t);

	return next == UW_CHECK ? uw_check_tell(l->s, l->o, l->t) : next;
}
#endif

/* And the frame after that. */
uw_fn int uw_walk_on(struct uw_loop *l)
{
#ifdef UW_MEMO
	int next, ended;

	if (!UW_HAS_MEMO(l))
		return uw_step(l->s, UW_LOOP_MEM(l), l);
	next = uw_walk_told(l);
	if (next != UW_STEP)
		return next == UW_ENDED;
	ended = uw_step(l->s, UW_LOOP_MEM(l), l);
	uw_mark_end(l->s, l->t);
	if (uw_memo_checks())
		uw_check_step(l->s, l->t);
	return ended;
#else
	return uw_step(l->s, UW_LOOP_MEM(l), l);
#endif
}

/* max + 1 rounds: the last one finds that there is no room. */
#ifdef __bpf__
static long uw_loop_step(__u32 i, void *ctx)
{
	return uw_walk_on(ctx) & 1; /* which it is, but the verifier does not know */
}

uw_fn void uw_run(struct uw_loop *l)
{
	bpf_loop(GN_MAX_FRAMES + 1, uw_loop_step, l, 0);
}
#else
uw_fn void uw_run(struct uw_loop *l)
{
	for (int i = 0; i <= GN_MAX_FRAMES; i++)
		if (uw_walk_on(l))
			return;
}
#endif

#ifdef UW_MEMO
/* enum uw_next: whether all is told at once. */
uw_fn int uw_memo_begin(struct uw_loop *l)
{
	struct uw_state *s = l->s;

	if (!UW_HAS_MEMO(l))
		return UW_STEP;
	uw_trail_begin(s, l->o, l->t);
#ifdef UW_HOTSPOT
	if (l->j) {
		l->t->native = 0;
		l->t->cm_size = l->j->cm_size;
		if (l->o->interp < UW_MEMO_FRAMES)
			uw_call(uw_unloads, s, UW_LOOP_MEM(l), l->j, l->o, l->t);
	}
#endif
	return uw_memo_begins(l->o, s) ? uw_walk_told(l) : UW_STEP;
}

uw_fn void uw_memo_end(struct uw_loop *l)
{
	if (!UW_HAS_MEMO(l))
		return;
	if (uw_memo_checks())
		uw_call(uw_check_again, l->s, UW_LOOP_MEM(l), l->j, l->o, l->t);
	uw_trail_end(l->s, l->o, l->t, uw_table_changes(UW_LOOP_MEM(l)));
}
#else
#define uw_memo_begin(l) UW_STEP
#define uw_memo_end(l)	 ((void)0)
#endif

/*
 * Walk from the state's registers to the end; s->end is set. A process without a table has
 * GN_END_NORULE and no frame, and -1 is returned. `l` has the state, whose memory, and the memo.
 */
uw_fn int uw_walk_with(struct uw_loop *l)
{
	struct uw_state *s = l->s;

	s->before = s->hash;
	s->hash = s->tgid;
	s->power = 1;
#ifdef UW_MEMO
	if (UW_HAS_MEMO(l))
		l->t->changes = uw_table_changes(UW_LOOP_MEM(l)); /* before they are looked at */
#endif
#ifdef UW_HOTSPOT
	l->j = uw_get_jvm(UW_LOOP_MEM(l), s->tgid);
	if (l->j)
		uw_code_begin(s, uw_code_gen(UW_LOOP_MEM(l), l->j, s->tgid));
#endif
	if (uw_memo_begin(l) != UW_ENDED) {
		l->p = uw_get_proc(UW_LOOP_MEM(l), s->tgid);
		if (!l->p) {
			uw_end(s, GN_END_NORULE);
			return -1;
		}
		uw_run(l);
		if (s->end == GN_END_NONE)
			uw_end(s, GN_END_DEPTH);
	}
#ifdef UW_HOTSPOT
	/* it has become another JVM's meanwhile: where that was, the walk was led astray */
	if (l->j && !uw_is_jvm(l->j, s->tgid)) {
		uw_end(s, GN_END_NORULE);
#ifdef UW_MEMO
		if (s->same) {
			s->n = l->t->first;
			l->t->keep = 0;
		}
		s->same = 0;
#endif
	}
#endif
	uw_memo_end(l);
	return 0;
}

/* The same without a memo. */
#if !defined(UW_MEMO) || !defined(__bpf__)
uw_fn int uw_walk(struct uw_state *s, uw_mem m)
{
	struct uw_loop l = {.s = s, .m = m};

	return uw_walk_with(&l);
}
#endif

#endif
