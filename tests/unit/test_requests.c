// SPDX-License-Identifier: Apache-2.0
/* Contexts of samples as they come, in any order, and the events that tell of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "jfr/read.h"
#include "naming/publisher.h"
#include "naming/requests.h"

static char path[] = "/tmp/gnomon-requests-XXXXXX";

struct fixture {
	struct publisher *publisher;
	struct requests *requests;
	struct jfrw *out;
};

static void begin(struct fixture *f)
{
	struct jfrw_config cfg = {.path = path, .overwrite = true};
	struct error e = {0};
	int fd;

	strcpy(path + strlen(path) - 6, "XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	f->publisher = publisher_new(getpid());
	f->requests = requests_new(f->publisher);
	assert_int_equal(jfrw_open(&f->out, &cfg, &e), 0);
}

static void end(struct fixture *f)
{
	requests_free(f->requests);
	publisher_free(f->publisher);
	unlink(path);
}

/* One whose ids are `id`, with an attribute of two bytes. */
static struct gn_context_rec context(uint64_t id)
{
	struct gn_context_rec r = {.id = id, .h.size = sizeof(r)};

	r.of.head.valid = 1;
	r.of.head.trace_id[15] = (uint8_t)id;
	r.of.head.span_id[7] = (uint8_t)id;
	r.of.attrs_len = r.of.head.attrs_size = 4;
	memcpy(r.of.attrs, "\x07\x02hi", 4);
	return r;
}

static void add(struct fixture *f, uint64_t id)
{
	struct gn_context_rec r = context(id);

	requests_add(f->requests, &r);
}

static void note(struct fixture *f, uint32_t thread, uint64_t id, uint64_t first, uint64_t last)
{
	const struct request_note n = {
		.context = id, .thread = thread, .samples = 1, .first_ns = first, .last_ns = last};

	requests_note(f->requests, &n, f->out);
}

/* ---- what is in the file ---- */

struct seen {
	int64_t from, to, samples;
	char trace[40], others[64];
};

static void text_of(struct jfr_reader *r, const struct jfr_event *ev, const struct jfr_value *v,
		    const char *name, char *to, size_t size)
{
	struct buffer b = BUFFER_INIT;

	jfr_value_string(r, &v[jfr_class_field(ev->cls, name)], &b);
	buffer_byte(&b, 0);
	snprintf(to, size, "%s", (char *)b.data);
	buffer_free(&b);
}

static int by_time(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	return x->from != y->from ? (x->from > y->from ? 1 : -1)
				  : (x->to > y->to) - (x->to < y->to);
}

static size_t read_all(struct fixture *f, struct seen *s, size_t max)
{
	struct jfr_reader *r = NULL;
	struct jfr_value v[16];
	struct jfr_event ev;
	struct error e = {0};
	size_t n = 0;

	requests_write(f->requests, f->out);
	assert_int_equal(jfrw_close(f->out, &e), 0);
	assert_int_equal(jfr_reader_open(&r, path, NULL, &e), 0);
	while (jfr_reader_next(r, &ev) > 0) {
		if (strcmp(ev.cls->name, "gnomon.Context"))
			continue;
		assert_true(n < max);
		assert_true(jfr_event_fields(r, &ev, v, 16) > 0);
		s[n].from = v[0].i;
		s[n].to = v[0].i + v[jfr_class_field(ev.cls, "duration")].i;
		s[n].samples = v[jfr_class_field(ev.cls, "samples")].i;
		text_of(r, &ev, v, "traceId", s[n].trace, sizeof(s[n].trace));
		text_of(r, &ev, v, "attributes", s[n].others, sizeof(s[n].others));
		n++;
	}
	jfr_reader_close(r);
	if (n)
		qsort(s, n, sizeof(*s), by_time);
	return n;
}

static void is(const struct seen *s, int64_t from, int64_t to, int64_t samples, uint64_t id)
{
	char trace[40] = "";

	if (id)
		snprintf(trace, sizeof(trace), "%032llx", (unsigned long long)id);
	assert_int_equal(s->from, from);
	assert_int_equal(s->to, to);
	assert_int_equal(s->samples, samples);
	assert_string_equal(s->trace, trace);
}

