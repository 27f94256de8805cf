// SPDX-License-Identifier: Apache-2.0
#include "out/contexts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/idmap.h"
#include "base/utf8.h"
#include "out/entered.h"

#define FIELDS_MAX 32

/*
 * Steps for all samples together: a hostile file could ask for the product of its samples and
 * events.
 */
#define BUDGET 100000000

/* Samples of one thread that have one context, or none. */
struct stretch_of {
	uint64_t key; /* of the thread and the chunk: constants are numbered by it */
	int64_t from, to;
	int64_t reach; /* the latest end of those of its key up to this one */
	uint32_t context;
};

struct contexts_index {
	struct stretch_of *v;
	size_t n, cap, contexts_cap, requests_cap;
	struct idmap contexts, requests;
	struct buffer text;
	uint64_t budget;
};

void contexts_free(struct contexts *x)
{
	if (!x)
		return;
	if (x->index) {
		free(x->index->v);
		idmap_free(&x->index->contexts);
		idmap_free(&x->index->requests);
		buffer_free(&x->index->text);
		free(x->index);
	}
	names_free(&x->names);
	free(x->contexts);
	free(x->requests);
	free(x);
}

static uint64_t key_of(uint64_t chunk, int64_t thread)
{
	return idmap_mix(idmap_mix(chunk) ^ (uint64_t)thread);
}

/* False: no memory for one more. */
static bool room(void **array, size_t n, size_t *cap, size_t size)
{
	size_t more = *cap ? 2 * *cap : 256;
	void *v;

	if (n < *cap)
		return true;
	v = reallocarray(*array, more, size);
	if (!v)
		return false;
	*array = v;
	*cap = more;
	return true;
}

/* ---- contexts and requests ---- */

static uint32_t text_of(struct contexts *x, struct jfr_reader *r, const struct jfr_value *v)
{
	struct buffer *b = &x->index->text;

	buffer_clear(b);
	jfr_value_string(r, v, b);
	if (b->failed)
		return NAME_NONE;
	utf8_clean((char *)b->data, b->len, false);
	return names_add(&x->names, b->data, b->len, NULL);
}

static bool is_empty(const struct contexts *x, uint32_t name)
{
	return !*names_get(&x->names, name);
}

/* The request that a context is of; CONTEXT_NONE where it has no ids, or there is no memory. */
static uint32_t request_of(struct contexts *x, const struct context *c)
{
	struct contexts_index *i = x->index;
	uint64_t *slot;
	bool fresh;

	if (is_empty(x, c->trace) && is_empty(x, c->root))
		return CONTEXT_NONE;
	slot = idmap_put(&i->requests, (uint64_t)c->trace << 32 | c->root, x->nrequests, &fresh);
	if (!slot)
		return CONTEXT_NONE;
	if (!fresh)
		return (uint32_t)*slot;
	if (!room((void **)&x->requests, x->nrequests, &i->requests_cap, sizeof(*x->requests)))
		return CONTEXT_NONE;
	x->requests[x->nrequests] = (struct request){.trace = c->trace,
						     .root = c->root,
						     .endpoint = c->endpoint,
						     .from_ns = INT64_MAX,
						     .to_ns = INT64_MIN};
	return x->nrequests++;
}

/* What the request is called, by one of its contexts. */
static void request_name(struct contexts *x, struct request *r, const struct context *c)
{
	if (!is_empty(x, c->endpoint))
		r->endpoint = c->endpoint;
	else if (!is_empty(x, c->operation) && (c->span == c->root || is_empty(x, r->endpoint)))
		r->endpoint = c->operation;
}

/* Its number; CONTEXT_NONE without memory. */
static uint32_t context_add(struct contexts *x, struct context *c)
{
	const uint32_t names[] = {c->trace, c->span, c->root, c->endpoint, c->operation};
	struct contexts_index *i = x->index;
	uint64_t h = 0, *slot;
	bool fresh;

	for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
		if (names[n] == NAME_NONE)
			return CONTEXT_NONE;
		h = idmap_mix(h ^ names[n]) + n;
	}
	slot = idmap_put(&i->contexts, h, x->ncontexts, &fresh);
	if (!slot || !fresh)
		return slot ? (uint32_t)*slot : CONTEXT_NONE;
	if (!room((void **)&x->contexts, x->ncontexts, &i->contexts_cap, sizeof(*x->contexts)))
		return CONTEXT_NONE;
	c->request = request_of(x, c);
	if (c->request != CONTEXT_NONE)
		request_name(x, &x->requests[c->request], c);
	x->contexts[x->ncontexts] = *c;
	return x->ncontexts++;
}

/* ---- events ---- */

static void request_grow(struct request *r, const struct stretch_of *s, uint64_t samples)
{
	if (s->from < r->from_ns)
		r->from_ns = s->from;
	if (s->to > r->to_ns)
		r->to_ns = s->to;
	r->samples += samples;
}

