/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The records and shared structs between the BPF programs and the collector. Fixed width, native
 * byte order, 8-byte aligned; both sides include this file (BPF after vmlinux.h, user space after
 * <linux/types.h>). Times are CLOCK_MONOTONIC nanoseconds.
 */
#ifndef GNOMON_ABI_H
#define GNOMON_ABI_H

#ifndef __bpf__
#include <linux/types.h>
#endif

#define GN_MAX_FRAMES 1024 /* user + kernel frames of one stack */

/* ---- frames ---- */

/*
 * A physical frame, leaf first. `pc` holds the address in bits 0-47 (kernel addresses are sign
 * extended again by gn_frame_addr()), the kind in 48-55 and flags in 56-63.
 *
 *   kind            addr                     data
 *   KERNEL, USER    pc (for non-leaf frames the return address, flag GN_FF_RETADDR)   0
 *   INTERP          Method*                  ConstMethod* << 16 | bci
 *   NMETHOD         pc                       compile_id << 32 | (pc - blob) clipped to 32 bits
 *   STUB            pc                       0   (any other CodeBlob: stubs, adapters, vtable ...)
 */
enum gn_frame_kind {
	GN_FRAME_KERNEL = 1,
	GN_FRAME_USER = 2,
	GN_FRAME_INTERP = 3,
	GN_FRAME_NMETHOD = 4,
	GN_FRAME_STUB = 5,
};

#define GN_FF_RETADDR 0x01 /* a return address: look up addr - 1 */
#define GN_FF_GUESSED 0x02 /* found by a heuristic, not by a rule */
#define GN_FF_FP      0x04 /* reached by a frame pointer where no rule was known */

struct gn_frame {
	__u64 pc;
	__u64 data;
};

#define GN_FRAME(addr, kind, flags)                                                                \
	(((__u64)(addr)&0xffffffffffffULL) | (__u64)(kind) << 48 | (__u64)(flags) << 56)

static inline __u64 gn_frame_addr(const struct gn_frame *f)
{
	/* canonical form: bit 47 is the sign */
	return (__u64)((__s64)(f->pc << 16) >> 16);
}

static inline __u32 gn_frame_kind(const struct gn_frame *f)
{
	return (f->pc >> 48) & 0xff;
}

static inline __u32 gn_frame_flags(const struct gn_frame *f)
{
	return f->pc >> 56;
}

/* Why the walk of the user part ended. */
enum gn_walk_end {
	GN_END_NONE = 0,     /* no user part (kernel thread, or not walked) */
	GN_END_COMPLETE = 1, /* the thread's start was reached */
	GN_END_DEPTH = 2,    /* depth cap */
	GN_END_BADADDR = 3,  /* memory could not be read */
	GN_END_NORULE = 4,   /* no rule for a pc, or an implausible frame */
	GN_END_CONT = 5, /* the base of a virtual thread: its carrier's frames are not its own */
	GN_END_FP = 6,	 /* frame-pointer walk by the kernel: end not known to be the start */
	GN_END_HEAP = 7, /* a virtual thread's callers lie in the Java heap */
	GN_END_MAX
};

/*
 * Nothing is missing: a thread of the kernel's has no user part, and a virtual thread's stack ends
 * where its carrier's begins.
 */
static inline int gn_end_is_whole(__u32 end)
{
	return end == GN_END_COMPLETE || end == GN_END_NONE || end == GN_END_CONT;
}

/* No table would show more. */
static inline int gn_end_is_final(__u32 end)
{
	return gn_end_is_whole(end) || end == GN_END_HEAP;
}

/* ---- records ---- */

enum gn_rec_type {
	GN_REC_SAMPLE = 1,
	GN_REC_STACK = 2,
	GN_REC_FORK = 3,    /* a thread of a target was created */
	GN_REC_EXIT = 4,    /* a thread of a target ends */
	GN_REC_EXEC = 5,    /* a target became another program */
	GN_REC_COMM = 6,    /* a thread of a target has a new name */
	GN_REC_VTHREAD = 7, /* what a virtual thread is called */
	GN_REC_CAUSE = 8,   /* what a thread waits for */
	GN_REC_CONTEXT = 9, /* which request a thread works for */
	GN_REC_OWNER = 10,  /* whose a lock was at a tick */
	GN_REC_FOUND = 11,  /* a thread of a target was there before us */
};

