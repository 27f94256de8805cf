/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The scheduler's clocks. A run queue's clock is read at every switch already (rq->clock,
 * kernel/sched/core.c:__schedule), and sched_info and the CPU times count in it, so reading it
 * costs a load where bpf_ktime_get_ns() costs more than most of a program. It differs from
 * CLOCK_MONOTONIC by an offset that hardly moves.
 */
#ifndef GNOMON_CLOCK_BPF_H
#define GNOMON_CLOCK_BPF_H

#include "maps.bpf.h"

/*
 * One offset for all CPUs, since a thread leaves one and comes back on another and may be away for
 * less than any measurement's error. (User space sees to it that the clocks are in step.) A
 * measurement errs upwards by the time since the run queue's clock was read: a smaller one is
 * believed at once, a larger one as far as clocks drift.
 */
extern __u64 gn_clock_offset, gn_clock_measured;

#define DRIFT_SHIFT    14	  /* 61 ppm */
#define CLOCK_LATE_MAX 1000000000 /* ns: no run queue's clock that is in use is as old */

/* The kernel's id of struct task_struct; 0 unknown: kern/coders.bpf.c. */
extern const volatile __u32 gn_task_type;

/* Of Linux 6.2. Without __ksym, which coders.bpf.c has: libbpf's linker (1.1) fails where two files
 * have it. */
extern void *bpf_rdonly_cast(const void *obj, __u32 btf_id) __weak;

/*
 * The same task, for loads of its pointers. For each one that is loaded from a task which the
 * verifier trusts, it goes through all of the kernel's types to see whether what it leads to is to
 * be trusted, too (btf_nested_type_is_trusted()): half a millisecond, three times.
 */
static __always_inline const struct task_struct *task_plain(const struct task_struct *task)
{
	return gn_task_type && bpf_rdonly_cast ? bpf_rdonly_cast(task, gn_task_type) : task;
}

/*
 * By the task's own way to its run queue (CONFIG_FAIR_GROUP_SCHED; the per-CPU variable `runqueues`
 * can be named only with CONFIG_KALLSYMS_ALL). NULL without it: user space then attaches no
 * wall_switch.
 */
static __always_inline struct rq *run_queue(const struct task_struct *task)
{
	if (!gn_run_queue)
		return NULL;
	return task_plain(task)->se.cfs_rq->rq;
}

/* `clock`, a run queue's, was read at most `late_max` ns before `now`: else one was set. */
static __always_inline __u64 clock_measure(__u64 clock, __u64 now, __u64 late_max)
{
	__u64 offset = now - clock, known = gn_clock_offset;
	__s64 more = offset - known, drift = (__s64)(clock - gn_clock_measured) >> DRIFT_SHIFT;

	if (drift < 0)
		drift = 0;
	if (known && more > drift && more < (__s64)late_max)
		offset = known + drift;
	gn_clock_offset = offset;
	gn_clock_measured = clock;
	return offset;
}

/*
 * Since when the task has been in a run queue; 0: it is in none, or has a CPU. Since Linux 6.12 one
 * that falls asleep may be left in its run queue for a while, and if it is moved to another CPU
 * then the kernel notes that it is queued (sched_info_enqueue(), kernel/sched/stats.h), and goes on
 * counting until it runs again, be that after hours. Who sleeps is not queued, whatever is noted.
 * (When it has run, its run_delay has that time, and nothing tells it from time in a queue.)
 */
static __always_inline __u64 clock_queued_since(const struct task_struct *task)
{
	return task->__state ? 0 : task->sched_info.last_queued;
}

/*
 * Is a thread that left the CPU at t->out_ns off it? One that has the CPU again has gone there
 * since: its storage learns of that when it leaves it. One that has it still is just leaving it.
 */
static __always_inline bool clock_is_off(const struct task_struct *task, const struct gn_thread *t)
{
	return !task->on_cpu || task->sched_info.last_arrival + gn_clock_offset <= t->out_ns;
}

/*
 * The CPU time until now of a task that has a CPU. sum_exec_runtime alone is as old as the run
 * queue's last look at it, which may be a scheduler's tick.
 */
static __always_inline __u64 clock_cpu_time(const struct task_struct *task)
{
	const struct rq *rq = run_queue(task);
	__u64 cpu = task->se.sum_exec_runtime, now, clock;
	__s64 since;

	if (!rq)
		return cpu;
	now = bpf_ktime_get_ns();
	clock = rq->clock;
	since = now - clock_measure(clock, now, CLOCK_LATE_MAX) - clock;
	if (since > 0)
		cpu += since;
	since = rq->clock_task - task->se.exec_start;
	if (since > 0)
		cpu += since;
	return cpu;
}

#endif
