// SPDX-License-Identifier: Apache-2.0
#include "out/requests.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/idmap.h"
#include "base/utf8.h"
#include "out/format.h"
#include "out/waits.h"

#define CAUSES_MAX    512 /* names of what endpoints wait for: what is beyond is "other" */
#define CAUSES_TOLD   3
#define USUAL_CPU_NS  20000000 /* where a recording does not say: the JDK's */
#define USUAL_WALL_NS 50000000 /* async-profiler's */

enum what { RUNNING, QUEUED, BLOCKED, WAITING, WHATS };

/* What a request, or all of an endpoint, did. */
struct did {
	uint64_t ns[WHATS];
};

struct endpoint {
	uint32_t name;
	uint32_t first, n; /* its requests, in `order` */
	struct did did;
	uint64_t causes[CAUSES_MAX]; /* time by cause */
};

struct view {
	const struct requests_options *opt;
	struct contexts *contexts;
	struct waits *waits;
	struct did *did;       /* by request */
	uint32_t *endpoint_of; /* by request: its number; CONTEXT_NONE: it is left out */
	uint32_t *order;       /* requests that are told, by endpoint and wall time */
	uint32_t norder;
	struct endpoint *endpoints;
	uint32_t nendpoints;
	struct names causes;
	uint64_t samples, nameless; /* of requests that are told; with a context without ids */
	uint64_t wall_ns;	    /* the interval */
};

/* ---- which requests ---- */

static bool request_passes(const struct view *v, uint32_t r)
{
	const struct context_filter *f = &v->opt->filter;
	const struct contexts *x = v->contexts;
	const struct request *q = &x->requests[r];

	return (!f->endpoints.n ||
		pattern_match(&f->endpoints, names_get(&x->names, q->endpoint))) &&
	       (!f->traces.n || pattern_match(&f->traces, names_get(&x->names, q->trace))) &&
	       (!f->spans.n || pattern_match(&f->spans, names_get(&x->names, q->root))) &&
	       request_ns(q) >= f->slower_ns;
}

/* Gives each request that is told its endpoint. */
static int endpoints_make(struct view *v)
{
	const struct contexts *x = v->contexts;
	struct idmap by_name = {0};
	int rc = 0;

	v->did = calloc((size_t)x->nrequests + 1, sizeof(*v->did));
	v->order = calloc((size_t)x->nrequests + 1, sizeof(*v->order));
	v->endpoint_of = calloc((size_t)x->nrequests + 1, sizeof(*v->endpoint_of));
	if (!v->did || !v->order || !v->endpoint_of)
		return -ENOMEM;
	for (uint32_t r = 0; r < x->nrequests && !rc; r++) {
		uint64_t *slot;
		bool fresh;

		v->endpoint_of[r] = CONTEXT_NONE;
		if (!request_passes(v, r))
			continue;
		slot = idmap_put(&by_name, x->requests[r].endpoint, v->nendpoints, &fresh);
		if (!slot) {
			rc = -ENOMEM;
			break;
		}
		v->nendpoints += fresh;
		v->endpoint_of[r] = (uint32_t)*slot;
		v->order[v->norder++] = r;
	}
	v->endpoints = calloc((size_t)v->nendpoints + 1, sizeof(*v->endpoints));
	for (uint32_t i = 0; i < v->norder && v->endpoints; i++)
		v->endpoints[v->endpoint_of[v->order[i]]].name = x->requests[v->order[i]].endpoint;
	idmap_free(&by_name);
	return v->endpoints ? rc : -ENOMEM;
}

/* ---- what they did ---- */

struct reading {
	struct view *view;
	struct jfr_reader *r;
	struct jfr_sampler *s;
	struct buffer text;
	uint64_t chunk;
	struct idmap states;  /* of this chunk: number of the cause that it is, and what << 32 */
	struct idmap threads; /* of this chunk: whether it is wanted */
};

static uint32_t cause_number(struct view *v, const char *name)
{
	uint32_t n = names_add(&v->causes, name, strlen(name), NULL);

	return n < CAUSES_MAX - 1 ? n : CAUSES_MAX - 1;
}

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

