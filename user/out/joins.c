/* SPDX-License-Identifier: Apache-2.0 */
#include "out/joins.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/idmap.h"
#include "jfr/read_sample.h"

#define NEAR_NS 20000000 /* a CPU sample so far from the tick is no word about it */

/* Samples of one owner in one chunk. Off the CPU: ticks from `at` to `last`. On it: at that time.
 */
struct act {
	uint64_t key; /* of thread and chunk, and whether it ran */
	uint64_t at, last;
	int64_t thread, stack, state;
};

struct joins {
	struct act *v;
	size_t n, cap;
};

void joins_free(struct joins *j)
{
	if (j)
		free(j->v);
	free(j);
}

static uint64_t key_of(uint64_t chunk, uint64_t who, bool ran)
{
	return idmap_mix(idmap_mix(chunk) ^ who) * 2 + ran;
}

static int by_key_and_time(const void *a, const void *b)
{
	const struct act *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

static int act_add(struct joins *j, const struct act *a)
{
	if (j->n == j->cap) {
		size_t cap = j->cap ? j->cap * 2 : 1024;
		struct act *v = reallocarray(j->v, cap, sizeof(*v));

		if (!v)
			return -ENOMEM;
		j->v = v;
		j->cap = cap;
	}
	j->v[j->n++] = *a;
	return 0;
}

static int sample_take(struct joins *j, const struct waits *x, struct jfr_reader *r, uint64_t chunk,
		       const struct jfr_sample *s)
{
	bool ran = s->source != JFR_SOURCE_WALL;
	uint64_t who = waits_thread(r, &s->thread);
	struct act a = {.thread = s->thread.i, .stack = s->stack.i, .state = s->state.i};

	if (!waits_is_owner(x, who) || s->time_ns < 0)
		return 0;
	a.key = key_of(chunk, who, ran);
	a.at = (uint64_t)s->time_ns;
	if (!ran && !waits_tick(x, chunk, s->time_ns, &a.at))
		return 0;
	a.last = ran ? a.at : a.at + s->ticks - 1;
	return act_add(j, &a);
}

static int samples_take(struct joins *j, const struct waits *x, struct jfr_reader *r)
{
	struct jfr_sampler *s = jfr_sampler_new(r, true);
	struct jfr_sample sample;
	struct jfr_event ev;
	int rc = s ? 1 : -ENOMEM;

	while (rc > 0 && (rc = jfr_sampler_next(s, &ev, &sample)) > 0)
		if (sample.ticks && sample_take(j, x, r, ev.chunk, &sample))
			rc = -ENOMEM;
	jfr_sampler_free(s);
	return rc;
}

int joins_read(struct joins **out, const struct stretch *s, const struct waits *x, struct error *e)
{
	struct joins *j = calloc(1, sizeof(*j));
	struct jfr_reader *r = NULL;
	int rc = j ? 0 : -ENOMEM;

	if (!rc && waits_have_owners(x)) {
		rc = stretch_reader(s, &r, e);
		if (rc) {
			joins_free(j);
			return rc;
		}
		rc = samples_take(j, x, r);
		jfr_reader_close(r);
	}
	if (rc) {
		joins_free(j);
		return error_set(e, rc, rc == -ENOMEM ? EXIT_INTERNAL : EXIT_INPUT,
				 "cannot read '%s': %s", s->path, strerror(-rc));
	}
	if (j->n)
		qsort(j->v, j->n, sizeof(*j->v), by_key_and_time);
	*out = j;
	return 0;
}

/* The first of that key, or of a later one, that begins behind `at`. */
static size_t first_behind(const struct joins *j, uint64_t key, uint64_t at)
{
	size_t low = 0, high = j->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct act *a = &j->v[mid];

		if (a->key < key || (a->key == key && a->at <= at))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a < b ? b - a : a - b;
}

static const struct act *nearest(const struct joins *j, uint64_t key, uint64_t at)
{
	size_t i = first_behind(j, key, at);
	const struct act *a = i && j->v[i - 1].key == key ? &j->v[i - 1] : NULL;
	const struct act *b = i < j->n && j->v[i].key == key ? &j->v[i] : NULL;

	if (!a || (b && distance(b->at, at) < distance(a->at, at)))
		a = b;
	return a && distance(a->at, at) <= NEAR_NS ? a : NULL;
}

bool joins_at(const struct joins *j, uint64_t chunk, uint64_t who, uint64_t tick, int64_t time_ns,
	      struct did *out)
{
	uint64_t key = key_of(chunk, who, false);
	size_t i = first_behind(j, key, tick);
	const struct act *a = i && j->v[i - 1].key == key ? &j->v[i - 1] : NULL;

	if (a && a->last >= tick) {
		*out = (struct did){a->thread, a->stack, a->state, false, a->last + 1};
		return true;
	}
	a = time_ns < 0 ? NULL : nearest(j, key_of(chunk, who, true), (uint64_t)time_ns);
	if (a)
		*out = (struct did){a->thread, a->stack, a->state, true, tick + 1};
	return a != NULL;
}
