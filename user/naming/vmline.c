/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/vmline.h"

#include <stdlib.h>

#define TICKS 4096 /* a power of two */
#define RUNS  1024 /* likewise */
#define GAP   2	   /* so many ticks that follow each other may have nothing that is known */

struct vmline {
	pid_t tid;
	struct {
		uint64_t tick; /* plus 1; 0: none */
		uint8_t op;
		bool near; /* and not at that very tick */
	} at[TICKS];
	struct {
		uint64_t time_ns;
		pid_t tid;
	} ran[RUNS];
	size_t nran; /* ever */
};

struct vmline *vmline_new(void)
{
	return calloc(1, sizeof(struct vmline));
}

void vmline_free(struct vmline *v)
{
	free(v);
}

static bool has(const struct vmline *v, uint64_t tick)
{
	return v->at[tick & (TICKS - 1)].tick == tick + 1;
}

static void put(struct vmline *v, uint64_t tick, uint8_t op, bool near)
{
	v->at[tick & (TICKS - 1)].tick = tick + 1;
	v->at[tick & (TICKS - 1)].op = op;
	v->at[tick & (TICKS - 1)].near = near;
}

void vmline_note(struct vmline *v, pid_t tid, uint64_t tick, uint32_t n, uint8_t op)
{
	uint32_t from = n > TICKS ? n - TICKS : 0;

	v->tid = tid;
	for (uint32_t i = from; i < n; i++)
		put(v, tick + i, op, false);
}

void vmline_near(struct vmline *v, pid_t tid, uint64_t tick, uint8_t op)
{
	v->tid = tid;
	if (!has(v, tick))
		put(v, tick, op, true);
}

void vmline_ran(struct vmline *v, pid_t tid, uint64_t time_ns)
{
	v->ran[v->nran & (RUNS - 1)].time_ns = time_ns;
	v->ran[v->nran & (RUNS - 1)].tid = tid;
	v->nran++;
}

static uint8_t op_of(const struct vmline *v, uint64_t tick)
{
	return v->at[tick & (TICKS - 1)].op;
}

static uint8_t op_at(const struct vmline *v, const struct vmline_wait *w, uint64_t tick)
{
	uint64_t before = tick, after = tick;

	while (!has(v, before) && before > w->first && tick - before < GAP)
		before--;
	while (!has(v, after) && after < w->last && after - before <= GAP)
		after++;
	if (!has(v, before) || !has(v, after) || op_of(v, before) != op_of(v, after))
		return 0;
	return op_of(v, before);
}

uint8_t vmline_at(const struct vmline *v, const struct vmline_wait *w, uint64_t tick, pid_t *tid)
{
	*tid = v->tid;
	return op_at(v, w, tick);
}

static bool is_sure(const struct vmline *v, uint64_t tick)
{
	return has(v, tick) && !v->at[tick & (TICKS - 1)].near;
}

bool vmline_span(const struct vmline *v, const struct vmline_wait *w, uint64_t tick, uint64_t n,
		 struct vmline_wait *span)
{
	uint64_t low = tick - w->first < n ? w->first : tick - n;
	uint64_t high = w->last - tick < n ? w->last : tick + n;
	uint64_t first = tick, last = tick;
	uint8_t op = op_at(v, w, tick);

	while (first > low && op_at(v, w, first - 1) == op)
		first--;
	while (last < high && op_at(v, w, last + 1) == op)
		last++;
	while (first <= last && !is_sure(v, first))
		first++;
	while (last > first && !is_sure(v, last))
		last--;
	*span = (struct vmline_wait){first, last};
	return first <= last;
}

/* They come by the rings of several CPUs, and so not in the order of time. */
pid_t vmline_last(const struct vmline *v, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t last = 0;
	pid_t tid = 0;

	for (size_t i = 0; i < RUNS && i < v->nran; i++)
		if (v->ran[i].time_ns >= from_ns && v->ran[i].time_ns <= to_ns &&
		    v->ran[i].time_ns >= last) {
			last = v->ran[i].time_ns;
			tid = v->ran[i].tid;
		}
	return tid;
}
