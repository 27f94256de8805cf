/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The step for code in a HotSpot code heap, x86_64, JDK 9 and later. Include it before
 * unwind_walk.h. Layouts come from the JVM itself (abi_jvm.h); what is fixed here is what the JDK
 * fixes in code: cpu/x86/frame_x86.hpp (interpreter frames), memory/heap.cpp (segment map),
 * code/codeBlob.hpp, and the instructions its compilers emit around a frame
 * (cpu/x86/macroAssembler_x86.cpp verified_entry, c1_MacroAssembler_x86.cpp, x86_64.ad).
 *
 * Where the way through native code is not certain, the JVM's own note of the last Java frame is
 * used, if the thread's JavaThread* is known: by its number (uw_state.tid, java_threads), or the
 * caller sets s->hs[HS_THREAD] before the walk.
 */
#ifndef GNOMON_HOTSPOT_H
#define GNOMON_HOTSPOT_H

#include "abi_jvm.h"
#include "unwind.h"

#ifdef UW_HOTSPOT_RULES /* of this machine */

#define UW_HOTSPOT 1 /* unwind_walk.h calls hs_step() */

/*
 * In BPF a function of its own, verified once for all callers. Its arguments are numbers, or
 * pointers to structs, which it has to compare with NULL.
 */
#ifdef __bpf__
#include "hotspot_maps.bpf.h"
#define hs_global __attribute__((noinline, weak))
#else
#define hs_global uw_fn
uw_fn int uw_is_jvm(const struct gn_jvm *j, __u32 tgid)
{
	return !j->tgid || j->tgid == tgid; /* 0: there is only one */
}

uw_fn const struct gn_jvm *uw_get_jvm(uw_mem m, __u32 tgid)
{
	return m->jvm && uw_is_jvm(m->jvm, tgid) ? m->jvm : 0;
}

uw_fn __u64 uw_get_java_thread(uw_mem m, __u32 tid)
{
	return 0; /* hs[HS_THREAD] tells */
}

uw_fn __u64 uw_code_gen(uw_mem m, const struct gn_jvm *j, __u32 tgid)
{
	return j->flags & GN_JVM_CODERS ? m->code_gen : 0;
}

uw_fn int uw_checks(void)
{
	return 0;
}

uw_fn void uw_checked(int known, int same)
{
}
#endif

/* uw_state.hs[] */
#define HS_THREAD 0 /* JavaThread*, 0 unknown */
#define HS_SEEN	  1 /* a Java frame has been passed */

#define HS_HOPS		32  /* over the segment map; real code needs 13 (17), 7 (21), 5 (25) */
#define HS_WINDOW	256 /* bytes of it read at once: any first hop stays inside */
#define HS_HEADER	GN_JVM_HEADER /* of HeapBlock and blob header, read at once */
#define HS_HEADER_SMALL 128	      /* enough for a blob that is no nmethod, at the heap's end */
#define HS_BLOCK	64	      /* the beginning of those: cheaper by half */
#define HS_BEFORE	32	      /* code bytes looked at before and behind a leaf's pc */
#define HS_BEHIND	16
#define HS_SLOTS	6	    /* words searched for a return address */
#define HS_FRAME_MAX	(256 << 10) /* bytes of a compiled frame */
#define HS_INTERP_MAX	(16 << 10)  /* bytes from sp to fp of an interpreted frame */
#define HS_LOCALS_MAX	(512 << 10) /* bytes of its locals */
#define HS_STUB_MAX	4096	    /* bytes from sp to fp in a stub */
#define HS_ARGS_MAX	4096	    /* bytes of arguments: 255 words, and padding */
#define HS_CPU_STATE	2688	    /* bytes of push_CPU_state's FPU part; the registers follow */
#define HS_CPU_R13	(HS_CPU_STATE + 16)

/* Slots of an interpreter frame, bytes from fp. */
#define HS_SENDER_SP -8
#define HS_LAST_SP   -16 /* where its stack ends while it calls another method, else 0 */
#define HS_METHOD    -24
#define HS_LOCALS    -56
#define HS_BCP	     -64

enum hs_kind { HS_NMETHOD, HS_VTABLE, HS_ADAPTER, HS_STUB };

struct hs_blob {
	__u64 start, code, end;
	__s32 frame;	/* bytes, the return address included; 0: none known */
	__s32 complete; /* from code: the frame is set up */
	__u32 id;
	__u8 kind;
	__u8 native;  /* a native method's wrapper */
	__u8 unsized; /* a stub that says that it has no size */
	__u8 bytes;   /* the code around pc is in s->scratch */
};

#define HS_STEP_WAY 8 /* of uw_state.step: the blob lies before it */

uw_fn struct hs_blob *hs_blob_of(struct uw_state *s)
{
	_Static_assert(sizeof(struct hs_blob) <= HS_STEP_WAY * sizeof(__u64),
		       "blob and way overlap");
	return (struct hs_blob *)&s->step[0];
}

/* ---- blobs ------------------------------------------------------------------------------------
 */

/* Fields of the header in s->scratch. Masks rather than checks: the verifier sees the bound. */
uw_fn __u64 hs_u64(const struct uw_state *s, __u32 off)
{
	return *(const __u64 *)((const __u8 *)s->scratch + (off & (UW_SCRATCH - 8)));
}

uw_fn __s32 hs_s32(const struct uw_state *s, __u32 off)
{
	return *(const __s32 *)((const __u8 *)s->scratch + (off & (UW_SCRATCH - 4)));
}

uw_fn __s16 hs_s16(const struct uw_state *s, __u32 off)
{
	return *(const __s16 *)((const __u8 *)s->scratch + (off & (UW_SCRATCH - 2)));
}

uw_fn __u8 hs_u8(const struct uw_state *s, __u32 off)
{
	return *((const __u8 *)s->scratch + (off & (UW_SCRATCH - 1)));
}

uw_fn int hs_is_code(const struct gn_jvm *j, __u64 addr)
{
	return addr >= j->low && addr < j->high;
}

/*
 * The heap that pc is in, NULL none. Without branches: the verifier would follow all that comes
 * after once for each heap. (Addresses are below 2^47, so differences have a sign bit.)
 */
uw_fn const struct gn_code_heap *hs_heap(const struct gn_jvm *j, __u64 pc)
{
	const struct gn_code_heap *h;
	__u64 at = 0;

#pragma GCC unroll 8
	for (__u32 i = 0; i < GN_JVM_HEAPS; i++) {
		__u64 in = (j->heap[i].low - pc - 1) >> 63 & (pc - j->heap[i].high) >> 63;

		uw_barrier(in);
		at |= in * i;
	}
	h = &j->heap[at & (GN_JVM_HEAPS - 1)];
	return pc >= h->low && pc < h->high ? h : 0;
}

struct hs_hop {
	struct uw_state *s;
	uw_mem m;
	__u64 segmap, seg;
	__u32 found;
};

/*
 * Towards the first segment of a block: a byte of the segment map is 0 there, else how far to go
 * back (at most 254), 0xff where nothing is. 1 when done.
 */
uw_fn long hs_hop(struct hs_hop *h)
{
	__u64 base = h->seg < HS_WINDOW ? 0 : h->seg - (HS_WINDOW - 1);
	__u32 at = (__u32)(h->seg - base), tag;

	if (uw_copy(h->s, h->m, h->segmap + base, h->s->scratch, HS_WINDOW))
		return 1;
	tag = hs_u8(h->s, at & (HS_WINDOW - 1));
	if (tag == 0xff || tag > at)
		return 1;
	h->seg -= tag;
	/* the next byte is here already: in nearly all cases it is the 0 */
	h->found = !hs_u8(h->s, (at - tag) & (HS_WINDOW - 1));
	return h->found;
}

#ifdef __bpf__
static long hs_hop_step(__u32 i, void *ctx)
{
	return hs_hop(ctx);
}

uw_fn void hs_hops(struct hs_hop *h)
{
	bpf_loop(HS_HOPS, hs_hop_step, h, 0);
}
#else
uw_fn void hs_hops(struct hs_hop *h)
{
	for (int i = 0; i < HS_HOPS; i++)
		if (hs_hop(h))
			return;
}
#endif

/* The HeapBlock that pc is in. */
uw_fn int hs_block(struct uw_state *s, uw_mem m, const struct gn_code_heap *h, __u64 pc,
		   __u64 *block)
{
	__u32 shift = h->log2_segment & 31;
	struct hs_hop hop = {
		.s = s, .m = m, .segmap = h->segmap, .seg = (pc - h->low) >> shift, .found = 0};

	hs_hops(&hop);
	*block = h->low + (hop.seg << shift);
	return hop.found ? 0 : -1;
}

uw_fn __u32 hs_kind(const struct uw_state *s, const struct gn_jvm *j)
{
	__u64 name;

	if (j->flags & GN_JVM_KIND) {
		__u8 kind = hs_u8(s, j->kind);

		if (kind == j->kind_nmethod)
			return HS_NMETHOD;
		if (kind == j->kind_vtable)
			return HS_VTABLE;
		return kind == j->kind_adapter || kind == j->kind_mh ? HS_ADAPTER : HS_STUB;
	}
	if (hs_s32(s, j->header) == j->nmethod_header)
		return HS_NMETHOD;
	name = hs_u64(s, j->name);
	if (name == j->name_vtable)
		return HS_VTABLE;
	return name == j->name_adapter || name == j->name_mh ? HS_ADAPTER : HS_STUB;
}

