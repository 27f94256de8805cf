/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reading what Java object a thread waits for, and whose it is: the monitor that it is about to
 * enter or waits on (JavaThread::_current_pending_monitor, _current_waiting_monitor: JDK
 * runtime/objectMonitor.cpp), or what java.lang.Thread's parkBlocker refers to. How to get there
 * user space has told (struct gn_locks). What is read is the target's, and may be anything: it
 * leads to reads that may fail, a few of them, and to nothing else.
 *
 * A monitor stays where it is for as long as somebody waits for it. Objects are moved by
 * collections: while one has stopped all threads nothing is read of them, nor is what was read used
 * if there was one meanwhile.
 */
#ifndef GNOMON_LOCK_BPF_H
#define GNOMON_LOCK_BPF_H

#include "filter.bpf.h"
#include "hotspot_maps.bpf.h"

#define MARK_MOVED 3 /* the low bits of an object's mark once it lies somewhere else */

#ifdef UW_REMOTE
#define lock_read(task, dst, len, addr) remote_read(task, dst, len, addr)
#else
#define lock_read(task, dst, len, addr) bpf_probe_read_user(dst, len, (void *)(addr))
#endif

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GN_MAX_PROCS);
	__type(key, __u32); /* tgid */
	__type(value, struct gn_locks);
} locks SEC(".maps") __weak;

/*
 * Threads that wait for a lock that is somebody's: at each tick it is looked whose
 * (kern/lock_tick.bpf.h), and who waits on is put behind the others again. Places by number, not a
 * hash, since to go through that is to go through all of its places; and no queue: those are not
 * for programs that may sleep before Linux 6.3.
 */
#define LOCK_WAITERS 16384 /* a power of two; with more, the first of them are not looked at */

struct lock_waiter {
	__u64 number; /* plus 1: it is all there */
	__u32 tid;    /* for bpf_task_from_pid() */
	__u32 seq;    /* the interval in which it waits */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LOCK_WAITERS);
	__type(key, __u32);
	__type(value, struct lock_waiter);
} lock_waiters SEC(".maps") __weak;

/* How many were put there, ever; up to which they have been looked at. */
extern __u64 gn_lock_waiters, gn_lock_seen;

static __always_inline void lock_waiter_put(__u32 tid, __u32 seq)
{
	__u64 number = __sync_fetch_and_add(&gn_lock_waiters, 1);
	__u32 at = number & (LOCK_WAITERS - 1);
	struct lock_waiter *w = bpf_map_lookup_elem(&lock_waiters, &at);

	if (!w)
		return;
	w->tid = tid;
	w->seq = seq;
	__sync_lock_test_and_set(&w->number, number + 1); /* after the others */
}

static __always_inline const struct gn_locks *locks_find(__u32 tgid)
{
	return bpf_map_lookup_elem(&locks, &tgid);
}

static __always_inline __u64 word_read(struct task_struct *task, __u64 addr)
{
	__u64 v = 0;

	return lock_read(task, &v, sizeof(v), addr) ? 0 : v;
}

/* ---- objects ---- */

/* The number of collections so far, plus 1; 0: one goes on, or it is not known. */
static __always_inline __u64 heap_epoch(struct task_struct *task, const struct gn_locks *l)
{
	__u32 n = 0;
	__u8 active = 0;

	if (!l->active || !l->collections || lock_read(task, &active, sizeof(active), l->active) ||
	    active || lock_read(task, &n, sizeof(n), l->collections))
		return 0;
	return (__u64)n + 1;
}

static __always_inline __u64 object_at_handle(struct task_struct *task, __u64 handle)
{
	return handle ? word_read(task, handle) : 0;
}

static __always_inline __u64 object_in_field(struct task_struct *task, const struct gn_locks *l,
					     __u64 addr)
{
	__u32 narrow = 0;

	if (!(l->oop_flags & GN_OOP_NARROW))
		return word_read(task, addr);
	if (lock_read(task, &narrow, sizeof(narrow), addr) || !narrow)
		return 0;
	return l->oop_base + ((__u64)narrow << (l->oop_shift & 31));
}

/* Its class; 0: it is not known, or the object was moved away. */
static __always_inline __u64 object_class(struct task_struct *task, const struct gn_locks *l,
					  __u64 object)
{
	__u64 k, mark = word_read(task, object);

	if (!mark || (mark & 3) == MARK_MOVED)
		return 0;
	k = word_read(task, object + l->klass_at);
	if (l->klass_bytes == 8 && !l->mark_shift)
		return k;
	if (l->klass_bytes == 4)
		k = (__u32)k;
	return l->klass_base + (k >> (l->mark_shift & 63) << (l->klass_shift & 63));
}

/* ---- what a thread is parked for ---- */

/* The object that the thread is parked for; 0 none, or not known. */
static __always_inline __u64 blocker_find(struct task_struct *task, const struct gn_locks *l,
					  __u64 thread)
{
	__u64 object = object_at_handle(task, word_read(task, thread + l->current));

	return object ? object_in_field(task, l, object + l->blocker) : 0;
}

/* The java.lang.Thread that has a synchronizer of class `klass` for itself; 0 none. */
static __always_inline __u64 exclusive_find(struct task_struct *task, const struct gn_locks *l,
					    __u64 object, __u64 klass)
{
	if (!klass || !l->ownable || !l->exclusive ||
	    word_read(task, klass + l->super) != l->ownable)
		return 0;
	return object_in_field(task, l, object + l->exclusive);
}

#endif
