/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel's part of a stack, as it was the last time. The kernel unwinds it by tables, at some
 * 300 ns a frame where they are in no cache; but threads wait in few places. So what a walk has
 * found is kept with the places of its return addresses, and where all of these hold what they held
 * then, from a stack pointer that lies as far from them, the kernel would find the same: where it
 * goes from each frame depends on its address and on where it lies alone, as the kernel has no
 * frames of variable size but one. That is the outermost one (add_random_kstack_offset(),
 * include/linux/randomize_kstack.h), so its caller's address is looked for from the other end.
 *
 * Only what can be in no other place is kept: the return addresses, in their order, are in the
 * stack just once. With gn_check_code the kernel walks all the same, and it is counted how often
 * that found something else.
 */
#ifndef GNOMON_KSTACK_BPF_H
#define GNOMON_KSTACK_BPF_H

#include "filter.bpf.h"
#include "stack_id.bpf.h"

#define KSTACK_FRAMES 32  /* a power of two; stacks of more are walked */
#define KSTACK_LEAD   3	  /* frames below the first word that is looked at, at most */
#define KSTACK_WAYS   4	  /* kernel stacks in one system call, of one way of taking them */
#define KSTACKS	      128 /* a power of two */
#define KSTACK_WORDS  (UW_WINDOW / 8)

struct kstack {
	__u64 key; /* 0 free */
	__u32 n, lead;
	__u16 at[KSTACK_FRAMES]; /* words from the first one; of the last frame, from the end */
	__u64 pc[KSTACK_FRAMES];
};

/* A pointer as a number, to the verifier: by way of `room`. */
static __always_inline __u64 kstack_number(const void *p, __u64 *room)
{
	*(const void *volatile *)room = p;
	return *(volatile __u64 *)room;
}

/* Where the kernel's stack of a thread that it is walking begins and ends, and what it is in. */
struct kstack_span {
	__u64 base, words, key;
	__u64 leads; /* frames of the tracepoint's own lie below the base; which these are is of
			no interest (user/naming/resolver.c) */
};

static __always_inline void kstack_span_of(struct kstack_span *p, struct task_struct *task,
					   __u64 base, enum gn_stack_way way, __u64 *room)
{
	struct pt_regs *r = (struct pt_regs *)bpf_task_pt_regs(task);

	p->base = base;
	p->words = (kstack_number(r, room) - base) / 8;
	p->leads = way == GN_WAY_SWITCH || way == GN_WAY_WAKE;
#if defined(__TARGET_ARCH_x86)
	p->key = 1ULL << 63 | (__u64)(r->orig_ax & 0xffff) << 8 | way;
#else
	p->key = 1ULL << 63 | (__u64)(r->syscallno & 0xffff) << 8 | way;
#endif
}

/*
 * Tells where the stack pointer is of a thread that does not run. That of the current one, as it
 * came by a tracepoint, goes by the tracepoint's arguments, which lie on the stack on which the
 * kernel runs (bpf_trace_run1(), kernel/trace/bpf_trace.c).
 */
static __always_inline __u64 kstack_base(const struct task_struct *task)
{
#if defined(__TARGET_ARCH_x86)
	return task->thread.sp;
#else
	return task->thread.cpu_context.sp;
#endif
}

/* The stack's words, into the window. */
static __always_inline bool kstack_read(struct stack_scratch *s, const struct kstack_span *p)
{
	__u64 n = p->words;

	uw_barrier(n);
	if (n < 2 || n > KSTACK_WORDS)
		return false;
	return !bpf_probe_read_kernel(s->uw.win, n * 8, (void *)p->base);
}

static __always_inline __u64 kstack_word(const struct stack_scratch *s, __u64 i)
{
	uw_barrier(i);
	return ((const __u64 *)s->uw.win)[i & (KSTACK_WORDS - 1)];
}

static __always_inline __u32 kstack_slot(const struct kstack_span *p, __u32 way)
{
	return (uw_mix(p->key, 0) >> 40 & (KSTACKS / KSTACK_WAYS - 1)) * KSTACK_WAYS + way;
}

