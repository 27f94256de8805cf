/* SPDX-License-Identifier: Apache-2.0 */
/* When visits of ticks are left out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "capture/doze.h"

/* So many times: `needed` visits in a row that were needed, then one after `left_out` ticks. */
static void ticks_of(struct doze *d, int times, int needed, uint64_t left_out)
{
	for (int i = 0; i < times; i++) {
		for (int k = 0; k < needed; k++)
			doze_note(d, true, 1);
		doze_note(d, false, left_out + 1);
	}
}

static void test_few(void **state)
{
	struct doze d = {0};

	assert_true(doze_pays(&d));
	doze_note(&d, true, 1);
	assert_true(doze_pays(&d));
	for (int i = 0; i < 100; i++) {
		doze_note(&d, true, 4); /* a quarter of the ticks */
		assert_true(doze_pays(&d));
	}
	ticks_of(&d, 200, 0, 0);
	assert_int_equal(d.needed, 0);
}

static void test_many(void **state)
{
	struct doze d = {0};

	ticks_of(&d, 100, 3, 0); /* of four */
	assert_false(doze_pays(&d));
	for (int i = 0; i < 1000; i++)
		doze_note(&d, true, 1);
	assert_false(doze_pays(&d));
	assert_true(d.needed <= DOZE_WHOLE);
}

/* It changes within a second of ticks of 10 ms, and one that is like no other changes nothing. */
static void test_change(void **state)
{
	struct doze d = {0};
	int n;

	for (n = 0; doze_pays(&d); n++)
		doze_note(&d, true, 1);
	assert_in_range(n, 5, 50);
	for (int i = 0; i < 100; i++)
		doze_note(&d, true, 1);
	doze_note(&d, false, 1);
	assert_false(doze_pays(&d));
	for (n = 0; !doze_pays(&d); n++)
		doze_note(&d, false, 1);
	assert_in_range(n, 5, 50);
}

/* Ticks that were left out count as not needed, however many they are. */
static void test_left_out(void **state)
{
	struct doze d = {0};

	for (int i = 0; i < 100; i++)
		doze_note(&d, true, 1);
	doze_note(&d, false, 1ull << 62);
	assert_int_equal(d.needed, 0);
	assert_true(doze_pays(&d));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_few),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_change),
		cmocka_unit_test(test_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
