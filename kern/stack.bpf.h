/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Taking the stack of the current thread, or of one of its process that is about to have its CPU:
 * kernel frames, then user frames, into per-CPU memory.
 *
 * The user part is walked by kern/unwind_walk.h where user space has made tables for the process;
 * else by frame pointers, by the kernel (GN_END_FP).
 */
#ifndef GNOMON_STACK_BPF_H
#define GNOMON_STACK_BPF_H

#include "filter.bpf.h"
#include "hotspot.h"
#include "stack_id.bpf.h"
#include "unwind_walk.h"
#include "memo.bpf.h"
#include "kstack.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SLOT_MAX);
	__type(key, __u32);
	__type(value, struct stack_scratch);
} scratch SEC(".maps") __weak;

static __always_inline void user_walk_fp(void *ctx, struct stack_scratch *s)
{
	long len = bpf_get_stack(ctx, raw_of(s), GN_RAW_FRAMES * sizeof(__u64), BPF_F_USER_STACK);

	raw_add(s, len, GN_FRAME_USER);
	s->uw.end = len > 0 ? GN_END_FP : GN_END_BADADDR;
}

/* It is the current thread's stack, and not that of another one of its process. */
static __always_inline bool is_current(enum gn_stack_way way)
{
	return way != GN_WAY_BACK && way != GN_WAY_NEAR;
}

/*
 * The same way; but where a program has several the verifier has forgotten which it is, or it would
 * follow all that comes for each of them.
 */
#define way_again(s, way)                                                                          \
	(__builtin_constant_p(way) ? (way)                                                         \
				   : (enum gn_stack_way) * (volatile __u8 *)&(s)->uw.rec.way)

/* The registers with which `task` entered the kernel. */
static __always_inline void user_regs(struct uw_state *u, struct task_struct *task)
{
	struct pt_regs *r = (struct pt_regs *)bpf_task_pt_regs(task);

	UW_REGS_FROM_PT(u, r);
	u->flags = UW_IN_SYSCALL(r) ? GN_FF_RETADDR : 0;
}

static __always_inline void user_walk(void *ctx, struct stack_scratch *s, enum gn_stack_way way,
				      struct task_struct *task, enum stack_slot slot,
				      struct gn_thread *t, __u64 who, __u64 now)
{
	struct uw_loop l = {.s = &s->uw};
	__u32 key = slot;
	struct uw_trail *trail = bpf_map_lookup_elem(&trails, &key);
	struct memo *m = memo_take(trail, &t->memo[slot], who, now);

	if (!trail || !m)
		return;
	l.t = trail;
	l.t->lists = gn_lists;
	user_regs(&s->uw, task);
	l.o = memo_of(m, &s->uw);
	if (uw_walk_with(&l) && is_current(way_again(s, way)))
		user_walk_fp(ctx, s);
	if (way == GN_WAY_NEAR && task_has_run(task, s->switches)) /* it may be of two stacks */
		l.o->n = 0;
	else
		memo_checked(l.t);
	memo_give(m);
}

/* The kernel's frames, at a tracepoint. */
static __always_inline void kernel_walk(void *ctx, struct stack_scratch *s, enum gn_stack_way way,
					struct task_struct *task)
{
	struct kstack_span p;
	long len;

	kstack_span_of(&p, task,
		       is_current(way) ? kstack_number(ctx, s->uw.scratch) : kstack_base(task), way,
		       s->uw.scratch);
	if (kstack_take(s, &p))
		return;
	if (is_current(way))
		len = bpf_get_stack(ctx, raw_of(s), GN_RAW_FRAMES * sizeof(__u64), 0);
	else
		len = bpf_get_task_stack(task, raw_of(s), GN_RAW_FRAMES * sizeof(__u64), 0);
	raw_add(s, len, GN_FRAME_KERNEL);
	if (kstack_read(s, &p) && !(way == GN_WAY_NEAR && task_has_run(task, s->switches)))
		kstack_note(s, &p);
}

/*
 * The stack id of `task`; 0 if nothing could be read. It is the current thread, or (GN_WAY_BACK,
 * GN_WAY_NEAR) one that is off the CPU, has the current one's memory and is of a process with
 * tables; if it may get a CPU meanwhile (GN_WAY_NEAR), and has got one, 0, too. `ctx` is
 * that of the program, which decides where the kernel's own walk of the current thread starts; it
 * was in the kernel if `kernel`, and to be asked for nothing costs a twentieth of a sample. `t` is
 * the thread's, `who` its tgid << 32 | tid.
 */
static __always_inline __u64 stack_take(void *ctx, enum stack_slot slot, enum gn_stack_way way,
					bool kernel, struct task_struct *task, struct gn_thread *t,
					__u64 who, __u64 now)
{
	__u32 key = slot;
	struct stack_scratch *s = bpf_map_lookup_elem(&scratch, &key);

	if (!s)
		return 0;
	stack_begin(s, who, now);
	if (way == GN_WAY_NEAR)
		s->switches = task_switches(task);
	if (way != GN_WAY_CLOCK)
		kernel_walk(ctx, s, way, task);
	else if (kernel)
		raw_add(s, bpf_get_stack(ctx, raw_of(s), GN_RAW_FRAMES * sizeof(__u64), 0),
			GN_FRAME_KERNEL);
	s->uw.rec.nkernel = s->uw.n;
	uw_limit(&s->uw, gn_depth);
	s->uw.rec.way = way;
	user_walk(ctx, s, way, task, slot, t, who, now);
	if (way == GN_WAY_NEAR) /* what its own programs note is theirs */
		return s->uw.n && !task_has_run(task, s->switches) ? stack_finish(s, NULL) : 0;
	return s->uw.n ? stack_finish(s, &t->sent[slot]) : 0;
}

#endif
