/* SPDX-License-Identifier: Apache-2.0 */
/* Sleeping for some nanoseconds, or until a time of CLOCK_MONOTONIC. */
#ifndef TESTS_BPF_SLEEPS_H
#define TESTS_BPF_SLEEPS_H

#include <stdint.h>
#include <time.h>

static inline struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
}

static inline void nap(uint64_t ns)
{
	struct timespec ts = timespec_of(ns);

	nanosleep(&ts, NULL);
}

static inline void sleep_until(uint64_t ns)
{
	struct timespec ts = timespec_of(ns);

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
}

#endif
