/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a walk came by, kept for the thread's next one: most of a stack is as it was, and is
 * compared word by word instead of walked. Include it after kern/hotspot.h and kern/native.h.
 *
 * A step is *plain* when what it does is told by few words: the frame's pc and sp (and fp, if its
 * rule begins there), the return address it finds and, in interpreted frames, the words that name
 * method and bytecode; and by tables and code that are the same now as then (uw_memo.changes,
 * .gen, .unloads). Where a walk stands on such a frame with the same pc, sp and fp, and those words
 * hold what they held, the step would do what it did; so it is *told*, and so are the frames behind
 * it for as long as that holds. Everything else is walked: leaves, whatever was guessed, stubs, and
 * the end where it is none. So what is found is what a walk without a memo finds, by induction from
 * frame to frame.
 *
 * A memo has the outermost frame first: what changes between two walks is the other end. When all
 * is told up to a thread's start, the hash of the whole stack is known, and if its frames have
 * been sent they are not made.
 *
 * With `gn_check_code` each frame that is told is walked all the same, and it is counted how often
 * that found something else.
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

#define UW_MEMO_FRAMES 256  /* the outermost ones of a stack; a power of two */
#define UW_MEMO_WORDS  64   /* of the stack, beside return addresses; a power of two */
#define UW_TELL_BYTES  8192 /* of stack are compared at once */
#define UW_CHUNK       16   /* return addresses compared in a loop; a power of two */

/* Of a frame: the walk's state before it, and how it went on. */
struct uw_mark {
	__u64 pc; /* above its 48 bits enum uw_how */
	__u32 sp; /* from uw_memo.base; UW_MARK_* in its low bits */
	__u32 fp;
};

#define UW_MARK_LEAF  1 /* it is where a system call was made */
#define UW_MARK_LOOK  2 /* its code is to be looked at in each walk */
#define UW_MARK_FIXED 4 /* in a memo: from here on fp has to be what it was */
#define UW_MARK_SP    (~7u)

#define UW_HOW_SHIFT 48
#define UW_HOW_OK    (UW_HOW_PLAIN | UW_HOW_CALLER)
#define UW_HOW_PC    ((1ULL << UW_HOW_SHIFT) - 1)

/* A frame of a memo. */
struct uw_known {
	struct uw_mark mark; /* with UW_HOW_CALLER if it can be told */
	__u64 hash;	     /* of the stack that begins with this frame */
	__u8 reach;	     /* from this frame on all can be told, up to that number */
	__u8 upto;	     /* so many of uw_memo.word are of this one and those further out */
	__u16 pad[3];
};

struct uw_memo {
	__u64 changes; /* of the tables till then */
	__u64 gen;     /* of the process's code */
	__u64 unloads; /* so many classes had been unloaded, plus 1; 0 unknown */
	__u64 base;    /* all of it lies within 4 GiB from here */
	__u64 sent;    /* a whole stack with these frames, which was sent; as of `lists` */
	__u32 lists;
	__u32 n;      /* frames, the outermost one first */
	__u32 look;   /* 1 + the innermost one with UW_MARK_LOOK; 0: there is none */
	__u32 java;   /* the outermost one of a JVM's code, UW_MEMO_FRAMES: there is none; */
	__u32 interp; /* the outermost interpreted one, likewise */
	__u64 beside; /* the frame just inside of what was told, of the last walk that was not taken
			 in */
	/* What is compared of all frames lies together: it is in no cache, mostly. */
	struct uw_returns {
		__u64 is[UW_CHUNK]; /* the return address, */
		__u32 at[UW_CHUNK]; /* and where it is, from the base */
	} returns[UW_MEMO_FRAMES / UW_CHUNK];
	struct uw_memo_word {
		__u32 at;    /* from the base */
		__u32 frame; /* which has it, by number */
		__u64 is;
	} word[UW_MEMO_WORDS]; /* the outermost frame's first */
	struct uw_known known[UW_MEMO_FRAMES];
	struct gn_frame frames[UW_MEMO_FRAMES];
};

/* The memo's frames that are as they were. In a map: of BPF stack there is little. */
struct uw_tell {
	__u32 first; /* in the memo: the frame that is stood on */
	__u32 low;   /* and the outermost one that might be told */
	__u32 at;    /* those between the first and this one are as they were */
	__u32 sp;    /* of the first, from the memo's base */
	__u32 bytes; /* so many of the stack are at hand */
	__u32 how;   /* bits that any of the frames taken over has */
	__u32 ended; /* the thread's start is reached */
	__u32 far;   /* what is needed next is not at hand */
	__u32 fp_at; /* where those have the caller's fp; 0: none saved it */
	__u64 kept;  /* uw_state.kept_at behind them */
};

