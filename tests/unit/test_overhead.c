/* SPDX-License-Identifier: Apache-2.0 */
/* What is inferred of BPF run time. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "run/overhead.h"

#define MS 1000000ull

/* 200 ms at the start, when all stacks are taken, must not become 2 s of 10. */
static void beginning_counts_once(void **state)
{
	struct overhead o = {
		.known_ns = 1000 * MS,
		.known_bpf_ns = 200 * MS,
		.on_ns = 900 * MS,
		.bpf_ns = 9 * MS,
	};

	assert_int_equal(overhead_bpf_ns(&o, 10000 * MS), 290 * MS);
}

static void nothing_but_the_beginning(void **state)
{
	struct overhead o = {.known_ns = 500 * MS, .known_bpf_ns = 7 * MS};

	assert_int_equal(overhead_bpf_ns(&o, 501 * MS), 7 * MS);
	o = (struct overhead){0};
	assert_int_equal(overhead_bpf_ns(&o, 10 * MS), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(beginning_counts_once),
		cmocka_unit_test(nothing_but_the_beginning),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
