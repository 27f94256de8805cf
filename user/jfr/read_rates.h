/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPU intervals of a chunk over time (gnomon.RateChange): internal to read_sample. Who writes
 * them tells each before the samples that it is for (jfrw_cpu_samples()), so what was read so far
 * is enough.
 */
#ifndef GNOMON_JFR_READ_RATES_H
#define GNOMON_JFR_READ_RATES_H

#include <stddef.h>
#include <stdint.h>

struct jfr_rates {
	struct jfr_rate_at {
		int64_t time_ns; /* since 1970 */
		uint64_t cpu_ns;
	} * v; /* by time */
	size_t n, cap;
};

/* A chunk begins: what those before said does not count, since this one repeats it. */
void rate_changes_begin(struct jfr_rates *r);
void rate_changes_free(struct jfr_rates *r);

/* From then on; 0: there are no such samples. Events may come in any order. 0 or -ENOMEM. */
int rate_changes_add(struct jfr_rates *r, int64_t time_ns, uint64_t cpu_ns);

/* That of a sample of that time: of one before them all, the first. 0: none is known. */
uint64_t rate_changes_at(const struct jfr_rates *r, int64_t time_ns);

#endif
