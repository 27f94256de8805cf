/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles made by hand: what goes into windows, parts and labels is known beforehand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "out/profile_int.h"
#include "push/labels.h"
#include "push/limits.h"
#include "push/pyroscope.h"
#include "push/round.h"
#include "push/series.h"
#include "push/service.h"
#include "target/attributes.h"

#define S     1000000000ull
#define MS    1000000ull
#define BEGIN (1700000000 * (int64_t)S) /* five seconds into a window of 15 s, aligned to 1970 */

static uint32_t name_of(struct profile *p, const char *s)
{
	return names_add(&p->names, s, strlen(s), NULL);
}

static struct profile *profile_empty(uint64_t recorded_ns)
{
	struct profile *p = NULL;

	assert_int_equal(profile_new(&p, &(struct profile_options){.keep_times = true}, NULL), 0);
	p->start_ns = BEGIN;
	p->end_ns = BEGIN + (int64_t)recorded_ns;
	p->period_ns[JFR_SOURCE_EXECUTION] = 10 * MS;
	p->period_ns[JFR_SOURCE_WALL] = 20 * MS;
	return p;
}

static uint32_t node_of(struct profile *p, uint32_t under, const char *frame)
{
	return profile_node(p, under, profile_frame(p, name_of(p, frame), FRAME_JIT));
}

static uint32_t cell_of(struct profile *p, uint32_t node, const char *thread, int64_t id,
			const char *state, enum jfr_source source)
{
	return profile_cell(
		p, &(struct prof_cell){.node = node,
				       .below = node,
				       .thread = profile_thread(p, name_of(p, thread), id, id),
				       .state = (uint16_t)profile_state(p, state),
				       .source = (uint8_t)source});
}

static void ticks_add(struct profile *p, uint32_t cell, int64_t at_ns, uint64_t span_ns, uint32_t n)
{
	struct prof_time t = {.start_ns = at_ns, .span_ns = span_ns, .cell = cell, .ticks = n};

	p->cells[cell].samples += n;
	p->cells[cell].ns += n * p->period_ns[p->cells[cell].source];
	p->samples[p->cells[cell].source] += n;
	assert_int_equal(profile_time(p, &t), 0);
}

/* ---- series ---- */

struct got {
	struct series v[32];
	uint64_t ns[32];
	size_t n;
};

static int got_take(void *ctx, const struct series *s)
{
	struct got *g = ctx;

	assert_true(g->n < 32);
	g->v[g->n] = *s;
	for (size_t i = 0; i < s->n; i++)
		g->ns[g->n] += s->samples[i].v[0];
	g->n++;
	return 0;
}

static const struct series_form all = {.window_ns = 15 * S, .dims = {true, true, true}};

/* A batch of ticks is cut where a window ends; windows are aligned, and as long as was recorded. */
static void test_windows(void **state)
{
	struct profile *p = profile_empty(20 * S);
	uint32_t a = node_of(p, NODE_ROOT, "a"),
		 cpu = cell_of(p, a, "t-1", 1, "RUNNING", JFR_SOURCE_EXECUTION),
		 off = cell_of(p, a, "t-1", 1, "PARKED", JFR_SOURCE_WALL);
	struct got g = {0};

	ticks_add(p, cpu, 0, 0, 1);
	ticks_add(p, cpu, 9999 * (int64_t)MS, 0, 1);
	ticks_add(p, cpu, 10 * (int64_t)S, 0, 1);
	ticks_add(p, off, 9950 * (int64_t)MS, 80 * MS, 5); /* at 9.95, 9.97, 9.99, 10.01, 10.03 */
	assert_int_equal(profile_finish(p, NULL), 0);
	assert_int_equal(series_each(p, &all, got_take, &g), 0);
	assert_int_equal(g.n, 6);
	for (size_t i = 0; i < 6; i++) {
		static const uint64_t want[] = {20, 80, 60, 10, 50, 40}; /* cpu, wall, off; twice */

		assert_int_equal(g.v[i].dim, i % 3);
		assert_int_equal(g.ns[i], want[i] * MS);
		assert_true(g.v[i].start_ns == (i < 3 ? BEGIN : BEGIN + 10 * (int64_t)S));
		assert_int_equal(g.v[i].duration_ns, 10 * S);
	}
	profile_free(p);
}

