/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What wall samples are made of, whichever engine sees the threads: sched_switch (offcpu.bpf.c) or
 * a scan at each tick (scan.bpf.c).
 */
#ifndef GNOMON_WALL_BPF_H
#define GNOMON_WALL_BPF_H

#include "filter.bpf.h"

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

/* What it waited for. */
static __always_inline __u64 wall_cause(const struct gn_thread *t)
{
	if (t->stack)
		return t->cause;
	return t->remote_seq == t->seq ? t->remote_cause : 0;
}

/*
 * `s` is of the interval; [from, until) are ticks of it. Not static, as the next: such a function
 * is verified by itself, once, and not again with each of the states that its callers may be in.
 */
__weak __noinline int ticks_send(struct gn_sample *s, __u64 from, __u64 until)
{
	if (!s)
		return 0;
	s->h.time = gn_start_ns + gn_tick_time(from, gn_wall_ns);
	s->n = until - from;
	if (!s->stack)
		loss_add(s->h.tid, GN_LOSS_MISSED, s->n);
	if (record_send(&s->h, sizeof(*s))) {
		loss_add(s->h.tid, GN_LOSS_WALL, s->n);
		return 0;
	}
	count_add(GN_CNT_WALL, 1);
	count_add(GN_CNT_TICKS, s->n);
	return 0;
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
__weak __noinline int chosen_send(__u64 id, struct gn_sample *s, __u64 from, __u64 until)
{
	if (!s)
		return 0;
	for (int i = 0; i < GN_DRAWS && from < until; i++) {
		__u64 end = draw_end(from);

		if (end > until || i == GN_DRAWS - 1)
			end = until;
		if (tick_is_chosen(id, from))
			ticks_send(s, from, end);
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
 * `id` is thread_id(). Whoever moves next_tick forward owns the ticks in between. How many that
 * are.
 */
static __always_inline __u64 wall_send(__u64 id, struct gn_thread *t, __u64 until, __u32 state,
				       __u64 begin, __u64 end)
{
	__u64 from = t->next_tick;
	struct gn_sample s = {
		.h.type = GN_REC_SAMPLE,
		.h.tgid = id >> 32,
		.h.tid = (__u32)id,
		.stack = wall_stack(t),
		.clock = GN_CLOCK_WALL,
		.state = state,
		.vthread = wall_vthread(t),
		.cause = gn_causes && state != GN_ST_QUEUED ? wall_cause(t) : 0,
	};

	if (until > gn_stop_tick)
		until = gn_stop_tick;
	if (until <= from)
		return 0;
	if (end > gn_stop_ns)
		end = gn_stop_ns;
	s.span = end > begin ? end - begin : 0;
	if (__sync_val_compare_and_swap(&t->next_tick, from, until) != from)
		return 0;
	if (gn_reservoir)
		chosen_send(id, &s, from, until);
	else
		ticks_send(&s, from, until);
	return until - from;
}

#endif
