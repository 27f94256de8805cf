/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What part of the threads a recording samples, over time (gnomon.ThreadReservoir): internal to
 * the sampler.
 *
 * Wall samples are written when a wait ends and name its beginning, so they come later than the
 * choices made since: the latest RESERVOIR_EPOCHS of these are kept, ordered by time. That is
 * longer than any sample gnomon writes.
 */
#ifndef GNOMON_JFR_READ_RESERVOIR_H
#define GNOMON_JFR_READ_RESERVOIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RESERVOIR_EPOCHS 4096

struct reservoir_draw {
	int64_t from_ns; /* until the next one */
	double scale;	 /* eligible / sampled, at least 1 */
};

struct reservoir {
	struct reservoir_draw *v; /* NULL until the first one */
	size_t n;
	bool forgot; /* the oldest ones */
};

void reservoir_free(struct reservoir *r);

/* Numbers that make no sense (nothing sampled, or more than there is) count as all sampled. */
int reservoir_add(struct reservoir *r, int64_t from_ns, int64_t eligible, int64_t sampled);

/*
 * Tells what a tick at `at_ns` stands for, and how many of `ticks` that are step_ns apart stand for
 * the same (at least 1).
 */
double reservoir_scale(const struct reservoir *r, int64_t at_ns, int64_t step_ns, uint64_t ticks,
		       uint64_t *same);

#endif