/* A walk with a memo: where in that it is, and what the next walk is to have. */
struct uw_trail {
	__u64 changes, base;
	__u64 unloads; /* as uw_memo.unloads */
	__u32 first;   /* frames that were there before (the kernel's) */
	__u32 left;    /* of the memo, the outer ones: the walk is not past them */
	__u32 tail;    /* so many of the memo's frames, the outermost ones, were told at the end */
	__u32 looked;  /* as uw_memo.look: that its code is what it was */
	__u32 keep;    /* for the next walk */
	__u32 native;  /* the process has no JVM */
	__u32 lists; /* changes when frames are to be sent again; in user space not 0: all were sent
		      */
	__u32 cm_size;
	__u32 put; /* trail_end(): frames of the walk that are not in the memo yet */
	struct uw_tell tell;
	/* gn_check_code: it reads another thread's stack, which the JVM may change between what is
	 * told and the walk: a frame told is no evidence then, but a whole stack is, which is
	 * looked at once more. */
	__u32 outside;
	__u32 checked, wrong; /* frames that were told and walked; those that were others */
	__u32 told;	      /* `then` is what the step is to find, */
	struct uw_told {
		__u64 pc, sp, fp, kept_at;
		struct gn_frame frame;
		__u32 end, called;
	} then;
	struct uw_whole { /* and this the walk, from here on */
		__u64 pc, sp, fp, hash;
		__u32 n, from, leaf; /* n: of all its frames; 0: none was told */
	} whole;
	struct uw_was { /* the walk's state before that: the BPF stack has no room */
		__u64 pc, sp, fp, kept_at, hash, power, seen;
		__u32 left, n, leaf;
	} was;
	struct uw_mark marks[UW_MEMO_FRAMES]; /* of the walk's frames, the last ones */
};

/* Masked where it is used: the verifier loses sight of it otherwise. */
uw_fn __u64 uw_memo_index(__u64 i)
{
	uw_barrier(i);
	return i & (UW_MEMO_FRAMES - 1);
}

uw_fn struct uw_mark *uw_mark_at(struct uw_trail *t, __u64 i)
{
	return &t->marks[uw_memo_index(i)];
}

uw_fn struct uw_known *uw_memo_known(struct uw_memo *o, __u64 i)
{
	return &o->known[uw_memo_index(i)];
}

uw_fn struct uw_mark *uw_memo_mark(struct uw_memo *o, __u64 i)
{
	return &uw_memo_known(o, i)->mark;
}

uw_fn struct uw_returns *uw_memo_returns(struct uw_memo *o, __u64 i)
{
	return &o->returns[uw_memo_index(i) / UW_CHUNK];
}

uw_fn struct gn_frame *uw_memo_frame(struct uw_memo *o, __u64 i)
{
	return &o->frames[uw_memo_index(i)];
}

/* Does a walk that begins like that stand on its innermost frame? */
uw_fn int uw_memo_begins(struct uw_memo *o, const struct uw_state *s)
{
	const struct uw_mark *top = uw_memo_mark(o, o->n - 1);

	return o->n && (top->pc & UW_HOW_PC) == s->pc && (top->sp & UW_MARK_SP) == (__u32)s->sp;
}

#ifndef __bpf__
/* Has the reader the frames of the stack `id`? In BPF: kern/stack_id.bpf.h. */
uw_fn int uw_stack_is_sent(__u64 id, __u32 lists)
{
	return lists != 0;
}
#endif

uw_fn int uw_memo_is_sent(struct uw_memo *o, const struct uw_trail *t, __u64 id)
{
	if (o->sent == id && o->lists == t->lists)
		return 1;
	if (!uw_stack_is_sent(id, t->lists))
		return 0;
	o->sent = id;
	o->lists = t->lists;
	return 1;
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
	mark->sp = ((__u32)(s->sp - t->base) & UW_MARK_SP) | s->leaf;
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
	return 0;
}

/* ---- comparing ---- */

/* Where the stack is read to: where a walk has no frames, or none as yet. */
#define UW_TELL_AT (GN_MAX_FRAMES / 2)
_Static_assert(UW_TELL_AT * sizeof(struct gn_frame) >= UW_TELL_BYTES, "no room for the stack");

/* For what is done frame by frame with uw_each(). */
struct uw_pair {
	struct uw_state *s;
	struct uw_memo *o;
	struct uw_trail *t;
};