/* Every record begins so. Pids are those of the PID namespace the collector lives in. */
struct gn_rec {
	__u16 type; /* enum gn_rec_type */
	__u16 cpu;
	__u32 size; /* bytes of the whole record */
	__u32 tgid;
	__u32 tid;
	__u64 time;
};

/* The kernel's view of why a thread had no CPU; user space refines it by the frames on top. */
enum gn_state {
	GN_ST_RUNNING = 0, /* CPU sample */
	GN_ST_SLEEP = 1,   /* interruptible wait */
	GN_ST_DISK = 2,	   /* uninterruptible wait: mostly IO */
	GN_ST_QUEUED = 3,  /* runnable without a CPU: preempted or yielded */
	GN_ST_STOPPED = 4, /* SIGSTOP, ptrace, frozen */
	GN_ST_UNSEEN = 5,  /* off CPU since before it was seen */
	GN_ST_MAX
};

enum gn_clock {
	GN_CLOCK_THREAD = 1, /* the thread's own CPU clock */
	GN_CLOCK_CPU = 2,    /* a CPU's clock */
	GN_CLOCK_WALL = 3,   /* wall ticks */
};

/*
 * A CPU's clock must not run in step with the scheduler's tick, of which every usual interval is a
 * multiple. So its period is this many thousandths of the interval, and so many of a thousand
 * firings are kept, at random: the rate is right, and all phases are met.
 */
#define GN_CPU_CLOCK_KEEP 983ULL

struct gn_sample {
	struct gn_rec h; /* time: CPU: now; wall: that of the first tick */
	__u64 stack;	 /* id, 0 = none could be taken */
	__u32 n;	 /* samples this record stands for; wall: the ticks crossed */
	__u8 clock;	 /* enum gn_clock */
	__u8 state;	 /* enum gn_state */
	__u8 level;	 /* wall: n is so many own ticks << level (below) */
	__u8 pad;	 /* the kernel side's own; 0 in what it sends */
	__u64 span;    /* wall: length of the off-CPU interval so far, ns; CPU: what one of n is */
	__u64 vthread; /* Thread.threadId() of the virtual thread it carried, 0 none or not known */
	__u64 cause;   /* wall: what it waited for (struct gn_cause_rec), 0 none or not known */
	__u64 context; /* the request it worked for (struct gn_context_rec), 0 none or not known */
};

/* In a stack's id: uw_is_whole(). Else tables made later may show more of it. */
#define GN_STACK_WHOLE 1

/* Who took it. Of a stack that is met again only the first time is known. */
enum gn_stack_way {
	GN_WAY_CLOCK = 0,  /* a CPU sample */
	GN_WAY_SWITCH = 1, /* its thread, as it left the CPU */
	GN_WAY_REMOTE = 2, /* somebody else, while it was off the CPU */
	GN_WAY_BACK = 3,   /* another of its process, as it was about to get the CPU again */
	GN_WAY_WAKE = 4,   /* its thread, as it woke another one */
	GN_WAY_NEAR = 5,   /* another of its process, as that left the CPU after a tick */
};

struct gn_stack { /* followed by the frames */
	struct gn_rec h;
	__u64 id;
	__u16 nkernel; /* the first nkernel frames */
	__u16 nuser;   /* the rest */
	__u8 end;      /* enum gn_walk_end of the user part */
	__u8 way;      /* enum gn_stack_way */
	__u8 pad[2];
};

static inline const struct gn_frame *gn_stack_frames(const struct gn_stack *s)
{
	return (const struct gn_frame *)(s + 1);
}

struct gn_task_rec { /* FORK, EXIT, EXEC, COMM, FOUND */
	struct gn_rec h;
	__u64 cpu_ns; /* EXIT: the thread's sum_exec_runtime */
	char comm[16];
};

#define GN_VTHREAD_NAME 128 /* bytes of a virtual thread's name that are kept */

/* Sent before the first sample with this id; h.tid is the carrier. */
struct gn_vthread_rec {
	struct gn_rec h;
	__u64 id;
	__u32 len;  /* bytes of its name, of which at most GN_VTHREAD_NAME are here */
	__u32 wide; /* UTF-16 in the machine's order, else Latin-1 */
	__u8 name[GN_VTHREAD_NAME];
};

