/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Threads of the targets: found at the start, born, renamed, become another program, ended. */
#include "look.bpf.h"
#include "pending.bpf.h"
#include "vthread.bpf.h"
#include "weight.bpf.h"
#include "hotspot_maps.bpf.h"
#include "churn.bpf.h"

__u64 gn_coders_made = 0;

/* Does its name say that it is a compiler's? */
static __always_inline void coder_see(struct task_struct *task, const char *comm)
{
	__u64 id = task_id(task), name = 0;

	if (!bpf_probe_read_kernel(&name, sizeof(name), comm))
		coders_see(task, id >> 32, name);
}

static __always_inline __u32 churn_kind(struct task_struct *task, __u16 type, __u64 now)
{
	if (type == GN_REC_EXEC)
		return GN_CHURN_EXECS;
	return type == GN_REC_COMM && now - task->start_time > GN_CHURN_YOUNG ? GN_CHURN_NAMES
									      : GN_CHURN_LIVES;
}

static __always_inline void task_send(struct task_struct *task, __u16 type, const char *comm)
{
	struct gn_task_rec r = {.cpu_ns = task->se.sum_exec_runtime};
	__u64 id = task_id(task);
	__u32 kind;

	record_begin(&r.h, type, id);
	kind = churn_kind(task, type, r.h.time);
	if (!churn_take(id >> 32, kind, r.h.time) ||
	    (kind == GN_CHURN_NAMES && ring_is_nearly_full())) {
		/* user space reads again what there is */
		loss_add(r.h.tid, type == GN_REC_EXEC ? GN_LOSS_EXEC : GN_LOSS_CHURN, 1);
		return;
	}
	bpf_probe_read_kernel_str(r.comm, sizeof(r.comm), comm);
	if (record_send(&r.h, sizeof(r)))
		loss_add(r.h.tid, GN_LOSS_FORK + (type - GN_REC_FORK), 1);
}

/* Of a thread that has not left the CPU under our eyes: it is off it from now on. */
static __always_inline void off_begin(const struct task_struct *task, struct gn_thread *t,
				      __u32 state)
{
	__u64 now = bpf_ktime_get_ns(), tick = gn_ticks_until(now - gn_start_ns, gn_wall_ns);

	rate_refresh(t, thread_id(task, t) >> 32);
	t->seq++; /* what was read of it while it was elsewhere is not of this interval */
	t->stack = 0;
	t->out_ns = now;
	t->offset = 0;
	t->state = state;
	t->run_delay = task->sched_info.run_delay;
	t->cpu_ns = task->se.sum_exec_runtime;
	if (gn_causes && gn_run_queue)
		t->queue = (__u64)task_plain(task)->se.cfs_rq;
	if (t->next_tick < tick) /* never back: no tick counts twice */
		t->next_tick = tick;
	tick_set(t);
	__sync_val_compare_and_swap(&t->phase, GN_PH_UNKNOWN, GN_PH_OFF);
}

SEC("tp_btf/task_newtask")
int BPF_PROG(task_born, struct task_struct *task, __u64 clone_flags)
{
	struct gn_thread *t;
	struct look l;

	if (!(clone_flags & CLONE_THREAD) || !proc_find(task_tgid(task)))
		return 0;
	t = thread_storage(task);
	if (!t) {
		loss_add(task_tid(task), GN_LOSS_STATE, 1);
	} else if (gn_scanning) { /* all its time is looked at (kern/scan.bpf.c) */
		look_take(task, &l);
		look_begin(t, &l);
	} else if (gn_can_switch && gn_wall_ns && gn_marking) { /* its first turn is to come */
		off_begin(task, t, GN_ST_QUEUED);
		if (tick_wants_stack(task, t, t->next_tick))
			pending_add(t, task);
	}
	coder_see(task, task->comm);
	task_send(task, GN_REC_FORK, task->comm);
	return 0;
}

