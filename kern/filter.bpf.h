/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which threads are ours. */
#ifndef GNOMON_FILTER_BPF_H
#define GNOMON_FILTER_BPF_H

#include "maps.bpf.h"

/* The target's entry, or NULL. */
static __always_inline struct gn_proc *proc_find(__u32 tgid)
{
	return bpf_map_lookup_elem(&procs, &tgid);
}

/* A thread's storage, made at first use. Not with the run queue's lock held: it allocates. */
static __always_inline struct gn_thread *thread_storage(struct task_struct *task)
{
	struct gn_thread *t;

	t = bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (t && t->clock_epoch != gn_clock_epoch) { /* see kern/oncpu.bpf.c */
		t->clock_epoch = gn_clock_epoch;
		t->sampled_ns = 0;
		t->mature = task->se.sum_exec_runtime + GN_YOUNG * gn_cpu_ns +
			    ((__u64)bpf_get_prandom_u32() * gn_cpu_ns >> 32) + 1;
	}
	return t;
}

static __always_inline bool thread_wanted(__u32 tid)
{
	return !gn_thread_filter || bpf_map_lookup_elem(&wanted, &tid);
}

/* Is this tick of the thread's in the reservoir? */
static __always_inline bool tick_is_chosen(const struct task_struct *task, __u64 tick)
{
	struct gn_proc *p;

	if (!gn_reservoir)
		return true;
	p = proc_find(task->tgid);
	return p && gn_is_chosen(p, task->pid, tick >> gn_epoch_shift);
}

/* Or one that comes soon? */
static __always_inline bool tick_wants_stack(const struct task_struct *task, __u64 tick)
{
	if (!gn_reservoir)
		return true;
	return tick_is_chosen(task, tick) ||
	       tick_is_chosen(task, tick + gn_epoch_lead(gn_epoch_shift));
}

#endif
