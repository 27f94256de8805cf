/* SPDX-License-Identifier: Apache-2.0 */
/* Who has how much to say about how often a process is sampled; and the levels of ticks. */
#include "run/rates.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture/capture.h"
#include "kern/abi.h"

#define MS 1000000ull
#define S  1000000000ull

static const struct rate usual = {10 * MS, 20 * MS};

static struct rate_now now_of(struct rates *r, uint64_t now_ns)
{
	struct rate_now n;

	rates_of(r, getpid(), now_ns, &n);
	return n;
}

static struct proc_id self(void)
{
	struct proc_id id;

	assert_int_equal(proc_id_read(getpid(), &id), 0);
	return id;
}

static void assert_rate(const struct rate_now *n, uint64_t cpu_ns, uint64_t wall_ns,
			enum rate_by by)
{
	assert_int_equal(n->rate.cpu_ns, cpu_ns);
	assert_int_equal(n->rate.wall_ns, wall_ns);
	assert_int_equal(n->by, by);
}

/* A command has more to say than a trigger, and that than the configuration, as long as each lasts.
 */
static void test_wishes(void **state)
{
	struct rates *r = rates_new(&usual, 5 * MS);
	struct rate_wish section = {.cpu = true, .rate = {.cpu_ns = 4 * MS}, .reason = "section"};
	struct rate_wish trigger = {.wall = true, .rate = {.wall_ns = 5 * MS}, .until_ns = 20 * S};
	struct rate_wish command = {
		.cpu = true, .wall = true, .rate = {MS, 7 * MS}, .until_ns = 10 * S};
	struct proc_id id = self();
	struct rate_now n = now_of(r, S);

	assert_rate(&n, 10 * MS, 20 * MS, RATE_CONFIGURATION);
	assert_int_equal(rates_wish(r, &id, RATE_COMMAND, &command), 0);
	assert_int_equal(rates_wish(r, &id, RATE_TRIGGER, &trigger), 0);
	assert_int_equal(rates_wish(r, &id, RATE_CONFIGURATION, &section), 0);
	n = now_of(r, S);
	assert_rate(&n, MS, 10 * MS, RATE_COMMAND); /* 7 ms: the next one that there is */
	assert_int_equal(n.until_ns, 10 * S);
	n = now_of(r, 10 * S);
	assert_rate(&n, 4 * MS, 5 * MS, RATE_TRIGGER);
	n = now_of(r, 20 * S);
	assert_rate(&n, 4 * MS, 20 * MS, RATE_CONFIGURATION);
	assert_string_equal(n.reason, "section");
	assert_int_equal(rates_wish(r, &id, RATE_CONFIGURATION, NULL), 0);
	n = now_of(r, 20 * S);
	assert_rate(&n, 10 * MS, 20 * MS, RATE_CONFIGURATION);
	rates_free(r);
}

/* The budget makes less of whatever is wished; what a command leaves out stays out. */
static void test_budget(void **state)
{
	struct rates *r = rates_new(&usual, 5 * MS);
	struct rate_wish none = {.wall = true};
	struct proc_id id = self();
	struct rate_now n;

	assert_int_equal(rates_limit(r, &id, RATE_CPU_2, "too much"), 0);
	n = now_of(r, S);
	assert_rate(&n, 20 * MS, 320 * MS, RATE_BUDGET);
	assert_int_equal(n.step, RATE_CPU_2);
	assert_string_equal(n.reason, "too much");
	assert_int_equal(rates_wish(r, &id, RATE_COMMAND, &none), 0);
	n = now_of(r, S);
	assert_rate(&n, 20 * MS, 0, RATE_BUDGET);
	assert_int_equal(rates_limit(r, &id, RATE_OFF, ""), 0);
	n = now_of(r, S);
	assert_rate(&n, 0, 0, RATE_BUDGET);
	assert_int_equal(rates_limit(r, &id, RATE_FULL, ""), 0);
	n = now_of(r, S);
	assert_rate(&n, 10 * MS, 0, RATE_COMMAND);
	rates_free(r);
}

