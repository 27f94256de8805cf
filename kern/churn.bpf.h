/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How many records of its threads' births, ends and names a process may have sent: token buckets. A
 * process that does nothing but rename threads would else fill the rings of all.
 */
#ifndef GNOMON_CHURN_BPF_H
#define GNOMON_CHURN_BPF_H

#include "maps.bpf.h"

/*
 * A bucket is the time at which it will be full again: taking a token puts that off. CPUs that take
 * one at the same instant may share it, which is no harm.
 */
struct churn {
	__u64 full_ns[GN_CHURN_MAX];
};

/* Of processes that have ended, too, till others need the place. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, GN_MAX_PROCS);
	__type(key, __u32); /* tgid */
	__type(value, struct churn);
} churns SEC(".maps");

/* False: the bucket is empty. */
static __always_inline bool churn_take(__u32 tgid, __u32 kind, __u64 now)
{
	static const __u64 second[] = GN_CHURN_SECOND, most[] = GN_CHURN_AT_ONCE;
	struct churn *c = bpf_map_lookup_elem(&churns, &tgid), none = {};
	__u64 full, token;

	if (kind >= GN_CHURN_MAX)
		return true;
	if (!c) {
		bpf_map_update_elem(&churns, &tgid, &none, BPF_NOEXIST);
		c = bpf_map_lookup_elem(&churns, &tgid);
	}
	if (!c)
		return true;
	token = 1000000000ULL / second[kind];
	full = c->full_ns[kind] > now ? c->full_ns[kind] : now;
	if (full - now >= token * most[kind])
		return false;
	c->full_ns[kind] = full + token;
	return true;
}

#endif
