// SPDX-License-Identifier: Apache-2.0
#include "out/entered.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/idmap.h"
#include "base/utf8.h"
#include "jfr/read_sample.h"
#include "out/stackrule.h"
#include "out/stable.h"
#include "out/waits.h"

#define RULES_MAX   15
#define INTERVAL_NS 50000000 /* where a recording does not say, the longest that is usual */
#define GAP	    3	     /* intervals: ticks of two that follow are up to two apart */

#define NOT_BELOW    UINT32_MAX	      /* of no rule's frame */
#define NOT_KNOWN    (UINT32_MAX - 1) /* the stack's outer part, or a method's name, is missing */
#define IN_NO_METHOD UINT32_MAX

/* A bit of a method beside those of two for each rule: gnomon's or our own "[unknown method]". */
#define UNNAMED (1u << 31)

/* A sample, or a batch of them. */
struct seen {
	uint64_t who; /* the same in all chunks */
	uint64_t chunk;
	int64_t thread;
	int64_t from, to;
	uint64_t samples;
	uint32_t endpoint; /* its name, or NOT_BELOW */
	bool weak;	   /* its rule's frame: the callee that names it was not called yet */
};

struct reading {
	struct stackrule rules[RULES_MAX];
	size_t nrules;
	struct jfr_reader *r;
	struct jfr_sampler *s;
	struct names *names;
	struct buffer text;
	uint64_t chunk;
	struct idmap methods; /* of this chunk: its name, and which rules' frame and callee it is */
	struct idmap stacks;  /* of this chunk: endpoint, and weak << 32 */
	struct idmap threads; /* of this chunk */
	struct seen *seen;
	size_t n, cap;
};

/* ---- rules ---- */

static int rules_parse(struct reading *x, const struct pattern_list *rules, struct error *e)
{
	int rc = 0;

	if (rules->n > RULES_MAX)
		return error_set(e, -EINVAL, EXIT_USAGE, "%zu rules for endpoints: %d at most",
				 rules->n, RULES_MAX);
	for (size_t i = 0; i < rules->n && !rc; i++)
		rc = stackrule_parse(&x->rules[x->nrules++], rules->v[i], "endpoints", e);
	return rc;
}

/* Of which rules a method is the frame, and above these of which it is the callee. */
static uint32_t rules_of(const struct reading *x, const char *method)
{
	uint32_t bits = strstr(method, "[un") ? UNNAMED : 0;

	for (size_t i = 0; i < x->nrules; i++) {
		const struct stackrule *r = &x->rules[i];

		bits |= stackrule_fits(r->frame, method) ? 1u << i : 0;
		bits |= r->callee && stackrule_fits(r->callee, method) ? 1u << (i + RULES_MAX) : 0;
	}
	return bits;
}

/* ---- stacks ---- */

/* Its name, and its rules << 32; only those of some rule have a name. False: no memory. */
static bool method_look(struct reading *x, const struct jfr_frame *f, uint64_t *method)
{
	bool fresh, hidden = false;
	uint64_t *slot = idmap_put(&x->methods, (uint64_t)f->method, IN_NO_METHOD, &fresh);
	uint32_t bits, name;

	if (!slot)
		return false;
	if (fresh) {
		buffer_clear(&x->text);
		jfr_method_name(x->r, &f->method_ref, &x->text, &hidden);
		stable_name(&x->text);
		utf8_clean((char *)x->text.data, x->text.len, false);
		buffer_byte(&x->text, 0);
		if (x->text.failed)
			return false;
		bits = hidden ? 0 : rules_of(x, (char *)x->text.data);
		name = IN_NO_METHOD;
		if (bits)
			name = names_add(x->names, x->text.data, x->text.len - 1, NULL);
		if (bits && name == NAME_NONE)
			return false;
		*slot = name | (uint64_t)bits << 32;
	}
	*method = *slot;
	return true;
}

/*
 * Frames come leaf first, the outermost last. What was seen of callees on the way lies below the
 * frame that comes now.
 */
