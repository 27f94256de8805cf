/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Has a compiler run? A file of its own: of a kernel's function that two files declare libbpf's
 * linker (1.1) says that it cannot tell its size.
 */
#include "coders.bpf.h"

/* The kernel's id of struct task_struct; bpf_core_type_id_kernel() would give that of a smaller
 * file of types (user/capture/kerneltypes.h). 0 unknown. */
const volatile __u32 gn_task_type = 0;

/* Of Linux 6.2: memory is read as the struct that it is said to be, without a call. */
extern void *bpf_rdonly_cast(const void *obj, __u32 btf_id) __ksym __weak;

/* CPU time of the thread at `task`, which may be gone; ~0: it is on a CPU, or cannot be read. */
static __always_inline __u64 coder_ran(__u64 task)
{
	const struct task_struct *of = (const void *)task;
	__u64 ran = 0;
	int on_cpu = 1;

	if (gn_task_type && bpf_rdonly_cast) {
		of = bpf_rdonly_cast(of, gn_task_type);
		return of->on_cpu ? ~0ULL : of->se.sum_exec_runtime;
	}
	if (bpf_core_read(&on_cpu, sizeof(on_cpu), &of->on_cpu) || on_cpu ||
	    bpf_core_read(&ran, sizeof(ran), &of->se.sum_exec_runtime))
		return ~0ULL;
	return ran;
}

struct coders_look {
	struct gn_coders *c;
	__u64 slots, sum;
	__u64 found; /* CODERS_RUN: there is no telling */
};

#define CODERS_RUN 2

/* A thread that runs has on_cpu set before its first instruction, and its time is added up before
 * that is cleared. */
static long coders_look(__u32 i, struct coders_look *l)
{
	__u64 task = l->c->task[i & (GN_MAX_CODERS - 1)], ran;

	if (!(l->slots >> i))
		return 1;
	if (!task)
		return 0;
	ran = coder_ran(task);
	l->found = ran == ~0ULL ? CODERS_RUN : 1;
	l->sum += ran;
	return ran == ~0ULL;
}

__noinline __u64 coders_gen(__u32 tgid, __u32 jvm_flags)
{
	struct coders_look l = {.c = bpf_map_lookup_elem(&coders, &tgid)};
	__u64 made;

	if (!l.c || l.c->full || !(jvm_flags & GN_JVM_CODERS))
		return 0;
	made = *(volatile __u64 *)&l.c->made;
	l.slots = l.c->slots;
	bpf_loop(GN_MAX_CODERS, coders_look, &l, 0);
	return l.found == 1 ? uw_mix(uw_mix(1, made), l.sum) | 1 : 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
