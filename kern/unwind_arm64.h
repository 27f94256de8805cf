/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * aarch64 for the unwinder: register numbers (DWARF for the Arm 64-bit Architecture, section 4.1)
 * and what the rules of kern/native.h need from the machine.
 */
#ifndef GNOMON_UNWIND_ARM64_H
#define GNOMON_UNWIND_ARM64_H

enum uw_reg {
	UW_X0 = 0,
	UW_FP = 29,
	UW_LR = 30,
	UW_SP = 31,
	UW_NREG = 31,
	UW_REG_FP = UW_FP,
	UW_REG_SP = UW_SP,
	UW_REG_RA = UW_LR,
	UW_REG_KEPT = 19, /* as a rule's base it does not occur */
};

#define UW_STACK_ALIGN 16
/*
 * A return address may be signed (pointer authentication): the signature lies above the 48 bits of
 * a user address.
 */
#define UW_CODE_ADDR(ra) ((ra)&0xffffffffffffULL)

/* What code has at pc after a signal handler returned: mov x8, #139; svc #0 (rt_sigreturn). */
#define UW_SIGRETURN_CODE 0xd4000001d2801168ULL

/*
 * struct rt_sigframe (arch/arm64/kernel/signal.c) at sp: siginfo (128 bytes), then struct
 * ucontext, whose mcontext (16-aligned, at 176: flags, link, stack 40, sigmask padded to 128)
 * holds fault_address, regs[31], sp, pc.
 */
#define UW_SIGFRAME_OFF	  (128 + 176 + 8)
#define UW_SIGFRAME_WORDS 33
#define UW_SIGFRAME_REGS(s, w)                                                                     \
	do {                                                                                       \
		_Pragma("GCC unroll 31") for (int uw_i = 0; uw_i < UW_NREG; uw_i++)                \
		{                                                                                  \
			(s)->reg[uw_i] = (w)[uw_i];                                                \
		}                                                                                  \
		(s)->fp = (w)[29];                                                                 \
		(s)->sp = (w)[31];                                                                 \
		(s)->pc = (w)[32];                                                                 \
	} while (0)

/* A leaf's return address is in a register: not looked for on the stack. */
#define UW_CALL_TARGET(ra, code) ((void)(code), ~0ULL)

/* Can `code`, the 8 bytes before an address, be a call that returns there: bl, blr, blraa and such?
 */
#define UW_IS_CALL(code)                                                                           \
	(((code) >> 58 & 0x3f) == 0x25 || ((code) >> 32 & 0xfefff000) == 0xd63f0000)

#ifdef __bpf__
/*
 * Entered by a system call: pc is where it returns to. (Anything else leaves NO_SYSCALL, -1, here:
 * arch/arm64/include/asm/ptrace.h.)
 */
#define UW_IN_SYSCALL(r) ((r)->syscallno != -1)

/* Interrupted in user space: exception level 0 (PSR_MODE_MASK). */
#define UW_IN_USER(r) (!((r)->pstate & 0xf))

/* From the registers the kernel saved (struct pt_regs of vmlinux.h, already readable). */
#define UW_REGS_FROM_PT(s, r)                                                                      \
	do {                                                                                       \
		(s)->pc = (r)->pc;                                                                 \
		(s)->sp = (r)->sp;                                                                 \
		(s)->fp = (r)->regs[UW_FP];                                                        \
		_Pragma("unroll") for (int uw_i = 0; uw_i < UW_NREG; uw_i++)                       \
		{                                                                                  \
			(s)->reg[uw_i] = (r)->regs[uw_i];                                          \
		}                                                                                  \
		(s)->leaf = 1;                                                                     \
	} while (0)
#endif

#endif
