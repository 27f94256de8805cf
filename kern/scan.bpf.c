/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Wall samples without sched_switch: after each tick all threads of a target are looked at. Who has
 * used no CPU time since the last look still is where it was, and only its ticks are counted; who
 * has, and is off the CPU now, has its stack read from outside. Threads on a CPU are left to the
 * CPU samples, but for the waits that they are owed. The price does not depend on the switches, but
 * on the number of threads.
 *
 * Whether the tick counts of a thread that has run since the last goes by what it is owed
 * (kern/owed.bpf.h).
 */
#include "remote.bpf.h"
#include "look.bpf.h"

__u32 gn_scanning = 0;
__u64 gn_scan_tick = 0;
__u32 gn_scan_gen = 1;

static __always_inline void switches_count(const struct task_struct *task, struct gn_thread *t)
{
	__u64 n = task_switches(task);

	if (t->switches && n > t->switches)
		count_add(GN_CNT_SWITCHES, n - t->switches);
	t->switches = n;
}

/* ---- the tick of a thread that has run since the last ---- */

/* Not back, when it was accounted for a change of engine. */
static __always_inline void tick_reach(struct gn_thread *t, __u64 tick)
{
	if (t->next_tick < tick)
		t->next_tick = tick;
}

/* This tick alone counts, and as `state`. */
static __always_inline void tick_pay(__u64 id, struct gn_thread *t, __u32 state, __u64 now)
{
	__u64 stack = t->stack, vthread = t->vthread, context = t->context;

	owed_stack(t, state);
	owed_paid(t, state, wall_send(id, t, gn_scan_tick + 1, state, now - own_interval(t), now));
	t->stack = stack;
	t->vthread = vthread;
	t->context = context;
}

/*
 * Found off the CPU. The tick counts as what it is doing, as what else it is owed, or not. (Not
 * static, as others here: see ticks_send().)
 */
__weak __noinline int off_settle(__u64 id, struct gn_thread *t, struct look *l)
{
	__u32 other;

	if (!t || !l)
		return 0;
	other = l->state == GN_ST_QUEUED ? GN_ST_SLEEP : GN_ST_QUEUED;
	if (owed_is_due(t, l->state))
		return 0;
	if (owed_is_overdue(t, other))
		tick_pay(id, t, other, l->now);
	tick_reach(t, gn_scan_tick + 1);
	return 0;
}

/* Found running: does the tick count as what it did before? */
__weak __noinline int running_settle(__u64 id, struct gn_thread *t, struct look *l)
{
	__u32 state;

	if (!t || !l)
		return 0;
	state = t->state;
	if (owed_of(t, OWED_QUEUED) > owed_of(t, OWED_WAITING))
		state = GN_ST_QUEUED;
	else if (state == GN_ST_QUEUED || state == GN_ST_RUNNING)
		state = GN_ST_SLEEP;
	tick_reach(t, gn_scan_tick);
	if (owed_is_overdue(t, state))
		tick_pay(id, t, state, l->now);
	return 0;
}

/* ---- scans ---- */

/*
 * From this tick on it is somewhere else, or in another state. False: it was gone before its stack
 * could be read. Who is still there and cannot be read is off the CPU all the same, and its ticks
 * count as those without a stack.
 */
static __always_inline bool batch_begin(struct task_struct *task, struct gn_thread *t,
					const struct look *l)
{
	struct remote_found found = {};
	__u64 stack = 0, cpu = task->se.sum_exec_runtime;
	__u64 switches = task_switches(task);
	bool wanted = tick_wants_stack(task, t, gn_scan_tick);

	if (cpu == t->cpu_ns && t->phase != GN_PH_UNKNOWN && !(wanted && cause_is_due(task, t))) {
		stack = wall_stack(t);
		found.vthread = wall_vthread(t);
		found.cause = wall_cause(t);
		found.context = wall_context(t);
	}
	t->seq++;
	if (!stack && wanted) {
		stack = remote_stack(task, t, l->state, switches, &found);
		if (!stack && task_has_run(task, switches))
			return false;
		if (!is_torn(t))
			context_wanted(t, t->seq, found.context);
	}
	t->stack = stack;
	t->vthread = found.vthread;
	t->cause = found.cause;
	t->context = found.context;
	if (l->state != GN_ST_QUEUED && stack) {
		t->wait_stack = stack;
		t->wait_vthread = found.vthread;
		t->wait_cause = found.cause;
		t->wait_context = found.context;
	}
	t->cpu_ns = cpu;
	t->state = l->state;
	t->out_ns = l->now;
	t->offset = 0;
	tick_reach(t, gn_scan_tick);
	t->phase = GN_PH_SCAN;
	return true;
}

/* It has used no CPU time since the last look, so its ticks are counted later, all at once. */
static __always_inline bool batch_goes_on(struct task_struct *task, const struct gn_thread *t,
					  const struct look *l)
{
	return t->phase == GN_PH_SCAN && !l->on_cpu && task->se.sum_exec_runtime == t->cpu_ns &&
	       l->state == t->state &&
	       ((wall_stack(t) && !cause_is_due(task, t)) || thread_is_bare(t) ||
		!tick_wants_stack(task, t, gn_scan_tick));
}

/* It has moved on: what it did since the last look is reckoned. */
__weak __noinline int batch_end(__u64 id, struct gn_thread *t, struct look *l)
{
	if (!t || !l)
		return 0;
	if (t->phase == GN_PH_SCAN)
		owed_paid(t, t->state, wall_send(id, t, gn_scan_tick, t->state, t->out_ns, l->now));
	if (t->look_gen == gn_scan_gen)
		look_owe(t, l);
	else
		look_begin(t, l);
	return 0;
}

SEC("iter.s/task")
int wall_scan(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct look l = {};
	struct gn_thread *t;
	__u64 id;

	if (!task || !gn_wall_ns || !task_wanted(task))
		return 0;
	t = bpf_task_storage_get(&threads, task, 0, 0);
	if (!t || t->phase == GN_PH_ENDED)
		return 0;
	rate_refresh(t, thread_id(task, t) >> 32);
	if (!rate_has_wall(t) ||
	    (is_coarse(t) && level_next(gn_scan_tick, t->level) != gn_scan_tick))
		return 0;
	count_add(GN_CNT_SCANNED, 1);
	if (t->look_gen != gn_scan_gen)
		t->switches = 0; /* those since the last scan were seen one by one */
	switches_count(task, t);
	look_take(task, &l);
	if (batch_goes_on(task, t, &l))
		return 0;
	id = thread_id(task, t);
	batch_end(id, t, &l);
	if (gn_causes && gn_run_queue)
		t->queue = (__u64)task_plain(task)->se.cfs_rq;
	if (task->__state & TASK_DEAD) {
		t->phase = GN_PH_UNKNOWN;
	} else if (l.on_cpu || !batch_begin(task, t, &l)) {
		t->phase = GN_PH_UNKNOWN;
		running_settle(id, t, &l);
	} else {
		off_settle(id, t, &l);
	}
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
