/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reading what Java object a thread waits for, and whose it is: the monitor that it is about to
 * enter or waits on (JavaThread::_current_pending_monitor, _current_waiting_monitor: JDK
 * runtime/objectMonitor.cpp), or what java.lang.Thread's parkBlocker refers to. How to get there
 * user space has told (struct gn_locks). What is read is the target's, and may be anything: it
 * leads to reads that may fail, a few of them, and to nothing else.
 *
 * A monitor stays where it is for as long as somebody waits for it; objects are moved
 * (kern/heap.bpf.h).
 */
#ifndef GNOMON_LOCK_BPF_H
#define GNOMON_LOCK_BPF_H

#include "bell.bpf.h"
#include "heap.bpf.h"
#include "hotspot_maps.bpf.h"

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
	tick_wanted();
}

/* NULL: it is being put there. */
static __always_inline struct lock_waiter *lock_waiter_at(__u64 number)
{
	__u32 at = number & (LOCK_WAITERS - 1);
	struct lock_waiter *w = bpf_map_lookup_elem(&lock_waiters, &at);

	return w && *(volatile __u64 *)&w->number > number ? w : NULL;
}

static __always_inline const struct gn_locks *locks_find(__u32 tgid)
{
	return bpf_map_lookup_elem(&locks, &tgid);
}

/* ---- objects ---- */

/* Its class; 0: it is not known, or the object was moved away. *mark: its first word. */
static __always_inline __u64 object_class(struct task_struct *task, const struct gn_locks *l,
					  __u64 object, __u64 *mark)
{
	__u64 head[2] = {}, k;

	if (heap_read(task, head, sizeof(head), object))
		return 0;
	*mark = head[0];
	if (!head[0] || (head[0] & 3) == MARK_MOVED)
		return 0;
	k = l->klass_at ? head[1] : head[0]; /* the second word, or in the first one */
	if (l->klass_bytes == 8 && !l->mark_shift)
		return k;
	if (l->klass_bytes == 4)
		k = (__u32)k;
	return l->klass_base + (k >> (l->mark_shift & 63) << (l->klass_shift & 63));
}

/* ---- what a thread is parked for ---- */

/* What leads from a thread to who has the synchronizer that it is parked for. */
struct parked {
	__u64 self, object, owner; /* objects; 0 none, HEAP_UNKNOWN */
	__u64 klass, mark;	   /* the synchronizer's class, 0 unknown, and its mark */
	__u64 id;		   /* the owner's number as a thread, 0 unknown */
	bool ownable;		   /* it can be somebody's */
	__u64 handle;		   /* what refers to self */
	__u64 epoch;		   /* heap_epoch() of all this */
};

/* Tells whether the class's synchronizers can be one thread's own, which they refer to then. */
static __always_inline bool is_ownable(struct task_struct *task, const struct gn_locks *l,
				       __u64 klass)
{
	return klass && l->ownable && l->exclusive &&
	       heap_word(task, klass + l->super) == l->ownable;
}

/* Tells whether the object can be read, as far as no objects are being moved. */
static __always_inline bool parked_is_told(const struct gn_locks *l)
{
	return heap_is_told(&l->heap) && l->current && l->blocker;
}

/* Follows that to the object. False: it cannot be told now. */
heap_fn int parked_object(struct parked *p, const struct gn_locks *l, __u64 thread,
			  struct task_struct *task)
{
	const struct gn_heap *h;

	if (!p || !l || !task)
		return 0;
	h = &l->heap;
	p->self = p->object = p->owner = p->klass = p->mark = p->id = p->ownable = 0;
	p->epoch = heap_epoch(task, h);
	if (!p->epoch || !l->current || !l->blocker)
		return 0;
	p->handle = heap_word(task, thread + l->current);
	p->self = object_at(task, h, p->handle, p->epoch, REF_HANDLE);
	if (!is_object(p->self))
		return 0;
	p->object = object_at(task, h, p->self + l->blocker, p->epoch, REF_FIELD);
	return p->object != HEAP_UNKNOWN;
}

/*
 * And from there on. False: it cannot be told now. Without an object, or a class for it, that is
 * all there is.
 */
heap_fn int parked_rest(struct parked *p, const struct gn_locks *l, struct task_struct *task)
{
	const struct gn_heap *h;
	__u64 epoch, mark = 0;
	bool same = true;

	if (!p || !l || !task)
		return 0;
	h = &l->heap;
	epoch = p->epoch;
	if (p->object)
		p->klass = object_class(task, l, p->object, &p->mark);
	p->ownable = is_ownable(task, l, p->klass);
	if (p->ownable) {
		p->owner = object_at(task, h, p->object + l->exclusive, epoch, REF_FIELD);
		if (is_object(p->owner) && object_class(task, l, p->owner, &mark))
			p->id = heap_word(task, p->owner + l->id);
		same = heap_leads(task, h, p->object + l->exclusive, p->owner, epoch, REF_FIELD);
	}
	return same && heap_leads(task, h, p->self + l->blocker, p->object, epoch, REF_FIELD) &&
	       heap_leads(task, h, p->handle, p->self, epoch, REF_HANDLE) &&
	       heap_epoch(task, h) == epoch;
}

static __always_inline bool parked_read(struct parked *p, const struct gn_locks *l, __u64 thread,
					struct task_struct *task)
{
	return parked_object(p, l, thread, task) && parked_rest(p, l, task);
}

#endif