/* Of its i-th frame, in bounds that the verifier sees. */
static __always_inline __u64 *kstack_pc(struct kstack *k, __u64 i)
{
	uw_barrier(i);
	return &k->pc[i & (KSTACK_FRAMES - 1)];
}

static __always_inline __u16 *kstack_at(struct kstack *k, __u64 i)
{
	uw_barrier(i);
	return &k->at[i & (KSTACK_FRAMES - 1)];
}

/*
 * Loops over a stack's frames are calls of bpf_loop(): the verifier follows a loop in the program
 * turn by turn, and this is in four of them.
 */
struct kstack_pair {
	struct stack_scratch *s;
	struct kstack *k;
	__u64 words;
	__u64 differs; /* not 0: some do */
};

#define KSTACK_CHUNK 8 /* frames compared in a turn */

/* Without branches, of which the verifier would follow both ways each time. */
static long kstack_compare(__u32 turn, struct kstack_pair *x)
{
	__u64 from = turn * KSTACK_CHUNK, last = x->k->n - 1, differs = 0;

	if (from >= last)
		return 1;
#pragma clang loop unroll(full)
	for (__u64 i = 0; i < KSTACK_CHUNK; i++) {
		__u64 frame = from + i, at = *kstack_at(x->k, frame);
		__u64 meant = ((frame - last) & ~(frame - x->k->lead)) >> 63;
		__u64 inside = (at - x->words) >> 63;

		differs |= ((kstack_word(x->s, at) ^ *kstack_pc(x->k, frame)) | (inside ^ 1)) &
			   (0 - meant);
	}
	x->differs = differs;
	return !!differs;
}

/* Are its return addresses where they were? */
static __always_inline bool kstack_holds(struct kstack *k, struct stack_scratch *s, __u64 words)
{
	struct kstack_pair x = {.s = s, .k = k, .words = words};
	__u64 last = k->n - 1, at;

	bpf_loop(KSTACK_FRAMES / KSTACK_CHUNK, kstack_compare, &x, 0);
	if (x.differs)
		return false;
	at = words - *kstack_at(k, last); /* what lies behind the words was another stack's */
	return at < words && kstack_word(s, at) == *kstack_pc(k, last);
}

static long kstack_push_step(__u32 i, struct kstack_pair *x)
{
	if (i >= x->k->n)
		return 1;
	x->s->uw.flags = i ? GN_FF_RETADDR : 0;
	uw_push(&x->s->uw, *kstack_pc(x->k, i), GN_FRAME_KERNEL, 0, 0);
	return 0;
}

static __always_inline void kstack_push(struct stack_scratch *s, struct kstack *k)
{
	struct kstack_pair x = {.s = s, .k = k};

	bpf_loop(KSTACK_FRAMES, kstack_push_step, &x, 0);
}

static long kstack_check_step(__u32 i, struct kstack_pair *x)
{
	if (i >= x->k->n)
		return 1;
	if (i >= x->k->lead && i < KSTACK_FRAMES)
		x->differs |= gn_frame_addr(&x->s->uw.frames[i]) ^ *kstack_pc(x->k, i);
	return 0;
}

/* With gn_check_code: has the kernel found what was known? */
static __always_inline void kstack_check(struct stack_scratch *s, struct kstack *k)
{
	struct kstack_pair x = {.s = s, .k = k, .differs = s->uw.n ^ k->n};

	bpf_loop(KSTACK_FRAMES, kstack_check_step, &x, 0);
	count_add(GN_CNT_KSTACK_CHECKED, 1);
	if (x.differs)
		count_add(GN_CNT_KSTACK_WRONG, 1);
}

/* ---- what is to be known the next time ---- */

/* Through the words of a stack: up to `frame` they have been found. */
struct kstack_search {
	struct stack_scratch *s;
	struct kstack *k;
	__u32 words;
	__u32 frame; /* the next one's number; down: plus 1 */
};

