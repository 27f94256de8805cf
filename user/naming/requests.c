// SPDX-License-Identifier: Apache-2.0
#include "naming/requests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "base/utf8.h"
#include "context/process.h"
#include "context/record.h"
#include "naming/publisher.h"

/* More than the kernel side knows of: what it takes for told is here. */
#define CONTENTS_MAX 65536
#define NOTES_MAX    65536
#define WORKERS_MAX  65536 /* threads, of which virtual ones may be many */
#define ROOT_KEY     "local_root_span_id"

struct content {
	uint64_t id;
	UT_hash_handle hh;
	struct ctx_record of; /* cut behind its last attribute */
};

/* A thread that has worked for a request. */
struct worker {
	uint32_t thread;
	uint64_t until_ns; /* its samples up to then are written */
	UT_hash_handle hh;
};

struct requests {
	struct publisher *publisher;
	struct content *contents; /* the one that was met last is the last one */
	struct worker *workers;
	struct request_note *notes;
	size_t nnotes, notes_cap;
};

struct requests *requests_new(struct publisher *p)
{
	struct requests *r = calloc(1, sizeof(*r));

	if (r)
		r->publisher = p;
	return r;
}

static void workers_drop(struct requests *r)
{
	struct worker *w, *tmp;

	HASH_ITER(hh, r->workers, w, tmp) {
		HASH_DEL(r->workers, w);
		free(w);
	}
}

void requests_forget_ids(struct requests *r)
{
	workers_drop(r);
	r->nnotes = 0;
}

void requests_free(struct requests *r)
{
	struct content *c, *tmp;

	if (!r)
		return;
	requests_forget_ids(r);
	HASH_ITER(hh, r->contents, c, tmp) {
		HASH_DEL(r->contents, c);
		free(c);
	}
	free(r->notes);
	free(r);
}

/* ---- contents ---- */

static struct content *content_find(const struct requests *r, uint64_t id)
{
	struct content *c;

	HASH_FIND(hh, r->contents, &id, sizeof(id), c);
	return c;
}

bool requests_has(const struct requests *r, uint64_t context)
{
	return content_find(r, context);
}

static void content_touch(struct requests *r, uint64_t id)
{
	struct content *c = content_find(r, id);

	if (!c)
		return;
	HASH_DEL(r->contents, c);
	HASH_ADD(hh, r->contents, id, sizeof(c->id), c);
}

void requests_add(struct requests *r, const struct gn_context_rec *rec)
{
	uint32_t attrs = rec->of.attrs_len < CTX_ATTRS_MAX ? rec->of.attrs_len : CTX_ATTRS_MAX;
	struct content *c;

	if (content_find(r, rec->id) || rec->h.size < gn_context_size(attrs))
		return;
	if (HASH_COUNT(r->contents) >= CONTENTS_MAX) {
		c = r->contents;
		HASH_DEL(r->contents, c);
		free(c);
	}
	c = calloc(1, sizeof(*c) - CTX_ATTRS_MAX + attrs);
	if (!c)
		return;
	memcpy(&c->of, &rec->of, sizeof(c->of) - CTX_ATTRS_MAX + attrs);
	c->of.attrs_len = (uint16_t)attrs;
	c->id = rec->id;
	HASH_ADD(hh, r->contents, id, sizeof(c->id), c);
}

/* ---- contexts in words ---- */

/* Everything that a record may say, as it is written. */
struct words {
	char trace[33], span[17], root[33];
	char endpoint[256], operation[256]; /* an attribute has 255 bytes at most */
	char others[4 * CTX_ATTRS_MAX];	    /* a key's name may be longer than its value */
	size_t nothers;
};

static void hex_print(char *to, const uint8_t *bytes, size_t n)
{
	bool zero = true;

	for (size_t i = 0; i < n; i++) {
		snprintf(to + 2 * i, 3, "%02x", bytes[i]);
		zero &= !bytes[i];
	}
	if (zero)
		*to = 0;
}

static void text_copy(char *to, size_t size, const void *from, size_t len)
{
	snprintf(to, size, "%.*s", (int)len, (const char *)from);
	utf8_clean(to, strlen(to), false);
}

static void other_add(struct words *w, const char *key, const struct ctx_entry *e)
{
	size_t room = sizeof(w->others) - w->nothers;
	int n = snprintf(w->others + w->nothers, room, "%s%s=%.*s", w->nothers ? ", " : "", key,
			 (int)e->len, (const char *)e->value);

	if (n > 0)
		w->nothers += (size_t)n < room ? (size_t)n : room - 1;
}

static bool is_one_of(const char *name, const char *const *list)
{
	for (; *list; list++)
		if (!strcmp(name, *list))
			return true;
	return false;
}

static bool ends_with(const char *s, const char *ending)
{
	size_t n = strlen(s), m = strlen(ending);

	return n >= m && !strcmp(s + n - m, ending);
}