/*
 * What the descriptor of the system call in which a thread waits stands for; or who had the CPU
 * for which it queued (GN_OP_RUN).
 */
enum gn_cause_kind {
	GN_CAUSE_NONE = 0,
	/* a socket: family, protocol, addresses and ports; of a connection within this machine ino:
	   its network namespace; dev and fs: whose its other end is, as that is found out */
	GN_CAUSE_INET = 1,
	/* path: its own address, or else its peer's, as in sun_path; dev: its peer's pid, fs: and
	   name */
	GN_CAUSE_UNIX = 2,
	GN_CAUSE_SOCKET = 3, /* of another family */
	GN_CAUSE_PIPE = 4,   /* ino */
	GN_CAUSE_FILE = 5,   /* also a named pipe, a device, a directory: path, dev, ino */
	/* path: what the kernel calls it, "[eventfd]"; of an epoll count: of its descriptors, of
	 * which there are more if not `whole` */
	GN_CAUSE_ANON = 6,
	GN_CAUSE_POLL = 7, /* several at once: count */
	/* of Java: struct gn_cause_lock */
	GN_CAUSE_MONITOR = 8, /* of an object */
	GN_CAUSE_BLOCKER = 9, /* what java.lang.Thread's parkBlocker refers to */
	/* a thread queues, and the CPU is had by: */
	GN_CAUSE_THREAD = 10,  /* another thread of its process: ino is its tid */
	GN_CAUSE_PROCESS = 11, /* another process: fs is its name, dev its pid, path its cgroup's */
	GN_CAUSE_KERNEL = 12,  /* a thread of the kernel's: fs is its name */
	GN_CAUSE_IRQ = 13,     /* interrupts */
	GN_CAUSE_STOLEN = 14,  /* the host of this virtual machine */
	GN_CAUSE_LIMIT = 15, /* its cgroup, whose path this is, or one above had used up its time */
	GN_CAUSE_AT_ONCE = 16, /* nobody: it was just about to get it */
	GN_CAUSE_UNSEEN = 17,  /* nobody looked in time */
	/* never sent, but made of a stack's frames by user space: ino is jvmwait_of() */
	GN_CAUSE_JVM = 18,
	/* nothing that the call tells; who woke the thread: enum gn_waker in `family` */
	GN_CAUSE_WAKER = 19,
	/* the cause whose id is ino, of a wait that a thread of this machine ended at the other
	   end: dev and count are its process and its own number, fs is its name, path its process's
	 */
	GN_CAUSE_SERVED = 20,
	GN_CAUSE_KINDS
};

enum gn_waker {
	GN_WAKER_THREAD =
		1, /* of its own process: ino is its tid, count the id of its stack or 0 */
	GN_WAKER_PROCESS = 2, /* of another one: fs is its name, dev its pid */
	GN_WAKER_KERNEL = 3,  /* of the kernel: fs is its name */
};

static inline int gn_cause_is_lock(__u32 kind)
{
	return kind == GN_CAUSE_MONITOR || kind == GN_CAUSE_BLOCKER;
}

/* The lowest bit of a cause's id tells that, too. */
static inline int gn_cause_id_is_lock(__u64 id)
{
	return id & 1;
}

enum gn_cause_op {
	GN_OP_NONE = 0,
	GN_OP_READ = 1,
	GN_OP_WRITE = 2,
	GN_OP_ACCEPT = 3,
	GN_OP_CONNECT = 4,
	GN_OP_POLL = 5,
	GN_OP_SYNC = 6,
	GN_OP_LOCK = 7,
	GN_OP_ENTER = 8, /* a monitor that another thread has entered */
	GN_OP_WAIT = 9,	 /* Object.wait() */
	GN_OP_PARK = 10,
	GN_OP_RUN = 11, /* to have a CPU */
	GN_OP_MAX
};

/* What tells one cause from another: its id is a hash of this. */
struct gn_cause {
	__u8 kind; /* enum gn_cause_kind */
	__u8 op;   /* enum gn_cause_op */
	__u16 family;
	__u16 protocol;
	__u16 local_port; /* in the machine's order, as is the other */
	__u16 peer_port;
	__u16 listens;		  /* not 0: for any peer */
	__u32 dev;		  /* as the kernel has it: major << 20 | minor */
	__u8 local[16], peer[16]; /* addresses: four bytes of IPv4, or all of IPv6 */
	__u64 ino;
	__u64 count;
};
#define GN_CAUSE_WORDS (sizeof(struct gn_cause) / sizeof(__u64))

