/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How often a process is sampled, where each has a rate of its own (gn_rates): its CPU interval,
 * and which of the wall ticks are its own (kern/abi.h). It may change at any time.
 *
 * CPU samples: the CPUs' clocks run at the finest interval that any process has, and of their
 * firings a process keeps as many, at random, as its own interval wants; each sample says what
 * interval it stands for. Wall samples: a sample's n is of all ticks, so a thread's account of
 * which ticks were told (next_tick) is the same at every level, and goes on where the level
 * changes.
 *
 * Where a process has no wall samples nobody looks at its switches, and not even at its threads'
 * storage, which is a cache miss or two. So where its threads are is not known when it has some
 * again: they are found as those that were there before us (task_scan, kern/lifecycle.bpf.c).
 */
#ifndef GNOMON_RATE_BPF_H
#define GNOMON_RATE_BPF_H

#include "maps.bpf.h"
#include "pidns.bpf.h"

extern const volatile __u32 gn_rates; /* each process has a rate; with CPUs' clocks alone */
extern __u32 gn_rate_gen;	      /* raised whenever one has changed */
extern __u32 gn_visit_level;	      /* of the ticks at which the collector reads who is off */

#define RATE_SWITCHES 64 /* switches of a thread are counted by so many */

/* Of which parity a tick is, for the queues of those to be read after it. */
static __always_inline __u32 tick_parity(__u64 tick)
{
	return (gn_rates ? tick >> gn_visit_level : tick) & 1;
}

/* Not static: see ticks_send(). */
__weak __noinline __u64 level_before(__u64 k, __u32 level)
{
	return gn_level_before(k, level & 15);
}

__weak __noinline __u64 level_next(__u64 k, __u32 level)
{
	return gn_level_next(k, level & 15);
}

static __always_inline bool is_coarse(const struct gn_thread *t)
{
	return gn_rates && t->level;
}

/* Wall samples are taken of it. */
static __always_inline bool rate_has_wall(const struct gn_thread *t)
{
	return !gn_rates || t->level <= GN_LEVEL_MAX;
}

/* Not 0: nobody wants to know of its switches. */
static __always_inline __u64 rate_skips(const struct task_struct *task)
{
	return gn_skips[gn_skip_word(task->tgid)] & gn_skip_bit(task->tgid);
}

/* Nor of who wakes it. */
static __always_inline __u64 rate_skips_wakers(const struct task_struct *task)
{
	return gn_waker_skips[gn_skip_word(task->tgid)] & gn_skip_bit(task->tgid);
}

/*
 * Ends the program if `cond` is not 0. The end of the first branch that is a `return` lies behind
 * all of the program's code: of one that most runs of it end by, that is a cache miss.
 */
#define END_IF(cond)                                                                               \
	asm volatile("if %[c] == 0 goto +2\n\tr0 = 0\n\texit" : : [c] "r"((__u64)(cond)) : "r0")

/* Its first tick from t->next_tick on; rate_has_wall(t). */
static __always_inline __u64 own_tick(struct gn_thread *t)
{
	if (!is_coarse(t))
		return t->next_tick;
	if (UNLIKELY(t->own_from != (__u32)t->next_tick + 1)) {
		t->own_tick = level_next(t->next_tick, t->level);
		t->own_from = (__u32)t->next_tick + 1;
	}
	return t->own_tick;
}

/* Of the ticks [from, until), how many its own stand for. */
static __always_inline __u64 own_ticks(const struct gn_thread *t, __u64 from, __u64 until)
{
	if (!is_coarse(t))
		return until - from;
	return (level_before(until, t->level) - level_before(from, t->level)) << (t->level & 15);
}

/* Between two ticks of its own. */
static __always_inline __u64 own_interval(const struct gn_thread *t)
{
	return gn_rates ? gn_wall_ns << (t->level & 15) : gn_wall_ns;
}

/* Tells which tick the interval that t is in crosses first. */
static __always_inline void tick_set(struct gn_thread *t)
{
	t->tick_ns = rate_has_wall(t) ? gn_start_ns + gn_tick_time(own_tick(t), gn_wall_ns) : ~0ULL;
}

/*
 * t's level, of the process `tgid`. Where it has changed, the interval that goes on crosses other
 * ticks; what was owed at the other level is settled there.
 */
static __always_inline void rate_refresh(struct gn_thread *t, __u32 tgid)
{
	const struct gn_proc *p;
	__u32 level;

	if (LIKELY(!gn_rates || t->rate_gen == gn_rate_gen))
		return;
	t->rate_gen = gn_rate_gen;
	p = bpf_map_lookup_elem(&procs, &tgid);
	level = p ? p->rate.level : GN_LEVEL_NONE;
	if (level == t->level)
		return;
	t->level = level;
	t->own_from = 0;
	t->often = 0;
	tick_set(t);
}

/* One more switch-out: which process costs how much is reckoned by it. */
static __always_inline void rate_switch(const struct gn_thread *t, __u32 tgid)
{
	struct gn_proc *p;

	if (LIKELY(!gn_rates || t->seq % RATE_SWITCHES))
		return;
	p = bpf_map_lookup_elem(&procs, &tgid);
	if (p)
		__sync_fetch_and_add(&p->switches, RATE_SWITCHES);
}

#endif