/* Leaves the blob's header in s->scratch. */
uw_fn int hs_find(struct uw_state *s, uw_mem m, const struct gn_jvm *j, struct hs_blob *b)
{
	const struct gn_code_heap *h = hs_heap(j, s->pc);
	__u64 block;
	__u32 kind, part;

	if (!h || hs_block(s, m, h, s->pc, &block))
		return -1;
	part = !!uw_copy(s, m, block, s->scratch, HS_HEADER);
	if (part) { /* of what is not there nothing is taken for the block's */
		__builtin_memset(s->scratch, 0, HS_HEADER);
		if (uw_copy(s, m, block, s->scratch, HS_HEADER_SMALL))
			return -1;
	}
	if (!hs_u8(s, j->used))
		return -1;
	b->start = block + j->blob;
	b->end = b->start + (__u32)hs_s32(s, j->size);
	kind = hs_kind(s, j);
	if (part && kind == HS_NMETHOD)
		return -1;
	uw_barrier(kind); /* one number to the verifier, not four cases of all that follows */
	b->kind = kind;
	b->frame = (__s32)((__u32)hs_s32(s, j->frame) * 8);
	b->complete = j->flags & GN_JVM_SHORTS ? hs_s16(s, j->complete) : hs_s32(s, j->complete);
	b->code = j->flags & GN_JVM_ABSOLUTE ? hs_u64(s, j->code) : b->start + hs_s32(s, j->code);
	b->id = (__u32)hs_s32(s, j->id);
	b->native = b->kind == HS_NMETHOD && !hs_u8(s, j->level);
	/* CodeBlob's no_frame_size is -1, in words */
	b->unsized = b->frame == -8 && b->kind == HS_STUB;
	if (b->unsized)
		b->frame = 0;
	if (s->pc < b->start || s->pc >= b->end || b->frame < 0 || b->frame > HS_FRAME_MAX)
		return -1;
	return 0;
}

/* ---- going to the caller ----------------------------------------------------------------------
 */

/* How a frame says where its caller is: each step fills one in, hs_return() follows it. */
struct hs_way {
	__u64 slot;  /* of the return address; the caller's sp is above it */
	__u64 other; /* the return address if there is none at slot, 0 */
	__u8 saved;  /* the caller's fp lies below slot; else it is unchanged */
	__u8 above;  /* bytes between slot's word and the caller's sp */
	__u8 java;   /* only code of the heaps calls this */
	__u8 lost;   /* no rule: search, in a leaf */
	__u8 known;  /* other is the return address, whatever is at slot */
	__u8 unsure; /* all of it may be wrong */
	__u8 stub;   /* it is one without a known frame */
	__u8 body;   /* a leaf's, set up: sp may have been moved since */
	__u8 pushed; /* by so many bytes, if it is a call that this was for */
};

uw_fn struct hs_way *hs_way_of(struct uw_state *s)
{
	_Static_assert(sizeof(struct hs_way) <= (UW_STEP_WORDS - HS_STEP_WAY) * sizeof(__u64),
		       "the way does not fit into the step");
	return (struct hs_way *)&s->step[HS_STEP_WAY];
}

/* Take the first word of code among the leaf's topmost ones for the return address. */
uw_fn int hs_guess(struct uw_state *s, uw_mem m, const struct gn_jvm *j)
{
	__u64 at = HS_SLOTS, ra;

	s->how = 0;
	if (!s->leaf)
		return uw_end(s, GN_END_NORULE);
	if (uw_copy(s, m, s->sp, s->scratch, HS_SLOTS * 8))
		return uw_end(s, GN_END_BADADDR);
#pragma GCC unroll 8
	for (__u64 i = HS_SLOTS; i-- > 0;) {
		/* all ones when the word is code; without branches */
		__u64 in = -((j->low - s->scratch[i] - 1) >> 63 & (s->scratch[i] - j->high) >> 63);

		uw_barrier(in);
		at = (at & ~in) | (i & in);
	}
	if (at >= HS_SLOTS)
		return uw_end(s, GN_END_NORULE);
	ra = s->scratch[at & 7];
	return uw_caller(s, ra, s->sp + at * 8 + 8, s->fp, GN_FF_RETADDR | GN_FF_GUESSED);
}

#define HS_WIDE 256 /* bytes of code looked at before and behind pc */

/* c[HS_WIDE] is the byte at pc; in s->scratch. */
struct hs_wide {
	__u8 c[2 * HS_WIDE];
};

struct hs_found {
	const struct hs_wide *w;
	__u64 found;
};

static long hs_pcmpestri_step(__u32 i, void *ctx)
{
	struct hs_found *f = ctx;
	__u64 sse, vex;
	__u32 insn;

	if (i > 2 * HS_WIDE - 4)
		return 0;
	__builtin_memcpy(&insn, f->w->c + i, sizeof(insn));
	sse = (insn ^ 0x613a0f) & 0xffffff;
	vex = (insn ^ 0x617900c4) & 0xffff00ff;
	f->found |= (sse - 1) >> 63 | (vex - 1) >> 63;
	return 0;
}

/* Is pcmpestri near, in either form? C2 searches and compares strings by it. */
hs_global int hs_near_pcmpestri(const struct hs_wide *w)
{
	struct hs_found f = {.w = w};

	if (!w)
		return 0;
	uw_each(2 * HS_WIDE - 3, hs_pcmpestri_step, &f);
	return (int)f.found;
}

/*
 * Does sp as it was, pushed by the long form of indexOf(), lie on top? Then where the return
 * address would be without may be one that a deeper frame once left.
 */
uw_fn int hs_in_index(struct uw_state *s, uw_mem m, __u64 up)
{
	__u64 length;

	if ((up != 32 && up != 48 && up != 64) || uw_word(s, m, s->sp + 24, &length) ||
	    length >> 32)
		return 0;
	return !uw_copy(s, m, s->pc - HS_WIDE, s->scratch, 2 * HS_WIDE) &&
	       hs_near_pcmpestri((const struct hs_wide *)s->scratch);
}

/*
 * Code may move sp within its frame. By how many bytes has a leaf's, or 0?
 * - C2's compareTo() pushes a length, to be there at the end, as does in JDK 17 what packs chars
 *   into bytes (C2_MacroAssembler::string_compare(), MacroAssembler::char_array_compress()).
 * - indexOf() pushes sp as it was; before it copies of what lies at a page's end, 16 bytes each,
 *   and, unless what is looked for is a short constant, its length and two addresses
 *   (C2_MacroAssembler::string_indexof()).
 * - C1 pushes two classes for a call: `pushed` by now, if it is one (hs_subtype()).
 * `found`: the address of code is where the return address lies if sp has not moved.
 */
uw_fn __u64 hs_moved(struct uw_state *s, uw_mem m, const struct gn_jvm *j, int found, __u32 pushed)
{
	__u64 top, up;

	if (uw_word(s, m, s->sp, &top) || hs_is_code(j, top)) /* on top where the frame is gone */
		return 0;
	up = top - s->sp;
	if (found)
		return hs_in_index(s, m, up) ? up : 0;
	if (!(top >> 32))
		return 8;
	return up == 8 || up == 24 || up == 32 || up == 48 || up == 64 ? up : pushed;
}

uw_own(hs_guess)(UW_OWN, const struct gn_jvm *j)
{
	return s && j ? hs_guess(s, UW_OWN_MEM, j) : 1;
}

uw_fn int hs_return(struct uw_state *s, uw_mem m, const struct gn_jvm *j, const struct hs_way *w)
{
	__u64 ra, fp = s->fp, slot = w->slot, other = w->other, above = w->above, up = 0, moved;
	__u32 saved = w->saved, java = w->java, lost = w->lost, known = w->known;
	__u32 stub = w->stub, body = w->body, pushed = w->pushed;
	__u32 flags = GN_FF_RETADDR | (w->unsure ? GN_FF_GUESSED : 0);

	/* for the verifier: numbers, not the cases that led here */
	uw_barrier(slot);
	uw_barrier(other);
	uw_barrier(above);
	uw_barrier(saved);
	uw_barrier(java);
	uw_barrier(lost);
	uw_barrier(known);
	uw_barrier(flags);
	uw_barrier(stub);
	uw_barrier(body);
	uw_barrier(pushed);
	if (lost)
		return uw_call(hs_guess, s, m, j);
	if (uw_word(s, m, slot, &ra) || (saved && uw_word(s, m, slot - 8, &fp)))
		return uw_end(s, GN_END_BADADDR);
	if (known)
		ra = other;
	/* the stub of nmethods' entry barriers pushes -1 before fp, for a new sp if it needs one:
	 * if the method is not to be entered, that of its caller */
	if (ra == ~0ULL || (stub && ra - slot - 8 <= HS_FRAME_MAX)) {
		slot += 8;
		if (uw_word(s, m, slot, &ra))
			return uw_end(s, GN_END_BADADDR);
	}
	if (body)
		up = hs_moved(s, m, j, hs_is_code(j, ra), pushed);
	if (up && !uw_word(s, m, slot + up, &moved) && hs_is_code(j, moved) &&
	    !uw_word(s, m, slot + up - 8, &fp)) {
		slot += up;
		ra = moved;
	}
	if (java && !hs_is_code(j, ra)) {
		if (!hs_is_code(j, other))
			return uw_call(hs_guess, s, m, j);
		ra = other;
	}
	if (!UW_CODE_ADDR(ra)) /* no thread starts in Java code: a frame that is being made */
		return uw_end(s, GN_END_NORULE);
	/* nothing else was looked at, and nothing is in doubt */
	s->how &= 0 - ((((slot ^ w->slot) | above | (flags ^ GN_FF_RETADDR)) - 1) >> 63);
	return uw_caller(s, ra, slot + 8 + above, fp, flags);
}

