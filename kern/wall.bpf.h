/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What wall samples are made of, whichever engine sees the threads: sched_switch (offcpu.bpf.c) or
 * a scan at each tick (scan.bpf.c).
 */
#ifndef GNOMON_WALL_BPF_H
#define GNOMON_WALL_BPF_H

#include "filter.bpf.h"
#include "queued.bpf.h"

static __always_inline __u32 state_of(bool preempt, unsigned int prev_state)
{
	if (preempt || prev_state == TASK_RUNNING)
		return GN_ST_QUEUED;
	if (prev_state & (TASK_STOPPED_BIT | TASK_TRACED_BIT))
		return GN_ST_STOPPED;
	if (prev_state & TASK_INTERRUPTIBLE)
		return GN_ST_SLEEP;
	return GN_ST_DISK;
}

/* The stack of the interval t is in, whoever took it. */
static __always_inline __u64 wall_stack(const struct gn_thread *t)
{
	if (t->stack)
		return t->stack;
	return t->remote_seq == t->seq ? t->remote : 0;
}

/* The virtual thread it carried then. */
static __always_inline __u64 wall_vthread(const struct gn_thread *t)
{
	if (t->stack)
		return t->vthread;
	return t->remote_seq == t->seq ? t->remote_vthread : 0;
}

/* Tells what the thread waited for: by who woke it, or else by its call. */
static __always_inline __u64 wall_cause(const struct gn_thread *t)
{
	if (t->woken_seq == t->seq && t->woken)
		return t->woken;
	if (t->stack)
		return t->cause;
	return t->remote_seq == t->seq ? t->remote_cause : 0;
}

/* Tells which request the thread worked for then. */
static __always_inline __u64 wall_context(const struct gn_thread *t)
{
	if (t->stack)
		return t->context;
	return t->remote_seq == t->seq ? t->remote_context : 0;
}

/* What is found of a thread beside its stack's id. */
struct remote_found {
	__u64 vthread; /* that it carries */
	__u64 cause;   /* of its wait */
	__u64 context; /* of its request */
};

/*
 * It was read by another thread. That is noted with the number of the interval it was read in:
 * should the thread have moved on, nobody takes its stack for that of another. Two may note at a
 * time, the collector for an interval that is over: what is noted of the one that it is in stays.
 */
static __always_inline void remote_note(struct gn_thread *t, __u32 seq, __u64 stack,
					const struct remote_found *found)
{
	if (t->seq != seq)
		return;
	__sync_lock_test_and_set(&t->remote_seq, seq - 1); /* none while it is written */
	t->remote = stack;
	t->remote_vthread = found->vthread;
	t->remote_cause = found->cause;
	t->remote_context = found->context;
	__sync_lock_test_and_set(&t->remote_seq, seq); /* after the id */
}

/* [from, until) are ticks of it. */
static __always_inline void part_send(struct wall_part *p, __u64 from, __u64 until)
{
	if (p->queue)
		queued_send(p, from, until);
	else
		ticks_send(&p->s, from, until);
}

/* The first tick after those of its draw. */
static __always_inline __u64 draw_end(__u64 tick)
{
	return ((tick >> gn_draw_shift) + 1) << gn_draw_shift;
}

/*
 * The same, of those draws in which the thread is chosen. More draws than limits are kept of pass
 * only where the collector is held up: the last limit then has to do for the rest.
 */
__weak __noinline int chosen_send(__u64 id, struct wall_part *p, __u64 from, __u64 until)
{
	if (!p)
		return 0;
	for (int i = 0; i < GN_DRAWS && from < until; i++) {
		__u64 end = draw_end(from);

		if (end > until || i == GN_DRAWS - 1)
			end = until;
		if (tick_is_chosen(id, from))
			part_send(p, from, end);
		from = end;
	}
	return 0;
}

/* Is any of these ticks in the reservoir? */
__weak __noinline int ticks_are_chosen(__u64 id, __u64 from, __u64 until)
{
	for (int i = 0; i < GN_DRAWS && from < until; i++) {
		if (tick_is_chosen(id, from))
			return 1;
		from = draw_end(from);
	}
	return 0;
}

/*
 * The part of t's interval that began at `begin` and was spent in `state`, up to tick `until`;
 * `id` is thread_id(). Whoever moves next_tick forward owns the ticks in between. Returns the
 * number of those that are the thread's own.
 */
static __always_inline __u64 wall_send(__u64 id, struct gn_thread *t, __u64 until, __u32 state,
				       __u64 begin, __u64 end)
{
	__u64 from = t->next_tick;
	struct wall_part p = {
		.s.h.type = GN_REC_SAMPLE,
		.s.h.tgid = id >> 32,
		.s.h.tid = (__u32)id,
		.s.stack = wall_stack(t),
		.s.clock = GN_CLOCK_WALL,
		.s.state = state,
		.s.level = gn_rates ? t->level : 0,
		.s.vthread = wall_vthread(t),
		.s.cause = gn_causes && state != GN_ST_QUEUED ? wall_cause(t) : 0,
		.s.context = wall_context(t),
		.often = t->often,
	};

	p.s.pad = gn_only_context && !p.s.context && t->bare;
	if (until > gn_stop_tick)
		until = gn_stop_tick;
	if (until <= from)
		return 0;
	if (end > gn_stop_ns)
		end = gn_stop_ns;
	p.s.span = end > begin ? end - begin : 0;
	if (__sync_val_compare_and_swap(&t->next_tick, from, until) != from || !rate_has_wall(t))
		return 0;
	if (!p.s.pad && gn_causes && gn_run_queue && state == GN_ST_QUEUED && t->queue)
		queued_begin(&p, t->queue);
	if (gn_reservoir)
		chosen_send(id, &p, from, until);
	else
		part_send(&p, from, until);
	return own_ticks(t, from, until);
}

#endif
