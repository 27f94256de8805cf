/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a daemon is to watch for in its JVMs, and what it does then. A condition is looked at once a
 * second for each JVM that a trigger is about; it fires when it comes to hold, and not again before
 * it has ceased to, with a margin, nor more often than it may. Pure, but for memory.
 */
#ifndef GNOMON_RUN_TRIGGER_H
#define GNOMON_RUN_TRIGGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/watch.h"
#include "run/rates.h"
#include "run/rules.h"

#define TRIGGERS_MAX   32
#define TRIGGER_ARGS   16
#define TRIGGER_WORDS  64
#define TRIGGER_POINTS 16 /* of a JVM's figures that are kept for each trigger */

enum trigger_what {
	TRIGGER_NONE = 0,
	TRIGGER_CPU,	   /* CPU time, of one CPU's */
	TRIGGER_QUEUED,	   /* of the time in which its threads wanted a CPU, that without one */
	TRIGGER_BLOCKED,   /* time of threads that enter monitors, of one thread's */
	TRIGGER_GC,	   /* time for which collections stopped all threads */
	TRIGGER_THROTTLED, /* slices of its CPU quota in which that was used up */
	TRIGGER_METHOD,	   /* of its CPU time, that with such a method on the stack */
	TRIGGER_SHARES,
	TRIGGER_LIVE = TRIGGER_SHARES, /* what an old collection left, of what may live */
	TRIGGER_FROZEN,		       /* a thread is at one stack with such a method, seconds */
	TRIGGER_DEADLOCK,	       /* threads wait for each other's locks, how many */
	TRIGGER_LEVELS,
	TRIGGER_START = TRIGGER_LEVELS,
	TRIGGER_EXIT,
	TRIGGER_AT, /* a time of day */
	TRIGGER_WHATS
};
const char *trigger_word(enum trigger_what what);

struct trigger {
	struct rule whom; /* the label is the trigger's */
	enum trigger_what what;
	char words[TRIGGER_WORDS]; /* what the configuration says of it, as much as there is room */
	char *method;		   /* of METHOD and FROZEN: a pattern (base/pattern.h) */
	uint32_t slot;		   /* its number in struct watch_orders */
	double above;		   /* of shares: 1 is 100% */
	double below;		   /* it may fire again once it was below that */
	uint64_t for_ns;	   /* shares are of the last so long */
	uint32_t at_minute;	   /* of the day */
	uint64_t every_ns;	   /* of one JVM it fires so often at most, */
	uint32_t hourly;	   /* and of all so many times an hour */
	struct rate_wish rate;
	uint64_t rate_ns;	      /* that is in force for so long */
	uint64_t dump_ns;	      /* the last so long is kept; 0: nothing is */
	char *argv[TRIGGER_ARGS + 1]; /* [0] NULL: nothing is run */
	char *run_as;		      /* the name of whom it runs as; NULL: it was not said */
	uint32_t uid, gid;	      /* that he has, once somebody has looked them up */
};

struct triggers {
	struct trigger *v;
	size_t n;
};

/* One more, of nothing but its label and what is usual. NULL: no memory, or TRIGGERS_MAX. */
struct trigger *triggers_add(struct triggers *t, const char *label);
void triggers_free(struct triggers *t);

/* Sums so far, of which shares are differences: `part` of `whole`. */
struct trigger_sum {
	uint64_t at_ns, part, whole;
};

/* Has a method, of which naming has to be told. */
static inline bool trigger_has_method(const struct trigger *t)
{
	return t->what == TRIGGER_METHOD || t->what == TRIGGER_FROZEN;
}

/* Numbers the methods and makes the orders for naming of them; `number` is that of the orders. */
void triggers_watch(struct triggers *t, uint32_t number, struct watch_orders *out);

/* What is remembered of one JVM for one trigger; zero at first. */
struct trigger_memory {
	struct trigger_sum v[TRIGGER_POINTS]; /* a ring, the oldest at `from` */
	uint32_t from, n;
	bool fired;	   /* and has not been below since */
	double level;	   /* the last one */
	uint64_t fired_ns; /* the last time; 0: never */
};

/*
 * Tells whether a trigger of shares fires with these sums, and *share, what it is of the last
 * `for_ns`. Sums that have become smaller are those of another process.
 */
bool trigger_share(const struct trigger *t, struct trigger_memory *m, const struct trigger_sum *s,
		   double *share);

/* Tells whether a trigger of levels fires with this one. */
bool trigger_level(const struct trigger *t, struct trigger_memory *m, double level);

/* The time of day came between two looks, which lie at minute `before` and `now` of the day. */
bool trigger_at(const struct trigger *t, uint32_t before, uint32_t now);

#endif