uw_own(hs_return)(UW_OWN, const struct gn_jvm *j)
{
	return s && j ? hs_return(s, UW_OWN_MEM, j, hs_way_of(s)) : 1;
}

/* ---- compiled code, where the pc may be anywhere ----------------------------------------------
 */

enum hs_state {
	HS_FULL,   /* the frame is set up, the caller's fp saved under the return address */
	HS_NOFP,   /* the same, but fp not saved yet */
	HS_PUSHED, /* fp is on top of the stack, then the return address */
	HS_BARE,   /* the return address is on top of the stack */
	HS_POPPED, /* it has been popped, and still is below the top */
};

/* Code bytes around pc, c[HS_BEFORE] the one at pc; in s->scratch. */
struct hs_code {
	__u8 c[HS_BEFORE + HS_BEHIND];
};

#define HS_AT(c, i) ((c)[HS_BEFORE + (i)])
#define HS_3(c, i, x, y, z)                                                                        \
	(HS_AT(c, i) == (x) && HS_AT(c, (i) + 1) == (y) && HS_AT(c, (i) + 2) == (z))

/*
 * `lea r10,[rip+x]; mov [r15+x],r10; jmp`: the slow path of a return's safepoint poll. In JDK 25
 * `mov r10,address` begins it. Returns how far pc is in it, or -1.
 */
uw_fn int hs_poll_stub(const __u8 *c)
{
	if (HS_AT(c, 0) == 0x49 && HS_AT(c, 1) == 0xba && HS_3(c, 10, 0x4d, 0x89, 0x97))
		return 0;
	if (HS_3(c, 0, 0x4d, 0x89, 0x97) && HS_AT(c, -10) == 0x49 && HS_AT(c, -9) == 0xba)
		return 10;
	if (HS_AT(c, 0) == 0xe9 && HS_3(c, -7, 0x4d, 0x89, 0x97) && HS_AT(c, -17) == 0x49 &&
	    HS_AT(c, -16) == 0xba)
		return 17;
	if (HS_3(c, 0, 0x4c, 0x8d, 0x15) && HS_3(c, 7, 0x4d, 0x89, 0x97))
		return 0;
	if (HS_3(c, 0, 0x4d, 0x89, 0x97) && HS_3(c, -7, 0x4c, 0x8d, 0x15))
		return 7;
	return HS_AT(c, 0) == 0xe9 && HS_3(c, -7, 0x4d, 0x89, 0x97) &&
			       HS_3(c, -14, 0x4c, 0x8d, 0x15)
		       ? 14
		       : -1;
}

/*
 * A native wrapper has the frame's pc noted likewise when it calls; its poll follows `leave;
 * test byte [r15+x],1; je` (of 2 or 6 bytes).
 */
uw_fn int hs_poll_is_left(const __u8 *c, int native)
{
	int in = hs_poll_stub(c);

	if (in < 0 || !native)
		return in >= 0;
	return c[(HS_BEFORE - 8 - in) & (HS_BEFORE - 1)] == 0xc9 ||
	       c[(HS_BEFORE - 12 - in) & (HS_BEFORE - 1)] == 0xc9;
}

/* Returning: `pop rbp; [cmp rsp,[r15+x]; ja slow;] ret`; native wrappers: `leave; ... ret`. */
hs_global int hs_epilogue(const struct hs_code *code, int native)
{
	const __u8 *c;
	__u8 op;

	if (!code)
		return HS_FULL;
	c = code->c;
	op = HS_AT(c, 0);

	if (op == 0x5d)
		return HS_PUSHED;
	if (op == 0xc3)
		return HS_BARE;
	if (HS_3(c, 0, 0x49, 0x3b, 0x67) || HS_3(c, 0, 0x49, 0x3b, 0xa7))
		return HS_BARE;
	/* ja; or jb, where a method with a reserved zone of the stack looks whether it was used */
	if (op == 0x0f && (HS_AT(c, 1) == 0x87 || HS_AT(c, 1) == 0x82) &&
	    (HS_3(c, -4, 0x49, 0x3b, 0x67) || HS_3(c, -7, 0x49, 0x3b, 0xa7)))
		return HS_BARE;
	if (hs_poll_is_left(c, native))
		return HS_BARE;
	/* `add rsp,imm; pop rbp; jmp`: to the stub that looks for the caller's exception handler */
	if (op == 0xe9 && HS_AT(c, -1) == 0x5d &&
	    (HS_3(c, -5, 0x48, 0x83, 0xc4) || HS_3(c, -8, 0x48, 0x81, 0xc4)))
		return HS_BARE;
	/* `pop rbp; pop rdx; jmp reg`: C2's stub for exceptions without a handler */
	if (op == 0x5a && HS_AT(c, -1) == 0x5d)
		return HS_BARE;
	if ((op == 0xff || op == 0x41) && HS_AT(c, -1) == 0x5a && HS_AT(c, -2) == 0x5d)
		return HS_POPPED;
	/* JDK 25: `leave; test [r15+x],1; je; ... jmp; cmp [r15+x],0; jne; ret` */
	if (native && ((op == 0x74 && HS_3(c, -5, 0x41, 0xf6, 0x47) && HS_AT(c, -6) == 0xc9) ||
		       (HS_3(c, 0, 0x49, 0x83, 0x7f) && HS_AT(c, -5) == 0xe9) ||
		       (op == 0x0f && HS_3(c, -5, 0x49, 0x83, 0x7f) && HS_AT(c, -10) == 0xe9)))
		return HS_BARE;
	/* `leave`, then a check for a pending exception, before the ret */
	if (native && (HS_AT(c, -1) == 0xc9 || (op == 0x0f && HS_AT(c, -9) == 0xc9) ||
		       (op == 0x0f && HS_AT(c, -6) == 0xc9)))
		return HS_BARE;
	return HS_FULL;
}

/* 1 when the `len` bytes at c[i] are those of `insn` (little endian, len < 8); no branch. */
uw_fn __u64 hs_same(const __u8 *c, __u32 i, __u64 insn, __u32 len)
{
	__u64 w, same;

	__builtin_memcpy(&w, c + i, sizeof(w));
	same = (((w ^ insn) & ((1ULL << 8 * len) - 1)) - 1) >> 63;
	uw_barrier(same);
	return same;
}

struct hs_sub {
	const struct hs_code *code;
	__s32 imm;
	__u32 end;
};

static long hs_sub_step(__u32 i, void *ctx)
{
	struct hs_sub *h = ctx;
	__u64 small = 0xec8348 | (__u64)(h->imm & 0xff) << 24;
	__u64 large = 0xec8148 | (__u64)(__u32)h->imm << 24, fits = h->imm < 128;
	const __u8 *c = h->code->c;

	uw_barrier(fits);
	if (i > HS_BEFORE - 4)
		return 0;
	h->end |= (i + 4) * (hs_same(c, i, small, 4) & fits);
	if (i <= HS_BEFORE - 7)
		h->end |= (i + 7) * hs_same(c, i, large, 7);
	return 0;
}

/* Tells where in c a `sub rsp,imm` that lies before pc ends; 0 if there is none. */
uw_fn __u32 hs_sub_end(const struct hs_code *code, __s32 imm)
{
	struct hs_sub h = {.code = code, .imm = imm};

	uw_each(HS_BEFORE - 3, hs_sub_step, &h);
	return h.end;
}

/*
 * Entering: [bang the stack;] `push rbp; [mov rbp,rsp;] sub rsp,frame-16`, or `sub rsp,frame-8;
 * mov [rsp+x],rbp`; then perhaps the entry barrier. The `sub` is known by its operand.
 */
hs_global int hs_prologue(const struct hs_code *code, __s32 frame, __u32 off)
{
	const __u8 *c;
	__u32 end;

	if (!code)
		return HS_FULL;
	c = code->c;
	if (hs_sub_end(code, frame - 16))
		return HS_FULL;
	end = hs_sub_end(code, frame - 8);
	if (end)
		return end == HS_BEFORE ? HS_NOFP : HS_FULL;
	if (off >= 1 && HS_AT(c, -1) == 0x55)
		return HS_PUSHED;
	if (off >= 4 && HS_AT(c, -4) == 0x55 &&
	    (HS_3(c, -3, 0x48, 0x8b, 0xec) || HS_3(c, -3, 0x48, 0x89, 0xe5)))
		return HS_PUSHED;
	return HS_BARE;
}

/* ---- live registers spilled below a frame -----------------------------------------------------
 */

