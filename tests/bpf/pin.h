/* SPDX-License-Identifier: Apache-2.0 */
/* Threads on one CPU. */
#ifndef TESTS_BPF_PIN_H
#define TESTS_BPF_PIN_H

#include <sched.h>
#include <sys/types.h>

/* -1 with errno: that CPU is not there. */
static inline int pin(pid_t tid, int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	return sched_setaffinity(tid, sizeof(one), &one);
}

/* This thread, and those that it makes from now on. */
static inline int pin_to(int cpu)
{
	return pin(0, cpu);
}

#endif
