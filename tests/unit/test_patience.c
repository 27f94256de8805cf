/* SPDX-License-Identifier: Apache-2.0 */
/* How long one that names is waited for: what is counted against it, and what is not. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "naming/patience.h"

#define MS 1000000ull

static const struct signs none;

/* `n` looks, 100 ms apart, in each of which it waited for a CPU for so long and did so much. */
static uint64_t looks(struct patience *p, struct signs *s, uint64_t now, int n, uint64_t delay,
		      uint64_t steps, uint64_t ours)
{
	for (int i = 0; i < n; i++) {
		now += 100 * MS;
		s->delay_ns += delay;
		s->steps += steps;
		s->ours += ours;
		patience_look(p, s, now);
	}
	return now;
}

static void quiet_is_counted(void **state)
{
	struct signs s = none;
	struct patience p;
	uint64_t now = 7;

	patience_begin(&p, &s, now);
	now = looks(&p, &s, now, 99, 0, 0, 0);
	assert_int_equal(p.quiet_ns, 9900 * MS);
	assert_true(p.quiet_ns < PATIENCE_QUIET_NS);
	now = looks(&p, &s, now, 1, 0, 0, 0);
	assert_true(p.quiet_ns >= PATIENCE_QUIET_NS);
	looks(&p, &s, now, 1, 0, 1, 0);
	assert_int_equal(p.quiet_ns, 0);
}

/* For a CPU, for the disk and ours; and of a long time between two looks nobody knows. */
static void waiting_is_not(void **state)
{
	struct signs s = none;
	struct patience p;
	uint64_t now = 0;

	patience_begin(&p, &s, now);
	now = looks(&p, &s, now, 50, 90 * MS, 0, 0);
	assert_int_equal(p.quiet_ns, 500 * MS);
	now = looks(&p, &s, now, 50, 0, 0, 3);
	assert_int_equal(p.quiet_ns, 500 * MS);
	patience_look(&p, &s, now + 60000 * MS);
	assert_int_equal(p.quiet_ns, 700 * MS);
	/* more than has passed, as counters of several CPUs may say, is no credit */
	looks(&p, &s, now + 60000 * MS, 1, 5000 * MS, 0, 0);
	assert_int_equal(p.quiet_ns, 700 * MS);
	/* nor are counters that go back */
	s.delay_ns = 0;
	patience_look(&p, &s, now + 60200 * MS);
	assert_int_equal(p.quiet_ns, 800 * MS);
}

/* At the end work is no excuse. */
static void end_is_counted(void **state)
{
	struct signs s = none;
	struct patience p;
	uint64_t now = 0;

	patience_begin(&p, &s, now);
	now = looks(&p, &s, now, 30, 0, 1, 0);
	assert_int_equal(p.spent_ns, 0);
	patience_end(&p, &s, now, 250 * MS);
	now = looks(&p, &s, now, 7, 0, 1, 0);
	assert_int_equal(p.spent_ns, 950 * MS);
	assert_true(p.spent_ns < PATIENCE_ADDRESSES_NS);
	now = looks(&p, &s, now, 10, 50 * MS, 1, 0);
	assert_int_equal(p.spent_ns, 1450 * MS);
	assert_int_equal(p.spared_ns, 500 * MS);
	looks(&p, &s, now, 4, 0, 1, 0);
	assert_true(p.spent_ns >= PATIENCE_END_NS);
}

/* But the end comes: who only ever waits has ten seconds more. */
static void end_comes(void **state)
{
	struct signs s = none;
	struct patience p;

	patience_begin(&p, &s, 0);
	patience_end(&p, &s, 0, 0);
	looks(&p, &s, 0, 99, 0, 0, 1);
	assert_int_equal(p.spent_ns, 0);
	looks(&p, &s, 9900 * MS, 19, 0, 0, 1);
	assert_int_equal(p.spared_ns, PATIENCE_SPARED_NS);
	assert_true(p.spent_ns >= PATIENCE_END_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quiet_is_counted),
		cmocka_unit_test(waiting_is_not),
		cmocka_unit_test(end_is_counted),
		cmocka_unit_test(end_comes),
	};

	return cmocka_run_group_tests_name("patience", tests, NULL, NULL);
}