/* Samples that come in any order are stretches in that of their times, each thread for itself. */
static void stretches(void **state)
{
	struct seen s[8];
	struct fixture f;

	begin(&f);
	add(&f, 1);
	add(&f, 2);
	note(&f, 1, 1, 300, 300);
	note(&f, 1, 2, 200, 250);
	note(&f, 2, 1, 220, 220);
	note(&f, 1, 1, 100, 100);
	note(&f, 1, 1, 310, 320);
	note(&f, 1, 0, 305, 305);
	note(&f, 3, 0, 100, 900); /* never works for any */
	assert_int_equal(read_all(&f, s, 8), 5);
	is(&s[0], 100, 100, 1, 1);
	is(&s[1], 200, 250, 1, 2);
	is(&s[2], 220, 220, 1, 1);
	is(&s[3], 300, 300, 1, 1);
	is(&s[4], 310, 320, 1, 1);
	assert_string_equal(s[0].others, "key7=hi");
	end(&f);
}

/* What comes behind its stretch begins within it: who reads takes the one that begins last. */
static void late(void **state)
{
	struct seen s[8];
	struct fixture f;

	begin(&f);
	add(&f, 1);
	add(&f, 2);
	note(&f, 1, 1, 100, 100);
	note(&f, 1, 1, 500, 500);
	requests_write(f.requests, f.out);
	note(&f, 1, 2, 200, 200);
	note(&f, 1, 0, 300, 300);
	note(&f, 1, 2, 400, 400);
	note(&f, 1, 2, 600, 600);
	note(&f, 1, 2, 700, 700);
	assert_int_equal(read_all(&f, s, 8), 5);
	is(&s[0], 100, 500, 2, 1);
	is(&s[1], 200, 200, 1, 2);
	is(&s[2], 300, 300, 1, 0);
	is(&s[3], 400, 400, 1, 2);
	is(&s[4], 600, 700, 2, 2);
	end(&f);
}

static void lost(void **state)
{
	struct seen s[2];
	struct fixture f;

	begin(&f);
	assert_false(requests_has(f.requests, 9));
	note(&f, 1, 9, 100, 200);
	assert_int_equal(read_all(&f, s, 2), 1);
	is(&s[0], 100, 200, 1, 0);
	assert_string_equal(s[0].others, "what it is was lost");
	end(&f);
}

/* A publisher writes what it likes; a record says how long it is. */
static void hostile(void **state)
{
	struct gn_context_rec r = context(1);
	struct seen s[2];
	struct fixture f;

	begin(&f);
	r.h.size = 64; /* no room for the attributes that it says it has */
	requests_add(f.requests, &r);
	assert_false(requests_has(f.requests, 1));
	r.h.size = sizeof(r);
	r.of.attrs_len = UINT16_MAX;
	memset(r.of.attrs, 0xff, sizeof(r.of.attrs));
	requests_add(f.requests, &r);
	assert_true(requests_has(f.requests, 1));
	r = context(2);
	r.of.attrs_len = CTX_ATTRS_MAX;
	for (size_t i = 0; i < CTX_ATTRS_MAX; i++)
		r.of.attrs[i] = i % 3 == 1 ? 1 : 27; /* attributes of one control character */
	requests_add(f.requests, &r);
	note(&f, 1, 1, 1, 1);
	note(&f, 1, 2, 2, 2);
	assert_int_equal(read_all(&f, s, 2), 2);
	is(&s[0], 1, 1, 1, 1);
	is(&s[1], 2, 2, 1, 2);
	assert_null(strchr(s[1].others, 27));
	end(&f);
}

/* Requests come by the million: what was not met for longest is forgotten, what is met is kept. */
static void bounded(void **state)
{
	struct fixture f;

	begin(&f);
	for (uint64_t id = 1; id <= 200000; id++) {
		add(&f, id);
		note(&f, 1, id, id, id);
		note(&f, 2, 1, id, id);
	}
	assert_true(requests_has(f.requests, 1));
	assert_false(requests_has(f.requests, 2));
	assert_true(requests_has(f.requests, 200000));
	requests_write(f.requests, f.out);
	jfrw_discard(f.out);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stretches), cmocka_unit_test(late),	cmocka_unit_test(lost),
		cmocka_unit_test(hostile),   cmocka_unit_test(bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
