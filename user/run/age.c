/* SPDX-License-Identifier: Apache-2.0 */
#include "run/age.h"

#include <string.h>

#define JUMP_NS 10000000000ull /* less is no matter for what is kept for hours */

static void jump_add(struct age_clock *c, uint64_t from, uint64_t to)
{
	memmove(c->jumps + 1, c->jumps, (AGE_JUMPS - 1) * sizeof(c->jumps[0]));
	c->jumps[0].from = from;
	c->jumps[0].to = to;
	if (c->n < AGE_JUMPS)
		c->n++;
}

void age_look(struct age_clock *c, uint64_t unix_ns, uint64_t boot_ns)
{
	uint64_t expected = c->unix_ns + (boot_ns - c->boot_ns);
	uint64_t off = unix_ns > expected ? unix_ns - expected : expected - unix_ns;

	if (c->boot_ns && off > JUMP_NS)
		jump_add(c, expected, unix_ns);
	c->unix_ns = unix_ns;
	c->boot_ns = boot_ns;
}

/*
 * Back through the times between jumps: what was written in one of them lies between its begin and
 * its end. Where a clock was set back two of them may hold it: it is taken for the younger.
 */
uint64_t age_of(const struct age_clock *c, uint64_t written_ns)
{
	uint64_t end = c->unix_ns, age = 0;

	for (size_t i = 0; i < c->n; i++) {
		if (written_ns >= c->jumps[i].to && written_ns <= end)
			break;
		age += end - c->jumps[i].to;
		end = c->jumps[i].from;
	}
	if (written_ns <= end)
		return age + (end - written_ns);
	return age; /* of the future of all of them */
}
