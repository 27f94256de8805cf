/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The system call that a thread is in, and what a descriptor of its process stands for. Another
 * thread may close or replace a descriptor meanwhile: each step is a read that the kernel checks.
 */
#ifndef GNOMON_DESCRIPTOR_BPF_H
#define GNOMON_DESCRIPTOR_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "abi.h"
#include "cause_calls.h"

#define IFMT   0170000 /* include/uapi/linux/stat.h */
#define IFSOCK 0140000

struct cause_call {
	long nr;
	__u64 arg[2];
};

static __always_inline void call_read(struct cause_call *c, struct task_struct *task)
{
	struct pt_regs *r = (struct pt_regs *)bpf_task_pt_regs(task);

#if defined(__TARGET_ARCH_x86)
	c->nr = r->orig_ax;
	c->arg[0] = r->di;
	c->arg[1] = r->si;
#else
	c->nr = r->syscallno;
	c->arg[0] = r->orig_x0;
	c->arg[1] = r->regs[1];
#endif
}

static __always_inline struct file *file_of(struct task_struct *task, __u32 fd)
{
	/* of types that the verifier knows: these are no calls */
	struct fdtable *table = task->files->fdt;
	struct file **files = table->fd, *file = NULL;

	if (!files || fd >= table->max_fds ||
	    bpf_probe_read_kernel(&file, sizeof(file), files + fd))
		return NULL;
	return file;
}

/* Of a file that is a socket. */
static __always_inline struct sock *socket_of(struct file *file)
{
	struct socket *socket = (struct socket *)BPF_CORE_READ(file, private_data);

	return BPF_CORE_READ(socket, sk);
}

static __always_inline bool file_is_socket(struct file *file)
{
	return (BPF_CORE_READ(file, f_inode, i_mode) & IFMT) == IFSOCK;
}

#endif
