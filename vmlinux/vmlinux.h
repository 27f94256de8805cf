/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel types our BPF programs use: names and shapes only, relocated by CO-RE at load time.
 * See README.md in this folder for how to extend it.
 */
#ifndef __VMLINUX_H__
#define __VMLINUX_H__

typedef unsigned char __u8;
typedef signed char __s8;
typedef unsigned short __u16;
typedef short __s16;
typedef unsigned int __u32;
typedef int __s32;
typedef unsigned long long __u64;
typedef long long __s64;
typedef __u8 u8;
typedef __s8 s8;
typedef __u16 u16;
typedef __s16 s16;
typedef __u32 u32;
typedef __s32 s32;
typedef __u64 u64;
typedef __s64 s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u64 __be64;
typedef __u32 __wsum;
typedef int pid_t;
typedef _Bool bool;

enum { false = 0, true = 1 };

/* ---- uapi/linux/bpf.h: constants (stable ABI) ------------------------------------------------ */

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PROG_ARRAY = 3,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_HASH_OF_MAPS = 13,
	BPF_MAP_TYPE_QUEUE = 22,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};

enum {
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
	BPF_EXIST = 2,
};

enum {
	BPF_F_NO_PREALLOC = 1U << 0,
	BPF_F_RDONLY_PROG = 1U << 7,
	BPF_F_MMAPABLE = 1U << 10,
	BPF_F_INNER_MAP = 1U << 12,
};

enum {
	BPF_F_USER_STACK = 1ULL << 8,
	BPF_F_SKIP_FIELD_MASK = 0xffULL,
};

enum { BPF_LOCAL_STORAGE_GET_F_CREATE = 1ULL << 0 };

enum {
	BPF_RB_NO_WAKEUP = 1ULL << 0,
	BPF_RB_FORCE_WAKEUP = 1ULL << 1,
};

enum { BPF_RB_AVAIL_DATA = 0, BPF_RB_RING_SIZE = 1 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* ---- registers ------------------------------------------------------------------------------- */

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	long unsigned int r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
	long unsigned int orig_ax, ip, cs, flags, sp, ss;
};
#elif defined(__TARGET_ARCH_arm64)
struct user_pt_regs {
	__u64 regs[31];
	__u64 sp, pc, pstate;
};
struct pt_regs {
	union {
		struct user_pt_regs user_regs;
		struct {
			u64 regs[31];
			u64 sp, pc, pstate;
		};
	};
	u64 orig_x0;
	s32 syscallno;
};
#endif

/* ---- tasks (include/linux/sched.h) ----------------------------------------------------------- */

struct list_head {
	struct list_head *next;
};

/* include/linux/kernfs.h, cgroup-defs.h */
struct kernfs_node {
	struct kernfs_node *__parent; /* 6.15 */
	const char *name;
	u64 id;
};

struct kernfs_node___before {
	struct kernfs_node *parent;
};

struct cgroup {
	struct kernfs_node *kn;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
};

struct css_set {
	struct cgroup *dfl_cgrp; /* of version 2 */
};

/* kernel/sched/sched.h */
struct rq {
	struct task_struct *curr;
	u64 clock;
	u64 clock_task;
	u64 prev_steal_time_rq; /* CONFIG_PARAVIRT_TIME_ACCOUNTING */
	u64 prev_irq_time;	/* CONFIG_IRQ_TIME_ACCOUNTING */
	int cpu;
	struct list_head cfs_tasks; /* who runs or wants to, the one that was picked last first */
};

struct task_group;

struct cfs_rq {
	struct rq *rq;	       /* CONFIG_FAIR_GROUP_SCHED, as all of the next */
	struct task_group *tg; /* whose entities are queued here */
	int throttle_count;    /* CONFIG_CFS_BANDWIDTH: of this group and those above it */
};

struct bpf_timer { /* include/uapi/linux/bpf.h */
	u64 opaque[2];
} __attribute__((aligned(8)));

struct cfs_bandwidth {
	u64 quota; /* ns; ~0: no limit */
	struct list_head throttled_cfs_rq;
	u64 throttled_time; /* ns; with each queue that is served again */
};

struct task_group {
	struct cgroup_subsys_state css;
	struct cfs_rq **cfs_rq; /* by CPU */
	struct task_group *parent;
	struct cfs_bandwidth cfs_bandwidth; /* CONFIG_CFS_BANDWIDTH */
};

struct sched_entity {
	u64 exec_start;
	u64 sum_exec_runtime;
	struct list_head group_node;
	struct cfs_rq *cfs_rq; /* CONFIG_FAIR_GROUP_SCHED */
};

struct sched_info {
	long unsigned int pcount;
	unsigned long long run_delay;
	unsigned long long last_arrival;
	unsigned long long last_queued;
};

struct mm_struct;

/* include/linux/ns_common.h, pid_namespace.h, pid.h */
struct ns_common {
	unsigned int inum;
};

