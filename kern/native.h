/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The step for ELF code: the row of its unwind table, or else a frame pointer.
 */
#ifndef GNOMON_NATIVE_H
#define GNOMON_NATIVE_H

#include "native_tail.h"
#include "unwind.h"

#ifdef __bpf__
#include "unwind_maps.bpf.h"
#else
uw_fn __u64 uw_table_changes(uw_mem m)
{
	return m->changes;
}

uw_fn const struct uw_proc *uw_get_proc(uw_mem m, __u32 tgid)
{
	return m->proc && m->proc->tgid == tgid ? m->proc : 0;
}

typedef __u32 uw_file;

uw_fn uw_file uw_get_file(uw_mem m, __u32 file)
{
	return UW_FILE_SLOT(file);
}

uw_fn const struct uw_page *uw_get_page(uw_mem m, uw_file file, __u32 page)
{
	return m->page(m->ctx, file, page);
}

uw_fn const struct uw_rule *uw_get_rule(uw_mem m, __u32 rule)
{
	return m->rule(m->ctx, rule);
}
#endif

/* The address by which tables are searched: a return address may lie behind its function's end. */
uw_fn __u64 uw_lookup_pc(const struct uw_state *s)
{
	return s->flags & GN_FF_RETADDR ? s->pc - 1 : s->pc;
}

/*
 * Position of the last key <= key (0 when there is none). Without branches: the verifier would
 * follow both sides of each, at every level of every page. By a shift, since newer verifiers fork
 * at an `and` of 0 or -1, too (maybe_fork_scalars(), kernel/bpf/verifier.c). And by addition, on a
 * value hidden from clang, which would make it an `or`: that loses its bounds in older verifiers
 * (seen in 6.1).
 */
uw_fn __u32 uw_page_search(const struct uw_page *p, __u32 key)
{
	__u64 pos = 0;

#pragma GCC unroll 9
	for (int bit = __builtin_ctz(UW_PAGE_ROWS) - 1; bit >= 0; bit--) {
		__u64 le = ((__u64)p->key[pos + (1 << bit)] - key - 1) >> 63;

		uw_barrier(le);
		pos += le << bit;
		uw_barrier(pos);
	}
	return pos;
}

/* The rule number for a pc of a file; UW_RULE_NONE when there is none. */
uw_fn __u32 uw_rule_find(uw_mem m, __u32 number, __u32 off)
{
	uw_file file = uw_get_file(m, number);
	__u32 no = 0;

#pragma GCC unroll 3
	for (int level = 0; level <= UW_MAX_HEIGHT; level++) {
		const struct uw_page *p = uw_get_page(m, file, no);

		if (!p)
			return UW_RULE_NONE;
		no = p->val[uw_page_search(p, off)];
		if (!p->height)
			return no;
	}
	return UW_RULE_NONE;
}

/*
 * The rule itself, through the cache: a thread comes by the same places again and again, and to
 * find one anew goes all over three pages. Each has two places there. NULL when there is none.
 */
uw_fn const struct uw_rule *uw_rule_cached(struct uw_state *s, uw_mem m, __u32 number, __u64 off)
{
	__u64 key = (__u64)number << 32 | off, slot = uw_mix(key, 0) >> 32, other;
	const struct uw_rule *r;
	struct uw_cached *c;

	slot = slot << 1 & (UW_CACHE - 2);
	other = s->cache[slot + 1].key ^ key;
	/* without a branch, which the verifier would follow twice to the end of the walk */
	other = (other | (0 - other)) >> 63;
	uw_barrier(other);
	slot |= other ^ 1;
	uw_barrier(slot); /* mask last, where the verifier sees it */
	c = &s->cache[slot & (UW_CACHE - 1)];
	if (off >= 0xffffffffULL)
		return 0;
	if (c->key != key) {
		r = uw_get_rule(m, uw_rule_find(m, number, off));
		if (!r)
			return 0;
		/* either of the two goes */
		slot = (slot & ~1ULL) | (s->walks & 1);
		uw_barrier(slot);
		c = &s->cache[slot & (UW_CACHE - 1)];
		c->rule = *r;
		c->key = key;
	}
	return &c->rule;
}

/* The value of a register a rule names. 0, or negative when it is not known in this frame. */
uw_fn int native_reg(struct uw_state *s, uw_mem m, __u32 reg, __u64 *val)
{
	if (reg == UW_REG_SP)
		*val = s->sp;
	else if (reg == UW_REG_FP)
		*val = s->fp;
	else if (s->leaf && reg < UW_NREG)
		*val = s->reg[reg];
	else if (reg == UW_REG_KEPT && s->kept_at == UW_KEPT_IN_REG)
		*val = s->reg[UW_REG_KEPT];
	else if (reg == UW_REG_KEPT && s->kept_at)
		return uw_read(m, val, sizeof(*val), s->kept_at);
	else
		return -2; /* ENOENT */
	return 0;
}

