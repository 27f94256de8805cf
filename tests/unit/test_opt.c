/* SPDX-License-Identifier: Apache-2.0 */
/* Option tables: units, bounds, permutation, errors that name the option. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include <cmocka.h>

#include "cli/opt.h"

static bool flag;
static const char *str;
static uint64_t time_ns, count;
static pid_t pid;
static struct opt_list list;
static int choice;

static const struct opt opts[] = {
	{OPT_FLAG, 'f', "force", NULL, "", &flag},
	{OPT_STRING, 'o', "output", "FILE", "", &str},
	{OPT_DURATION, 0, "cpu", "TIME", "", &time_ns, .min = 1000000, .max = 10000000000},
	{OPT_COUNT, 'n', "count", "N", "", &count},
	{OPT_PID, 'p', "pid", "PID", "", &pid},
	{OPT_LIST, 't', "thread", "GLOB", "", &list},
	{OPT_ENUM, 0, "how", "HOW", "", &choice, .choices = {"auto", "this", "that"}},
	{OPT_END},
};
static struct command cmd = {.name = "test", .opts = opts};

static int parse(struct error *e, const char **args, int n)
{
	static char *argv[32];

	argv[0] = "test";
	for (int i = 0; i < n; i++)
		argv[i + 1] = (char *)args[i];
	flag = false;
	str = NULL;
	time_ns = count = 0;
	pid = 0;
	list = (struct opt_list){0};
	choice = 0;
	*e = (struct error){0};
	int rc = opt_parse(&cmd, n + 1, argv, e);

	for (int i = 0; rc >= 0 && i < n + 1 - rc; i++)
		args[i] = argv[rc + i];
	return rc < 0 ? rc : n + 1 - rc;
}

#define PARSE(e, ...)                                                                              \
	parse(e, (const char *[32]){__VA_ARGS__},                                                  \
	      sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *))

static void test_forms(void **state)
{
	struct error e;
	const char *args[32] = {"a",	    "-fo", "x.jfr", "--cpu=10ms", "b",	  "-t", "x*",
				"--thread", "y",   "-p12",  "--how",	  "that", "--", "-z"};

	assert_int_equal(parse(&e, args, 14), 3);
	assert_string_equal(args[0], "a");
	assert_string_equal(args[1], "b");
	assert_string_equal(args[2], "-z");
	assert_true(flag);
	assert_string_equal(str, "x.jfr");
	assert_int_equal(time_ns, 10000000);
	assert_int_equal(list.n, 2);
	assert_string_equal(list.v[1], "y");
	free(list.v);
	assert_int_equal(pid, 12);
	assert_int_equal(choice, 2);
}

static void test_stop_at_arg(void **state)
{
	struct error e;
	const char *args[32] = {"-f", "java", "-o", "--cpu"};

	cmd.stop_at_arg = true;
	assert_int_equal(parse(&e, args, 4), 3);
	cmd.stop_at_arg = false;
	assert_string_equal(args[0], "java");
	assert_string_equal(args[2], "--cpu");
	assert_null(str);
}

static void bad(const char *opt, const char *val, const char *says)
{
	struct error e;

	assert_true(PARSE(&e, opt, val) < 0);
	assert_int_equal(e.exit, EXIT_USAGE);
	if (!strstr(e.msg, says))
		fail_msg("'%s' does not say '%s'", e.msg, says);
}

static void test_errors(void **state)
{
	struct error e;

	bad("--cpu", "10", "with its unit");
	bad("--cpu", "0ms", "out of range: 1ms to 10s");
	bad("--cpu", "99999999999h", "with its unit");
	bad("--cpu", "-1ms", "with its unit");
	bad("--cpu", "10msx", "with its unit");
	bad("--pid", "0", "process id");
	bad("--pid", "99999999999", "process id");
	bad("--pid", "12a", "whole number");
	bad("--how", "other", "expected one of auto, this, that");
	bad("--force=yes", "x", "takes no value");
	bad("--output", "", "empty value for --output");
	bad("--output=", "x", "empty value for --output");
	bad("-t", "", "empty value for --thread");
	bad("--nope", "x", "unknown option '--nope'");
	bad("-z", "x", "unknown option '-z'");
	assert_true(PARSE(&e, "--output") < 0);
	assert_string_equal(e.msg, "--output needs a value: FILE");
	assert_true(PARSE(&e, "-o") < 0);
}

#define WANTED(...)                                                                                \
	opt_help_wanted(&cmd, sizeof((const char *[]){"test", __VA_ARGS__}) / sizeof(char *),      \
			(char *[]){"test", __VA_ARGS__})

/* A command's own --help is not ours, with or without "--" before it. */
static void test_help_wanted(void **state)
{
	cmd.stop_at_arg = false;
	assert_true(WANTED("--help"));
	assert_true(WANTED("x", "-h"));
	assert_true(WANTED("--frobnicate", "-o", "x", "--help"));
	assert_false(WANTED("x", "--", "--help"));
	assert_false(WANTED("x"));
	cmd.stop_at_arg = true;
	assert_true(WANTED("-f", "--help"));
	assert_true(WANTED("--frobnicate", "--help"));
	assert_true(WANTED("-o", "x", "--help"));
	assert_true(WANTED("-fox", "--count=3", "--cpu", "10ms", "-h"));
	assert_false(WANTED("java", "--help"));
	assert_false(WANTED("-o", "x", "java", "-h"));
	assert_false(WANTED("-fo", "x", "--count", "3", "java", "--help"));
	assert_false(WANTED("-o", "x", "--", "java", "--help"));
	cmd.stop_at_arg = false;
}

static void test_units(void **state)
{
	uint64_t v;

	assert_int_equal(duration_parse("1h", &v), 0);
	assert_int_equal(v, 3600000000000);
	assert_int_equal(duration_parse("5us", &v), 0);
	assert_int_equal(v, 5000);
	assert_int_equal(duration_parse("", &v), -EINVAL);
	assert_int_equal(duration_parse("ms", &v), -EINVAL);
	assert_int_equal(size_parse("12m", &v), 0);
	assert_int_equal(v, 12582912);
	assert_int_equal(size_parse("7", &v), 0);
	assert_int_equal(v, 7);
	assert_int_equal(size_parse("99999999t", &v), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),  cmocka_unit_test(test_stop_at_arg),
		cmocka_unit_test(test_errors), cmocka_unit_test(test_help_wanted),
		cmocka_unit_test(test_units),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