struct pid_namespace {
	struct ns_common ns;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct hlist_node {
	struct hlist_node *next;
};

struct hlist_head {
	struct hlist_node *first;
};

struct pid {
	unsigned int level;
	struct hlist_head tasks[2]; /* and more: enum pid_type */
	struct upid numbers[];	    /* level + 1 of them */
};

struct thread_info {
	u32 cpu;	   /* 5.16 on x86; CONFIG_THREAD_INFO_IN_TASK */
	u32 preempt_count; /* not on x86; the low half of 64 bits on arm64 */
};

#if defined(__TARGET_ARCH_x86)
struct thread_struct {
	long unsigned int sp;
	long unsigned int fsbase;
};
#elif defined(__TARGET_ARCH_arm64)
struct cpu_context {
	long unsigned int sp;
};

struct thread_struct {
	struct cpu_context cpu_context;
	struct {
		long unsigned int tp_value;
	} uw;
};
#endif

struct task_struct {
	struct thread_info thread_info;
	void *stack;	      /* the kernel's */
	unsigned int __state; /* 5.14; `state` before */
	unsigned int flags;
	int on_cpu;
	int on_rq;
	struct sched_entity se;
	struct sched_info sched_info;
	struct task_group *sched_task_group; /* CONFIG_CGROUP_SCHED */
	struct css_set *cgroups;
	struct mm_struct *mm;
	struct files_struct *files;
	pid_t pid;
	pid_t tgid;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	struct hlist_node pid_links[2]; /* and more, as in struct pid */
	long unsigned int nvcsw;
	long unsigned int nivcsw;
	u64 start_time;
	char comm[16];
	struct thread_struct thread;
};

struct linux_binprm;

/* ---- files, and what a mapping is of -----------------------------------------------------------
 */

struct user_namespace {
	int level; /* 0: the first */
};

struct file_system_type {
	const char *name;
};

struct super_block {
	u32 s_dev;
	struct file_system_type *s_type;
	long unsigned int s_magic;
	struct user_namespace *s_user_ns; /* of who mounted it */
};

struct inode {
	u16 i_mode;
	struct super_block *i_sb;
	long unsigned int i_ino;
};

struct qstr {
	const unsigned char *name;
};

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
};

struct vfsmount {
	struct dentry *mnt_root;
};

struct mount { /* fs/mount.h */
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct file {
	struct inode *f_inode;
	struct path f_path;
	void *private_data;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct vm_area_struct {
	long unsigned int vm_start;
	long unsigned int vm_end;
	long unsigned int vm_flags;
	struct file *vm_file;
};

/* ---- sockets (include/net/sock.h, af_unix.h) ---------------------------------------------------
 */

struct in6_addr {
	u8 s6_addr[16];
};

struct net {
	struct ns_common ns;
};

typedef struct {
	struct net *net; /* CONFIG_NET_NS */
} possible_net_t;

struct sock_common {
	__be32 skc_daddr;
	__be32 skc_rcv_saddr;
	__be16 skc_dport;
	u16 skc_num;
	short unsigned int skc_family;
	volatile unsigned char skc_state;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr;	  /* CONFIG_IPV6 */
	struct in6_addr skc_v6_rcv_saddr; /* likewise */
};

struct sock {
	struct sock_common __sk_common;
	u16 sk_protocol;
	struct pid *sk_peer_pid;
};

struct socket {
	struct sock *sk;
};

struct sockaddr_un {
	char sun_path[108];
};

struct unix_address {
	int len; /* of the address, with its family */
	struct sockaddr_un name[];
};

struct unix_sock { /* CONFIG_UNIX; of a module's the kernel's BTF knows nothing */
	struct unix_address *addr;
	struct sock *peer;
};

struct rb_node {
	long unsigned int __rb_parent_color;
	struct rb_node *rb_right, *rb_left;
};

struct rb_root {
	struct rb_node *rb_node;
};

struct rb_root_cached {
	struct rb_root rb_root;
};

struct eventpoll { /* CONFIG_EPOLL */
	struct rb_root_cached rbr;
};

/* ---- BPF iterators (include/linux/bpf.h) ----------------------------------------------------- */

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
	u64 session_id;
	u64 seq_num;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	u32 fd;
	struct file *file;
};

#pragma clang attribute pop

/* ---- perf_event programs (uapi/linux/bpf_perf_event.h: stable ABI, no relocation) --------------
 */

#if defined(__TARGET_ARCH_x86)
typedef struct pt_regs bpf_user_pt_regs_t;
/* the context gives registers at fixed offsets, in this very order */
struct gn_ctx_regs {
	long unsigned int r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
	long unsigned int orig_ax, ip, cs, flags, sp, ss;
};
#elif defined(__TARGET_ARCH_arm64)
typedef struct user_pt_regs bpf_user_pt_regs_t;
struct gn_ctx_regs {
	__u64 regs[31];
	__u64 sp, pc, pstate;
};
#endif

struct bpf_perf_event_data {
	struct gn_ctx_regs regs;
	__u64 sample_period;
	__u64 addr;
};

/* ---- task states (include/linux/sched.h) ------------------------------------------------------
 */

#define TASK_RUNNING	     0x0000
#define TASK_INTERRUPTIBLE   0x0001
#define TASK_UNINTERRUPTIBLE 0x0002
#define TASK_STOPPED_BIT     0x0004
#define TASK_TRACED_BIT	     0x0008
#define TASK_DEAD	     0x0080
#define TASK_NOLOAD	     0x0400
#define PF_KTHREAD	     0x00200000
#define PF_EXITING	     0x00000004
#define CLONE_THREAD	     0x00010000

#endif
