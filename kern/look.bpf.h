/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a thread did between two looks of scans at it: its time on the CPU, in run queues and
 * waiting. The kernel counts the first two, whoever comes to look, and whenever.
 */
#ifndef GNOMON_LOOK_BPF_H
#define GNOMON_LOOK_BPF_H

#include "clock.bpf.h"
#include "owed.bpf.h"

struct look {
	__u64 now;
	__u64 cpu_ns;	 /* CPU time so far */
	__u64 queued_ns; /* time in run queues so far */
	__u64 waits;	 /* how often it went to wait so far */
	__u32 state;	 /* enum gn_state, should it be off the CPU */
	__u32 on_cpu;
};

#define TASK_WAKING 0x0200

static __always_inline __u32 look_state(const struct task_struct *task)
{
	unsigned int state = task->__state;

	return state_of(false, state == TASK_WAKING ? TASK_RUNNING : state);
}

/*
 * Who was running here until the collector came to look is on the CPU, as far as it is concerned:
 * it was put back into the queue at the very time the collector got the CPU.
 */
static __always_inline bool look_on_cpu(const struct task_struct *task)
{
	const struct task_struct *self = bpf_get_current_task_btf();

	if (task->on_cpu)
		return true;
	if (!gn_sched_info || task->thread_info.cpu != bpf_get_smp_processor_id())
		return false;
	return task->sched_info.last_queued &&
	       task->sched_info.last_queued == self->sched_info.last_arrival;
}

/* 0 where the kernel keeps no account of run queues. */
static __always_inline __u64 look_queued(const struct task_struct *task, __u64 now)
{
	const struct rq *rq = run_queue(bpf_get_current_task_btf());
	__u64 since;
	__s64 so_far;

	if (!rq || !gn_sched_info)
		return 0;
	since = clock_queued_since(task);
	so_far = now - clock_measure(rq->clock, now, CLOCK_LATE_MAX) - since;
	return task->sched_info.run_delay + (since && so_far > 0 ? so_far : 0);
}

static __always_inline void look_take(const struct task_struct *task, struct look *l)
{
	l->now = bpf_ktime_get_ns();
	l->state = look_state(task);
	l->on_cpu = look_on_cpu(task);
	l->cpu_ns = task->on_cpu ? clock_cpu_time(task) : task->se.sum_exec_runtime;
	l->queued_ns = look_queued(task, l->now);
	l->waits = task->nvcsw;
}

/* Of this look the next reckons. */
static __always_inline void look_keep(struct gn_thread *t, const struct look *l)
{
	t->look_gen = gn_scan_gen;
	t->look_ns = l->now;
	t->look_cpu_ns = l->cpu_ns;
	t->look_queued = l->queued_ns;
	t->look_waits = l->waits;
}

/* It is looked at for the first time since scans began, or it is born. */
static __always_inline void look_begin(struct gn_thread *t, const struct look *l)
{
	owed_forgive(t);
	look_keep(t, l);
}

/*
 * Who has neither run nor queued for a part of the time has waited: if he went to wait at all. (The
 * CPU time lacks that of interrupts, and what the host of a guest took.)
 */
static __always_inline void look_owe(struct gn_thread *t, const struct look *l)
{
	bool waited =
		l->waits != t->look_waits || (t->phase == GN_PH_SCAN && t->state != GN_ST_QUEUED);
	__s64 off = (l->now - t->look_ns) - (l->cpu_ns - t->look_cpu_ns);
	__s64 queued = l->queued_ns - t->look_queued;

	if (!l->queued_ns && !l->on_cpu && l->state == GN_ST_QUEUED)
		queued = off;
	t->owed[OWED_QUEUED] += queued;
	if (waited)
		t->owed[OWED_WAITING] += off - queued;
	look_keep(t, l);
}

#endif