enum { THREAD, TRACE, SPAN, ROOT, ENDPOINT, OPERATION, SAMPLES, DURATION, ATTRIBUTES, FIELDS };

static int context_take(struct contexts *x, struct jfr_reader *r, const struct jfr_value *f,
			struct stretch_of *s)
{
	uint64_t samples = f[SAMPLES].i > 0 ? (uint64_t)f[SAMPLES].i : 0;
	struct context c = {
		.trace = text_of(x, r, &f[TRACE]),
		.span = text_of(x, r, &f[SPAN]),
		.root = text_of(x, r, &f[ROOT]),
		.endpoint = text_of(x, r, &f[ENDPOINT]),
		.operation = text_of(x, r, &f[OPERATION]),
	};
	const struct buffer *b = &x->index->text;

	s->context = context_add(x, &c);
	if (s->context == CONTEXT_NONE)
		return -ENOMEM;
	if (!is_empty(x, c.trace) || !is_empty(x, c.span) || !is_empty(x, c.endpoint) ||
	    !is_empty(x, c.operation)) {
		if (x->contexts[s->context].request != CONTEXT_NONE)
			request_grow(&x->requests[x->contexts[s->context].request], s, samples);
		return 0;
	}
	s->context = CONTEXT_NONE;
	text_of(x, r, &f[ATTRIBUTES]);
	x->lost += b->len ? samples : 0;
	return 0;
}

static int event_take(struct contexts *x, struct jfr_reader *r, const struct jfr_event *ev)
{
	static const char *const names[] = {
		[THREAD] = "eventThread",   [TRACE] = "traceId",     [SPAN] = "spanId",
		[ROOT] = "localRootSpanId", [ENDPOINT] = "endpoint", [OPERATION] = "operation",
		[SAMPLES] = "samples",	    [DURATION] = "duration", [ATTRIBUTES] = "attributes",
	};
	struct contexts_index *i = x->index;
	struct jfr_value v[FIELDS_MAX], f[FIELDS];
	struct stretch_of s = {0};
	int n, rc;

	n = jfr_event_fields(r, ev, v, FIELDS_MAX);
	for (int k = 0; k < FIELDS; k++) {
		int at = jfr_class_field(ev->cls, names[k]);

		if (at < 0 || at >= n)
			return 0;
		f[k] = v[at];
	}
	s.key = key_of(ev->chunk, f[THREAD].i);
	s.from = jfr_ticks_time(r, v[0].i);
	if (__builtin_add_overflow(s.from, jfr_ticks_span(r, f[DURATION].i), &s.to) ||
	    s.to < s.from)
		return 0;
	rc = context_take(x, r, f, &s);
	if (rc)
		return rc;
	if (!room((void **)&i->v, i->n, &i->cap, sizeof(*i->v)))
		return -ENOMEM;
	i->v[i->n++] = s;
	return 0;
}

static int events_take(struct contexts *x, struct jfr_reader *r)
{
	const struct jfr_class *cls = NULL;
	struct jfr_event ev;
	uint64_t chunk = 0;
	int rc;

	while ((rc = jfr_reader_next(r, &ev)) > 0) {
		if (ev.chunk != chunk) { /* by its class, and not by name: most events are others */
			cls = jfr_class_find(r, "gnomon.Context");
			chunk = ev.chunk;
		}
		rc = ev.cls == cls ? event_take(x, r, &ev) : 0;
		if (rc)
			return rc;
	}
	return rc;
}

/* ---- requests by rule ---- */

/* One more request, and the context that is of it. */
static int request_add(struct contexts *x, uint32_t endpoint)
{
	struct contexts_index *i = x->index;
	uint32_t none = names_add(&x->names, "", 0, NULL);

	if (none == NAME_NONE ||
	    !room((void **)&x->requests, x->nrequests, &i->requests_cap, sizeof(*x->requests)) ||
	    !room((void **)&x->contexts, x->ncontexts, &i->contexts_cap, sizeof(*x->contexts)))
		return -ENOMEM;
	x->contexts[x->ncontexts++] = (struct context){.trace = none,
						       .span = none,
						       .root = none,
						       .endpoint = endpoint,
						       .operation = none,
						       .request = x->nrequests};
	x->requests[x->nrequests++] = (struct request){.trace = none,
						       .root = none,
						       .endpoint = endpoint,
						       .from_ns = INT64_MAX,
						       .to_ns = INT64_MIN};
	return 0;
}

static int entered_take(struct contexts *x, const struct entered *v)
{
	struct contexts_index *i = x->index;
	struct stretch_of s = {.key = key_of(v->chunk, v->thread),
			       .from = v->from_ns,
			       .to = v->to_ns,
			       .context = v->request};

	if (v->request == x->nrequests && request_add(x, v->endpoint))
		return -ENOMEM;
	if (!room((void **)&i->v, i->n, &i->cap, sizeof(*i->v)))
		return -ENOMEM;
	request_grow(&x->requests[v->request], &s, v->samples);
	i->v[i->n++] = s;
	return 0;
}

