/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Causes by their ids: a hash of what tells one from another, and bits that say what kind they are
 * of; their content is sent once an epoch.
 */
#ifndef GNOMON_CAUSE_ID_BPF_H
#define GNOMON_CAUSE_ID_BPF_H

#include "maps.bpf.h"

#define CAUSES_SENT 16384

/* gn_cause_id_is_lock() has the lowest bit. Who wakes such a wait is at its other end: */
#define CAUSE_ID_WOKEN 2
/* The upper half is inet_end() of the connection's other end; who sends by that one is there. */
#define CAUSE_ID_PEER 4
#define CAUSE_ID_BITS 7ULL

/* Of which causes the content was sent, and in which epoch. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, CAUSES_SENT);
	__type(key, __u64);
	__type(value, __u32);
} causes_sent SEC(".maps") __weak;

static __always_inline __u64 cause_id(const struct gn_cause *c, __u32 tgid)
{
	const __u64 *w = (const __u64 *)c;
	__u64 h = tgid;

	_Pragma("unroll") for (unsigned int i = 0; i < GN_CAUSE_WORDS; i++)
	{
		h = (h ^ w[i]) * 0xd6e8feb86659fd93ULL;
		h ^= h >> 32;
	}
	h &= ~CAUSE_ID_BITS;
	if (gn_cause_is_lock(c->kind))
		return h | 1;
	return h ? h : CAUSE_ID_BITS + 1;
}

/* Does this epoch's reader have its content? */
static __always_inline bool cause_is_sent(__u64 id)
{
	__u32 *seen = bpf_map_lookup_elem(&causes_sent, &id);

	return seen && *seen == gn_epoch;
}

static __always_inline void cause_sent(__u64 id)
{
	__u32 epoch = gn_epoch;

	bpf_map_update_elem(&causes_sent, &id, &epoch, BPF_ANY);
}

#endif
