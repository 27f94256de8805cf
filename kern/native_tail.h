/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The last instructions of a function, x86_64: a leaf at these has its return address above what is
 * still to be popped, whatever the table says. Some compilers (clang) leave the ends of functions
 * out of their tables: what the table says of their frames leads to the caller's caller.
 */
#ifndef GNOMON_NATIVE_TAIL_H
#define GNOMON_NATIVE_TAIL_H

#include "unwind.h"

#define UW_TAIL_BEFORE 8 /* bytes of code before pc */
#define UW_TAIL_BYTES  32

struct uw_tail {
	__u8 c[UW_TAIL_BYTES]; /* c[UW_TAIL_BEFORE] is at pc */
};

/*
 * How a function ends at pc. UW_TAIL_POPS(tail) words are popped, then it returns; UW_TAIL_FP(tail)
 * says which of them is the frame pointer, UW_TAIL_KEPT(tail) which is UW_REG_KEPT: 1 the first,
 * 0 none.
 */
enum {
	UW_TAIL_NONE = 1,
	UW_TAIL_JUMP = 2, /* a jump, and what is before it may be a pop of the frame pointer */
	UW_TAIL_RET = 0x1000,
};
#define UW_TAIL_POPS(tail) ((tail)&15)
#define UW_TAIL_FP(tail)   ((tail) >> 4 & 15)
#define UW_TAIL_KEPT(tail) ((tail) >> 8 & 15)

#define UW_TAIL_MOST 7 /* pops: there are six registers that a function keeps for its caller */

/* 1 when a is b. No branch: the verifier would follow both sides. */
#define UW_EQ(a, b) (((__u64)((a) ^ (b)) - 1) >> 63)

/* A loop takes less of the BPF stack, of which a walk has little left. */
#ifdef __bpf__
#define UW_NO_UNROLL _Pragma("clang loop unroll(disable)")
#else
#define UW_NO_UNROLL
#endif

/* In a BPF program a function of its own, verified once for all callers (see kern/hotspot.h). */
#ifdef __bpf__
__attribute__((noinline, weak))
#else
uw_fn
#endif
int native_tail_read(const struct uw_tail *t)
{
	__u64 at = UW_TAIL_BEFORE, n = 0, fp = 0, kept = 0, more = 1, op, next, rex, ret, jump;

	if (!t)
		return UW_TAIL_NONE;
	UW_NO_UNROLL
	for (int i = 0; i < UW_TAIL_MOST; i++) {
		op = t->c[at & (UW_TAIL_BYTES - 1)];
		rex = UW_EQ(op, 0x41);
		uw_barrier(rex);
		op = t->c[(at + rex) & (UW_TAIL_BYTES - 1)];
		more &= UW_EQ(op & 0xf8, 0x58);
		uw_barrier(more);
		n += more;
		fp |= n * (more & ~rex & UW_EQ(op, 0x5d));
		kept |= n * (more & ~rex & UW_EQ(op, 0x5b));
		at += more << rex;
		uw_barrier(at);
	}
	op = t->c[at & (UW_TAIL_BYTES - 1)];
	next = t->c[(at + 1) & (UW_TAIL_BYTES - 1)];
	ret = UW_EQ(op, 0xc3) | UW_EQ(op, 0xc2) | (UW_EQ(op, 0xf3) & UW_EQ(next, 0xc3));
	uw_barrier(ret);
	if (ret)
		return (int)(UW_TAIL_RET | n | fp << 4 | kept << 8);
	jump = UW_EQ(op, 0xe9) | UW_EQ(op, 0xeb) | (UW_EQ(op, 0xff) & UW_EQ(next & 0x38, 0x20));
	jump &= UW_EQ(n, 0) & UW_EQ(t->c[UW_TAIL_BEFORE - 1], 0x5d);
	uw_barrier(jump);
	return jump ? UW_TAIL_JUMP : UW_TAIL_NONE;
}

#endif
