/* SPDX-License-Identifier: Apache-2.0 */
#include "model/live.h"

#include <string.h>

#define GROUPS	   6 /* of points, by their order */
#define LEAST	   5 /* fewer points prove nothing about what lasts */
#define MARK_YOUNG 2 /* one young collection behind a marking may come before what it prepares */

/* ---- points ------------------------------------------------------------------------------------
 */

static void point_add(struct live *l, struct live_point p)
{
	l->last = p;
	if (!l->stride)
		l->stride = 1;
	if (l->all++ % l->stride)
		return;
	if (l->n == LIVE_POINTS) {
		for (uint32_t i = 0; i < LIVE_POINTS / 2; i++)
			l->v[i] = l->v[2 * i];
		l->n = LIVE_POINTS / 2;
		l->stride *= 2; /* this one is a multiple of it, as LIVE_POINTS is even */
	}
	l->v[l->n++] = p;
}

/* ---- collections -------------------------------------------------------------------------------
 */

enum kind { KIND_NONE, KIND_YOUNG, KIND_FULL, KIND_MARKING };

/* The JDK's names: gc/shared/gcName.hpp. */
static enum kind kind_of(const char *name)
{
	static const struct {
		const char *name;
		enum kind kind;
	} known[] = {
		{"G1New", KIND_YOUNG},		 {"G1Old", KIND_MARKING},
		{"G1Full", KIND_FULL},		 {"SerialOld", KIND_FULL},
		{"ParallelOld", KIND_FULL},	 {"PSMarkSweep", KIND_FULL},
		{"MarkSweepCompact", KIND_FULL},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(name, known[i].name))
			return known[i].kind;
	return KIND_NONE;
}

/*
 * A cycle of G1 has two pauses behind its marking, and young collections between these are of no
 * use yet: what the span before had as its least counts, too.
 */
static void marking_ended(struct live *l)
{
	uint64_t least = l->since >= MARK_YOUNG ? l->least.bytes : UINT64_MAX;
	uint64_t both = least < l->least_before ? least : l->least_before;

	if (l->marked && l->since >= MARK_YOUNG)
		point_add(l, (struct live_point){l->least.at_ns, both});
	l->least_before = l->marked ? least : UINT64_MAX;
	l->marked = true;
	l->since = 0;
}

/* Both of its events are there. */
static void taken(struct live *l)
{
	enum kind kind = l->gc_kind;
	struct live_point p = l->after;

	l->gc_kind = KIND_NONE;
	l->after.at_ns = 0;
	if (kind == KIND_FULL) {
		point_add(l, p);
		l->marked = false;
	}
	if (kind != KIND_YOUNG || !l->marked)
		return;
	if (!l->since++ || p.bytes < l->least.bytes)
		l->least = p;
}

void live_collection(struct live *l, uint64_t gc_id, const char *name)
{
	enum kind kind = kind_of(name);

	if (kind == KIND_MARKING) {
		marking_ended(l);
		return;
	}
	l->gc_id = gc_id;
	l->gc_kind = kind;
	if (l->after.at_ns && l->after_id == gc_id)
		taken(l);
}

void live_after(struct live *l, uint64_t gc_id, uint64_t at_ns, uint64_t bytes)
{
	l->after_id = gc_id;
	l->after = (struct live_point){at_ns, bytes};
	if (l->gc_kind && l->gc_id == gc_id)
		taken(l);
}

/* ---- what they tell ----------------------------------------------------------------------------
 */

static uint64_t least(const struct live *l, uint32_t from, uint32_t to)
{
	uint64_t bytes = UINT64_MAX;

	for (uint32_t i = from; i < to; i++)
		bytes = l->v[i].bytes < bytes ? l->v[i].bytes : bytes;
	return bytes;
}

/* Each is an upper bound of what lived, so the least of some is the nearest to it. */
bool live_grows(const struct live *l, struct live_growth *out)
{
	uint32_t groups = l->n < GROUPS ? l->n : GROUPS, half;
	double m[GROUPS], step;

	if (l->n < LEAST || l->last.at_ns <= l->v[0].at_ns)
		return false;
	for (uint32_t g = 0; g < groups; g++)
		m[g] = (double)least(l, g * l->n / groups, (g + 1) * l->n / groups);
	step = (m[groups - 1] - m[0]) / (groups - 1);
	for (uint32_t g = 1; g < groups; g++)
		if (step <= 0 || m[g] - m[g - 1] < step / 4)
			return false;
	half = l->n - (l->n - (groups - 1) * l->n / groups) / 2;
	out->first = (uint64_t)m[0];
	out->last = half < l->n ? least(l, half, l->n) : l->v[l->n - 1].bytes;
	out->span_ns = l->last.at_ns - l->v[0].at_ns;
	return half == l->n || (double)out->last - m[groups - 1] >= step / 4;
}

uint32_t live_above(const struct live *l, uint64_t bytes)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < l->n; i++)
		n += l->v[i].bytes >= bytes;
	return n;
}
