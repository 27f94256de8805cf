/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Processes and threads by the numbers that gnomon's own PID namespace has for them: those of /proc
 * there and of every system call of the collector. In the initial namespace they are task->pid and
 * task->tgid; in a container's they are found in the task's struct pid, which has one number for
 * each namespace from the outermost (level 0) in.
 */
#ifndef GNOMON_PIDNS_BPF_H
#define GNOMON_PIDNS_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

/* The collector's namespace (pidns.bpf.c); level 0: the initial one. */
extern __u32 gn_pidns_level;
extern __u32 gn_pidns_inum;

/* 0: not visible in our namespace. */
static __always_inline __u32 pidns_number(const struct pid *pid)
{
	__u32 level = gn_pidns_level;
	const struct pid_namespace *ns;
	const struct upid *at;
	__u32 nr;

	if (!pid || BPF_CORE_READ(pid, level) < level)
		return 0;
	at = (const void *)pid + bpf_core_field_offset(struct pid, numbers) +
	     level * bpf_core_type_size(struct upid);
	ns = BPF_CORE_READ(at, ns);
	if (!ns || BPF_CORE_READ(ns, ns.inum) != gn_pidns_inum)
		return 0;
	nr = BPF_CORE_READ(at, nr);
	return nr;
}

static __noinline __u64 pidns_task_id(const struct task_struct *task)
{
	__u64 tgid = pidns_number(BPF_CORE_READ(task, group_leader, thread_pid));

	return tgid << 32 | pidns_number(BPF_CORE_READ(task, thread_pid));
}

/*
 * tgid << 32 | tid. 0 for who is not visible here, and for a thread that is being buried, which has
 * lost its number: thread_id() (filter.bpf.h) still knows it.
 */
static __always_inline __u64 task_id(const struct task_struct *task)
{
	if (!gn_pidns_level)
		return (__u64)task->tgid << 32 | (__u32)task->pid;
	return pidns_task_id(task);
}

static __always_inline __u32 task_tgid(const struct task_struct *task)
{
	return task_id(task) >> 32;
}

static __always_inline __u32 task_tid(const struct task_struct *task)
{
	return (__u32)task_id(task);
}

/* Of the thread that runs here. */
static __always_inline __u64 current_id(void)
{
	if (!gn_pidns_level)
		return bpf_get_current_pid_tgid();
	return pidns_task_id(bpf_get_current_task_btf());
}

#endif
