/* SPDX-License-Identifier: Apache-2.0 */
#include "out/waits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/idmap.h"
#include "base/utf8.h"
#include "kern/abi.h"
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
	/* of a lock */
	uint64_t tick, last, bits; /* as in the event; the last of them */
	uint64_t owner;
	uint32_t owner_name;
	/* of one that was woken by a thread of its process */
	uint32_t waker;
	int64_t waker_stack; /* 0: none */
};

struct waits {
	struct wait *v;
	size_t n, cap;
	struct names names;
	struct buffer text;
	struct idmap first; /* by key: the first that has samples left */
	struct idmap begin; /* by key, too: the first, and of how many */
	struct idmap owners;
	struct idmap starts; /* by chunk: when tick 0's interval began */
	uint64_t interval;   /* of ticks, ns */
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
	idmap_free(&x->begin);
	idmap_free(&x->owners);
	idmap_free(&x->starts);
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

/* ---- owners ---- */

uint64_t waits_thread(struct jfr_reader *r, const struct jfr_value *thread)
{
	struct jfr_thread t = {0};
	uint64_t h;

	if (!jfr_thread_get(r, thread, &t))
		return 0;
	h = idmap_mix(idmap_mix((uint64_t)t.java_id) ^ (uint64_t)(t.is_virtual ? 0 : t.os_id));
	return h ? h : 1;
}

static uint32_t thread_name(struct waits *x, struct jfr_reader *r, const struct jfr_value *thread)
{
	struct buffer *b = &x->text;
	struct jfr_thread t = {0};

	buffer_clear(b);
	if (jfr_thread_get(r, thread, &t))
		jfr_thread_name(r, &t, b);
	if (b->failed)
		return NAME_NONE;
	utf8_clean((char *)b->data, b->len, false);
	return names_add(&x->names, b->data, b->len, NULL);
}

/* 0 or -ENOMEM. Recordings may lack these fields. */
static int owner_take(struct waits *x, struct jfr_reader *r, const struct jfr_event *ev,
		      const struct jfr_value *v, int n, struct wait *w)
{
	int owner = jfr_class_field(ev->cls, "owner"), tick = jfr_class_field(ev->cls, "tick"),
	    bits = jfr_class_field(ev->cls, "ticks");
	int64_t start;

	if (owner < 0 || owner >= n || tick < 0 || tick >= n || bits < 0 || bits >= n ||
	    v[tick].i <= 0)
		return 0;
	w->tick = (uint64_t)v[tick].i;
	w->bits = (uint64_t)v[bits].i;
	w->last = w->tick + (w->bits ? 63 - (uint64_t)__builtin_clzll(w->bits) : w->left - 1);
	w->owner = waits_thread(r, &v[owner]);
	if (w->owner && !idmap_put(&x->owners, w->owner, 1, NULL))
		return -ENOMEM;
	w->owner_name = w->owner ? thread_name(x, r, &v[owner]) : 0;
	if (!x->interval)
		return 0;
	if (__builtin_sub_overflow(w->from, (int64_t)gn_tick_time(w->tick, x->interval), &start))
		return 0;
	return idmap_put(&x->starts, ev->chunk, (uint64_t)start, NULL) ? 0 : -ENOMEM;
}

/* 0 or -ENOMEM. Recordings may lack these fields. */
static int waker_take(struct waits *x, struct jfr_reader *r, const struct jfr_event *ev,
		      const struct jfr_value *v, int n, struct wait *w)
{
	int waker = jfr_class_field(ev->cls, "waker"),
	    stack = jfr_class_field(ev->cls, "wakerStackTrace");

	w->waker = NAME_NONE;
	if (waker < 0 || waker >= n || stack < 0 || stack >= n || !waits_thread(r, &v[waker]))
		return 0;
	w->waker = thread_name(x, r, &v[waker]);
	w->waker_stack = v[stack].i;
	return w->waker == NAME_NONE ? -ENOMEM : 0;
}

static bool has_tick(const struct wait *w, uint64_t tick)
{
	if (!w->tick || tick < w->tick || tick > w->last)
		return false;
	return !w->bits || w->bits >> (tick - w->tick) & 1;
}

/* The first tick behind it that it has not. */
static uint64_t ticks_end(const struct wait *w, uint64_t tick)
{
	if (!w->bits)
		return w->last + 1;
	while (has_tick(w, tick))
		tick++;
	return tick;
}

bool waits_have_owners(const struct waits *x)
{
	return x->owners.n != 0;
}

bool waits_is_owner(const struct waits *x, uint64_t who)
{
	return who && idmap_get(&x->owners, who);
}

bool waits_tick(const struct waits *x, uint64_t chunk, int64_t time_ns, uint64_t *tick)
{
	const uint64_t *start = idmap_get(&x->starts, chunk);
	int64_t since;

	if (!start || !x->interval || __builtin_sub_overflow(time_ns, (int64_t)*start, &since) ||
	    since < 0)
		return false;
	*tick = (uint64_t)since / x->interval;
	return true;
}

static void waited_set(const struct waits *x, const struct wait *w, struct waited *out)
{
	*out = (struct waited){
		.cause = names_get(&x->names, w->name),
		.owner = w->owner,
		.owner_name = w->owner ? names_get(&x->names, w->owner_name) : NULL,
		.waker = w->waker == NAME_NONE ? NULL : names_get(&x->names, w->waker),
		.waker_stack = w->waker_stack,
	};
}

bool waits_at(struct waits *x, uint64_t chunk, const int64_t k[3], uint64_t tick,
	      struct waited *out, uint64_t *until)
{
	uint64_t key = key_of(chunk, k[0], k[1], k[2]);
	const uint64_t *begin = idmap_get(&x->begin, key);

