// SPDX-License-Identifier: Apache-2.0
#include "out/served.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/idmap.h"
#include "base/utf8.h"
#include "out/waits.h"

#define USUAL_CPU_NS  20000000 /* where a recording does not say: the JDK's */
#define USUAL_WALL_NS 50000000 /* async-profiler's */

const char *const did_names[] = {"running", "queued", "blocked", "waiting", NULL};

/* Sums that are found again by what they are of. */
struct sums {
	struct served_cause *v;
	size_t n, cap;
	struct idmap index;
};

struct reading {
	struct served *v;
	const struct served_options *opt;
	const struct stretch *of;
	struct waits *waits;
	struct jfr_reader *r;
	struct jfr_sampler *s;
	struct buffer text;
	struct sums causes;
	struct idmap worked; /* by request and thread: that it is counted */
	uint64_t chunk;
	struct idmap states;  /* of this chunk: the cause's name, and what << 32 */
	struct idmap threads; /* of this chunk: its name; CONTEXT_NONE: it is not wanted */
};

/* ---- sums ---- */

_Static_assert(DIDS <= 4, "two bits of a key");

static int sums_add(struct sums *s, uint32_t of, uint32_t name, enum did did, uint64_t ns)
{
	uint64_t key = (uint64_t)of << 32 | name << 2 | did, *slot;
	bool fresh;

	slot = idmap_put(&s->index, key, s->n, &fresh);
	if (!slot)
		return -ENOMEM;
	if (fresh && s->n == s->cap) {
		size_t cap = s->cap ? 2 * s->cap : 256;
		struct served_cause *v = reallocarray(s->v, cap, sizeof(*v));

		if (!v)
			return -ENOMEM;
		s->v = v;
		s->cap = cap;
	}
	if (fresh)
		s->v[s->n++] = (struct served_cause){.of = of, .name = name, .did = did};
	s->v[*slot].ns += ns;
	return 0;
}

static int by_owner_most_first(const void *a, const void *b)
{
	const struct served_cause *x = a, *y = b;

	if (x->of != y->of)
		return x->of < y->of ? -1 : 1;
	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->name != y->name ? (x->name < y->name ? -1 : 1) : (int)x->did - (int)y->did;
}

static struct served_cause *sums_take(struct sums *s)
{
	struct served_cause *v = s->v;

	if (s->n)
		qsort(v, s->n, sizeof(*v), by_owner_most_first);
	idmap_free(&s->index);
	s->v = NULL;
	return v;
}

/* ---- which requests ---- */

/* Whether some of it is of the time wanted: that counts with all that it took. */
static bool is_then(const struct stretch *s, const struct request *q)
{
	__int128 from = (__int128)s->start_ns + s->from_ns, to = (__int128)s->start_ns + s->to_ns;

	return q->to_ns >= from && (!s->to_ns || q->from_ns < to);
}

static bool request_passes(const struct reading *x, uint32_t r)
{
	const struct context_filter *f = &x->opt->filter;
	const struct contexts *c = x->v->contexts;
	const struct request *q = &c->requests[r];

	return is_then(x->of, q) &&
	       (!f->endpoints.n ||
		pattern_match(&f->endpoints, names_get(&c->names, q->endpoint))) &&
	       (!f->traces.n || pattern_match(&f->traces, names_get(&c->names, q->trace))) &&
	       (!f->spans.n || pattern_match(&f->spans, names_get(&c->names, q->root))) &&
	       request_ns(q) >= f->slower_ns;
}

/* Gives each request that is told its endpoint. */
static int endpoints_make(struct reading *x)
{
	struct served *v = x->v;
	const struct contexts *c = v->contexts;
	struct idmap by_name = {0};
	int rc = 0;

	v->requests = calloc((size_t)c->nrequests + 1, sizeof(*v->requests));
	v->order = calloc((size_t)c->nrequests + 1, sizeof(*v->order));
	v->slowest = calloc((size_t)c->nrequests + 1, sizeof(*v->slowest));
	if (!v->requests || !v->order || !v->slowest)
		return -ENOMEM;
	for (uint32_t r = 0; r < c->nrequests && !rc; r++) {
		uint64_t *slot;
		bool fresh;

		v->requests[r].endpoint = CONTEXT_NONE;
		if (!request_passes(x, r))
			continue;
		slot = idmap_put(&by_name, c->requests[r].endpoint, v->nendpoints, &fresh);
		if (!slot) {
			rc = -ENOMEM;
			break;
		}
		v->nendpoints += fresh;
		v->requests[r].endpoint = (uint32_t)*slot;
		v->order[v->n++] = r;
	}
	v->endpoints = calloc((size_t)v->nendpoints + 1, sizeof(*v->endpoints));
	for (uint32_t i = 0; i < v->n && v->endpoints; i++)
		v->endpoints[v->requests[v->order[i]].endpoint].name =
			c->requests[v->order[i]].endpoint;
	idmap_free(&by_name);
	return v->endpoints ? rc : -ENOMEM;
}

