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
		.covered_ns = 8000 * MS,
		.covered_bpf_ns = 80 * MS,
		.lately_ns = 10 * MS,
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

static void assert_ms(uint64_t want, uint64_t ns)
{
	assert_in_range(ns, want * MS - 1000, want * MS + 1000);
}

/* A second of hard work before a window that came at once is not told for the hour before it. */
static void windows_stand_for_their_time(void **state)
{
	struct overhead o = {.known_ns = 1000 * MS, .known_bpf_ns = 5 * MS};

	o.on_since = 10900 * MS;
	overhead_measured(&o, 11000 * MS, 1 * MS); /* 1% of what is 10 s now */
	assert_ms(105, overhead_bpf_ns(&o, 11000 * MS));
	o.on_since = 11900 * MS;
	overhead_measured(&o, 12000 * MS, 50 * MS); /* half of one second */
	assert_ms(605, overhead_bpf_ns(&o, 12000 * MS));
	assert_ms(500, o.lately_ns);
	assert_ms(805, overhead_bpf_ns(&o, 12400 * MS)); /* it goes on */
}

static uint64_t rate_changes;

/* How many of `n` seconds have a window. */
static int windows_of(struct overhead *o, uint64_t *now, uint64_t *switches, int n, uint64_t rate)
{
	int windows = 0;

	for (int i = 0; i < n; i++) {
		*now += 1000 * MS;
		*switches += rate;
		windows += overhead_is_due(o, *now, *switches, rate_changes);
	}
	return windows;
}

static void windows_are_few(void **state)
{
	uint64_t now = 1000 * MS, n = 0;
	struct overhead o = {.second_ns = now};

	assert_int_equal(windows_of(&o, &now, &n, 30, 50000), 30);
	assert_int_equal(windows_of(&o, &now, &n, 100, 50000), 10);
	assert_int_equal(windows_of(&o, &now, &n, 100, 60000), 10); /* a fifth more */
	assert_int_equal(windows_of(&o, &now, &n, 1, 120000), 1);
	assert_int_equal(windows_of(&o, &now, &n, 9, 120000), 0);
	assert_int_equal(windows_of(&o, &now, &n, 1, 80000), 1);
	for (int i = 0; i < 20; i++) /* and while it changes */
		assert_int_equal(windows_of(&o, &now, &n, 1, i % 2 ? 80000 : 20000), 1);
	assert_true(windows_of(&o, &now, &n, 100, 30) <= 11);
	assert_int_equal(windows_of(&o, &now, &n, 50, 900), 5); /* next to nothing */
	rate_changes++; /* what programs do is another thing then */
	assert_int_equal(windows_of(&o, &now, &n, 5, 900), 5);
	assert_int_equal(windows_of(&o, &now, &n, 50, 900), 5);
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
		cmocka_unit_test(windows_stand_for_their_time),
		cmocka_unit_test(windows_are_few),
		cmocka_unit_test(measuring_is_not_in_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
