/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who had the CPUs at the last ticks, and which groups had used up theirs. Each CPU's first switch
 * after a tick writes who leaves it (turn.bpf.h), or, where no switch is seen, a look at all of
 * them (cpus_look); groups are looked at by the tick thread (groups_look). A thread that was queued
 * at a tick looks here when that tick is reported, for the CPU in whose run queue it was.
 */
#ifndef GNOMON_HOLDER_BPF_H
#define GNOMON_HOLDER_BPF_H

#include "cause_id.bpf.h"

#define HOLDER_NAMES 1024
#define GROUP_PATH   384 /* bytes of a cgroup's path that are kept */
#define GROUPS	     1024

extern const volatile __u32 gn_cpus; /* that are possible */

struct holder {
	__u32 tick; /* the low half of its number, plus 1; 0: none */
	__u32 tid, tgid;
	__u8 kind;  /* GN_CAUSE_PROCESS, _KERNEL, _IRQ, _AT_ONCE (nobody), or 0: not known */
	__u8 taken; /* GN_CAUSE_STOLEN or _IRQ: from him; or 0 */
	__u16 pad;
	__u64 who; /* of _PROCESS and _KERNEL, in holder_names */
};

/* By CPU and tick: holder_key(). User space makes it so large. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct holder);
} holders SEC(".maps") __weak;

struct holder_name {
	char comm[16];
	__u32 pid;
	__u32 len, whole;      /* as in gn_cause_rec */
	__u32 ready;	       /* not 0: it has been written to its end */
	char path[GROUP_PATH]; /* of its cgroup */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, HOLDER_NAMES);
	__type(key, __u64);
	__type(value, struct holder_name);
} holder_names SEC(".maps") __weak;

/* What is known of a group. */
struct group_seen {
	__u64 cgroup; /* its id */
	__u64 limits; /* group_limits() at the last look; 0: some group had used up its time then */
	__u64 since;  /* the first tick that was looked at with that */
};

/* Groups with a limit in whose queues threads of targets waited (struct task_group *). */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, GROUPS);
	__type(key, __u64);
	__type(value, struct group_seen);
} groups SEC(".maps") __weak;

/* Those groups one after another, since to go through a hash is to go through all of its places. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GROUPS);
	__type(key, __u32);
	__type(value, __u64); /* 0: none */
} group_list SEC(".maps") __weak;

/* So many were put there, ever. */
extern __u32 gn_groups;

/* By tick: its number plus 1, if groups were looked at then. */
extern __u32 gn_looked[GN_HELD_TICKS];

/* Of a run queue (struct cfs_rq *): ticks at which it was not served, its group's time being used
 * up. */
struct limited {
	__u64 who; /* the group whose time it was, in holder_names */
	struct limited_ticks {
		__u32 base; /* tick / 32, plus 1; 0: none */
		__u32 bits;
	} at[GN_HELD_TICKS / 32];
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, GROUPS);
	__type(key, __u64);
	__type(value, struct limited);
} limits SEC(".maps") __weak;

static __always_inline __u32 holder_key(__u32 cpu, __u64 tick)
{
	return cpu * GN_HELD_TICKS + (tick & (GN_HELD_TICKS - 1));
}

static __always_inline struct limited_ticks *limited_ticks(struct limited *l, __u64 tick)
{
	return &l->at[tick / 32 & (GN_HELD_TICKS / 32 - 1)];
}

static __always_inline __u64 group_cgroup(const struct task_group *group)
{
	return BPF_CORE_READ(group, css.cgroup, kn, id);
}

/* Where there are too many, the one that was first is watched anew when it is met again. */
static __noinline __attribute__((unused)) int group_add(__u64 group)
{
	struct group_seen seen = {.cgroup = group_cgroup((const struct task_group *)group)};
	__u64 *place, old;
	__u32 at;

	if (bpf_map_update_elem(&groups, &group, &seen, BPF_NOEXIST))
		return 0;
	at = __sync_fetch_and_add(&gn_groups, 1) & (GROUPS - 1);
	place = bpf_map_lookup_elem(&group_list, &at);
	if (!place)
		return 0;
	old = *place;
	*place = group;
	if (old)
		bpf_map_delete_elem(&groups, &old);
	return 0;
}

#define GROUP_STEPS 8 /* groups one above the other */

/*
 * 0 if there is no limit to the CPU time of this group, nor of one above it. Else a number that is
 * another one when they have used it up and were served again since.
 */
__weak __noinline __u64 group_limits(__u64 of)
{
	struct task_group *group = (struct task_group *)of;
	__u64 limits = 0;

	if (!gn_causes || !gn_run_queue || !bpf_core_field_exists(group->cfs_bandwidth.quota))
		return 0;
	for (int i = 0; i < GROUP_STEPS && group; i++) {
		if (BPF_CORE_READ(group, cfs_bandwidth.quota) != ~0ULL) /* RUNTIME_INF */
			limits += BPF_CORE_READ(group, cfs_bandwidth.throttled_time) + 1;
		group = BPF_CORE_READ(group, parent);
	}
	return limits;
}

#define GROUP_UNSURE (~0ULL)

/*
 * A group that has a limit is watched from now on. Returns the first tick since which it cannot
 * have used up its time, or GROUP_UNSURE: it may have, wherever nobody looked.
 */
__weak __noinline __u64 group_watch(__u64 key)
{
	__u64 limits = group_limits(key);
	const struct group_seen *seen;

	if (!limits)
		return 0;
	seen = bpf_map_lookup_elem(&groups, &key);
	if (!seen)
		group_add(key);
	return seen && seen->limits == limits ? seen->since : GROUP_UNSURE;
}

static __always_inline bool groups_were_looked_at(__u64 tick)
{
	return gn_looked[tick & (GN_HELD_TICKS - 1)] == (__u32)tick + 1;
}

#endif
