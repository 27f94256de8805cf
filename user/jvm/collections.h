/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Garbage collections, one by one, as the performance counters show them (JDK
 * gc/shared/collectorCounters.hpp): of each collector how many began, how long they took together,
 * and when the last one began and ended. Between two looks only the last of each collector shows;
 * how many others there were and their sum is told. A concurrent collection shows its pauses: where
 * the JVM's memory has them, all of the present one or the last.
 *
 * When it began and ended is taken from where the JVM's own recording has it, if that is found
 * (gctimer.h), and what the counters say of those that were not seen is put right by as much as the
 * two differed for those that were.
 */
#ifndef GNOMON_JVM_COLLECTIONS_H
#define GNOMON_JVM_COLLECTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "jvm/counters.h"
#include "jvm/gctimer.h"
#include "jvm/vmclock.h"

#define COLLECTION_WORDS       64
#define COLLECTIONS_CONCURRENT 16
#define CAUSE_UNKNOWN	       "unknown GCCause" /* the JDK's own word for it */

/* Bytes. */
struct heap_use {
	uint64_t used, committed;
	uint64_t old;		       /* of used: in the old generation */
	uint64_t eden, eden_committed; /* of these: where objects are made */
	uint64_t meta_used, meta_committed, meta_reserved;
	uint64_t class_used, class_committed, class_reserved; /* of these: compressed classes */
};

enum collection_kind { COLLECTION_YOUNG, COLLECTION_FULL, COLLECTION_CONCURRENT };

struct collection {
	uint32_t id; /* the JVM's collections counted from its start, of all collectors */
	enum collection_kind kind;
	char name[COLLECTION_WORDS];	/* as the JDK's events have it: "G1New" */
	char pause[COLLECTION_WORDS];	/* the same: "GC Pause", "Pause Mark Start" */
	char cause[COLLECTION_WORDS];	/* CAUSE_UNKNOWN */
	uint64_t start_ns, duration_ns; /* CLOCK_MONOTONIC, as well as the clock is known */
	uint64_t ticks;			/* its start by the JVM's clock */
	/*
	 * before: at the look before; eden, which some collectors count at collections only, is
	 * full where the cause is that it was
	 */
	struct heap_use before, after;
	bool heap_known; /* not of all pauses of a concurrent one */
};

/* Those between two looks that no look caught. */
struct collections_gap {
	char name[COLLECTION_WORDS];
	uint64_t from_ns, until_ns; /* from before the one to after the other: they ended within */
	uint64_t count, sum_ns;
};

struct collections_timer {
	uint64_t at, tracer; /* addresses; 0 not found */
	unsigned int searches, tracer_searches, misses;
	/* ticks by which it began and ended later than the counters say, together, so often */
	int64_t before, after, seen;
};

/*
 * What a number stands for that the JVM has a cause by: learned where the counters leave no doubt,
 * by a majority.
 */
struct collections_cause {
	char text[COLLECTION_WORDS];
	unsigned int votes; /* 0: not known */
};

/*
 * A concurrent collection of the whole heap (ZGC's), whose pauses were told one by one or in gaps:
 * as the JVM has it, or from the first pause seen to the look by which it had ended.
 */
struct collections_whole {
	uint32_t id; /* of its last pause */
	uint64_t start_ns, duration_ns;
};

struct collections {
	struct vmclock clock;
	uint64_t whole_ns;     /* since when one is under way; 0: none is */
	uint64_t whole_ticks;  /* in its first pause */
	uint64_t whole_pauses; /* of its collector, before it */
	unsigned int whole_n;  /* its collector */
	unsigned int clock_looks;
	/* addresses of what may be timers of concurrent collections */
	uint64_t concurrent[COLLECTIONS_CONCURRENT];
	unsigned int nconcurrent;
	struct collections_timer timers[COUNTERS_COLLECTORS];
	struct collections_cause causes[GCTIMER_CAUSES];
	unsigned int doubts;	   /* that the release's numbers are this JVM's */
	struct gctimer_span young; /* G1's last young one, and why it was */
	char young_cause[COLLECTION_WORDS];
	struct collector {
		uint64_t begun, time, entry, exit, ended;
		uint64_t told; /* of `time`: what was told of, one by one or in a gap */
		bool known;
		char cause[COLLECTION_WORDS]; /* of the one under way, "" not known */
	} last[COUNTERS_COLLECTORS];
	struct heap_use heap; /* at the last look */
	uint64_t looked_ns;   /* what had ended before is known; 0: no look yet */
};

#define COLLECTIONS_INIT                                                                           \
	{                                                                                          \
		.clock = VMCLOCK_INIT                                                              \
	}

struct collections_fns {
	void (*one)(void *ctx, const struct collection *c);
	void (*gap)(void *ctx, const struct collections_gap *g);
	void (*whole)(void *ctx, const struct collections_whole *w); /* may be NULL */
	void *ctx;
};

/*
 * Polls the counters and tells what has ended since the last look, in its order. The first look
 * tells nothing. What counters_poll() returns; -EAGAIN also where they changed all the time: then
 * nothing is told, and all of it at a later look.
 */
int collections_look(struct collections *c, struct counters *k, const struct collections_fns *fns);

/* The same, where only collections matter: if none shows, other counters stay as they were. */
int collections_glance(struct collections *c, struct counters *k,
		       const struct collections_fns *fns);

/*
 * Of the nth collector, as last polled: collections that have ended since the JVM's start, pauses
 * of a concurrent one, and ticks of its clock that they took. False: there is none.
 */
bool collections_sum(const struct collections *c, const struct counters *k, unsigned int n,
		     enum collection_kind *kind, uint64_t *count, uint64_t *ticks);

/* Reads what the heap holds, as last polled. */
void heap_use_read(const struct counters *k, struct heap_use *out);

#endif
