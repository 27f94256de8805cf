/* SPDX-License-Identifier: Apache-2.0 */
#include "jfr/read_rates.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RATES_MAX 4096 /* of a chunk; a file may have any number: the earliest go */

void rate_changes_begin(struct jfr_rates *r)
{
	r->n = 0;
}

void rate_changes_free(struct jfr_rates *r)
{
	free(r->v);
	*r = (struct jfr_rates){0};
}

static int room(struct jfr_rates *r)
{
	size_t cap = r->cap ? 2 * r->cap : 16;
	struct jfr_rate_at *v;

	if (r->n < r->cap)
		return 0;
	v = realloc(r->v, cap * sizeof(*v));
	if (!v)
		return -ENOMEM;
	r->v = v;
	r->cap = cap;
	return 0;
}

/* How many are not later. */
static size_t until(const struct jfr_rates *r, int64_t time_ns)
{
	size_t lo = 0, hi = r->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (r->v[mid].time_ns <= time_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

int rate_changes_add(struct jfr_rates *r, int64_t time_ns, uint64_t cpu_ns)
{
	size_t at;

	if (r->n == RATES_MAX)
		memmove(r->v, r->v + 1, --r->n * sizeof(*r->v));
	if (room(r))
		return -ENOMEM;
	at = until(r, time_ns);
	memmove(r->v + at + 1, r->v + at, (r->n - at) * sizeof(*r->v));
	r->v[at] = (struct jfr_rate_at){time_ns, cpu_ns};
	r->n++;
	return 0;
}

uint64_t rate_changes_at(const struct jfr_rates *r, int64_t time_ns)
{
	size_t n = until(r, time_ns);

	return r->n ? r->v[n ? n - 1 : 0].cpu_ns : 0;
}