/* Without a window all is one, also what is outside of the recording. */
static void test_whole(void **state)
{
	struct profile *p = profile_empty(20 * S);
	uint32_t off = cell_of(p, node_of(p, NODE_ROOT, "a"), "t", 1, "PARKED", JFR_SOURCE_WALL);
	struct got g = {0};

	ticks_add(p, off, 0, 30 * S, 1501);
	ticks_add(p, off, -5 * (int64_t)S, 0, 1);
	assert_int_equal(profile_finish(p, NULL), 0);
	assert_int_equal(
		series_each(p, &(struct series_form){.dims = {[DIM_OFF] = true}}, got_take, &g), 0);
	assert_int_equal(g.n, 1);
	assert_int_equal(g.ns[0], 1502 * 20 * MS);
	assert_true(g.v[0].start_ns == BEGIN);
	assert_int_equal(g.v[0].duration_ns, 20 * S);
	profile_free(p);
}

/* A scaled cell's time does not divide by its ticks: all of it is in some window all the same. */
static void test_nothing_lost(void **state)
{
	struct profile *p = profile_empty(100 * S);
	uint32_t c = cell_of(p, node_of(p, NODE_ROOT, "a"), "t", 1, "PARKED", JFR_SOURCE_WALL);
	struct got g = {0};
	uint64_t sum = 0;

	ticks_add(p, c, 0, 99 * S, 7);
	p->cells[c].ns = 1000000007;
	assert_int_equal(profile_finish(p, NULL), 0);
	assert_int_equal(
		series_each(p,
			    &(struct series_form){.window_ns = 15 * S, .dims = {[DIM_OFF] = true}},
			    got_take, &g),
		0);
	assert_int_equal(g.n, 7);
	for (size_t i = 0; i < g.n; i++)
		sum += g.ns[i];
	assert_int_equal(sum, 1000000007);
	profile_free(p);
}

static int links_take(void *ctx, const struct series *s)
{
	assert_int_equal(s->n, 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(s->samples[i].link, i);
		assert_int_equal(s->samples[i].v[0], 2 * (1 + i) * 20 * MS);
	}
	return got_take(ctx, s);
}

/* Threads of one group are one unless they are told apart; states and stacks never. */
static void test_merged(void **state)
{
	struct profile *p = profile_empty(S);
	uint32_t a = node_of(p, NODE_ROOT, "a"), b = node_of(p, a, "b");
	struct series_form f = {.window_ns = 15 * S, .dims = {[DIM_OFF] = true}};
	struct got g = {0};

	ticks_add(p, cell_of(p, a, "pool-1", 1, "PARKED", JFR_SOURCE_WALL), 0, 0, 1);
	ticks_add(p, cell_of(p, a, "pool-2", 2, "PARKED", JFR_SOURCE_WALL), 0, 0, 1);
	ticks_add(p, cell_of(p, a, "pool-2", 2, "BLOCKED", JFR_SOURCE_WALL), 0, 0, 1);
	ticks_add(p, cell_of(p, b, "pool-2", 2, "PARKED", JFR_SOURCE_WALL), 0, 0, 1);
	ticks_add(p, cell_of(p, a, "other", 3, "PARKED", JFR_SOURCE_WALL), 0, 0, 1);
	/* pool-2 once more: a constant of its own, the same thread to any reader */
	ticks_add(p,
		  profile_cell(p, &(struct prof_cell){.node = a,
						      .below = a,
						      .thread = profile_thread(
							      p, name_of(p, "pool-2"), 12, 2),
						      .state = (uint16_t)profile_state(p, "PARKED"),
						      .source = JFR_SOURCE_WALL}),
		  0, 0, 1);
	assert_int_equal(profile_finish(p, NULL), 0);
	assert_int_equal(series_each(p, &f, got_take, &g), 0);
	assert_int_equal(g.v[0].n, 4);
	assert_int_equal(g.ns[0], 120 * MS);
	f.apart = SERIES_NAMES;
	g = (struct got){0};
	assert_int_equal(series_each(p, &f, got_take, &g), 0);
	assert_int_equal(g.v[0].n, 5);
	f.apart = SERIES_THREADS;
	g = (struct got){0};
	assert_int_equal(series_each(p, &f, got_take, &g), 0);
	assert_int_equal(g.v[0].n, 5);
	profile_free(p);
}

