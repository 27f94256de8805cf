/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Notes of who has a CPU, for holder.bpf.h: what he is called, and what is taken from him. A task
 * may be any: each read of it is checked by the kernel.
 */
#ifndef GNOMON_HOLDER_NOTE_BPF_H
#define GNOMON_HOLDER_NOTE_BPF_H

#include "holder.bpf.h"
#include "pidns.bpf.h"

#define PATH_STEPS 16

/* ---- names ---- */

/* Whose name it is: a program's, or "" of a group. */
struct holder_of {
	char comm[16];
	__u32 pid;
	__u32 pad;
};

static __always_inline struct kernfs_node *node_parent(struct kernfs_node *node)
{
	struct kernfs_node___before *before = (void *)node;

	if (bpf_core_field_exists(node->__parent))
		return BPF_CORE_READ(node, __parent);
	return BPF_CORE_READ(before, parent);
}

/* From the cgroup up; the root has no name. */
static __always_inline void group_path(struct holder_name *n, struct kernfs_node *node)
{
	__u32 off = 0;

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
}

static __always_inline __u64 name_mix(__u64 h, __u64 w)
{
	h = (h ^ w) * 0xd6e8feb86659fd93ULL;
	return h ^ h >> 32;
}

static __always_inline __u64 name_key(const char comm[16], __u64 cgroup)
{
	const __u64 *c = (const __u64 *)comm;
	__u64 h = name_mix(name_mix(name_mix(1, c[0]), c[1]), cgroup);

	return h ? h : 1;
}

/*
 * Written where it is to lie, since one that writes it may be interrupted by another here. (Not
 * static: see ticks_send().)
 */
__weak __noinline int name_keep(__u64 who, const struct holder_of *of, __u64 node)
{
	static const struct holder_name none;
	struct holder_name *n;

	if (!of)
		return 0;
	bpf_map_update_elem(&holder_names, &who, &none, BPF_NOEXIST);
	n = bpf_map_lookup_elem(&holder_names, &who);
	if (!n)
		return 0;
	__builtin_memcpy(n->comm, of->comm, sizeof(n->comm));
	n->pid = of->pid;
	group_path(n, (struct kernfs_node *)node);
	n->ready = 1;
	return 0;
}

/* Its place in holder_names. */
static __always_inline __u64 name_of(const struct holder_of *of, struct kernfs_node *node)
{
	__u64 who = name_key(of->comm, node ? BPF_CORE_READ(node, id) : 0);
	const struct holder_name *n = bpf_map_lookup_elem(&holder_names, &who);

	if (!n || !n->ready)
		name_keep(who, of, (__u64)node);
	return who;
}

static __always_inline __u64 is_zero(__u64 v) /* v < 2^63; without a branch */
{
	return (v - 1) >> 63;
}

/*
 * "kworker/0:1-events" is as good as any other: names of kernel threads end at the first '/'.
 * Without a branch, of which each would be one more for all of those behind it.
 */
static __always_inline void comm_cut(char comm[16])
{
	__u64 keep = 1;

	for (int i = 0; i < 16; i++) {
		__u64 c = (__u8)comm[i];

		keep &= 1 ^ (is_zero(c) | is_zero(c ^ '/'));
		comm[i] = c & -keep;
	}
}

static __always_inline bool comm_is_softirq(const char comm[16])
{
	return *(const __u64 *)comm == 0x717269747366736bULL && comm[8] == 'd' && !comm[9];
}

/* "ksoftirqd/0" and the like have no name, since they stand for interrupts. */
static __always_inline void kernel_note(struct holder *h, struct task_struct *task,
					struct holder_of *of)
{
	BPF_CORE_READ_INTO(&of->comm, task, comm);
	comm_cut(of->comm);
	of->pid = BPF_CORE_READ(task, pid);
	h->kind = comm_is_softirq(of->comm) ? GN_CAUSE_IRQ : GN_CAUSE_KERNEL;
}

static __always_inline void process_note(struct holder *h, struct task_struct *task,
					 struct holder_of *of)
{
	__u64 id = gn_pidns_level ? pidns_task_id(task)
				  : (__u64)BPF_CORE_READ(task, tgid) << 32 |
					    (__u32)BPF_CORE_READ(task, pid);

	h->kind = GN_CAUSE_PROCESS;
	h->tgid = id >> 32;
	h->tid = (__u32)id;
	BPF_CORE_READ_INTO(&of->comm, task, group_leader, comm);
	of->pid = h->tgid;
}

/* h is zeros. */
static __always_inline void task_note(struct holder *h, struct task_struct *task)
{
	struct holder_of of __attribute__((aligned(8))) = {};
	struct kernfs_node *node = NULL;

	if (!BPF_CORE_READ(task, pid)) {
		h->kind = GN_CAUSE_AT_ONCE;
		return;
	}
	if (BPF_CORE_READ(task, flags) & PF_KTHREAD) {
		kernel_note(h, task, &of);
	} else {
		process_note(h, task, &of);
		node = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn);
	}
	if (h->kind != GN_CAUSE_IRQ)
		h->who = name_of(&of, node);
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
} takings SEC(".maps") __weak;

#define OWED_MAX 64 /* intervals */

static __always_inline void sum_follow(__u64 *owed, __u64 *last, __u64 now)
{
	if (*last && now > *last)
		*owed += now - *last;
	*last = now;
}

/* Of the time since the last look. */
static __always_inline void taken_add(struct taken *t, struct rq *rq)
{
	if (bpf_core_field_exists(rq->prev_steal_time_rq))
		sum_follow(&t->owed_stolen, &t->stolen, BPF_CORE_READ(rq, prev_steal_time_rq));
	if (bpf_core_field_exists(rq->prev_irq_time))
		sum_follow(&t->owed_irq, &t->irq, BPF_CORE_READ(rq, prev_irq_time));
}

static __always_inline bool owed_take(__u64 *owed, __u64 interval)
{
	if (*owed > OWED_MAX * interval)
		*owed = OWED_MAX * interval;
	if (*owed < interval)
		return false;
	*owed -= interval;
	return true;
}

/* The next tick's, which stands for so many ns: GN_CAUSE_STOLEN, _IRQ, or 0. (Not static: see
 * ticks_send().) */
__weak __noinline int taken_next(struct taken *t, __u64 interval)
{
	if (!t)
		return 0;
	if (owed_take(&t->owed_stolen, interval))
		return GN_CAUSE_STOLEN;
	return owed_take(&t->owed_irq, interval) ? GN_CAUSE_IRQ : 0;
}

#endif
