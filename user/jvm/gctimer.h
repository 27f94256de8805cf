/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a collection began and ended by the JVM's own recording. The performance counters note it
 * some 30 us earlier or later (which differs by collector: TraceCollectorStats and GCTimer are not
 * begun at the same place), and the JDK's events are made of its GCTimers (gc/shared/gcTimer.hpp:
 * two pairs of words, each pair a moment by two clocks, of which the first is that of the
 * counters). Where these lie nobody tells: they are found by a collection whose moments are known
 * from the counters. A collector that has its timer on the stack, as G1 for full collections, has
 * none that can be found. A GCTracer (gc/shared/gcTrace.hpp) has the same moments, and the
 * collection's cause by its number, which is another one in other releases.
 */
#ifndef GNOMON_JVM_GCTIMER_H
#define GNOMON_JVM_GCTIMER_H

#include <stdbool.h>
#include <stdint.h>

#include "jvm/mem.h"

/* What is known of the JVM's memory. */
struct gctimer_place {
	struct mem *mem;
	uint64_t statics; /* the address of one of its static variables; 0 not known */
	uint64_t heap;	  /* of the one that points to the heap (Universe::_collectedHeap); 0 */
	int release;	  /* 17, 21, ...; 0 not known */
};

/* Ticks of the counters' clock. */
struct gctimer_span {
	uint64_t start, end;
};

/*
 * The address of a timer of the collection that the counters noted as `noted`, give or take `slack`
 * ticks at either end; 0: there is none. Takes some ms.
 */
uint64_t gctimer_find(const struct gctimer_place *p, const struct gctimer_span *noted,
		      uint64_t slack);

enum gctimer_says {
	GCTIMER_NOTHING,
	GCTIMER_THIS,	 /* what is in *out is of the collection noted: they overlap */
	GCTIMER_RUNNING, /* of this one, which has not ended by it */
	GCTIMER_BEFORE,	 /* of one that had ended before it */
};

enum gctimer_says gctimer_read(struct mem *mem, uint64_t at, const struct gctimer_span *noted,
			       struct gctimer_span *out);

/* ---- of concurrent collections ----------------------------------------------------------------
 */

#define GCTIMER_NAME 48

struct gctimer_pause {
	struct gctimer_span span;
	char name[GCTIMER_NAME]; /* as the JDK's events have it: "Pause Mark Start" */
};

/*
 * A whole collection. Its end lies before its start while it goes on: that is when the one before
 * ended. Of the pauses so far: their time together, and the longest.
 */
struct gctimer_whole {
	struct gctimer_span span;
	uint64_t sum, longest;
};

/*
 * Finds the addresses of what may be timers of concurrent collections, of one of which the counters
 * have noted a pause. Returns their number, at most cap. Their pauses tell whose they are, and may
 * be other ones when they are found.
 */
unsigned int gctimer_concurrent_find(const struct gctimer_place *p,
				     const struct gctimer_span *noted, uint64_t *all,
				     unsigned int cap);

/*
 * Of the present or last collection: the pauses that began after `after` and before `before`, and
 * have ended, as many as fit, in their order. Returns their number, or -1: it is no such timer.
 * (None may be left of the one that `before` is of: the next one has begun.)
 */
int gctimer_pauses(struct mem *mem, uint64_t at, uint64_t after, uint64_t before,
		   struct gctimer_pause *out, unsigned int cap, struct gctimer_whole *whole);

/* ---- their causes -----------------------------------------------------------------------------
 */

#define GCTIMER_CAUSES 64 /* their numbers are below */

/* The address of the tracer of the collection whose timer says so; 0: there is none. */
uint64_t gctimer_tracer_find(const struct gctimer_place *p, const struct gctimer_whole *exact);

/* The number of the cause of the collection that began at `start`, -1: it is of another. */
int gctimer_cause(struct mem *mem, uint64_t tracer, uint64_t start);

#endif