/* ---- what they did ---- */

/* "STATE_PARKED_TIMED" is "parked": with or without a limit is the same wait. */
static void state_word(struct buffer *b)
{
	size_t skip = b->len > 6 && !strncmp((char *)b->data, "STATE_", 6) ? 6 : 0;
	char *s = (char *)b->data + skip, *timed;

	for (char *p = s; *p; p++)
		*p = (char)(*p >= 'A' && *p <= 'Z' ? *p - 'A' + 'a' : *p == '_' ? ' ' : *p);
	timed = strstr(s, " timed");
	if (timed)
		*timed = 0;
	memmove(b->data, s, strlen(s) + 1);
}

static enum did did_of(const char *word)
{
	if (!strcmp(word, "queued"))
		return DID_QUEUE;
	if (!strncmp(word, "blocked", 7))
		return DID_BLOCK;
	return !strcmp(word, "runnable") || !strcmp(word, "default") ? DID_RUN : DID_WAIT;
}

static uint32_t name_of(struct reading *x, const char *text)
{
	return names_add(&x->v->names, text, strlen(text), NULL);
}

static bool state_of(struct reading *x, const struct jfr_sample *s, enum did *did, uint32_t *cause)
{
	bool fresh;
	uint64_t *slot = idmap_put(&x->states, (uint64_t)s->state.i, 0, &fresh);

	if (!slot)
		return false;
	if (fresh) {
		buffer_clear(&x->text);
		jfr_value_string(x->r, &s->state, &x->text);
		utf8_clean((char *)x->text.data, x->text.len, false);
		buffer_byte(&x->text, 0);
		if (x->text.failed)
			return false;
		state_word(&x->text);
		*slot = name_of(x, (char *)x->text.data) | (uint64_t)did_of((char *)x->text.data)
								   << 32;
	}
	*did = (enum did)(*slot >> 32);
	*cause = (uint32_t)*slot;
	return *cause != NAME_NONE;
}

/* Its name; CONTEXT_NONE: it is not wanted. */
static uint32_t thread_of(struct reading *x, const struct jfr_sample *s)
{
	struct jfr_thread t;
	uint64_t *slot;
	bool fresh;

	slot = idmap_put(&x->threads, (uint64_t)s->thread.i, CONTEXT_NONE, &fresh);
	if (!slot)
		return CONTEXT_NONE;
	if (!fresh)
		return (uint32_t)*slot;
	buffer_clear(&x->text);
	if (jfr_thread_get(x->r, &s->thread, &t))
		jfr_thread_name(x->r, &t, &x->text);
	utf8_clean((char *)x->text.data, x->text.len, false);
	buffer_byte(&x->text, 0);
	if (!x->text.failed &&
	    (!x->opt->threads.n || pattern_match(&x->opt->threads, (char *)x->text.data)))
		*slot = name_of(x, (char *)x->text.data);
	return (uint32_t)*slot;
}

/* An interval of the sample's source as the recording has said so far: gnomon says it before. */
static uint64_t interval_of(const struct reading *x, const struct jfr_sample *s)
{
	uint64_t ns = s->period_ns ? s->period_ns : jfr_sampler_period(x->s, s->source);

	if (ns)
		return ns;
	return s->source == JFR_SOURCE_WALL ? USUAL_WALL_NS : USUAL_CPU_NS;
}

/* A file may hold any number: one that is of no use becomes a large one. */
static uint64_t whole(double v)
{
	return v < 0x1p48 ? (uint64_t)(v + .5) : 1ull << 48;
}

/* How many of its ticks are of the time wanted. */
static uint64_t ticks_then(const struct reading *x, const struct jfr_sample *s)
{
	int64_t at;

	if (__builtin_sub_overflow(s->time_ns, x->of->start_ns, &at))
		return 0;
	return stretch_ticks(x->of, &at, s->step_ns, s->ticks);
}