/* 1 when `op rsp,imm8` or `op rsp,imm32` is at c[i]; op 0xc4 add, 0xec sub. No branch. */
uw_fn __u64 hs_moves_sp(const __u8 *c, __u32 i, __u64 op)
{
	__u32 w;
	__u64 same;

	__builtin_memcpy(&w, c + i, sizeof(w));
	same = ((((w ^ (0x8148 | op << 16)) & 0xfffdff)) - 1) >> 63;
	uw_barrier(same);
	return same;
}

/* The immediate of such an instruction at c[i], and where it ends. */
uw_fn __u32 hs_sp_imm(const __u8 *c, __u32 i, __u32 *end)
{
	__u32 imm;

	i &= 2 * HS_WIDE - 1;
	if (i > 2 * HS_WIDE - 16)
		i = 2 * HS_WIDE - 16;
	__builtin_memcpy(&imm, c + i + 3, sizeof(imm));
	*end = i + (c[i + 1] == 0x83 ? 4 : 7);
	return c[i + 1] == 0x83 ? imm & 0xff : imm;
}

/* The last `sub` before pc, and the first `add` behind it, as offsets in w; 0: none. */
struct hs_moves {
	const struct hs_wide *w;
	__u32 sub, add;
	__u32 wrong; /* an add lies behind that sub, or a sub before that add */
};

static long hs_before_step(__u32 i, void *ctx)
{
	struct hs_moves *h = ctx;
	__u32 s, a;

	if (i > HS_WIDE - 4)
		return 0;
	s = (__u32)-hs_moves_sp(h->w->c, i, 0xec);
	a = (__u32)-hs_moves_sp(h->w->c, i, 0xc4);
	h->sub = (h->sub & ~s) | (i & s);
	h->wrong = (h->wrong & ~a & ~s) | (1 & a);
	return 0;
}

static long hs_behind_step(__u32 k, void *ctx)
{
	struct hs_moves *h = ctx;
	__u32 i, s, a;

	if (k > HS_WIDE - 16)
		return 0;
	i = 2 * HS_WIDE - 16 - k;
	s = (__u32)-hs_moves_sp(h->w->c, i, 0xec);
	a = (__u32)-hs_moves_sp(h->w->c, i, 0xc4);
	h->add = (h->add & ~a) | (i & a);
	h->wrong = (h->wrong & ~a & ~s) | (1 & s);
	return 0;
}

/*
 * A barrier's slow path lies behind the method's code and is jumped to. It spills the registers in
 * use, calls the JVM, and jumps back: `sub rsp,n; mov [rsp+x],reg ...; call; [mov reg,rax;]
 * mov reg,[rsp+x] ...; add rsp,n; jmp` (C2: ZGC, from JDK 24 also G1), or `[push rax;] sub rsp,16;
 * ... call; add rsp,16; [mov reg,rax;] [pop rax;] jmp` (C1, ZGC). (JDK
 * gc/z/zBarrierSetAssembler_x86 .cpp, SaveLiveRegisters.) By how many bytes is sp below the frame
 * at pc?
 */
hs_global int hs_spilled(const struct hs_wide *w)
{
	struct hs_moves h = {.w = w};
	__u32 end, n, unused;
	const __u8 *c;

	if (!w)
		return 0;
	c = w->c;
	uw_each(HS_WIDE - 3, hs_before_step, &h);
	if (!h.sub || h.wrong)
		return 0;
	uw_each(HS_WIDE - 15, hs_behind_step, &h);
	if (!h.add || h.wrong)
		return 0;
	n = hs_sp_imm(c, h.add, &end);
	if (n != hs_sp_imm(c, h.sub, &unused) || n > HS_FRAME_MAX)
		return 0;
	end &= 2 * HS_WIDE - 1;
	if (end > 2 * HS_WIDE - 8)
		return 0;
	if ((c[end] == 0x48 || c[end] == 0x4c || c[end] == 0x49) && c[end + 1] == 0x8b)
		end += 3;
	if (c[end & (2 * HS_WIDE - 1)] == 0x58) {
		end++;
		n += 8;
	}
	end &= 2 * HS_WIDE - 1;
	return c[end] == 0xe9 || c[end] == 0xeb ? (int)n : 0;
}

/* C1's slow path with the leaf where only rax is pushed: before the `sub`, and behind the `add`. */
uw_fn __u32 hs_pushed(const struct hs_wide *w)
{
	const __u8 *c = w->c + HS_WIDE;

	if (c[-1] == 0x50 && c[0] == 0x48 && c[1] == 0x83 && c[2] == 0xec && c[3] == 0x10)
		return 8;
	if (c[0] == 0x48 && c[1] == 0x8b && c[3] == 0x58 && hs_moves_sp(w->c, HS_WIDE - 4, 0xc4))
		return 8;
	if (c[0] == 0x58 && (c[1] == 0xe9 || c[1] == 0xeb) &&
	    (hs_moves_sp(w->c, HS_WIDE - 4, 0xc4) | hs_moves_sp(w->c, HS_WIDE - 7, 0xc4)))
		return 8;
	return 0;
}

/* Is the i-th frame native code or a stub? */
uw_fn int hs_is_outside(const struct uw_state *s, __u32 i)
{
	__u32 kind = gn_frame_kind(&s->frames[i & (GN_MAX_FRAMES - 1)]);

	return kind == GN_FRAME_USER || kind == GN_FRAME_STUB;
}

/*
 * May the frame stood on be in such a slow path: called by it, or the leaf? To find out costs a
 * microsecond, which a leaf that hardly ever is in one is not worth: its word at the wrong place is
 * no return address, and the caller is guessed and marked.
 */
uw_fn int hs_may_spill(const struct uw_state *s, const struct gn_jvm *j, const struct hs_blob *b)
{
	if (!(j->flags & GN_JVM_SPILLS) || b->kind != HS_NMETHOD || b->native)
		return 0;
	if (s->leaf)
		return !!(j->flags & GN_JVM_SPILLING);
	return s->n >= 2 && hs_is_outside(s, s->n - 2);
}

/* Bytes between sp and the end of a frame that is set up. */
uw_fn __u32 hs_below(struct uw_state *s, uw_mem m, const struct gn_jvm *j, const struct hs_blob *b)
{
	const struct hs_wide *code = (const struct hs_wide *)s->scratch;
	__u32 n;

	if (!hs_may_spill(s, j, b) || uw_copy(s, m, s->pc - HS_WIDE, s->scratch, 2 * HS_WIDE))
		return 0;
	n = (__u32)hs_spilled(code);
	return n || !s->leaf ? n : hs_pushed(code);
}

/* Code bytes into s->scratch (over the header). */
uw_fn int hs_code_bytes(struct uw_state *s, uw_mem m)
{
	return uw_copy(s, m, s->pc - HS_BEFORE, s->scratch, HS_BEFORE + HS_BEHIND);
}

uw_fn int hs_where(struct uw_state *s, uw_mem m, const struct hs_blob *b)
{
	const struct hs_code *c = (const struct hs_code *)s->scratch;
	__u64 off = s->pc - b->code;

	if (!s->leaf)
		return HS_FULL;
	if (!b->bytes && hs_code_bytes(s, m))
		return HS_FULL;
	if (s->pc < b->code)
		return HS_BARE;
	if (b->complete > 0 && off < (__u32)b->complete)
		return hs_prologue(c, b->frame, (__u32)off);
	return hs_epilogue(c, b->native);
}

/* Tells how much has been pushed for the next call, or for the one that has just returned, if it is
 * such a call. */
uw_fn __u32 hs_call_pushed(const __u8 *c)
{
	__u32 two = (HS_AT(c, 0) == 0xe8) | (HS_AT(c, -5) == 0xe8);
	__u32 one = (HS_AT(c, 1) == 0xe8) | (HS_AT(c, 2) == 0xe8) | (HS_AT(c, -6) == 0xe8) |
		    (HS_AT(c, -7) == 0xe8);

	uw_barrier(two);
	uw_barrier(one);
	return two ? 16 : one * 8;
}

uw_fn void hs_framed(struct uw_state *s, uw_mem m, const struct gn_jvm *j, const struct hs_blob *b,
		     struct hs_way *w)
{
	int state = hs_where(s, m, b);

	w->slot = s->sp;
	w->body = s->leaf && state == HS_FULL && b->kind == HS_NMETHOD && !b->native;
	if (w->body)
		w->pushed = (__u8)hs_call_pushed((const __u8 *)s->scratch);
	if (state == HS_FULL || state == HS_NOFP)
		w->slot += (__u32)b->frame - 8 + hs_below(s, m, j, b);
	else if (state == HS_PUSHED)
		w->slot += 8;
	else if (state == HS_POPPED)
		w->slot -= 8;
	w->saved = state == HS_FULL || state == HS_PUSHED;
}

/*
 * A frame that is to be deoptimised has its return address replaced by the deopt handler's; the
 * real one is kept in the frame (JDK code/nmethod.hpp, orig_pc_addr()). Needs the header. 1 when
 * pc was a handler's.
 */
