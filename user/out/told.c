/* SPDX-License-Identifier: Apache-2.0 */
#include "out/told.h"

#include <errno.h>
#include <stdlib.h>

#include "out/served.h"

#define KINDS ((TOLD_ENDPOINTS + 1) * PACES) /* of those that share a number */
#define MOST  (KINDS + TOLD_SLOWEST + TOLD_ENDPOINTS * TOLD_EACH)

void told_free(struct told *t)
{
	free(t->v);
	free(t->number);
	*t = (struct told){0};
}

static enum pace pace_of(uint32_t rank, uint32_t n)
{
	if (rank < told_fast(n))
		return PACE_FAST;
	return rank >= n - told_slow(n) ? PACE_SLOW : PACE_BETWEEN;
}

static uint32_t endpoint_of(uint32_t endpoint)
{
	return endpoint < TOLD_ENDPOINTS ? endpoint : TOLD_ENDPOINTS;
}

/* Each request shares a number with those of its endpoint and pace. */
static void kinds_number(struct told *t, const struct served *v)
{
	for (uint32_t i = 0; i < KINDS; i++)
		t->v[t->n++] = (struct told_request){.request = CONTEXT_NONE,
						     .endpoint = i / PACES,
						     .pace = (enum pace)(i % PACES)};
	for (uint32_t e = 0; e < v->nendpoints; e++) {
		const struct served_endpoint *p = &v->endpoints[e];

		for (uint32_t k = 0; k < p->n; k++)
			t->number[v->order[p->first + k]] =
				endpoint_of(e) * PACES + pace_of(k, p->n) + 1;
	}
}

/* A number of its own. */
static void request_tell(struct told *t, uint32_t request)
{
	struct told_request one = t->v[t->number[request] - 1];

	if (one.request != CONTEXT_NONE)
		return;
	one.request = request;
	t->v[t->n++] = one;
	t->number[request] = t->n;
}

int told_make(struct told *t, const struct served *v)
{
	t->v = calloc(MOST, sizeof(*t->v));
	t->nrequests = v->contexts->nrequests;
	t->number = calloc((size_t)t->nrequests + 1, sizeof(*t->number));
	if (!t->v || !t->number)
		return -ENOMEM;
	kinds_number(t, v);
	for (uint32_t i = 0; i < v->n && i < TOLD_SLOWEST; i++)
		request_tell(t, v->slowest[i]);
	for (uint32_t e = 0; e < v->nendpoints && e < TOLD_ENDPOINTS; e++) {
		const struct served_endpoint *p = &v->endpoints[e];

		for (uint32_t k = 0; k < p->n && k < TOLD_EACH; k++)
			request_tell(t, v->order[p->first + p->n - 1 - k]);
	}
	return 0;
}
