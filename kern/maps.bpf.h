/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared maps and configuration. Every .bpf.c includes this file; `bpftool gen object` merges the
 * definitions by name.
 */
#ifndef GNOMON_MAPS_BPF_H
#define GNOMON_MAPS_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#include "abi.h"

#define GN_MAX_CPUS 1024

/* ---- configuration: set before load, so that the verifier removes what is off ---- */

extern const volatile __u64 gn_cpu_ns;	      /* CPU interval, 0 = no CPU samples */
extern const volatile __u64 gn_wall_ns;	      /* wall interval, 0 = no wall samples */
extern const volatile __u64 gn_start_ns;      /* CLOCK_MONOTONIC of tick 0's stratum */
extern const volatile __u32 gn_depth;	      /* user frames of a stack at most */
extern const volatile __u32 gn_reservoir;     /* wall samples of some threads at a time */
extern const volatile __u32 gn_draw_shift;    /* then: log2 of the ticks of a draw */
extern const volatile __u32 gn_check_code;    /* for tests: see kern/hotspot_maps.bpf.h */
extern const volatile __u32 gn_causes;	      /* what waits wait for is told */
extern const volatile __u32 gn_only_context;  /* wall samples only of those who have one */
extern const volatile __u32 gn_thread_filter; /* only threads in `wanted` are sampled */

/*
 * What this kernel has (user/capture/features.h). Where it has not, nothing of it may be looked at:
 * libbpf puts instructions that no verifier takes in place of such looks.
 */
extern const volatile __u32 gn_run_queue;  /* FEATURE_RUN_QUEUE */
extern const volatile __u32 gn_sched_info; /* FEATURE_SCHED_INFO */
extern const volatile __u32 gn_stolen;	   /* FEATURE_STOLEN */
extern const volatile __u32 gn_can_switch; /* all that wall_switch takes */

/* Raised by user space when a stack id may mean other code than before: lists are sent again. */
extern __u32 gn_epoch;

/*
 * Raised by user space when a list that was sent is to be sent again: with gn_epoch, and where one
 * was refused. What is remembered of a thread's last list holds as long as this does not change.
 */
extern __u32 gn_lists;

/*
 * From when on nothing is sampled, CLOCK_MONOTONIC, and the number of ticks before it: CPU and wall
 * samples end at one instant, however long it takes to take their programs away.
 */
extern __u64 gn_stop_ns, gn_stop_tick;

/* Raised by user space when a process is a target no more. */
extern __u32 gn_targets_gen;

/* Raised whenever threads are given clocks of their own: all are young again (oncpu.bpf.c). */
extern __u32 gn_clock_gen;
extern __u32 gn_cpu_clocks_only; /* no thread has a clock of its own */

/* Not 0 once switches are seen: what task_scan finds off the CPU is off since then. */
extern __u32 gn_marking;

/*
 * Processes without wall samples (kern/rate.bpf.h), by the numbers of the initial namespace; and
 * the one that has some again, whose threads are to be found as they are now.
 */
extern __u64 gn_skips[GN_SKIP_WORDS];
extern __u64 gn_waker_skips[GN_SKIP_WORDS]; /* those, and whose wakers nobody looks at */
extern __u32 gn_resumed;

/* Which accounting this is; threads that this run of wall_account left for the next of its runs. */
extern __u32 gn_round;
extern __u32 gn_unaccounted;

/* Threads that it has found at rest without a stack, which was not read when it was due. */
extern __u32 gn_stackless;

/* Not 0: there is no other run. What does not fit is lost, and counted. */
extern __u32 gn_last_run;

/*
 * With a reservoir: not 0 where a thread whose stack can still be read is to be left to the next
 * accounting; and how many were.
 */
extern __u32 gn_patient;
extern __u32 gn_awaited;

/* Not 0 while threads are scanned at each tick instead of their switches seen (scan.bpf.c). */
extern __u32 gn_scanning;
extern __u64 gn_scan_tick; /* the last tick scanned, or being scanned */
extern __u32 gn_scan_gen;  /* raised whenever scans begin */