uw_fn int hs_deopt(struct uw_state *s, uw_mem m, const struct gn_jvm *j, const struct hs_blob *b)
{
	__u64 plain = 0, mh = 0, pc;
	int abs = j->flags & GN_JVM_ABSOLUTE;

	if (j->flags & GN_JVM_DEOPT)
		plain = abs ? hs_u64(s, j->deopt) : b->start + hs_s32(s, j->deopt);
	if (j->flags & GN_JVM_DEOPT_MH)
		mh = abs ? hs_u64(s, j->deopt_mh) : b->start + hs_s32(s, j->deopt_mh);
	if (!(j->flags & GN_JVM_DEOPT) || (s->pc != plain && s->pc != mh))
		return 0;
	if (!uw_word(s, m, s->sp + (__u32)hs_s32(s, j->orig_pc), &pc) && pc >= b->code &&
	    pc < b->end)
		s->pc = pc;
	return 1;
}

/* ---- interpreter ------------------------------------------------------------------------------
 */

struct hs_interp {
	__u64 ra, fp, sp, method, cm, bci;
};

/*
 * The frame at fp has called another method, which is not on the stack yet or any more: is that
 * its own callee? While a method is entered r13 is the caller's last_sp, while it is left rbx, and
 * then at most padding is above. If it is not, fp is an older frame's, and compiled code, which
 * left fp as it was, lies in between. The JVM is called with last_sp 0, but for the search for an
 * exception handler after a frame was removed; at most 24 bytes are pushed for that.
 */
uw_fn int hs_interp_older(const struct uw_state *s, __u64 last)
{
	const struct gn_frame *prev = &s->frames[(s->n - 1) & (GN_MAX_FRAMES - 1)];

	if (!last)
		return 0;
	/* since JDK 22 in words from fp */
	if ((__s64)last < 0)
		last = s->fp + (last << 3);
	if (s->leaf)
		return s->reg[UW_R13] != last && s->reg[UW_RBX] != last && last - s->sp > 16;
	return s->n && gn_frame_kind(prev) == GN_FRAME_USER && last - s->sp > 24;
}

/*
 * Tells where the caller's stack may end, given the frame at fp: above its locals; or, where a
 * method handle's linker has taken the last argument away, at the return address, which was moved
 * there (MethodHandles::generate_method_handle_dispatch()).
 */
uw_fn int hs_is_sender(__u64 sp, __u64 fp)
{
	return !(sp & 7) && sp - fp - 8 <= HS_LOCALS_MAX;
}

/*
 * A frame of which less than all slots are pushed, by TemplateInterpreterGenerator's
 * generate_fixed_frame(): Method* is in rbx, and the caller's sp in r13; that is pushed, then 0,
 * then r13 is made the bytecode pointer, in JDK 25 before the 0. Before it begins fp still is the
 * caller's, which with -XX:+PreserveFramePointer is that of a compiled frame as near as that.
 */
uw_fn int hs_interp_new(struct uw_state *s, uw_mem m, const struct gn_jvm *j, struct hs_interp *f)
{
	__u64 method = s->reg[UW_RBX], r13 = s->reg[UW_R13], code, last = 0;

	if (uw_word(s, m, s->fp, &f->fp) || uw_word(s, m, s->fp + 8, &f->ra))
		return -1;
	if (!hs_is_code(j, f->ra) || method & 7 || method >= UW_ADDR_MAX ||
	    uw_copy(s, m, method + j->method_const, &code, sizeof(code)) || !code || code & 7)
		return -1;
	f->sp = r13;
	if ((s->sp <= s->fp + HS_SENDER_SP && uw_word(s, m, s->fp + HS_SENDER_SP, &f->sp)) ||
	    (s->sp <= s->fp + HS_LAST_SP && uw_word(s, m, s->fp + HS_LAST_SP, &last)))
		return -1;
	if (!hs_is_sender(f->sp, s->fp) || last)
		return -1;
	if (r13 != f->sp &&
	    (s->sp > s->fp + HS_SENDER_SP || (r13 != code && r13 != code + j->cm_size)))
		return -1;
	f->method = method;
	f->cm = code;
	f->bci = 0;
	return 0;
}

/*
 * In a leaf fp need not be an interpreter's. Where the locals are, in words from fp since JDK 21,
 * and where the caller's stack ends is in a certain range in all of those; and while a method is
 * entered, its caller's sp is in r13. (Where one has just returned it may still be, with sp the
 * same.)
 */
uw_fn int hs_interp_doubtful(struct uw_state *s, uw_mem m, const struct hs_interp *f, __u64 last)
{
	__u64 locals;

	if (uw_word(s, m, s->fp + HS_LOCALS, &locals))
		return 1;
	return (locals - 1 > HS_LOCALS_MAX / 8 && locals - s->fp - 8 > HS_LOCALS_MAX) ||
	       !hs_is_sender(f->sp, s->fp) ||
	       (!last && s->reg[UW_R13] - s->sp - 1 < s->fp + 15 - s->sp);
}

/*
 * Reads the interpreter frame at s->fp; 0 when it is one. A native method's frame has no bytecode
 * pointer; while the interpreter runs bytecodes it is in r13, and the slot is old.
 */
uw_fn int hs_interp_frame(struct uw_state *s, uw_mem m, const struct gn_jvm *j, struct hs_interp *f)
{
	__u64 fp = s->fp, bcp, method, code, bci, last;

	if (fp & 7 || fp - s->sp > HS_INTERP_MAX)
		return -1;
	if (s->leaf && s->sp > fp + HS_BCP) {
		if (hs_interp_new(s, m, j, f))
			return -1;
		goto sender;
	}
	if (uw_word(s, m, fp + HS_LAST_SP, &last) || hs_interp_older(s, last))
		return -1;
	if (uw_word(s, m, fp + HS_BCP, &bcp) || uw_word(s, m, fp + HS_METHOD, &method) ||
	    uw_word(s, m, fp + HS_SENDER_SP, &f->sp) || uw_word(s, m, fp, &f->fp) ||
	    uw_word(s, m, fp + 8, &f->ra))
		return -1;
	if (!method || method & 7 || method >= UW_ADDR_MAX || !hs_is_code(j, f->ra))
		return -1;
	if (s->leaf && hs_interp_doubtful(s, m, f, last))
		return -1;
	if (uw_copy(s, m, method + j->method_const, &code, sizeof(code)) || !code || code & 7)
		return -1;
	f->cm = code;
	code += j->cm_size;
	bci = bcp - code;
	if (s->leaf && s->reg[UW_R13] - code < 0x10000)
		bci = s->reg[UW_R13] - code;
	if (bci >= 0x10000) {
		if (bcp)
			return -1;
		bci = 0;
	}
	f->method = method;
	f->bci = bci;
sender:
	/* where the caller's frame ended before this one was given room for its locals */
	if (f->sp & 7 || f->sp < fp + 16 || f->sp - fp > HS_LOCALS_MAX)
		f->sp = fp + 16;
	return 0;
}

/*
 * The leaf has no frame of its own, fp is the caller's: a method is entered, the caller's sp in r13
 * and the return address on top or popped to rax; or left, the sp in rbx and the address on top or
 * popped to r13 (remove_activation(), the interpreters' entries).
 */
uw_fn void hs_interp_edge(struct uw_state *s, uw_mem m, const struct gn_jvm *j, struct hs_way *w)
{
	__u64 sp = s->reg[UW_R13], ra = s->reg[UW_RAX], top = 0;
	int in_reg, on_top;

	if (sp & 7 || sp - s->sp > HS_LOCALS_MAX) {
		ra = sp;
		sp = s->reg[UW_RBX];
	}
	w->lost = 1;
	if (sp & 7 || sp - s->sp > HS_LOCALS_MAX || uw_word(s, m, s->sp, &top))
		return;
	in_reg = hs_is_code(j, ra);
	on_top = hs_is_code(j, top);
	if (!in_reg && !on_top)
		return;
	if (in_reg && on_top && ra != top) /* which? */
		return;
	w->slot = sp - 8;
	w->other = on_top ? top : ra;
	w->known = 1;
	w->lost = 0;
}

/* ---- stubs ------------------------------------------------------------------------------------
 */

/*
 * An adapter from compiled to interpreted code has popped the return address to rax, noted the
 * caller's sp in r13 and makes room below it for what the interpreter wants on the stack
 * (gen_c2i_adapter()). fp has not changed.
 */
uw_fn void hs_moved_args(struct uw_state *s, uw_mem m, const struct gn_jvm *j, struct hs_way *w)
{
	const __u8 *c = (const __u8 *)s->scratch;
	__u64 sp = s->reg[UW_R13], top = 0;

	if (!hs_is_code(j, w->other) || uw_word(s, m, s->sp, &top) ||
	    (top != w->other && hs_is_code(j, top)) || hs_code_bytes(s, m))
		return;
	if (HS_3(c, 0, 0x4c, 0x8b, 0xec) || HS_3(c, 0, 0x49, 0x89, 0xe5))
		sp = s->sp; /* `mov r13,rsp` is still to come */
	if (sp & 7 || sp - s->sp > HS_ARGS_MAX)
		return;
	w->slot = sp - 8;
	w->known = 1;
}

/*
 * Between two Java frames, the return address not yet or no longer below a frame: vtable and itable
 * stubs do not touch the stack; the adapters between calling conventions take the return address
 * to rax while they move arguments. An adapter that has the caller's call site corrected saves all
 * registers for that, and sp in r13 (patch_callers_callsite() in sharedRuntime_x86_64.cpp).
 */
