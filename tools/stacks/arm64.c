/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program of aarch64 without a C library that saves its own stack, in the form of
 * tests/data/stacks/README.md, to its standard output. arm64.sh builds and runs it.
 *
 * _start, begin, variable, large, plain, leaf: there a load from nowhere raises SIGSEGV, and its
 * handler calls dump. Return addresses are signed. test_saved.c knows this chain.
 */
#include <stdint.h>

#define SYS_write	 64
#define SYS_exit	 93
#define SYS_rt_sigaction 134
#define SIGSEGV		 11

#define PAGE 4096ULL

uint64_t regs[33]; /* x0-x30, sp, pc: as dump was entered */
static uint64_t start_sp;
static const void *trampoline; /* where the handler returns to */

static long sys(long n, long a, long b, long c, long d)
{
	register long x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d, x8 __asm__("x8") = n;

	__asm__ volatile("svc #0" : "+r"(x0) : "r"(x1), "r"(x2), "r"(x3), "r"(x8) : "memory");
	return x0;
}

static void section(const char tag[4], uint64_t addr, const void *bytes, uint32_t len)
{
	struct {
		char tag[4];
		uint32_t len;
		uint64_t addr;
	} h = {{tag[0], tag[1], tag[2], tag[3]}, len, addr};

	sys(SYS_write, 1, (long)&h, sizeof(h), 0);
	sys(SYS_write, 1, (long)bytes, len, 0);
}

void save(void);
void save(void)
{
	uint64_t low = regs[31] & ~(PAGE - 1), high = (start_sp + 64 + PAGE - 1) & ~(PAGE - 1);

	section("GNST", 183, regs, 0); /* EM_AARCH64 */
	section("REGS", 0, regs, sizeof(regs));
	section("MEM ", low, (void *)low, (uint32_t)(high - low));
	section("MEM ", (uint64_t)trampoline, trampoline, 16);
	sys(SYS_exit, 0, 0, 0, 0);
}

/* Notes the registers, all of them as they are, and saves. */
void dump(void);
__asm__(".text\n"
	".global dump\n"
	".type dump, %function\n"
	"dump:\n"
	".cfi_startproc\n"
	"	stp x16, x17, [sp, #-16]!\n"
	"	adrp x16, regs\n"
	"	add x16, x16, :lo12:regs\n"
	"	stp x0, x1, [x16]\n"
	"	stp x2, x3, [x16, #16]\n"
	"	stp x4, x5, [x16, #32]\n"
	"	stp x6, x7, [x16, #48]\n"
	"	stp x8, x9, [x16, #64]\n"
	"	stp x10, x11, [x16, #80]\n"
	"	stp x12, x13, [x16, #96]\n"
	"	stp x14, x15, [x16, #112]\n"
	"	ldp x0, x1, [sp], #16\n"
	"	stp x0, x1, [x16, #128]\n"
	"	stp x18, x19, [x16, #144]\n"
	"	stp x20, x21, [x16, #160]\n"
	"	stp x22, x23, [x16, #176]\n"
	"	stp x24, x25, [x16, #192]\n"
	"	stp x26, x27, [x16, #208]\n"
	"	stp x28, x29, [x16, #224]\n"
	"	mov x0, sp\n"
	"	stp x30, x0, [x16, #240]\n"
	"	adr x0, dump\n"
	"	str x0, [x16, #256]\n"
	"	b save\n"
	".cfi_endproc\n"
	".size dump, . - dump\n");

#define PLAIN __attribute__((noinline))

static PLAIN void handler(int sig)
{
	trampoline = __builtin_extract_return_addr(__builtin_return_address(0));
	dump();
	__asm__ volatile(""); /* not a jump */
}

static PLAIN int leaf(const volatile int *p)
{
	return *p + 1;
}

static PLAIN int plain(int *p)
{
	return leaf(p) + 1;
}

static PLAIN int large(int *p)
{
	char room[5000];

	__asm__ volatile("" : : "r"(room) : "memory"); /* it might be used */
	return plain(p) + 1;
}

static PLAIN int variable(int *p, long n)
{
	volatile char *room = __builtin_alloca((unsigned long)n);

	room[0] = 1;
	return large(p) + room[0];
}

void begin(uint64_t sp);
void begin(uint64_t sp)
{
	/* struct kernel_sigaction: handler, flags, mask */
	uint64_t act[3] = {(uint64_t)handler, 0, 0};

	start_sp = sp;
	sys(SYS_rt_sigaction, SIGSEGV, (long)act, 0, 8);
	variable((int *)16, (long)(sp & 15) + 200);
	sys(SYS_exit, 1, 0, 0, 0);
}

__asm__(".text\n"
	".global _start\n"
	".type _start, %function\n"
	"_start:\n"
	".cfi_startproc\n"
	".cfi_undefined x30\n"
	"	mov x29, #0\n"
	"	mov x0, sp\n"
	"	bl begin\n"
	"	brk #0\n"
	".cfi_endproc\n"
	".size _start, . - _start\n");