/* Of different spans samples are different ones; what is no id is no link. */
static void test_links(void **state)
{
	static const char trace[] = "0123456789abcdef0123456789abcdef";
	struct profile *p = profile_empty(S);
	uint32_t a = node_of(p, NODE_ROOT, "a"), one = profile_link(p, trace, "00000000000000a1"),
		 thread = profile_thread(p, name_of(p, "t"), 1, 1), parked;
	struct series_form f = {.window_ns = 15 * S, .dims = {[DIM_OFF] = true}};
	struct got g = {0};

	assert_int_equal(profile_link(p, trace, "00000000000000a1"), one);
	assert_int_not_equal(profile_link(p, trace, "00000000000000a2"), one);
	assert_int_not_equal(one, 0);
	assert_int_equal(profile_link(p, trace, "0000000000000000"), 0);
	assert_int_equal(profile_link(p, trace, "00000000000000A1"), 0);
	assert_int_equal(profile_link(p, trace + 1, "00000000000000a1"), 0);
	assert_int_equal(profile_link(p, "", ""), 0);
	parked = profile_state(p, "PARKED");
	for (uint32_t link = 0; link < 3; link++)
		for (uint32_t again = 0; again < 2; again++)
			ticks_add(p,
				  profile_cell(p, &(struct prof_cell){.node = a,
								      .below = a,
								      .thread = thread,
								      .state = (uint16_t)parked,
								      .source = JFR_SOURCE_WALL,
								      .link = link}),
				  0, 0, 1 + link);
	assert_int_equal(profile_finish(p, NULL), 0);
	assert_int_equal(series_each(p, &f, links_take, &g), 0);
	assert_int_equal(g.n, 1);
	assert_int_equal(g.ns[0], 2 * (1 + 2 + 3) * 20 * MS);
	profile_free(p);
}

static int ticks_take(void *ctx, const struct series *s)
{
	struct series half;
	size_t *n = ctx;

	assert_int_equal(s->n, 2);
	for (size_t i = 0; i < s->nticks; i++) {
		assert_true(s->ticks[i].sample < s->n);
		assert_true(s->ticks[i].time_ns >= s->start_ns);
		assert_true(s->ticks[i].time_ns < s->start_ns + (int64_t)s->duration_ns);
	}
	for (size_t i = 0; i < s->n; i++) { /* as many as its time is worth, also of a part */
		series_part(s, i, i + 1, &half);
		assert_int_equal(half.n, 1);
		assert_int_equal(half.nticks * 10 * MS, half.samples[0].v[0]);
		for (size_t k = 0; k < half.nticks; k++)
			assert_int_equal(half.ticks[k].sample, half.base);
	}
	*n += s->nticks;
	return 0;
}

/* Each CPU sample has its time, in the sample and the window that its time is in. */
static void test_ticks(void **state)
{
	struct series_form f = {
		.window_ns = 15 * S, .dims = {true}, .apart = SERIES_THREADS, .ticks = true};
	struct profile *p = profile_empty(20 * S);
	uint32_t a = cell_of(p, node_of(p, NODE_ROOT, "a"), "t", 1, "RUNNING",
			     JFR_SOURCE_EXECUTION),
		 b = cell_of(p, node_of(p, NODE_ROOT, "b"), "t", 1, "RUNNING",
			     JFR_SOURCE_EXECUTION);
	size_t n = 0;

	for (int i = 0; i < 20; i++) {
		ticks_add(p, a, i * (int64_t)S, 0, 1);
		ticks_add(p, b, i * (int64_t)S, 20 * MS, 3);
	}
	ticks_add(p, b, 25 * (int64_t)S, 0, 1); /* beyond the end: in the last window */
	assert_int_equal(profile_finish(p, NULL), 0);
	assert_int_equal(series_each(p, &f, ticks_take, &n), 0);
	assert_int_equal(n, 81);
	profile_free(p);
}

