/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The Java object that a thread waits for, as the cause of its wait: see kern/lock.bpf.h. */
#ifndef GNOMON_CAUSE_LOCK_BPF_H
#define GNOMON_CAUSE_LOCK_BPF_H

#include "again.bpf.h"
#include "lock.bpf.h"

static __always_inline __u32 hash_in(const struct gn_locks *l, __u64 mark)
{
	return mark >> (l->hash_shift & 63) & l->hash_mask;
}

/* How many collections there were, plus 1: for what is told by where it lies, in heap_epoch(). */
static __always_inline __u64 collections_of(const struct gn_heap *h, __u64 epoch,
					    struct task_struct *task)
{
	__u32 n = 0;

	if (!h->mask)
		return epoch;
	heap_read(task, &n, sizeof(n), h->collections);
	return (__u64)n + 1;
}

/* The monitor's object, unless that cannot be told: then 0. */
static __always_inline __u64 monitor_object(struct gn_cause_lock *c, const struct gn_locks *l,
					    __u64 monitor, struct task_struct *task, __u64 epoch)
{
	const struct gn_heap *h = &l->heap;
	__u64 handle, object, mark = 0;

	if (!epoch)
		return 0;
	handle = heap_word(task, monitor + l->object);
	object = object_at(task, h, handle, epoch, REF_HANDLE);
	if (!is_object(object))
		return 0;
	c->klass = object_class(task, l, object, &mark);
	if (heap_leads(task, h, handle, object, epoch, REF_HANDLE) && heap_epoch(task, h) == epoch)
		return object;
	c->klass = 0;
	return 0;
}

heap_fn int monitor_tell(struct gn_cause_lock *c, const struct gn_locks *l, __u64 monitor,
			 struct task_struct *task)
{
	__u64 header, epoch;

	if (!c || !l || !task)
		return 0;
	epoch = heap_epoch(task, &l->heap);
	c->kind = GN_CAUSE_MONITOR;
	c->monitor = monitor;
	c->object = monitor_object(c, l, monitor, task, epoch);
	if (!c->object)
		return 1;
	header = heap_word(task, monitor);
	c->hash = l->flags & GN_LOCK_HASH ? (__u32)header : hash_in(l, header);
	if (c->hash) /* which stays the same, whatever is moved or made anew */
		c->object = c->monitor = 0;
	else if (heap_moves(&l->heap))
		c->object = 0; /* its monitor stays where it is */
	else
		c->collections = collections_of(&l->heap, epoch, task);
	return 1;
}

/* 2: and it is somebody's; BLOCKER_MOVING: objects are being moved, so that it cannot be told now.
 */
#define BLOCKER_MOVING (-1)

heap_fn int blocker_tell(struct gn_cause_lock *c, const struct gn_locks *l, __u64 thread,
			 struct task_struct *task)
{
	struct parked p;

	if (!c || !l || !task || !parked_is_told(l))
		return 0;
	if (!parked_read(&p, l, thread, task))
		return BLOCKER_MOVING;
	if (!p.klass)
		return 0;
	c->kind = GN_CAUSE_BLOCKER;
	c->op = GN_OP_PARK;
	c->owned = p.owner != 0;
	c->klass = p.klass;
	c->hash = p.mark & 1 ? hash_in(l, p.mark) : 0;
	if (!c->hash) {
		c->object = p.object;
		c->collections = collections_of(&l->heap, p.epoch, task);
	}
	return p.owner ? 2 : 1;
}

static __noinline void lock_watch(struct task_struct *task)
{
	struct gn_thread *t = bpf_task_storage_get(&threads, task, 0, 0);

	if (!t || t->lock_watched == t->seq)
		return;
	t->lock_watched = t->seq;
	lock_waiter_put(task->pid, t->seq);
}

/*
 * Whether it is to be looked once more for the object that t waits for, since objects were being
 * moved: or the whole of a wait would have no cause, however long it lasts.
 */
static __always_inline bool is_moving(const struct gn_thread *t)
{
	return again_is_due(&t->moving, t->seq);
}

/* The monitors of a JavaThread, as they lie in it (JDK runtime/javaThread.hpp). */
struct lock_words {
	__u64 pending, flag, waiting;
};

static __always_inline void lock_words_read(struct lock_words *w, const struct gn_locks *l,
					    __u64 thread, struct task_struct *task)
{
	if (l->waiting - l->pending == __builtin_offsetof(struct lock_words, waiting)) {
		if (heap_read(task, w, sizeof(*w), thread + l->pending))
			w->pending = w->waiting = 0;
		return;
	}
	w->pending = heap_word(task, thread + l->pending);
	w->waiting = heap_word(task, thread + l->waiting);
}

/* Fills in the cause, which is zeros. 0: it is none, or not known. */
heap_fn int lock_tell(struct gn_cause_lock *c, __u64 who, struct task_struct *task)
{
	const struct gn_locks *l = locks_find(who >> 32);
	__u64 thread = uw_get_java_thread(0, (__u32)who);
	struct lock_words w = {};
	struct gn_thread *t;
	int told;

	if (!c || !l || !thread)
		return 0;
	t = bpf_task_storage_get(&threads, task, 0, 0);
	if (t)
		t->lock_looked = t->seq;
	lock_words_read(&w, l, thread, task);
	if (w.pending) {
		c->op = GN_OP_ENTER;
		lock_watch(task);
		return monitor_tell(c, l, w.pending, task);
	}
	if (w.waiting) {
		c->op = GN_OP_WAIT;
		return monitor_tell(c, l, w.waiting, task);
	}
	told = blocker_tell(c, l, thread, task);
	if (t)
		again_note(&t->moving, t->seq, told == BLOCKER_MOVING);
	if (told == 2)
		lock_watch(task);
	return told > 0;
}

#endif
