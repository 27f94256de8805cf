/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The Java object that a thread waits for, as the cause of its wait: see kern/lock.bpf.h. */
#ifndef GNOMON_CAUSE_LOCK_BPF_H
#define GNOMON_CAUSE_LOCK_BPF_H

#include "lock.bpf.h"

static __always_inline __u32 hash_in(const struct gn_locks *l, __u64 mark)
{
	return mark >> (l->hash_shift & 63) & l->hash_mask;
}

static __noinline int monitor_tell(struct gn_cause_lock *c, const struct gn_locks *l, __u64 monitor,
				   struct task_struct *task)
{
	__u64 epoch, header;

	if (!c || !l)
		return 0;
	c->kind = GN_CAUSE_MONITOR;
	c->monitor = monitor;
	epoch = heap_epoch(task, l);
	if (!epoch)
		return 1;
	c->object = object_at_handle(task, word_read(task, monitor + l->object));
	if (c->object)
		c->klass = object_class(task, l, c->object);
	header = word_read(task, monitor);
	c->hash = l->flags & GN_LOCK_HASH ? (__u32)header : hash_in(l, header);
	if (heap_epoch(task, l) != epoch)
		c->klass = c->object = c->hash = 0;
	if (c->hash) /* which stays the same, whatever is moved or made anew */
		c->object = c->monitor = 0;
	else
		c->collections = epoch;
	return 1;
}

/* 2: and it is somebody's. */
static __noinline int blocker_tell(struct gn_cause_lock *c, const struct gn_locks *l, __u64 thread,
				   struct task_struct *task)
{
	__u64 epoch, object, klass, owner;
	__u32 hash = 0;

	if (!c || !l || !l->current || !l->blocker)
		return 0;
	epoch = heap_epoch(task, l);
	object = epoch ? blocker_find(task, l, thread) : 0;
	if (!object)
		return 0;
	klass = object_class(task, l, object);
	owner = exclusive_find(task, l, object, klass);
	if (!klass || heap_epoch(task, l) != epoch)
		return 0;
	hash = word_read(task, object) & 1 ? hash_in(l, word_read(task, object)) : 0;
	c->kind = GN_CAUSE_BLOCKER;
	c->op = GN_OP_PARK;
	c->owned = owner != 0;
	c->klass = klass;
	c->hash = hash;
	if (!hash) {
		c->object = object;
		c->collections = epoch;
	}
	return owner ? 2 : 1;
}

static __noinline void lock_watch(struct task_struct *task)
{
	struct gn_thread *t = bpf_task_storage_get(&threads, task, 0, 0);

	if (!t || t->lock_watched == t->seq)
		return;
	t->lock_watched = t->seq;
	lock_waiter_put(task->pid, t->seq);
}

/* Fills in the cause, which is zeros. 0: it is none, or not known. */
static __noinline int lock_tell(struct gn_cause_lock *c, __u64 who, struct task_struct *task)
{
	const struct gn_locks *l = locks_find(who >> 32);
	__u64 thread = uw_get_java_thread(0, (__u32)who), monitor;
	struct gn_thread *t;
	int told;

	if (!c || !l || !thread)
		return 0;
	t = bpf_task_storage_get(&threads, task, 0, 0);
	if (t)
		t->lock_looked = t->seq;
	monitor = word_read(task, thread + l->pending);
	if (monitor) {
		c->op = GN_OP_ENTER;
		lock_watch(task);
		return monitor_tell(c, l, monitor, task);
	}
	monitor = word_read(task, thread + l->waiting);
	if (monitor) {
		c->op = GN_OP_WAIT;
		return monitor_tell(c, l, monitor, task);
	}
	told = blocker_tell(c, l, thread, task);
	if (told == 2)
		lock_watch(task);
	return told;
}

#endif
