/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The loop over the steps. HotSpot code is walked when kern/hotspot.h was included before (it
 * defines UW_HOTSPOT); else its frames go by frame pointer, or nowhere on machines without rules.
 */
#ifndef GNOMON_UNWIND_WALK_H
#define GNOMON_UNWIND_WALK_H

#include "native.h"

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

struct uw_loop {
	struct uw_state *s;
	uw_mem m;
	const struct uw_proc *p;
	const struct gn_jvm *j; /* NULL: no JVM */
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

/* max + 1 rounds: the last one finds that there is no room. */
#ifdef __bpf__
static long uw_loop_step(__u32 i, void *ctx)
{
	struct uw_loop *l = ctx;

	return uw_step(l->s, l->m, l);
}

uw_fn void uw_run(struct uw_loop *l)
{
	bpf_loop(GN_MAX_FRAMES + 1, uw_loop_step, l, 0);
}
#else
uw_fn void uw_run(struct uw_loop *l)
{
	for (int i = 0; i <= GN_MAX_FRAMES; i++)
		if (uw_step(l->s, l->m, l))
			return;
}
#endif

/*
 * Walk from the state's registers to the end; s->end is set. A process without a table has
 * GN_END_NORULE and no frame, and -1 is returned.
 */
uw_fn int uw_walk(struct uw_state *s, uw_mem m)
{
	struct uw_loop l = {.s = s, .m = m, .p = uw_get_proc(m, s->tgid)};
#ifdef UW_HOTSPOT
	const struct gn_jvm *j;
#endif

	if (!l.p) {
		uw_end(s, GN_END_NORULE);
		return -1;
	}
#ifdef UW_HOTSPOT
	l.j = j = uw_get_jvm(m, s->tgid);
	if (j)
		uw_epoch_begin(s, uw_code_epoch(m, j, s->tgid));
#endif
	uw_run(&l);
	if (s->end == GN_END_NONE)
		uw_end(s, GN_END_DEPTH);
#ifdef UW_HOTSPOT
	/* it has become another JVM's meanwhile: where that was, the walk was led astray */
	if (j && !uw_is_jvm(j, s->tgid))
		uw_end(s, GN_END_NORULE);
#endif
	return 0;
}

#endif
