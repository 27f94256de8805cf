/* SPDX-License-Identifier: Apache-2.0 */
#include "jvm/vmclock.h"

#define MS 1000000
#define S  1000000000ull

/* No moment or span is longer, ns: 73 years. What a target tells beyond it is not true, and sums of
 * what remains do not overflow. */
#define LONGEST_NS (1ll << 61)

/* From tick 0 to the note of the millisecond, and from a sampling to its value's being there. */
#define LATE_NS 200000

/* Of tick 0 where the JVM tells it: between two reads of a clock. */
#define EXACT_NS 1000

uint64_t vmclock_span(const struct vmclock *c, uint64_t ticks)
{
	unsigned __int128 ns;

	if (c->hz == S || !c->hz)
		return ticks;
	ns = (unsigned __int128)ticks * S / c->hz;
	return ns > UINT64_MAX ? UINT64_MAX : (uint64_t)ns;
}

static void sampling_look(struct vmclock *c, uint64_t ticks, uint64_t from_ns, uint64_t until_ns)
{
	uint64_t span = vmclock_span(c, ticks);
	int64_t at = (int64_t)span, most, least;

	if (span > LONGEST_NS)
		return;
	most = (int64_t)until_ns - at;
	least = (int64_t)c->read_ns - at - LATE_NS;
	if (most < c->most)
		c->most = most;
	if (c->read_ns && ticks != c->ticks && least > c->least)
		c->least = least;
	c->ticks = ticks;
	c->read_ns = from_ns;
}

void vmclock_look(struct vmclock *c, uint64_t hz, uint64_t ticks, uint64_t begin_ms,
		  int64_t wall_ahead_ns, uint64_t from_ns, uint64_t until_ns)
{
	if (hz != c->hz)
		*c = (struct vmclock)VMCLOCK_INIT;
	c->hz = hz;
	if (!hz)
		return;
	c->has_begin = begin_ms && begin_ms < LONGEST_NS / MS;
	c->begin = c->has_begin ? (int64_t)begin_ms * MS - wall_ahead_ns : 0;
	if (ticks)
		sampling_look(c, ticks, from_ns, until_ns);
}

bool vmclock_bounds(const struct vmclock *c, int64_t *least, int64_t *most)
{
	int64_t a = c->begin - LATE_NS, b = c->begin + MS;

	*least = c->least;
	*most = c->most;
	if (c->has_begin && a <= *most && b >= *least) {
		*least = a > *least ? a : *least;
		*most = b < *most ? b : *most;
	}
	if (c->zero >= *least && c->zero <= *most && c->zero > 0) {
		*least = c->zero - EXACT_NS;
		*most = c->zero + EXACT_NS;
	}
	return c->hz && *least != INT64_MIN && *most != INT64_MAX && *least <= *most;
}

void vmclock_zero(struct vmclock *c, int64_t zero)
{
	c->zero = zero;
}

uint64_t vmclock_time(const struct vmclock *c, uint64_t ticks)
{
	int64_t least, most, zero;

	if (!vmclock_bounds(c, &least, &most))
		return 0;
	zero = least + (most - least) / 2;
	return (uint64_t)zero + vmclock_span(c, ticks);
}

uint64_t vmclock_error(const struct vmclock *c)
{
	int64_t least, most;

	return vmclock_bounds(c, &least, &most) ? (uint64_t)(most - least + 1) / 2 : UINT64_MAX;
}