	for (size_t i = begin ? *begin : x->n; i < x->n && x->v[i].key == key && x->budget; i++) {
		x->budget--;
		if (!has_tick(&x->v[i], tick))
			continue;
		waited_set(x, &x->v[i], out);
		*until = ticks_end(&x->v[i], tick);
		return true;
	}
	return false;
}

/* ---- events ---- */

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
	if (owner_take(x, r, ev, v, n, &w) || waker_take(x, r, ev, v, n, &w))
		return -ENOMEM;
	return wait_add(x, &w);
}

static int events_take(struct waits *x, struct jfr_reader *r)
{
	struct jfr_sampler *s = jfr_sampler_new(r, true);
	struct jfr_sample sample;
	struct jfr_event ev;
	int rc = s ? 1 : -ENOMEM;

	while (rc > 0 && (rc = jfr_sampler_next(s, &ev, &sample)) > 0) {
		x->interval = jfr_sampler_period(s, JFR_SOURCE_WALL);
		if (!sample.ticks && event_take(x, r, &ev))
			rc = -ENOMEM;
	}
	jfr_sampler_free(s);
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
		if (!idmap_put(&x->first, x->v[i].key, i, NULL) || /* what is there stays */
		    !idmap_put(&x->begin, x->v[i].key, i, NULL))
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

/*
 * The cause that a sample of that time had, and that has samples left. *n: of the sample's ticks so
 * many at most.
 */
static struct wait *wait_find(struct waits *x, uint64_t key, int64_t at, uint64_t tick, uint64_t *n)
{
	uint64_t *first = idmap_get(&x->first, key);

	if (!first)
		return NULL;
	while (*first < x->n && x->v[*first].key == key && !x->v[*first].left)
		++*first;
	for (size_t i = *first; i < x->n && x->v[i].key == key && x->budget; i++) {
		struct wait *w = &x->v[i];

		x->budget--;
		if (!w->left || (w->tick ? !has_tick(w, tick) : w->from > at || at > w->to))
			continue;
		*n = w->left;
		if (w->tick && ticks_end(w, tick) - tick < *n)
			*n = ticks_end(w, tick) - tick;
		return w;
	}
	return NULL;
}

int waits_next(struct waits *x, uint64_t chunk, struct jfr_sample *rest, uint64_t *tick,
	       struct jfr_sample *part, struct waited *out)
{
	struct wait *w;
	__int128 next;
	uint64_t n;

	*out = (struct waited){0};
	if (!rest->ticks)
		return 0;
	*part = *rest;
	w = wait_find(x, key_of(chunk, rest->thread.i, rest->stack.i, rest->state.i), rest->time_ns,
		      *tick, &n);
	if (w) {
		if (part->ticks > n)
			part->ticks = n;
		w->left -= part->ticks;
		waited_set(x, w, out);
	}
	next = rest->time_ns + (__int128)rest->step_ns * (__int128)part->ticks;
	*tick += *tick == TICK_NONE ? 0 : part->ticks;
	rest->ticks = next > INT64_MAX ? 0 : rest->ticks - part->ticks;
	rest->time_ns = next > INT64_MAX ? INT64_MAX : (int64_t)next;
	return 1;
}