/* One end of a TCP connection, by what it is called at itself; addresses of IPv4 as ones of IPv6.
 */
struct gn_peer_key {
	__u32 local[4], peer[4];
	__u16 local_port, peer_port;
	__u32 net; /* its network namespace */
};

struct gn_peer {
	__u32 pid; /* of a process that has it; 0: none that we see */
	char comm[16];
	__u32 pad;
};

#define GN_PEERS 256 /* that are asked for at once */

#define GN_CAUSE_PATH 512 /* bytes of a path that are kept */
#define GN_CAUSE_NAME 128 /* of one name in it */

/*
 * The same place, for an object that is waited for. Collections move objects: one that has a hash
 * is told by that, another by its address as long as there was no collection.
 */
struct gn_cause_lock {
	__u8 kind;	   /* enum gn_cause_kind */
	__u8 op;	   /* enum gn_cause_op */
	__u16 owned;	   /* a blocker that was somebody's then: its owners are told */
	__u32 hash;	   /* 0: it has none, and instead: */
	__u64 monitor;	   /* address of its ObjectMonitor, with GN_CAUSE_MONITOR */
	__u64 object;	   /* its address */
	__u64 collections; /* that the JVM had done */
	__u64 unused[3];
	__u64 klass; /* address of its class, 0 not known */
};
_Static_assert(sizeof(struct gn_cause_lock) == sizeof(struct gn_cause), "one place for both");

static inline const struct gn_cause_lock *gn_cause_lock(const struct gn_cause *c)
{
	return (const struct gn_cause_lock *)c;
}

enum gn_owner_kind {
	GN_OWNER_UNKNOWN = 0, /* it could not be read */
	GN_OWNER_NOBODY = 1,
	GN_OWNER_ID = 2,   /* Thread.threadId() */
	GN_OWNER_WORD = 3, /* a JavaThread's address, or one on its stack */
	GN_OWNER_HELD = 4, /* who has the object in its lock stack; `owner`: the ObjectMonitor */
	GN_OWNER_KINDS
};

/* Whose the lock was that a cause of that id is, at a tick. h.tid is one that waits for it. */
struct gn_owner_rec {
	struct gn_rec h;
	__u64 cause;
	__u64 tick;
	__u64 owner; /* by kind */
	__u32 kind;  /* enum gn_owner_kind */
	__u32 pad;
};

/*
 * Sent before the first sample with this id. The path of a file or a cgroup is told name by name
 * from the last one on, each with its terminator; `whole`: up to the root.
 */
struct gn_cause_rec {
	struct gn_rec h;
	__u64 id;
	struct gn_cause of;
	char fs[16]; /* the type of its file system, or a name */
	__u32 len;   /* bytes of path; of a name in it that is longer only the first are here */
	__u32 whole;
	char path[GN_CAUSE_PATH];
};

/* ---- losses and counters ---- */

/* Why a sample has no place, or no stack or thread, in the recording. Counted by thread. */
enum gn_loss {
	GN_LOSS_RING = 0, /* CPU sample, ring buffer full */
	GN_LOSS_WALL = 1, /* wall ticks whose record did not fit the ring buffer */
	GN_LOSS_STACK =
		2, /* stack list did not fit: samples keep their id, frames may be missing */
	GN_LOSS_MISSED = 3, /* wall sample without a stack: not captured in time */
	GN_LOSS_STATE = 4,  /* no task storage for a thread */
	/* records of what threads do, in the order of enum gn_rec_type */
	GN_LOSS_FORK = 5,
	GN_LOSS_EXIT = 6,
	GN_LOSS_EXEC = 7,
	GN_LOSS_COMM = 8,
	GN_LOSS_CHURN =
		9, /* births, ends and names beyond what a process may have told at a time */
	GN_LOSS_BARE = 10, /* wall ticks of threads that work for no request: not wanted */
	GN_LOSS_MAX
};

static inline int gn_loss_is_task(__u32 reason)
{
	return reason >= GN_LOSS_FORK && reason <= GN_LOSS_CHURN;
}

