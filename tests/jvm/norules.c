/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JNI's functions of NoRules.java, to be compiled without unwind tables and without frame pointers:
 * the frame pointer's register has a value that leads nowhere, or 0, as if it were a thread's
 * start.
 */
#include <stdint.h>
#include <time.h>

#define KEPT "rbx", "r12", "r13", "r14", "r15"

static int64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static __attribute__((noinline)) int64_t spin(int64_t until, int64_t fp)
{
	volatile char room[208];

	room[0] = 0;
	do
		__asm__ volatile("push %%rbp\n\tmov %0,%%rbp\n\tmov $20000,%%ecx\n1:\tdec "
				 "%%ecx\n\tjnz 1b\n\tpop %%rbp"
				 :
				 : "r"(fp)
				 : "rcx", "memory", "cc");
	while (now() < until);
	return room[0];
}

static __attribute__((noinline)) int64_t nap(int64_t ns)
{
	struct timespec ts = {ns / 1000000000, ns % 1000000000};
	volatile char room[80];
	int rc;

	room[1] = 1;
	__asm__ volatile("push %%rbp\n\txor %%ebp,%%ebp\n\tsub $8,%%rsp\n\tsyscall\n\tadd "
			 "$8,%%rsp\n\tpop %%rbp"
			 : "=a"(rc)
			 : "a"(35 /* nanosleep */), "D"(&ts), "S"(0)
			 : "rcx", "r11", "memory", "cc");
	return rc + room[1];
}

int64_t Java_NoRules_burn(void *env, void *cls, int64_t ms, int64_t fp)
{
	volatile char room[48];

	room[2] = 1;
	return spin(now() + ms * 1000000, fp) + room[2];
}

int64_t Java_NoRules_sleep(void *env, void *cls, int64_t ms)
{
	return nap(ms * 1000000) + 1;
}
