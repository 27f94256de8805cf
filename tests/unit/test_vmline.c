/* SPDX-License-Identifier: Apache-2.0 */
/* What a VM thread did at each tick, and who ran last. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "naming/vmline.h"

static void ticks(void **state)
{
	struct vmline *v = vmline_new();
	pid_t tid;

	assert_non_null(v);
	assert_int_equal(vmline_at(v, 0, &tid), 0);
	vmline_near(v, 7, 12, 5);
	vmline_note(v, 7, 10, 2, 3);
	assert_int_equal(vmline_at(v, 9, &tid), 0);
	assert_int_equal(vmline_at(v, 10, &tid), 3);
	assert_int_equal(tid, 7);
	assert_int_equal(vmline_at(v, 11, &tid), 3);
	assert_int_equal(vmline_at(v, 12, &tid), 5);
	/* what is known stays, whichever comes first */
	vmline_near(v, 7, 11, 5);
	assert_int_equal(vmline_at(v, 11, &tid), 3);
	vmline_note(v, 7, 12, 1, 4);
	assert_int_equal(vmline_at(v, 12, &tid), 4);
	/* a long rest takes the place of all before it, and of no later one */
	vmline_note(v, 7, 100, UINT32_MAX, 0);
	assert_int_equal(vmline_at(v, 10, &tid), 0);
	assert_int_equal(vmline_at(v, (uint64_t)100 + UINT32_MAX, &tid), 0);
	vmline_free(v);
}

static void last(void **state)
{
	struct vmline *v = vmline_new();

	assert_non_null(v);
	assert_int_equal(vmline_last(v, 0, UINT64_MAX), 0);
	vmline_ran(v, 2, 200);
	vmline_ran(v, 1, 100); /* its ring was read later */
	assert_int_equal(vmline_last(v, 50, 250), 2);
	assert_int_equal(vmline_last(v, 50, 199), 1);
	assert_int_equal(vmline_last(v, 201, 250), 0);
	for (int i = 0; i < 5000; i++)
		vmline_ran(v, 3, 1000);
	assert_int_equal(vmline_last(v, 50, 250), 0);
	assert_int_equal(vmline_last(v, 50, 1000), 3);
	vmline_free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ticks),
		cmocka_unit_test(last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