/* Can a call return to ra? */
uw_fn int native_is_called(struct uw_state *s, uw_mem m, __u64 ra)
{
	__u64 code = 0;

	return !uw_copy(s, m, ra - sizeof(code), &code, sizeof(code)) && UW_IS_CALL(code);
}

/* Has the frame stood on, which was pushed last, called Java code? */
uw_fn int native_calls_java(const struct uw_state *s)
{
	__u32 kind = gn_frame_kind(&s->frames[(s->n - 2) & (GN_MAX_FRAMES - 1)]);

	return s->n >= 2 && kind >= GN_FRAME_INTERP;
}

/*
 * By frame pointer: *fp is the caller's fp, above it the return address. Who keeps none has his
 * caller's in the register, and that caller is passed over: so where frame pointers begin to lead
 * the way is marked.
 */
uw_fn int native_fp_step(struct uw_state *s, uw_mem m)
{
	__u32 flags = GN_FF_RETADDR | GN_FF_FP | (s->flags & GN_FF_FP ? 0 : GN_FF_GUESSED);
	__u64 fp = 0, ra = 0;

	/* psABI: zero marks the outermost frame; in a leaf it may be any value, and no thread
	 * begins with a call of Java code */
	if (!s->fp && !s->leaf && !(s->flags & (GN_FF_FP | GN_FF_GUESSED)))
		return uw_end(s, native_calls_java(s) ? GN_END_NORULE : GN_END_COMPLETE);
	if (s->fp < s->sp || s->fp - s->sp > UW_MAX_FRAME || s->fp & (UW_STACK_ALIGN - 1))
		return uw_end(s, GN_END_NORULE);
	if (uw_word(s, m, s->fp, &fp) || uw_word(s, m, s->fp + 8, &ra))
		return uw_end(s, GN_END_BADADDR);
	return uw_caller(s, ra, s->fp + 16, fp, flags);
}

/* The frame the kernel built to call a signal handler: what was interrupted has all its registers.
 */
uw_fn int native_signal_step(struct uw_state *s, uw_mem m)
{
	if (s->signals >= UW_MAX_SIGNALS)
		return uw_end(s, GN_END_NORULE);
	s->signals++;
	/* nobody has called the trampoline: its name is that of pc, and not of what is before */
	s->frames[(s->n - 1) & (GN_MAX_FRAMES - 1)].pc &= ~((__u64)GN_FF_RETADDR << 56);
	if (uw_read(m, s->scratch, UW_SIGFRAME_WORDS * 8, s->sp + UW_SIGFRAME_OFF))
		return uw_end(s, GN_END_BADADDR);
	UW_SIGFRAME_REGS(s, s->scratch);
	if (s->pc >= UW_ADDR_MAX || s->sp >= UW_ADDR_MAX)
		return uw_end(s, GN_END_NORULE);
	s->leaf = 1;
	s->flags = 0;
	return 0;
}

uw_own(native_signal_step)(UW_OWN)
{
	return s ? native_signal_step(s, UW_OWN_MEM) : 1;
}

#define NATIVE_BARE_MAX 4096 /* bytes of a function without a frame */

/*
 * Functions without rows are mostly written by hand and have no frame: the JVM's that copy, spin or
 * read what may fault. A call that goes there then returns to what is on top: *ra.
 */
uw_fn int native_is_bare(struct uw_state *s, uw_mem m, __u64 *ra)
{
	__u64 code = 0;

	return s->leaf && !uw_word(s, m, s->sp, ra) &&
	       !uw_copy(s, m, *ra - sizeof(code), &code, sizeof(code)) &&
	       s->pc - UW_CALL_TARGET(*ra, code) < NATIVE_BARE_MAX;
}

/* Code without a row: a C library without tables still has recognizable signal trampolines. */
uw_fn int native_guess_step(struct uw_state *s, uw_mem m)
{
	__u64 code = 0, ra = 0;

	if (!s->leaf && !uw_copy(s, m, s->pc, &code, sizeof(code)) && code == UW_SIGRETURN_CODE)
		return uw_call(native_signal_step, s, m);
	if (native_is_bare(s, m, &ra))
		return uw_caller(s, ra, s->sp + 8, s->fp, GN_FF_RETADDR);
	return native_fp_step(s, m);
}

uw_own(native_guess_step)(UW_OWN)
{
	return s ? native_guess_step(s, UW_OWN_MEM) : 1;
}

