/* SPDX-License-Identifier: Apache-2.0 */
/* What the page draws over time: as it was recorded, bounded however much there is, and never
 * senseless. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "jfr/vitals.h"
#include "jfrmade.h"
#include "out/html.h"
#include "profileload.h"

#define S (1000 * MS)

static char path[] = "/tmp/gnomon-test.XXXXXX";
static struct jfrw *w;

static int setup(void **state)
{
	int fd;

	strcpy(path, "/tmp/gnomon-test.XXXXXX");
	fd = mkstemp(path);
	if (fd < 0)
		return -1;
	close(fd);
	w = jm_open(path, (struct jfrw_form){.vitals = true});
	return w ? 0 : -1;
}

static int teardown(void **state)
{
	return unlink(path);
}

static struct profile *loaded(uint64_t from, uint64_t to)
{
	jfrw_end(w, START + 100 * S);
	assert_int_equal(jfrw_close(w, NULL), 0);
	return profile_of(
		path, &(struct profile_options){.keep_times = true, .from_ns = from, .to_ns = to});
}

static void load(uint64_t at, float user, float system, float machine)
{
	jfrw_event(w, JFR_CPU_LOAD, START + at, &(struct jfr_cpu_load){user, system, machine});
}

static void heap(uint64_t at, uint64_t used, uint64_t committed)
{
	jfrw_event(w, JFR_GC_HEAP_SUMMARY, START + at,
		   &(struct jfr_gc_heap_summary){.when = jfrw_name(w, JFR_GC_WHEN, "After GC"),
						 .heap = {.committed = committed},
						 .used = used});
}

static void stop(uint32_t id, uint64_t at, uint64_t ns)
{
	jfrw_event(w, JFR_GC_PAUSE, START + at,
		   &(struct jfr_gc_pause){.duration = ns, .id = id, .name = "GC Pause"});
}

static void collection(uint32_t id, const char *name, const char *cause)
{
	jfrw_event(w, JFR_GARBAGE_COLLECTION, START,
		   &(struct jfr_garbage_collection){.id = id,
						    .name = jfrw_name(w, JFR_GC_NAME, name),
						    .cause = jfrw_name(w, JFR_GC_CAUSE, cause)});
}

static void vitals(uint64_t at, const char *has, uint64_t throttled)
{
	jfrw_event(w, JFR_VITALS, START + at,
		   &(struct jfr_vitals){.period_ns = S, .has = has, .throttled_ns = throttled});
}

static void expect_point(const struct profile *p, enum lane_line line, size_t i, int64_t at,
			 double value)
{
	assert_true(i < p->lanes.lines[line].n);
	assert_int_equal(p->lanes.lines[line].v[i].at_ns, at);
	assert_true(fabs(p->lanes.lines[line].v[i].value - value) < 1e-3);
}

static void test_lines(void **state)
{
	struct profile *p;

	heap(3 * S, 20000000, 64000000);
	heap(2 * S, 50000000, 60000000); /* later in the file */
	load(1 * S, .25f, .125f, .5f);
	jfrw_event(w, JFR_JAVA_THREADS, START + S, &(struct jfr_java_threads){.active = 24});
	vitals(1 * S, "process throttling", S / 4);
	vitals(2 * S, "process", S / 4); /* no quota is in force */
	p = loaded(0, 0);
	assert_int_equal(p->lanes.lines[LINE_HEAP_USED].n, 2);
	expect_point(p, LINE_HEAP_USED, 0, 2 * S, 50000000);
	expect_point(p, LINE_HEAP_USED, 1, 3 * S, 20000000);
	expect_point(p, LINE_HEAP_COMMITTED, 0, 2 * S, 60000000);
	expect_point(p, LINE_CPU_JVM, 0, S, 37.5);
	expect_point(p, LINE_CPU_MACHINE, 0, S, 50);
	expect_point(p, LINE_THREADS, 0, S, 24);
	assert_int_equal(p->lanes.lines[LINE_THROTTLED].n, 1);
	expect_point(p, LINE_THROTTLED, 0, S, .25);
	profile_free(p);
}

