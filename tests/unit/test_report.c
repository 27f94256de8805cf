/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "run/report.h"

static void test_numbers(void **state)
{
	char b[32];

	assert_string_equal(report_count(0, b), "0");
	assert_string_equal(report_count(999, b), "999");
	assert_string_equal(report_count(1000, b), "1,000");
	assert_string_equal(report_count(1234567, b), "1,234,567");
	assert_string_equal(report_count(UINT64_MAX, b), "18,446,744,073,709,551,615");
	assert_string_equal(report_time(10000000, b), "10ms");
	assert_string_equal(report_time(1500000000, b), "1.5s");
	assert_string_equal(report_time(999, b), "999ns");
	assert_string_equal(report_time(0, b), "0ns");
	assert_string_equal(report_bytes(999, b), "999 B");
	assert_string_equal(report_bytes(12345, b), "12.3 kB");
	assert_string_equal(report_bytes(123456789, b), "123 MB");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_numbers)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