/* A sample, or the part of one that has one cause; NULL: that is not known. */
static int sample_count(struct reading *x, uint32_t request, const struct jfr_sample *s,
			const char *named)
{
	struct served *v = x->v;
	struct served_request *r = &v->requests[request];
	uint64_t ticks = ticks_then(x, s);
	uint64_t ns = whole((double)ticks * (double)interval_of(x, s) * s->scale);
	enum did did = DID_RUN;
	uint32_t cause = 0;

	if (!ticks)
		return 0;
	if (s->source == JFR_SOURCE_WALL) {
		v->wall_ns = interval_of(x, s);
		if (!state_of(x, s, &did, &cause))
			return -ENOMEM;
		if (named)
			cause = name_of(x, named);
	}
	v->samples += ticks;
	r->ns[did] += ns;
	v->endpoints[r->endpoint].ns[did] += ns;
	if (did == DID_RUN || (did == DID_QUEUE && !named))
		return 0;
	return cause == NAME_NONE ? -ENOMEM : sums_add(&x->causes, request, cause, did, ns);
}

static int thread_count(struct reading *x, uint32_t request, uint32_t thread)
{
	struct served_request *r = &x->v->requests[request];
	bool fresh;

	if (!idmap_put(&x->worked, (uint64_t)request << 32 | thread, 1, &fresh))
		return -ENOMEM;
	if (fresh && !r->nthreads++)
		r->thread = thread;
	return 0;
}

static int sample_take(struct reading *x, const struct jfr_event *ev, const struct jfr_sample *s)
{
	struct served *v = x->v;
	uint32_t c = contexts_of(v->contexts, ev->chunk, s), request, thread;
	struct jfr_sample rest = *s, part;
	uint64_t tick = TICK_NONE, at;
	struct waited w;
	uint64_t ticks = ticks_then(x, s);
	int rc;

	if (!ticks)
		return 0;
	thread = c == CONTEXT_NONE ? CONTEXT_NONE : thread_of(x, s);
	if (thread == CONTEXT_NONE)
		return 0;
	request = v->contexts->contexts[c].request;
	if (request == CONTEXT_NONE)
		v->nameless += ticks;
	if (request == CONTEXT_NONE || v->requests[request].endpoint == CONTEXT_NONE)
		return 0;
	rc = thread_count(x, request, thread);
	if (s->source != JFR_SOURCE_WALL)
		return rc ? rc : sample_count(x, request, s, NULL);
	if (waits_tick(x->waits, ev->chunk, s->time_ns, &at))
		tick = at;
	while (!rc && waits_next(x->waits, ev->chunk, &rest, &tick, &part, &w))
		rc = sample_count(x, request, &part, w.cause);
	return rc;
}

static int samples_take(struct reading *x)
{
	struct jfr_sample s;
	struct jfr_event ev;
	int rc;

	while ((rc = jfr_sampler_next(x->s, &ev, &s)) > 0) {
		if (ev.chunk != x->chunk) {
			x->chunk = ev.chunk;
			idmap_clear(&x->states);
			idmap_clear(&x->threads);
		}
		rc = s.ticks ? sample_take(x, &ev, &s) : 0;
		if (rc)
			return rc;
	}
	return rc;
}

static int samples_read(struct reading *x, const struct stretch *s, struct error *e)
{
	int rc = stretch_reader(s, &x->r, e);

	if (rc)
		return rc;
	x->s = jfr_sampler_new(x->r, true);
	rc = x->s ? samples_take(x) : -ENOMEM;
	jfr_sampler_free(x->s);
	jfr_reader_close(x->r);
	return rc ? error_set(e, rc, rc == -ENOMEM ? EXIT_INTERNAL : EXIT_INPUT,
			      "cannot read '%s': %s", s->path, strerror(-rc))
		  : 0;
}

/* ---- order ---- */

static int by_endpoint_and_wall(const void *a, const void *b, void *arg)
{
	const struct served *v = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	uint32_t p = v->requests[x].endpoint, q = v->requests[y].endpoint;
	uint64_t s = served_wall(v, x), t = served_wall(v, y);

	if (p != q)
		return p < q ? -1 : 1;
	return s != t ? (s < t ? -1 : 1) : (x > y) - (x < y);
}

