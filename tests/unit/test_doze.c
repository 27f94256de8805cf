/* SPDX-License-Identifier: Apache-2.0 */
/* When visits of ticks are left out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "capture/doze.h"

#define MS  1000000ull
#define SEC (1000 * MS)

static uint64_t ticks_at(struct doze *d, uint64_t now)
{
	return doze_ticks(d, now, d->unseen, 10 * MS);
}

static void quiet(struct doze *d, int visits)
{
	for (int i = 0; i < visits; i++)
		doze_note(d, DOZE_QUIET, 1);
}

static void test_quiet(void **state)
{
	struct doze d = {0};

	quiet(&d, 99);
	assert_int_equal(ticks_at(&d, SEC), 1);
	quiet(&d, 1);
	assert_int_equal(ticks_at(&d, SEC), 10);
	assert_int_equal(doze_ticks(&d, SEC, 0, 20 * MS), 5);
	assert_int_equal(doze_ticks(&d, SEC, 0, MS), 100);
	assert_int_equal(doze_ticks(&d, SEC, 0, 100 * MS), 1); /* as long as it would be */
	assert_int_equal(doze_ticks(&d, SEC, 0, 3600 * SEC), 1);
	doze_note(&d, DOZE_BUSY, 1);
	assert_int_equal(ticks_at(&d, SEC), 1);
	quiet(&d, 99);
	assert_int_equal(ticks_at(&d, SEC), 1);
}

/* Threads that are pending at two ticks a second leave the others quiet, at five they do not. */
static void pending(struct doze *d, int ticks_between)
{
	for (int i = 0; i < 20; i++) {
		doze_note(d, DOZE_PENDING, 1);
		doze_note(d, DOZE_QUIET, (uint64_t)ticks_between);
	}
}

static void test_pending(void **state)
{
	struct doze d = {0};

	quiet(&d, 1000);
	pending(&d, 50);
	assert_int_equal(ticks_at(&d, SEC), 10);
	pending(&d, 20);
	assert_int_equal(ticks_at(&d, SEC), 1);
	pending(&d, 100);
	assert_int_equal(ticks_at(&d, SEC), 10);
}

/* Once something was missed all are visited: for 1 s, then 2, ..., at most a minute. */
static void test_missed(void **state)
{
	struct doze d = {0};
	uint64_t now = SEC, unseen = 0;

	quiet(&d, 1000);
	assert_int_equal(doze_ticks(&d, now, unseen, 10 * MS), 10);
	for (uint64_t s = 1; s < 1000; s *= 2) {
		uint64_t for_ns = (s < 60 ? s : 60) * SEC;

		assert_int_equal(doze_ticks(&d, now, ++unseen, 10 * MS), 1);
		assert_int_equal(doze_ticks(&d, now + for_ns - 1, unseen, 10 * MS), 1);
		assert_int_equal(doze_ticks(&d, now + for_ns, unseen, 10 * MS), 10);
		now += for_ns + 59 * SEC;
	}
	now += 2 * SEC; /* that is a minute ago */
	assert_int_equal(doze_ticks(&d, now, ++unseen, 10 * MS), 1);
	assert_int_equal(doze_ticks(&d, now + SEC, unseen, 10 * MS), 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quiet),
		cmocka_unit_test(test_pending),
		cmocka_unit_test(test_missed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
