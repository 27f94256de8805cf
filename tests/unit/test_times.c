/* SPDX-License-Identifier: Apache-2.0 */
/* More samples than a page can hold become fewer, and stand for as many as there were. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "jfrmade.h"
#include "out/profile_int.h"

#define SAMPLES 20000

static char path[] = "/tmp/gnomon-test.XXXXXX";

/* 200 s of a thread that is in one of three places by turns, and waits in a fourth. */
static int setup(void **state)
{
	int fd = mkstemp(path);
	struct jfrw *w = fd < 0 ? NULL : jm_open(path, (struct jfrw_form){0});
	uint32_t t, places[3];

	if (!w)
		return -1;
	close(fd);
	t = jm_main(w);
	for (int i = 0; i < 3; i++) {
		struct frame_name f = {.klass = "app.Main",
				       .method = (const char *[]){"a", "b", "c"}[i],
				       .sig = "()V",
				       .line = -1,
				       .bci = -1,
				       .type = FRAME_JIT};

		places[i] = jfrw_stack(w, &f, 1, false);
	}
	for (uint64_t i = 0; i < SAMPLES; i++)
		jfrw_cpu_sample(w, START + i * 10 * MS, t, places[i % 3]);
	jfrw_wall_sample(w, START + 20 * MS, t, 0, JFR_STATE_PARKED, 9000, 180000 * MS);
	return jfrw_close(w, NULL);
}

static int teardown(void **state)
{
	return unlink(path);
}

static struct profile *load(size_t most)
{
	struct profile *p = NULL;

	assert_int_equal(profile_new(&p, &(struct profile_options){.keep_times = true}, NULL), 0);
	p->index->times_most = most;
	assert_int_equal(profile_load(p, path, 0, NULL, NULL), 0);
	assert_int_equal(profile_finish(p, NULL), 0);
	return p;
}

static void expect_whole(const struct profile *p)
{
	uint64_t *ticks = calloc(p->ncells, sizeof(*ticks));

	assert_non_null(ticks);
	for (size_t i = 0; i < p->ntimes; i++) {
		const struct prof_time *t = &p->times[i];

		ticks[t->cell] += t->ticks;
		assert_true(t->start_ns >= 0);
		assert_true((uint64_t)t->start_ns + t->span_ns <= 200001 * MS);
	}
	for (uint32_t i = 0; i < p->ncells; i++)
		assert_int_equal(ticks[i], p->cells[i].samples);
	free(ticks);
}

static void test_few(void **state)
{
	struct profile *p = load(0);

	assert_int_equal(p->ntimes, SAMPLES + 1);
	expect_whole(p);
	profile_free(p);
}

static void test_many(void **state)
{
	struct profile *p = load(1000);

	assert_in_range(p->ntimes, 200, 1000);
	expect_whole(p);
	/* each is of a part of the time: they did not end in one heap */
	for (size_t i = 0; i < p->ntimes; i++)
		if (p->times[i].ticks < 9000)
			assert_true(p->times[i].span_ns < 20000 * MS);
	profile_free(p);
}

/* As few as there are cells is as few as can be. */
static void test_cells(void **state)
{
	struct profile *p = load(2);

	assert_in_range(p->ntimes, 4, SAMPLES);
	expect_whole(p);
	profile_free(p);
}

/* A sample of its own thread two seconds behind the start. */
static void short_write(const char *file, uint64_t unix_ns, uint64_t tid)
{
	struct jfrw_config cfg = {.path = file,
				  .overwrite = true,
				  .start_unix_ns = unix_ns,
				  .start_mono_ns = START,
				  .cpu_period_ns = 10 * MS};
	struct jfrw_thread t = {
		.os_name = "java", .os_tid = tid, .java_name = "main", .java_tid = tid};
	struct jfrw *w = NULL;

	assert_int_equal(jfrw_open(&w, &cfg, NULL), 0);
	jfrw_cpu_sample(w, START + 2000 * MS, jfrw_thread(w, &t), 0);
	assert_int_equal(jfrw_flush(w, START + 3000 * MS, NULL), 0); /* so long it was */
	assert_int_equal(jfrw_close(w, NULL), 0);
}

static struct profile *both(const char *const files[2], struct profile_options o)
{
	struct profile *p = NULL;

	o.keep_times = true;
	assert_int_equal(profile_new(&p, &o, NULL), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(profile_load(p, files[i], 0, NULL, NULL), 0);
	assert_int_equal(profile_finish(p, NULL), 0);
	assert_int_equal(p->ntimes, 2);
	assert_int_equal(p->start_ns, EPOCH);
	return p;
}

/* Of several recordings all times are since the first one's start, whichever was read first. */
static void test_several(void **state)
{
	static char early[] = "/tmp/gnomon-test.XXXXXX", late[] = "/tmp/gnomon-test.XXXXXX";
	const char *const orders[2][2] = {{early, late}, {late, early}};

	assert_true(mkstemp(early) >= 0 && mkstemp(late) >= 0);
	short_write(early, EPOCH, 11);
	short_write(late, EPOCH + 60000 * MS, 12);
	for (int i = 0; i < 2; i++) {
		struct profile *p = both(orders[i], (struct profile_options){0});

		assert_int_equal(p->times[i].start_ns, 2000 * MS);
		assert_int_equal(p->times[!i].start_ns, 62000 * MS);
		assert_int_equal(p->from_ns, 0);
		assert_int_equal(p->to_ns, 0);
		assert_int_equal(p->chosen_ns[0], p->side_ns[0]);
		profile_free(p);
		p = both(orders[i],
			 (struct profile_options){.from_ns = 1000 * MS, .to_ns = 2500 * MS});
		assert_int_equal(p->times[!i].start_ns, 62000 * MS);
		assert_int_equal(p->from_ns, 1000 * MS);
		assert_int_equal(p->to_ns, 62500 * MS);
		assert_int_equal(p->chosen_ns[0], 3000 * MS);
		profile_free(p);
	}
	unlink(early);
	unlink(late);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_few),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_cells),
		cmocka_unit_test(test_several),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