/* Each step leaves less than the one before, of both kinds or of one. */
static void test_steps(void **state)
{
	for (int s = 1; s < RATE_STEPS; s++) {
		struct rate before = rate_less(usual, (enum rate_step)(s - 1));
		struct rate is = rate_less(usual, (enum rate_step)s);
		double was = 0, left = 0;

		was += before.cpu_ns ? 1.0 / (double)before.cpu_ns : 0;
		was += before.wall_ns ? 1.0 / (double)before.wall_ns : 0;
		left += is.cpu_ns ? 1.0 / (double)is.cpu_ns : 0;
		left += is.wall_ns ? 1.0 / (double)is.wall_ns : 0;
		assert_true(left < was);
		assert_string_not_equal(rate_step_name((enum rate_step)s),
					rate_step_name((enum rate_step)(s - 1)));
	}
}

/* What was wished of a process is not of the next one with its number. */
static void test_other_process(void **state)
{
	struct rates *r = rates_new(&usual, 5 * MS);
	struct rate_wish w = {.cpu = true, .rate = {.cpu_ns = MS}};
	struct proc_id id = self(), before = id;
	struct rate_now n;

	before.start--;
	assert_int_equal(rates_wish(r, &before, RATE_COMMAND, &w), 0);
	assert_int_equal(rates_wish(r, &id, RATE_CONFIGURATION, NULL), 0);
	n = now_of(r, S);
	assert_rate(&n, 10 * MS, 20 * MS, RATE_CONFIGURATION);
	rates_free(r);
}

/* ---- levels of ticks ---- */

/* Of each group one tick, and those of a level are ticks of all lower ones. */
static void test_levels(void **state)
{
	for (uint32_t level = 0; level <= GN_LEVEL_MAX; level++)
		for (uint64_t g = 0; g < 300; g++) {
			uint64_t k = gn_level_tick(g, level);

			assert_int_equal(k >> level, g);
			assert_int_equal(gn_level_before(k, level), g);
			assert_int_equal(gn_level_before(k + 1, level), g + 1);
			assert_int_equal(gn_level_next(k, level), k);
			if (level)
				assert_int_equal(gn_level_next(k, level - 1), k);
		}
}

static void test_levels_next(void **state)
{
	for (uint32_t level = 0; level <= 6; level++) {
		uint64_t own = 0;

		for (uint64_t k = 0; k < 3000; k++) {
			assert_int_equal(gn_level_before(k, level), own);
			assert_true(gn_level_next(k, level) >= k);
			own += gn_level_next(k, level) == k;
		}
	}
}

/* Each place in a group is as likely as the others: no period is favoured. */
static void test_levels_even(void **state)
{
	uint32_t places[8] = {0};

	for (uint64_t g = 0; g < 8000; g++)
		places[gn_level_tick(g, 3) & 7]++;
	for (int i = 0; i < 8; i++)
		assert_in_range(places[i], 850, 1150); /* 1000, and 5 standard deviations */
}

static void test_level_of(void **state)
{
	assert_int_equal(gn_level_of(0, 5 * MS), GN_LEVEL_NONE);
	assert_int_equal(gn_level_of(20 * MS, 0), GN_LEVEL_NONE);
	assert_int_equal(gn_level_of(MS, 5 * MS), 0);
	assert_int_equal(gn_level_of(5 * MS, 5 * MS), 0);
	assert_int_equal(gn_level_of(5 * MS + 1, 5 * MS), 1);
	assert_int_equal(gn_level_of(40 * MS, 5 * MS), 3);
	assert_int_equal(gn_level_of(~0ull >> 2, 5 * MS), GN_LEVEL_MAX);
	assert_int_equal(capture_wall_of(5 * MS, 21 * MS), 40 * MS);
	assert_int_equal(capture_wall_of(5 * MS, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wishes),	    cmocka_unit_test(test_budget),
		cmocka_unit_test(test_steps),	    cmocka_unit_test(test_other_process),
		cmocka_unit_test(test_levels),	    cmocka_unit_test(test_levels_next),
		cmocka_unit_test(test_levels_even), cmocka_unit_test(test_level_of),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
