/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A CPU's turns: who leaves it at its first switch after a tick has had it at that tick, and at all
 * since he got it. So who had the CPUs at the ticks is known exactly, and nobody has to look at
 * them. Of a CPU at which there was no switch since, it is who has it now.
 */
#ifndef GNOMON_TURN_BPF_H
#define GNOMON_TURN_BPF_H

#include "clock.bpf.h"
#include "holder_note.bpf.h"
#include "switch.bpf.h"

#define TURN_IDLE 16 /* ticks: nobody is queued for an idle CPU for longer */

struct turn {
	struct holder holder;
	__u64 from;
	struct taken *taken; /* NULL: another CPU's, which reckons that itself */
	__u32 cpu;
};

/* What has been noted is left: others may be reading it, and it says the same. */
static long turn_step(__u32 i, struct turn *x)
{
	__u64 tick = x->from + i;
	__u32 key = holder_key(x->cpu, tick);
	struct holder *h = bpf_map_lookup_elem(&holders, &key);

	if (!h)
		return 1;
	if (h->tick == (__u32)tick + 1)
		return 0;
	h->tick = 0;
	h->tid = x->holder.tid;
	h->tgid = x->holder.tgid;
	h->kind = x->holder.kind;
	h->taken = h->kind == GN_CAUSE_AT_ONCE || !x->taken ? 0 : taken_next(x->taken, gn_wall_ns);
	h->who = x->holder.who;
	__sync_lock_test_and_set(&h->tick, (__u32)tick + 1);
	return 0;
}

/*
 * A task (struct task_struct *) that is on that CPU has had it at the ticks [from, until). (Not
 * static: see ticks_send().)
 */
__weak __noinline int turn_note(__u64 task, __u32 cpu, __u64 from, __u64 until)
{
	struct task_struct *by = (struct task_struct *)task;
	struct turn x = {.cpu = cpu};
	__u64 most;

	if (!gn_causes || !gn_run_queue)
		return 0;
	most = BPF_CORE_READ(by, pid) ? GN_HELD_TICKS : TURN_IDLE;
	if (from >= until)
		return 0;
	x.from = until - from > most ? until - most : from;
	if (cpu == bpf_get_smp_processor_id()) {
		x.taken = bpf_map_lookup_elem(&takings, &x.cpu);
		if (x.taken)
			taken_add(x.taken, BPF_CORE_READ(by, se.cfs_rq, rq));
	}
	task_note(&x.holder, by);
	bpf_loop(until - x.from, turn_step, &x, 0);
	return 0;
}

/* The same of who has that queue's CPU now, if there was no switch there since. */
static __always_inline void turn_follow(__u64 queue, __u64 from, __u64 until)
{
	struct rq *rq = BPF_CORE_READ((struct cfs_rq *)queue, rq);
	__u32 zero = 0, cpu = BPF_CORE_READ(rq, cpu);
	const struct gn_cpu_time *c = bpf_map_lookup_percpu_elem(&cpu_times, &zero, cpu);
	struct task_struct *now;
	__u64 came;

	if (!c || until <= c->index)
		return;
	if (from < c->index)
		from = c->index;
	now = BPF_CORE_READ(rq, curr);
	/* the queue is gone, its memory another's; or the CPU is just switching to it */
	if (!rq || !now || BPF_CORE_READ(now, se.cfs_rq, rq) != rq || !BPF_CORE_READ(now, on_cpu))
		return;
	came = BPF_CORE_READ(now, sched_info.last_arrival) + gn_clock_offset;
	if (came <= gn_start_ns + gn_tick_time(from, gn_wall_ns))
		turn_note((__u64)now, cpu, from, until);
}

#endif
