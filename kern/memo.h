/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a walk came by, kept for the thread's next one: most of a stack is as it was, and is looked
 * at word by word instead of walked. Include it after kern/hotspot.h and kern/native.h.
 *
 * A step is *plain* when what it does is told by few words: the frame's pc and sp (and fp, if its
 * rule begins there), the return address it finds and, in interpreted frames, the words that name
 * method and bytecode; and by tables and code that are the same now as then (uw_memo.changes,
 * .gen). Where a walk stands on such a frame with the same pc, sp and fp, and those words hold
 * what they held, the step would do what it did; so its result is taken over, and the next frame is
 * looked at likewise. Everything else is walked: leaves, whatever was guessed, stubs, code that may
 * be other code by now, and the end. So what is found is what a walk without a memo finds, by
 * induction from frame to frame. With `gn_check_code` each such frame is walked all the same, and
 * it is counted how often that found something else.
 */
#ifndef GNOMON_MEMO_H
#define GNOMON_MEMO_H

#include "unwind.h"

#ifdef __bpf__
#define UW_HAS_MEMO(l)	 1 /* always: one case for the verifier */
#define uw_memo_checks() gn_check_code
#define uw_memo_global	 __attribute__((noinline, weak))
#else
#define UW_HAS_MEMO(l)	 ((l)->o && (l)->t)
#define uw_memo_checks() 0
#define uw_memo_global	 uw_fn
#endif

#define UW_MEMO_FRAMES 256 /* from the leaf on; a power of two */

/* A frame, the walk's state before it, and how it went on. */
struct uw_mark {
	__u64 pc; /* above its 48 bits enum uw_how */
	__u32 sp; /* from uw_memo.base; + 1 in a leaf, + UW_MARK_LOOK */
	__u32 fp;
	struct gn_frame frame;
};

#define UW_MARK_LOOK 2 /* it is walked each time, since its code is to be looked at */
#define UW_MARK_SP   (~7u)

#define UW_HOW_SHIFT 48
#define UW_HOW_PC    ((1ULL << UW_HOW_SHIFT) - 1)
#define UW_HOW_OK    (UW_HOW_PLAIN | UW_HOW_CALLER)

#define UW_SAMES      2 /* who works waits in turns, for work and at it */
#define UW_SAME_WORDS 128
#define UW_SAME_LOOKS 4
#define UW_SAME_BYTES 8192

/* A whole stack: kern/same.h. */
struct uw_same {
	__u64 hash;			   /* of the walk's user part */
	__u64 changes, gen, unloads, base; /* as the memo's, when it was made */
	__u64 pc;
	__u64 before; /* uw_state.before with which its frames were sent in `epoch` */
	__u32 epoch;
	__u32 sp, fp; /* as in its first mark */
	__u32 n;      /* frames; 0: it was met once */
	__u32 fixed;  /* fp has to be what it was */
	__u32 how;    /* bits that any of its frames has */
	__u32 bytes;  /* from sp: all words lie there */
	__u32 words, looks;
	/* pcs in code that has to be looked at, and what their frames say of it */
	__u64 look[UW_SAME_LOOKS], data[UW_SAME_LOOKS];
	__u16 at[UW_SAME_WORDS]; /* words from sp */
	__u64 word[UW_SAME_WORDS];
};

struct uw_memo {
	__u64 owner;   /* 0 none; kern/memo.bpf.h */
	__u64 used_ns; /* when it was last */
	__u64 changes; /* of the tables till then */
	__u64 gen;     /* of the process's code */
	__u64 unloads; /* so many classes had been unloaded, plus 1; 0 unknown */
	__u64 base;    /* all of it lies within 4 GiB from here */
	__u32 n;
	__u32 turn; /* the one of `same` that goes for another */
	struct uw_same same[UW_SAMES];
	struct uw_mark marks[UW_MEMO_FRAMES];
};