/* ---- maps ---- */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GN_MAX_PROCS);
	__uint(map_flags, BPF_F_NO_PREALLOC); /* then they lie in memory mapped by large pages */
	__type(key, __u32);		      /* tgid */
	__type(value, struct gn_proc);
} procs SEC(".maps") __weak;

/* With a thread filter: the threads it lets through. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, __u32); /* tid */
	__type(value, __u8);
} wanted SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct gn_thread);
} threads SEC(".maps") __weak;

struct gn_ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 * 1024);
};

/* One ring buffer per CPU: no contention, and user space can replace one by a larger one. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, GN_MAX_CPUS);
	__type(key, __u32);
	__array(values, struct gn_ring);
} rings SEC(".maps") __weak;

/* Stack ids whose frames were sent, and in which epoch. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, __u64);
	__type(value, __u32);
} sent SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, struct gn_loss_key);
	__type(value, __u64);
} losses SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, GN_CNT_MAX);
	__type(key, __u32);
	__type(value, __u64);
} counters SEC(".maps") __weak;

/* ---- small things on them ---- */

/* Code that few runs come by lies behind the rest: on a busy machine code is a cache miss, too. */
#define LIKELY(x)   __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

static __always_inline void count_add(__u32 counter, __u64 n)
{
	__u64 *c = bpf_map_lookup_elem(&counters, &counter);

	if (c)
		*c += n;
}

static __noinline __attribute__((unused)) void loss_add(__u32 tid, __u32 reason, __u64 n)
{
	struct gn_loss_key key = {.tid = tid, .reason = reason};
	__u64 zero = 0, *c;

	c = bpf_map_lookup_elem(&losses, &key);
	if (!c) {
		bpf_map_update_elem(&losses, &key, &zero, BPF_NOEXIST);
		c = bpf_map_lookup_elem(&losses, &key);
	}
	if (c)
		__sync_fetch_and_add(c, n);
	else if (reason < GN_LOSS_MAX)
		count_add(GN_CNT_LOSSES + reason, n);
}

/* What a record of the thread `who` (tgid << 32 | tid) and of now begins with. */
static __always_inline void record_begin(struct gn_rec *h, __u16 type, __u64 who)
{
	h->type = type;
	h->tgid = who >> 32;
	h->tid = (__u32)who;
	h->time = bpf_ktime_get_ns();
}

#define GN_RING_HEADER 8 /* BPF_RINGBUF_HDR_SZ */

/* For who can wait until the collector has drained it: half is left to those who cannot. */
static __always_inline bool ring_is_nearly_full(void)
{
	__u32 cpu = bpf_get_smp_processor_id();
	void *ring = bpf_map_lookup_elem(&rings, &cpu);

	return ring && bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) * 2 >
			       bpf_ringbuf_query(ring, BPF_RB_RING_SIZE);
}

/*
 * Is the collector woken where a record makes `was` bytes of a ring of `room` (a power of two)
 * `is`? When a quarter is full, and at each sixteenth from there on: a wake-up takes an interrupt,
 * and an accounting of 10,000 threads sends as many records before the collector comes to run.
 */
static __always_inline bool ring_wakes(__u64 was, __u64 is, __u64 room)
{
	return is * 4 >= room && (was ^ is) & (0 - room / 16);
}

/*
 * Send a record on this CPU's ring. The collector drains on a timer; it is woken only when a
 * quarter is full, so that a quiet target costs no wake-ups.
 */
static __always_inline int record_send(struct gn_rec *rec, __u32 size)
{
	__u32 cpu = bpf_get_smp_processor_id();
	__u64 flags = BPF_RB_NO_WAKEUP, was;
	void *ring;

	ring = bpf_map_lookup_elem(&rings, &cpu);
	if (!ring)
		return -1;
	rec->cpu = cpu;
	rec->size = size;
	was = bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA);
	if (ring_wakes(was, was + size + GN_RING_HEADER, bpf_ringbuf_query(ring, BPF_RB_RING_SIZE)))
		flags = BPF_RB_FORCE_WAKEUP;
	if (!bpf_ringbuf_output(ring, rec, size, flags))
		return 0;
	count_add(GN_CNT_LOST_BYTES, size + GN_RING_HEADER);
	return -1;
}

#endif
