/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Stacks of threads that are not running here: a sleepable program reads the sleeping thread's
 * memory as it would its own. For threads that were asleep before the recording began (and, by
 * tick, for those whose switch-out was not worth a stack).
 *
 * Whether the thread stayed where it was while it was read is told by its count of switches, and
 * by its not having a CPU.
 */
#include "remote.bpf.h"
#include "wall.bpf.h"

/*
 * The id is noted with the number of the interval it was read in: should the thread have moved on,
 * nobody takes it for the stack of another.
 */
static __always_inline int remote_take(struct task_struct *task, struct gn_thread *t)
{
	__u32 seq = t->seq;
	__u64 had = t->stack, vthread = 0, id = remote_stack(task, t, &vthread);

	if (!id)
		return 0;
	t->remote = id;
	t->remote_vthread = vthread;
	__sync_lock_test_and_set(&t->remote_seq, seq); /* after the id */
	if (had && id & GN_STACK_WHOLE)		       /* in place of what it had of itself */
		__sync_val_compare_and_swap(&t->stack, had, 0);
	return 1;
}

/*
 * Not 0: what was read before there were tables for it, or it was a carrier, is read again, and
 * what has a stack whose frames the collector did not get.
 */
__u32 gn_reread = 0;

static __always_inline bool remote_due(const struct task_struct *task, const struct gn_thread *t)
{
	__u64 id = t->stack;

	if (t->phase != GN_PH_OFF || task->on_cpu)
		return false;
	if (!id && t->remote_seq == t->seq)
		id = t->remote;
	if (!id || !gn_reread)
		return !id;
	return !(id & GN_STACK_WHOLE) || !bpf_map_lookup_elem(&sent, &id) ||
	       (!wall_vthread(t) && vthread_is_carrier((__u32)thread_id(task, t)));
}

/* Threads that a scan left for the next one, when the collector has drained the rings. */
__u32 gn_unread = 0;

/* Of threads that left the CPU before this tick alone; others are not in its way. */
__u64 gn_remote_tick = ~0ULL;

/*
 * All threads off the CPU without a stack: those asleep since before the recording, and, where the
 * kernel cannot find tasks by pid in such programs, every tick's. A list of frames that does not
 * fit its ring would be missing for as long as its thread sleeps, so none is read for a full one.
 */
SEC("iter.s/task")
int remote_scan(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct gn_thread *t;

	if (!task || !gn_wall_ns || !task_wanted(task))
		return 0;
	t = bpf_task_storage_get(&threads, task, 0, 0);
	if (!t || t->next_tick > gn_remote_tick || !remote_due(task, t) ||
	    !tick_wants_stack(task, t, t->next_tick))
		return 0;
	if (ring_is_nearly_full())
		gn_unread++;
	else
		remote_take(task, t);
	return 0;
}

extern struct task_struct *bpf_task_from_pid(s32 pid) __ksym __weak;
extern void bpf_task_release(struct task_struct *p) __ksym __weak;

/*
 * 1 if its stack was taken. Not static, so that the verifier looks at it once: within the loop it
 * would follow the walk anew for each state of that.
 */
__noinline int remote_take_pending(__u32 tid, __u64 tick)
{
	struct task_struct *task = bpf_task_from_pid(tid);
	struct gn_thread *t;
	int taken = 0;

	if (!task)
		return 0;
	t = bpf_task_storage_get(&threads, task, 0, 0);
	if (t && t->next_tick <= tick && remote_due(task, t))
		taken = remote_take(task, t);
	bpf_task_release(task);
	return taken;
}

static long pending_step(__u32 i, struct gn_remote_tick *arg)
{
	__u32 tid = 0;
	long err;

	err = arg->tick & 1 ? bpf_map_pop_elem(&pending_odd, &tid)
			    : bpf_map_pop_elem(&pending_even, &tid);
	if (err)
		return 1;
	arg->popped++;
	arg->taken += remote_take_pending(tid, arg->tick);
	return 0;
}

/* Threads put into pending_even and pending_odd, ever: so the collector need not look in vain. */
__u64 gn_pending[2] = {};

#define PENDING_MAX 65536

/* A tick has just passed: read those of its pending threads that are still off the CPU. */
SEC("syscall")
int remote_tick(struct gn_remote_tick *ctx)
{
	struct gn_remote_tick arg = {.tick = ctx->tick};

	bpf_loop(PENDING_MAX, pending_step, &arg, 0);
	ctx->popped = arg.popped;
	ctx->taken = arg.taken;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
