/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which requests a page tells one by one. There may be millions, and those that are slow are asked
 * for: these have a number of their own, and all others of an endpoint share one with those that
 * took about as long, so that its slow ones can be held against its fast ones.
 */
#ifndef GNOMON_OUT_TOLD_H
#define GNOMON_OUT_TOLD_H

#include "out/contexts.h"

struct served;

#define TOLD_SLOWEST   100 /* of all */
#define TOLD_EACH      10  /* of each of those endpoints that take most time */
#define TOLD_ENDPOINTS 100 /* so many of these; the others are one, behind them */

/* The faster half of an endpoint's requests, the slowest tenth, and those between. */
enum pace { PACE_FAST, PACE_BETWEEN, PACE_SLOW, PACES };

struct told_request {
	uint32_t request;  /* of served.requests; CONTEXT_NONE: all others of this kind */
	uint32_t endpoint; /* of served.endpoints; TOLD_ENDPOINTS: of those behind them */
	enum pace pace;
};

struct told {
	struct told_request *v;
	uint32_t n;
	uint32_t *number; /* by request: of which of `v` it is, + 1; 0: of none */
	uint32_t nrequests;
};

/* 0 or -ENOMEM. Also then it is to be freed. */
int told_make(struct told *t, const struct served *v);
void told_free(struct told *t);

/* By the number of a request (struct context), or CONTEXT_NONE: as told.number has it. */
static inline uint32_t told_number(const struct told *t, uint32_t request)
{
	return request < t->nrequests ? t->number[request] : 0;
}

/* Returns how many of the endpoint's n requests, the shortest first, are of a pace: fast, or slow.
 */
static inline uint32_t told_fast(uint32_t n)
{
	return n / 2;
}

static inline uint32_t told_slow(uint32_t n)
{
	return n < 2 ? 0 : (n + 9) / 10;
}

#endif