/* Another thread may get its number. */
static __always_inline void numbers_free(__u32 tid)
{
	if (gn_carriers)
		bpf_map_delete_elem(&carriers, &tid);
	bpf_map_delete_elem(&java_threads, &tid);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(task_ends, struct task_struct *task)
{
	struct gn_thread *t;

	if (!proc_find(task_tgid(task)))
		return 0;
	t = bpf_task_storage_get(&threads, task, 0, 0);
	if (t && thread_wanted((__u32)thread_id(task, t)))
		weight_settle(task, t, true);
	task_send(task, GN_REC_EXIT, task->comm);
	numbers_free(task_tid(task));
	coders_gone(task, task_tgid(task));
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(task_execs, struct task_struct *task, pid_t old_pid, struct linux_binprm *bprm)
{
	struct gn_thread *t;

	if (!proc_find(task_tgid(task)))
		return 0;
	/* whichever thread called it has the process's number now */
	t = bpf_task_storage_get(&threads, task, 0, 0);
	if (t) {
		t->id = task_id(task);
		t->cpu_stack = t->wait_stack = t->stack = 0; /* of the program before */
	}
	task_send(task, GN_REC_EXEC, task->comm);
	return 0;
}

SEC("tp_btf/task_rename")
int BPF_PROG(task_renamed, struct task_struct *task, const char *comm)
{
	if (!proc_find(task_tgid(task)))
		return 0;
	coder_see(task, comm);
	task_send(task, GN_REC_COMM, comm);
	return 0;
}

/*
 * Of a process that had no wall samples until now: whether the thread has run meanwhile, so that
 * nobody knows where it is. Who still sleeps as it did before goes on.
 */
static __always_inline void resume(const struct task_struct *task, struct gn_thread *t)
{
	rate_refresh(t, gn_resumed);
	if (task->on_cpu || task->se.sum_exec_runtime != t->cpu_ns)
		__sync_val_compare_and_swap(&t->phase, GN_PH_OFF, GN_PH_UNKNOWN);
}

/*
 * Tells of a thread that there was before us, into what is read of the iterator. False: there was
 * no room, and the iterator comes to it again when that has been read.
 */
static __noinline bool task_found(struct bpf_iter__task *ctx, struct task_struct *task)
{
	struct gn_task_rec r = {.h.size = sizeof(r), .cpu_ns = task->se.sum_exec_runtime};

	record_begin(&r.h, GN_REC_FOUND, task_id(task));
	bpf_probe_read_kernel_str(r.comm, sizeof(r.comm), task->comm);
	return !bpf_seq_write(ctx->meta->seq, &r, sizeof(r));
}

/*
 * Threads there before us. The first scan, before switches are seen, gives them storage; the
 * second, after, lets those off the CPU count as off since now: who is runnable as queued, others
 * in a state not seen. A thread that switches meanwhile has left GN_PH_UNKNOWN and is left alone.
 * The same where switches are seen again after scans.
 */
SEC("iter/task")
int task_scan(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct gn_thread *t;

	if (!task || !proc_find(task_tgid(task)))
		return 0;
	if (!bpf_task_storage_get(&threads, task, 0, 0) && !task_found(ctx, task))
		return 0;
	coder_see(task, task->comm);
	if (gn_causes && gn_run_queue)
		group_watch((__u64)BPF_CORE_READ(task, sched_task_group));
	t = thread_storage(task);
	if (!t) {
		loss_add(task_tid(task), GN_LOSS_STATE, 1);
		return 0;
	}
	if (gn_resumed && gn_resumed == task_tgid(task))
		resume(task, t);
	if (!gn_can_switch || !gn_wall_ns || !gn_marking || t->phase != GN_PH_UNKNOWN ||
	    task->on_cpu)
		return 0;
	off_begin(task, t, task->__state ? GN_ST_UNSEEN : GN_ST_QUEUED);
	return 0;
}

/*
 * Threads of processes that were let go and live on are nobody's again: their switches cost nothing
 * more, and should they be recorded once more, all of them are as they are found then.
 */
SEC("iter/task")
int task_leave(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	if (!task || proc_find(task_tgid(task)))
		return 0;
	bpf_task_storage_delete(&threads, task);
	numbers_free(task_tid(task));
	coders_gone(task, task_tgid(task));
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
