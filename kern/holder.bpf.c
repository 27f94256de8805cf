/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A look at all CPUs just after a tick: who had each of them at that instant. Who has it now tells
 * when he got it; if that was after the tick, the one before him, if he still wants it, is the next
 * in the run queue's list of tasks, which has the one that was picked last in front. Who has gone
 * to sleep in between is not found, and the one that is there now is taken for him.
 *
 * All of it is read from others' run queues without a lock: each read is checked by the kernel, and
 * none is followed further than QUEUE_STEPS.
 */
#include "holder.bpf.h"
#include "pidns.bpf.h"

const volatile __u32 gn_cpus = 1;
__u32 gn_groups = 0;

#define QUEUE_STEPS 6 /* tasks of a run queue that are looked at */
#define GROUP_STEPS 8 /* groups one above the other */
#define PATH_STEPS  16

extern __u64 gn_clock_offset;
extern __u32 gn_visit_level;

struct look_at {
	__u64 tick;
	__u64 at;   /* its time, in the run queues' clock */
	__u64 came; /* when we got our CPU, in that clock */
	struct task_group *group;
	struct task_struct *self;
};

/*
 * Not 0: somebody is queued for a CPU; some CPU nobody else wants; a group's time is used up. Of
 * the look that goes on, there being one at a time. (In struct look_at the verifier would follow
 * them through each turn of the loops.)
 */
__u64 gn_wants_queued = 0, gn_wants_idle = 0, gn_wants_spent = 0;

static __always_inline struct cfs_rq *queue_of(struct task_group *group, __u32 cpu)
{
	struct cfs_rq **all = BPF_CORE_READ(group, cfs_rq), *queue = NULL;

	if (!all || bpf_probe_read_kernel(&queue, sizeof(queue), all + cpu))
		return NULL;
	return queue;
}

/* ---- names ---- */

/* One for each run of cpus_look, and there is one at a time. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct holder_name);
} holder_scratch SEC(".maps");

static __always_inline struct kernfs_node *node_parent(struct kernfs_node *node)
{
	struct kernfs_node___before *before = (void *)node;

	if (bpf_core_field_exists(node->__parent))
		return BPF_CORE_READ(node, __parent);
	return BPF_CORE_READ(before, parent);
}

/* From the cgroup up; the root has no name. */
static __noinline int group_path(struct holder_name *n, struct kernfs_node *node)
{
	__u32 off = 0;

	n->whole = 0;
	for (int i = 0; i < PATH_STEPS; i++) {
		struct kernfs_node *parent = node ? node_parent(node) : NULL;
		long len;

		if (!parent) {
			n->whole = node != NULL;
			break;
		}
		if (off > GROUP_PATH - GN_CAUSE_NAME)
			break;
		len = bpf_probe_read_kernel_str(n->path + off, GN_CAUSE_NAME,
						BPF_CORE_READ(node, name));
		if (len <= 0)
			break;
		off += len;
		node = parent;
	}
	n->len = off;
	return 0;
}

static __always_inline __u64 name_mix(__u64 h, __u64 w)
{
	h = (h ^ w) * 0xd6e8feb86659fd93ULL;
	return h ^ h >> 32;
}

static __always_inline __u64 name_key(const struct holder_name *n, __u64 cgroup)
{
	const __u64 *comm = (const __u64 *)n->comm;
	__u64 h = name_mix(name_mix(name_mix(1, comm[0]), comm[1]), cgroup);

	return h ? h : 1;
}

static __always_inline void name_keep(__u64 who, struct holder_name *n, struct kernfs_node *node)
{
	if (bpf_map_lookup_elem(&holder_names, &who))
		return;
	group_path(n, node);
	bpf_map_update_elem(&holder_names, &who, n, BPF_ANY);
}

/* "kworker/0:1-events" is as good as any other: names of kernel threads end at the first '/'. */
static __always_inline void comm_cut(char comm[16])
{
	bool cut = false;

	for (int i = 0; i < 16; i++) {
		cut |= comm[i] == '/' || !comm[i];
		if (cut)
			comm[i] = 0;
	}
}

