/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When samples were taken. An hour of a large server has tens of millions of them, more than a page
 * can hold or show: above a limit, those of one cell and request that lie in one span of time
 * become one that stands for all, and the span doubles until they are few. No tick is lost by that,
 * and times are as exact as the span, of which a page is a few thousand wide.
 */
#include "out/profile_int.h"

#include <errno.h>
#include <stdlib.h>

#define TIMES_MOST (2u << 20)
#define BINS	   16384 /* spans of time at first, up to the latest sample */

static uint64_t bin_of(const struct prof_time *t, uint64_t bin_ns)
{
	return t->start_ns > 0 ? (uint64_t)t->start_ns / bin_ns : 0;
}

static int by_cell(const void *a, const void *b)
{
	const struct prof_time *x = a, *y = b;

	if (x->cell != y->cell)
		return x->cell < y->cell ? -1 : 1;
	if (x->request != y->request)
		return x->request < y->request ? -1 : 1;
	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* Ends later, and stands for more. */
static void time_extend(struct prof_time *t, const struct prof_time *by)
{
	uint64_t apart = (uint64_t)by->start_ns - (uint64_t)t->start_ns;
	uint32_t ticks = t->ticks + by->ticks;

	if (apart + by->span_ns > t->span_ns)
		t->span_ns = apart + by->span_ns;
	t->ticks = ticks < t->ticks ? UINT32_MAX : ticks;
}

static size_t times_merge(struct prof_time *v, size_t n, uint64_t bin_ns)
{
	size_t k = 0;

	for (size_t i = 1; i < n; i++) {
		if (v[i].cell == v[k].cell && v[i].request == v[k].request &&
		    bin_of(&v[i], bin_ns) == bin_of(&v[k], bin_ns))
			time_extend(&v[k], &v[i]);
		else
			v[++k] = v[i];
	}
	return k + 1;
}

static uint64_t latest_ns(const struct profile *p)
{
	int64_t latest = 0;

	for (size_t i = 0; i < p->ntimes; i++)
		if (p->times[i].start_ns > latest)
			latest = p->times[i].start_ns;
	return (uint64_t)latest;
}

/* Half as many, or as few as there are cells: then there may be more. */
static void times_thin(struct profile *p)
{
	struct prof_index *x = p->index;
	uint64_t latest = latest_ns(p);

	if (x->times_bin_ns < latest / BINS + 1)
		x->times_bin_ns = latest / BINS + 1;
	qsort(p->times, p->ntimes, sizeof(*p->times), by_cell);
	for (;;) {
		p->ntimes = times_merge(p->times, p->ntimes, x->times_bin_ns);
		if (p->ntimes <= x->times_most / 2)
			return;
		if (x->times_bin_ns > latest)
			break;
		x->times_bin_ns *= 2;
	}
	x->times_most *= 2;
}

void profile_begin(struct profile *p, int64_t start_ns)
{
	uint64_t earlier = (uint64_t)p->start_ns - (uint64_t)start_ns;

	if (p->start_ns && start_ns >= p->start_ns)
		return;
	if (p->start_ns) {
		for (size_t i = 0; i < p->ntimes; i++)
			if (__builtin_add_overflow(p->times[i].start_ns, earlier,
						   &p->times[i].start_ns))
				p->times[i].start_ns = INT64_MAX;
		p->from_ns += earlier;
		p->to_ns += p->to_ns ? earlier : 0;
	}
	p->start_ns = start_ns;
}

int profile_time(struct profile *p, const struct prof_time *t)
{
	struct prof_index *x = p->index;

	if (!x->times_most)
		x->times_most = TIMES_MOST;
	if (p->ntimes >= x->times_most)
		times_thin(p);
	if (!array_room((void **)&p->times, p->ntimes, &x->times_cap, sizeof(*t)))
		return -ENOMEM;
	p->times[p->ntimes++] = *t;
	return 0;
}