/* A file that lies: times far out, batches without end, a recording of years. */
static void test_hostile(void **state)
{
	struct profile *p = profile_empty(30 * S);
	uint32_t c = cell_of(p, node_of(p, NODE_ROOT, "a"), "t", 1, "PARKED", JFR_SOURCE_WALL);
	struct got g = {0};
	uint64_t sum = 0, want;

	ticks_add(p, c, INT64_MIN, 0, 1);
	ticks_add(p, c, INT64_MAX, UINT64_MAX, UINT32_MAX);
	ticks_add(p, c, 0, UINT64_MAX, 5);
	ticks_add(p, c, INT64_MIN, UINT64_MAX, UINT32_MAX);
	want = p->cells[c].ns;
	assert_int_equal(profile_finish(p, NULL), 0);
	assert_int_equal(
		series_each(p, &(struct series_form){.window_ns = S, .dims = {[DIM_OFF] = true}},
			    got_take, &g),
		0);
	for (size_t i = 0; i < g.n; i++)
		sum += g.ns[i];
	assert_true(sum == want);
	p->end_ns = INT64_MAX;
	assert_int_equal(series_each(p, &all, got_take, &g), -E2BIG);
	profile_free(p);
}

/* ---- parts ---- */

/* The spool's payloads, counted: of each the profile's own size and samples keep to the limits. */
static uint64_t parts_sum(struct spool *s, uint64_t *samples)
{
	struct spool_entry *v;
	uint64_t parts = 0;
	size_t n;

	*samples = 0;
	assert_int_equal(spool_list(s, &v, &n), 0);
	for (size_t i = 0; i < n; i++, parts++) {
		struct buffer body = BUFFER_INIT;
		struct payload p;

		assert_int_equal(spool_get(s, v[i].name, &p, &body), 0);
		assert_true(p.raw <= PYROSCOPE_BYTES);
		assert_true(p.samples <= PYROSCOPE_SAMPLES);
		assert_string_equal(p.type, "application/proto");
		*samples += p.samples;
		buffer_free(&body);
	}
	free(v);
	return parts;
}

static void test_parts(void **state)
{
	char dir[] = "/tmp/gnomon-push.XXXXXX", frame[2000];
	struct profile *p = profile_empty(S);
	struct labels labels = {0};
	struct parts y = {.protocol = &pyroscope, .p = p, .labels = &labels};
	uint64_t samples;

	assert_non_null(mkdtemp(dir));
	assert_int_equal(spool_open(&y.to, dir, 0, (uid_t)-1, NULL), 0);
	memset(frame, 'x', sizeof(frame));
	for (int i = 0; i < 40000; i++) { /* the first are of long names: 1 MB in 500 of them */
		snprintf(frame + (i < 2000 ? sizeof(frame) - 12 : 0), 12, "%d", i);
		ticks_add(p,
			  cell_of(p, node_of(p, NODE_ROOT, frame), "t", 1, "RUNNING",
				  JFR_SOURCE_EXECUTION),
			  0, 0, 1);
	}
	assert_int_equal(profile_finish(p, NULL), 0);
	assert_int_equal(series_each(p, &(struct series_form){.window_ns = 15 * S, .dims = {true}},
				     parts_take, &y),
			 0);
	assert_true(parts_sum(y.to, &samples) >= 4);
	assert_int_equal(samples, 40000);
	assert_int_equal(y.samples, 40000);
	assert_int_equal(y.too_large, 0);
	spool_destroy(y.to);
	spool_close(y.to);
	profile_free(p);
}

/* ---- labels ---- */

static void label_is(const struct labels *l, const char *name, const char *want)
{
	const char *got = labels_get(l, name);

	assert_true(!got == !want);
	if (want)
		assert_string_equal(got, want);
}

