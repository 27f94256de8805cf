/* SPDX-License-Identifier: Apache-2.0 */
/* What is inferred of BPF run time, and whose memory is told. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <sys/wait.h>
#include <unistd.h>
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

/* Programs that do nothing take what measuring takes: they cost nothing without it. */
static void measuring_is_not_in_it(void **state)
{
	struct overhead o = {.run_price_ns = 40};

	assert_int_equal(overhead_net(&o, 100000, 1000), 60000);
	assert_int_equal(overhead_net(&o, 39000, 1000), 0);
	assert_int_equal(overhead_net(&o, 0, 0), 0);
}

#define HEAP (300u << 20)

/* This program as one with a large memory starts it: it is small, and says so. */
static int peak_is_small(void)
{
	struct overhead o = {0};
	struct overhead_cost c;

	overhead_cost(&o, &c);
	return c.memory && c.memory_peak >= c.memory && c.memory_peak < HEAP / 3 ? 0 : 1;
}

static void memory_is_our_own(void **state)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		char *p = malloc(HEAP);

		if (p)
			memset(p, 1, HEAP);
		execl("/proc/self/exe", "test_overhead", p && p[HEAP / 2] ? "peak" : "", NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return strcmp(argv[1], "peak") ? 2 : peak_is_small();

	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_is_our_own),
		cmocka_unit_test(beginning_counts_once),
		cmocka_unit_test(nothing_but_the_beginning),
		cmocka_unit_test(measuring_is_not_in_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
