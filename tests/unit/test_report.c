/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "model/stack.h"
#include "out/report.h"

static void test_time(void **state)
{
	char b[32];

	assert_string_equal(report_time(10000000, b), "10ms");
	assert_string_equal(report_time(1500000000, b), "1.5s");
	assert_string_equal(report_time(999, b), "999ns");
	assert_string_equal(report_time(0, b), "0ns");
}

/* What report_summary() says of these samples. */
static void said(const struct totals *t, char *text, size_t size)
{
	const struct report_summary r = {.elapsed_ns = 1000000000, .cpu_ns = 1, .wall_ns = 1};
	const struct overhead_cost c = {.wall_ns = 1000000000};
	FILE *to = tmpfile();
	int old = dup(STDERR_FILENO);
	size_t n;

	assert_true(to && old >= 0 && dup2(fileno(to), STDERR_FILENO) >= 0);
	report_summary(&r, t, &c);
	dup2(old, STDERR_FILENO);
	close(old);
	rewind(to);
	n = fread(text, 1, size - 1, to);
	text[n] = '\0';
	fclose(to);
}

static void has(const char *text, const char *lines)
{
	if (!strstr(text, lines))
		fail_msg("no '%s' in '%s'", lines, text);
}

/*
 * Of the wall samples, of which there are a hundred times as many, one percent has no stack; of the
 * CPU samples one in ten is cut. Each is said of its own.
 */
static void test_quality(void **state)
{
	const struct stack whole = {.end = GN_END_COMPLETE},
			   cut = {.end = GN_END_DEPTH, .guessed = true},
			   base = {.end = GN_END_CONT, .unnamed = true};
	struct totals t = {.stacks = 3}, sum = {0};
	char text[4096];

	walks_add(&t.cpu, &whole, 9);
	walks_add(&t.cpu, &cut, 1);
	walks_add(&t.wall, &whole, 890);
	walks_add(&t.wall, &base, 100);
	walks_add(&t.wall, NULL, 10);
	totals_add(&sum, &t);
	said(&sum, text, sizeof(text));
	has(text, "  stacks        3 distinct; of the samples\n"
		  "    CPU         90.0% complete, 10.0% depth cap, 10.00% with a guessed frame\n"
		  "    wall        89.0% complete, 10.0% at a virtual thread's base, "
		  "1.00% without a stack, 10.00% with a method unloaded before it had a name\n");
}

static void test_no_samples(void **state)
{
	const struct totals t = {0};
	char text[4096];

	said(&t, text, sizeof(text));
	has(text, "  stacks        0 distinct\n  lost");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_quality),
		cmocka_unit_test(test_no_samples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
