/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reading another thread's memory, but not where that may wait for somebody:
 * bpf_copy_from_user_task() faults pages in, and a page of a file comes from the file's system. One
 * that a user serves (FUSE) or a network's would keep the tick thread waiting for ever, and with it
 * all targets. So the mapping is looked at first: memory without a file is read, and files of this
 * machine's own file systems that were not mounted in somebody's user namespace. Between the look
 * and the reading the target may put another mapping there; whoever does that on purpose has to
 * meet that moment.
 */
#ifndef GNOMON_REMOTE_READ_BPF_H
#define GNOMON_REMOTE_READ_BPF_H

#include "maps.bpf.h"

/*
 * What takes a task is a function of its own to the verifier, followed once, where the kernel knows
 * such arguments (6.9): all that find tasks by pid do (6.10), for which REMOTE_BY_PID is defined.
 */
#ifdef REMOTE_BY_PID
#define remote_fn   __noinline
#define remote_task __attribute__((btf_decl_tag("arg:trusted")))
#else
#define remote_fn static __noinline
#define remote_task
#endif

/* The mapping that was looked at last, of the thread that is walked. One thread reads remotely. */
static __u64 readable_start, readable_end;

/* Reads since the last remote_forget() that failed as the target was changing its mappings. */
static __u64 remote_torn;

#define VM_UFFD_MISSING 0x200 /* include/linux/mm.h: a process serves these pages (userfaultfd) */
#define VM_UFFD_WP	0x1000

static __always_inline bool is_local(__u64 magic)
{
	return magic == 0x01021994 || /* tmpfs, memfds, shared anonymous memory */
	       magic == 0x958458f6 || /* hugetlbfs */
	       magic == 0xef53 ||     /* ext2, ext3, ext4 */
	       magic == 0x58465342 || /* xfs */
	       magic == 0x9123683e || /* btrfs */
	       magic == 0x858458f6 || /* ramfs */
	       magic == 0x794c7630 || /* overlayfs, of a container's */
	       magic == 0xf2f52010 || /* f2fs */
	       magic == 0x2fc12fc1 || /* zfs */
	       magic == 0x73717368 || /* squashfs */
	       magic == 0xe0f5e1e2;   /* erofs */
}

static long mapping_look(struct task_struct *task, struct vm_area_struct *vma, void *unused)
{
	struct file *file = vma->vm_file;
	struct super_block *sb;

	if (vma->vm_flags & (VM_UFFD_MISSING | VM_UFFD_WP))
		return 0;
	if (file) {
		sb = file->f_inode->i_sb;
		if (!is_local(sb->s_magic) || sb->s_user_ns->level)
			return 0;
	}
	readable_start = vma->vm_start;
	readable_end = vma->vm_end;
	return 0;
}

static __always_inline void readable_forget(void)
{
	readable_start = readable_end = 0;
}

/* Before a walk: what was looked at is another thread's. */
static __always_inline void remote_forget(void)
{
	readable_forget();
	remote_torn = 0;
}

static __always_inline bool is_readable(__u64 addr, __u32 len)
{
	return addr >= readable_start && addr + len <= readable_end && addr + len > addr;
}

/* 0, or negative: not to be read, or the mappings are being changed. */
remote_fn int remote_look(struct task_struct *task remote_task, __u64 addr, __u32 len)
{
	long rc;

	if (is_readable(addr, len))
		return 0;
	readable_forget();
	rc = bpf_find_vma(task, addr, mapping_look, NULL, 0);
	if (rc == -16) /* EBUSY: it does not wait for who changes them */
		remote_torn++;
	if (rc)
		return -14; /* EFAULT */
	if (is_readable(addr, len))
		return 0;
	return -14;
}

#define remote_read(task, dst, len, addr)                                                          \
	(remote_look(task, addr, len)                                                              \
		 ? -14                                                                             \
		 : (int)bpf_copy_from_user_task(dst, len, (const void *)(addr), task, 0))

#endif