/* A value is drawn towards the next one, though this lies behind what was chosen. */
static void test_part(void **state)
{
	struct profile *p;

	for (uint64_t s = 1; s < 20; s++)
		heap(s * S, s, 100);
	stop(1, 5 * S, 10 * MS);
	stop(2, 9500 * MS, 600 * MS); /* reaches into it */
	stop(3, 11 * S, 10 * MS);
	stop(4, 15 * S, 10 * MS);
	p = loaded(10 * S, 12 * S);
	assert_int_equal(p->lanes.lines[LINE_HEAP_USED].n, 5);
	for (int i = 0; i < 5; i++)
		expect_point(p, LINE_HEAP_USED, (size_t)i, (9 + i) * (int64_t)S, 9 + i);
	assert_int_equal(p->lanes.npauses, 2);
	assert_int_equal(p->lanes.pauses[0].gc_id, 2);
	assert_int_equal(p->lanes.pauses[1].gc_id, 3);
	profile_free(p);
}

static void test_hostile(void **state)
{
	static const float bad[] = {NAN, -1, INFINITY, -INFINITY, 1e30f};
	struct profile *p;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		load((i + 1) * S, bad[i], 0, bad[i]);
	heap(1 * S, UINT64_MAX, UINT64_MAX); /* the field is signed */
	heap(2 * S, INT64_MAX, 1);
	stop(1, 1 * S, INT64_MAX);
	stop(2, 2 * S, UINT64_MAX);
	vitals(1 * S, "throttling", INT64_MAX);
	p = loaded(0, 0);
	for (int i = 0; i < LANE_LINES; i++)
		for (size_t k = 0; k < p->lanes.lines[i].n; k++) {
			assert_true(isfinite(p->lanes.lines[i].v[k].value));
			assert_true(p->lanes.lines[i].v[k].value >= 0);
		}
	/* more than all is all */
	assert_int_equal(p->lanes.lines[LINE_CPU_JVM].n, 2);
	expect_point(p, LINE_CPU_JVM, 1, 5 * S, 100);
	expect_point(p, LINE_HEAP_USED, 0, S, 0);
	for (size_t i = 0; i < p->lanes.npauses; i++)
		assert_true(p->lanes.pauses[i].to_ns >= p->lanes.pauses[i].from_ns);
	profile_free(p);
}

/* The one high value and the one low of 50,000 are seen. */
static void test_many_points(void **state)
{
	const uint64_t n = 50000;
	const struct lane_values *s;
	bool high = false, low = false;
	struct profile *p;

	for (uint64_t i = 0; i < n; i++)
		heap(i * MS, i == 31111 ? 900 : i == 17777 ? 1 : 500 + i % 2, 1000);
	p = loaded(0, 0);
	s = &p->lanes.lines[LINE_HEAP_USED];
	assert_in_range(s->n, LANE_POINTS / 4, LANE_POINTS);
	for (size_t i = 0; i < s->n; i++) {
		assert_true(!i || s->v[i].at_ns > s->v[i - 1].at_ns);
		high |= s->v[i].value > 800 && s->v[i].at_ns == 31111 * (int64_t)MS;
		low |= s->v[i].value < 2 && s->v[i].at_ns == 17777 * (int64_t)MS;
	}
	assert_true(high);
	assert_true(low);
	/* all of the time is there: no part is without a point */
	assert_true(s->v[0].at_ns < 100 * (int64_t)MS);
	assert_true(s->v[s->n - 1].at_ns > (int64_t)(n - 100) * (int64_t)MS);
	profile_free(p);
}

