/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Wall ticks of threads that come and go between two ticks.
 *
 * Who is off the CPU for a microsecond at a time is off for longer while his stack is taken, and so
 * are those who wait for him; and stacks are taken close to ticks. What such a thread does at a
 * tick is then not what it does otherwise: errors of 30 points were seen where two threads take
 * turns on a CPU. But how long it waits and queues in all is known exactly, since each switch is
 * seen. So for these threads the sum is right by construction, and ticks only choose the stacks:
 * time off the CPU is owed, and a tick pays an interval of it. A tick that finds the thread off the
 * CPU counts unless a whole interval too much has been paid already; one that finds it running
 * counts for the wait before, if more than an interval is owed. Where ticks are right, neither
 * happens but by the chance of sampling. (CPU samples are weighed likewise: kern/weight.bpf.h.)
 *
 * With scans all threads go so: whoever comes to look takes a CPU, and who would have run on it, or
 * waits for one that would, is found off the CPU.
 */
#ifndef GNOMON_OWED_BPF_H
#define GNOMON_OWED_BPF_H

#include "wall.bpf.h"

/*
 * Look-ahead below which a thread switches often: a few of its intervals, and some hundred takings
 * of a stack. On a machine that is twenty times slower (one that is emulated) still more than its
 * takings: with 0.1 ms two threads that took turns each 40 us there went by their ticks, and had 20
 * of 100 queued instead of 45.
 */
#define OFTEN_NS 1000000

enum owed_kind { OWED_WAITING = 0, OWED_QUEUED = 1 };

/*
 * Two write: whoever sees the thread, which is its own switch or the scan, and an accounting, at
 * any time and on any CPU. Each has numbers of its own, so that a switch needs no atomic operation:
 * `owed` and `paid`; the difference counts.
 */
static __always_inline __s64 owed_of(const struct gn_thread *t, enum owed_kind kind)
{
	return t->owed[kind] - t->paid[kind];
}

/*
 * Its look-ahead has become as short as that. What was owed when it was so last still is: a thread
 * that comes and goes would gain or lose an interval each time.
 */
static __always_inline void owed_begin(struct gn_thread *t)
{
	t->often = 1;
}

/* It switches seldom, or ticks were counted that were not paid. */
static __always_inline void owed_end(struct gn_thread *t)
{
	t->often = 0;
}

/* The thread was off the CPU for `off` ns, `queued` of them in a run queue. */
static __always_inline void owed_add(struct gn_thread *t, __u64 off, __u64 queued)
{
	if ((__s64)off < 0) /* two CPUs' clocks */
		return;
	if (queued > off || t->state == GN_ST_QUEUED)
		queued = off;
	t->owed[OWED_QUEUED] += queued;
	t->owed[OWED_WAITING] += off - queued;
}

/* Ticks were counted, of a thread that this switch or scan sees. */
static __always_inline void owed_paid(struct gn_thread *t, __u32 state, __u64 ticks)
{
	t->owed[state == GN_ST_QUEUED] -= ticks * gn_wall_ns;
}

/* By an accounting. */
static __always_inline void owed_accounted(struct gn_thread *t, __u32 state, __u64 ticks)
{
	__sync_fetch_and_add(&t->paid[state == GN_ST_QUEUED], ticks * gn_wall_ns);
}

static __always_inline void owed_forgive(struct gn_thread *t)
{
	t->owed[OWED_WAITING] = t->paid[OWED_WAITING];
	t->owed[OWED_QUEUED] = t->paid[OWED_QUEUED];
}

/*
 * Tells the state that a tick of the interval counts as: where a wait ends in a run queue, the one
 * of which more is owed. A preempted thread does not wait; but where the taking of stacks has it
 * preempted before every tick, its waits would never be paid.
 */
static __always_inline __u32 owed_state(const struct gn_thread *t)
{
	if (owed_of(t, OWED_QUEUED) > owed_of(t, OWED_WAITING))
		return GN_ST_QUEUED;
	if (t->state == GN_ST_QUEUED && t->wait_stack &&
	    owed_of(t, OWED_WAITING) > (__s64)(2 * own_interval(t)))
		return GN_ST_SLEEP;
	return t->state;
}

/* The interval has passed, and its tick counts as one in that state. */
static __always_inline void owed_stack(struct gn_thread *t, __u32 state)
{
	if (t->state != GN_ST_QUEUED || state == GN_ST_QUEUED || !t->wait_stack)
		return;
	t->stack = t->wait_stack;
	t->vthread = t->wait_vthread;
	t->cause = t->wait_cause;
	t->context = t->wait_context;
}

static __always_inline __s64 owed_in(const struct gn_thread *t, __u32 state)
{
	return owed_of(t, state == GN_ST_QUEUED ? OWED_QUEUED : OWED_WAITING);
}

/*
 * Is a stack to be waited for, since a later tick will have one? Not with a reservoir: out of it no
 * stacks are taken, and what were left owing there would be paid in it.
 */
static __always_inline bool owed_lacks_stack(const struct gn_thread *t)
{
	return !gn_reservoir && !wall_stack(t) && !thread_is_bare(t);
}

/* Does a tick that found it off the CPU count? */
static __always_inline bool owed_is_due(const struct gn_thread *t, __u32 state)
{
	__s64 interval = own_interval(t);

	return owed_in(t, state) > (owed_lacks_stack(t) ? 2 * interval : -interval);
}

/* Does one that found it running? */
static __always_inline bool owed_is_overdue(const struct gn_thread *t, __u32 state)
{
	__s64 interval = own_interval(t);

	return owed_in(t, state) > (owed_lacks_stack(t) ? 3 * interval : interval);
}

/* The ticks at which scans found t where it is, up to the last scan's. */
static __always_inline void scan_report(struct task_struct *task, struct gn_thread *t)
{
	__u64 now = bpf_ktime_get_ns();

	owed_accounted(
		t, t->state,
		wall_send(thread_id(task, t), t, gn_scan_tick + 1, t->state, t->out_ns, now));
}

#endif
