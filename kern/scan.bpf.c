/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Wall samples without sched_switch: after each tick all threads of a target are looked at. Who has
 * used no CPU time since the last look still is where it was, and only its ticks are counted; who
 * has, and is off the CPU now, has its stack read from outside. Threads on a CPU are left to the
 * CPU samples. The price does not depend on the switches, but on the number of threads.
 */
#include "remote.bpf.h"
#include "wall.bpf.h"

__u32 gn_scanning = 0;
__u64 gn_scan_tick = 0;

#define TASK_WAKING 0x0200

static __always_inline __u32 scan_state(const struct task_struct *task)
{
	unsigned int state = task->__state;

	return state_of(false, state == TASK_WAKING ? TASK_RUNNING : state);
}

/*
 * Who was running here until the collector came to look is on the CPU, as far as it is concerned:
 * it was put back into the queue at the very time the collector got the CPU.
 */
static __always_inline bool scan_on_cpu(const struct task_struct *task)
{
	const struct task_struct *self = bpf_get_current_task_btf();

	if (task->on_cpu)
		return true;
	if (!bpf_core_field_exists(task->sched_info.last_queued) ||
	    task->thread_info.cpu != bpf_get_smp_processor_id())
		return false;
	return task->sched_info.last_queued &&
	       task->sched_info.last_queued == self->sched_info.last_arrival;
}

static __always_inline void switches_count(const struct task_struct *task, struct gn_thread *t)
{
	__u64 n = task->nvcsw + task->nivcsw;

	if (t->switches && n > t->switches)
		count_add(GN_CNT_SWITCHES, n - t->switches);
	t->switches = n;
}

/* From this tick on it is somewhere else, or in another state. */
static __always_inline void batch_begin(struct task_struct *task, struct gn_thread *t, __u64 cpu,
					__u32 state)
{
	__u64 stack = 0, vthread = 0;

	if (cpu == t->cpu_ns && t->phase != GN_PH_UNKNOWN) {
		stack = wall_stack(t);
		vthread = wall_vthread(t);
	}
	t->seq++;
	if (!stack && tick_wants_stack(task, t, gn_scan_tick))
		stack = remote_stack(task, t, &vthread);
	t->stack = stack;
	t->vthread = vthread;
	t->cpu_ns = cpu;
	t->state = state;
	t->out_ns = bpf_ktime_get_ns();
	t->offset = 0;
	if (t->next_tick < gn_scan_tick) /* not when it was accounted for a change of engine */
		t->next_tick = gn_scan_tick;
	t->phase = GN_PH_SCAN;
}

SEC("iter.s/task")
int wall_scan(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct gn_thread *t;
	bool on_cpu;
	__u32 state;
	__u64 cpu;

	if (!task || !gn_wall_ns || !task_wanted(task))
		return 0;
	t = bpf_task_storage_get(&threads, task, 0, 0);
	if (!t || t->phase == GN_PH_ENDED)
		return 0;
	count_add(GN_CNT_SCANNED, 1);
	switches_count(task, t);
	cpu = task->se.sum_exec_runtime;
	state = scan_state(task);
	on_cpu = scan_on_cpu(task);
	if (t->phase == GN_PH_SCAN) {
		if (!on_cpu && cpu == t->cpu_ns && state == t->state &&
		    (!gn_reservoir || wall_stack(t) || !tick_wants_stack(task, t, gn_scan_tick)))
			return 0;
		wall_send(task, t, gn_scan_tick, t->state, t->out_ns, bpf_ktime_get_ns());
	}
	if (on_cpu || task->__state & TASK_DEAD) {
		t->phase = GN_PH_UNKNOWN;
		return 0;
	}
	batch_begin(task, t, cpu, state);
	return 0;
}

/* For the choice of the CPU clocks where there are no wall samples. */
SEC("iter/task")
int switches_scan(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct gn_thread *t;

	if (!task || !proc_find(task_tgid(task)))
		return 0;
	t = bpf_task_storage_get(&threads, task, 0, 0);
	if (t)
		switches_count(task, t);
	return 0;
}

/* No scan will come by again. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(scan_ends, struct task_struct *task)
{
	struct gn_thread *t;

	if (!proc_find(task_tgid(task)))
		return 0;
	t = bpf_task_storage_get(&threads, task, 0, 0);
	if (!t || t->phase != GN_PH_SCAN)
		return 0;
	scan_report(task, t);
	t->phase = GN_PH_ENDED;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
