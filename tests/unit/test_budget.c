/* SPDX-License-Identifier: Apache-2.0 */
/* The budget: who is sampled less when, and who gets it back. */
#include "run/budget.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define S    1000000000ull
#define JVMS 3

/* JVMs that cost so much when nothing is taken from them: shares of all CPUs. */
static double full[JVMS];
static enum rate_step steps[JVMS];
static double spent[JVMS];
static struct jvm_budget *b;
static uint64_t now;
static char reason[JVMS][128];

/* What steps really leave is not what the budget thinks. */
static double left_of(enum rate_step s)
{
	static const double left[RATE_STEPS] = {1, 0.85, 0.75, 0.6, 0.5, 0.35, 0.2, 0.1, 0.05, 0};

	return left[s];
}

static double cost_now(void)
{
	double sum = 0;

	for (int i = 0; i < JVMS; i++)
		sum += full[i] * left_of(steps[i]);
	return sum;
}

/* What all have while one has that step. */
static enum rate_step least_beside(enum rate_step s)
{
	return s >= RATE_WALL_64 ? RATE_WALL_16 : s >= RATE_ALL_16 ? RATE_WALL_4 : RATE_FULL;
}

static double own; /* what the daemon costs without any sample */

static double second(void)
{
	struct budget_change c;
	double cost = cost_now() + own;

	now += S;
	for (int i = 0; i < JVMS; i++) {
		spent[i] += full[i] * left_of(steps[i]) * 1e9;
		budget_jvm(b, 100 + i, spent[i]);
	}
	budget_second(b, now, cost);
	while (budget_change(b, &c)) {
		assert_in_range(c.pid, 100, 100 + JVMS - 1);
		assert_true(c.step != steps[c.pid - 100]);
		steps[c.pid - 100] = c.step;
		strcpy(reason[c.pid - 100], c.reason);
	}
	return cost_now();
}

static int begin(void **state)
{
	const struct budget_limits l = {.share = 0.01};

	memset(full, 0, sizeof(full));
	memset(steps, 0, sizeof(steps));
	memset(spent, 0, sizeof(spent));
	now = 0;
	own = 0;
	b = budget_new(&l);
	assert_non_null(b);
	for (int i = 0; i < 6; i++)
		second(); /* what was spent before is nobody's, and they are not new any more */
	return 0;
}

static int end(void **state)
{
	budget_free(b);
	return 0;
}

static void costs(double a, double x, double c)
{
	full[0] = a;
	full[1] = x;
	full[2] = c;
}

static void under(void **state)
{
	costs(0.004, 0.004, 0.001);
	for (int i = 0; i < 100; i++)
		second();
	for (int i = 0; i < JVMS; i++)
		assert_int_equal(steps[i], RATE_FULL);
}

/* A little over it in the mean: a step of the costliest; the others keep all. */
static void costliest_first(void **state)
{
	costs(0.002, 0.007, 0.002);
	for (int i = 0; i < 5; i++)
		second();
	assert_int_equal(steps[1], RATE_FULL); /* some seconds may pass */
	for (int i = 0; i < 40 && !steps[1]; i++)
		second();
	assert_int_equal(steps[1], RATE_WALL_2);
	assert_non_null(strstr(reason[1], "1.10% of the CPUs, budget 1.00%"));
	for (int i = 0; i < 10; i++)
		second();
	assert_true(cost_now() <= 0.01);
	assert_int_equal(steps[0], RATE_FULL);
	assert_int_equal(steps[2], RATE_FULL);
}

/* What is over it now and then, and not in the mean, takes nothing. */
static void now_and_then(void **state)
{
	costs(0.004, 0.003, 0.001);
	for (int i = 0; i < 300; i++) {
		own = i % 10 < 2 ? 0.006 : 0;
		second();
	}
	for (int i = 0; i < JVMS; i++)
		assert_int_equal(steps[i], RATE_FULL);
}

/* Two bad seconds take no wall samples of who has few of them. */
static void bad_seconds(void **state)
{
	costs(0.06, 0.001, 0); /* so that no step back fits */
	for (int i = 0; i < 10 && steps[0] < RATE_WALL_64; i++)
		second();
	assert_int_equal(steps[0], RATE_WALL_64);
	for (int i = 2; i < 300; i++) {
		own = i % 60 < 2 ? 0.012 : 0.001;
		second();
		assert_int_equal(steps[0], RATE_WALL_64);
	}
}

/* Nor do a dozen in a minute, where the minute is within the budget; a minute beyond it does. */
static void bad_minute(void **state)
{
	int seconds = 0;

	costs(0.06, 0.001, 0);
	for (int i = 0; i < 10 && steps[0] < RATE_WALL_64; i++)
		second();
	for (int i = 0; i < 300; i++) {
		own = i % 60 < 12 ? 0.008 : 0.002;
		second();
		assert_int_equal(steps[0], RATE_WALL_64);
	}
	own = 0.006;
	while (steps[0] == RATE_WALL_64 && seconds++ < 120)
		second();
	assert_int_equal(steps[0], RATE_CPU_ONLY);
	assert_in_range(seconds, 10, 100);
}

