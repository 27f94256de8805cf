/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What old collections left in the heap, one after the other: an upper bound of what lived then.
 * Of a collection that stops the JVM for all of the heap it is what is used behind it. Pauses of a
 * concurrent one say nothing of the kind: where young collections carry out what a concurrent
 * marking found (G1), it is the least that these left from one marking's end to the next one's.
 * Collectors of which only the pauses are known (ZGC, Shenandoah, CMS) leave nothing here.
 */
#ifndef GNOMON_MODEL_LIVE_H
#define GNOMON_MODEL_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#define LIVE_POINTS 64

struct live_point {
	uint64_t at_ns, bytes;
};

struct live {
	struct live_point
		v[LIVE_POINTS]; /* in order of time; each `stride`th where there were more */
	uint32_t n;
	uint64_t all, stride;
	struct live_point last; /* of all; at_ns 0: there was none */
	/* internal: the two events of a collection come in either order */
	uint64_t gc_id, after_id;
	int gc_kind;
	struct live_point after;
	/* internal: since a marking's end, and from the one before until then */
	bool marked;
	uint32_t since;
	struct live_point least;
	uint64_t least_before;
};

/* Of a collection its name, as jdk.GarbageCollection has it; and what was used behind it. */
void live_collection(struct live *l, uint64_t gc_id, const char *name);
void live_after(struct live *l, uint64_t gc_id, uint64_t at_ns, uint64_t bytes);

struct live_growth {
	uint64_t first, last; /* bytes, last > first */
	uint64_t span_ns;     /* from the first to the last of the points */
};

/*
 * It grew from the first to the last without an end: from each sixth of the points to the next by
 * about as much, and within the last one, too. What fills and then stays does not, nor does what
 * goes up and down.
 */
bool live_grows(const struct live *l, struct live_growth *out);

/* After how many of them, at most LIVE_POINTS, at least so much was used. */
uint32_t live_above(const struct live *l, uint64_t bytes);

#endif