/* The word at `addr` from the base, which is at hand. */
uw_fn __u64 uw_tell_at(const struct uw_state *s, const struct uw_tell *k, __u64 addr)
{
	const __u64 *room = (const __u64 *)&s->frames[UW_TELL_AT];
	__u64 off = (__u32)(addr - k->sp) / 8;

	uw_barrier(off);
	return room[off & (UW_TELL_BYTES / 8 - 1)];
}

/* Is it? */
uw_fn int uw_tell_has(struct uw_tell *k, __u64 addr)
{
	if ((__u32)(addr - k->sp) < k->bytes)
		return 1;
	k->far = 1;
	return 0;
}

/*
 * From the frame `at` outwards, up to UW_CHUNK of them: are return addresses what they were? 1: one
 * is not, or there are no more. In loops of some rounds each: bpf_loop() calls a function for each
 * of its rounds, which costs more than one of these, and of a long loop the verifier follows each.
 */
static long uw_tell_returns(__u32 i, struct uw_pair *w)
{
	struct uw_tell *k = &w->t->tell;
	const struct uw_returns *r = uw_memo_returns(w->o, k->at);
	__u64 stop = k->low ? k->low : 1, at = k->at, in = at & (UW_CHUNK - 1), ok = 1;
	__u32 left = UW_CHUNK;

	UW_NO_UNROLL
	for (; left && at >= stop && in < UW_CHUNK; left--) {
		__u64 ret;

		uw_barrier(in);
		ret = r->at[in & (UW_CHUNK - 1)];
		ok = uw_tell_has(k, ret) &&
		     UW_CODE_ADDR(uw_tell_at(w->s, k, ret)) == r->is[in & (UW_CHUNK - 1)];
		if (!ok)
			break;
		at--;
		in--;
		uw_barrier(at);
	}
	k->at = at;
	return !ok || at < stop;
}

/* The same by the other words that told these frames, UW_CHUNK of them in a turn. */
static long uw_tell_words(__u32 turn, struct uw_pair *w)
{
	struct uw_tell *k = &w->t->tell;
	__u32 n = uw_memo_known(w->o, k->first)->upto, from = turn * UW_CHUNK;

	UW_NO_UNROLL
	for (__u32 i = 0; i < UW_CHUNK; i++) {
		__u32 at = from + i;
		const struct uw_memo_word *word;

		if (at >= n)
			return 1;
		uw_barrier(at);
		word = &w->o->word[at & (UW_MEMO_WORDS - 1)];
		if (word->frame > k->at &&
		    (!uw_tell_has(k, word->at) || uw_tell_at(w->s, k, word->at) != word->is))
			k->at = word->frame;
	}
	return 0;
}

/* Is the frame stood on one of the memo's? Then t->left says which. */
#define UW_SEEK 16 /* frames passed over at once, at most */

uw_fn int uw_tell_meets(struct uw_state *s, struct uw_memo *o, struct uw_trail *t)
{
	const struct uw_mark *mark;
	__u64 sp = s->sp - t->base, how;
	__u32 left = t->left;

	if (sp & 7 || s->flags != GN_FF_RETADDR)
		return 0;
	UW_NO_UNROLL
	for (int i = 0; i < UW_SEEK; i++) {
		if (!left || (uw_memo_mark(o, left - 1)->sp & UW_MARK_SP) >= sp)
			break;
		left--;
		uw_barrier(left);
	}
	t->left = left;
	if (!left)
		return 0;
	mark = uw_memo_mark(o, left - 1);
	how = mark->pc >> UW_HOW_SHIFT;
	if ((mark->sp & (UW_MARK_SP | UW_MARK_LEAF)) != (sp | s->leaf) ||
	    (mark->pc & UW_HOW_PC) != s->pc)
		return 0;
	if (mark->sp & UW_MARK_FIXED && s->fp - t->base != mark->fp)
		return 0;
#ifdef UW_HOTSPOT
	if (how & (UW_HOW_EPOCH | UW_HOW_INTERP) && !(mark->sp & UW_MARK_LOOK) &&
	    hs_calls_outside(s))
		return 0;
#endif
	return how & UW_HOW_CALLER && s->n < UW_TELL_AT;
}

#ifdef UW_HOTSPOT
/* Does its block say what it said? It is on a stack that stands still. */
uw_fn int uw_tell_same_code(struct uw_state *s, uw_mem m, const struct gn_jvm *j, struct uw_code *c)
{
	__u64 *looked = &s->looked[c->data & 3];

	if (s->looked_visit != s->visit)
		s->looked[0] = s->looked[1] = s->looked[2] = s->looked[3] = 0;
	s->looked_visit = s->visit;
	if (s->visit && *looked == c->key)
		return 1;
	if (!hs_code_same(s, m, j, c))
		return 0;
	*looked = c->key;
	return 1;
}