/*
 * Of what its threads do a process has so many records sent a second, and so many at once. A thread
 * that is born, names itself and ends makes three; one that renames itself again and again is
 * another matter, and an exec makes user space read everything anew.
 */
enum gn_churn_kind { GN_CHURN_LIVES, GN_CHURN_NAMES, GN_CHURN_EXECS, GN_CHURN_MAX };
#define GN_CHURN_SECOND                                                                            \
	{                                                                                          \
		100000, 5000, 10                                                                   \
	}
#define GN_CHURN_AT_ONCE                                                                           \
	{                                                                                          \
		100000, 5000, 20                                                                   \
	}
#define GN_CHURN_YOUNG 1000000000ULL /* ns: the names of a thread so young belong to its birth */

struct gn_loss_key {
	__u32 tid;
	__u32 reason;
};

enum gn_counter {
	GN_CNT_SWITCHES = 0, /* switch-outs of target threads seen (kept in cpu_times) */
	GN_CNT_CAPTURES,     /* off-CPU stacks taken */
	GN_CNT_CPU,	     /* CPU samples sent */
	GN_CNT_REMOTE,	     /* of those that were taken from outside */
	GN_CNT_BACK,	     /* of those that were taken as it came back */
	GN_CNT_NEAR,	     /* of those that others of its process took, while it rested */
	GN_CNT_WALL,	     /* wall records sent */
	GN_CNT_TICKS,	     /* wall ticks those stand for */
	GN_CNT_STACKS,	     /* stack lists sent */
	GN_CNT_YOUNG,	     /* firings of own clocks of young threads (see oncpu.bpf.c) */
	GN_CNT_LOST_BYTES,   /* of records that did not fit the CPU's ring */
	GN_CNT_SCANNED,	     /* threads looked at by scans */
	GN_CNT_VERIFIED, /* sleepers whose CPU time was compared with that at their switch-out */
	GN_CNT_RAN,	 /* of those: it was another, so a switch was not seen */
	GN_CNT_CODE_CHECKED,   /* with gn_check_code: frames of code known from walks before */
	GN_CNT_CODE_WRONG,     /* of those: it was other code by now */
	GN_CNT_MEMO_CHECKED,   /* with gn_check_code: frames that a memo told, and were walked */
	GN_CNT_MEMO_WRONG,     /* of those: something else was found */
	GN_CNT_KSTACK_CHECKED, /* likewise: the kernel's frames of a stack that were known */
	GN_CNT_KSTACK_WRONG,
	/* losses that found no room in the loss map: one for each enum gn_loss */
	GN_CNT_LOSSES,
	GN_CNT_MAX = GN_CNT_LOSSES + GN_LOSS_MAX
};

/* ---- targets ---- */

#define GN_MAX_PROCS 1024

#define GN_DRAWS 8

/* How often a process is sampled, where each has a rate of its own (gn_rates). */
struct gn_rate {
	__u64 cpu_ns;	 /* 0: no CPU samples */
	__u32 level;	 /* of its wall ticks, or GN_LEVEL_NONE: no wall samples */
	__u32 no_wakers; /* who wakes its threads is not looked at */
};

struct gn_proc {
	__u32 limit[GN_DRAWS]; /* with a reservoir: of draw d in [d % GN_DRAWS] */
	struct gn_rate rate;
	__u64 switches; /* with gn_rates: of its threads, as far as they were counted */
	__u64 scan;	/* user space's: the first scan of threads that has met all of its */
};

/*
 * Whose switches nobody looks at, by the process's number: bit n of those whose last GN_SKIP_BITS
 * bits are n.
 */
#define GN_SKIP_BITS  12
#define GN_SKIP_WORDS ((1 << GN_SKIP_BITS) / 64)

static inline __u32 gn_skip_word(__u32 tgid)
{
	return tgid >> 6 & (GN_SKIP_WORDS - 1);
}

static inline __u64 gn_skip_bit(__u32 tgid)
{
	return 1ULL << (tgid & 63);
}

/* OFF: it was seen to go off the CPU; that interval is open, or to be reported at the next one. */
/* SCAN: the last scan found it off the CPU. */
enum gn_phase { GN_PH_UNKNOWN = 0, GN_PH_OFF = 1, GN_PH_ENDED = 2, GN_PH_SCAN = 3 };

#define GN_SENT 2

struct gn_sent {
	__u64 stack; /* id, 0 none */
	__u64 lists; /* gn_lists then */
};

