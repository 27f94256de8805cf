/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When windows are sent. They end together on all hosts, at multiples of their length since 1970;
 * each host sends them a while later, which is its own, so that a server has not all of a fleet at
 * once.
 */
#ifndef GNOMON_PUSH_ROUND_H
#define GNOMON_PUSH_ROUND_H

#include <stdbool.h>
#include <stdint.h>

/* Times in ns of CLOCK_REALTIME. */
struct round {
	uint64_t window_ns, late_ns, next_ns;
};

/* `chance` is any number; what is late by it is less than half a window. */
void round_begin(struct round *r, uint64_t window_ns, uint64_t chance, uint64_t now);

/* Tells whether it is time to send: once for each window, also where the clock is set meanwhile. */
bool round_is_due(struct round *r, uint64_t now);

#endif