/* A walk with a memo: where in that it is, and what the next walk is to have. */
struct uw_trail {
	__u64 changes, base;
	__u64 unloads;	 /* as uw_memo.unloads */
	__u32 first;	 /* frames that were there before (the kernel's) */
	__u32 at;	 /* in the memo */
	__u32 want, all; /* what is taken over has `want` of those bits `all` of enum uw_how */
	__u32 open;	 /* 1 + the frame from which on all is as the memo has it; 0: it is not */
	__u32 keep;	 /* for the next walk */
	__u32 native;	 /* the process has no JVM */
	__u32 sent;  /* a bit for each of the memo's whole stacks of which nobody asks for frames */
	__u32 again; /* 1 + the one of those that the walk has found */
	__u32 same_told; /* gn_check_code: likewise, that it is to find */
	/* It reads another thread's stack, which the JVM may change between what is told and the
	 * walk: a frame told is no evidence then, but a whole stack is, which is looked at once
	 * more. */
	__u32 outside;
	__u32 checked, wrong; /* and frames that were told and walked; those that were others */
	__u32 loaded;	      /* no class was unloaded since: what a Method* was it still is */
	__u32 told;	      /* gn_check_code: `then` is what the step is to find */
	__u32 method_const, cm_size;
	struct uw_told {
		__u64 pc, sp, fp, kept_at;
		struct gn_frame frame;
		__u32 end, called;
	} then;
	struct uw_was { /* and the walk's state before that: the BPF stack has no room */
		__u64 pc, sp, fp, kept_at, hash, seen;
		__u32 at, n, leaf;
	} was;
	struct uw_mark marks[2 * UW_MEMO_FRAMES]; /* the second half is of no use: uw_mark_at() */
};

uw_fn void uw_memo_copy(struct uw_mark *to, const struct uw_mark *from, __u64 n)
{
	if (n > UW_MEMO_FRAMES)
		n = 0;
	uw_barrier(n);
	if (n > UW_MEMO_FRAMES) /* for the verifier: the number that is used */
		return;
#ifdef __bpf__
	bpf_probe_read_kernel(to, n * sizeof(*to), from);
#else
	__builtin_memcpy(to, from, n * sizeof(*to));
#endif
}

/* Of the walk's i-th frame: beyond what is kept, one that does not count. Without branches. */
uw_fn struct uw_mark *uw_mark_at(struct uw_trail *t, __u64 i)
{
	__u64 over = 0 - ((UW_MEMO_FRAMES - 1 - i) >> 63);

	i = (i & ~over) | (UW_MEMO_FRAMES & over);
	uw_barrier(i);
	return &t->marks[i & (2 * UW_MEMO_FRAMES - 1)];
}

/* ---- what the next walk is to have ---- */

/* Before a step. Without branches, as all that is done at each. */
uw_fn void uw_mark_begin(struct uw_state *s, struct uw_trail *t)
{
	struct uw_mark *mark = uw_mark_at(t, s->n - t->first);
	__u64 plain = ((__u64)((s->sp & 7) | (s->flags ^ GN_FF_RETADDR)) - 1) >> 63;
	__u64 near_sp = ((s->sp - t->base) >> 32) - 1, near_fp = ((s->fp - t->base) >> 32) - 1;

	plain &= near_sp >> 63;
	mark->pc = s->pc | plain << UW_HOW_PLAIN_BIT | (near_fp >> 63) << UW_HOW_NEAR_BIT;
	mark->sp = (__u32)(s->sp - t->base) | s->leaf;
	mark->fp = (__u32)(s->fp - t->base);
	s->how = 0;
}

/* After it. A function of its own in BPF, like others here, to save its stack. */
uw_memo_global int uw_mark_end(struct uw_state *s, struct uw_trail *t)
{
	struct uw_mark *mark;
	__u64 near_sp;

	if (!s || !t)
		return 0;
	mark = uw_mark_at(t, s->n - t->first - 1);
	near_sp = (((s->sp - t->base) >> 32) - 1) >> 63;
	if (s->end && UW_HOW_SAVED(s->how) != UW_HOW_END)
		s->how = 0;
	mark->pc |= (s->how & (0 - near_sp) & ~UW_HOW_LOOK) << UW_HOW_SHIFT;
	mark->sp |= s->how >> UW_HOW_LOOK_BIT << 1;
	mark->frame = s->frames[(s->n - 1) & (GN_MAX_FRAMES - 1)];
	return 0;
}

/* ---- taking over what was found ---- */

struct uw_follow {
	struct uw_state *s;
	struct uw_memo *o;
	struct uw_trail *t;
	uw_mem m;
};

/* uw_word() */
uw_fn int uw_follow_word(struct uw_follow *f, __u64 addr, __u64 *val)
{
	struct uw_state *s = f->s;

	if (addr & 7 || addr >= UW_ADDR_MAX)
		return -14;
	if (addr - s->win_base >= s->win_len && uw_fill(s, f->m, addr))
		return -14;
	*val = *(__u64 *)(s->win + ((addr - s->win_base) & (UW_WINDOW - 8)));
	return 0;
}

