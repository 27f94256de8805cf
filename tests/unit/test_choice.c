/* SPDX-License-Identifier: Apache-2.0 */
/* Of which threads wall samples are taken: N of them, each as likely as any other. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>

#include "kern/abi.h"
#include "run/choice.h"

#define MS 1000000ull

static void draw_lasts_a_quarter_second(void **state)
{
	static const uint64_t intervals[] = {MS / 10, MS, 10 * MS, 20 * MS, 31 * MS};

	for (size_t i = 0; i < sizeof(intervals) / sizeof(*intervals); i++) {
		uint64_t ns = intervals[i] << choice_shift(intervals[i], 200);

		assert_in_range(ns, 250 * MS, 499 * MS);
	}
	assert_int_equal(choice_shift(4000 * MS, 200), 3);
	/* 10,000 threads: 2 s at least, and it is 8 ticks of 256 ms */
	assert_int_equal(choice_shift(256 * MS, 10000), 3);
	assert_in_range(10 * MS << choice_shift(10 * MS, 10000), 2000 * MS, 3999 * MS);
	assert_in_range(10 * MS << choice_shift(10 * MS, 30000), 6000 * MS, 11999 * MS);
	assert_int_equal(gn_draw_lead(3), 4);
}

static void limit_is_nth_smallest(void **state)
{
	uint32_t h[] = {50, 10, 40, 30, 20};

	assert_int_equal(choice_limit(h, 5, 2), 20);
	assert_int_equal(choice_limit(h, 5, 1), 10);
	assert_int_equal(choice_limit(h, 5, 5), UINT32_MAX);
	assert_int_equal(choice_limit(h, 5, 9), UINT32_MAX);
	assert_int_equal(choice_limit(h, 0, 1), UINT32_MAX);
}

/* 200 threads with numbers in a row, as threads of a pool have, 16 chosen in each of 4,000. */
static void all_are_as_likely(void **state)
{
	enum { THREADS = 200, N = 16, EPOCHS = 4000, FIRST = 123456 };
	unsigned int times[THREADS] = {0}, both = 0;
	double want = (double)EPOCHS * N / THREADS, chi = 0;

	for (uint64_t e = 0; e < EPOCHS; e++) {
		struct gn_proc p = {0};
		uint32_t h[THREADS];
		unsigned int n = 0;

		for (uint32_t i = 0; i < THREADS; i++)
			h[i] = gn_thread_hash(FIRST + i, e);
		p.limit[e % GN_DRAWS] = choice_limit(h, THREADS, N);
		for (uint32_t i = 0; i < THREADS; i++)
			if (gn_is_chosen(&p, FIRST + i, e)) {
				times[i]++;
				n++;
			}
		assert_int_equal(n, N);
		both += gn_is_chosen(&p, FIRST, e) && gn_is_chosen(&p, FIRST + 1, e);
	}
	for (size_t i = 0; i < THREADS; i++)
		chi += (times[i] - want) * (times[i] - want) / (want * (1 - (double)N / THREADS));
	/* 199 degrees of freedom, four standard deviations (20) each way */
	assert_true(chi > 119 && chi < 279);
	/* neighbours independently of each other: 16/200 x 15/199 of the draws, sigma 5 */
	assert_true(fabs(both - EPOCHS * (16.0 / 200) * (15.0 / 199)) < 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(draw_lasts_a_quarter_second),
		cmocka_unit_test(limit_is_nth_smallest),
		cmocka_unit_test(all_are_as_likely),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