/* Is the code of the frame that has to be looked at what it was? In a walk this is done once. */
uw_fn void uw_tell_look(struct uw_state *s, uw_mem m, const struct gn_jvm *j, struct uw_memo *o,
			struct uw_trail *t)
{
	__u64 pc = s->pc;
	struct uw_code *c;

	if (!j)
		return;
	s->pc = uw_memo_mark(o, o->look - 1)->pc & UW_HOW_PC;
	c = hs_code(s);
	if (c->key == hs_code_key(s) && c->data == uw_memo_frame(o, o->look - 1)->data &&
	    uw_tell_same_code(s, m, j, c))
		t->looked = o->look;
	s->pc = pc;
}
#else
#define uw_tell_look(s, m, j, o, t) ((void)0)
#endif

/* Tells how far out the memo may tell frames. */
uw_fn __u32 uw_tell_low(struct uw_state *s, uw_mem m, const struct gn_jvm *j, struct uw_memo *o,
			struct uw_trail *t)
{
	__u32 first = t->left - 1, low = uw_memo_known(o, first)->reach;
	__u32 most = s->max - s->n;

	if (o->look > low && o->look <= first + 1) {
		if (o->look != t->looked)
			uw_tell_look(s, m, j, o, t);
		if (o->look != t->looked)
			low = o->look;
	}
	return first + 1 - low <= most ? low : first + 1 - most;
}

/* Up to which of them is the stack that was read what it was? */
uw_memo_global int uw_tell_compare(struct uw_state *s, struct uw_memo *o, struct uw_trail *t)
{
	struct uw_pair w = {.s = s, .o = o, .t = t};

	if (!s || !o || !t)
		return 0;
	uw_each(UW_MEMO_FRAMES / UW_CHUNK + 1, uw_tell_returns, &w);
	uw_each(UW_MEMO_WORDS / UW_CHUNK, uw_tell_words, &w);
	return 0;
}

/* From the frame stood on outwards: which are as they were? */
uw_fn void uw_tell(struct uw_state *s, uw_mem m, const struct gn_jvm *j, struct uw_memo *o,
		   struct uw_trail *t)
{
	struct uw_tell *k = &t->tell;
	__u64 bytes;

	k->at = k->first = t->left - 1;
	k->low = uw_tell_low(s, m, j, o, t);
	k->sp = (__u32)(s->sp - t->base);
	k->ended = k->far = k->bytes = 0;
	if (k->low > k->first)
		return;
	bytes = (uw_memo_mark(o, k->low ? k->low - 1 : 0)->sp & UW_MARK_SP) - k->sp;
	if (bytes > UW_TELL_BYTES)
		bytes = UW_TELL_BYTES;
	uw_barrier(bytes);
	if (bytes && bytes <= UW_TELL_BYTES && s->sp < UW_ADDR_MAX &&
	    !uw_read(m, &s->frames[UW_TELL_AT], bytes, s->sp))
		k->bytes = bytes;
	uw_tell_compare(s, o, t);
	k->ended = !k->low && !k->at;
#ifdef UW_HOTSPOT
	/* before any Java code is passed a JVM may know better where it goes on: hs_recover() */
	if (!t->native && !s->hs[HS_SEEN] && k->first < o->java)
		k->ended = 0;
#endif
}

/* ---- taking over what is told ---- */

/* Tells where the caller has its UW_REG_KEPT: as native_kept(). Without branches, as the next. */
uw_fn __u64 uw_tell_kept(__u64 kept, __u64 how, __u64 sp)
{
	__u64 words = UW_HOW_KEPT(how), same = 0 - (((words ^ UW_HOW_KEPT_SAME) - 1) >> 63),
	      known = 0 - ((0 - words) >> 63);

	return (kept & same) | ((sp - (words - 1) * 8) & known & ~same);
}

/* Tells where the caller's fp is, if the frame saved it. */
uw_fn __u64 uw_tell_saved(__u64 at, __u64 how, __u64 ret)
{
	__u64 words = UW_HOW_SAVED(how), saved = 0 - ((0 - words) >> 63);

	return (at & ~saved) | ((ret + 8 - words * 8) & saved);
}

