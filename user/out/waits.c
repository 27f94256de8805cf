/* SPDX-License-Identifier: Apache-2.0 */
#include "out/waits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/idmap.h"
#include "base/utf8.h"
#include "out/names.h"

#define FIELDS_MAX 32

/*
 * Steps for all samples together: a hostile file could ask for the product of its samples and
 * causes.
 */
#define BUDGET 100000000

/* Samples of one thread, stack and state that waited for one thing. */
struct wait {
	uint64_t key; /* of these and the chunk: constants are numbered by it */
	int64_t from, to;
	uint64_t left; /* samples that have not been given it */
	uint32_t name;
};

struct waits {
	struct wait *v;
	size_t n, cap;
	struct names names;
	struct buffer text;
	struct idmap first; /* by key: the first that has samples left */
	uint64_t budget;
};

void waits_free(struct waits *x)
{
	if (!x)
		return;
	free(x->v);
	names_free(&x->names);
	buffer_free(&x->text);
	idmap_free(&x->first);
	free(x);
}

static uint64_t key_of(uint64_t chunk, int64_t thread, int64_t stack, int64_t state)
{
	uint64_t h = idmap_mix(chunk);

	h = idmap_mix(h ^ (uint64_t)thread);
	h = idmap_mix(h ^ (uint64_t)stack);
	return idmap_mix(h ^ (uint64_t)state);
}

/* "(kind) cause": what is done with it the method that waits says. */
static uint32_t name_of(struct waits *x, struct jfr_reader *r, const struct jfr_value *kind,
			const struct jfr_value *cause)
{
	struct buffer *b = &x->text;

	buffer_clear(b);
	buffer_byte(b, '(');
	jfr_value_string(r, kind, b);
	buffer_printf(b, ") ");
	jfr_value_string(r, cause, b);
	if (b->failed)
		return NAME_NONE;
	utf8_clean((char *)b->data, b->len, false);
	return names_add(&x->names, b->data, b->len, NULL);
}

static int wait_add(struct waits *x, const struct wait *w)
{
	if (x->n == x->cap) {
		size_t cap = x->cap ? x->cap * 2 : 256;
		struct wait *v = reallocarray(x->v, cap, sizeof(*v));

		if (!v)
			return -ENOMEM;
		x->v = v;
		x->cap = cap;
	}
	x->v[x->n++] = *w;
	return 0;
}

static int event_take(struct waits *x, struct jfr_reader *r, const struct jfr_event *ev)
{
	static const char *const names[] = {"eventThread", "stackTrace", "state", "kind",
					    "cause",	   "samples",	 "period"};
	enum { THREAD, STACK, STATE, KIND, CAUSE, SAMPLES, PERIOD, FIELDS };
	struct jfr_value v[FIELDS_MAX], f[FIELDS];
	struct wait w = {0};
	int n;

	if (strcmp(ev->cls->name, "gnomon.WaitCause"))
		return 0;
	n = jfr_event_fields(r, ev, v, FIELDS_MAX);
	for (int i = 0; i < FIELDS; i++) {
		int k = jfr_class_field(ev->cls, names[i]);

		if (k < 0 || k >= n)
			return 0;
		f[i] = v[k];
	}
	w.key = key_of(ev->chunk, f[THREAD].i, f[STACK].i, f[STATE].i);
	w.from = jfr_ticks_time(r, v[0].i);
	w.left = f[SAMPLES].i > 0 ? (uint64_t)f[SAMPLES].i : 0;
	w.name = name_of(x, r, &f[KIND], &f[CAUSE]);
	if (w.name == NAME_NONE)
		return -ENOMEM;
	if (!w.left || __builtin_add_overflow(w.from, jfr_ticks_span(r, f[PERIOD].i), &w.to))
		return 0;
	return wait_add(x, &w);
}

static int events_take(struct waits *x, struct jfr_reader *r)
{
	struct jfr_event ev;
	int rc;

	while ((rc = jfr_reader_next(r, &ev)) > 0) {
		rc = event_take(x, r, &ev);
		if (rc)
			return rc;
	}
	return rc;
}

static int by_key_and_time(const void *a, const void *b)
{
	const struct wait *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	return (x->name > y->name) - (x->name < y->name);
}

static int index_make(struct waits *x)
{
	if (x->n)
		qsort(x->v, x->n, sizeof(*x->v), by_key_and_time);
	for (size_t i = 0; i < x->n; i++)
		if (!idmap_put(&x->first, x->v[i].key, i, NULL)) /* what is there stays */
			return -ENOMEM;
	return 0;
}

int waits_read(struct waits **out, const struct stretch *s, struct error *e)
{
	struct waits *x;
	struct jfr_reader *r;
	int rc;

	if (!strcmp(s->path, "-")) {
		error_set(e, -EINVAL, EXIT_USAGE, "--causes reads the recording twice");
		return error_hint(e, "name a file instead of '-'");
	}
	rc = stretch_reader(s, &r, e);
	if (rc)
		return rc;
	x = calloc(1, sizeof(*x));
	rc = x ? events_take(x, r) : -ENOMEM;
	jfr_reader_close(r);
	if (!rc)
		rc = index_make(x);
	if (rc) {
		waits_free(x);
		return error_set(e, rc, rc == -ENOMEM ? EXIT_INTERNAL : EXIT_INPUT,
				 "cannot read '%s': %s", s->path, strerror(-rc));
	}
	x->budget = BUDGET;
	*out = x;
	return 0;
}

/* The cause that a sample of that time had, and that has samples left. */
static struct wait *wait_find(struct waits *x, uint64_t key, int64_t at)
{
	uint64_t *first = idmap_get(&x->first, key);

	if (!first)
		return NULL;
	while (*first < x->n && x->v[*first].key == key && !x->v[*first].left)
		++*first;
	for (size_t i = *first; i < x->n && x->v[i].key == key && x->budget; i++) {
		struct wait *w = &x->v[i];

		x->budget--;
		if (w->left && w->from <= at && at <= w->to)
			return w;
	}
	return NULL;
}

int waits_next(struct waits *x, uint64_t chunk, struct jfr_sample *rest, struct jfr_sample *part,
	       const char **cause)
{
	struct wait *w;
	__int128 next;

	*cause = NULL;
	if (!rest->ticks)
		return 0;
	*part = *rest;
	w = wait_find(x, key_of(chunk, rest->thread.i, rest->stack.i, rest->state.i),
		      rest->time_ns);
	if (w) {
		if (part->ticks > w->left)
			part->ticks = w->left;
		w->left -= part->ticks;
		*cause = names_get(&x->names, w->name);
	}
	next = rest->time_ns + (__int128)rest->step_ns * (__int128)part->ticks;
	rest->ticks = next > INT64_MAX ? 0 : rest->ticks - part->ticks;
	rest->time_ns = next > INT64_MAX ? INT64_MAX : (int64_t)next;
	return 1;
}
