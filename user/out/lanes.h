/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the page draws above the threads, on their time: lines of values (CPU, heap, threads,
 * throttling) and the pauses of collections, of any producer that has the JDK's events; throttling
 * is of gnomon.Vitals. However long the recording, they are bounded: of too many values the lowest
 * and highest stay, of too many pauses the longest.
 */
#ifndef GNOMON_OUT_LANES_H
#define GNOMON_OUT_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jfr_event;
struct jfr_reader;

#define LANE_POINTS	 4096 /* of a line, at most; and one on either side of what was chosen */
#define LANE_PAUSES	 4096
#define LANE_COLLECTIONS 16384

enum lane_line {
	LINE_CPU_JVM,	  /* percent of all CPUs, since the value before */
	LINE_CPU_MACHINE, /* the same */
	LINE_HEAP_USED,	  /* bytes, before and after each collection */
	LINE_HEAP_COMMITTED,
	LINE_THREADS,	/* of Java, from then on */
	LINE_THROTTLED, /* CPUs on which it was stopped, since the value before */
	LANE_LINES,
};

struct lane_point {
	int64_t at_ns;	     /* since the recording's start; may be before it */
	double value;	     /* finite, not negative */
	uint64_t stands_for; /* so many values, where there were too many */
};

/* While the JVM stood still for a collection. */
struct lane_pause {
	int64_t from_ns, to_ns;
	uint64_t gc_id;
};

struct lane_collection {
	uint64_t gc_id;
	char *text; /* its name and cause: "G1New, G1 Evacuation Pause" */
};

struct lanes {
	int64_t from_ns, to_ns; /* what was chosen of the recording */
	unsigned int recordings;
	struct lane_values {
		struct lane_point *v; /* in order of time, after lanes_finish() */
		size_t n;
		bool has_before, has_after;
		struct lane_point before, after; /* the nearest beside what was chosen */
	} lines[LANE_LINES];
	struct lane_pause *pauses; /* in order of their start, after lanes_finish() */
	size_t npauses;
	uint64_t short_pauses, short_ns;     /* left out, as they were too many */
	int64_t least_ns;		     /* no pause up to here is taken any more; or -1 */
	struct lane_collection *collections; /* in order of their ids, after lanes_finish() */
	size_t ncollections;
};

/* The time that was chosen of the recording, since its start; to_ns 0: all. */
void lanes_init(struct lanes *l, uint64_t from_ns, uint64_t to_ns);
void lanes_free(struct lanes *l);

/*
 * Takes note of an event that is about it. start_ns: the recording's start, since 1970. 0 or
 * -ENOMEM.
 */
int lanes_event(struct lanes *l, struct jfr_reader *r, const struct jfr_event *ev,
		int64_t start_ns);

/* Of several recordings there are none: the times of one are not those of another. */
void lanes_finish(struct lanes *l);

/* Name and cause of a collection, "" where they are not known. */
const char *lanes_collection(const struct lanes *l, uint64_t gc_id);

#endif