static int rules_take(struct contexts *x, struct jfr_reader *r, const struct pattern_list *rules,
		      struct error *e)
{
	struct entered *v = NULL;
	size_t n = 0;
	int rc = entered_read(r, rules, &x->names, &v, &n, e);

	for (size_t k = 0; k < n && !rc; k++)
		if (entered_take(x, &v[k]))
			rc = error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	free(v);
	return rc;
}

static int by_key_and_time(const void *a, const void *b)
{
	const struct stretch_of *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->to < y->to) - (x->to > y->to);
}

static void index_make(struct contexts_index *i)
{
	if (i->n)
		qsort(i->v, i->n, sizeof(*i->v), by_key_and_time);
	for (size_t k = 0; k < i->n; k++) {
		struct stretch_of *s = &i->v[k];

		s->reach = s->to;
		if (k && s[-1].key == s->key && s[-1].reach > s->to)
			s->reach = s[-1].reach;
	}
	i->budget = BUDGET;
}

static int events_read(struct contexts *x, struct jfr_reader *r, const struct stretch *s,
		       struct error *e)
{
	int rc = events_take(x, r);

	return rc ? error_set(e, rc, rc == -ENOMEM ? EXIT_INTERNAL : EXIT_INPUT,
			      "cannot read '%s': %s", s->path, strerror(-rc))
		  : 0;
}

int contexts_missing(const struct stretch *s, const struct pattern_list *rules, struct error *e)
{
	if (rules->n) {
		error_set(e, -ENODATA, EXIT_INPUT, "no stack of '%s' has a method of such a rule",
			  s->path);
		return error_hint(e, "methods are called as 'gnomon render' has them");
	}
	error_set(e, -ENODATA, EXIT_INPUT, "'%s' tells of no requests", s->path);
	return error_hint(e, "a tracer has to publish them, or gnomon-context.jar, or name methods "
			     "with --endpoint-rule: see gnomon-requests(1)");
}

int contexts_read(struct contexts **out, const struct stretch *s, const struct pattern_list *rules,
		  struct error *e)
{
	struct contexts *x;
	struct jfr_reader *r;
	int rc;

	if (!strcmp(s->path, "-")) {
		error_set(e, -EINVAL, EXIT_USAGE, "requests are told by reading twice");
		return error_hint(e, "name a file instead of '-'");
	}
	rc = stretch_reader(s, &r, e);
	if (rc)
		return rc;
	x = calloc(1, sizeof(*x));
	if (x)
		x->index = calloc(1, sizeof(*x->index));
	if (!x || !x->index)
		rc = error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory reading '%s'", s->path);
	else
		rc = rules->n ? rules_take(x, r, rules, e) : events_read(x, r, s, e);
	jfr_reader_close(r);
	if (rc) {
		contexts_free(x);
		return rc;
	}
	index_make(x->index);
	*out = x;
	return 0;
}

/* ---- samples ---- */

/* How many of the events come before those that begin behind `at`. */
static size_t behind(const struct contexts_index *i, uint64_t key, int64_t at)
{
	size_t lo = 0, hi = i->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct stretch_of *s = &i->v[mid];

		if (s->key < key || (s->key == key && s->from <= at))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

uint32_t contexts_of(struct contexts *x, uint64_t chunk, const struct jfr_sample *s)
{
	struct contexts_index *i = x->index;
	uint64_t key = key_of(chunk, s->thread.i);

	for (size_t k = behind(i, key, s->time_ns); k-- > 0 && i->budget; i->budget--) {
		const struct stretch_of *v = &i->v[k];

		if (v->key != key || v->reach < s->time_ns)
			return CONTEXT_NONE;
		if (v->to >= s->time_ns)
			return v->context;
	}
	return CONTEXT_NONE;
}

static bool wants(const struct contexts *x, const struct pattern_list *l, uint32_t a, uint32_t b)
{
	return !l->n || pattern_match(l, names_get(&x->names, a)) ||
	       pattern_match(l, names_get(&x->names, b));
}

bool contexts_pass(const struct contexts *x, uint32_t context, const struct context_filter *f)
{
	const struct context *c;
	const struct request *r;

	if (context == CONTEXT_NONE)
		return false;
	c = &x->contexts[context];
	r = c->request == CONTEXT_NONE ? NULL : &x->requests[c->request];
	return wants(x, &f->traces, c->trace, c->trace) && wants(x, &f->spans, c->span, c->root) &&
	       wants(x, &f->endpoints, r ? r->endpoint : c->endpoint, c->endpoint) &&
	       (!f->slower_ns || (r && request_ns(r) >= f->slower_ns));
}
