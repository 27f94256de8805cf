/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Two looks of the tick thread just after a tick: at all CPUs, where no switch is seen, and at
 * groups that have a limit.
 *
 * Who had each CPU at that instant: who has it now tells when he got it; if that was after the
 * tick, the one before him, if he still wants it, is the next in the run queue's list of tasks,
 * which has the one that was picked last in front. Who has gone to sleep in between is not found,
 * and the one that is there now is taken for him.
 *
 * All of it is read from others' run queues without a lock: each read is checked by the kernel, and
 * none is followed further than QUEUE_STEPS.
 */
#include "holder_note.bpf.h"

const volatile __u32 gn_cpus = 1;
__u32 gn_groups = 0;
__u32 gn_looked[GN_HELD_TICKS] = {};
__u32 gn_unsure = 0;

#define QUEUE_STEPS 6 /* tasks of a run queue that are looked at */

extern __u64 gn_clock_offset;
extern __u32 gn_visit_level;

struct look_at {
	__u64 tick;
	__u64 at;   /* its time, in the run queues' clock */
	__u64 came; /* when we got our CPU, in that clock */
	struct task_group *group;
	struct task_struct *self;
};

static __always_inline struct cfs_rq *queue_of(struct task_group *group, __u32 cpu)
{
	struct cfs_rq **all = BPF_CORE_READ(group, cfs_rq), *queue = NULL;

	if (!all || bpf_probe_read_kernel(&queue, sizeof(queue), all + cpu))
		return NULL;
	return queue;
}

/* ---- who has a CPU ---- */

/*
 * Did it leave the CPU after the tick, and only since somebody else got it? One that was woken
 * since is queued since then, too, but has not run since it fell asleep. (exec_start is in a clock
 * that leaves out what was stolen: `ahead` is the difference.)
 */
static __always_inline bool was_put_off(struct task_struct *task, __u64 at, __u64 ahead)
{
	return BPF_CORE_READ(task, sched_info.last_queued) > at &&
	       BPF_CORE_READ(task, sched_info.last_arrival) <= at &&
	       BPF_CORE_READ(task, se.exec_start) + ahead > at;
}

/*
 * The one that had it until another was picked, among those that were picked last. Or else, where
 * we have it now, whoever had it until then.
 */
static __noinline struct task_struct *put_off_find(struct rq *rq, struct look_at *x)
{
	struct list_head *head = (void *)rq + bpf_core_field_offset(struct rq, cfs_tasks);
	struct list_head *at = BPF_CORE_READ(head, next);
	__u64 ahead = BPF_CORE_READ(rq, clock) - BPF_CORE_READ(rq, clock_task), when = x->at;
	struct task_struct *last = NULL;

	for (int i = 0; i < QUEUE_STEPS; i++) {
		struct task_struct *task;

		if (!at || at == head)
			break;
		task = (void *)at - bpf_core_field_offset(struct task_struct, se.group_node);
		if (was_put_off(task, when, ahead))
			return task;
		if (BPF_CORE_READ(task, sched_info.last_queued) == x->came)
			last = task;
		at = BPF_CORE_READ(at, next);
	}
	return last;
}

/* Who had it at the tick, or has it now. NULL: only we ourselves do. */
static __always_inline struct task_struct *holder_find(struct rq *rq, struct look_at *x)
{
	struct task_struct *now = BPF_CORE_READ(rq, curr), *before;

	if (now != x->self && BPF_CORE_READ(now, sched_info.last_arrival) <= x->at &&
	    BPF_CORE_READ(now, pid))
		return now;
	before = bpf_core_field_exists(rq->cfs_tasks) ? put_off_find(rq, x) : NULL;
	if (before)
		return before;
	return now == x->self ? NULL : now;
}

static long cpu_look(__u32 cpu, struct look_at *x)
{
	struct cfs_rq *queue = queue_of(x->group, cpu);
	struct rq *rq = queue ? BPF_CORE_READ(queue, rq) : NULL;
	__u32 key = holder_key(cpu, x->tick);
	struct holder *h = bpf_map_lookup_elem(&holders, &key);
	struct taken *t = bpf_map_lookup_elem(&takings, &cpu);
	struct task_struct *task;

	if (!rq || !h || !t)
		return !h;
	h->tick = 0;
	h->kind = h->tid = h->tgid = h->who = 0;
	taken_add(t, rq);
	h->taken = taken_next(t, gn_wall_ns << (gn_visit_level & 15));
	task = holder_find(rq, x);
	if (task)
		task_note(h, task);
	h->tick = (__u32)x->tick + 1;
	return 0;
}

