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
		pending_put(!tick_parity(tick), NULL, tid);
		return;
	}
	pending_put(0, NULL, tid);
	pending_put(1, NULL, tid);
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
	if (t && t->next_tick <= tick && rate_has_wall(t) && remote_due(task, t)) {
		if (is_coarse(t) && level_next(t->next_tick, t->level) > tick) {
			pending_put(!tick_parity(tick), t, tid); /* the next visit may be its own */
		} else {
			taken = remote_take(task, t);
			if (is_unsettled(t))
				taken |= STACK_UNSETTLED;
		}
	}
	bpf_task_release(task);
	return taken;
}

/* What struct gn_thread begins with, which tells whether it is to be read. */
struct pending_look {
	__u32 phase, state, seq, level;
	__u64 out_ns, run_delay, cpu_ns, tick_ns, stack, next_tick;
};

static __always_inline long pending_pop(__u64 tick, struct pending *p)
{
	if (tick == GN_RESTING)
		return bpf_map_pop_elem(&resting, &p->tid);
	return tick_parity(tick) ? bpf_map_pop_elem(&pending_odd, p)
				 : bpf_map_pop_elem(&pending_even, p);
}

/*
 * Nothing of it is to be read: it has been back since the tick, or its stack was taken as it left
 * the CPU. So it is with nearly all that switch often, and to find their tasks would be most of a
 * visit. They are looked at where their storage was: that may be gone and be anything by now, and
 * then nothing is to be read either.
 */
static __noinline bool pending_is_over(__u64 storage, __u64 tick)
{
	struct gn_thread *t = (void *)storage;
	struct pending_look l;

	if (!t || tick == GN_RESTING)
		return false;
	_Static_assert(__builtin_offsetof(struct gn_thread, next_tick) ==
			       __builtin_offsetof(struct pending_look, next_tick),
		       "it is read as it lies there");
	if (bpf_probe_read_kernel(&l, sizeof(l), t))
		return true;
	return l.phase != GN_PH_OFF || l.next_tick > tick || (l.stack && !gn_reread);
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
	if (pending_pop(arg->tick, &p))
		return 1;
	arg->popped++;
	if (pending_is_over(p.storage, arg->tick))
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
