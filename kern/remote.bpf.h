/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reading the stack of a thread that is off the CPU, for sleepable programs: whose, and what
 * becomes of it. Whether the thread stayed where it was meanwhile is told by its count of switches,
 * and by its not having a CPU.
 */
#ifndef GNOMON_REMOTE_BPF_H
#define GNOMON_REMOTE_BPF_H

#define UW_REMOTE
#include "filter.bpf.h"
#include "remote_read.bpf.h"
#include "hotspot.h"
#include "stack_id.bpf.h"
#include "unwind_walk.h"
#ifdef UW_MEMO
#include "memo.bpf.h"
#endif
#include "asked.bpf.h"
#include "cause.bpf.h"
#include "context.bpf.h"
#include "kstack.bpf.h"
#include "vthread.bpf.h"
#include "wall.bpf.h"

/* One walk at a time: the collector runs these programs from one thread. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct stack_scratch);
} remote_scratch SEC(".maps") __weak;

static __always_inline void remote_regs(struct uw_state *u, struct task_struct *task)
{
	struct pt_regs *r = (struct pt_regs *)bpf_task_pt_regs(task);

	UW_REGS_FROM_PT(u, r);
	u->flags = UW_IN_SYSCALL(r) ? GN_FF_RETADDR : 0;
}

#ifdef UW_MEMO
/* uw_state.visit of the walks of this tick: 0 of threads that may have run since it. */
extern __u64 gn_visit;

/* As in its waits: what is found is what it leaves the CPU with. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct uw_trail);
} remote_trails SEC(".maps") __weak;

static __always_inline void remote_walk(struct stack_scratch *s, struct task_struct *task,
					struct gn_thread *t)
{
	struct uw_loop l = {.s = &s->uw, .m = task};
	__u32 zero = 0;
	struct uw_trail *trail = bpf_map_lookup_elem(&remote_trails, &zero);
	struct memo *m =
		memo_take(trail, &t->memo[SLOT_SWITCH],
			  (__u64)s->uw.rec.h.tgid << 32 | s->uw.rec.h.tid, s->uw.rec.h.time);

	if (!trail || !m)
		return;
	s->uw.visit = gn_visit;
	l.t = trail;
	l.t->outside = 1;
	l.t->lists = gn_lists;
	l.o = memo_of(m, &s->uw);
	uw_walk_with(&l);
	if (task_has_run(task, s->switches)) /* it may be of two stacks */
		l.o->n = 0;
	else if (!gn_remote_torn) /* or end where mappings were being changed */
		memo_checked(l.t);
	memo_give(m);
}
#else
static __always_inline void remote_walk(struct stack_scratch *s, struct task_struct *task,
					struct gn_thread *t)
{
	uw_walk(&s->uw, task);
}
#endif

/* The kernel's frames. Of what it does once it runs again nothing is kept. Its BPF stack is its
 * own: that of who walks is needed for the walk. */
static __noinline int remote_kernel(struct stack_scratch *s, struct task_struct *task)
{
	struct kstack_span p;
	long len;

	if (!s || !task)
		return 0;
	kstack_span_of(&p, task, kstack_base(task), GN_WAY_REMOTE, s->uw.scratch);
	if (kstack_take(s, &p))
		return 0;
	len = bpf_get_task_stack(task, raw_of(s), GN_RAW_FRAMES * sizeof(__u64), 0);
	raw_add(s, len, GN_FRAME_KERNEL);
	if (kstack_read(s, &p) && !task_has_run(task, s->switches))
		kstack_note(s, &p);
	return 0;
}

/*
 * Tells whether to read the memory once more, since the target was changing its mappings. Meanwhile
 * nobody else can look at them, for milliseconds where a heap gives gigabytes back.
 */
static __always_inline bool is_torn(const struct gn_thread *t)
{
	return again_is_due(&t->torn, t->seq);
}

static __always_inline void torn_note(struct gn_thread *t)
{
	again_note(&t->torn, t->seq, gn_remote_torn != 0);
}

/*
 * The stack id of a task off the CPU in `state`; 0 if it could not be read, or got the CPU since it
 * had switched so often.
 */
