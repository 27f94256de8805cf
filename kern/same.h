/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A whole stack, as it was: who waits has mostly the stack that it had when it waited last, or
 * the time before. Once a walk has found one again the words that led through it are noted apart:
 * return addresses, what names method and bytecode of interpreted frames, and frame pointers where
 * a rule goes by them. Where they hold what they held, at the same sp and from the same pc, each
 * step would do what it did (kern/memo.h), so the walk is over before it has begun: its hash is
 * known, and its frames are not made. That is for those whose frames nobody asks for, since they
 * have been sent.
 *
 * Code that has to be looked at in each walk is looked at here, too. With `gn_check_code` the walk
 * is made all the same, and it is counted how often it found something else.
 */
#ifndef GNOMON_SAME_H
#define GNOMON_SAME_H

#include "memo.h"

/* Where a part of the stack is read to: where a walk has no frames, or none as yet. */
#define UW_SAME_AT (GN_MAX_FRAMES / 2)
_Static_assert(UW_SAME_AT * sizeof(struct gn_frame) >= UW_SAME_BYTES, "no room for the stack");

uw_fn __u64 uw_same_word(const struct uw_state *s, __u64 at)
{
	const __u64 *room = (const __u64 *)&s->frames[UW_SAME_AT];

	uw_barrier(at);
	return room[at & (UW_SAME_BYTES / 8 - 1)];
}

/* `bytes` of stack from sp on, which is aligned. 0, or negative. */
uw_fn int uw_same_read(struct uw_state *s, uw_mem m, __u64 bytes)
{
	uw_barrier(bytes);
	if (!bytes || bytes > UW_SAME_BYTES || s->sp >= UW_ADDR_MAX)
		return -1;
	return uw_read(m, &s->frames[UW_SAME_AT], bytes, s->sp);
}

/* ---- noting one ---- */

/* From the outermost frame inwards. */
struct uw_same_walk {
	struct uw_state *s;
	struct uw_memo *o;
	struct uw_same *same;
	__u64 sp; /* of the innermost one */
	__u32 cm_size;
	__u32 fp;  /* the frame passed last goes by its fp, */
	__u32 bad; /* or no such stack can be told */
};

/* The word at `addr` has to stay what it is, which is `want`; `code`: a return address. */
uw_fn void uw_same_add(struct uw_same_walk *w, __u64 addr, __u64 want, int code)
{
	struct uw_same *same = w->same;
	__u64 off = addr - w->sp, word, n = same->words;

	if (off & 7 || off >= same->bytes || n >= UW_SAME_WORDS) {
		w->bad = 1;
		return;
	}
	word = uw_same_word(w->s, off / 8);
	if ((code ? UW_CODE_ADDR(word) : word) != want)
		w->bad = 1;
	uw_barrier(n);
	same->at[n & (UW_SAME_WORDS - 1)] = off / 8;
	same->word[n & (UW_SAME_WORDS - 1)] = word;
	same->words = n + 1;
}

uw_fn void uw_same_look(struct uw_same *same, const struct uw_mark *mark, struct uw_same_walk *w)
{
	__u64 n = same->looks;

	if (!(mark->sp & UW_MARK_LOOK))
		return;
	if (n >= UW_SAME_LOOKS)
		w->bad = 1;
	uw_barrier(n);
	same->look[n & (UW_SAME_LOOKS - 1)] = mark->pc & UW_HOW_PC;
	same->data[n & (UW_SAME_LOOKS - 1)] = mark->frame.data;
	same->looks = n + 1;
}

uw_fn void uw_same_interp(struct uw_same_walk *w, const struct gn_frame *f, __u64 fp, __u64 sp)
{
	uw_same_add(w, fp - 64, (f->data >> 16) + w->cm_size + (f->data & 0xffff), 0);
	uw_same_add(w, fp - 24, f->pc & UW_HOW_PC, 0);
	uw_same_add(w, fp - 8, sp, 0);
}

/* The frame i from the outermost one: as uw_follow_frame(). 1: it is the last to be looked at. */
static long uw_same_step(__u32 i, struct uw_same_walk *w)
{
	struct uw_memo *o = w->o;
	__u32 at = o->n - 1 - i, how;
	const struct uw_mark *mark = &o->marks[at & (UW_MEMO_FRAMES - 1)];
	const struct uw_mark *next = &o->marks[(at + 1) & (UW_MEMO_FRAMES - 1)];
	__u64 sp, top, fp = o->base + mark->fp;

	how = mark->pc >> UW_HOW_SHIFT;
	if ((how & UW_HOW_OK) != UW_HOW_OK || (how & UW_HOW_FP && !(how & UW_HOW_NEAR)))
		w->bad = 1;
	w->same->how |= how;
	uw_same_look(w->same, mark, w);
	if (!i) {
		w->bad |= UW_HOW_SAVED(how) != UW_HOW_END;
		return w->bad & 1;
	}
	sp = top = o->base + (next->sp & UW_MARK_SP);
	if (how & UW_HOW_INTERP) {
		uw_same_interp(w, &mark->frame, fp, sp);
		top = fp + 16;
	}
	if (UW_HOW_SAVED(how)) {
		if (w->fp)
			uw_same_add(w, top - UW_HOW_SAVED(how) * 8, o->base + next->fp, 0);
		w->fp = 0;
	}
	uw_same_add(w, top - 8, next->pc & UW_HOW_PC, 1);
	w->fp |= !!(how & UW_HOW_FP);
	return (w->bad | !at) & 1; /* which it is, but the verifier does not know */
}