/* The longest stay, and the others are counted. */
static void test_many_pauses(void **state)
{
	const uint64_t n = 20000;
	uint64_t seen = 0, ns = 0, all = 0;
	struct profile *p;

	for (uint64_t i = 0; i < n; i++) {
		uint64_t us = 1 + i * 7919 % n;

		stop((uint32_t)i, i * 5 * MS, us * 1000 / 10);
		all += us * 1000 / 10;
	}
	p = loaded(0, 0);
	assert_in_range(p->lanes.npauses, LANE_PAUSES / 2, LANE_PAUSES);
	for (size_t i = 0; i < p->lanes.npauses; i++) {
		const struct lane_pause *x = &p->lanes.pauses[i];

		assert_true(!i || x->from_ns > p->lanes.pauses[i - 1].from_ns);
		/* the pauses are 100 ns apart: as many as stay are the longest */
		assert_true(x->to_ns - x->from_ns > (int64_t)(n - p->lanes.npauses) * 100);
		ns += (uint64_t)(x->to_ns - x->from_ns);
		seen++;
	}
	assert_int_equal(seen + p->lanes.short_pauses, n);
	assert_int_equal(ns + p->lanes.short_ns, all);
	profile_free(p);
}

static void test_collections(void **state)
{
	struct profile *p;

	for (uint32_t i = 0; i < LANE_COLLECTIONS + 100; i++)
		collection(i, i == 7 ? "G1Full" : "G1New", i == 7 ? "System.gc()" : "");
	p = loaded(0, 0);
	assert_string_equal(lanes_collection(&p->lanes, 7), "G1Full, System.gc()");
	assert_string_equal(lanes_collection(&p->lanes, 8), "G1New");
	assert_string_equal(lanes_collection(&p->lanes, LANE_COLLECTIONS + 1), "");
	assert_int_equal(p->lanes.ncollections, LANE_COLLECTIONS);
	profile_free(p);
}

static char *page_of(struct profile *p)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	assert_non_null(f);
	assert_int_equal(html_write(p, &(struct html_options){.title = "x"}, f, NULL), 0);
	fclose(f);
	return text;
}

static void test_page(void **state)
{
	struct profile *p;
	char *page;

	heap(1 * S, 12345678, 20000000);
	stop(1, 1500 * MS, 1500 * 1000);
	collection(1, "</script>", "\"");
	p = loaded(0, 0);
	page = page_of(p);
	assert_non_null(strstr(page, "\"lanes\":[{\"name\":\"heap\",\"unit\":\"MB\",\"lines\":["
				     "{\"name\":\"used\",\"kind\":\"area\",\"points\":"
				     "[[1000000,12.3457]]},"));
	assert_non_null(strstr(page, "\"bands\":[{\"name\":\"GC\",\"from_us\":1500000.000,"
				     "\"to_us\":1501500.000,\"text\":\"\\u003c/script>, "
				     "\\u0022\"}]"));
	free(page);
	profile_free(p);
}

/* Their times are not of one clock. */
static void test_two_recordings(void **state)
{
	struct profile *p = NULL;
	char *page;

	heap(1 * S, 1, 1);
	stop(1, 1 * S, MS);
	jfrw_end(w, START + 2 * S);
	assert_int_equal(jfrw_close(w, NULL), 0);
	assert_int_equal(profile_new(&p, &(struct profile_options){.keep_times = true}, NULL), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(profile_load(p, path, 0, NULL, NULL), 0);
	assert_int_equal(profile_finish(p, NULL), 0);
	page = page_of(p);
	assert_non_null(strstr(page, "\"lanes\":[],\"bands\":[]"));
	free(page);
	profile_free(p);
}

static void test_none(void **state)
{
	struct profile *p = loaded(0, 0);
	char *page = page_of(p);

	assert_non_null(strstr(page, "\"lanes\":[],\"bands\":[],\"bands_missing\":0"));
	free(page);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_lines, setup, teardown),
		cmocka_unit_test_setup_teardown(test_part, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hostile, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many_points, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many_pauses, setup, teardown),
		cmocka_unit_test_setup_teardown(test_collections, setup, teardown),
		cmocka_unit_test_setup_teardown(test_page, setup, teardown),
		cmocka_unit_test_setup_teardown(test_two_recordings, setup, teardown),
		cmocka_unit_test_setup_teardown(test_none, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