static void attribute_take(struct requests *r, struct words *w, const struct ctx_entry *e)
{
	static const char *const endpoints[] = {"gnomon.endpoint", "http.route", NULL};
	static const char *const operations[] = {"gnomon.operation", "_dd.trace.operation", NULL};
	struct ctx_text key;
	char name[128];

	if (publisher_key(r->publisher, e->key, &key))
		text_copy(name, sizeof(name), key.p, key.len);
	else
		snprintf(name, sizeof(name), "key%u", e->key);
	if (ends_with(name, ROOT_KEY))
		text_copy(w->root, sizeof(w->root), e->value, e->len);
	else if (is_one_of(name, endpoints))
		text_copy(w->endpoint, sizeof(w->endpoint), e->value, e->len);
	else if (is_one_of(name, operations))
		text_copy(w->operation, sizeof(w->operation), e->value, e->len);
	else
		other_add(w, name, e);
}

static void content_words(struct requests *r, const struct ctx_record *of, struct words *w)
{
	struct ctx_entry e;

	hex_print(w->trace, of->head.trace_id, sizeof(of->head.trace_id));
	hex_print(w->span, of->head.span_id, sizeof(of->head.span_id));
	*w->root = *w->endpoint = *w->operation = *w->others = 0;
	w->nothers = 0;
	if (of->format == CTX_FORMAT_ELASTIC && of->attrs_len == 8)
		hex_print(w->root, of->attrs, 8);
	for (uint32_t at = 0; ctx_record_next(of, &at, &e);)
		attribute_take(r, w, &e);
	utf8_clean(w->others, strlen(w->others), false);
	/* who tells of it does not where it is the span itself */
	if (!*w->root && publisher_has_key(r->publisher, ROOT_KEY))
		memcpy(w->root, w->span, sizeof(w->span));
}

/* ---- events ---- */

static const char *given(const char *s)
{
	return *s ? s : NULL;
}

static void event_write(struct requests *r, const struct request_note *n, struct jfrw *out)
{
	const struct content *c = n->context ? content_find(r, n->context) : NULL;
	struct jfr_context e = {
		.duration_ns = n->last_ns - n->first_ns,
		.thread = n->thread,
		.samples = n->samples,
		.attributes = n->context ? "what it is was lost" : NULL,
	};
	struct words w;

	if (c) {
		content_words(r, &c->of, &w);
		e.trace = given(w.trace);
		e.span = given(w.span);
		e.root = given(w.root);
		e.endpoint = jfrw_name(out, JFR_WORD, given(w.endpoint));
		e.operation = jfrw_name(out, JFR_WORD, given(w.operation));
		e.attributes = given(w.others);
	}
	jfrw_context(out, n->first_ns, &e);
}

/* The worker, made where the thread works for a request for the first time. */
static struct worker *worker_get(struct requests *r, uint32_t thread, bool make)
{
	struct worker *w;

	HASH_FIND(hh, r->workers, &thread, sizeof(thread), w);
	if (w || !make)
		return w;
	if (HASH_COUNT(r->workers) >= WORKERS_MAX)
		workers_drop(r);
	w = calloc(1, sizeof(*w));
	if (!w)
		return NULL;
	w->thread = thread;
	HASH_ADD(hh, r->workers, thread, sizeof(w->thread), w);
	return w;
}

static bool notes_work(const struct request_note *n, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (n[i].context)
			return true;
	return false;
}

/* All notes of one thread, by time. */
static void thread_write(struct requests *r, struct request_note *n, size_t count, struct jfrw *out)
{
	struct worker *w = worker_get(r, n->thread, notes_work(n, count));
	size_t i = 0;

	if (!w)
		return;
	for (; i < count && n[i].first_ns < w->until_ns; i++) /* too late for its stretch */
		event_write(r, &n[i], out);
	while (i < count) {
		struct request_note run = n[i++];

		while (i < count && n[i].context == run.context) {
			run.last_ns = n[i].last_ns;
			run.samples += n[i++].samples;
		}
		if (run.context)
			event_write(r, &run, out);
		w->until_ns = run.last_ns;
	}
}

static int by_thread_and_time(const void *a, const void *b)
{
	const struct request_note *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->first_ns != y->first_ns)
		return x->first_ns < y->first_ns ? -1 : 1;
	return (x->context > y->context) - (x->context < y->context);
}

void requests_write(struct requests *r, struct jfrw *out)
{
	struct request_note *n = r->notes;
	size_t left = r->nnotes, same;

	if (left)
		qsort(n, left, sizeof(*n), by_thread_and_time);
	for (; left; n += same, left -= same) {
		for (same = 1; same < left && n[same].thread == n->thread; same++)
			;
		thread_write(r, n, same, out);
	}
	r->nnotes = 0;
}

/* False: there is no room for more. */
static bool note_add(struct requests *r, const struct request_note *note)
{
	if (r->nnotes == r->notes_cap) {
		size_t cap = r->notes_cap ? 2 * r->notes_cap : 256;
		struct request_note *v;

		if (cap > NOTES_MAX)
			return false;
		v = reallocarray(r->notes, cap, sizeof(*v));
		if (!v)
			return false;
		r->notes = v;
		r->notes_cap = cap;
	}
	r->notes[r->nnotes++] = *note;
	return true;
}

void requests_note(struct requests *r, const struct request_note *note, struct jfrw *out)
{
	if (!note->context && !r->workers && !r->nnotes && !publisher_is_there(r->publisher))
		return;
	content_touch(r, note->context);
	if (note_add(r, note))
		return;
	requests_write(r, out);
	if (!note_add(r, note))
		event_write(r, note, out);
}
