/* SPDX-License-Identifier: Apache-2.0 */
#include "out/endpoint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/idmap.h"

#define FIELDS_MAX 32

/* A time in which a thread served a wanted endpoint. */
struct served {
	int64_t thread;
	int64_t from, to;
	int64_t latest; /* `to` of this and all of the thread before it */
};

struct endpoints {
	const struct pattern_list *want;
	struct served *v;
	size_t n, cap;
	struct idmap spans; /* wanted local root spans */
	bool any;	    /* some endpoint is named, wanted or not */
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

static int served_add(struct endpoints *x, const struct served *s)
{
	if (x->n == x->cap) {
		size_t cap = x->cap ? x->cap * 2 : 256;
		struct served *v = reallocarray(x->v, cap, sizeof(*v));

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
	struct served s = {0};
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
	if (!s.thread || __builtin_add_overflow(s.from, jfr_ticks_span(r, duration->i), &s.to))
		return 0;
	return served_add(x, &s);
}

static int by_thread_and_time(const void *a, const void *b)
{
	const struct served *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

static void served_sort(struct endpoints *x)
{
	if (x->n)
		qsort(x->v, x->n, sizeof(*x->v), by_thread_and_time);
	for (size_t i = 0; i < x->n; i++) {
		struct served *s = &x->v[i];

		s->latest = s->to;
		if (i && s[-1].thread == s->thread && s[-1].latest > s->latest)
			s->latest = s[-1].latest;
	}
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

int endpoints_read(struct endpoints **out, const char *path, const struct pattern_list *want,
		   struct error *e)
{
	struct endpoints *x = NULL;
	struct jfr_reader *r;
	int rc;

	if (!strcmp(path, "-")) {
		error_set(e, -EINVAL, EXIT_USAGE, "--endpoint reads the recording twice");
		return error_hint(e, "name a file instead of '-'");
	}
	rc = jfr_reader_open(&r, path, NULL, e);
	if (rc)
		return rc;
	x = calloc(1, sizeof(*x));
	if (x) {
		x->want = want;
		rc = events_take(x, r);
	}
	jfr_reader_close(r);
	if (!x || rc) {
		rc = x ? rc : -ENOMEM;
		error_set(e, rc, rc == -ENOMEM ? EXIT_INTERNAL : EXIT_INPUT, "cannot read '%s': %s",
			  path, strerror(-rc));
	} else if (!x->any) {
		rc = error_set(e, -ENODATA, EXIT_INPUT, "'%s' names no endpoints", path);
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

static bool serving(const struct endpoints *x, int64_t thread, int64_t at)
{
	size_t lo = 0, hi = x->n;

	while (lo < hi) { /* the first that begins later */
		size_t mid = lo + (hi - lo) / 2;
		const struct served *s = &x->v[mid];

		if (s->thread < thread || (s->thread == thread && s->from <= at))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && x->v[lo - 1].thread == thread && x->v[lo - 1].latest >= at;
}

bool endpoints_match(const struct endpoints *x, struct jfr_reader *r, const struct jfr_event *ev,
		     const struct jfr_sample *s)
{
	struct jfr_value v[FIELDS_MAX];
	int n = jfr_event_fields(r, ev, v, FIELDS_MAX);
	const struct jfr_value *name = field(ev, v, n, "endpoint");
	const struct jfr_value *span = field(ev, v, n, "localRootSpanId");
	int64_t thread;

	if (name)
		return wanted(x, r, name);
	if (span && idmap_get(&x->spans, (uint64_t)span->i))
		return true;
	thread = thread_key(r, &s->thread);
	return thread && serving(x, thread, s->time_ns);
}
