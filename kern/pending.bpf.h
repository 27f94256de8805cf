/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Threads that went off the CPU long before a tick: whoever is still off when it has passed is to
 * be read, by others of its process as they leave the CPU (visit.bpf.c), or from outside
 * (remote.bpf.c). One queue per parity of the tick, so that the one being emptied is not being
 * filled, unless the visit is later than the next tick.
 */
#ifndef GNOMON_PENDING_BPF_H
#define GNOMON_PENDING_BPF_H

#include "bell.bpf.h"
#include "rate.bpf.h"

struct pending {
	__u64 storage; /* where its struct gn_thread was then; 0 unknown */
	__u32 tid;     /* for bpf_task_from_pid() */
	__u32 tgid;    /* likewise the kernel's number; 0: it is left to the collector */
};

struct gn_pending {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 65536);
	__type(value, struct pending);
};
struct gn_pending pending_even SEC(".maps") __weak;
struct gn_pending pending_odd SEC(".maps") __weak;

/* By the parity of the tick: threads put into its queue, ever. */
extern __u64 gn_pending[2];

/* Not 0: some that have a stack are to be read once more (remote.bpf.h). */
extern __u32 gn_reread;

static __always_inline void pending_push(__u32 odd, const struct pending *p)
{
	if (odd)
		bpf_map_push_elem(&pending_odd, p, BPF_ANY);
	else
		bpf_map_push_elem(&pending_even, p, BPF_ANY);
	__sync_fetch_and_add(&gn_pending[odd & 1], 1); /* after it is there */
	tick_wanted();
}

static __always_inline long pending_pop(__u32 odd, struct pending *p)
{
	return odd ? bpf_map_pop_elem(&pending_odd, p) : bpf_map_pop_elem(&pending_even, p);
}

/* The collector is to read it. */
static __always_inline void pending_put(__u32 odd, __u32 tid)
{
	struct pending p = {.tid = tid};

	pending_push(odd, &p);
}

/* Have it read when the tick has passed; once per tick, however often it switches. */
static __always_inline void pending_add(struct gn_thread *t, const struct task_struct *task)
{
	struct pending p = {.storage = (__u64)t, .tid = task->pid, .tgid = task->tgid};
	__u64 tick = own_tick(t);

	if (LIKELY(t->queued_tick == tick + 1))
		return;
	t->queued_tick = tick + 1;
	pending_push(tick_parity(tick), &p);
}

/* What struct gn_thread begins with, which tells whether it is to be read. */
struct pending_look {
	__u32 phase, state, seq, level;
	__u64 out_ns, run_delay, cpu_ns, tick_ns, stack, next_tick;
};
_Static_assert(__builtin_offsetof(struct gn_thread, next_tick) ==
		       __builtin_offsetof(struct pending_look, next_tick),
	       "it is read as it lies there");

/*
 * Whether a thread that was queued for `tick` is to be read at the visit of that. Where the visit
 * is late some are in its queue for the tick after the next one: they are read too early, which
 * does no harm, since they would not be queued again.
 */
static __always_inline bool tick_is_due(__u64 next_tick, __u64 tick)
{
	return next_tick <= tick || !((next_tick ^ tick) & 1);
}

/* OVER: nothing of it is to be read. LATER: nothing before a tick of its own. */
enum { PENDING_OVER, PENDING_LATER, PENDING_DUE };

/*
 * Nothing of it is to be read: it has been back since the tick, or its stack was taken as it left
 * the CPU. So it is with nearly all that switch often, and to find their tasks would be most of a
 * visit. They are looked at where their storage was: that may be gone and be anything by now, and
 * then nothing is to be read either. (One whose own ticks are few may be there for a later one.)
 */
static __noinline __attribute__((unused)) int pending_judge(__u64 storage, __u64 tick)
{
	struct gn_thread *t = (void *)storage;
	struct pending_look l;

	if (!t)
		return PENDING_DUE;
	if (bpf_probe_read_kernel(&l, sizeof(l), t) || l.phase != GN_PH_OFF ||
	    (l.stack && !gn_reread))
		return PENDING_OVER;
	if (gn_rates && l.level && level_next(l.next_tick, l.level) > tick)
		return PENDING_LATER;
	return tick_is_due(l.next_tick, tick) ? PENDING_DUE : PENDING_OVER;
}

static __always_inline bool pending_is_over(__u64 storage, __u64 tick)
{
	return pending_judge(storage, tick) == PENDING_OVER;
}

#endif