/*
 * Functions written by hand may have their frame's base in a register that calls need not preserve,
 * and call others of the kind, which leave it alone (OpenSSL's: rax, r11). If it was one of these
 * that was left just now, its own registers still tell; the return address has to bear it out.
 */
uw_fn int native_is_carried(const struct uw_state *s, const struct uw_rule *r)
{
	return s->called && r->cfa_reg != UW_REG_SP && r->cfa_reg != UW_REG_FP &&
	       r->cfa_reg < UW_NREG && r->ra == UW_CFA;
}

uw_fn int native_cfa(struct uw_state *s, uw_mem m, const struct uw_rule *r, __u64 *cfa)
{
	__u64 base = 0;

	if (r->cfa == UW_CFA_PLT) {
		*cfa = s->sp + 8 + ((s->pc & 15) >= (__u32)r->cfa_off ? 8 : 0);
		return 0;
	}
	if (native_reg(s, m, r->cfa_reg, &base)) {
		if (!native_is_carried(s, r))
			return uw_end(s, GN_END_NORULE);
		base = s->reg[r->cfa_reg & 31];
	}
	*cfa = base + (__s64)r->cfa_off;
	if (r->cfa != UW_CFA_DEREF)
		return 0;
	if (uw_word(s, m, *cfa, cfa))
		return uw_end(s, GN_END_BADADDR);
	*cfa += (__s64)r->cfa_add;
	return 0;
}

/* Tells where the caller's UW_REG_KEPT is, given this frame's CFA. */
uw_fn __u64 native_kept(const struct uw_state *s, const struct uw_rule *r, __u64 cfa)
{
	if (r->kept_off == UW_KEPT_LOST)
		return UW_KEPT_UNKNOWN;
	if (r->kept_off)
		return cfa + (__s64)r->kept_off;
	return s->leaf ? UW_KEPT_IN_REG : s->kept_at;
}

/* 1 when v is a word's offset, from -8 * most to -16. Without branches. */
uw_fn __u32 native_is_slot(__s32 v, __u32 most)
{
	__u64 words = (__u64)(__u32)-v >> 3;

	return ((words - most - 1) >> 63 & (1 - words) >> 63) && !(v & 7);
}

/*
 * How a rule goes to the caller, if it does so by the return address below its CFA, that by sp or
 * fp (enum uw_how). `head` is the rule's first 8 bytes. In BPF a function of its own, as those of
 * kern/hotspot.h.
 */
#ifdef __bpf__
__attribute__((noinline, weak))
#else
uw_fn
#endif
int native_how(__u64 head, __s32 ra_off, __s32 fp_off, __s32 kept_off)
{
	__u32 reg = head >> 8 & 0xff, fp = head >> 24 & 0xff, saved = 0, kept = UW_HOW_KEPT_SAME;

	if ((head & 0xff) != UW_CFA_REG || (head >> 16 & 0xff) != UW_CFA || ra_off != -8 ||
	    (reg != UW_REG_SP && reg != UW_REG_FP))
		return 0;
	if (fp == UW_CFA && native_is_slot(fp_off, UW_HOW_END - 1))
		saved = (__u32)-fp_off >> 3;
	else if (fp != UW_SAME)
		return 0;
	if (kept_off == UW_KEPT_LOST)
		kept = 0;
	else if (kept_off && native_is_slot(kept_off, 14))
		kept = ((__u32)-kept_off >> 3) + 1;
	else if (kept_off)
		return 0;
	return UW_HOW_MAKE(UW_HOW_CALLER | (reg == UW_REG_FP ? UW_HOW_FP : 0), saved, kept);
}

/* Apply a rule that has a CFA. */
uw_fn int native_apply(struct uw_state *s, uw_mem m, const struct uw_rule *r)
{
	__u64 cfa = 0, ra = 0, fp = s->fp, kept;
	int err = 0, carried = native_is_carried(s, r);

	if (native_cfa(s, m, r, &cfa))
		return 1;
	/* the lower slot first: the window moves up */
	if (r->fp == UW_CFA)
		err = uw_word(s, m, cfa + (__s64)r->fp_off, &fp);
	else if (r->fp == UW_AT)
		err = uw_word(s, m, s->fp + (__s64)r->fp_off, &fp);
	else if (r->fp == UW_LOST)
		fp = 0;
	if (err)
		return uw_end(s, GN_END_BADADDR);
	if (r->ra == UW_CFA) {
		if (uw_word(s, m, cfa + (__s64)r->ra_off, &ra))
			return uw_end(s, GN_END_BADADDR);
		if (carried && !native_is_called(s, m, ra))
			return uw_end(s, GN_END_NORULE);
	} else if (native_reg(s, m, r->ra == UW_INREG ? (__u32)r->ra_off : UW_REG_RA, &ra)) {
		return uw_end(s, GN_END_NORULE);
	}
	kept = native_kept(s, r, cfa);
	err = uw_caller(s, ra, cfa, fp, GN_FF_RETADDR);
	s->kept_at = kept;
	return err;
}

