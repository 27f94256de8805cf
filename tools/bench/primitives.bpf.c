/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What BPF programs are made of, each done COUNT times in a loop: see primitives.c, which runs
 * them. Where the next one goes depends on what this one found (always 0), so that no two are under
 * way at once.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#define COUNT 2000
#define SLOTS (1 << 18) /* of 256 bytes: 64 MB */

struct value {
	__u64 word[32];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SLOTS);
	__type(key, __u32);
	__type(value, struct value);
} an_array SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SLOTS);
	__type(key, __u32);
	__type(value, __u64);
} a_hash SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64[128]);
} to SEC(".maps");

__u64 memory = 0; /* of the process that runs us: SLOTS * 256 bytes, zeroed */
__u64 spread = 0; /* 0: always the same place; else SLOTS - 1 */
__u64 ns = 0;	  /* all of them took so long */

struct state {
	__u64 at;
	__u64 *to;
};

static __always_inline __u32 next_slot(struct state *s, __u64 found)
{
	s->at = (s->at + found) * 6364136223846793005ULL + 1442695040888963407ULL;
	return s->at >> 40 & spread & (SLOTS - 1);
}

static long none_step(__u32 i, struct state *s)
{
	next_slot(s, 0);
	return 0;
}

static long array_step(__u32 i, struct state *s)
{
	__u32 slot = next_slot(s, *s->to);
	struct value *v = bpf_map_lookup_elem(&an_array, &slot);

	*s->to = v ? v->word[0] : 0;
	return 0;
}

static long hash_step(__u32 i, struct state *s)
{
	__u32 slot = next_slot(s, *s->to);
	__u64 *v = bpf_map_lookup_elem(&a_hash, &slot);

	*s->to = v ? *v : 0;
	return 0;
}

static long read_16_step(__u32 i, struct state *s)
{
	__u64 slot = next_slot(s, *s->to);

	bpf_probe_read_user(s->to, 16, (void *)(memory + slot * sizeof(struct value)));
	return 0;
}

/* Within the 64 MB: the last slots are a read's length away from the end. */
static long read_1024_step(__u32 i, struct state *s)
{
	__u64 slot = next_slot(s, *s->to) & ~3ULL;

	bpf_probe_read_user(s->to, 1024, (void *)(memory + slot * sizeof(struct value)));
	return 0;
}

static long clock_step(__u32 i, struct state *s)
{
	next_slot(s, bpf_ktime_get_ns() >> 63);
	return 0;
}

#define PRIMITIVE(name)                                                                            \
	SEC("raw_tp")                                                                              \
	int name(void *ctx)                                                                        \
	{                                                                                          \
		__u32 zero = 0;                                                                    \
		struct state s = {.at = bpf_get_prandom_u32(),                                     \
				  .to = bpf_map_lookup_elem(&to, &zero)};                          \
		__u64 began;                                                                       \
                                                                                                   \
		if (!s.to)                                                                         \
			return 0;                                                                  \
		*s.to = 0;                                                                         \
		began = bpf_ktime_get_ns();                                                        \
		bpf_loop(COUNT, name##_step, &s, 0);                                               \
		ns = bpf_ktime_get_ns() - began;                                                   \
		return 0;                                                                          \
	}

PRIMITIVE(none)
PRIMITIVE(array)
PRIMITIVE(hash)
PRIMITIVE(read_16)
PRIMITIVE(read_1024)
PRIMITIVE(clock)

SEC("raw_tp")
int empty(void *ctx)
{
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
