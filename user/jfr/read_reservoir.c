/* SPDX-License-Identifier: Apache-2.0 */
#include "jfr/read_reservoir.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void reservoir_free(struct reservoir *r)
{
	free(r->v);
	*r = (struct reservoir){0};
}

/* How many draws began at or before `at_ns`: nearly always all, or all but the last few. */
static size_t draws_until(const struct reservoir *r, int64_t at_ns)
{
	size_t lo = 0, hi = r->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (r->v[mid].from_ns <= at_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void oldest_drop(struct reservoir *r, size_t n)
{
	memmove(r->v, r->v + n, (r->n - n) * sizeof(*r->v));
	r->n -= n;
	r->forgot = true;
}

int reservoir_add(struct reservoir *r, int64_t from_ns, int64_t eligible, int64_t sampled)
{
	struct reservoir_draw new = {.from_ns = from_ns, .scale = 1};
	size_t at;

	if (sampled > 0 && eligible > sampled)
		new.scale = (double)eligible / (double)sampled;
	if (!r->v)
		r->v = malloc(RESERVOIR_EPOCHS * sizeof(*r->v));
	if (!r->v)
		return -ENOMEM;
	if (r->n == RESERVOIR_EPOCHS) /* drop many at once, since dropping moves the others */
		oldest_drop(r, RESERVOIR_EPOCHS / 4);
	at = draws_until(r, from_ns);
	memmove(r->v + at + 1, r->v + at, (r->n - at) * sizeof(*r->v));
	r->v[at] = new;
	r->n++;
	return 0;
}

/* How many of `ticks` lie before `end_ns`. The first lies at `at_ns`, which does. */
static uint64_t ticks_before(int64_t at_ns, int64_t step_ns, uint64_t ticks, int64_t end_ns)
{
	__int128 n = ((__int128)end_ns - at_ns + step_ns - 1) / step_ns;

	return n < (__int128)ticks ? (uint64_t)n : ticks;
}

double reservoir_scale(const struct reservoir *r, int64_t at_ns, int64_t step_ns, uint64_t ticks,
		       uint64_t *same)
{
	size_t next = draws_until(r, at_ns);

	*same = ticks;
	if (!r->n)
		return 1;
	if (!next && r->forgot)
		next = 1;
	if (next < r->n && step_ns > 0)
		*same = ticks_before(at_ns, step_ns, ticks, r->v[next].from_ns);
	return next ? r->v[next - 1].scale : 1;
}