#ifdef UW_TAILS

/* Where the leaf is in its function: does that end here? Looked at once, like its rule. */
uw_fn __u32 native_tail(struct uw_state *s, uw_mem m)
{
	__u64 key = (__u64)s->map.arg << 32 | (__u32)(s->pc - s->map.bias);
	__u64 slot = uw_mix(key, 0) >> 32;
	struct uw_tailed *t;

	uw_barrier(slot); /* mask last, where the verifier sees it */
	t = &s->tails[slot & (UW_TAILED - 1)];
	if (t->key != key) {
		t->tail = uw_copy(s, m, s->pc - UW_TAIL_BEFORE, s->scratch, UW_TAIL_BYTES)
				  ? UW_TAIL_NONE
				  : native_tail_read((const struct uw_tail *)s->scratch);
		t->key = key;
	}
	return t->tail;
}

/*
 * By how the function ends. -1: it does not, or what would be its return address follows no call.
 */
uw_fn int native_tail_step(struct uw_state *s, uw_mem m, __u32 tail)
{
	__u64 sp = s->sp, ra = 0, fp = s->fp, slot;
	__u32 kept = UW_TAIL_KEPT(tail), flags = GN_FF_RETADDR;
	int err;

	if (tail == UW_TAIL_JUMP) { /* what looks like the pop may be the end of something else */
		flags |= GN_FF_GUESSED;
		tail = kept = 0;
	}
	slot = sp + UW_TAIL_POPS(tail) * 8;
	if (uw_word(s, m, slot, &ra) || !native_is_called(s, m, ra) ||
	    (UW_TAIL_FP(tail) && uw_word(s, m, sp + UW_TAIL_FP(tail) * 8 - 8, &fp)))
		return -1;
	err = uw_caller(s, ra, slot + 8, fp, flags);
	s->kept_at = kept ? sp + kept * 8 - 8 : UW_KEPT_IN_REG;
	return err;
}

/*
 * The leaf, interrupted where the rule, which goes by the frame pointer (`by_fp`) or not, may have
 * its frame that is no more. As the above.
 */
uw_fn int native_leaf_step(struct uw_state *s, uw_mem m, __u32 by_fp)
{
	__u32 tail = native_tail(s, m);

	uw_barrier(tail);
	if (tail & UW_TAIL_RET || (tail == UW_TAIL_JUMP && by_fp))
		return native_tail_step(s, m, tail);
	return -1;
}

uw_own(native_leaf_step)(UW_OWN, __u32 by_fp)
{
	return s ? native_leaf_step(s, UW_OWN_MEM, by_fp) : -1;
}

#endif

/* s->map holds pc and is a file. */
uw_fn int native_step(struct uw_state *s, uw_mem m)
{
	const struct uw_rule *r;

	if (uw_push(s, s->pc, GN_FRAME_USER, 0, 0))
		return 1;
	r = uw_rule_cached(s, m, s->map.arg, uw_lookup_pc(s) - s->map.bias);
#ifdef UW_TAILS
	if (s->leaf && !(s->flags & GN_FF_RETADDR)) {
		__u32 by_fp = r && r->cfa == UW_CFA_REG && r->cfa_reg == UW_REG_FP;
		int left = uw_call(native_leaf_step, s, m, by_fp);

		if (left >= 0)
			return left;
	}
#endif
	if (!r || r->cfa == UW_CFA_NONE)
		return uw_call(native_guess_step, s, m);
	if (r->cfa == UW_CFA_STOP) {
		s->how = UW_HOW_MAKE(UW_HOW_CALLER, UW_HOW_END, 0);
		return uw_end(s, GN_END_COMPLETE);
	}
	if (r->cfa == UW_CFA_SIGNAL)
		return uw_call(native_signal_step, s, m);
#ifdef UW_MEMO
	s->how = native_how(*(const __u64 *)r, r->ra_off, r->fp_off, r->kept_off);
#endif
	return native_apply(s, m, r);
}

/* Code of which nothing is known. */
uw_fn int native_unknown_step(struct uw_state *s, uw_mem m)
{
	if (uw_push(s, s->pc, GN_FRAME_USER, 0, 0))
		return 1;
	s->blind = 1;
#ifndef UW_HOTSPOT_RULES
	/* what the JVM compiled has its own uses for the frame pointer: it would lead astray */
	if (s->map.kind == UW_MAP_HOTSPOT)
		return uw_end(s, GN_END_NORULE);
#endif
	return uw_call(native_guess_step, s, m);
}

#endif
