/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which threads of a JVM make code, and whether one of them has run. HotSpot's compiler threads
 * give themselves their names before they compile anything, so all are found by those:
 * CompileBroker's "C1 CompilerThread0", "C2 CompilerThread0" (os::set_native_thread_name() keeps
 * the first seven characters, at least). User space sees to it that they are all there before it
 * sets GN_JVM_CODERS.
 */
#ifndef GNOMON_CODERS_BPF_H
#define GNOMON_CODERS_BPF_H

#include "maps.bpf.h"
#include "abi_jvm.h"
#include "unwind.h"

#define CODERS_NAME	  ((1ULL << 56) - 1) /* seven characters */
#define CODERS_C1	  0x706d6f43203143ULL
#define CODERS_C2	  0x706d6f43203243ULL
#define CODERS_JVMCI_NAME ((1ULL << 40) - 1)
#define CODERS_JVMCI	  0x49434d564aULL /* others may make code then */

/* Changes of all `coders`, ever. */
extern __u64 gn_coders_made;

/* tgid -> its compilers' threads */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GN_MAX_PROCS);
	__type(key, __u32);
	__type(value, struct gn_coders);
} coders SEC(".maps") __weak;

/*
 * An odd number that stays the same while none of the JVM's compilers has run, and does not come
 * again after; 0 if there is no telling, or one runs now (kern/coders.bpf.c).
 */
extern __u64 coders_gen(__u32 tgid, __u32 jvm_flags);

static __always_inline int coders_is(__u64 name)
{
	return (name & CODERS_NAME) == CODERS_C1 || (name & CODERS_NAME) == CODERS_C2;
}

static __always_inline struct gn_coders *coders_of(__u32 tgid)
{
	struct gn_coders *c = bpf_map_lookup_elem(&coders, &tgid), none = {};

	if (c)
		return c;
	bpf_map_update_elem(&coders, &tgid, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&coders, &tgid);
}

static __always_inline void coders_changed(struct gn_coders *c)
{
	c->made = __sync_fetch_and_add(&gn_coders_made, 1) + 1;
}

/* A thread is found, born, or gives itself this name. */
static __noinline __attribute__((unused)) int coders_see(struct task_struct *task, __u32 tgid,
							 __u64 name)
{
	__u64 address = (__u64)task;
	struct gn_coders *c;

	if (!coders_is(name) && (name & CODERS_JVMCI_NAME) != CODERS_JVMCI)
		return 0;
	c = coders_of(tgid);
	if (!c)
		return 0;
	if (!coders_is(name)) {
		c->full = 1;
		return 0;
	}
	for (__u32 i = 0; i < GN_MAX_CODERS; i++)
		if (c->task[i] == address)
			return 0;
	for (__u32 i = 0; i < GN_MAX_CODERS; i++) {
		if (__sync_val_compare_and_swap(&c->task[i], 0, address))
			continue;
		__sync_fetch_and_or(&c->slots, 1U << i);
		coders_changed(c);
		return 0;
	}
	c->full = 1;
	return 0;
}

/* A thread ends. Without any compiler the JVM ends, or has become another program. */
static __noinline __attribute__((unused)) int coders_gone(struct task_struct *task, __u32 tgid)
{
	struct gn_coders *c = bpf_map_lookup_elem(&coders, &tgid);
	__u64 address = (__u64)task, left = 0;

	if (!c)
		return 0;
	for (__u32 i = 0; i < GN_MAX_CODERS; i++) {
		if (c->task[i] == address) {
			c->task[i] = 0;
			coders_changed(c);
		}
		left |= c->task[i];
	}
	if (!left)
		bpf_map_delete_elem(&coders, &tgid);
	return 0;
}

#endif