/* The i-th from the first on is noted, and its mark is the trail's. */
static long uw_tell_take_step(__u32 i, struct uw_pair *w)
{
	struct uw_state *s = w->s;
	struct uw_memo *o = w->o;
	struct uw_trail *t = w->t;
	struct uw_tell *k = &t->tell;
	__u64 at = k->first - i;
	const struct uw_mark *mark = uw_memo_mark(o, at);
	struct uw_mark *to = uw_mark_at(t, s->n - t->first);
	__u64 how = mark->pc >> UW_HOW_SHIFT;

	to->pc = mark->pc | 1ULL << UW_HOW_PLAIN_BIT;
	to->sp = mark->sp & ~UW_MARK_FIXED;
	to->fp = mark->fp;
	s->frames[s->n & (GN_MAX_FRAMES - 1)] = *uw_memo_frame(o, at);
	s->n++;
	s->power *= UW_HASH_BASE;
	k->how |= how;
	k->fp_at = uw_tell_saved(k->fp_at, how, uw_memo_returns(o, at)->at[at & (UW_CHUNK - 1)]);
	k->kept = uw_tell_kept(k->kept, how, t->base + (uw_memo_mark(o, at - 1)->sp & UW_MARK_SP));
	return 0;
}

uw_memo_global int uw_tell_take(struct uw_state *s, struct uw_memo *o, struct uw_trail *t,
				__u32 count)
{
	struct uw_pair w = {.s = s, .o = o, .t = t};

	if (!s || !o || !t)
		return 0;
	t->tell.how = t->tell.fp_at = 0;
	t->tell.kept = s->leaf ? UW_KEPT_IN_REG : s->kept_at;
	uw_each(count, uw_tell_take_step, &w);
	return 0;
}

/* Behind those that were taken over the walk goes on. */
uw_fn int uw_tell_part(struct uw_state *s, struct uw_memo *o, struct uw_trail *t)
{
	const struct uw_tell *k = &t->tell;
	const struct uw_mark *mark = uw_memo_mark(o, k->at);

	s->hash -= s->power * uw_memo_known(o, k->at)->hash;
	s->kept_at = k->kept;
	if (k->fp_at)
		s->fp = uw_tell_at(s, k, k->fp_at);
	s->pc = mark->pc & UW_HOW_PC;
	s->sp = t->base + (mark->sp & UW_MARK_SP);
	s->called = s->leaf && k->at + 1 == k->first;
	s->leaf = 0;
	t->left = k->at + 1;
#ifdef UW_HOTSPOT
	s->hs[HS_SEEN] |= !!(k->how & UW_HOW_JAVA);
#endif
	return k->far ? UW_AGAIN : UW_STEP;
}

uw_fn int uw_tell_over(struct uw_state *s, struct uw_memo *o, struct uw_trail *t)
{
	__u64 hash = s->hash + s->power * uw_memo_known(o, t->tell.first)->hash;
	__u32 count = t->tell.first - t->tell.at;

	if (t->tell.ended) {
		count++;
		t->tail = count;
		if (!uw_memo_checks() && !s->blind &&
		    uw_memo_is_sent(o, t, uw_stack_id(s->before, hash, 1))) {
			s->same = 1;
			s->n += count;
			s->hash = hash;
			uw_end(s, GN_END_COMPLETE);
			return UW_ENDED;
		}
	}
	if (!count)
		return UW_STEP;
	uw_tell_take(s, o, t, count);
	s->hash = hash;
	if (!t->tell.ended)
		return uw_tell_part(s, o, t);
	uw_end(s, GN_END_COMPLETE);
	return UW_ENDED;
}

/* ---- gn_check_code ---- */

#ifdef __bpf__
/* The whole walk from here on, if that is told, for the first time in it. */
uw_fn void uw_check_whole(struct uw_state *s, struct uw_memo *o, struct uw_trail *t)
{
	struct uw_whole *whole = &t->whole;
	struct uw_tell *k = &t->tell;

	if (whole->n || !k->ended)
		return;
	whole->pc = s->pc;
	whole->sp = s->sp;
	whole->fp = s->fp;
	whole->leaf = s->leaf;
	whole->hash = s->hash + s->power * uw_memo_known(o, k->first)->hash;
	whole->from = s->n;
	whole->n = s->n + k->first + 1;
}

/* The walk is over, and what was told is evidence only if it is so still: the JVM changes stacks of
 * threads that do not run, return addresses of frames that are to be deoptimised. */