static bool stack_look(struct reading *x, const struct jfr_sample *s, uint64_t *endpoint)
{
	uint32_t callees[RULES_MAX], found = NOT_BELOW;
	bool truncated = false, unnamed = false, weak = false;
	struct jfr_value frames;
	struct jfr_frame f;
	uint64_t m;

	memset(callees, 0xff, sizeof(callees));
	*endpoint = NOT_KNOWN;
	if (s->failed || !jfr_stack_get(x->r, &s->stack, &frames, &truncated) || !frames.n)
		return true;
	while (jfr_stack_next(x->r, &frames, &f)) {
		if (!method_look(x, &f, &m))
			return false;
		unnamed = unnamed || m >> 32 & UNNAMED;
		for (size_t i = 0; m >> 32 && i < x->nrules; i++) {
			bool named = callees[i] != IN_NO_METHOD;

			if (m >> 32 & 1u << i) {
				found = x->rules[i].callee && named ? callees[i] : (uint32_t)m;
				weak = x->rules[i].callee && !named;
			}
			if (m >> 32 & 1u << (i + RULES_MAX))
				callees[i] = (uint32_t)m;
		}
	}
	*endpoint = found | (uint64_t)weak << 32;
	if (found == NOT_BELOW && (truncated || unnamed))
		*endpoint = NOT_KNOWN;
	return true;
}

/* ---- samples ---- */

static uint64_t thread_of(struct reading *x, const struct jfr_sample *s)
{
	bool fresh;
	uint64_t *slot = idmap_put(&x->threads, (uint64_t)s->thread.i, 0, &fresh);

	if (slot && fresh)
		*slot = waits_thread(x->r, &s->thread);
	return slot ? *slot : 0;
}

static int seen_add(struct reading *x, const struct seen *s)
{
	if (x->n == x->cap) {
		size_t cap = x->cap ? 2 * x->cap : 1024;
		struct seen *v = reallocarray(x->seen, cap, sizeof(*v));

		if (!v)
			return -ENOMEM;
		x->seen = v;
		x->cap = cap;
	}
	x->seen[x->n++] = *s;
	return 0;
}

static int sample_take(struct reading *x, const struct jfr_event *ev, const struct jfr_sample *s)
{
	struct seen one = {.chunk = ev->chunk,
			   .thread = s->thread.i,
			   .from = s->time_ns,
			   .to = s->time_ns,
			   .samples = s->ticks};
	uint64_t *slot, look;
	bool fresh;
	int64_t span;

	slot = idmap_put(&x->stacks, (uint64_t)s->stack.i * 2 + s->failed, 0, &fresh);
	if (!slot)
		return -ENOMEM;
	if (fresh) {
		if (!stack_look(x, s, &look))
			return -ENOMEM;
		*slot = look;
	}
	one.endpoint = (uint32_t)*slot;
	one.weak = *slot >> 32;
	one.who = thread_of(x, s);
	if (!one.who)
		return 0;
	if (s->step_ns > 0 && !__builtin_mul_overflow(s->step_ns, (int64_t)(s->ticks - 1), &span) &&
	    __builtin_add_overflow(one.from, span, &one.to))
		one.to = one.from;
	return seen_add(x, &one);
}

static int samples_take(struct reading *x)
{
	struct jfr_sample s;
	struct jfr_event ev;
	int rc;

	while ((rc = jfr_sampler_next(x->s, &ev, &s)) > 0) {
		if (ev.chunk != x->chunk) {
			x->chunk = ev.chunk;
			idmap_clear(&x->methods);
			idmap_clear(&x->stacks);
			idmap_clear(&x->threads);
		}
		rc = s.ticks ? sample_take(x, &ev, &s) : 0;
		if (rc)
			return rc;
	}
	return rc;
}

/* ---- requests ---- */

static int by_thread_and_time(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	if (x->who != y->who)
		return x->who < y->who ? -1 : 1;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->to > y->to) - (x->to < y->to);
}

/* How long a thread may not be seen within one request. */
static int64_t gap_most(const struct reading *x)
{
	uint64_t most = 0;

	for (int i = 0; i < JFR_SOURCES; i++) {
		uint64_t ns = jfr_sampler_period(x->s, (enum jfr_source)i);

		most = ns > most ? ns : most;
	}
	if (!most || most > 3600000000000)
		most = INTERVAL_NS;
	return (int64_t)(GAP * most);
}

