/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often each process of a daemon is sampled, and who wants it so. One struct, set through one
 * table by whoever decides: the configuration, a trigger, `gnomon set`, the budget. Of those who
 * wish something the one with the most to say is followed, in this order; the budget does not wish,
 * it only makes it less. From any thread; none of them waits.
 */
#ifndef GNOMON_RUN_RATES_H
#define GNOMON_RUN_RATES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "target/procfs.h"

/* Intervals in ns, 0: no such samples. */
struct rate {
	uint64_t cpu_ns, wall_ns;
	bool no_wakers; /* who wakes threads is not told */
};

enum rate_by {
	RATE_CONFIGURATION = 0,
	RATE_TRIGGER,
	RATE_COMMAND,
	RATE_WISHES,
	RATE_BUDGET = RATE_WISHES
};

/* What one of them wishes of a process. */
struct rate_wish {
	bool cpu, wall; /* so much of `rate` is given */
	struct rate rate;
	uint64_t until_ns; /* CLOCK_MONOTONIC; 0: as long as the process lives */
	char reason[128];
};

/*
 * How much less the budget leaves of it, from everything to nothing; documented in
 * gnomon-daemon(1). rate_step_name() says it in words.
 */
enum rate_step {
	RATE_FULL = 0,
	RATE_WALL_2,  /* wall intervals twice as long */
	RATE_WALL_4,  /* four times */
	RATE_WALL_16, /* sixteen times */
	RATE_CPU_2,   /* and CPU intervals twice as long */
	RATE_CPU_4,   /* four times */
	RATE_ALL_16,  /* both sixteen times, and who wakes threads is not told any more */
	RATE_WALL_64, /* wall intervals 64 times: longer CPU intervals would save next to nothing */
	RATE_CPU_ONLY, /* no wall samples */
	RATE_OFF,      /* nothing */
	RATE_STEPS
};
const char *rate_step_name(enum rate_step s);

/* Pure: less of it by a step. */
struct rate rate_less(struct rate full, enum rate_step s);

/* What is in force. */
struct rate_now {
	struct rate rate; /* as it is taken: wall intervals are those that there are */
	enum rate_by by;  /* who made it what it is */
	enum rate_step step;
	uint64_t until_ns; /* of the wish; 0: no end is known */
	char reason[160];
};
const char *rate_by_name(enum rate_by by);

struct rates;

/* tick_ns: the finest wall interval; 0: no wall samples. NULL: no memory. */
struct rates *rates_new(const struct rate *usual, uint64_t tick_ns);
void rates_free(struct rates *r);

/* A wish takes the place of the one before of the same kind; NULL takes that back. 0 or -ENOMEM. */
int rates_wish(struct rates *r, const struct proc_id *id, enum rate_by by,
	       const struct rate_wish *w);

/* By the budget. 0 or -ENOMEM. */
int rates_limit(struct rates *r, const struct proc_id *id, enum rate_step step, const char *reason);

/* Reads the intervals in force at now_ns. From any thread. */
void rates_of(struct rates *r, pid_t pid, uint64_t now_ns, struct rate_now *out);

#endif