uw_fn void hs_between(struct uw_state *s, uw_mem m, const struct gn_jvm *j, const struct hs_blob *b,
		      struct hs_way *w)
{
	__u64 sp;

	w->slot = s->sp;
	w->java = 1;
	if (s->leaf) {
		w->other = s->reg[UW_RAX];
		if (b->kind == HS_ADAPTER)
			hs_moved_args(s, m, j, w);
	} else if (!uw_word(s, m, s->sp + HS_CPU_R13, &sp) && sp - s->sp < HS_STUB_MAX)
		w->slot = sp;
}

/*
 * Is `ra`, of a slot of the stack, where a call of code in this blob returns to? C2 calls by `mov
 * r10,address; call r10`.
 */
uw_fn int hs_has_called(struct uw_state *s, uw_mem m, const struct hs_blob *b, __u64 ra)
{
	const __u8 *c = (const __u8 *)s->scratch;
	__u64 to;

	if (uw_copy(s, m, ra - 16, s->scratch, 16))
		return 0;
	to = UW_CALL_TARGET(ra, s->scratch[1]);
	if (c[3] == 0x49 && c[4] == 0xba && c[13] == 0x41 && c[14] == 0xff && c[15] == 0xd2)
		__builtin_memcpy(&to, c + 5, sizeof(to));
	return to >= b->start && to < b->end;
}

/*
 * Does `ra` follow a call through a register by which a frameless stub is known to be called? From
 * native code `call *disp32(reg)`, through a table of functions: JNI's Get<Type>Field() may be
 * stubs. From the interpreter `call r11`: a native method's signature handler, which writes the
 * call's arguments relative to sp (interpreterRT_x86_64.cpp).
 */
uw_fn int hs_is_stub_call(struct uw_state *s, uw_mem m, const struct gn_jvm *j, __u64 ra)
{
	__u64 code;

	if (uw_copy(s, m, ra - sizeof(code), &code, sizeof(code)))
		return 0;
	if (!hs_is_code(j, ra))
		return (code >> 16 & 0xf8ff) == 0x90ff;
	return ra - j->interp_low < j->interp_high - j->interp_low && code >> 40 == 0xd3ff41;
}

/*
 * Has native code called JNI's Get<Type>Field(), of which `ra` is the return address? They are
 * stubs that leave the stack alone and begin `mov r11d,[counter]; mov r9,rsi` (JNI_FastGetField).
 */
uw_fn int hs_is_fast_get(struct uw_state *s, uw_mem m, const struct gn_jvm *j,
			 const struct hs_blob *b, __u64 ra)
{
	__u64 first, code;

	if (hs_is_code(j, ra) || uw_copy(s, m, b->code, &first, sizeof(first)) ||
	    (first & 0xffffff) != 0x1d8b44 || first >> 56 != 0x4c)
		return 0;
	return !uw_copy(s, m, ra - sizeof(code), &code, sizeof(code)) && UW_IS_CALL(code);
}

/*
 * A leaf's fp may still be its caller's, which with -XX:+PreserveFramePointer leads to the caller's
 * caller, if it is in a stub that keeps none. The caller is told by its call.
 */
uw_fn void hs_frameless_leaf(struct uw_state *s, uw_mem m, const struct gn_jvm *j,
			     const struct hs_blob *b, struct hs_way *w)
{
	__u64 ra = 0, top = 0;

	if (!w->lost && !uw_word(s, m, s->fp + 8, &ra) && hs_has_called(s, m, b, ra))
		return;
	if (!uw_word(s, m, s->sp, &top) &&
	    (hs_is_stub_call(s, m, j, top) || hs_has_called(s, m, b, top) ||
	     hs_is_fast_get(s, m, j, b, top))) {
		w->slot = s->sp;
		w->saved = 0;
		w->lost = 0;
		return;
	}
	w->unsure = hs_is_code(j, ra); /* the JVM itself calls stubs by their addresses */
}

/* Stubs without a known frame: nearly all keep a frame pointer; the call stub is one. */
uw_fn void hs_frameless(struct uw_state *s, uw_mem m, const struct gn_jvm *j,
			const struct hs_blob *b, struct hs_way *w)
{
	const __u8 *c = (const __u8 *)s->scratch;

	w->slot = s->sp;
	if (s->leaf && !hs_code_bytes(s, m)) {
		if (HS_AT(c, 0) == 0xc3 || HS_3(c, 0, 0x55, 0x48, 0x8b))
			return;
		/* `leave; pop rcx`; and the entry barrier's stub, where -1 is above fp */
		if (HS_3(c, -1, 0xc9, 0x59, 0xff) || HS_3(c, -1, 0xc9, 0x48, 0x83) ||
		    HS_3(c, 0, 0x6a, 0xff, 0x55))
			return;
		/* `leave; pop rcx; jmp rcx`: what was popped is still there */
		if (HS_3(c, -1, 0x59, 0xff, 0xe1)) {
			w->slot -= 8;
			return;
		}
		if (HS_AT(c, 0) == 0x5d || (HS_AT(c, -1) == 0x55 && HS_3(c, 0, 0x48, 0x8b, 0xec))) {
			w->slot += 8;
			w->saved = 1;
			return;
		}
	}
	w->slot = s->fp + 8;
	w->saved = 1;
	w->stub = 1;
	w->lost = s->fp & 7 || s->fp - s->sp > HS_STUB_MAX;
	if (s->leaf)
		hs_frameless_leaf(s, m, j, b, w);
}

/*
 * C1's stub for exceptions without a handler has no frame: it is jumped to with the return address
 * on top, at 8 past a multiple of 16; for a call into the JVM it aligns the stack, and in the end
 * it pops that address and jumps (`pop rdx; jmp rbx`).
 */
uw_fn void hs_bare(struct uw_state *s, uw_mem m, struct hs_way *w)
{
	const __u8 *c = (const __u8 *)s->scratch;

	w->slot = s->sp + (~s->sp & 8);
	w->java = 1;
	if (s->leaf && !hs_code_bytes(s, m) && HS_3(c, -1, 0x5a, 0xff, 0xe3))
		w->slot = s->sp - 8;
}

/*
 * C2's ExceptionBlob is jumped to, too, and pushes the pc of the exception, in rdx, as its return
 * address; at the end it pops it and jumps to the handler.
 */
uw_fn void hs_exception_blob(struct uw_state *s, uw_mem m, const struct hs_blob *b,
			     struct hs_way *w)
{
	const struct hs_code *code = (const struct hs_code *)s->scratch;
	__u32 off = (__u32)(s->pc - b->code);
	__u64 insn = 0x5a00c48348 | (__u64)((b->frame - 8) & 0xff) << 24, popped = 0;
	int state = HS_FULL;

	w->java = 1;
	if (!off) { /* not pushed yet */
		w->slot = s->sp - 8;
		w->other = s->reg[UW_RDX];
		w->known = 1;
		return;
	}
	if (hs_code_bytes(s, m))
		return;
	if (off < HS_BEFORE)
		state = hs_prologue(code, b->frame, off);
#pragma GCC unroll 32
	for (__u32 i = 0; i <= HS_BEFORE - 5; i++) /* add rsp,frame-8; pop rdx */
		popped |= hs_same(code->c, i, insn, 5);
	/* of the jump itself those are too far back */
	popped |= HS_3(code->c, 0, 0x41, 0xff, 0xe0);
	uw_barrier(popped);
	w->slot = s->sp;
	if (popped)
		w->slot -= 8;
	else if ((state == HS_FULL || state == HS_NOFP) && HS_AT(code->c, 0) != 0x5a)
		w->slot += (__u32)b->frame - 8;
	w->saved = state == HS_FULL && w->slot > s->sp;
}

/* Does the word at `slot` return to where the stub was called? */
uw_fn int hs_subtype_called(struct uw_state *s, uw_mem m, const struct gn_jvm *j,
			    const struct hs_blob *b, __u64 slot)
{
	__u64 ra;

	return !uw_word(s, m, slot, &ra) && hs_is_code(j, ra) && hs_has_called(s, m, b, ra);
}

/*
 * C1's stub that looks through what a class implements, at the length of a leaf: it pushes rdi,
 * rsi, rcx and rax, in JDK 25 with three more below, and pops them before it returns (Runtime1's
 * slow_subtype_check). Its caller has pushed both classes (LIR_Assembler::emit_typecheck_helper()).
 */
uw_fn void hs_subtype(struct uw_state *s, uw_mem m, const struct gn_jvm *j, const struct hs_blob *b,
		      struct hs_way *w)
{
	const __u8 *c = (const __u8 *)s->scratch;
	__u64 off = s->pc - b->code, words = off < 4 ? off : 4;

	w->java = 1;
	w->above = 16;
	if (off >= 4 && !hs_code_bytes(s, m)) {
		if (HS_AT(c, 0) == 0xc3)
			words = 0;
		else if (HS_AT(c, 0) == 0x5f && HS_AT(c, -1) == 0x5e)
			words = 1;
		else if (HS_AT(c, 0) == 0x5e && HS_AT(c, -1) == 0x59)
			words = 2;
		else if (HS_AT(c, 0) == 0x59 && HS_AT(c, -1) == 0x58)
			words = 3;
	}
	uw_barrier(words);
	w->slot = s->sp + words * 8;
	/* the nearer first: farther up, in the caller's frame, an older call's may lie */
	if (words == 4 && !hs_subtype_called(s, m, j, b, w->slot) &&
	    hs_subtype_called(s, m, j, b, w->slot + 32))
		w->slot += 32;
}