uw_own(uw_check_again)(UW_OWN, const struct gn_jvm *j, struct uw_memo *o, struct uw_trail *t)
{
	struct uw_whole *whole;
	__u32 n;

	if (!s || !o || !t || !t->whole.n)
		return 0;
	whole = &t->whole;
	n = s->n;
	s->pc = whole->pc;
	s->sp = whole->sp;
	s->fp = whole->fp;
	s->leaf = whole->leaf;
	s->flags = GN_FF_RETADDR;
	s->n = whole->from;
	t->left = o->n;
	t->looked = t->tell.ended = 0;
	if (n <= UW_TELL_AT && uw_tell_meets(s, o, t))
		uw_tell(s, UW_OWN_MEM, j, o, t);
	if (!t->tell.ended)
		whole->n = 0;
	s->n = n;
	return 0;
}

/* What would be taken over is noted, of one frame, and it is walked: UW_STEP. */
__attribute__((noinline, weak)) int uw_check_tell(struct uw_state *s, struct uw_memo *o,
						  struct uw_trail *t)
{
	struct uw_tell *k;
	struct uw_was *was;

	if (!s || !o || !t)
		return UW_STEP;
	was = &t->was;
	k = &t->tell;
	uw_check_whole(s, o, t);
	was->pc = s->pc;
	was->sp = s->sp;
	was->fp = s->fp;
	was->kept_at = s->kept_at;
	was->hash = s->hash;
	was->power = s->power;
	was->seen = s->hs[1];
	was->left = t->left;
	was->n = s->n;
	was->leaf = s->leaf;
	if (k->at != k->first) {
		k->ended = 0;
		k->at = k->first - 1;
	}
	uw_tell_over(s, o, t);
	t->tail = 0;
	t->told = s->n != was->n;
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
	s->power = was->power;
	s->hs[1] = was->seen;
	s->n = was->n;
	s->end = GN_END_NONE;
	t->left = was->left;
	uw_mark_begin(s, t);
	return UW_STEP;
}

/* Has the step found what the memo would have told? */
uw_fn int uw_check_is_right(struct uw_state *s, struct uw_trail *t)
{
	const struct gn_frame *f = &s->frames[(s->n - 1) & (GN_MAX_FRAMES - 1)];

	if (f->pc != t->then.frame.pc || f->data != t->then.frame.data || s->end != t->then.end)
		return 0;
	return s->end || (s->flags == GN_FF_RETADDR && s->pc == t->then.pc && s->sp == t->then.sp &&
			  s->fp == t->then.fp && s->kept_at == t->then.kept_at &&
			  s->called == t->then.called);
}

__attribute__((noinline, weak)) int uw_check_step(struct uw_state *s, struct uw_trail *t)
{
	if (!s || !t || !t->told)
		return 0;
	t->told = 0;
	if (t->outside)
		return 0;
	t->checked++;
	t->wrong += !uw_check_is_right(s, t);
	return 0;
}
#else
#define uw_check_tell(s, o, t)		  UW_STEP
#define uw_check_again_own(s, m, j, o, t) ((void)0)
#define uw_check_step(s, t)		  ((void)0)
#endif

/* Take over frames from the memo for as long as that goes, before each step. enum uw_next. `j`:
 * NULL without a JVM. */
uw_own(uw_follow)(UW_OWN, const struct gn_jvm *j, struct uw_memo *o, struct uw_trail *t)
{
	int next = UW_STEP;

	if (!s || !o || !t)
		return UW_STEP;
	if (uw_tell_meets(s, o, t)) {
		uw_tell(s, UW_OWN_MEM, j, o, t);
		next = uw_memo_checks() ? UW_CHECK : uw_tell_over(s, o, t);
	}
	if (next == UW_STEP)
		uw_mark_begin(s, t);
	return next;
}

/* ---- the beginning and the end ---- */

#ifdef UW_HOTSPOT
/* Tells how many classes were unloaded, plus 1; 0 unknown. Those whose code is on this stack are
 * not, for as long as it stands still. */
uw_fn __u64 uw_unloads_read(struct uw_state *s, uw_mem m, const struct gn_jvm *j)
{
	__u64 other = (j->unloads_at[0] | j->unloads_at[1]) / 8;

	_Static_assert(GN_UNLOADS_SPAN <= UW_SCRATCH, "it is read there");
	uw_barrier(other);
	other &= GN_UNLOADS_SPAN / 8 - 1;
	if (!j->unloads || uw_copy(s, m, j->unloads, s->scratch, other * 8 + 8))
		return 0;
	return s->scratch[0] + s->scratch[other] + 1;
}