static void test_labels(void **state)
{
	char many[40], longer[4000];
	struct labels l = {0};

	assert_int_equal(labels_parse(&l, "b=2"), 0);
	assert_int_equal(labels_parse(&l, "a.b-c=x=y,z"), 0);
	label_is(&l, "a_b_c", "x=y,z");
	assert_string_equal(l.v[0].name, "a_b_c");
	assert_int_equal(labels_set(&l, "b", "3\n\x01"), 0);
	label_is(&l, "b", "3??");
	assert_int_equal(labels_parse(&l, "b="), 0);
	label_is(&l, "b", NULL);
	assert_int_equal(l.n, 1);
	assert_int_equal(labels_parse(&l, "=x"), -EINVAL);
	assert_int_equal(labels_parse(&l, "x"), -EINVAL);
	assert_int_equal(labels_parse(&l, "1x=y"), -EINVAL);
	assert_int_equal(labels_parse(&l, "__name__=y"), -EINVAL);
	memset(longer, 'v', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(labels_set(&l, "long", longer), 0);
	assert_true(strlen(labels_get(&l, "long")) < PYROSCOPE_LABEL_VALUE);
	for (int i = 0; l.n < LABELS_MOST; i++) {
		snprintf(many, sizeof(many), "n%d=v", i);
		assert_int_equal(labels_parse(&l, many), 0);
	}
	assert_int_equal(labels_parse(&l, "more=v"), -E2BIG);
	assert_int_equal(labels_parse(&l, "n0=w"), 0);
	label_is(&l, "n0", "w");
	labels_free(&l);
}

/* What is of a program's run has places of its own, and is a label once somebody names it so. */
static void test_run(void **state)
{
	struct labels l = {0};
	char many[40];

	for (int i = 0; labels_room(&l); i++) {
		snprintf(many, sizeof(many), "n%d=v", i);
		assert_int_equal(labels_parse(&l, many), 0);
	}
	assert_int_equal(l.n, LABELS_MOST);
	assert_int_equal(labels_set_run(&l, "process_pid", "1"), 0);
	assert_int_equal(labels_set_run(&l, "process_pid", "4711"), 0);
	assert_int_equal(labels_set_run(&l, "process_runtime_name", ""), 0);
	assert_int_equal(l.n, LABELS_MOST + 1);
	label_is(&l, "process_pid", "4711");
	assert_int_equal(labels_set(&l, "more", "v"), -E2BIG);
	assert_int_equal(labels_parse(&l, "n0="), 0);
	assert_int_equal(labels_room(&l), 1);
	assert_int_equal(labels_parse(&l, "process_pid=1"), 0);
	assert_int_equal(labels_room(&l), 0);
	for (int i = 0; i < LABELS_RUN; i++) {
		snprintf(many, sizeof(many), "run%d", i);
		assert_int_equal(labels_set_run(&l, many, "v"), 0);
	}
	assert_int_equal(labels_set_run(&l, "one_more", "v"), -E2BIG);
	labels_free(&l);
}

/* ---- files of native frames ---- */

static void file_add(struct native_files *f, const char *name, const char *id, bool doubtful)
{
	f->v = reallocarray(f->v, f->n + 1, sizeof(*f->v));
	assert_non_null(f->v);
	f->v[f->n++] = (struct native_file){
		.name = names_add(&f->names, name, strlen(name), NULL),
		.id = names_add(&f->names, id, strlen(id), NULL),
		.doubtful = doubtful,
	};
}

static const char *file_id(const struct native_files *f, const char *frame)
{
	const struct native_file *one = native_files_of(f, frame);

	return one ? names_get(&f->names, one->id) : "none";
}

static void test_native_files(void **state)
{
	struct native_files f = {0};

	file_add(&f, "libc.so", "aa", false);
	file_add(&f, "libc.so.6", "bb", false);
	file_add(&f, "libx.so", "cc", true);
	file_add(&f, "liby.so", "", false);
	assert_string_equal(file_id(&f, "libc.so.6.poll"), "bb");
	assert_string_equal(file_id(&f, "libc.so.6+0x12"), "bb");
	assert_string_equal(file_id(&f, "libc.so.poll"), "aa");
	assert_string_equal(file_id(&f, "libc.so"), "none"); /* that is no frame of it */
	assert_string_equal(file_id(&f, "libc.software.poll"), "none");
	assert_string_equal(file_id(&f, "libx.so.f"), "none"); /* of two builds */
	assert_string_equal(file_id(&f, "liby.so.f"), "none"); /* without a build id */
	assert_string_equal(file_id(&f, ""), "none");
	native_files_free(&f);
}

/* Pairs that are too long, empty or none are left out; what is known is not everything. */
static void attributes_each(void)
{
	char text[2 * ATTRIBUTE_VALUE + 64] = "a=1, b=%41%zz,=x,c=,d,long=";
	const char *p = text;
	struct attribute a;

	memset(text + strlen(text), 'x', ATTRIBUTE_VALUE);
	strcat(text, ",k8s.pod.uid=u");
	assert_true(attribute_next(&p, &a));
	assert_string_equal(a.key, "a");
	assert_true(attribute_next(&p, &a));
	assert_string_equal(a.value, "A%zz");
	assert_true(attribute_next(&p, &a));
	assert_string_equal(a.key, "k8s.pod.uid");
	assert_false(attribute_next(&p, &a));
	assert_false(attribute_copy(&a, "k", 1, "a\0b", 3));
	assert_true(attribute_is_known("k8s.pod.uid"));
	assert_false(attribute_is_known("api.key"));
}

static void test_service(void **state)
{
	char s[SERVICE_LEN];

	assert_true(service_of_words("-Xmx1g -Dotel.service.name=shop -Da=b",
				     "-Dotel.service.name=", s));
	assert_string_equal(s, "shop");
	assert_false(
		service_of_words("-Xmx1g x-Dotel.service.name=shop", "-Dotel.service.name=", s));
	assert_false(service_of_words("-Dotel.service.name= -Da=b", "-Dotel.service.name=", s));
	attributes_each();
	assert_true(service_of_attributes("a=b,service.name=s%20h%6Fp,c=d", s));
	assert_string_equal(s, "s hop");
	assert_false(service_of_attributes("a=service.name=x,service.names=y", s));
	assert_false(service_of_attributes("service.name=", s));
	assert_true(service_of_attributes("service.name=100%,x", s));
	assert_string_equal(s, "100%");
}

/* ---- when windows are sent ---- */

#define WINDOW (15 * S)
#define HOUR   (3600 * S)

/* Looks at the clock each 0.7 s for an hour; returns by how much windows are sent late. */
static uint64_t hour_sent(uint64_t chance)
{
	uint64_t now = BEGIN, n = 0, last = 0, late = 0;
	struct round r;

	round_begin(&r, WINDOW, chance, now);
	for (; now < BEGIN + HOUR; now += 700 * MS) {
		if (!round_is_due(&r, now))
			continue;
		/* of the window that ended last, whose chunks are written */
		late = now % WINDOW;
		assert_in_range(late, S, S + WINDOW / 2 + 700 * MS);
		assert_true(!last || now / WINDOW == last + 1); /* none twice, none left out */
		last = now / WINDOW;
		n++;
	}
	assert_in_range(n, HOUR / WINDOW - 1, HOUR / WINDOW);
	return r.late_ns;
}

static void test_rounds(void **state)
{
	unsigned int by[4] = {0};
	uint64_t chance = 1;

	(void)state;
	for (int host = 0; host < 100; host++) {
		chance = chance * 6364136223846793005ull + 1442695040888963407ull;
		by[(hour_sent(chance >> 16) - S) / (WINDOW / 8)]++;
	}
	/* a fourth of half a window has 25 of 100 hosts, 4 standard deviations less are 8 */
	for (int i = 0; i < 4; i++)
		assert_in_range(by[i], 8, 42);
}

static void test_rounds_and_clocks(void **state)
{
	struct round r;
	uint64_t now = BEGIN;

	(void)state;
	round_begin(&r, WINDOW, 3 * S, now);
	assert_false(round_is_due(&r, now));
	now += WINDOW;
	assert_true(round_is_due(&r, now));
	assert_false(round_is_due(&r, now));
	/* set forward: once, and not for each window that there never was */
	now += HOUR;
	assert_true(round_is_due(&r, now));
	assert_false(round_is_due(&r, now));
	/* set back: after a window at most */
	now -= 2 * HOUR;
	assert_false(round_is_due(&r, now));
	now += WINDOW;
	assert_true(round_is_due(&r, now));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rounds),	     cmocka_unit_test(test_rounds_and_clocks),
		cmocka_unit_test(test_windows),	     cmocka_unit_test(test_whole),
		cmocka_unit_test(test_nothing_lost), cmocka_unit_test(test_merged),
		cmocka_unit_test(test_ticks),	     cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_parts),	     cmocka_unit_test(test_labels),
		cmocka_unit_test(test_run),	     cmocka_unit_test(test_native_files),
		cmocka_unit_test(test_service),	     cmocka_unit_test(test_links),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