/* Whether a thread is to be read once more in the same interval (kern/again.bpf.h). */
struct gn_again {
	__u32 times; /* that it was to be, in a row */
	__u32 seq;   /* the interval, plus 1; 0: it is not */
};

/*
 * Per thread, in task storage. What each switch and each accounting looks at comes first, in two
 * cache lines: the kernel has 8 bytes of its own before it in the first (struct
 * bpf_local_storage_data, include/linux/bpf_local_storage.h). With thousands of sleepers, and with
 * threads that switch seldom, the time goes into cache misses.
 */
struct gn_thread {
	__u32 phase;	 /* enum gn_phase */
	__u32 state;	 /* enum gn_state */
	__u32 seq;	 /* number of switch-outs */
	__u32 level;	 /* its process's (kern/rate.bpf.h) */
	__u64 out_ns;	 /* start of the off-CPU interval */
	__u64 run_delay; /* task->sched_info.run_delay then: all its time in run queues */
	__u64 cpu_ns;	 /* task->se.sum_exec_runtime then */
	__u64 tick_ns;	 /* the first tick after out_ns */
	__u64 stack;	 /* stack id taken at the switch-out, 0 none */
	/* the second line */
	__u64 next_tick;    /* index of the first tick not accounted for yet */
	__u64 offset;	    /* by which out_ns was got from the run queue's clock */
	__u64 look_ahead;   /* ns: a stack is taken at a switch-out this close before a tick */
	__u64 queued_tick;  /* tick for which it is in the pending queue, plus 1 */
	__u64 own_tick;	    /* its first own tick from next_tick on */
	__u32 own_from;	    /* for which that is: low half, plus 1 */
	__u32 rate_gen;	    /* gn_rate_gen for which `level` is, 0 never */
	__u32 queued_ahead; /* ns: likewise, where it was preempted; the shorter one counts */
	__u32 wasted_tick;  /* tick (low half) before which `wasted` stacks were taken in vain */
	__u8 wasted;
	__u8 far;    /* what it costs lately that the collector reads it: look_ahead_read() */
	__u8 often;  /* it switches so often that ticks go by `owed` (kern/owed.bpf.h) */
	__u8 asked;  /* its bit in `asked` is set (kern/asked.bpf.h) */
	__u32 round; /* of accounting (wall_account) that it was last part of */
	/* the third: CPU samples */
	__u64 id;	    /* tgid << 32 | tid, as the collector's PID namespace has them */
	__u64 sampled_ns;   /* CPU time up to which samples stand for it, 0 none yet */
	__u64 mature;	    /* CPU time from which on its own clock counts (kern/oncpu.bpf.c) */
	__u64 cpu_stack;    /* of the last CPU sample, 0 none */
	__u64 cpu_stack_ns; /* and when that was */
	__u64 cpu_vthread;
	__u64 cpu_context;
	__u32 clock_gen;   /* the one for which `mature` was chosen at random */
	__u32 targets_gen; /* gn_targets_gen for which its process is a target, 0 never */
	/* the fourth: stacks, whatever they are for */
	/* by enum stack_slot: a list that the reader has, the last of this thread */
	struct gn_sent sent[GN_SENT];
	/* likewise: its places in `memos`, plus 1; kern/memo.bpf.h */
	__u32 memo[GN_SENT];
	__u64 vthread; /* it carried at the switch-out, where `stack` was taken */
	__u64 cause;   /* of the wait, where `stack` was taken */
	__u64 context; /* likewise */
	/* and the rest */
	__u64 queue;   /* with causes: the run queue (struct cfs_rq) it queued in last */
	__s64 owed[2]; /* ns without a CPU that no tick stands for yet: waiting, queued */
	__s64 paid[2]; /* of those, ns that accountings have counted since: kern/owed.bpf.h */
	__u64 remote;  /* stack id read from outside, of the interval remote_seq */
	__u64 remote_vthread;
	__u64 remote_cause;
	__u64 remote_context;
	__u32 remote_seq;
	__u32 far_seq;	  /* likewise, where it was the collector that read it */
	__u64 wait_stack; /* the last taken of a wait, and not where it was preempted */
	__u64 wait_vthread;
	__u64 wait_cause;
	__u64 wait_context;
	/* the interval in which it is in `lock_waiters`; kern/lock.bpf.h */
	__u32 lock_watched;
	/* with gn_only_context: the last look found no context; and the interval of that, plus 1 */
	__u32 bare, bare_seq;
	__u64 switches; /* at the last scan: nvcsw + nivcsw */
	/* for scans: as it was when it was last looked at (kern/scan.bpf.c) */
	__u64 look_ns;	   /* when that was */
	__u64 look_cpu_ns; /* its CPU time */
	__u64 look_queued; /* its time in run queues */
	__u64 look_waits;  /* nvcsw */
	__u32 look_gen;	   /* gn_scan_gen, 0 never */
	/* the interval (seq) in which it was looked for the Java object that it waits for */
	__u32 lock_looked;
	/* its process was changing its mappings when it was to be read from outside */
	struct gn_again torn;
	__u64 woken; /* the cause that its waker is, of the interval woken_seq */
	__u32 woken_seq;
	/* objects were being moved when it was looked for the one that it waits for */
	struct gn_again moving;
	/* the object that it was parked for last, where that cannot be somebody's; heap_epoch() at
	 * that time, and the cause */
	__u64 parked, parked_epoch, parked_cause;
};