static __always_inline bool comm_is_softirq(const struct holder_name *n)
{
	return *(const __u64 *)n->comm == 0x717269747366736bULL && n->comm[8] == 'd' && !n->comm[9];
}

/* ---- who has a CPU ---- */

static __noinline int kernel_note(struct holder *h, struct task_struct *task, struct holder_name *n)
{
	h->kind = GN_CAUSE_KERNEL;
	BPF_CORE_READ_INTO(&n->comm, task, comm);
	comm_cut(n->comm);
	n->pid = BPF_CORE_READ(task, pid);
	if (comm_is_softirq(n)) { /* "ksoftirqd" */
		h->kind = GN_CAUSE_IRQ;
		return 0;
	}
	h->who = name_key(n, 0);
	name_keep(h->who, n, NULL);
	return 0;
}

static __noinline int process_note(struct holder *h, struct task_struct *task,
				   struct holder_name *n)
{
	struct kernfs_node *node = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn);

	h->kind = GN_CAUSE_PROCESS;
	h->tgid = gn_pidns_level ? pidns_task_id(task) >> 32 : BPF_CORE_READ(task, tgid);
	h->tid = gn_pidns_level ? (__u32)pidns_task_id(task) : BPF_CORE_READ(task, pid);
	BPF_CORE_READ_INTO(&n->comm, task, group_leader, comm);
	n->pid = h->tgid;
	h->who = name_key(n, BPF_CORE_READ(node, id));
	name_keep(h->who, n, node);
	return 0;
}

static __always_inline void task_note(struct holder *h, struct task_struct *task)
{
	__u32 zero = 0;
	struct holder_name *n = bpf_map_lookup_elem(&holder_scratch, &zero);

	if (!n)
		return;
	if (!BPF_CORE_READ(task, pid))
		h->kind = GN_CAUSE_AT_ONCE;
	else if (BPF_CORE_READ(task, flags) & PF_KTHREAD)
		kernel_note(h, task, n);
	else
		process_note(h, task, n);
}

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

/* ---- what is taken from who has it ---- */

/*
 * Of stolen time and interrupts only sums are known. An interval of it is told as that of one tick:
 * shares are right then, whichever ticks it was.
 */
struct taken {
	__u64 stolen, irq;	     /* the sums, at the last look */
	__u64 owed_stolen, owed_irq; /* ns that no tick stands for yet */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GN_MAX_CPUS);
	__type(key, __u32);
	__type(value, struct taken);
} takings SEC(".maps");

#define OWED_MAX 64 /* intervals */

static __always_inline bool interval_taken(__u64 *owed, __u64 *last, __u64 now)
{
	__u64 interval = gn_wall_ns << (gn_visit_level & 15); /* what a visited tick stands for */

	if (*last && now > *last)
		*owed += now - *last;
	*last = now;
	if (*owed > OWED_MAX * interval)
		*owed = OWED_MAX * interval;
	if (*owed < interval)
		return false;
	*owed -= interval;
	return true;
}

static __always_inline __u8 taken_of(struct rq *rq, __u32 cpu)
{
	struct taken *t = bpf_map_lookup_elem(&takings, &cpu);

	if (!t)
		return 0;
	if (bpf_core_field_exists(rq->prev_steal_time_rq) &&
	    interval_taken(&t->owed_stolen, &t->stolen, BPF_CORE_READ(rq, prev_steal_time_rq)))
		return GN_CAUSE_STOLEN;
	if (bpf_core_field_exists(rq->prev_irq_time) &&
	    interval_taken(&t->owed_irq, &t->irq, BPF_CORE_READ(rq, prev_irq_time)))
		return GN_CAUSE_IRQ;
	return 0;
}

static __always_inline __u64 is_zero(__u64 v) /* v < 2^63; without a branch */
{
	return (v - 1) >> 63;
}

