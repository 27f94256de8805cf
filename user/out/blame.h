/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is to blame for waits for locks: how long what was waited for, whose it was, and what that
 * thread did meanwhile; and threads that wait for each other in a circle. Names are the profile's.
 */
#ifndef GNOMON_OUT_BLAME_H
#define GNOMON_OUT_BLAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/idmap.h"

#define BLAME_DEPTH 8 /* threads of a chain */

struct blame_row {
	uint32_t cause, owner; /* the lock; the thread that had it */
	uint32_t place;	       /* the method that it was in; UINT32_MAX: not known */
	double ticks;
};

/* One thread of a circle, and what it waits for; the next one has that. */
struct blame_link {
	uint32_t thread, cause, place; /* place: the method that waits */
};

struct blame_circle {
	struct blame_link v[BLAME_DEPTH];
	uint32_t n;
	uint64_t ticks;
	int64_t last_ns; /* of the recording: its last tick */
};

struct blame {
	struct blame_row *rows;
	struct blame_circle *circles;
	size_t nrows, rows_cap, ncircles, circles_cap;
	int64_t last_ns;     /* the last tick of any thread */
	struct idmap by_key; /* rows */
};

void blame_free(struct blame *b);

/* Each adds to what there is of the same. 0 or -ENOMEM. */
int blame_add(struct blame *b, uint32_t cause, uint32_t owner, uint32_t place, double ticks);
int blame_circle_add(struct blame *b, const struct blame_link *v, uint32_t n, uint64_t ticks,
		     int64_t last_ns);

#endif