/* Per CPU: time as its run queue has it. */
struct gn_cpu_time {
	__u64 next;	/* the next tick, in the run queue's clock */
	__u64 slack;	/* ns by which that may still be put off */
	__u64 index;	/* its number */
	__u64 offset;	/* CLOCK_MONOTONIC minus the run queue's clock */
	__u64 switches; /* switch-outs of target threads */
	__u64 back;	/* until when threads come back that no visit has met, in its clock */
	/* of a switch which has stacks taken, kern/offcpu.bpf.c: */
	__u64 clock;
	__u32 walk;  /* whose */
	__u32 began; /* the low half of CLOCK_MONOTONIC */
	/* so many threads more may be looked at in vain after the last tick: kern/visit.bpf.c */
	__u32 looks;
	__u32 pad;
};

/* Where wall_switch goes on. */
enum gn_switch_next { GN_SWITCH_WALK = 0, GN_SWITCH_VISIT = 1, GN_SWITCH_NEXT };

#define GN_REREAD_LISTS 2 /* gn_reread: also what has a stack that was sent in another epoch */

#define GN_RESTING (~0ULL) /* no tick: threads that have rested since before the recording */

/* Argument of the program remote_tick. */
struct gn_remote_tick {
	__u64 tick;   /* that has just passed, or GN_RESTING */
	__u32 most;   /* resting threads to look at, at most */
	__u32 popped; /* out: threads looked at */
	__u32 taken;  /* out: stacks taken */
	__u32 left;   /* out: not 0: more of them rest */
};

/* Argument of the program lock_tick. */
struct gn_lock_tick {
	__u64 tick;
	__u64 since;   /* only threads from this number of gn_lock_waiters on; 0: all */
	__u32 visited; /* out: threads looked at */
	__u32 read;    /* out: locks whose owner was read */
};

/* Who had the CPUs is known for so many of the last ticks (kern/holder.bpf.h); a power of 2. */
#define GN_HELD_TICKS 1024

/* Argument of the programs cpus_look and groups_look. */
struct gn_tick_look {
	__u64 tick;  /* that has just passed */
	__u32 spent; /* out, of groups_look: not 0: some group has used up its CPU time */
};

/* What the tick thread waits for, and whether it is to be woken: kern/bell.bpf.h. */
enum gn_doze {
	GN_DOZE_NOT = 0,    /* it wakes at the next tick */
	GN_DOZE_TICKER = 1, /* a timer looks at each tick whether one is needed */
	GN_DOZE_ALL = 2,    /* nothing does: whoever needs one rings */
};

/* The value of the map `tickers`: kern/ticker.bpf.c. */
struct gn_ticker {
#ifdef __bpf__
	struct bpf_timer timer;
#else
	__u64 timer[2];
#endif
	__u64 tick;	/* at which it looks next */
	__u64 ns, runs; /* its time so far, which the kernel does not count as that of programs */
	__u32 quiet;	/* ticks in a row at which nothing was pending */
	__u32 again;	/* not 0: it has looked at this tick once, and left what is pending */
	__u32 begun;
	__u32 pad;
};