/* Where what is recorded is what costs far too much, one second is enough; not where it is not. */
static void surge(void **state)
{
	costs(0.003, 0.002, 0.001);
	for (int i = 0; i < 10; i++)
		second();
	own = 0.03;
	second();
	own = 0;
	assert_int_equal(steps[0], RATE_FULL);
	for (int i = 0; i < 10; i++)
		second();
	costs(0.03, 0.002, 0.001);
	assert_true(second() <= 0.015);
	assert_true(steps[0] > RATE_FULL);
}

/* Ten times the load, ten times: never beyond 1.5 times the budget for longer than 3 s. */
static void bursts(void **state)
{
	for (int round = 0; round < 10; round++) {
		int beyond = 0;

		costs(0.003, 0.002, 0.001);
		for (int i = 0; i < 15; i++)
			second();
		costs(0.03, 0.02, 0.01);
		for (int i = 0; i < 15; i++) {
			beyond = second() > 0.015 ? beyond + 1 : 0;
			assert_in_range(beyond, 0, 1);
		}
		assert_true(cost_now() <= 0.015); /* a step back may have been tried */
	}
}

/* Under it for ten seconds, a step; all of it in the end, and not before. */
static void back(void **state)
{
	enum rate_step least;
	int seconds = 0;

	costs(0.03, 0, 0);
	for (int i = 0; i < 20; i++)
		second();
	assert_true(steps[0] > RATE_FULL);
	costs(0.002, 0, 0);
	least = steps[0];
	for (int i = 0; i < 9; i++)
		second();
	assert_in_range(steps[0], least - 1, least); /* it may have been under it a while */
	while (steps[0] && seconds++ < 100)
		second();
	assert_int_equal(steps[0], RATE_FULL);
	assert_in_range(seconds, 10 * ((int)least - 2), 10 * (int)least);
	assert_non_null(strstr(reason[0], "within the budget"));
}

/* Where a step back would not fit, it is not tried again and again. */
static void stays(void **state)
{
	int changes = 0;

	costs(0.012, 0, 0);
	for (int i = 0; i < 20; i++)
		second();
	for (int i = 0; i < 200; i++) {
		enum rate_step was = steps[0];

		second();
		changes += steps[0] != was;
	}
	assert_true(cost_now() <= 0.01);
	assert_in_range(changes, 0, 2 * 200 / 10);
}

static void no_more(void **state)
{
	const struct budget_limits none = {0};

	costs(0.03, 0.02, 0);
	for (int i = 0; i < 5; i++)
		second();
	assert_true(steps[0] > RATE_FULL);
	budget_limits(b, &none);
	second();
	assert_int_equal(steps[0], RATE_FULL);
	assert_int_equal(steps[1], RATE_FULL);
	assert_string_equal(reason[0], "there is no budget any more");
	assert_string_equal(reason[2], "no other JVM costs too much any more");
}

static void each_jvm(void **state)
{
	const struct budget_limits l = {.jvm_share = 0.002};

	budget_limits(b, &l);
	costs(0.01, 0.001, 0.001);
	for (int i = 0; i < 5; i++)
		second();
	assert_true(full[0] * left_of(steps[0]) <= 0.002);
	assert_int_equal(steps[1], RATE_FULL);
	assert_non_null(strstr(reason[0], "its budget is 0.20%"));
}

/* What no JVM costs cannot be taken from one; nor from those that have ended. */
static void nobody(void **state)
{
	struct budget_change c;

	budget_second(b, now + S, 0.5);
	assert_false(budget_change(b, &c));
	costs(0.03, 0, 0);
	for (int i = 0; i < 10; i++)
		second();
	assert_true(steps[0] > 0);
	budget_second(b, now + 2 * S, 0.5);
	assert_false(budget_change(b, &c));
}

/*
 * What the daemon takes itself is not taken from JVMs that cost next to nothing, nor from others
 * more than they cost; but what is done after each tick becomes less.
 */
static void base(void **state)
{
	own = 0.03;
	costs(0.00002, 0.00001, 0.004);
	for (int i = 0; i < 30; i++)
		second();
	assert_true(steps[2] >= RATE_ALL_16);
	assert_int_equal(steps[0], least_beside(steps[2]));
	assert_int_equal(steps[1], least_beside(steps[2]));
	assert_non_null(strstr(reason[0], "after each tick"));
}

