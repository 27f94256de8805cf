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

/* Returns the number of collections so far, plus 1: for what is told by where it lies, in
 * heap_epoch(). */
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

/* The monitors of a JavaThread, as they lie in it (JDK runtime/javaThread.hpp). */
struct lock_words {
	__u64 pending, flag, waiting;
};

/* Where that is found out: the BPF stack has no room for it. In the cause's record, whose content
 * is read later. */
struct lock_room {
	__u64 thread; /* the JavaThread */
	struct lock_words words;
	struct parked parked;
};

static __always_inline struct lock_room *lock_room_of(struct gn_cause_rec *r)
{
	_Static_assert(sizeof(struct lock_room) <= sizeof(r->path) &&
			       !(__builtin_offsetof(struct gn_cause_rec, path) & 7),
		       "no room for it");
	return (struct lock_room *)r->path;
}

/*
 * Is it parked for what it was parked for the last time, with a cause whose content was sent? No
 * object has been moved or made in that one's place since.
 */
static __always_inline bool is_parked_again(const struct parked *p, const struct gn_locks *l,
					    const struct gn_thread *t, struct task_struct *task)
{
	return t && p->object && p->object == t->parked && p->epoch == t->parked_epoch &&
	       !heap_moves(&l->heap) && cause_is_sent(t->parked_cause) &&
	       heap_epoch(task, &l->heap) == p->epoch;
}

/*
 * Its switch has told what it is parked for. From outside nothing is noted: its switch might note
 * something else at the same time.
 */
static __always_inline void parked_note(const struct parked *p, struct gn_thread *t)
{
#ifndef UW_REMOTE
	if (!t)
		return;
	t->parked = p->ownable ? 0 : p->object;
	t->parked_epoch = p->epoch;
	t->parked_cause = 0; /* blocker_tell() */
#endif
}

static __always_inline void parked_cause_note(const struct gn_cause_lock *c, struct gn_thread *t,
					      __u32 tgid)
{
#ifndef UW_REMOTE
	if (t)
		t->parked_cause = cause_id((const struct gn_cause *)c, tgid);
#endif
}

/* BLOCKER_OWNED: it is somebody's; BLOCKER_AGAIN: gn_thread.parked_cause is its cause;
 * BLOCKER_MOVING: objects are being moved, so that it cannot be told now. */
enum { BLOCKER_MOVING = -1, BLOCKER_TOLD = 1, BLOCKER_OWNED = 2, BLOCKER_AGAIN = 3 };

static __noinline void lock_watch(struct task_struct *task)
{
	struct gn_thread *t = bpf_task_storage_get(&threads, task, 0, 0);

	if (!t || t->lock_watched == t->seq)
		return;
	t->lock_watched = t->seq;
	lock_waiter_put(task->pid, t->seq);
}

/* Fills in what it is parked for, if that is an object; room->thread is the JavaThread. */
static __always_inline int blocker_fill(struct gn_cause_rec *r, const struct gn_locks *l,
					struct task_struct *task, struct gn_thread *t)
{
	struct gn_cause_lock *c = (struct gn_cause_lock *)&r->of;
	struct lock_room *room = lock_room_of(r);
	struct parked *p = &room->parked;

	if (!parked_is_told(l))
		return 0;
	if (!parked_object(p, l, room->thread, task))
		return BLOCKER_MOVING;
	if (is_parked_again(p, l, t, task))
		return BLOCKER_AGAIN;
	if (!parked_rest(p, l, task))
		return BLOCKER_MOVING;
	if (!p->klass)
		return 0;
	c->kind = GN_CAUSE_BLOCKER;
	c->op = GN_OP_PARK;
	c->owned = p->owner != 0;
	c->klass = p->klass;
	c->hash = p->mark & 1 ? hash_in(l, p->mark) : 0;
	if (!c->hash) {
		c->object = p->object;
		c->collections = collections_of(&l->heap, p->epoch, task);
	}
	parked_note(p, t);
	return p->owner ? BLOCKER_OWNED : BLOCKER_TOLD;
}

heap_fn int blocker_tell(struct gn_cause_rec *r, const struct gn_locks *l, __u32 tgid,
			 struct task_struct *task)
{
	struct gn_thread *t;
	int told;

	if (!r || !l || !task)
		return 0;
	t = bpf_task_storage_get(&threads, task, 0, 0);
	if (!t)
		return 0;
	t->lock_looked = t->seq;
	told = blocker_fill(r, l, task, t);
	again_note(&t->moving, t->seq, told == BLOCKER_MOVING);
	if (told == BLOCKER_OWNED)
		lock_watch(task);
	if (told == BLOCKER_TOLD)
		parked_cause_note((struct gn_cause_lock *)&r->of, t, tgid);
	if (told == BLOCKER_AGAIN)
		r->id = t->parked_cause;
	return told < 0 ? 0 : told;
}

/*
 * Tells whether to look once more for the object that t waits for, since objects were being moved.
 * Without that a whole wait would have no cause, however long it lasts.
 */
static __always_inline bool is_moving(const struct gn_thread *t)
{
	return again_is_due(&t->moving, t->seq);
}

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

/*
 * Fills in the cause, which is zeros. 0: it is none, or not known. BLOCKER_AGAIN: the record has
 * its id, and nothing is filled in.
 */
heap_fn int lock_tell(struct gn_cause_rec *r, __u64 who, struct task_struct *task)
{
	const struct gn_locks *l = locks_find(who >> 32);
	struct gn_cause_lock *c;
	struct lock_room *room;

	if (!r || !l)
		return 0;
	room = lock_room_of(r);
	room->thread = uw_get_java_thread(0, (__u32)who);
	if (!room->thread)
		return 0;
	c = (struct gn_cause_lock *)&r->of;
	lock_words_read(&room->words, l, room->thread, task);
	if (room->words.pending) {
		c->op = GN_OP_ENTER;
		lock_watch(task);
		return monitor_tell(c, l, room->words.pending, task);
	}
	if (room->words.waiting) {
		c->op = GN_OP_WAIT;
		return monitor_tell(c, l, room->words.waiting, task);
	}
	return blocker_tell(r, l, who >> 32, task);
}

#endif