/* Argument of the program ticker_start. */
struct gn_ticker_start {
	__u64 tick; /* the first one that it looks at */
};

#define GN_WEIGHT_MAX 1000 /* samples one firing of a CPU clock stands for */

#define GN_YOUNG 8 /* intervals of CPU time for which a thread is young at least */

#define GN_LOOK_AHEAD_MIN 1000 /* ns */

/*
 * ns after a tick at which the collector reads those who are still off the CPU; so much later at
 * most a CPU counts a tick before which stacks were taken on it (kern/offcpu.bpf.c).
 */
#define GN_VISIT_DELAY 50000

/* ---- wall ticks ---- */

/* A well mixed 32-bit hash of the tick's number (the finalizer of MurmurHash3, public domain). */
static inline __u32 gn_tick_hash(__u64 k)
{
	__u32 h = (__u32)k ^ (__u32)(k >> 32) * 0x9e3779b1u;

	h ^= h >> 16;
	h *= 0x85ebca6bu;
	h ^= h >> 13;
	h *= 0xc2b2ae35u;
	h ^= h >> 16;
	return h;
}

/*
 * Tick k of a session lies at a pseudo-random point inside [k*T, (k+1)*T) after the session's
 * start: stratified, so that one tick falls into each interval, and not periodic, so that periodic
 * work is not aliased. T < 2^32 ns.
 */
static inline __u64 gn_tick_time(__u64 k, __u64 interval)
{
	return k * interval + (((__u64)gn_tick_hash(k) * interval) >> 32);
}

/*
 * A process may take some of the ticks only. At level L it has one of each 2^L, at random: ticks
 * come in groups of 2^L, and of each half of a group the next lower level has its tick, so that the
 * ticks of a level are ticks of all lower ones. One tick then stands for 2^L: a sample's n counts
 * all ticks, whatever the level, and whoever adds them up need not know of it.
 */
#define GN_LEVEL_MAX  10
#define GN_LEVEL_NONE 255

/* The number of the tick that level has of group g. */
static inline __u64 gn_level_tick(__u64 g, __u32 level)
{
	for (__u32 i = GN_LEVEL_MAX; i > 0; i--)
		if (i <= level)
			g = g << 1 | (gn_tick_hash(g ^ (__u64)i << 56) & 1);
	return g;
}

/* Returns the number of ticks of a level below number k: the number of the group of its next one.
 */
static inline __u64 gn_level_before(__u64 k, __u32 level)
{
	__u64 g = k >> level;

	return g + (gn_level_tick(g, level) < k);
}

/* The first tick from number k on that a level has. */
static inline __u64 gn_level_next(__u64 k, __u32 level)
{
	return level ? gn_level_tick(gn_level_before(k, level), level) : k;
}

/* The first level whose ticks are not closer than that; 0: none are wanted. */
static inline __u32 gn_level_of(__u64 interval, __u64 tick)
{
	__u32 level = 0;

	if (!interval || !tick)
		return GN_LEVEL_NONE;
	while (level < GN_LEVEL_MAX && tick << level < interval)
		level++;
	return level;
}

/*
 * With a reservoir, wall samples are taken of N threads of a process at a time. Ticks come in
 * draws of 2^shift; in each, those threads are chosen whose hash is at most the process's limit,
 * which user space sets to the Nth smallest. So who is chosen does not depend on what threads do,
 * and one that is born within a draw is chosen as likely as the others were.
 */
static inline __u32 gn_thread_hash(__u32 tid, __u64 draw)
{
	return gn_tick_hash(draw * 0x9e3779b97f4a7c15ULL + tid * 0x85ebca77c2b2ae63ULL);
}

static inline int gn_is_chosen(const struct gn_proc *p, __u32 tid, __u64 draw)
{
	return gn_thread_hash(tid, draw) <= p->limit[draw % GN_DRAWS];
}

/*
 * Threads chosen for the next draw get their stacks from so many ticks before it on: who sleeps
 * into it is not captured otherwise.
 */
static inline __u64 gn_draw_lead(__u32 shift)
{
	return 1ULL << shift >> 1;
}

/* The number of ticks at or before `t` (ns since the session's start). */
static inline __u64 gn_ticks_until(__u64 t, __u64 interval)
{
	__u64 k = t / interval;

	return k + (gn_tick_time(k, interval) <= t);
}

#endif
