/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The least that can be done at the events at which gnomon's programs run: at a switch, to find
 * what is kept of the thread that leaves the CPU; at a wake-up, to look whom it is about. What
 * these take no work on gnomon's programs can save.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, __u64);
} kept SEC(".maps");

SEC("tp_btf/sched_switch")
int BPF_PROG(floor_switch, bool preempt, struct task_struct *prev)
{
	__u64 *switches;

	if (!prev->pid)
		return 0;
	switches = bpf_task_storage_get(&kept, prev, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (switches)
		++*switches;
	return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(floor_waking, struct task_struct *task)
{
	return task->pid < 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