SEC("syscall")
int cpus_look(struct gn_tick_look *ctx)
{
	struct task_struct *self = bpf_get_current_task_btf();
	struct look_at x = {
		.tick = ctx->tick,
		.at = gn_start_ns + gn_tick_time(ctx->tick, gn_wall_ns) - gn_clock_offset,
		.came = self->sched_info.last_arrival,
		.self = self,
		.group = BPF_CORE_READ(self, sched_task_group),
	};

	bpf_loop(gn_cpus, cpu_look, &x, 0);
	return 0;
}

/* ---- groups whose time is used up ---- */

/* The group that has no time left: this one or one above it. */
static __noinline struct task_group *group_spent(struct task_group *group)
{
	for (int i = 0; i < GROUP_STEPS && group; i++) {
		struct list_head *head =
			(void *)group +
			bpf_core_field_offset(struct task_group, cfs_bandwidth.throttled_cfs_rq);
		struct list_head *next = BPF_CORE_READ(head, next);

		if (next && next != head)
			return group;
		group = BPF_CORE_READ(group, parent);
	}
	return NULL;
}

struct group_look {
	struct task_group *group;
	__u64 tick, who;
};

static __always_inline struct limited *limited_get(__u64 queue)
{
	struct limited *l = bpf_map_lookup_elem(&limits, &queue);
	static const struct limited none;

	if (l)
		return l;
	bpf_map_update_elem(&limits, &queue, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&limits, &queue);
}

static long queue_look(__u32 cpu, struct group_look *x)
{
	struct cfs_rq *queue = queue_of(x->group, cpu);
	__u64 tick = x->tick;
	struct limited_ticks *at;
	struct limited *l;

	if (!queue || BPF_CORE_READ(queue, throttle_count) <= 0)
		return 0;
	l = limited_get((__u64)queue);
	if (!l)
		return 0;
	l->who = x->who;
	at = limited_ticks(l, tick);
	if (at->base != tick / 32 + 1) {
		at->bits = 0;
		at->base = tick / 32 + 1;
	}
	at->bits |= 1u << (tick & 31);
	return 0;
}

static __always_inline __u64 spent_name(struct task_group *group)
{
	struct holder_of of = {};

	return name_of(&of, BPF_CORE_READ(group, css.cgroup, kn));
}

/* A group may be gone and its memory another's: its cgroup tells. */
static __always_inline struct group_seen *group_find(__u64 group)
{
	struct group_seen *seen = bpf_map_lookup_elem(&groups, &group);

	if (!seen || group_cgroup((const struct task_group *)group) == seen->cgroup)
		return seen;
	bpf_map_delete_elem(&groups, &group);
	return NULL;
}

static long group_look(__u32 i, struct gn_tick_look *x)
{
	__u64 *place = bpf_map_lookup_elem(&group_list, &i), limits;
	struct group_look l = {.tick = x->tick};
	struct task_group *spent;
	struct group_seen *seen;

	if (!place || !*place)
		return 0;
	l.group = (struct task_group *)*place;
	seen = group_find((__u64)l.group);
	if (!seen) {
		__sync_val_compare_and_swap(place, (__u64)l.group, 0);
		return 0;
	}
	limits = group_limits((__u64)l.group); /* before it is looked at */
	spent = group_spent(l.group);
	if (spent)
		limits = 0;
	if (seen->limits != limits) {
		seen->since = x->tick;
		seen->limits = limits;
	}
	if (!spent)
		return 0;
	x->spent = 1;
	l.who = spent_name(spent);
	bpf_loop(gn_cpus, queue_look, &l, 0);
	return 0;
}

SEC("syscall")
int groups_look(struct gn_tick_look *ctx)
{
	struct gn_tick_look x = {.tick = ctx->tick};

	if (bpf_core_field_exists(((struct task_group *)0)->cfs_bandwidth.throttled_cfs_rq))
		bpf_loop(gn_groups < GROUPS ? gn_groups : GROUPS, group_look, &x, 0);
	gn_looked[x.tick & (GN_HELD_TICKS - 1)] = (__u32)x.tick + 1;
	ctx->spent = x.spent;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
