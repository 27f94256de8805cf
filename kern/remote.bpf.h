/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reading the stack of a thread that is off the CPU, for sleepable programs. */
#ifndef GNOMON_REMOTE_BPF_H
#define GNOMON_REMOTE_BPF_H

#define UW_REMOTE
#include "filter.bpf.h"
#include "remote_read.bpf.h"
#include "hotspot.h"
#include "unwind_walk.h"
#include "stack_id.bpf.h"
#include "vthread.bpf.h"

/* One walk at a time: the collector runs these programs from one thread. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct stack_scratch);
} remote_scratch SEC(".maps") __weak;

static __always_inline void remote_regs(struct uw_state *u, struct task_struct *task)
{
	struct pt_regs *r = (struct pt_regs *)bpf_task_pt_regs(task);

	UW_REGS_FROM_PT(u, r);
	u->flags = UW_IN_SYSCALL(r) ? GN_FF_RETADDR : 0;
}

static __always_inline __u64 task_switches(const struct task_struct *task)
{
	return task->nvcsw + task->nivcsw;
}

/* Has it got the CPU since it had switched so often? */
static __always_inline bool task_has_run(const struct task_struct *task, __u64 switches)
{
	return task->on_cpu || task_switches(task) != switches;
}

/*
 * The stack id of a task off the CPU, and the virtual thread it carries; 0 if it could not be read,
 * or got the CPU meanwhile.
 */
static __always_inline __u64 remote_stack(struct task_struct *task, const struct gn_thread *t,
					  __u64 *vthread)
{
	__u64 who = thread_id(task, t), id;
	__u64 switches = task_switches(task);
	__u32 zero = 0;
	struct stack_scratch *s = bpf_map_lookup_elem(&remote_scratch, &zero);
	long len;

	if (!s)
		return 0;
	stack_begin(s, who, bpf_ktime_get_ns());
	len = bpf_get_task_stack(task, raw_of(s), GN_RAW_FRAMES * sizeof(__u64), 0);
	raw_add(s, len, GN_FRAME_KERNEL);
	s->uw.rec.nkernel = s->uw.n;
	uw_limit(&s->uw, gn_depth);
	s->uw.rec.way = GN_WAY_REMOTE;
	s->uw.end = GN_END_NONE;
	remote_regs(&s->uw, task);
	remote_forget();
	uw_walk(&s->uw, task);
	*vthread = vthread_of(who, task, 0);
	if (!s->uw.n || task_has_run(task, switches))
		return 0;
	id = stack_finish(s, NULL);
	count_add(GN_CNT_CAPTURES, 1);
	count_add(GN_CNT_REMOTE, 1);
	return id;
}

#endif
