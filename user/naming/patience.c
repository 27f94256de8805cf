/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/patience.h"

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void patience_begin(struct patience *p, const struct signs *s, uint64_t now)
{
	*p = (struct patience){.seen = *s, .seen_ns = now};
}

/*
 * How much of the time since the last look was its own. Whoever looks late may have waited for a
 * CPU itself, and so may it, without having been seen.
 */
static uint64_t own_time(const struct patience *p, const struct signs *s, uint64_t since)
{
	uint64_t own = least(since, 2 * PATIENCE_LOOK_NS), delay = 0;

	if (s->ours != p->seen.ours)
		return 0;
	if (s->delay_ns > p->seen.delay_ns)
		delay = s->delay_ns - p->seen.delay_ns;
	return own - least(own, delay);
}

static void end_count(struct patience *p, uint64_t since, uint64_t own)
{
	uint64_t spare = least(since - own, PATIENCE_SPARED_NS - p->spared_ns);

	p->spared_ns += spare;
	p->spent_ns += since - spare;
}

void patience_look(struct patience *p, const struct signs *s, uint64_t now)
{
	uint64_t since = now > p->seen_ns ? now - p->seen_ns : 0, own = own_time(p, s, since);

	p->quiet_ns = s->steps != p->seen.steps ? 0 : p->quiet_ns + own;
	if (p->ends)
		end_count(p, since, own);
	p->seen = *s;
	p->seen_ns = now;
}

void patience_end(struct patience *p, const struct signs *s, uint64_t now, uint64_t spent_ns)
{
	patience_look(p, s, now);
	p->ends = true;
	p->spent_ns = spent_ns;
	p->spared_ns = 0;
}
