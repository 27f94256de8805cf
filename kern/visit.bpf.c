/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Threads that a tick has found off the CPU, read by others of their process as those leave the
 * CPU: their memory is there, and a read of it takes a tenth of one from outside (remote.bpf.c). On
 * a busy server so nearly all of them are; the collector reads the rest. For
 * kernels that find tasks by pid.
 */
#include "asked.bpf.h"
#include "cause.bpf.h"
#include "context.bpf.h"
#include "pending.bpf.h"
#include "stack.bpf.h"
#include "switch.bpf.h"
#include "vthread.bpf.h"
#include "wall.bpf.h"

/* Without __ksym, which remote.bpf.c has: libbpf's linker (1.1) fails where two files have it. */
extern struct task_struct *bpf_task_from_pid(s32 pid) __weak;
extern void bpf_task_release(struct task_struct *p) __weak;

const volatile __u32 gn_can_visit = 0;

#define VISIT_LOOKS  8 /* threads that a switch looks at, at most */
#define VISIT_STACKS 2 /* stacks that it takes: who runs next waits for them */

/* LEFT: the collector is to read it. LATER: after a tick of its own. OVER: it need not be read. */
enum { VISIT_LEFT, VISIT_LATER, VISIT_OVER, VISIT_TAKEN };

/* VISIT_TAKEN if it is to be read now, and can be. */
static __always_inline int visit_due(const struct task_struct *task, struct gn_thread *t,
				     __u64 tick)
{
	__u64 id = thread_id(task, t);
	__u32 tgid = id >> 32;

	if (t->phase != GN_PH_OFF || !rate_has_wall(t))
		return VISIT_OVER;
	if (is_coarse(t) && level_next(t->next_tick, t->level) > tick)
		return VISIT_LATER;
	if (!tick_is_due(t->next_tick, tick))
		return VISIT_OVER;
	if (task->on_cpu || wall_stack(t) || gn_only_context || !thread_wanted((__u32)id) ||
	    !tick_wants_stack(task, t, t->next_tick) || !bpf_map_lookup_elem(&uw_procs, &tgid))
		return VISIT_LEFT;
	return VISIT_TAKEN;
}

/* VISIT_TAKEN, or VISIT_LEFT: it could not be read to its end, or has run meanwhile. */
static __always_inline int visit_stack(struct task_struct *task, struct gn_thread *t, __u64 tick)
{
	__u64 id = thread_id(task, t), switches = task_switches(task), stack;
	struct remote_found found;
	__u32 seq = t->seq;

	found.context = context_of(id, task, SLOT_SWITCH);
	stack = stack_take(NULL, SLOT_SWITCH, GN_WAY_NEAR, true, task, t, id, bpf_ktime_get_ns());
	if (!(stack & GN_STACK_WHOLE))
		return VISIT_LEFT;
	found.vthread = vthread_of(id, task, SLOT_SWITCH);
	found.cause = cause_of(id, task, t->state);
	if (task_has_run(task, switches))
		return VISIT_LEFT;
	remote_note(t, seq, stack, &found);
	asked_note(task, t);
	if (is_moving(t)) /* it is read once more with the next tick */
		pending_put(!tick_parity(tick), task->pid);
	return VISIT_TAKEN;
}

/* Not static, so that the verifier looks at it once. */
__noinline int visit_take(__u32 tid, __u64 tick)
{
	struct task_struct *task = bpf_task_from_pid(tid), *by = bpf_get_current_task_btf();
	struct gn_thread *t;
	int rc = VISIT_LEFT;

	if (!task)
		return VISIT_OVER;
	t = task->mm == by->mm ? bpf_task_storage_get(&threads, task, 0, 0) : NULL;
	if (t)
		rc = visit_due(task, t, tick);
	if (t && rc == VISIT_TAKEN)
		rc = visit_stack(task, t, tick);
	bpf_task_release(task);
	return rc;
}

/* 1 if no more is to be looked at. */
static __always_inline int visit_step(struct gn_cpu_time *c, __u32 tgid, __u64 tick, __u32 *taken)
{
	struct pending p = {};
	int rc = VISIT_LATER;

	if (pending_pop(tick_parity(tick), &p)) {
		c->looks = 0;
		return 1;
	}
	if (pending_is_over(p.storage, tick))
		return 0;
	if (p.tgid == tgid)
		rc = visit_take(p.tid, tick);
	if (rc == VISIT_OVER)
		return 0;
	if (rc == VISIT_TAKEN)
		return ++*taken == VISIT_STACKS;
	if (rc == VISIT_LEFT)
		p.tgid = 0; /* no other looks at it */
	pending_push(tick_parity(tick), &p);
	return !--c->looks;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(switch_visit, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	struct gn_cpu_time *c = switch_cpu();
	__u32 taken = 0;

	if (!c)
		return 0;
	UW_NO_UNROLL
	for (__u32 i = 0; i < VISIT_LOOKS && c->looks; i++)
		if (visit_step(c, prev->tgid, c->index - 1, &taken))
			break;
	if (taken) {
		count_add(GN_CNT_CAPTURES, taken);
		count_add(GN_CNT_NEAR, taken);
	}
	if (c->walk & (WALK_OUT | WALK_BACK))
		bpf_tail_call(ctx, &switch_walker, GN_SWITCH_WALK);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
