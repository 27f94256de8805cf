/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The unwind tables as maps. Weak, so that every translation unit that unwinds may include this
 * file: the linker keeps one of each. (Inner maps give sizes, not types: clang 14 leaves their
 * value types undefined in BTF.) Inner maps are made, filled and put in place by user space; the
 * kernel frees a replaced one only after the programs that may hold it.
 */
#ifndef GNOMON_UNWIND_MAPS_BPF_H
#define GNOMON_UNWIND_MAPS_BPF_H

#include "unwind.h"

struct uw_proc_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct uw_proc));
};

/* tgid (of the collector's PID namespace) -> its mappings */
struct {
	__uint(type, BPF_MAP_TYPE_HASH_OF_MAPS);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__array(values, struct uw_proc_map);
} uw_procs __weak SEC(".maps");

/* one inner map per file, with as many entries as the file has pages: hence F_INNER_MAP (5.10) */
struct uw_file_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_INNER_MAP);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct uw_page));
};

/* UW_FILE_SLOT(file) -> its pages */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, UW_MAX_FILES);
	__type(key, __u32);
	__array(values, struct uw_file_map);
} uw_files __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, UW_MAX_RULES);
	__type(key, __u32);
	__type(value, struct uw_rule);
} uw_rules __weak SEC(".maps");

/* Raised before and after any of these, or of gn_jvms, changes: odd meanwhile. */
extern __u64 gn_table_changes;

uw_fn __u64 uw_table_changes(uw_mem m)
{
	return *(const volatile __u64 *)&gn_table_changes;
}

uw_fn const struct uw_proc *uw_get_proc(uw_mem m, __u32 tgid)
{
	const struct uw_proc *p;
	__u32 zero = 0;
	void *inner;

	inner = bpf_map_lookup_elem(&uw_procs, &tgid);
	if (!inner)
		return 0;
	p = bpf_map_lookup_elem(inner, &zero);
	/* a hash element may be reused for another key while we look at it */
	return p && p->tgid == tgid ? p : 0;
}

typedef void *uw_file; /* an inner map, or NULL */

uw_fn uw_file uw_get_file(uw_mem m, __u32 file)
{
	__u32 slot = UW_FILE_SLOT(file);

	return bpf_map_lookup_elem(&uw_files, &slot);
}

uw_fn const struct uw_page *uw_get_page(uw_mem m, uw_file file, __u32 page)
{
	return file ? bpf_map_lookup_elem(file, &page) : 0;
}

uw_fn const struct uw_rule *uw_get_rule(uw_mem m, __u32 rule)
{
	return bpf_map_lookup_elem(&uw_rules, &rule);
}

#endif
