// SPDX-License-Identifier: Apache-2.0
/* Which requests the page tells one by one, and what the others count as; samples get their
 * numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "jfrmade.h"
#include "out/profile_int.h"
#include "out/served.h"
#include "out/told.h"

#define MANY	  1000 /* requests to the first endpoint */
#define FEW	  3    /* to each of the others */
#define ENDPOINTS 150

static char path[] = "/tmp/gnomon-told-XXXXXX";
static struct served *v;
static struct told told;

/* Request k of an endpoint takes 20 (k + 1) ms, of the first one; of others 20 ms. */
static void recording_make(void)
{
	struct frame_name f = {
		.klass = "app.A", .method = "serve", .sig = "()V", .type = FRAME_JIT};
	struct jfrw *w;
	uint32_t stack, id = 1;
	int fd;

	strcpy(path + strlen(path) - 6, "XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	w = jm_open(path, (struct jfrw_form){0});
	assert_non_null(w);
	stack = jfrw_stack(w, &f, 1, false);
	for (uint32_t e = 0; e < ENDPOINTS; e++)
		for (uint32_t k = 0; k < (e ? FEW : MANY); k++, id++) {
			uint32_t ticks = e ? 1 : k + 1, t;
			char name[32], trace[33];

			snprintf(name, sizeof(name), "GET /%u", e);
			snprintf(trace, sizeof(trace), "%032x", id);
			t = jfrw_thread(w, &(struct jfrw_thread){.os_name = "t",
								 .os_tid = id,
								 .java_name = "t",
								 .java_tid = id});
			jfrw_wall_sample(w, START + 5 * MS, t, stack, JFR_STATE_PARKED, ticks,
					 ticks * 20 * MS);
			jfrw_context(w, START + 5 * MS,
				     &(struct jfr_context){.duration_ns = (ticks - 1) * 20 * MS,
							   .thread = t,
							   .trace = trace,
							   .span = trace + 16,
							   .root = trace + 16,
							   .endpoint = jfrw_name(w, JFR_WORD, name),
							   .samples = ticks});
		}
	jfrw_end(w, START + 30000 * MS);
	assert_int_equal(jfrw_close(w, NULL), 0);
}

static void setup_told(void)
{
	struct stretch s = stretch_unseen(path);
	struct served_options o = {0};
	struct error e = {0};

	recording_make();
	assert_int_equal(served_read(&v, &s, &o, &e), 0);
	assert_int_equal(told_make(&told, v), 0);
}

static void end(void)
{
	told_free(&told);
	served_free(v);
	unlink(path);
}

static const struct told_request *told_of(uint32_t request)
{
	uint32_t n = told_number(&told, request);

	assert_in_range(n, 1, told.n);
	return &told.v[n - 1];
}

static void test_each_has_a_number(void **state)
{
	uint32_t paces[PACES] = {0}, alone = 0, others = 0;

	(void)state;
	setup_told();
	assert_int_equal(v->n, MANY + (ENDPOINTS - 1) * FEW);
	for (uint32_t r = 0; r < v->contexts->nrequests; r++) {
		const struct told_request *t = told_of(r);
		uint32_t endpoint = v->requests[r].endpoint;

		assert_int_equal(t->endpoint,
				 endpoint < TOLD_ENDPOINTS ? endpoint : TOLD_ENDPOINTS);
		paces[t->pace] += !endpoint;
		others += endpoint >= TOLD_ENDPOINTS;
		alone += t->request != CONTEXT_NONE;
		assert_true(t->request == CONTEXT_NONE || t->request == r);
	}
	assert_int_equal(v->endpoints[0].n, MANY);
	assert_int_equal(paces[PACE_FAST], MANY / 2);
	assert_int_equal(paces[PACE_SLOW], MANY / 10);
	assert_int_equal(others, (ENDPOINTS - TOLD_ENDPOINTS) * FEW);
	/* the 100 slowest are all of the first one; of the 99 others that are told apart each three
	 */
	assert_int_equal(alone, TOLD_SLOWEST + (TOLD_ENDPOINTS - 1) * FEW);
	assert_int_equal(told_number(&told, CONTEXT_NONE), 0);
	assert_int_equal(told_number(&told, v->contexts->nrequests), 0);
	end();
}

static void test_the_slowest_are_alone(void **state)
{
	(void)state;
	setup_told();
	for (uint32_t i = 0; i < TOLD_SLOWEST; i++) {
		assert_int_equal(told_of(v->slowest[i])->request, v->slowest[i]);
		assert_int_equal(told_of(v->slowest[i])->pace, PACE_SLOW);
	}
	assert_int_equal(served_wall(v, v->slowest[0]), MANY * 20 * MS);
	assert_int_equal(told_of(v->slowest[TOLD_SLOWEST])->request, CONTEXT_NONE);
	end();
}

/* Of each kind as many ticks as the requests have that are of it. */
static void test_samples(void **state)
{
	struct profile_options o = {.keep_times = true, .no_facts = true, .told = &told};
	uint64_t *want, *got;
	struct profile *p;
	struct error e = {0};

	(void)state;
	setup_told();
	want = calloc(told.n + 1, sizeof(*want));
	got = calloc(told.n + 1, sizeof(*got));
	for (uint32_t r = 0; r < v->contexts->nrequests; r++)
		want[told_number(&told, r)] += v->contexts->requests[r].samples;
	assert_int_equal(profile_new(&p, &o, &e), 0);
	p->index->times_most = 512; /* so that they are made fewer, which mixes no requests */
	assert_int_equal(profile_load(p, path, 0, NULL, &e), 0);
	assert_int_equal(profile_finish(p, &e), 0);
	for (size_t i = 0; i < p->ntimes; i++)
		got[p->times[i].request] += p->times[i].ticks;
	assert_memory_equal(got, want, (told.n + 1) * sizeof(*got));
	assert_int_equal(got[0], 0);
	profile_free(p);
	free(want);
	free(got);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_has_a_number),
		cmocka_unit_test(test_the_slowest_are_alone),
		cmocka_unit_test(test_samples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
