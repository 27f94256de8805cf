/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A budget of so much at once and so much a second (a token bucket): 0 at first, all there. What is
 * taken may be more than there is, and is paid for by those that come after.
 */
#ifndef GNOMON_BASE_BUCKET_H
#define GNOMON_BASE_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

struct bucket {
	uint64_t full_ns; /* when all of it is there again, by the caller's clock */
};

struct bucket_size {
	uint64_t at_once, second; /* in one unit; `second` is not 0 */
};

/* Tells whether there is anything left at `now`. */
static inline bool bucket_has(const struct bucket *b, const struct bucket_size *size, uint64_t now)
{
	return b->full_ns <= now ||
	       (double)(b->full_ns - now) * (double)size->second < (double)size->at_once * 1e9;
}

static inline void bucket_take(struct bucket *b, const struct bucket_size *size, uint64_t now,
			       uint64_t n)
{
	b->full_ns = (b->full_ns > now ? b->full_ns : now) +
		     (uint64_t)((double)n * 1e9 / (double)size->second);
}

#endif
