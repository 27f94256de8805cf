/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a process that names has given no sign of life, and how much of its time at the end it
 * has used. What a machine without time to spare, the disk or another process of ours takes is not
 * counted against it. Pure functions; times are CLOCK_MONOTONIC.
 */
#ifndef GNOMON_NAMING_PATIENCE_H
#define GNOMON_NAMING_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

#define PATIENCE_LOOK_NS   100000000ull	  /* to be looked at so often; who is late is not told */
#define PATIENCE_QUIET_NS  10000000000ull /* so long without a sign: it hangs */
#define PATIENCE_SPARED_NS 10000000000ull /* of the time at the end at most so much is left out */
/* after so much of it, as it is counted: */
#define PATIENCE_ADDRESSES_NS 1000000000ull /* frames are not named any more */
#define PATIENCE_COUNT_NS     1500000000ull /* samples are counted only */
#define PATIENCE_END_NS	      1800000000ull /* it has had its time: others close its files */

/* What is seen of it at one time; counts, of which changes matter. */
struct signs {
	uint64_t steps, ours; /* base/beat.h */
	uint64_t delay_ns;    /* for so long it waited for a CPU, in all */
};

struct patience {
	struct signs seen;
	uint64_t seen_ns;
	uint64_t quiet_ns; /* counted since the last step */
	bool ends;
	uint64_t spent_ns;  /* counted since patience_end() */
	uint64_t spared_ns; /* and left out */
};

void patience_begin(struct patience *p, const struct signs *s, uint64_t now);
void patience_look(struct patience *p, const struct signs *s, uint64_t now);

/* The time at the end begins; it has used so much of it. */
void patience_end(struct patience *p, const struct signs *s, uint64_t now, uint64_t spent_ns);

#endif