/* Once classes were unloaded what a Method* was may be another. */
uw_own(uw_unloads)(UW_OWN, const struct gn_jvm *j, struct uw_memo *o, struct uw_trail *t)
{
	if (!s || !j || !o || !t)
		return 0;
	if (!s->visit || s->unloads_visit != s->visit || s->unloads_tgid != s->tgid) {
		s->unloads = uw_unloads_read(s, UW_OWN_MEM, j);
		s->unloads_visit = s->visit;
		s->unloads_tgid = s->tgid;
	}
	t->unloads = s->unloads;
	if ((!t->unloads || t->unloads != o->unloads) && t->left > o->interp)
		t->left = o->interp;
	return 0;
}
#endif

/* Only the n outermost frames are kept. */
uw_fn void uw_memo_cut(struct uw_memo *o, __u32 n)
{
	o->n = n;
	if (o->look > n)
		o->look = 0;
	if (o->java >= n)
		o->java = UW_MEMO_FRAMES;
	if (o->interp >= n)
		o->interp = UW_MEMO_FRAMES;
}

/* t->changes: of the tables, before they were looked up. */
uw_fn void uw_trail_begin(struct uw_state *s, struct uw_memo *o, struct uw_trail *t)
{
	t->base = s->sp & ~0xffffffffULL;
	if (!o->n || t->changes & 1 || o->changes != t->changes || o->base != t->base)
		uw_memo_cut(o, 0);
	t->first = s->n;
	t->left = o->n;
	/* once a compiler has run code may be other code */
	if (!(s->gen & 1 && o->gen == s->gen) && t->left > o->java)
		t->left = o->java;
	t->tail = t->looked = t->told = t->whole.n = t->checked = t->wrong = 0;
	t->unloads = 0;
	t->native = 1;
}

/* Does what the frame saved lie above its sp? `top`: behind its return address; `next`: its caller.
 */
uw_fn int uw_put_lies(const struct uw_mark *mark, __u32 top, const struct uw_mark *next)
{
	__u32 how = mark->pc >> UW_HOW_SHIFT, sp = mark->sp & UW_MARK_SP;

	return top > sp && top - sp >= UW_HOW_SAVED(how) * 8 && top <= (next->sp & UW_MARK_SP);
}

/* The word at `addr`, of the frame `at`, has to stay what it is. 0: there is no room. */
uw_fn int uw_put_word(struct uw_memo *o, __u32 at, __u32 addr, __u64 is)
{
	__u64 i = uw_memo_known(o, at)->upto;

	if (i >= UW_MEMO_WORDS)
		return 0;
	uw_barrier(i);
	i &= UW_MEMO_WORDS - 1;
	o->word[i].at = addr;
	o->word[i].frame = at;
	o->word[i].is = is;
	uw_memo_known(o, at)->upto = i + 1;
	return 1;
}

/* An interpreted frame's: they name the method, the bytecode and its caller's sp. */
uw_fn int uw_put_interp(struct uw_memo *o, struct uw_trail *t, __u32 at, __u32 fp, __u64 sp)
{
	const struct gn_frame *f = uw_memo_frame(o, at);

	return uw_put_word(o, at, fp - 64, (f->data >> 16) + t->cm_size + (f->data & 0xffff)) &&
	       uw_put_word(o, at, fp - 24, f->pc & UW_HOW_PC) && uw_put_word(o, at, fp - 8, sp);
}

/* Puts what tells the frame `at`, which is not the outermost, into the memo. 0: it cannot be told.
 */
uw_fn int uw_put_told(struct uw_memo *o, struct uw_trail *t, const struct uw_mark *mark, __u32 at,
		      __u32 *fixed)
{
	const struct uw_mark *next = uw_memo_mark(o, at - 1);
	__u32 how = mark->pc >> UW_HOW_SHIFT, sp = next->sp & UW_MARK_SP;
	__u32 top = how & UW_HOW_INTERP ? mark->fp + 16 : sp;
	struct uw_returns *r = uw_memo_returns(o, at);
	__u64 in = at;

	uw_barrier(in);
	if (UW_HOW_SAVED(how) == UW_HOW_END || !uw_put_lies(mark, top, next))
		return 0;
	if (how & UW_HOW_INTERP && !uw_put_interp(o, t, at, mark->fp, o->base + sp))
		return 0;
	r->at[in & (UW_CHUNK - 1)] = top - 8;
	r->is[in & (UW_CHUNK - 1)] = next->pc & UW_HOW_PC;
	if (UW_HOW_SAVED(how)) {
		if (*fixed && !uw_put_word(o, at, top - UW_HOW_SAVED(how) * 8, o->base + next->fp))
			return 0;
		*fixed = 0;
	}
	return 1;
}

/* Its code is to be looked at in each walk, of one frame. */
uw_fn int uw_put_look(struct uw_memo *o, const struct uw_mark *mark, __u32 at)
{
	if (!(mark->sp & UW_MARK_LOOK))
		return 1;
	if (o->look)
		return 0;
	o->look = at + 1;
	return 1;
}

