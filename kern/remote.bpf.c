/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Stacks of threads that are not running here: a sleepable program reads the sleeping thread's
 * memory as it would its own. For threads that were asleep before the recording began, and, by
 * tick, for those whose switch-out was not worth a stack. Needs a kernel that finds tasks by pid in
 * such programs; for others there is kern/remote_scan.bpf.c.
 */
#define REMOTE_BY_PID
#include "remote.bpf.h"

extern struct task_struct *bpf_task_from_pid(s32 pid) __ksym __weak;
extern void bpf_task_release(struct task_struct *p) __ksym __weak;

#include "lock_tick.bpf.h"
#include "pending.bpf.h"

__u64 gn_readable_start = 0, gn_readable_end = 0, gn_remote_torn = 0;
__u32 gn_reread = 0;
__u32 gn_unread = 0;
__u64 gn_visit = 0;

/*
 * All threads off the CPU without a stack: those asleep since before the recording. There may be
 * thousands, and so they are queued, and read some at a time (remote_tick).
 */
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 65536);
	__type(value, __u32); /* tid */
} resting SEC(".maps");

SEC("iter/task")
int resting_scan(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	__u32 tid;

	if (!task || !gn_wall_ns || !task_wanted(task) ||
	    !is_resting(task, bpf_task_storage_get(&threads, task, 0, 0)))
		return 0;
	tid = task->pid; /* for bpf_task_from_pid() */
	if (bpf_map_push_elem(&resting, &tid, BPF_ANY))
		gn_unread++;
	return 0;
}

/*
 * It is read once more with the next tick; of which parity that is, who reads those that rest does
 * not know. (Not inlined: the stack has no room for it.)
 */
static __noinline void unsettled_put(__u64 tick, __u32 tid)
{
	if (tick != GN_RESTING) {
		pending_put(!tick_parity(tick), tid);
		return;
	}
	pending_put(0, tid);
	pending_put(1, tid);
}

/* Whether it is read now. Where the tick is none of its own: the next one that is visited may be.
 */
static __noinline int pending_due(struct task_struct *task, struct gn_thread *t, __u64 tick)
{
	struct pending p = {.storage = (__u64)t};

	if (!t || !rate_has_wall(t))
		return 0;
	if (!is_coarse(t) || level_next(t->next_tick, t->level) <= tick)
		return tick_is_due(t->next_tick, tick) && remote_due(task, t);
	p.tid = task->pid;
	pending_push(!tick_parity(tick), &p);
	return 0;
}

enum { STACK_TAKEN = 1, STACK_UNSETTLED = 2 };

/*
 * STACK_TAKEN; STACK_UNSETTLED if it is to be read once more. Not static, so that the verifier
 * looks at it once: within the loop it would follow the walk anew for each state of that.
 */
__noinline int remote_take_pending(__u32 tid, __u64 tick)
{
	struct task_struct *task = bpf_task_from_pid(tid);
	struct gn_thread *t;
	int taken = 0;

	if (!task)
		return 0;
	t = bpf_task_storage_get(&threads, task, 0, 0);
	if (t && pending_due(task, t, tick)) {
		taken = remote_take(task, t);
		if (is_unsettled(t))
			taken |= STACK_UNSETTLED;
	}
	bpf_task_release(task);
	return taken;
}

/* A list of frames that does not fit its ring would be missing for as long as its thread rests. */
static __always_inline bool pending_waits(const struct gn_remote_tick *arg)
{
	return arg->tick == GN_RESTING && (arg->popped >= arg->most || ring_is_nearly_full());
}

static long pending_step(__u32 i, struct gn_remote_tick *arg)
{
	struct pending p = {};
	int taken;

	if (pending_waits(arg)) {
		arg->left = 1;
		return 1;
	}
	if (arg->tick == GN_RESTING ? bpf_map_pop_elem(&resting, &p.tid)
				    : pending_pop(tick_parity(arg->tick), &p))
		return 1;
	arg->popped++;
	if (arg->tick != GN_RESTING && pending_is_over(p.storage, arg->tick))
		return 0;
	taken = remote_take_pending(p.tid, arg->tick);
	if (taken & STACK_UNSETTLED)
		unsettled_put(arg->tick, p.tid);
	arg->taken += taken & STACK_TAKEN;
	return 0;
}

/* Threads put into pending_even and pending_odd, ever: so the collector need not look in vain. */
__u64 gn_pending[2] = {};

#define PENDING_MAX 65536

/*
 * A tick has just passed: read those of its pending threads that are still off the CPU. Or some of
 * those that rest.
 */
SEC("syscall")
int remote_tick(struct gn_remote_tick *ctx)
{
	struct gn_remote_tick arg = {.tick = ctx->tick, .most = ctx->most};

	gn_visit = arg.tick == GN_RESTING ? 0 : arg.tick + 1;
	bpf_loop(PENDING_MAX, pending_step, &arg, 0);
	ctx->popped = arg.popped;
	ctx->taken = arg.taken;
	ctx->left = arg.left;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