/*
 * The stub of safepoint polls within methods: where the signal handler has a thread go on that met
 * one. `push rbx; push rbp; mov rbp,rsp; ...`: the word of rbx is room for the return address,
 * which the thread has noted, and which is put there when all registers are saved
 * (SharedRuntime::generate_handler_blob()). With the leaf here.
 */
uw_fn void hs_safepoint(struct uw_state *s, uw_mem m, const struct gn_jvm *j,
			const struct hs_blob *b, struct hs_way *w)
{
	__u64 off = s->pc - b->code, at = s->reg[UW_R15] + j->saved_pc, noted = 0;
	const __u8 *c = (const __u8 *)s->scratch;
	int last = 0;

	if (!j->saved_pc || uw_copy(s, m, at, &noted, sizeof(noted)))
		noted = 0;
	w->other = noted;
	w->java = 1;
	if (off <= 2) { /* an instruction each */
		w->slot = s->sp + off * 8 - 8;
		w->saved = off == 2;
		w->known = hs_is_code(j, noted);
		w->lost = !w->known;
		return;
	}
	if (!hs_code_bytes(s, m))
		last = HS_AT(c, 0) == 0x5d ? 2 : HS_AT(c, 0) == 0xc3;
	uw_barrier(last);
	w->saved = last != 1;
	w->slot = last ? s->sp + last * 8 - 8 : s->fp + 8;
	w->lost = !last && (s->fp & 7 || s->fp - s->sp > HS_STUB_MAX);
}

/* How a stub begins tells what it does with the stack, whatever its size is said to be. */
enum hs_begin {
	HS_BEGIN_OTHER,
	HS_BEGIN_ENTER,
	HS_BEGIN_EXCEPTION,
	HS_BEGIN_SUBTYPE,
	HS_BEGIN_SAFEPOINT
};

uw_fn int hs_stub_begin(struct uw_state *s, uw_mem m, const struct hs_blob *b)
{
	__u64 first;

	if (uw_copy(s, m, b->code, &first, sizeof(first)))
		return HS_BEGIN_OTHER;
	if ((__u32)first == 0xec8b4855 || (__u32)first == 0xe5894855)
		return HS_BEGIN_ENTER;
	if ((__u32)first == 0x50515657)
		return HS_BEGIN_SUBTYPE;
	if ((first & 0xffffffffff) == 0xec8b485553 || (first & 0xffffffffff) == 0xe589485553)
		return HS_BEGIN_SAFEPOINT;
	return (__u8)first == 0x52 ? HS_BEGIN_EXCEPTION : HS_BEGIN_OTHER;
}

uw_fn void hs_stub(struct uw_state *s, uw_mem m, const struct gn_jvm *j, const struct hs_blob *b,
		   struct hs_way *w)
{
	int begin = HS_BEGIN_OTHER;

	if (b->unsized || (s->leaf && b->frame))
		begin = hs_stub_begin(s, m, b);
	uw_barrier(begin);
	if (begin == HS_BEGIN_ENTER || (!b->frame && !b->unsized))
		hs_frameless(s, m, j, b, w);
	else if (begin == HS_BEGIN_SUBTYPE)
		hs_subtype(s, m, j, b, w);
	else if (begin == HS_BEGIN_SAFEPOINT && s->leaf)
		hs_safepoint(s, m, j, b, w);
	else if (b->unsized)
		hs_bare(s, m, w);
	else if (begin == HS_BEGIN_EXCEPTION)
		hs_exception_blob(s, m, b, w);
	else
		hs_framed(s, m, j, b, w);
}

/* A step of its own for the verifier, which finds blob and way in the state. */
#define HS_OWN_WAY(step)                                                                           \
	uw_own(step)(UW_OWN, const struct gn_jvm *j)                                               \
	{                                                                                          \
		if (!s || !j)                                                                      \
			return 1;                                                                  \
		step(s, UW_OWN_MEM, j, hs_blob_of(s), hs_way_of(s));                               \
		return 0;                                                                          \
	}

HS_OWN_WAY(hs_stub)
HS_OWN_WAY(hs_framed)
HS_OWN_WAY(hs_between)

/* ---- the JVM's own note -----------------------------------------------------------------------
 */

/*
 * JavaFrameAnchor: sp, pc, fp of the last Java frame while a thread is in native code or in the JVM
 * (runtime/javaFrameAnchor.hpp); sp is 0 while it runs Java code. 0 when the walk goes on there:
 * marked, since native frames may be missing, unless that is where the walk had come to.
 */
uw_fn int hs_anchor(struct uw_state *s, uw_mem m, const struct gn_jvm *j)
{
	__u64 a[3], thread = s->hs[HS_THREAD];
	int same;

	if (!(j->flags & GN_JVM_ANCHOR))
		return -1;
	if (!thread)
		thread = uw_get_java_thread(m, s->tid);
	if (!thread || uw_copy(s, m, thread + j->anchor, a, sizeof(a)))
		return -1;
	if (!a[0] || a[0] & 7 || a[0] - s->sp >= UW_MAX_FRAME)
		return -1;
	if (!a[1] && uw_word(s, m, a[0] - 8, &a[1]))
		return -1;
	if (!hs_is_code(j, a[1]))
		return -1;
	same = s->pc == a[1] && s->sp == a[0];
	s->pc = a[1];
	s->sp = a[0];
	if (a[2])
		s->fp = a[2];
	s->leaf = s->called = 0;
	s->flags = same ? GN_FF_RETADDR : GN_FF_RETADDR | GN_FF_GUESSED;
	return 0;
}

/*
 * Called when the native part of a walk has ended: 0 when it goes on at the last Java frame. Native
 * code without rules may seem to end at a thread's start (psABI: fp 0), where it does not.
 */
uw_fn int hs_recover(struct uw_state *s, uw_mem m, const struct gn_jvm *j)
{
	if (s->end == GN_END_DEPTH || s->hs[HS_SEEN] || hs_anchor(s, m, j))
		return -1;
	s->hs[HS_SEEN] = 1;
	s->end = GN_END_NONE;
	s->how = 0;
	return 0;
}

/* ---- the step ---------------------------------------------------------------------------------
 */

/*
 * Is the leaf behind an nmethod's code, where a call of it goes while the callee is interpreted:
 * `mov rbx,method; jmp`? The call's return address is on top, and nothing else has changed.
 */
uw_fn int hs_is_call_stub(struct uw_state *s, uw_mem m, struct hs_blob *b)
{
	const __u8 *c = (const __u8 *)s->scratch;

	if (!s->leaf || hs_code_bytes(s, m))
		return 0;
	b->bytes = 1;
	if (HS_AT(c, 0) == 0x48 && HS_AT(c, 1) == 0xbb)
		return HS_AT(c, 10) == 0xe9;
	return HS_AT(c, 0) == 0xe9 && HS_AT(c, -10) == 0x48 && HS_AT(c, -9) == 0xbb;
}

/* ---- compiled code met before -----------------------------------------------------------------
 */

/* pc, and above it the process as far as that fits: equal ones tell only in a generation (a
 * process's).
 */
uw_fn __u64 hs_code_key(const struct uw_state *s)
{
	return (__u64)s->tgid << 47 | s->pc;
}

uw_fn struct uw_code *hs_code(struct uw_state *s)
{
	__u64 slot = uw_mix(s->pc, 0) >> 32;

	uw_barrier(slot); /* mask last, where the verifier sees it */
	return &s->code[slot & (UW_CODES - 1)];
}

/* Keeps in what pc lies, to which a call returns and at which there is no deopt handler. */
uw_fn void hs_code_keep(struct uw_state *s, const struct gn_jvm *j, const struct hs_blob *b,
			__u64 data)
{
	struct uw_code *c = hs_code(s);

	if (!j->id || (j->used | j->size | j->frame) >= HS_BLOCK)
		return;
	c->key = hs_code_key(s);
	c->data = data;
	c->gen = s->gen;
	c->size = (__s32)(b->end - b->start);
	c->frame = (__u32)b->frame;
	c->native = b->native;
}

/* Has the method called native code or a stub, which has been passed? Without branches. */
uw_fn __u64 hs_calls_outside(const struct uw_state *s)
{
	__u64 kind = gn_frame_kind(&s->frames[(s->n - 1) & (GN_MAX_FRAMES - 1)]);
	__u64 is = ((kind ^ GN_FRAME_USER) - 1) >> 63 | ((kind ^ GN_FRAME_STUB) - 1) >> 63;

	is &= (0 - (__u64)s->n) >> 63;
	uw_barrier(is);
	return is;
}

/*
 * Leaves the beginning of its block in s->scratch; *id is the method's number. From outside a read
 * costs much more than what it reads.
 */
