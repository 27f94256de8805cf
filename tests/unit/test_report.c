/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "run/report.h"

static void test_time(void **state)
{
	char b[32];

	assert_string_equal(report_time(10000000, b), "10ms");
	assert_string_equal(report_time(1500000000, b), "1.5s");
	assert_string_equal(report_time(999, b), "999ns");
	assert_string_equal(report_time(0, b), "0ns");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_time)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