/* The walk has found the one at `at` again: note the whole of it. Its registers are gone. */
uw_own(uw_same_make)(UW_OWN, struct uw_memo *o, struct uw_trail *t, __u32 at)
{
	struct uw_same_walk w = {.s = s, .o = o};
	struct uw_same *same;
	__u64 n, sp;

	if (!s || !o || !t)
		return 0;
	w.same = same = &o->same[at & (UW_SAMES - 1)];
	w.cm_size = t->cm_size;
	n = o->n;
	same->n = 0;
	if (!n || n > UW_MEMO_FRAMES || n != s->n - t->first || s->n > UW_SAME_AT ||
	    s->end != GN_END_COMPLETE || s->blind)
		return 0;
	uw_barrier(n);
	w.sp = o->base + (o->marks[0].sp & UW_MARK_SP);
	same->bytes = (o->marks[(n - 1) & (UW_MEMO_FRAMES - 1)].sp & UW_MARK_SP) -
		      (o->marks[0].sp & UW_MARK_SP);
	same->how = same->words = same->looks = 0;
	sp = s->sp;
	s->sp = w.sp;
	w.bad = uw_same_read(s, UW_OWN_MEM, same->bytes) != 0;
	s->sp = sp;
	if (w.bad)
		return 0;
	uw_each(UW_MEMO_FRAMES, uw_same_step, &w);
	if (w.bad)
		return 0;
	same->changes = o->changes;
	same->gen = o->gen;
	same->unloads = o->unloads;
	same->base = o->base;
	same->pc = o->marks[0].pc & UW_HOW_PC;
	same->sp = o->marks[0].sp;
	same->fp = o->marks[0].fp;
	same->fixed = w.fp;
	same->n = n;
	return 0;
}

/* ---- is it that? ---- */

/* By what the state has. */
uw_fn int uw_same_may(const struct uw_state *s, const struct uw_memo *o, const struct uw_trail *t,
		      __u32 at)
{
	const struct uw_same *same = &o->same[at & (UW_SAMES - 1)];

	return t->sent >> at & 1 && same->n && s->n + same->n <= s->max && !(t->changes & 1) &&
	       same->changes == t->changes && s->flags == GN_FF_RETADDR && s->pc == same->pc &&
	       s->sp - same->base == (same->sp & UW_MARK_SP) && s->leaf == (same->sp & 1) &&
	       (!same->fixed || s->fp - same->base == same->fp);
}

#ifdef UW_HOTSPOT
uw_fn int uw_same_code(struct uw_state *s, uw_mem m, const struct gn_jvm *j,
		       const struct uw_same *same)
{
	__u64 pc = s->pc;
	int is = 1;

	UW_NO_UNROLL
	for (__u32 i = 0; is && i < UW_SAME_LOOKS && i < same->looks; i++) {
		const struct uw_code *c;

		s->pc = same->look[i];
		c = hs_code(s);
		is = c->key == hs_code_key(s) && c->data == same->data[i] &&
		     hs_code_same(s, m, j, c);
	}
	s->pc = pc;
	return is;
}

/* Is what it says of Java code still so? */
uw_fn int uw_same_java(struct uw_state *s, uw_mem m, const struct uw_same *same)
{
	const struct gn_jvm *j = uw_get_jvm(m, s->tgid);
	__u64 gen;

	if (!j || !(same->how & UW_HOW_JAVA)) /* as uw_follow_end() */
		return !j && !(same->how & UW_HOW_JAVA);
	gen = uw_code_gen(m, j, s->tgid);
	if (same->how & UW_HOW_EPOCH && (!(gen & 1) || gen != same->gen))
		return 0;
	if (same->how & UW_HOW_INTERP &&
	    (!same->unloads || uw_unloads_read(s, m, j) != same->unloads))
		return 0;
	return uw_same_code(s, m, j, same) && uw_is_jvm(j, s->tgid);
}
#else
#define uw_same_java(s, m, same) (!((same)->how & UW_HOW_JAVA))
#endif

uw_fn int uw_same_holds(const struct uw_state *s, const struct uw_same *same)
{
	UW_NO_UNROLL
	for (__u32 i = 0; i < UW_SAME_WORDS && i < same->words; i++)
		if (uw_same_word(s, same->at[i]) != same->word[i])
			return 0;
	return 1;
}

/* 1: it is, and the walk has ended, without its frames. */
uw_own(uw_same)(UW_OWN, struct uw_memo *o, struct uw_trail *t, __u32 at)
{
	const struct uw_same *same;

	if (!s || !o || !t)
		return 0;
	same = &o->same[at & (UW_SAMES - 1)];
	if (!uw_same_java(s, UW_OWN_MEM, same) || uw_same_read(s, UW_OWN_MEM, same->bytes) ||
	    !uw_same_holds(s, same))
		return 0;
	if (uw_memo_checks()) {
		t->same_told = at + 1;
		return 0;
	}
	o->turn = at ^ 1;
	s->same = 1;
	s->n += same->n;
	s->hash = same->hash;
	uw_end(s, GN_END_COMPLETE);
	return 1;
}

#endif
