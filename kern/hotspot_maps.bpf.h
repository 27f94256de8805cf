/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the HotSpot step knows of each JVM, written by user space (user/jvm/codecache.h). */
#ifndef GNOMON_HOTSPOT_MAPS_BPF_H
#define GNOMON_HOTSPOT_MAPS_BPF_H

#include "abi_jvm.h"
#include "coders.bpf.h"
#include "unwind.h"

/* tgid (of the collector's PID namespace) -> its JVM. Weak: see unwind_maps.bpf.h. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__uint(map_flags, BPF_F_NO_PREALLOC); /* then they lie in memory mapped by large pages */
	__type(key, __u32);
	__type(value, struct gn_jvm);
} gn_jvms __weak SEC(".maps");

/* tid -> its JavaThread*, of threads that user space has named. Gone with the thread. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, __u64);
} java_threads __weak SEC(".maps");

uw_fn __u64 uw_get_java_thread(uw_mem m, __u32 tid)
{
	__u64 *thread = bpf_map_lookup_elem(&java_threads, &tid);

	return thread ? *thread : 0;
}

uw_fn int uw_is_jvm(const struct gn_jvm *j, __u32 tgid)
{
	return *(const volatile __u32 *)&j->tgid == tgid;
}

uw_fn const struct gn_jvm *uw_get_jvm(uw_mem m, __u32 tgid)
{
	const struct gn_jvm *j = bpf_map_lookup_elem(&gn_jvms, &tgid);

	return j && uw_is_jvm(j, tgid) ? j : 0;
}

uw_fn __u64 uw_code_gen(uw_mem m, const struct gn_jvm *j, __u32 tgid)
{
	return coders_gen(tgid, j->flags);
}

/*
 * What is known of code is looked at all the same, and it is counted how often that was wrong. Not
 * from outside: a thread that gets the CPU meanwhile is no evidence, and its stack is thrown away.
 */
uw_fn int uw_checks(void)
{
	return gn_check_code;
}

uw_fn void uw_checked(int known, int same)
{
#ifdef UW_REMOTE
	return;
#endif
	if (!gn_check_code || !known)
		return;
	count_add(GN_CNT_CODE_CHECKED, 1);
	if (!same)
		count_add(GN_CNT_CODE_WRONG, 1);
}

#endif