/* From the outermost on, each where it is met first. */
static long kstack_down(__u32 i, struct kstack_search *x)
{
	__u32 at = x->words - 1 - i, frame = x->frame - 1;

	if (i >= x->words || frame >= KSTACK_FRAMES)
		return 1;
	if (kstack_word(x->s, at) != *kstack_pc(x->k, frame))
		return 0;
	*kstack_at(x->k, frame) = at;
	x->frame = frame;
	return 0;
}

/* From the innermost on: are they where they were met from the other side? */
static long kstack_up(__u32 at, struct kstack_search *x)
{
	__u32 frame = x->frame;

	if (at >= x->words || frame >= KSTACK_FRAMES || frame >= x->k->n)
		return 1;
	if (kstack_word(x->s, at) != *kstack_pc(x->k, frame))
		return 0;
	if (*kstack_at(x->k, frame) != at)
		return 1;
	x->frame = frame + 1;
	return 0;
}

static long kstack_copy(__u32 i, struct kstack_search *x)
{
	if (i >= x->frame || i >= KSTACK_FRAMES)
		return 1;
	*kstack_pc(x->k, i) = gn_frame_addr(&x->s->uw.frames[i]);
	return 0;
}

/* What the kernel has just found, with the words in the window. */
static __always_inline void kstack_learn(struct stack_scratch *s, const struct kstack_span *p,
					 struct kstack *k)
{
	struct kstack_search x = {.s = s, .k = k, .words = p->words, .frame = s->uw.n};
	__u64 n = s->uw.n;

	k->key = 0;
	uw_barrier(n);
	if (n < 2 || n > KSTACK_FRAMES)
		return;
	k->n = n;
	bpf_loop(KSTACK_FRAMES, kstack_copy, &x, 0);
	bpf_loop(KSTACK_WORDS, kstack_down, &x, 0);
	k->lead = x.frame;
	if (k->lead > (p->leads ? KSTACK_LEAD : 0))
		return;
	bpf_loop(KSTACK_WORDS, kstack_up, &x, 0);
	if (x.frame != n)
		return;
	*kstack_at(k, n - 1) = p->words - *kstack_at(k, n - 1);
	k->key = p->key;
}

/* ---- those that are known ---- */

#ifdef UW_REMOTE
#define kstacks	     kstacks_remote
#define KSTACKS_TYPE BPF_MAP_TYPE_ARRAY /* one thread takes them */
#else
#define KSTACKS_TYPE BPF_MAP_TYPE_PERCPU_ARRAY
#endif

struct {
	__uint(type, KSTACKS_TYPE);
	__uint(max_entries, KSTACKS);
	__type(key, __u32);
	__type(value, struct kstack);
} kstacks SEC(".maps") __weak;

/* NULL: none is as the words in the window. */
static __always_inline struct kstack *kstack_find(struct stack_scratch *s,
						  const struct kstack_span *p)
{
	UW_NO_UNROLL
	for (__u32 way = 0; way < KSTACK_WAYS; way++) {
		__u32 slot = kstack_slot(p, way);
		struct kstack *k = bpf_map_lookup_elem(&kstacks, &slot);

		if (k && k->key == p->key && kstack_holds(k, s, p->words))
			return k;
	}
	return NULL;
}

/* 1: it is known, and its frames are in `s`. */
__weak __noinline int kstack_take(struct stack_scratch *s, const struct kstack_span *p)
{
	struct kstack *k;

	if (!s || !p || gn_check_code || !kstack_read(s, p))
		return 0;
	k = kstack_find(s, p);
	if (!k)
		return 0;
	kstack_push(s, k);
	return 1;
}

/* The kernel has walked, and the words are in the window again: that is known from now on. */
__weak __noinline int kstack_note(struct stack_scratch *s, const struct kstack_span *p)
{
	struct kstack *k;
	__u32 slot;

	if (!s || !p)
		return 0;
	k = kstack_find(s, p);
	if (k) {
		kstack_check(s, k);
		return 0;
	}
	slot = kstack_slot(p, s->uw.walks & (KSTACK_WAYS - 1));
	k = bpf_map_lookup_elem(&kstacks, &slot);
	if (k)
		kstack_learn(s, p, k);
	return 0;
}

#endif