/* The interpreted frame at s->fp: do its words name that of `f`, and `sp`, its caller's? */
uw_fn int uw_follow_interp(struct uw_follow *f, const struct gn_frame *frame, __u64 sp)
{
	struct uw_state *s = f->s;
	__u64 val, want = frame->data >> 16;

	if (uw_follow_word(f, s->fp - 64, &val) ||
	    val != want + f->t->cm_size + (frame->data & 0xffff))
		return 0;
	if (uw_follow_word(f, s->fp - 24, &val) || val != (frame->pc & UW_HOW_PC))
		return 0;
	if (uw_follow_word(f, s->fp - 8, &val) || val != sp)
		return 0;
	if (f->t->loaded)
		return 1;
	val = (frame->pc & UW_HOW_PC) + f->t->method_const;
	return !uw_copy(s, f->m, val, s->scratch, sizeof(val)) && s->scratch[0] == want;
}

/* Where the caller's UW_REG_KEPT is: as native_kept(). */
uw_fn __u64 uw_follow_kept(const struct uw_state *s, __u32 how, __u64 sp)
{
	__u64 words = UW_HOW_KEPT(how);

	if (words == UW_HOW_KEPT_SAME)
		return s->leaf ? UW_KEPT_IN_REG : s->kept_at;
	return words ? sp - (words - 1) * 8 : UW_KEPT_UNKNOWN;
}

uw_fn void uw_follow_note(struct uw_state *s, struct uw_trail *t, const struct uw_mark *mark)
{
	__u32 n = s->n, i = n - t->first;

	s->hash = uw_hash(s->hash, mark->frame.pc, mark->frame.data);
	s->frames[n & (GN_MAX_FRAMES - 1)] = mark->frame;
	if (t->at != i)
		*uw_mark_at(t, i) = *mark;
	t->at++;
	s->n = n + 1;
}

/* A thread's start; but before any Java code is passed a JVM may know better: hs_recover(). */
uw_fn long uw_follow_end(struct uw_state *s, struct uw_trail *t, const struct uw_mark *mark)
{
#ifdef UW_HOTSPOT
	if (!t->native && !s->hs[HS_SEEN])
		return 1;
#endif
	uw_follow_note(s, t, mark);
	return uw_end(s, GN_END_COMPLETE);
}

/* The frame stood on is the memo's: take it over. 1 when it is not, has to be walked, or ends. */
uw_fn long uw_follow_frame(struct uw_follow *f)
{
	struct uw_state *s = f->s;
	struct uw_memo *o = f->o;
	struct uw_trail *t = f->t;
	__u64 pc, sp, fp = s->fp, top;
	const struct uw_mark *mark, *next;
	__u32 at = t->at, how;

	if (at >= o->n || s->n >= s->max)
		return 1;
	mark = &o->marks[at & (UW_MEMO_FRAMES - 1)];
	next = &o->marks[(at + 1) & (UW_MEMO_FRAMES - 1)];
	how = mark->pc >> UW_HOW_SHIFT;
	if ((how & t->all) != t->want)
		return 1;
	if (how & UW_HOW_FP && (!(how & UW_HOW_NEAR) || fp != t->base + mark->fp))
		return 1;
	if (UW_HOW_SAVED(how) == UW_HOW_END)
		return uw_follow_end(s, t, mark);
	if (at + 1 >= o->n)
		return 1;
	sp = top = t->base + (next->sp & UW_MARK_SP);
	if (how & UW_HOW_INTERP) {
		if (!uw_follow_interp(f, &mark->frame, sp))
			return 1;
		top = fp + 16;
	}
	if (UW_HOW_SAVED(how) && uw_follow_word(f, top - UW_HOW_SAVED(how) * 8, &fp))
		return 1;
	if (uw_follow_word(f, top - 8, &pc) || UW_CODE_ADDR(pc) != (next->pc & UW_HOW_PC))
		return 1;
	uw_follow_note(s, t, mark);
	s->kept_at = uw_follow_kept(s, how, sp);
	s->pc = UW_CODE_ADDR(pc);
	s->sp = sp;
	s->fp = fp;
	s->called = s->leaf;
	s->leaf = 0;
#ifdef UW_HOTSPOT
	s->hs[HS_SEEN] |= how & UW_HOW_JAVA;
#endif
	return 0;
}

#define UW_FOLLOW_MOST 8 /* frames at once: for the verifier, which follows each */

/* What has to be done now: a step; nothing, the walk has ended; or this again. */
enum uw_next { UW_STEP = 0, UW_ENDED = 1, UW_AGAIN = 2 };

