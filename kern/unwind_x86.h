/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * x86_64 for the unwinder: register numbers (System V ABI, AMD64 supplement, figure 3.36: DWARF
 * register number mapping) and what the rules of kern/native.h need from the machine.
 */
#ifndef GNOMON_UNWIND_X86_H
#define GNOMON_UNWIND_X86_H

enum uw_reg {
	UW_RAX = 0,
	UW_RDX = 1,
	UW_RCX = 2,
	UW_RBX = 3,
	UW_RSI = 4,
	UW_RDI = 5,
	UW_RBP = 6,
	UW_RSP = 7,
	UW_R8 = 8,
	UW_R9 = 9,
	UW_R10 = 10,
	UW_R11 = 11,
	UW_R12 = 12,
	UW_R13 = 13,
	UW_R14 = 14,
	UW_R15 = 15,
	UW_RIP = 16, /* the return address column */
	UW_NREG = 16,
	UW_REG_FP = UW_RBP,
	UW_REG_SP = UW_RSP,
	UW_REG_RA = UW_RIP,
	UW_REG_KEPT = UW_RBX,
};

#define UW_HOTSPOT_RULES 1 /* kern/hotspot.h is for this machine */

#define UW_STACK_ALIGN 8
/* a code address as it stands in a return slot: nothing to strip */
#define UW_CODE_ADDR(ra) (ra)

/* What code has at pc after a signal handler returned: mov $15,%rax; syscall (rt_sigreturn). */
#define UW_SIGRETURN_CODE 0x0f0000000fc0c748ULL

/*
 * struct rt_sigframe (arch/x86/include/asm/sigframe.h) as seen from its return address on: struct
 * ucontext, whose mcontext (struct sigcontext, asm/sigcontext.h: r8-r15, di, si, bp, bx, dx, ax,
 * cx, sp, ip) comes after flags, link and stack: 40 bytes.
 */
#define UW_SIGFRAME_OFF	  40
#define UW_SIGFRAME_WORDS 17
#define UW_SIGFRAME_REGS(s, w)                                                                     \
	do {                                                                                       \
		(s)->reg[UW_R8] = (w)[0];                                                          \
		(s)->reg[UW_R9] = (w)[1];                                                          \
		(s)->reg[UW_R10] = (w)[2];                                                         \
		(s)->reg[UW_R11] = (w)[3];                                                         \
		(s)->reg[UW_R12] = (w)[4];                                                         \
		(s)->reg[UW_R13] = (w)[5];                                                         \
		(s)->reg[UW_R14] = (w)[6];                                                         \
		(s)->reg[UW_R15] = (w)[7];                                                         \
		(s)->reg[UW_RDI] = (w)[8];                                                         \
		(s)->reg[UW_RSI] = (w)[9];                                                         \
		(s)->reg[UW_RBP] = (w)[10];                                                        \
		(s)->reg[UW_RBX] = (w)[11];                                                        \
		(s)->reg[UW_RDX] = (w)[12];                                                        \
		(s)->reg[UW_RAX] = (w)[13];                                                        \
		(s)->reg[UW_RCX] = (w)[14];                                                        \
		(s)->reg[UW_RSP] = (w)[15];                                                        \
		(s)->fp = (w)[10];                                                                 \
		(s)->sp = (w)[15];                                                                 \
		(s)->pc = (w)[16];                                                                 \
	} while (0)

/* Whereto the call before `ra` goes, if it is `call rel32`, else ~0. `code`: 8 bytes before ra. */
#define UW_CALL_TARGET(ra, code)                                                                   \
	(((code) >> 24 & 0xff) == 0xe8 ? (ra) + (__u64)((__s64)(code) >> 32) : ~0ULL)

/* Can `code`, the 8 bytes before an address, be a call that returns there: `e8 rel32`, `ff /2`? */
#define UW_CALLS_BY(code, len) (((code) >> (64 - 8 * (len)) & 0x38ff) == 0x10ff)
#define UW_IS_CALL(code)                                                                           \
	(((code) >> 24 & 0xff) == 0xe8 || UW_CALLS_BY(code, 2) || UW_CALLS_BY(code, 3) ||          \
	 UW_CALLS_BY(code, 4) || UW_CALLS_BY(code, 6) || UW_CALLS_BY(code, 7))

#define UW_TAILS 1 /* kern/native_tail.h is for this machine */

#ifdef __bpf__
/* Entered by a system call: pc is where it returns to. (An interrupt leaves -1 here.) */
#define UW_IN_SYSCALL(r) ((long)(r)->orig_ax >= 0)

/* Interrupted in user space. */
#define UW_IN_USER(r) (((r)->cs & 3) == 3)

/* From the registers the kernel saved (struct pt_regs of vmlinux.h, already readable). */
#define UW_REGS_FROM_PT(s, r)                                                                      \
	do {                                                                                       \
		(s)->pc = (r)->ip;                                                                 \
		(s)->sp = (r)->sp;                                                                 \
		(s)->fp = (r)->bp;                                                                 \
		(s)->reg[UW_RAX] = (r)->ax;                                                        \
		(s)->reg[UW_RDX] = (r)->dx;                                                        \
		(s)->reg[UW_RCX] = (r)->cx;                                                        \
		(s)->reg[UW_RBX] = (r)->bx;                                                        \
		(s)->reg[UW_RSI] = (r)->si;                                                        \
		(s)->reg[UW_RDI] = (r)->di;                                                        \
		(s)->reg[UW_RBP] = (r)->bp;                                                        \
		(s)->reg[UW_RSP] = (r)->sp;                                                        \
		(s)->reg[UW_R8] = (r)->r8;                                                         \
		(s)->reg[UW_R9] = (r)->r9;                                                         \
		(s)->reg[UW_R10] = (r)->r10;                                                       \
		(s)->reg[UW_R11] = (r)->r11;                                                       \
		(s)->reg[UW_R12] = (r)->r12;                                                       \
		(s)->reg[UW_R13] = (r)->r13;                                                       \
		(s)->reg[UW_R14] = (r)->r14;                                                       \
		(s)->reg[UW_R15] = (r)->r15;                                                       \
		(s)->leaf = 1;                                                                     \
	} while (0)
#endif

#endif
