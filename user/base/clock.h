/* SPDX-License-Identifier: Apache-2.0 */
/* Times as one number: nanoseconds of a clock. */
#ifndef GNOMON_BASE_CLOCK_H
#define GNOMON_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* CLOCK_MONOTONIC, the clock of all records. */
static inline uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

#endif