/* As many as can be. A loop of its own: it takes less of the BPF stack than bpf_loop() does. */
uw_fn int uw_follow_all(struct uw_follow *f)
{
	struct uw_state *s = f->s;
	struct uw_trail *t = f->t;
	int i;

	if (!t->open && t->at == s->n - t->first)
		t->open = t->at + 1;
	UW_NO_UNROLL
	for (i = 0; i < UW_FOLLOW_MOST; i++)
		if (uw_follow_frame(f))
			break;
	if (s->end)
		return UW_ENDED;
	return i == UW_FOLLOW_MOST ? UW_AGAIN : UW_STEP;
}

/* What comes next may lie elsewhere than in the memo, so all that was taken over has to be at hand.
 */
uw_fn void uw_follow_close(struct uw_memo *o, struct uw_trail *t)
{
	__u64 from = t->open;

	if (!from)
		return;
	t->open = 0;
	from = (from - 1) & (UW_MEMO_FRAMES - 1);
	uw_barrier(from);
	from &= UW_MEMO_FRAMES - 1;
	uw_memo_copy(&t->marks[from], &o->marks[from], t->at - from);
}

/* For gn_check_code: what would be taken over is noted, and the frame is walked. */
uw_fn int uw_follow_tell(struct uw_follow *f)
{
	struct uw_state *s = f->s;
	struct uw_trail *t = f->t;
	struct uw_was *was = &t->was;

	was->pc = s->pc;
	was->sp = s->sp;
	was->fp = s->fp;
	was->kept_at = s->kept_at;
	was->hash = s->hash;
	was->seen = s->hs[1];
	was->at = t->at;
	was->n = s->n;
	was->leaf = s->leaf;
	uw_follow_frame(f);
	if (s->n == was->n)
		return UW_STEP;
	t->told = 1;
	t->then.pc = s->pc;
	t->then.sp = s->sp;
	t->then.fp = s->fp;
	t->then.kept_at = s->kept_at;
	t->then.frame = s->frames[was->n & (GN_MAX_FRAMES - 1)];
	t->then.end = s->end;
	t->then.called = s->called;
	s->leaf = was->leaf;
	s->pc = was->pc;
	s->sp = was->sp;
	s->fp = was->fp;
	s->kept_at = was->kept_at;
	s->hash = was->hash;
	s->hs[1] = was->seen;
	s->n = was->n;
	s->end = GN_END_NONE;
	t->at = was->at;
	return UW_STEP;
}

#define UW_FOLLOW_SEEK 16 /* frames passed over at once, at most */

/* Is the frame stood on one of the memo's? Then t->at says which. */
uw_fn int uw_follow_meets(struct uw_state *s, struct uw_memo *o, struct uw_trail *t)
{
	__u64 off = s->sp - t->base, how;
	__u32 at = t->at;

	if (off & 7 || s->flags != GN_FF_RETADDR)
		return 0;
	off |= s->leaf;
	UW_NO_UNROLL
	for (int i = 0; i < UW_FOLLOW_SEEK; i++) {
		if (at >= o->n || o->marks[at & (UW_MEMO_FRAMES - 1)].sp >= off)
			break;
		at++;
		uw_barrier(at);
	}
	t->at = at;
	if (at >= o->n || o->marks[at & (UW_MEMO_FRAMES - 1)].sp != off)
		return 0;
	how = o->marks[at & (UW_MEMO_FRAMES - 1)].pc;
	if ((how & UW_HOW_PC) != s->pc)
		return 0;
#ifdef UW_HOTSPOT
	how >>= UW_HOW_SHIFT;
	if (how & (UW_HOW_EPOCH | UW_HOW_INTERP) && hs_calls_outside(s))
		return 0;
#endif
	return 1;
}

/* Take over frames from the memo for as long as that goes, before each step. enum uw_next. */
uw_own(uw_follow)(UW_OWN, struct uw_memo *o, struct uw_trail *t)
{
	uw_mem m = UW_OWN_MEM;
	struct uw_follow f = {.s = s, .o = o, .t = t, .m = m};
	int next = UW_STEP;

	if (!s || !o || !t)
		return UW_STEP;
	if (uw_follow_meets(s, o, t))
		next = uw_memo_checks() ? uw_follow_tell(&f) : uw_follow_all(&f);
	if (next == UW_STEP) {
		uw_follow_close(o, t);
		uw_mark_begin(s, t);
	}
	return next;
}

/* ---- the end ---- */

/* gn_check_code: has the step found what the memo would have told? */
uw_fn int uw_follow_is_right(struct uw_state *s, struct uw_trail *t)
{
	const struct gn_frame *f;

	t->told = 0;
	f = &s->frames[(s->n - 1) & (GN_MAX_FRAMES - 1)];
	if (f->pc != t->then.frame.pc || f->data != t->then.frame.data || s->end != t->then.end)
		return 0;
	return s->end || (s->flags == GN_FF_RETADDR && s->pc == t->then.pc && s->sp == t->then.sp &&
			  s->fp == t->then.fp && s->kept_at == t->then.kept_at &&
			  s->called == t->then.called);
}