uw_fn int hs_head_read(struct uw_state *s, uw_mem m, const struct gn_jvm *j, __u64 block, __u32 *id)
{
#ifdef UW_REMOTE
	int rc = uw_copy(s, m, block, s->scratch, HS_HEADER);

	*id = (__u32)hs_s32(s, j->id);
	return rc;
#else
	return uw_copy(s, m, block, s->scratch, HS_BLOCK) ||
	       uw_copy(s, m, block + j->id, id, sizeof(*id));
#endif
}

/* Does the block still say what it said? */
uw_fn int hs_code_same(struct uw_state *s, uw_mem m, const struct gn_jvm *j,
		       const struct uw_code *c)
{
	__u32 id = 0;

	return !hs_head_read(s, m, j, s->pc - (__u32)c->data - j->blob, &id) && hs_u8(s, j->used) &&
	       id == c->data >> 32 && hs_s32(s, j->size) == c->size &&
	       (__u32)hs_s32(s, j->frame) * 8 == c->frame;
}

/*
 * Is the method that `c` is about still there, as it was? A block that is freed is marked so before
 * its memory is given to others (JDK memory/heap.cpp, add_to_freelist()); and its number is not
 * given again.
 *
 * Once a walk is enough: what it has come by is on a stack and cannot be freed. So is once while no
 * compiler has run: nmethods of Java methods are made by compilers' threads alone
 * (ciEnv::register_method()), and what other threads make (wrappers of native methods, adapters,
 * stubs; JDK runtime/sharedRuntime.cpp) does not call Java code; what calls other code is looked at
 * in each walk, and so is what a guess led to. (Stubs for calls from native code do call Java code;
 * they lie in a heap of their own, and where there is only one heap GN_JVM_CODERS is not set.)
 */
uw_fn int hs_code_is(struct uw_state *s, uw_mem m, const struct gn_jvm *j, struct uw_code *c)
{
	__u64 unsure =
		(c->gen ^ s->gen) | hs_calls_outside(s) | (s->flags & (GN_FF_GUESSED | GN_FF_FP));
	int same;

	if (c->key != hs_code_key(s))
		return 0;
	uw_barrier(unsure);
	if (!unsure && !uw_checks())
		return 1;
	same = hs_code_same(s, m, j, c);
	uw_checked(!unsure, same);
	if (!same)
		return 0;
	c->gen = s->gen;
	return 1;
}

/* May hs_code_frame() take the place of hs_blob_frame(), and says the same? */
uw_fn int hs_code_known(struct uw_state *s, uw_mem m, const struct gn_jvm *j)
{
	struct uw_code *c = hs_code(s);

	if (s->leaf || (j->flags & GN_JVM_SPILLS && !c->native && hs_calls_outside(s)))
		return 0;
	return hs_code_is(s, m, j, c) && j->enter_special != s->pc - (__u32)c->data;
}

#define HS_HOW_CODE	 UW_HOW_MAKE(UW_HOW_CALLER | UW_HOW_JAVA | UW_HOW_EPOCH, 2, 0)
#define HS_HOW_INTERP	 UW_HOW_MAKE(UW_HOW_CALLER | UW_HOW_JAVA | UW_HOW_INTERP | UW_HOW_FP, 2, 0)
#define HS_HOW_CALL_STUB UW_HOW_MAKE(UW_HOW_CALLER | UW_HOW_JAVA | UW_HOW_FP, 2, 0)

/* Before the frame is noted: how it will be left, if it is compiled code. Without branches. */
uw_fn __u32 hs_code_how(const struct uw_state *s)
{
	return HS_HOW_CODE & (0 - (__u32)(s->gen & ~hs_calls_outside(s) & 1));
}

uw_fn int hs_code_frame(struct uw_state *s, struct hs_way *w)
{
	const struct uw_code *c = hs_code(s);

	w->slot = s->sp + c->frame - 8;
	w->saved = 1;
	w->java = 1;
	s->how = HS_HOW_CODE | (__u32)hs_calls_outside(s) << UW_HOW_LOOK_BIT;
	s->how &= 0 - (__u32)(s->gen & 1);
	return uw_push(s, s->pc, GN_FRAME_NMETHOD, 0, c->data);
}

/*
 * Method handle intrinsics have no frame: they are jumped through. But what they load may take a
 * barrier's slow path (MethodHandles::generate_method_handle_dispatch() under ZGC), which pushes
 * registers first, and calls: then the word at sp may be one of these.
 */
uw_fn void hs_linker(const struct uw_state *s, const struct gn_jvm *j, __u32 kind, struct hs_way *w)
{
	w->slot = s->sp;
	if (kind == GN_FRAME_NMETHOD) /* and no call stub, of which it is exact */
		w->unsure |= !s->leaf || j->flags & GN_JVM_SPILLING;
}

/* A frame of a blob: note it, and find the way to its caller. */
uw_fn int hs_blob_frame(struct uw_state *s, uw_mem m, const struct gn_jvm *j, struct hs_way *w)
{
	__u32 kind = GN_FRAME_STUB, flags = 0, keep = 0;
	struct hs_blob *b = hs_blob_of(s);
	__u64 data = 0;

	__builtin_memset(b, 0, sizeof(*b));

	s->how = hs_code_how(s);

	if (hs_find(s, m, j, b)) {
		w->lost = 1;
		b->frame = -1;
		flags = GN_FF_GUESSED;
	} else if (b->kind == HS_NMETHOD && hs_is_call_stub(s, m, b)) {
		b->frame = 0;
		w->java = 1;
	} else if (b->kind == HS_NMETHOD) {
		keep = !s->leaf && !hs_deopt(s, m, j, b);
		kind = GN_FRAME_NMETHOD;
		data = (__u64)b->id << 32 | (__u32)(s->pc - b->start);
		w->java = 1;
	}
	if (uw_push(s, s->pc, kind, flags, data))
		return 1;
	if (b->start && j->enter_special == b->start)
		return uw_end(s, GN_END_CONT);
	if (b->kind == HS_VTABLE || b->kind == HS_ADAPTER)
		uw_call(hs_between, s, m, j);
	else if (b->kind == HS_STUB)
		uw_call(hs_stub, s, m, j);
	else if (b->frame > 0)
		uw_call(hs_framed, s, m, j);
	else
		hs_linker(s, j, kind, w);
	if (keep && b->frame > 0)
		hs_code_keep(s, j, b, data);
	else
		s->how = 0;
	return 0;
}

/* Reads from outside are two calls deeper, and there may be eight: here is the one that can be
 * spared. */
#ifdef UW_REMOTE
#define hs_blob_call(s, m, j) hs_blob_frame(s, m, j, hs_way_of(s))
#else
uw_own(hs_blob_frame)(UW_OWN, const struct gn_jvm *j)
{
	return s && j ? hs_blob_frame(s, UW_OWN_MEM, j, hs_way_of(s)) : 1;
}
#define hs_blob_call(s, m, j) uw_call(hs_blob_frame, s, m, j)
#endif

/* The call stub has a frame pointer; nearly every thread's stack has one, and it never changes. */
uw_fn int hs_call_stub(struct uw_state *s, struct hs_way *w)
{
	w->slot = s->fp + 8;
	w->saved = 1;
	w->stub = 1;
	w->lost = s->fp & 7 || s->fp - s->sp > HS_STUB_MAX;
	s->how = HS_HOW_CALL_STUB;
	return uw_push(s, s->pc, GN_FRAME_STUB, 0, 0);
}

uw_fn int hs_step(struct uw_state *s, uw_mem m, const struct gn_jvm *j)
{
	struct hs_way *w = hs_way_of(s);

	__builtin_memset(w, 0, sizeof(*w));
	if (!s->hs[HS_SEEN]) {
		if (s->flags & GN_FF_GUESSED)
			hs_anchor(s, m, j);
		s->hs[HS_SEEN] = 1;
	}
	if (!s->leaf && s->pc >= j->cont_low && s->pc < j->cont_high)
		return uw_end(s, GN_END_HEAP);
	if (j->flags & GN_JVM_INTERP && s->pc >= j->interp_low && s->pc < j->interp_high) {
		struct hs_interp f;

		if (!hs_interp_frame(s, m, j, &f)) {
			s->how = HS_HOW_INTERP & (0 - (~hs_calls_outside(s) & ~s->leaf & 1));

			if (uw_push(s, f.method, GN_FRAME_INTERP, 0, f.cm << 16 | f.bci))
				return 1;
			return uw_caller(s, f.ra, f.sp, f.fp, GN_FF_RETADDR);
		}
		/* entering or leaving a method: the frame is not there yet, or gone */
		if (uw_push(s, s->pc, GN_FRAME_STUB, 0, 0))
			return 1;
		if (s->leaf) {
			hs_interp_edge(s, m, j, w);
		} else {
			/* a frame removed for an exception: the return address, and the exception
			 * below it, are pushed while the compiled caller's handler is looked for */
			w->slot = s->sp;
			w->above = 8;
		}
		w->java = 1;
	} else if (!s->leaf && s->pc == j->call_stub) {
		if (hs_call_stub(s, w))
			return 1;
	} else if (hs_code_known(s, m, j) ? hs_code_frame(s, w) : hs_blob_call(s, m, j)) {
		return 1;
	}
	return uw_call(hs_return, s, m, j);
}

#endif /* UW_HOTSPOT_RULES */

#endif