static __always_inline __u64 remote_stack(struct task_struct *task, struct gn_thread *t,
					  __u32 state, __u64 switches, struct remote_found *found)
{
	__u64 who = thread_id(task, t), id;
	__u32 zero = 0;
	struct stack_scratch *s = bpf_map_lookup_elem(&remote_scratch, &zero);

	if (!s)
		return 0;
	remote_forget();
	found->context = context_of(who, task, 0);
	if (gn_only_context && !found->context) {
		torn_note(t);
		return 0;
	}
	stack_begin(s, who, bpf_ktime_get_ns());
	s->switches = switches;
	remote_kernel(s, task);
	s->uw.rec.nkernel = s->uw.n;
	uw_limit(&s->uw, gn_depth);
	s->uw.rec.way = GN_WAY_REMOTE;
	s->uw.end = GN_END_NONE;
	remote_regs(&s->uw, task);
	remote_walk(s, task, t);
	found->vthread = vthread_of(who, task, 0);
	found->cause = cause_of(who, task, state);
	torn_note(t);
	if (!s->uw.n || task_has_run(task, s->switches) || is_torn(t))
		return 0;
	id = stack_finish(s, NULL);
	count_add(GN_CNT_CAPTURES, 1);
	count_add(GN_CNT_REMOTE, 1);
	return id;
}

/* 1: its stack was read, and noted. */
static __always_inline int remote_take(struct task_struct *task, struct gn_thread *t)
{
	__u32 seq = t->seq;
	struct remote_found found = {};
	__u64 switches = task_switches(task);
	__u64 had = t->stack, id = remote_stack(task, t, t->state, switches, &found);

	if (id || !(is_torn(t) || task_has_run(task, switches)))
		context_wanted(t, seq, found.context);
	if (!id)
		return 0;
	t->far_seq = seq;
	remote_note(t, seq, id, &found);
	asked_note(task, t);
	if (had && id & GN_STACK_WHOLE && t->seq == seq) /* in place of what it had of itself */
		__sync_val_compare_and_swap(&t->stack, had, 0);
	return 1;
}

/* It was read before it was known as a thread of Java, and so without what it waits for. */
static __always_inline bool lock_is_due(struct task_struct *task, const struct gn_thread *t)
{
	__u64 who;

	if (!state_has_cause(t->state) || wall_cause(t) || t->lock_looked == t->seq ||
	    !is_in_futex(task))
		return false;
	who = thread_id(task, t);
	return uw_get_java_thread(0, (__u32)who) && locks_find(who >> 32);
}

/* Tells whether to look once more for what the thread waits for. */
static __always_inline bool cause_is_due(struct task_struct *task, const struct gn_thread *t)
{
	return is_moving(t) || lock_is_due(task, t);
}

/*
 * Not 0: what was read before there were tables for it, or it was a carrier, is read again, and
 * what has a stack whose frames the collector did not get; GN_REREAD_LISTS: or not in this epoch.
 */
extern __u32 gn_reread;

/* In this epoch, where that is asked for. */
static __always_inline bool list_is_sent(__u64 id)
{
	__u32 *seen = bpf_map_lookup_elem(&sent, &id);

	return seen && (gn_reread != GN_REREAD_LISTS || *seen == gn_epoch);
}

/* Tells whether to read the thread again with the next tick, and some ticks after it. */
static __always_inline bool is_unsettled(const struct gn_thread *t)
{
	return is_torn(t) || is_moving(t);
}

static __always_inline bool remote_due(struct task_struct *task, const struct gn_thread *t)
{
	__u64 id = t->stack;

	if (t->phase != GN_PH_OFF || task->on_cpu || (thread_is_bare(t) && !gn_reread))
		return false;
	if (!id && t->remote_seq == t->seq)
		id = t->remote;
	if (!id || is_unsettled(t) || lock_is_due(task, t))
		return true;
	return gn_reread && (!(id & GN_STACK_WHOLE) || !list_is_sent(id) ||
			     (!wall_vthread(t) && vthread_is_carrier((__u32)thread_id(task, t))));
}

/* Threads that a scan left for the next one, when the collector has drained the rings. */
extern __u32 gn_unread;

static __always_inline bool is_resting(struct task_struct *task, struct gn_thread *t)
{
	if (!t)
		return false;
	rate_refresh(t, thread_id(task, t) >> 32); /* it may have slept since before its rate */
	return rate_has_wall(t) && remote_due(task, t) && tick_wants_stack(task, t, t->next_tick);
}

#endif
