/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The native method of java/Queue.java. Declared by hand, so that no JDK's headers are needed: a
 * static native method gets the environment and the class, which it does not use.
 */
#include <stdint.h>
#include <time.h>

void Java_Queue_spin(void *env, void *klass, int64_t ns);

static int64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

void Java_Queue_spin(void *env, void *klass, int64_t ns)
{
	static _Thread_local volatile uint64_t x = 1;
	int64_t start = cpu_ns();

	(void)env;
	(void)klass;
	do {
		for (int i = 0; i < 10000000; i++)
			x = x * 6364136223846793005u + 1442695040888963407u;
	} while (cpu_ns() - start < ns);
}
