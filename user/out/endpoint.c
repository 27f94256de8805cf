/* SPDX-License-Identifier: Apache-2.0 */
#include "out/endpoint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/idmap.h"

#define FIELDS_MAX 32

/*
 * Steps for all samples together: a hostile file could ask for the product of its samples and
 * endpoints.
 */
#define BUDGET 100000000

/* A time in which a thread served a wanted endpoint. */
struct request {
	int64_t thread;
	int64_t from, to;
};

struct endpoints {
	const struct pattern_list *want;
	struct request *v;
	size_t n, cap;
	struct idmap spans; /* wanted local root spans */
	bool any;	    /* some endpoint is named, wanted or not */
	uint64_t budget;    /* steps left */
};

void endpoints_free(struct endpoints *x)
{
	if (!x)
		return;
	free(x->v);
	idmap_free(&x->spans);
	free(x);
}

/* Java's number of a thread, or the system's where it has none; 0 for neither. */
static int64_t thread_key(struct jfr_reader *r, const struct jfr_value *ref)
{
	struct jfr_thread t;

	if (!jfr_thread_get(r, ref, &t))
		return 0;
	return t.java_id > 0 ? t.java_id : t.os_id > 0 && t.os_id < INT64_MAX ? -t.os_id : 0;
}

static bool wanted(const struct endpoints *x, struct jfr_reader *r, const struct jfr_value *v)
{
	struct buffer b = BUFFER_INIT;
	bool is = false;

	if (jfr_value_string(r, v, &b)) {
		buffer_byte(&b, 0);
		is = !b.failed && pattern_match(x->want, (char *)b.data);
	}
	buffer_free(&b);
	return is;
}

static const struct jfr_value *field(const struct jfr_event *ev, const struct jfr_value *v, int n,
				     const char *name)
{
	int i = jfr_class_field(ev->cls, name);

	return i >= 0 && i < n ? &v[i] : NULL;
}

static int served_add(struct endpoints *x, const struct request *s)
{
	if (x->n == x->cap) {
		size_t cap = x->cap ? x->cap * 2 : 256;
		struct request *v = reallocarray(x->v, cap, sizeof(*v));

		if (!v)
			return -ENOMEM;
		x->v = v;
		x->cap = cap;
	}
	x->v[x->n++] = *s;
	return 0;
}

static int event_take(struct endpoints *x, struct jfr_reader *r, const struct jfr_event *ev)
{
	struct jfr_value v[FIELDS_MAX];
	const struct jfr_value *name, *span, *duration, *thread;
	struct request s = {0};
	int n;

	if (jfr_class_field(ev->cls, "endpoint") < 0)
		return 0;
	n = jfr_event_fields(r, ev, v, FIELDS_MAX);
	name = n > 0 ? field(ev, v, n, "endpoint") : NULL;
	if (!name)
		return 0;
	x->any = true;
	if (!wanted(x, r, name))
		return 0;
	span = field(ev, v, n, "localRootSpanId");
	if (span) /* 0: none */
		return !span->i || idmap_put(&x->spans, (uint64_t)span->i, 1, NULL) ? 0 : -ENOMEM;
	duration = field(ev, v, n, "duration");
	thread = field(ev, v, n, "eventThread");
	if (!duration || !thread)
		return 0;
	s.thread = thread_key(r, thread);
	s.from = jfr_ticks_time(r, v[0].i);
	if (!s.thread || __builtin_add_overflow(s.from, jfr_ticks_span(r, duration->i), &s.to) ||
	    s.to < s.from)
		return 0;
	return served_add(x, &s);
}

