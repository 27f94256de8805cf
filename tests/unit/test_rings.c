/* SPDX-License-Identifier: Apache-2.0 */
/* How large a ring buffer becomes after losses, and after quiet times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "capture/rings.h"

#define KB 1024u
#define MB (1024u * KB)

static void test_steps(void **state)
{
	assert_int_equal(rings_size(100 * KB, 0, 64 * MB), 100 * KB);
	assert_int_equal(rings_size(128 * KB, 1310, 64 * MB), 128 * KB); /* just below 1% */
	assert_int_equal(rings_size(128 * KB, 2622, 64 * MB), 256 * KB); /* 2% */
	assert_int_equal(rings_size(128 * KB, 64 * KB, 64 * MB), 256 * KB);
	assert_int_equal(rings_size(128 * KB, 66 * KB, 64 * MB), 512 * KB);
	assert_int_equal(rings_size(128 * KB, 256 * KB, 64 * MB), 512 * KB);
	assert_int_equal(rings_size(128 * KB, 260 * KB, 64 * MB), 1 * MB);
	assert_int_equal(rings_size(128 * KB, 1 * MB, 64 * MB), 1 * MB);    /* 800% */
	assert_int_equal(rings_size(128 * KB, 1200 * KB, 64 * MB), 2 * MB); /* 9.4 times: 16 */
	assert_int_equal(rings_size(128 * KB, 10 * MB, 64 * MB), 16 * MB);
}

static void test_cap(void **state)
{
	assert_int_equal(rings_size(32 * MB, 1000ull * MB, 64 * MB), 64 * MB);
	assert_int_equal(rings_size(64 * MB, 1000ull * MB, 64 * MB), 64 * MB);
	assert_int_equal(rings_size(4 * KB, UINT64_MAX, 64 * MB), 64 * MB);
	/* never shrunk, even above the cap */
	assert_int_equal(rings_size(128 * MB, 128 * MB, 64 * MB), 128 * MB);
}

static void test_quiet(void **state)
{
	assert_int_equal(rings_size_quiet(64 * MB, 0, 128 * KB), 128 * KB);
	assert_int_equal(rings_size_quiet(64 * MB, 32 * KB, 128 * KB), 128 * KB);
	assert_int_equal(rings_size_quiet(64 * MB, 33 * KB, 128 * KB), 256 * KB);
	assert_int_equal(rings_size_quiet(64 * MB, 1 * MB, 128 * KB), 4 * MB);
	assert_int_equal(rings_size_quiet(64 * MB, 8 * MB, 128 * KB), 32 * MB);
	/* more than an eighth is in use */
	assert_int_equal(rings_size_quiet(64 * MB, 8 * MB + 1, 128 * KB), 64 * MB);
	assert_int_equal(rings_size_quiet(256 * KB, 33 * KB, 128 * KB), 256 * KB);
	/* never more than before */
	assert_int_equal(rings_size_quiet(128 * KB, 0, 128 * KB), 128 * KB);
	assert_int_equal(rings_size_quiet(128 * KB, 0, 256 * KB), 128 * KB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_cap),
		cmocka_unit_test(test_quiet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