/* 1: the innermost frame is no plain one, such as an interrupted leaf: it is of no use in a memo.
 */
uw_fn __u32 uw_trail_bare(const struct uw_trail *t)
{
	return !(t->marks[0].pc >> UW_HOW_PLAIN_BIT);
}

/*
 * Of a thread that was interrupted the inner frames are hardly met again, and to note them costs
 * as much as they would save: the memo stays as it is where most of the stack was told. But when
 * two such walks, one after the other, had the same frame just inside of what was told, the second
 * one's are taken in.
 */
uw_fn int uw_trail_adds_little(struct uw_state *s, struct uw_memo *o, struct uw_trail *t)
{
	__u64 walked = s->n - t->first - t->tail;
	const struct uw_mark *last = uw_mark_at(t, walked - 1);
	__u64 beside = last->pc << 16 ^ last->sp;

	if (!uw_trail_bare(t) || 2 * t->tail < s->n - t->first)
		return 0;
	if (!t->native && (o->gen != s->gen || o->unloads != t->unloads))
		return 0;
	if (walked <= 1)
		return 1;
	if (o->beside == beside)
		return 0;
	o->beside = beside;
	return 1;
}

/* The outermost one of the walk's frames that the memo does not have yet becomes its innermost. */
static long uw_put_step(__u32 i, struct uw_pair *w)
{
	struct uw_memo *o = w->o;
	struct uw_trail *t = w->t;
	__u32 at = o->n, how, fixed, good;
	const struct uw_known *next = uw_memo_known(o, at - 1);
	struct uw_known *to = uw_memo_known(o, at);
	const struct uw_mark *mark;
	const struct gn_frame *f;

	if (at >= UW_MEMO_FRAMES || t->put <= uw_trail_bare(t))
		return 1;
	t->put--;
	mark = uw_mark_at(t, t->put);
	f = &w->s->frames[(t->first + t->put) & (GN_MAX_FRAMES - 1)];
	*uw_memo_frame(o, at) = *f;
	to->hash = uw_frame_hash(f->pc, f->data) + (at ? UW_HASH_BASE * next->hash : 0);
	to->upto = at ? next->upto : 0;
	how = mark->pc >> UW_HOW_SHIFT;
	fixed = at && next->mark.sp & UW_MARK_FIXED;
	good = (how & UW_HOW_OK) == UW_HOW_OK && (how & UW_HOW_NEAR || !(how & UW_HOW_FP)) &&
	       (at ? uw_put_told(o, t, mark, at, &fixed) : UW_HOW_SAVED(how) == UW_HOW_END) &&
	       uw_put_look(o, mark, at);
	fixed = good && (fixed || how & UW_HOW_FP);
	to->reach = at && next->mark.pc >> UW_HOW_SHIFT & UW_HOW_CALLER ? next->reach : at;
	if (how & UW_HOW_JAVA && o->java > at)
		o->java = at;
	if (how & UW_HOW_INTERP && o->interp > at)
		o->interp = at;
	how &= ~UW_HOW_OK;
	to->mark.pc = (mark->pc & UW_HOW_PC) | (__u64)(good ? how | UW_HOW_CALLER : how)
						       << UW_HOW_SHIFT;
	to->mark.sp = fixed ? mark->sp | UW_MARK_FIXED : mark->sp;
	to->mark.fp = mark->fp;
	o->n = at + 1;
	return 0;
}

/* The walk is over: it is what the next one has. `changes`: of the tables, after it. */
uw_memo_global int uw_trail_end(struct uw_state *s, struct uw_memo *o, struct uw_trail *t,
				__u64 changes)
{
	struct uw_pair w = {.s = s, .o = o, .t = t};

	if (!s || !o || !t)
		return 0;
	if (t->whole.n) {
		t->checked += t->whole.n - t->first;
		t->wrong += s->hash != t->whole.hash || s->n != t->whole.n;
	}
	if (changes != t->changes || !t->keep) {
		uw_memo_cut(o, 0);
		return 0;
	}
	if (uw_trail_adds_little(s, o, t))
		return 0;
	if (o->n != t->tail)
		uw_memo_cut(o, t->tail);
	o->changes = changes;
	o->base = t->base;
	o->gen = s->gen;
	o->unloads = t->unloads;
	t->put = s->n - t->first - t->tail;
	if (t->put > uw_trail_bare(t))
		uw_each(UW_MEMO_FRAMES, uw_put_step, &w);
	return 0;
}

#endif