/* Whether s, a sample behind those of `last`, belongs to the same request. */
static bool goes_on(const struct seen *last, const struct seen *s, int64_t gap)
{
	int64_t apart;

	if (last->who != s->who || last->endpoint == NOT_BELOW || s->endpoint == NOT_BELOW)
		return false;
	if (last->endpoint != s->endpoint && !last->weak && !s->weak)
		return false;
	return s->from <= last->to ||
	       (!__builtin_sub_overflow(s->from, last->to, &apart) && apart <= gap);
}

/* A stack whose outer part is missing neither ends a request nor is of one, but where it goes on.
 */
static void last_pass(struct seen *last, const struct seen *s, int64_t gap)
{
	struct seen same = *s;

	same.endpoint = last->endpoint;
	same.weak = last->weak;
	if (goes_on(last, &same, gap) && s->to > last->to)
		last->to = s->to;
}

/* `last` is the request so far: its end, and its name once that is known. */
static void last_go_on(struct seen *last, const struct seen *s)
{
	if (s->to > last->to)
		last->to = s->to;
	if (last->weak && !s->weak) {
		last->endpoint = s->endpoint;
		last->weak = false;
	}
}

/* Gives the parts of a request, up to v[n], the name that it has in the end. */
static void request_name(struct entered *v, size_t n, uint32_t request, uint32_t endpoint)
{
	while (n-- > 0 && v[n].request == request)
		v[n].endpoint = endpoint;
}

static size_t requests_make(struct seen *s, size_t nseen, int64_t gap, struct entered *v)
{
	struct seen last = {.endpoint = NOT_BELOW};
	uint32_t request = 0;
	size_t n = 0;

	for (size_t i = 0; i < nseen; i++) {
		bool same = n && goes_on(&last, &s[i], gap);

		if (s[i].endpoint == NOT_KNOWN) {
			last_pass(&last, &s[i], gap);
			continue;
		}
		if (!same && n)
			request_name(v, n, request - 1, v[n - 1].endpoint);
		if (same) {
			last_go_on(&last, &s[i]);
		} else {
			last = s[i];
			request += last.endpoint != NOT_BELOW;
		}
		if (last.endpoint == NOT_BELOW)
			continue;
		if (!same || v[n - 1].chunk != s[i].chunk || v[n - 1].thread != s[i].thread)
			v[n++] = (struct entered){.chunk = s[i].chunk,
						  .thread = s[i].thread,
						  .request = request - 1,
						  .from_ns = s[i].from,
						  .to_ns = s[i].to};
		v[n - 1].endpoint = last.endpoint;
		v[n - 1].samples += s[i].samples;
		if (s[i].to > v[n - 1].to_ns)
			v[n - 1].to_ns = s[i].to;
	}
	if (n)
		request_name(v, n, request - 1, v[n - 1].endpoint);
	return n;
}

static int all_read(struct reading *x, struct entered **v, size_t *n)
{
	int rc;

	x->s = jfr_sampler_new(x->r, true);
	rc = x->s ? samples_take(x) : -ENOMEM;
	if (rc)
		return rc;
	if (x->n)
		qsort(x->seen, x->n, sizeof(*x->seen), by_thread_and_time);
	*v = calloc(x->n + 1, sizeof(**v));
	if (!*v)
		return -ENOMEM;
	*n = requests_make(x->seen, x->n, gap_most(x), *v);
	return 0;
}

int entered_read(struct jfr_reader *r, const struct pattern_list *rules, struct names *names,
		 struct entered **v, size_t *n, struct error *e)
{
	struct reading x = {.r = r, .names = names};
	int rc = rules_parse(&x, rules, e);

	if (!rc) {
		rc = all_read(&x, v, n);
		if (rc)
			error_set(e, rc, rc == -ENOMEM ? EXIT_INTERNAL : EXIT_INPUT,
				  "cannot read the recording: %s", strerror(-rc));
	}
	jfr_sampler_free(x.s);
	for (size_t i = 0; i < x.nrules; i++)
		stackrule_free(&x.rules[i]);
	free(x.seen);
	buffer_free(&x.text);
	idmap_free(&x.methods);
	idmap_free(&x.stacks);
	idmap_free(&x.threads);
	return rc;
}