/* A JVM that comes: its first seconds pass, what it costs then counts. */
static void taken_in(void **state)
{
	budget_free(b);
	b = budget_new(&(struct budget_limits){.share = 0.01});
	costs(0.2, 0.001, 0);
	for (int i = 0; i < 5; i++)
		second();
	for (int i = 0; i < JVMS; i++)
		assert_int_equal(steps[i], RATE_FULL);
	costs(0.001, 0.02, 0);
	for (int i = 0; i < 4; i++)
		second();
	assert_in_range(steps[0], RATE_FULL, RATE_WALL_4);
	assert_true(steps[1] > RATE_FULL);
}

/* What was taken before a step is still being named: no further step is taken for that. */
static void on_its_way_down(void **state)
{
	enum rate_step step;

	costs(0.02, 0.001, 0);
	second();
	own = 0.05;
	second();
	step = steps[0];
	assert_true(step > RATE_FULL && step <= RATE_WALL_64);
	for (own = 0.04; own > 0.001; own *= 0.3)
		second();
	assert_int_equal(steps[0], step);
}

/* A new one is left alone also where others cost too much. */
static void new_beside_others(void **state)
{
	struct budget_change c;

	costs(0.2, 0.001, 0.001);
	for (int i = 0; i < 4; i++)
		second();
	assert_true(steps[0] >= RATE_ALL_16);
	assert_true(steps[1] >= RATE_WALL_4);
	for (int i = 0; i < 8; i++) {
		for (int k = 0; k < JVMS; k++)
			budget_jvm(b, 100 + k, spent[k]);
		budget_jvm(b, 200, 1000);
		now += S;
		budget_second(b, now, 0.005);
		while (budget_change(b, &c))
			if (c.pid == 200)
				assert_true(i >= 5 && c.step == least_beside(steps[0]));
	}
}

/* All of them off is all that can be done. */
static void hopeless(void **state)
{
	costs(10, 10, 10);
	for (int i = 0; i < 20; i++)
		second();
	for (int i = 0; i < JVMS; i++)
		assert_int_equal(steps[i], RATE_OFF);
}

/* What it cost once, all in one moment, does not keep a JVM off for ever; it is all of it in the
 * end. */
static void moment_passes(void **state)
{
	int seconds = 0;

	costs(0.9, 0.001, 0);
	for (int i = 0; i < 8; i++)
		second();
	assert_int_equal(steps[0], RATE_OFF);
	costs(0.003, 0.001, 0);
	while (steps[0] && seconds++ < 1200)
		second();
	assert_int_equal(steps[0], RATE_FULL);
}

/* Who costs far too much is tried less and less often: one second in forty is over the budget. */
static void rarely_tried(void **state)
{
	int over = 0;

	costs(0.9, 0.001, 0);
	for (int i = 0; i < 3600; i++)
		over += second() > 0.01;
	assert_in_range(over, 3, 3600 / 40);
}

/* With the daemon itself over the budget, idle JVMs keep most of their samples. */
static void idle_kept(void **state)
{
	own = 0.013;
	costs(0.004, 0.0001, 0.0001);
	for (int i = 0; i < 200; i++)
		second();
	assert_true(steps[0] >= RATE_CPU_ONLY);
	assert_int_equal(steps[1], RATE_WALL_16);
	assert_int_equal(steps[2], RATE_WALL_16);
	own = 0.001;
	for (int i = 0; i < 200; i++)
		second();
	for (int i = 0; i < JVMS; i++)
		assert_int_equal(steps[i], RATE_FULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(under, begin, end),
		cmocka_unit_test_setup_teardown(costliest_first, begin, end),
		cmocka_unit_test_setup_teardown(now_and_then, begin, end),
		cmocka_unit_test_setup_teardown(bad_seconds, begin, end),
		cmocka_unit_test_setup_teardown(bad_minute, begin, end),
		cmocka_unit_test_setup_teardown(surge, begin, end),
		cmocka_unit_test_setup_teardown(bursts, begin, end),
		cmocka_unit_test_setup_teardown(back, begin, end),
		cmocka_unit_test_setup_teardown(stays, begin, end),
		cmocka_unit_test_setup_teardown(no_more, begin, end),
		cmocka_unit_test_setup_teardown(each_jvm, begin, end),
		cmocka_unit_test_setup_teardown(nobody, begin, end),
		cmocka_unit_test_setup_teardown(base, begin, end),
		cmocka_unit_test_setup_teardown(taken_in, begin, end),
		cmocka_unit_test_setup_teardown(on_its_way_down, begin, end),
		cmocka_unit_test_setup_teardown(new_beside_others, begin, end),
		cmocka_unit_test_setup_teardown(hopeless, begin, end),
		cmocka_unit_test_setup_teardown(moment_passes, begin, end),
		cmocka_unit_test_setup_teardown(rarely_tried, begin, end),
		cmocka_unit_test_setup_teardown(idle_kept, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