static int by_thread_and_time(const void *a, const void *b)
{
	const struct request *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

/* Sorts the times, and joins those of a thread that overlap or touch. */
static void served_sort(struct endpoints *x)
{
	size_t n = 0;

	if (x->n)
		qsort(x->v, x->n, sizeof(*x->v), by_thread_and_time);
	for (size_t i = 0; i < x->n; i++) {
		struct request *last = n ? &x->v[n - 1] : NULL, *s = &x->v[i];

		if (!last || last->thread != s->thread || last->to < s->from)
			x->v[n++] = *s;
		else if (last->to < s->to)
			last->to = s->to;
	}
	x->n = n;
}

static int events_take(struct endpoints *x, struct jfr_reader *r)
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

int endpoints_read(struct endpoints **out, const struct stretch *s, const struct pattern_list *want,
		   struct error *e)
{
	struct endpoints *x = NULL;
	struct jfr_reader *r;
	int rc;

	if (!strcmp(s->path, "-")) {
		error_set(e, -EINVAL, EXIT_USAGE, "--endpoint reads the recording twice");
		return error_hint(e, "name a file instead of '-'");
	}
	rc = stretch_reader(s, &r, e);
	if (rc)
		return rc;
	x = calloc(1, sizeof(*x));
	if (x) {
		x->want = want;
		x->budget = BUDGET;
		rc = events_take(x, r);
	}
	jfr_reader_close(r);
	if (!x || rc) {
		rc = x ? rc : -ENOMEM;
		error_set(e, rc, rc == -ENOMEM ? EXIT_INTERNAL : EXIT_INPUT, "cannot read '%s': %s",
			  s->path, strerror(-rc));
	} else if (!x->any) {
		rc = error_set(e, -ENODATA, EXIT_INPUT, "'%s' names no endpoints", s->path);
		error_hint(e, "they are taken from events with a text field 'endpoint'");
	}
	if (rc) {
		endpoints_free(x);
		return rc;
	}
	served_sort(x);
	*out = x;
	return 0;
}

/* The thread's first time that ends at `at` or later; NULL if there is none. */
static const struct request *served_find(const struct endpoints *x, int64_t thread, int64_t at)
{
	size_t lo = 0, hi = x->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct request *s = &x->v[mid];

		if (s->thread < thread || (s->thread == thread && s->to < at))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < x->n && x->v[lo].thread == thread ? &x->v[lo] : NULL;
}

/* Drop the first n ticks. */
static void ticks_drop(struct jfr_sample *s, uint64_t n)
{
	__int128 at = s->time_ns + (__int128)s->step_ns * (__int128)n;

	s->ticks = at > INT64_MAX ? 0 : s->ticks - n;
	s->time_ns = at > INT64_MAX ? INT64_MAX : (int64_t)at;
}

/* How many of the sample's ticks lie before `end`, which is not before its first. */
static uint64_t ticks_before(const struct jfr_sample *s, __int128 end)
{
	__int128 n = s->step_ns > 0	? (end - s->time_ns + s->step_ns - 1) / s->step_ns
		     : end > s->time_ns ? (__int128)s->ticks
					: 0;

	return n < (__int128)s->ticks ? (uint64_t)n : s->ticks;
}

/* Takes the next part of the sample that lies in one of the thread's times. */
static int served_next(struct endpoints *x, int64_t thread, struct jfr_sample *rest,
		       struct jfr_sample *part)
{
	while (rest->ticks) {
		const struct request *s = served_find(x, thread, rest->time_ns);

		if (!s)
			return 0;
		if (!x->budget--)
			return -EOVERFLOW;
		if (s->from > rest->time_ns)
			ticks_drop(rest, ticks_before(rest, s->from));
		if (!rest->ticks || rest->time_ns > s->to)
			continue;
		*part = *rest;
		part->ticks = ticks_before(rest, (__int128)s->to + 1);
		ticks_drop(rest, part->ticks);
		return 1;
	}
	return 0;
}

int endpoints_next(struct endpoints *x, struct jfr_reader *r, const struct jfr_event *ev,
		   struct jfr_sample *rest, struct jfr_sample *part)
{
	const struct jfr_value *name, *span;
	struct jfr_value v[FIELDS_MAX];
	int64_t thread;
	bool all;
	int n;

	if (!rest->ticks)
		return 0;
	n = jfr_event_fields(r, ev, v, FIELDS_MAX);
	name = field(ev, v, n, "endpoint");
	span = field(ev, v, n, "localRootSpanId");
	all = name ? wanted(x, r, name) : span && idmap_get(&x->spans, (uint64_t)span->i) != NULL;
	if (all) {
		*part = *rest;
		rest->ticks = 0;
		return 1;
	}
	thread = name ? 0 : thread_key(r, &rest->thread);
	return thread ? served_next(x, thread, rest, part) : 0;
}