/*
 * None, one or more of the tasks that this CPU is for: we ourselves are none of them where we run
 * at real-time priority. (rq.nr_running would count the servers of the deadline class, too.) Each
 * branch here would be one more for each of those before it.
 */
static __always_inline void wanted_note(struct rq *rq)
{
	__u64 head = (__u64)rq + bpf_core_field_offset(struct rq, cfs_tasks), first, second;

	if (!bpf_core_field_exists(rq->cfs_tasks))
		return;
	first = (__u64)BPF_CORE_READ((struct list_head *)head, next);
	second = (__u64)BPF_CORE_READ((struct list_head *)first, next);
	gn_wants_idle |= is_zero(first ^ head);
	gn_wants_queued |= second ^ head;
}

static long cpu_look(__u32 cpu, struct look_at *x)
{
	struct cfs_rq *queue = queue_of(x->group, cpu);
	struct rq *rq = queue ? BPF_CORE_READ(queue, rq) : NULL;
	__u32 key = holder_key(cpu, x->tick);
	struct holder *h = bpf_map_lookup_elem(&holders, &key);
	struct task_struct *task;

	if (!rq || !h)
		return !h;
	h->tick = 0;
	h->kind = h->tid = h->tgid = h->who = 0;
	h->taken = taken_of(rq, cpu);
	wanted_note(rq);
	task = holder_find(rq, x);
	if (task)
		task_note(h, task);
	h->tick = (__u32)x->tick + 1;
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
	struct kernfs_node *node = BPF_CORE_READ(group, css.cgroup, kn);
	__u32 zero = 0;
	struct holder_name *n = bpf_map_lookup_elem(&holder_scratch, &zero);
	__u64 who;

	if (!n)
		return 0;
	__builtin_memset(n->comm, 0, sizeof(n->comm));
	n->pid = 0;
	who = name_key(n, BPF_CORE_READ(node, id));
	name_keep(who, n, node);
	return who;
}

/* A group may be gone and its memory another's: its cgroup tells. */
static __always_inline bool group_is_there(__u64 group)
{
	__u64 *cgroup = bpf_map_lookup_elem(&groups, &group);

	if (!cgroup)
		return false;
	if (group_cgroup((const struct task_group *)group) == *cgroup)
		return true;
	bpf_map_delete_elem(&groups, &group);
	return false;
}

static long group_look(__u32 i, struct look_at *x)
{
	__u64 *place = bpf_map_lookup_elem(&group_list, &i);
	struct group_look l = {.tick = x->tick};
	struct task_group *spent;

	if (!place || !*place)
		return 0;
	l.group = (struct task_group *)*place;
	if (!group_is_there((__u64)l.group)) {
		__sync_val_compare_and_swap(place, (__u64)l.group, 0);
		return 0;
	}
	spent = group_spent(l.group);
	if (!spent)
		return 0;
	gn_wants_spent = 1;
	l.who = spent_name(spent);
	bpf_loop(gn_cpus, queue_look, &l, 0);
	return 0;
}

SEC("syscall")
int cpus_look(struct gn_cpus_look *ctx)
{
	struct task_struct *self = bpf_get_current_task_btf();
	struct look_at x = {
		.tick = ctx->tick,
		.at = gn_start_ns + gn_tick_time(ctx->tick, gn_wall_ns) - gn_clock_offset,
		.came = self->sched_info.last_arrival,
		.self = self,
		.group = BPF_CORE_READ(self, sched_task_group),
	};

	gn_wants_queued = gn_wants_idle = gn_wants_spent = 0;
	bpf_loop(gn_cpus, cpu_look, &x, 0);
	if (bpf_core_field_exists(struct task_group, cfs_bandwidth))
		bpf_loop(gn_groups < GROUPS ? gn_groups : GROUPS, group_look, &x, 0);
	ctx->crowded = gn_wants_queued || gn_wants_spent || !gn_wants_idle;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