static enum what what_of(const char *word)
{
	if (!strcmp(word, "queued"))
		return QUEUED;
	if (!strncmp(word, "blocked", 7))
		return BLOCKED;
	return !strcmp(word, "runnable") || !strcmp(word, "default") ? RUNNING : WAITING;
}

static bool state_of(struct reading *x, const struct jfr_sample *s, enum what *what,
		     uint32_t *cause)
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
		*slot = cause_number(x->view, (char *)x->text.data) |
			(uint64_t)what_of((char *)x->text.data) << 32;
	}
	*what = (enum what)(*slot >> 32);
	*cause = (uint32_t)*slot;
	return true;
}

static bool thread_wanted(struct reading *x, const struct jfr_sample *s)
{
	struct jfr_thread t;
	uint64_t *slot;
	bool fresh;

	if (!x->view->opt->threads.n)
		return true;
	slot = idmap_put(&x->threads, (uint64_t)s->thread.i, 0, &fresh);
	if (!slot)
		return false;
	if (fresh && jfr_thread_get(x->r, &s->thread, &t)) {
		buffer_clear(&x->text);
		if (!jfr_value_string(x->r, &t.java_name, &x->text))
			jfr_value_string(x->r, &t.os_name, &x->text);
		buffer_byte(&x->text, 0);
		*slot = !x->text.failed &&
			pattern_match(&x->view->opt->threads, (char *)x->text.data);
	}
	return *slot;
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

/* A sample, or the part of one that has one cause. */
static int sample_count(struct reading *x, uint32_t request, const struct jfr_sample *s,
			const char *named)
{
	struct view *v = x->view;
	struct endpoint *e = &v->endpoints[v->endpoint_of[request]];
	uint64_t ns = whole((double)s->ticks * (double)interval_of(x, s) * s->scale);
	enum what what = RUNNING;
	uint32_t cause = 0;

	if (s->source == JFR_SOURCE_WALL) {
		v->wall_ns = interval_of(x, s);
		if (!state_of(x, s, &what, &cause))
			return -ENOMEM;
		if (named && what == WAITING)
			cause = cause_number(v, named);
	}
	v->samples += s->ticks;
	v->did[request].ns[what] += ns;
	e->did.ns[what] += ns;
	if (what == WAITING)
		e->causes[cause] += ns;
	return 0;
}

static int sample_take(struct reading *x, const struct jfr_event *ev, const struct jfr_sample *s)
{
	struct view *v = x->view;
	uint32_t c = contexts_of(v->contexts, ev->chunk, s), request;
	struct jfr_sample rest = *s, part;
	uint64_t tick = TICK_NONE, at;
	struct waited w;
	int rc = 0;

	if (c == CONTEXT_NONE || !thread_wanted(x, s))
		return 0;
	request = v->contexts->contexts[c].request;
	if (request == CONTEXT_NONE)
		v->nameless += s->ticks;
	if (request == CONTEXT_NONE || v->endpoint_of[request] == CONTEXT_NONE)
		return 0;
	if (s->source != JFR_SOURCE_WALL)
		return sample_count(x, request, s, NULL);
	if (waits_tick(v->waits, ev->chunk, s->time_ns, &at))
		tick = at;
	while (!rc && waits_next(v->waits, ev->chunk, &rest, &tick, &part, &w))
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

static int samples_read(struct view *v, const struct stretch *s, struct error *e)
{
	struct reading x = {.view = v};
	int rc = stretch_reader(s, &x.r, e);

	if (rc)
		return rc;
	x.s = jfr_sampler_new(x.r, true);
	rc = x.s ? samples_take(&x) : -ENOMEM;
	jfr_sampler_free(x.s);
	jfr_reader_close(x.r);
	idmap_free(&x.states);
	idmap_free(&x.threads);
	buffer_free(&x.text);
	return rc ? error_set(e, rc, rc == -ENOMEM ? EXIT_INTERNAL : EXIT_INPUT,
			      "cannot read '%s': %s", s->path, strerror(-rc))
		  : 0;
}

/* ---- order ---- */

static uint64_t did_all(const struct did *d)
{
	return d->ns[RUNNING] + d->ns[QUEUED] + d->ns[BLOCKED] + d->ns[WAITING];
}

static int by_endpoint_and_wall(const void *a, const void *b, void *arg)
{
	const struct view *v = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct request *p = &v->contexts->requests[x], *q = &v->contexts->requests[y];

	if (v->endpoint_of[x] != v->endpoint_of[y])
		return v->endpoint_of[x] < v->endpoint_of[y] ? -1 : 1;
	if (request_ns(p) != request_ns(q))
		return request_ns(p) < request_ns(q) ? -1 : 1;
	return (x > y) - (x < y);
}

static int slowest_first(const void *a, const void *b, void *arg)
{
	const struct view *v = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct request *p = &v->contexts->requests[x], *q = &v->contexts->requests[y];

	if (request_ns(p) != request_ns(q))
		return request_ns(p) > request_ns(q) ? -1 : 1;
	return (x > y) - (x < y);
}

static int most_time_first(const void *a, const void *b)
{
	uint64_t x = did_all(&((const struct endpoint *)a)->did);
	uint64_t y = did_all(&((const struct endpoint *)b)->did);

	return (x < y) - (x > y);
}

static void endpoints_sort(struct view *v)
{
	if (v->norder)
		qsort_r(v->order, v->norder, sizeof(*v->order), by_endpoint_and_wall, v);
	for (uint32_t i = v->norder; i-- > 0;) {
		struct endpoint *e = &v->endpoints[v->endpoint_of[v->order[i]]];

		e->first = i;
		e->n++;
	}
	if (v->nendpoints)
		qsort(v->endpoints, v->nendpoints, sizeof(*v->endpoints), most_time_first);
}

/* The wall time below which so many percent of the endpoint's requests are; with one interval, in
 * which it began before its first sample and ended behind its last one. */
static uint64_t percentile(const struct view *v, const struct endpoint *e, unsigned int percent)
{
	uint64_t k = ((uint64_t)e->n * percent + 99) / 100;

	return request_ns(&v->contexts->requests[v->order[e->first + (k ? k - 1 : 0)]]) +
	       v->wall_ns;
}

/* ---- in words ---- */

static const char *name_or(const struct names *t, uint32_t name, const char *other)
{
	const char *s = names_get(t, name);

	return *s ? s : other;
}

static void causes_print(const struct view *v, const struct endpoint *e, FILE *out)
{
	uint64_t all = did_all(&e->did), left = e->did.ns[WAITING];
	bool told[CAUSES_MAX] = {false};

	for (int k = 0; k < CAUSES_TOLD && left; k++) {
		struct text32 share;
		uint32_t most = 0;

		for (uint32_t i = 1; i < CAUSES_MAX; i++)
			if (!told[i] && (told[most] || e->causes[i] > e->causes[most]))
				most = i;
		if (told[most] || !e->causes[most])
			return;
		told[most] = true;
		left -= e->causes[most];
		share = format_share(e->causes[most], all);
		fprintf(out, "%s%s %s", k ? ", " : "  ",
			most == CAUSES_MAX - 1 ? "other" : names_get(&v->causes, most),
			share.s + strspn(share.s, " "));
	}
}

static void shares_print(const struct did *d, FILE *out)
{
	uint64_t all = did_all(d);

	for (int i = 0; i < WHATS; i++)
		fprintf(out, " %8s", format_share(d->ns[i], all).s);
}

static void endpoints_print(const struct view *v, FILE *out)
{
	fprintf(out, "\n%8s %9s %9s %9s %9s %8s %8s %8s %8s  %s\n", "REQUESTS", "P50", "P95", "P99",
		"CPU", "RUNNING", "QUEUED", "BLOCKED", "WAITING", "ENDPOINT, WHAT IT WAITS FOR");
	for (uint32_t i = 0; i < v->nendpoints; i++) {
		const struct endpoint *e = &v->endpoints[i];

		fprintf(out, "%8s %9s %9s %9s %9s", format_count(e->n).s,
			format_ns(percentile(v, e, 50)).s, format_ns(percentile(v, e, 95)).s,
			format_ns(percentile(v, e, 99)).s, format_ns(e->did.ns[RUNNING]).s);
		shares_print(&e->did, out);
		fprintf(out, "  %s", name_or(&v->contexts->names, e->name, "(no name)"));
		causes_print(v, e, out);
		putc('\n', out);
	}
}

static void clock_print(int64_t ns, char to[32])
{
	time_t seconds = (time_t)(ns / 1000000000);
	struct tm tm = {0};
	size_t n;

	localtime_r(&seconds, &tm);
	n = strftime(to, 24, "%H:%M:%S", &tm);
	snprintf(to + n, 32 - n, ".%03d", (int)(ns % 1000000000 / 1000000));
}

static void slowest_print(struct view *v, FILE *out)
{
	const struct contexts *x = v->contexts;
	uint32_t n = v->opt->slowest < v->norder ? v->opt->slowest : v->norder;

	if (!n)
		return;
	qsort_r(v->order, v->norder, sizeof(*v->order), slowest_first, v);
	fprintf(out, "\nThe slowest:\n%9s %12s %8s %8s %8s %8s  %-32s %-16s  %s\n", "WALL", "BEGAN",
		"RUNNING", "QUEUED", "BLOCKED", "WAITING", "TRACE", "LOCAL ROOT SPAN", "ENDPOINT");
	for (uint32_t i = 0; i < n; i++) {
		const struct request *r = &x->requests[v->order[i]];
		char began[32];

		clock_print(r->from_ns, began);
		fprintf(out, "%9s %12s", format_ns(request_ns(r) + v->wall_ns).s, began);
		shares_print(&v->did[v->order[i]], out);
		fprintf(out, "  %-32s %-16s  %s\n", name_or(&x->names, r->trace, "-"),
			name_or(&x->names, r->root, "-"),
			name_or(&x->names, r->endpoint, "(no name)"));
	}
}

static void view_print(struct view *v, FILE *out)
{
	fprintf(out, "%s requests to %s endpoints were seen, by %s samples.\n",
		format_count(v->norder).s, format_count(v->nendpoints).s,
		format_count(v->samples).s);
	if (v->wall_ns)
		fprintf(out,
			"Wall times are right to %s; of requests that are shorter, some were not "
			"seen.\n",
			format_ns(v->wall_ns).s);
	if (v->nameless)
		fprintf(out,
			"%s samples have a context without ids: of which request is not known.\n",
			format_count(v->nameless).s);
	if (v->contexts->lost)
		fprintf(out, "Of %s samples the context was lost.\n",
			format_count(v->contexts->lost).s);
	if (!v->norder)
		return;
	endpoints_print(v, out);
	slowest_print(v, out);
}

int requests_print(const struct stretch *s, const struct requests_options *o, FILE *out,
		   struct error *e)
{
	struct view v = {.opt = o};
	int rc = contexts_read(&v.contexts, s, e);

	if (!rc && !v.contexts->ncontexts) {
		rc = error_set(e, -ENODATA, EXIT_INPUT, "'%s' tells of no requests", s->path);
		error_hint(e, "a tracer has to publish them, or gnomon-context.jar: see "
			      "gnomon-requests(1)");
	}
	if (!rc)
		rc = waits_read(&v.waits, s, e);
	if (!rc && endpoints_make(&v))
		rc = error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory reading '%s'", s->path);
	if (!rc)
		rc = samples_read(&v, s, e);
	if (!rc) {
		endpoints_sort(&v);
		view_print(&v, out);
	}
	contexts_free(v.contexts);
	waits_free(v.waits);
	names_free(&v.causes);
	free(v.did);
	free(v.order);
	free(v.endpoint_of);
	free(v.endpoints);
	return rc;
}
