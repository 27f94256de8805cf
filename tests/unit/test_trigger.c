/* SPDX-License-Identifier: Apache-2.0 */
/* When a trigger fires: shares of the last seconds, with a margin before it may again; times of
 * day. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "run/trigger.h"

#define S 1000000000ull

static const struct trigger cpu = {
	.what = TRIGGER_CPU, .above = 0.5, .below = 0.4, .for_ns = 10 * S};
static struct trigger_memory m;
static struct trigger_sum sum;
static double share;

/* So many seconds of that share. How often it fired. */
static int run(unsigned int seconds, double part)
{
	int fired = 0;

	for (unsigned int i = 0; i < seconds; i++) {
		sum.at_ns += S;
		sum.whole += S;
		sum.part += (uint64_t)(part * (double)S);
		fired += trigger_share(&cpu, &m, &sum, &share);
	}
	return fired;
}

static int setup(void **state)
{
	m = (struct trigger_memory){0};
	sum = (struct trigger_sum){.at_ns = 100 * S};
	return 0;
}

static void test_margin(void **state)
{
	assert_int_equal(run(10, 1), 0); /* not so much is known yet */
	assert_int_equal(run(1, 1), 1);
	assert_float_equal(share, 1, 0.001);
	assert_int_equal(run(30, 0.6), 0);  /* it still is so */
	assert_int_equal(run(30, 0.45), 0); /* below, but not by the margin */
	assert_int_equal(run(30, 0.6), 0);
	assert_int_equal(run(30, 0.3), 0);
	assert_int_equal(run(30, 0.6), 1);
}

/* A short burst is none of ten seconds. */
static void test_burst(void **state)
{
	run(30, 0.1);
	assert_int_equal(run(4, 1), 0);
	assert_int_equal(run(30, 0.1), 0);
}

/* Sums of another process. */
static void test_anew(void **state)
{
	run(30, 1);
	sum.part = 0;
	assert_int_equal(run(9, 1), 0);
	assert_int_equal(run(4, 1), 1);
}

static void test_time_of_day(void **state)
{
	const struct trigger t = {.what = TRIGGER_AT, .at_minute = 5};

	assert_false(trigger_at(&t, 5, 5));
	assert_false(trigger_at(&t, 5, 6));
	assert_true(trigger_at(&t, 4, 5));
	assert_true(trigger_at(&t, 24 * 60 - 1, 5 - 1) == false);
	assert_true(trigger_at(&t, 3, 6));		/* a look was late */
	assert_false(trigger_at(&t, 23 * 60, 12 * 60)); /* the clock was set */
}

/* It holds from one look to the next; a level that is not known is none. */
static void test_level(void **state)
{
	const struct trigger t = {.what = TRIGGER_FROZEN, .above = 30, .below = 24};

	assert_false(trigger_level(&t, &m, 0));
	assert_false(trigger_level(&t, &m, 30));
	assert_true(trigger_level(&t, &m, 31));
	assert_false(trigger_level(&t, &m, 32));
	assert_false(trigger_level(&t, &m, 25));
	assert_false(trigger_level(&t, &m, 40));
	assert_false(trigger_level(&t, &m, 1));
	assert_true(trigger_level(&t, &m, 31));
}

/* Another circle is another deadlock, though the first one lasts. */
static void test_deadlocks(void **state)
{
	const struct trigger t = {.what = TRIGGER_DEADLOCK};

	assert_false(trigger_level(&t, &m, 0));
	assert_true(trigger_level(&t, &m, 2));
	assert_false(trigger_level(&t, &m, 2));
	assert_true(trigger_level(&t, &m, 5));
	assert_false(trigger_level(&t, &m, 2));
	assert_true(trigger_level(&t, &m, 4));
}

static void test_watch(void **state)
{
	struct trigger v[3] = {
		{.what = TRIGGER_METHOD, .method = "a.B.*"},
		{.what = TRIGGER_CPU},
		{.what = TRIGGER_FROZEN, .method = "c"},
	};
	struct triggers t = {v, 3};
	struct watch_orders o;

	triggers_watch(&t, 7, &o);
	assert_int_equal(o.number, 7);
	assert_int_equal(o.n, 2);
	assert_int_equal(o.locks, 0);
	assert_string_equal(o.method[v[0].slot], "a.B.*");
	assert_string_equal(o.method[v[2].slot], "c");
	v[1].what = TRIGGER_DEADLOCK;
	triggers_watch(&t, 8, &o);
	assert_int_equal(o.locks, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_margin, setup),
		cmocka_unit_test_setup(test_burst, setup),
		cmocka_unit_test_setup(test_anew, setup),
		cmocka_unit_test(test_time_of_day),
		cmocka_unit_test_setup(test_level, setup),
		cmocka_unit_test_setup(test_deadlocks, setup),
		cmocka_unit_test(test_watch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
