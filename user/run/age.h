/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long ago a file was written, by its time of day, however the clock was set since. What was
 * set before the first look is not known. Pure.
 */
#ifndef GNOMON_RUN_AGE_H
#define GNOMON_RUN_AGE_H

#include <stddef.h>
#include <stdint.h>

#define AGE_JUMPS 8

/* Zero at first. */
struct age_clock {
	uint64_t unix_ns, boot_ns; /* the last look; 0: there was none */
	struct {
		uint64_t from, to; /* since 1970, before it was set and after */
	} jumps[AGE_JUMPS];	   /* the latest first */
	size_t n;
};

/* To be called now and then with CLOCK_REALTIME and CLOCK_BOOTTIME. */
void age_look(struct age_clock *c, uint64_t unix_ns, uint64_t boot_ns);

/* At the last look, of what was written at that time of day. 0: it seems to be of the future. */
uint64_t age_of(const struct age_clock *c, uint64_t written_ns);

#endif
