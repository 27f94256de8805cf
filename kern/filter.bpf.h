/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which threads are ours. */
#ifndef GNOMON_FILTER_BPF_H
#define GNOMON_FILTER_BPF_H

#include "maps.bpf.h"
#include "pidns.bpf.h"
#include "rate.bpf.h"

/* The target's entry, or NULL. */
static __always_inline struct gn_proc *proc_find(__u32 tgid)
{
	return bpf_map_lookup_elem(&procs, &tgid);
}

/* Not static: see ticks_send(). */
__weak __noinline __u64 proc_cpu_ns(__u32 tgid)
{
	const struct gn_proc *p = proc_find(tgid);

	return p ? p->rate.cpu_ns : 0;
}

/* The CPU interval of the thread `id` (thread_id()), 0: none. */
static __always_inline __u64 thread_cpu_ns(__u64 id)
{
	return gn_rates ? proc_cpu_ns(id >> 32) : gn_cpu_ns;
}

/* Where the thread is met for the first time, or for the first time since gn_clock_gen was raised.
 */
static __always_inline void thread_begin(struct gn_thread *t, const struct task_struct *task)
{
	if (!t->id)
		t->id = task_id(task);
	if (t->clock_gen == gn_clock_gen)
		return;
	t->clock_gen = gn_clock_gen; /* see kern/oncpu.bpf.c */
	t->sampled_ns = 0;
	t->mature = task->se.sum_exec_runtime + 1;
	if (!gn_cpu_clocks_only)
		t->mature +=
			GN_YOUNG * gn_cpu_ns + ((__u64)bpf_get_prandom_u32() * gn_cpu_ns >> 32);
}

/* A thread's storage, made at first use. Not with the run queue's lock held: it allocates. */
static __always_inline struct gn_thread *thread_storage(struct task_struct *task)
{
	struct gn_thread *t;

	t = bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (t)
		thread_begin(t, task);
	return t;
}

/*
 * The storage of `task`, of the thread `id` (tgid << 32 | tid), if it is a target's; where that
 * cannot be made it is a loss. That it is one is remembered: to look its process up is a dozen
 * cache misses on a busy machine.
 */
static __always_inline struct gn_thread *target_storage(struct task_struct *task, __u64 id)
{
	__u32 gen = gn_targets_gen; /* before it is looked up */
	struct gn_thread *t = bpf_task_storage_get(&threads, task, 0, 0);

	if (t && t->targets_gen == gen) {
		thread_begin(t, task);
		return t;
	}
	if (!proc_find(id >> 32))
		return NULL;
	t = thread_storage(task);
	if (t)
		t->targets_gen = gen;
	else
		loss_add((__u32)id, GN_LOSS_STATE, 1);
	return t;
}

/* As task_id(), of a thread with storage, and to the end of its life. */
static __always_inline __u64 thread_id(const struct task_struct *task, const struct gn_thread *t)
{
	return gn_pidns_level ? t->id : task_id(task);
}

static __always_inline bool thread_wanted(__u32 tid)
{
	return !gn_thread_filter || bpf_map_lookup_elem(&wanted, &tid);
}

/* A target's, and let through. */
static __always_inline bool task_wanted(const struct task_struct *task)
{
	__u64 id = task_id(task);

	return proc_find(id >> 32) && thread_wanted((__u32)id);
}

/* The interval that t is in was looked at, and is not wanted: it works for no request. */
static __always_inline bool thread_is_bare(const struct gn_thread *t)
{
	return gn_only_context && t->bare_seq == t->seq + 1;
}

/* It was looked at, in the interval `seq`. False: nothing else of it is to be read. */
static __always_inline bool context_wanted(struct gn_thread *t, __u32 seq, __u64 context)
{
	if (!gn_only_context)
		return true;
	t->bare = !context;
	t->bare_seq = context ? 0 : seq + 1;
	return context;
}

/* Is this tick in the reservoir, of the thread `id` (thread_id())? */
static __always_inline bool tick_is_chosen(__u64 id, __u64 tick)
{
	struct gn_proc *p;

	if (!gn_reservoir)
		return true;
	p = proc_find(id >> 32);
	return p && gn_is_chosen(p, (__u32)id, tick >> gn_draw_shift);
}

/* Or one that comes soon? */
static __always_inline bool tick_wants_stack(const struct task_struct *task,
					     const struct gn_thread *t, __u64 tick)
{
	__u64 id;

	if (!gn_reservoir)
		return true;
	id = thread_id(task, t);
	return tick_is_chosen(id, tick) || tick_is_chosen(id, tick + gn_draw_lead(gn_draw_shift));
}

#endif
