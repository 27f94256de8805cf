/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/watching.h"

#include <stdio.h>

#include "base/pattern.h"
#include "model/roster.h"

#define RUNS_NS	   5000000000ull /* who runs has a sample within that */
#define CIRCLE_MAX 64

static bool fits(const struct watch_orders *o, uint32_t i, const char *name)
{
	const char *pattern = o->method[i];

	return pattern_match(&(struct pattern_list){.v = &pattern, .n = 1}, name);
}

uint16_t watching_fits(const struct watch_orders *o, const struct frame_name *frames, size_t n)
{
	char name[2 * FRAME_NAME_MAX];
	uint16_t mask = 0;

	for (size_t f = 0; f < n && o->n; f++) {
		snprintf(name, sizeof(name), "%s.%s", frames[f].klass, frames[f].method);
		for (uint32_t i = 0; i < o->n && i < WATCH_METHODS; i++)
			if (!(mask >> i & 1) && fits(o, i, name))
				mask |= (uint16_t)(1u << i);
	}
	return mask;
}

static struct hold hold_of(const struct watching_sample *s)
{
	struct hold h = {
		.since_ns = s->last_ns,
		.until_ns = s->last_ns,
		.stack = s->stack,
		.watch = s->watch,
		.watched = s->watched,
		.sleeps = s->wait,
	};

	if (!s->wait)
		return h;
	h.since_ns -= s->span_ns < s->last_ns ? s->span_ns : s->last_ns;
	h.cause = s->cause;
	h.tick = s->tick;
	return h;
}

void watching_note(struct hold *h, const struct watching_sample *s)
{
	struct hold was = *h;

	if (s->last_ns < was.until_ns)
		return;
	if (s->queued) {
		if (was.until_ns && !was.sleeps)
			h->until_ns = s->last_ns;
		return;
	}
	if (!s->wait && !was.sleeps && was.until_ns && s->stack && was.stack == s->stack &&
	    was.watch == s->watch && s->last_ns - was.until_ns < RUNS_NS) {
		h->until_ns = s->last_ns;
		return;
	}
	*h = hold_of(s);
	if (was.sleeps && was.cause == h->cause && h->since_ns < was.until_ns)
		h->owner = was.owner; /* the same wait */
}

uint64_t watching_held(const struct hold *h, uint64_t now)
{
	if (!h->until_ns || (!h->sleeps && now > h->until_ns + RUNS_NS))
		return 0;
	return h->until_ns - h->since_ns;
}

unsigned int watching_circle(const struct hold *h, watching_next_fn next, void *ctx)
{
	uint64_t since = 0, until = UINT64_MAX;
	const struct hold *at = h;

	for (unsigned int n = 1; n <= CIRCLE_MAX && at && at->cause; n++) {
		since = at->since_ns > since ? at->since_ns : since;
		until = at->until_ns < until ? at->until_ns : until;
		at = next(ctx, at);
		if (at == h)
			return n > 1 && since <= until ? n : 0;
	}
	return 0;
}