#ifdef __bpf__
__attribute__((noinline, weak)) int uw_follow_check(struct uw_state *s, struct uw_trail *t)
{
	if (!s || !t || !t->told)
		return 0;
	if (t->outside) {
		t->told = 0;
		return 0;
	}
	t->checked++;
	t->wrong += !uw_follow_is_right(s, t);
	return 0;
}
#else
#define uw_follow_check(s, t) ((void)0)
#endif

#ifdef UW_HOTSPOT
/* How many classes were unloaded, plus 1; 0 unknown. Those whose code is on this stack are not, for
 * as long as it stands still. */
uw_fn __u64 uw_unloads_read(struct uw_state *s, uw_mem m, const struct gn_jvm *j)
{
	__u64 first = j->unloads_at[0] / 8, second = j->unloads_at[1] / 8;

	_Static_assert(GN_UNLOADS_SPAN <= UW_SCRATCH, "it is read there");
	if (!j->unloads || uw_copy(s, m, j->unloads, s->scratch, GN_UNLOADS_SPAN))
		return 0;
	uw_barrier(first);
	uw_barrier(second);
	return s->scratch[first & (GN_UNLOADS_SPAN / 8 - 1)] +
	       s->scratch[second & (GN_UNLOADS_SPAN / 8 - 1)] + 1;
}

uw_own(uw_unloads)(UW_OWN, const struct gn_jvm *j, struct uw_memo *o, struct uw_trail *t)
{
	if (!s || !j || !o || !t)
		return 0;
	t->native = 0;
	t->method_const = j->method_const;
	t->cm_size = j->cm_size;
	t->unloads = uw_unloads_read(s, UW_OWN_MEM, j);
	t->loaded = t->unloads && t->unloads == o->unloads;
	return 0;
}
#endif

/* t->changes: of the tables, before they were looked up. */
uw_memo_global int uw_trail_begin(struct uw_state *s, struct uw_memo *o, struct uw_trail *t)
{
	__u32 known;

	if (!s || !o || !t)
		return 0;
	known = s->gen & 1 && o->gen == s->gen;
	t->base = s->sp & ~0xffffffffULL;
	t->first = s->n;
	t->at = 0;
	t->open = 0;
	t->told = t->again = t->checked = t->wrong = 0;
	t->native = 1;
	t->unloads = t->loaded = 0;
	t->want = UW_HOW_OK;
	t->all = known ? UW_HOW_OK : UW_HOW_OK | UW_HOW_EPOCH;
	if (t->changes & 1 || o->changes != t->changes || o->base != t->base)
		o->n = 0;
	return 0;
}

/* 1 + the place of the stack that a walk has just found; 0: it was not there, and is from now on.
 */
uw_fn __u32 uw_same_met(struct uw_memo *o, __u64 hash)
{
	__u32 sp = o->marks[0].sp & UW_MARK_SP, turn = o->turn & (UW_SAMES - 1);

	for (__u32 i = 0; i < UW_SAMES; i++) {
		if (o->same[i].hash != hash || (o->same[i].sp & UW_MARK_SP) != sp)
			continue;
		o->turn = i ^ 1;
		return i + 1;
	}
	o->same[turn].hash = hash;
	o->same[turn].sp = sp;
	o->same[turn].n = 0;
	o->turn = turn ^ 1;
	return 0;
}

/* The walk is over: it is what the next one has. `changes`: of the tables, after it. */
uw_memo_global int uw_trail_end(struct uw_state *s, struct uw_memo *o, struct uw_trail *t,
				__u64 changes)
{
	__u64 n;

	if (!s || !o || !t)
		return 0;
	n = s->n - t->first;
	if (n > UW_MEMO_FRAMES)
		n = UW_MEMO_FRAMES;
#ifdef __bpf__
	if (t->same_told) {
		const struct uw_same *same = &o->same[(t->same_told - 1) & (UW_SAMES - 1)];

		t->checked += same->n;
		t->wrong += s->hash != same->hash || s->n - t->first != same->n;
	}
#endif
	o->n = 0;
	if (changes != t->changes || !t->keep)
		return 0;
	uw_memo_copy(o->marks, t->marks, t->open ? t->open - 1 : n);
	o->changes = changes;
	o->base = t->base;
	o->gen = s->gen;
	o->unloads = t->unloads;
	o->n = n;
	t->again = uw_same_met(o, s->hash);
	return 0;
}

#endif
