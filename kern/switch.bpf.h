/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the programs at switches (offcpu.bpf.c, visit.bpf.c) have in common: wall_switch sees each,
 * and goes on in another by a tail call where stacks are to be taken. That one has all of the BPF
 * stack for the walk, and the many switches without one save no registers.
 */
#ifndef GNOMON_SWITCH_BPF_H
#define GNOMON_SWITCH_BPF_H

#include "maps.bpf.h"

extern const volatile __u32 gn_can_visit; /* switch_visit is there */

/* What a switch needs to know of its CPU; each CPU measures its clock's offset at each tick. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct gn_cpu_time);
} cpu_times SEC(".maps") __weak;

/*
 * Whose stacks a switch has taken (gn_cpu_time.walk): that of the thread that leaves the CPU, or of
 * the one that gets it; or of others of their process.
 */
enum walk { WALK_OUT = 1, WALK_BACK = 2, WALK_IDLE = 4 /* the CPU has nothing to run now */ };

/* enum gn_switch_next */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, GN_SWITCH_NEXT);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} switch_walker SEC(".maps") __weak;

static __always_inline struct gn_cpu_time *switch_cpu(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&cpu_times, &zero);
}

#endif
