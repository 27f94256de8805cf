/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library that a JVM loads late: code that uses the frame pointer for something else, so that
 * only its unwind table leads through it.
 */
#include <jni.h>
#include <time.h>

static volatile unsigned long sink;

static long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

__attribute__((noinline)) static void work(unsigned long n)
{
	volatile unsigned long room[40];

	for (unsigned long i = 0; i < n; i++)
		room[i % 40] = i;
	sink += room[7];
#ifdef __x86_64__
	asm volatile("xor %%ebp, %%ebp\n1: add $1, %%rbp\n cmp $200000, %%rbp\n jb 1b" ::
			     : "rbp", "cc");
#endif
}

__attribute__((noinline)) static void deeper(int n)
{
	volatile char room[64];

	room[n] = (char)n;
	if (n)
		deeper(n - 1);
	else
		work(200000);
	sink += (unsigned long)room[n];
}

JNIEXPORT void JNICALL Java_Late_spin(JNIEnv *env, jclass klass, jlong ms)
{
	long end = now_ms() + ms;

	(void)env;
	(void)klass;
	while (now_ms() < end)
		deeper(10);
}
