/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whose the locks are that threads wait for, at each tick: who waits is asleep since before it, and
 * meanwhile a lock may go from one to another. Each lock is read once a tick, by one of those that
 * wait for it; a record for each tick says whose it was, so that one which is lost leaves that tick
 * unknown and nothing else. For kernels that find tasks by pid in such programs; with others no
 * owner is told.
 */
#ifndef GNOMON_LOCK_TICK_BPF_H
#define GNOMON_LOCK_TICK_BPF_H

#include "clock.bpf.h"
#include "remote.bpf.h"

__u64 gn_lock_waiters = 0, gn_lock_seen = 0;

#define LOCKS_READ   4096
#define WAITERS_MOST 1024 /* threads looked at in a tick: who comes after them is next time */

/* At which tick, plus 1, a lock was read last: by the id of the cause. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, LOCKS_READ);
	__type(key, __u64);
	__type(value, __u64);
} locks_read SEC(".maps");

/* ---- one lock ---- */

#define OWNER_ANONYMOUS 1 /* JDK runtime/objectMonitor.hpp */
#define OWNER_DEFLATER	2
#define OWNER_DEFLATED	(~0ULL) /* the same before 24 */

static __always_inline void monitor_owner(struct gn_owner_rec *r, const struct gn_locks *l,
					  __u64 monitor, struct task_struct *task)
{
	__u64 owner = 0;

	if (heap_read(task, &owner, sizeof(owner), monitor + l->owner))
		return;
	r->owner = owner;
	if (!owner || owner == OWNER_DEFLATED ||
	    (l->flags & GN_LOCK_IDS && owner == OWNER_DEFLATER)) {
		r->kind = GN_OWNER_NOBODY;
	} else if (owner != OWNER_ANONYMOUS) {
		r->kind = l->flags & GN_LOCK_IDS ? GN_OWNER_ID : GN_OWNER_WORD;
	} else if (l->flags & GN_LOCK_HELD) {
		r->kind = GN_OWNER_HELD;
		r->owner = monitor;
	} else if (l->stack_locker) {
		r->kind = GN_OWNER_WORD;
		r->owner = heap_word(task, monitor + l->stack_locker);
	}
}

static __always_inline void blocker_owner(struct gn_owner_rec *r, const struct gn_locks *l,
					  __u64 thread, struct task_struct *task)
{
	struct parked p;

	if (!parked_read(&p, l, thread, task) || !p.object)
		return;
	r->owner = p.id;
	r->kind = !p.owner ? GN_OWNER_NOBODY : p.id ? GN_OWNER_ID : GN_OWNER_UNKNOWN;
}

static __noinline int owner_read(struct gn_owner_rec *r, __u64 who, struct task_struct *task)
{
	const struct gn_locks *l = locks_find(who >> 32);
	__u64 thread = uw_get_java_thread(0, (__u32)who), monitor;

	if (!r || !task || !l || !thread)
		return 0;
	remote_forget();
	monitor = heap_word(task, thread + l->pending);
	if (monitor)
		monitor_owner(r, l, monitor, task);
	else
		blocker_owner(r, l, thread, task);
	return 1;
}

/* ---- those that wait ---- */

static __always_inline bool waits_still(const struct task_struct *task, const struct gn_thread *t,
					__u32 seq)
{
	if (t->seq != seq)
		return false;
	return t->phase == GN_PH_OFF ? clock_is_off(task, t)
				     : t->phase == GN_PH_SCAN && !task->on_cpu;
}

static __always_inline int owner_tell(struct task_struct *task, struct gn_thread *t, __u32 seq,
				      __u64 cause, __u64 tick)
{
	struct gn_owner_rec r = {.cause = cause, .tick = tick};
	__u64 who = thread_id(task, t);

	record_begin(&r.h, GN_REC_OWNER, who);
	owner_read(&r, who, task);
	if (!waits_still(task, t, seq))
		return 0;
	record_send(&r.h, sizeof(r));
	return 1;
}

#define WAITS_NO_MORE (-1)

/* 1: its lock was read; 0: another had it read; or WAITS_NO_MORE. */
__noinline int waiter_visit(__u32 tid, __u32 seq, __u64 tick)
{
	struct task_struct *task = bpf_task_from_pid(tid);
	__u64 cause, now = tick + 1, *last;
	struct gn_thread *t;
	int rc = WAITS_NO_MORE;

	if (!task)
		return rc;
	t = bpf_task_storage_get(&threads, task, 0, 0);
	cause = t && waits_still(task, t, seq) ? wall_cause(t) : 0;
	if (cause) {
		last = bpf_map_lookup_elem(&locks_read, &cause);
		rc = 0;
		if (!last || *last != now) {
			rc = owner_tell(task, t, seq, cause, tick);
			if (rc)
				bpf_map_update_elem(&locks_read, &cause, &now, BPF_ANY);
		}
	}
	bpf_task_release(task);
	return rc;
}

/* Those from `first` on. */
struct waiters {
	__u64 tick, first;
	__u32 visited, read;
	__u32 again; /* they stay where they are: they were put there since this tick's first look
		      */
};

static long waiter_step(__u32 i, struct waiters *x)
{
	struct lock_waiter *w = lock_waiter_at(x->first + i);
	__u32 tid, seq;
	int rc;

	if (!w)
		return 1;
	tid = w->tid;
	seq = w->seq;
	rc = waiter_visit(tid, seq, x->tick);
	x->visited = i + 1;
	if (rc == WAITS_NO_MORE)
		return 0;
	x->read += rc;
	if (!x->again)
		lock_waiter_put(tid, seq);
	return 0;
}

/* A tick has just passed. */
SEC("syscall")
int lock_tick(struct gn_lock_tick *ctx)
{
	__u64 end = gn_lock_waiters, n;
	struct waiters x = {
		.tick = ctx->tick,
		.first = ctx->since ? ctx->since : gn_lock_seen,
		.again = !!ctx->since,
	};

	if (end - x.first > LOCK_WAITERS)
		x.first = end - LOCK_WAITERS;
	n = end - x.first;
	bpf_loop(n < WAITERS_MOST ? n : WAITERS_MOST, waiter_step, &x, 0);
	if (!ctx->since)
		gn_lock_seen = x.first + x.visited;
	ctx->visited = x.visited;
	ctx->read = x.read;
	return 0;
}

#endif
