/* SPDX-License-Identifier: Apache-2.0 */
#include "push/round.h"

#define SETTLED_NS 1000000000ull /* after a window's end its chunks are written */

static uint64_t round_after(const struct round *r, uint64_t now)
{
	uint64_t window = r->window_ns;

	return (now - r->late_ns) / window * window + window + r->late_ns;
}

void round_begin(struct round *r, uint64_t window_ns, uint64_t chance, uint64_t now)
{
	*r = (struct round){.window_ns = window_ns,
			    .late_ns = SETTLED_NS + chance % (window_ns / 2)};
	r->next_ns = round_after(r, now);
}

bool round_is_due(struct round *r, uint64_t now)
{
	bool due = now >= r->next_ns;

	/* a clock that was set back is no reason to wait for longer than a window */
	if (due || r->next_ns - now > r->window_ns)
		r->next_ns = round_after(r, now);
	return due;
}