static int slowest_first(const void *a, const void *b, void *arg)
{
	const struct served *v = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	uint64_t s = served_wall(v, x), t = served_wall(v, y);

	return s != t ? (s > t ? -1 : 1) : (x > y) - (x < y);
}

static int most_time_first(const void *a, const void *b)
{
	uint64_t x = did_all(((const struct served_endpoint *)a)->ns);
	uint64_t y = did_all(((const struct served_endpoint *)b)->ns);

	return (x < y) - (x > y);
}

/* The causes of each request, and their sums by endpoint. */
static int causes_share(struct reading *x)
{
	struct served *v = x->v;
	struct sums all = {0};
	uint32_t n = (uint32_t)x->causes.n;
	int rc = 0;

	v->causes = sums_take(&x->causes);
	for (uint32_t i = n; i-- > 0 && !rc;) {
		const struct served_cause *c = &v->causes[i];
		struct served_request *r = &v->requests[c->of];

		r->causes = i;
		r->ncauses++;
		rc = sums_add(&all, r->endpoint, c->name, c->did, c->ns);
	}
	n = (uint32_t)all.n;
	v->endpoint_causes = sums_take(&all);
	for (uint32_t i = n; i-- > 0;) {
		struct served_endpoint *p = &v->endpoints[v->endpoint_causes[i].of];

		p->causes = i;
		p->ncauses++;
	}
	return rc;
}

static void requests_sort(struct served *v)
{
	if (!v->n)
		return;
	memcpy(v->slowest, v->order, v->n * sizeof(*v->slowest));
	qsort_r(v->slowest, v->n, sizeof(*v->slowest), slowest_first, v);
	qsort_r(v->order, v->n, sizeof(*v->order), by_endpoint_and_wall, v);
	for (uint32_t i = v->n; i-- > 0;) {
		struct served_endpoint *e = &v->endpoints[v->requests[v->order[i]].endpoint];

		e->first = i;
		e->n++;
	}
	qsort(v->endpoints, v->nendpoints, sizeof(*v->endpoints), most_time_first);
	/* their numbers are those of their places now */
	for (uint32_t i = 0; i < v->nendpoints; i++)
		for (uint32_t k = 0; k < v->endpoints[i].n; k++)
			v->requests[v->order[v->endpoints[i].first + k]].endpoint = i;
}

uint64_t served_wall(const struct served *v, uint32_t request)
{
	return request_ns(&v->contexts->requests[request]) + v->wall_ns;
}

uint64_t served_percentile(const struct served *v, const struct served_endpoint *e,
			   unsigned int percent)
{
	uint64_t k = ((uint64_t)e->n * percent + 99) / 100;

	return served_wall(v, v->order[e->first + (k ? k - 1 : 0)]);
}

/* ---- reading ---- */

static void reading_end(struct reading *x)
{
	waits_free(x->waits);
	idmap_free(&x->states);
	idmap_free(&x->threads);
	idmap_free(&x->worked);
	idmap_free(&x->causes.index);
	free(x->causes.v);
	buffer_free(&x->text);
}

static int all_read(struct reading *x, const struct stretch *s, struct error *e)
{
	int rc = contexts_read(&x->v->contexts, s, &x->opt->rules, e);

	if (!rc && !x->v->contexts->ncontexts)
		rc = contexts_missing(s, &x->opt->rules, e);
	if (!rc)
		rc = waits_read(&x->waits, s, e);
	if (!rc && endpoints_make(x))
		rc = error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory reading '%s'", s->path);
	if (!rc)
		rc = samples_read(x, s, e);
	if (!rc && causes_share(x))
		rc = error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory reading '%s'", s->path);
	if (!rc)
		requests_sort(x->v);
	return rc;
}

int served_read(struct served **out, const struct stretch *s, const struct served_options *o,
		struct error *e)
{
	struct reading x = {.opt = o, .of = s, .v = calloc(1, sizeof(*x.v))};
	int rc;

	if (!x.v)
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory reading '%s'", s->path);
	rc = all_read(&x, s, e);
	reading_end(&x);
	if (rc)
		served_free(x.v);
	else
		*out = x.v;
	return rc;
}

void served_free(struct served *v)
{
	if (!v)
		return;
	contexts_free(v->contexts);
	names_free(&v->names);
	free(v->requests);
	free(v->endpoints);
	free(v->order);
	free(v->slowest);
	free(v->causes);
	free(v->endpoint_causes);
	free(v);
}
