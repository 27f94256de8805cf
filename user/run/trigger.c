/* SPDX-License-Identifier: Apache-2.0 */
#include "run/trigger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define S	   1000000000ull
#define EVERY_NS   (600 * S)
#define FOR_NS	   (10 * S)
#define HOURLY	   60
#define DAY_MINUTE (24 * 60)

static const char *const words[TRIGGER_WHATS] = {
	[TRIGGER_NONE] = "",	     [TRIGGER_CPU] = "cpu",
	[TRIGGER_QUEUED] = "queued", [TRIGGER_BLOCKED] = "blocked",
	[TRIGGER_GC] = "gc",	     [TRIGGER_THROTTLED] = "throttled",
	[TRIGGER_METHOD] = "method", [TRIGGER_LIVE] = "live",
	[TRIGGER_FROZEN] = "frozen", [TRIGGER_DEADLOCK] = "deadlock",
	[TRIGGER_START] = "start",   [TRIGGER_EXIT] = "exit",
	[TRIGGER_AT] = "at",
};

const char *trigger_word(enum trigger_what what)
{
	return what < TRIGGER_WHATS ? words[what] : "";
}

struct trigger *triggers_add(struct triggers *t, const char *label)
{
	struct trigger *v = NULL;

	if (t->n < TRIGGERS_MAX)
		v = realloc(t->v, (t->n + 1) * sizeof(*v));
	if (!v)
		return NULL;
	t->v = v;
	v += t->n;
	*v = (struct trigger){
		.whom.label = strdup(label),
		.for_ns = FOR_NS,
		.every_ns = EVERY_NS,
		.hourly = HOURLY,
		.uid = (uint32_t)-1,
		.gid = (uint32_t)-1,
	};
	if (!v->whom.label)
		return NULL;
	t->n++;
	return v;
}

void triggers_free(struct triggers *t)
{
	for (size_t i = 0; i < t->n; i++) {
		struct trigger *x = &t->v[i];

		rule_free(&x->whom);
		free(x->method);
		free(x->run_as);
		for (char **arg = x->argv; *arg; arg++)
			free(*arg);
	}
	free(t->v);
	*t = (struct triggers){0};
}

/* ---- shares ---------------------------------------------------------------------------------- */

static struct trigger_sum *point(struct trigger_memory *m, uint32_t i)
{
	return &m->v[(m->from + i) % TRIGGER_POINTS];
}

static void point_add(struct trigger_memory *m, const struct trigger_sum *s)
{
	if (m->n == TRIGGER_POINTS)
		m->from = (m->from + 1) % TRIGGER_POINTS;
	else
		m->n++;
	*point(m, m->n - 1) = *s;
}

/* The latest that is as old as the share's time; NULL: not so much is known yet. */
static const struct trigger_sum *point_of(struct trigger_memory *m, uint64_t until)
{
	const struct trigger_sum *found = NULL;

	for (uint32_t i = 0; i < m->n && point(m, i)->at_ns <= until; i++)
		found = point(m, i);
	return found;
}

bool trigger_share(const struct trigger *t, struct trigger_memory *m, const struct trigger_sum *s,
		   double *share)
{
	const struct trigger_sum *last = m->n ? point(m, m->n - 1) : NULL, *since;

	*share = 0;
	if (last && (s->part < last->part || s->whole < last->whole || s->at_ns < last->at_ns))
		*m = (struct trigger_memory){.fired_ns = m->fired_ns};
	since = s->at_ns > t->for_ns ? point_of(m, s->at_ns - t->for_ns) : NULL;
	if (since && s->whole > since->whole)
		*share = (double)(s->part - since->part) / (double)(s->whole - since->whole);
	/* a few less than there is room for within the time: the oldest is older than that */
	if (!m->n || s->at_ns - point(m, m->n - 1)->at_ns >= t->for_ns / (TRIGGER_POINTS - 2))
		point_add(m, s);
	return since && trigger_level(t, m, *share);
}

/* One more circle of threads is another one, whatever there was before. */
bool trigger_level(const struct trigger *t, struct trigger_memory *m, double level)
{
	bool more = t->what == TRIGGER_DEADLOCK && level > m->level;

	m->level = level;
	if (level < t->below || more)
		m->fired = false;
	if (m->fired || level <= t->above)
		return false;
	m->fired = true;
	return true;
}

void triggers_watch(struct triggers *t, uint32_t number, struct watch_orders *out)
{
	*out = (struct watch_orders){.number = number};
	for (size_t i = 0; i < t->n; i++) {
		struct trigger *x = &t->v[i];

		out->locks |= x->what == TRIGGER_DEADLOCK;
		if (!trigger_has_method(x) || out->n == WATCH_METHODS)
			continue;
		x->slot = out->n++;
		snprintf(out->method[x->slot], WATCH_PATTERN, "%s", x->method);
	}
}

bool trigger_at(const struct trigger *t, uint32_t before, uint32_t now)
{
	uint32_t passed = (now + DAY_MINUTE - before) % DAY_MINUTE;
	uint32_t to = (t->at_minute + DAY_MINUTE - before) % DAY_MINUTE;

	/* a clock that was set has not passed all the minutes between */
	return to && to <= passed && passed <= 5;
}
