/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What becomes of a walked stack, whoever took it: a 64-bit id over its frames, and the list itself
 * sent once per id and epoch. Include it before kern/unwind_walk.h.
 */
#ifndef GNOMON_STACK_ID_BPF_H
#define GNOMON_STACK_ID_BPF_H

#include "filter.bpf.h"
#include "unwind.h"

/* A perf interrupt may hit an iterator or a tracepoint program: memory per kind of entry. */
enum stack_slot { SLOT_CLOCK = 0, SLOT_SWITCH = 1, SLOT_MAX };

#define GN_RAW_FRAMES 127 /* kernel.perf_event_max_stack */

/* A map's value per CPU has at most 32 KiB: see PCPU_MIN_UNIT_SIZE (linux/percpu.h). */
struct stack_scratch {
	__u32 nraw;
	__u32 kind;
	__u32 epoch; /* as the walk began */
	__u32 pad;
	__u64 switches; /* the thread's, as the walk began, where it may get a CPU meanwhile */
	struct uw_state uw;
};
_Static_assert(sizeof(struct stack_scratch) <= 32768, "no value of a map per CPU");

/* ---- a thread that is off the CPU, but may get it meanwhile ---- */

static __always_inline __u64 task_switches(const struct task_struct *task)
{
	return task->nvcsw + task->nivcsw;
}

/* Has it got the CPU since it had switched so often? */
static __always_inline bool task_has_run(const struct task_struct *task, __u64 switches)
{
	return task->on_cpu || task_switches(task) != switches;
}

/* ---- the frames ---- */

/* Where the kernel puts addresses, in the window, of which a walk keeps nothing from before. */
static __always_inline __u64 *raw_of(struct stack_scratch *s)
{
	_Static_assert(GN_RAW_FRAMES * sizeof(__u64) <= UW_WINDOW, "no room for them");
	return (__u64 *)s->uw.win;
}

static long raw_step(__u32 i, struct stack_scratch **sp)
{
	struct stack_scratch *s = *sp;

	if (i >= s->nraw || i >= GN_RAW_FRAMES)
		return 1;
	/* Only the first frame of a part may be exact; what follows are return addresses. */
	s->uw.flags = i ? GN_FF_RETADDR : 0;
	return uw_push(&s->uw, raw_of(s)[i], s->kind, 0, 0);
}

static __always_inline void raw_add(struct stack_scratch *s, long bytes, __u32 kind)
{
	if (bytes <= 0)
		return;
	s->nraw = bytes / sizeof(__u64);
	s->kind = kind;
	bpf_loop(GN_RAW_FRAMES, raw_step, &s, 0);
}

static __always_inline void sent_note(struct gn_sent *last, __u64 id, __u32 lists)
{
	if (!last)
		return;
	last->stack = id;
	last->lists = lists;
}

/* `lists`: gn_lists, read before this is asked. */
static __always_inline int uw_stack_is_sent(__u64 id, __u32 lists)
{
	__u32 *seen = bpf_map_lookup_elem(&sent, &id);

	return seen && *seen == gn_epoch;
}

/*
 * Send the list unless this epoch's reader has it: that it has the thread's last one, `last`, is
 * told without a look at the table. May be NULL. A list that is refused while it is noted here is
 * sent once more.
 */
static __noinline void stack_send(struct stack_scratch *s, struct gn_sent *last)
{
	__u64 id = s->uw.rec.id;
	__u64 n = s->uw.n;
	__u32 epoch = gn_epoch, lists = gn_lists;

	if (last && last->stack == id && last->lists == lists)
		return;
	if (uw_stack_is_sent(id, lists)) {
		sent_note(last, id, lists);
		return;
	}
	s->uw.rec.h.type = GN_REC_STACK;
	/* the number that is looked at is the one that is used: 6.1's verifier loses it otherwise
	 */
	uw_barrier(n);
	if (n > GN_MAX_FRAMES)
		return;
	uw_barrier(n);
	if (record_send(&s->uw.rec.h, sizeof(s->uw.rec) + n * sizeof(struct gn_frame))) {
		loss_add(s->uw.rec.h.tid, GN_LOSS_STACK, 1);
		return;
	}
	bpf_map_update_elem(&sent, &id, &epoch, BPF_ANY);
	if (gn_lists != lists)
		bpf_map_delete_elem(&sent, &id);
	sent_note(last, id, lists);
	count_add(GN_CNT_STACKS, 1);
}

/* Before a walk: whose it is, tgid << 32 | tid, and of when. */
static __always_inline void stack_begin(struct stack_scratch *s, __u64 who, __u64 now)
{
	uw_begin(&s->uw, who >> 32, GN_MAX_FRAMES);
	s->uw.tid = (__u32)who;
	s->uw.rec.h.tgid = who >> 32;
	s->uw.rec.h.tid = (__u32)who;
	s->uw.rec.h.time = now;
	s->epoch = gn_epoch;
}

/*
 * Give the frames in `s` their id and send them. `last`: stack_send(). 0: they are asked for since
 * just now, and were not made.
 */
static __always_inline __u64 stack_finish(struct stack_scratch *s, struct gn_sent *last)
{
	s->uw.rec.nuser = s->uw.n - s->uw.rec.nkernel;
	s->uw.rec.end = s->uw.end;
	s->uw.rec.id = uw_stack_id(s->uw.before, s->uw.hash, uw_is_whole(&s->uw));
	if (s->uw.same)
		return s->epoch == gn_epoch ? s->uw.rec.id : 0;
	stack_send(s, last);
	return s->uw.rec.id;
}

#endif
