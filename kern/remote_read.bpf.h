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
#define number_fn   static __always_inline
#else
#define remote_fn static __noinline
#define remote_task
/* Functions of numbers alone are such in any kernel. A walk has hundreds of places that read. */
#define number_fn __weak __noinline
#endif

/* The mapping that was looked at last, of the thread that is walked. One thread reads remotely. */
extern __u64 gn_readable_start, gn_readable_end; /* kern/remote.bpf.c: one for all programs */

/* Reads since the last remote_forget() that failed as the target was changing its mappings. */
extern __u64 gn_remote_torn;

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

/* A mapping was found: what of it is remembered. `magic`: of its file's system, 0 without a file.
 */
number_fn int mapping_note(__u64 flags, __u64 magic, __u64 level, __u64 start, __u64 end)
{
	bool good =
		!(flags & (VM_UFFD_MISSING | VM_UFFD_WP)) && (!magic || is_local(magic)) && !level;

	gn_readable_start = good ? start : 0;
	gn_readable_end = good ? end : 0;
	return 0;
}

static long mapping_look(struct task_struct *task, struct vm_area_struct *vma, void *unused)
{
	struct file *file = vma->vm_file;
	__u64 magic = 0, level = 0;
	struct super_block *sb;

	if (file) {
		sb = file->f_inode->i_sb;
		magic = sb->s_magic;
		level = sb->s_user_ns->level;
	}
	mapping_note(vma->vm_flags, magic, level, vma->vm_start, vma->vm_end);
	return 0;
}

/* Before a walk: what was looked at is another thread's. */
static __always_inline void remote_forget(void)
{
	gn_readable_start = gn_readable_end = 0;
	gn_remote_torn = 0;
}

static __always_inline bool window_has(__u64 addr, __u32 len)
{
	return addr >= gn_readable_start && addr + len <= gn_readable_end && addr + len > addr;
}

number_fn int is_readable(__u64 addr, __u32 len)
{
	return window_has(addr, len);
}

/* After a look for the mapping, which said `rc`: remote_look()'s result. */
number_fn int look_end(__u64 addr, __u32 len, int rc)
{
	if (rc == -16) /* EBUSY: it does not wait for who changes them */
		gn_remote_torn++;
	return rc || !window_has(addr, len) ? -14 : 0; /* EFAULT */
}

/* 0, or negative: not to be read, or the mappings are being changed. */
remote_fn int remote_look(struct task_struct *task remote_task, __u64 addr, __u32 len)
{
	if (is_readable(addr, len))
		return 0;
	return look_end(addr, len, bpf_find_vma(task, addr, mapping_look, NULL, 0));
}

#define remote_read(task, dst, len, addr)                                                          \
	(remote_look(task, addr, len)                                                              \
		 ? -14                                                                             \
		 : (int)bpf_copy_from_user_task(dst, len, (const void *)(addr), task, 0))

#endif
