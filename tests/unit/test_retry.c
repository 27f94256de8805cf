/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "send/retry.h"

#define S 1000000000ull

static enum verdict of(int status)
{
	struct answer a = {.status = status};

	return answer_verdict(&a);
}

static void test_verdicts(void **state)
{
	static const int later[] = {0, 408, 429, 500, 502, 503, 504, 599};
	static const int refused[] = {100, 301, 307, 400, 401, 403, 404, 413, 415, 422};

	assert_int_equal(of(200), VERDICT_SENT);
	assert_int_equal(of(204), VERDICT_SENT);
	assert_int_equal(answer_verdict(&(struct answer){.status = 200, .is_page = true}),
			 VERDICT_REFUSED);
	assert_int_equal(answer_verdict(&(struct answer){.status = 502, .is_page = true}),
			 VERDICT_LATER);
	for (size_t i = 0; i < sizeof(later) / sizeof(later[0]); i++)
		assert_int_equal(of(later[i]), VERDICT_LATER);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		assert_int_equal(of(refused[i]), VERDICT_REFUSED);
}

/* From a second to a bound that doubles up to 30 s, each reached by some random number. */
static void test_waits(void **state)
{
	static const uint64_t most[] = {1, 2, 4, 8, 16, 30, 30};

	for (unsigned int n = 1; n < 7; n++) {
		assert_int_equal(retry_wait_ns(n, 0, 0), S);
		assert_int_equal(retry_wait_ns(n, 0, (most[n] - 1) * S), most[n] * S);
		for (uint64_t r = 1; r < 1ull << 62; r *= 3)
			assert_in_range(retry_wait_ns(n, 0, r), S, most[n] * S);
	}
	assert_int_equal(retry_wait_ns(4000000000u, 0, 29 * S), 30 * S);
}

/* What the server asks for is a floor, within reason. */
static void test_asked(void **state)
{
	assert_int_equal(retry_wait_ns(1, 60 * S, 0), 60 * S);
	assert_int_equal(retry_wait_ns(6, 3 * S, 20 * S), 21 * S);
	assert_int_equal(retry_wait_ns(1, 86400 * S, 0), 300 * S);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_verdicts),
		cmocka_unit_test(test_waits),
		cmocka_unit_test(test_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
