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
#include "cli/units.h"

static bool flag;
static const char *str;
static uint64_t time_ns, span_ns, count;
static pid_t pid;
static struct opt_list list;
static int choice;

static const struct opt opts[] = {
	{OPT_FLAG, 'f', "force", NULL, "", &flag},
	{OPT_STRING, 'o', "output", "FILE", "", &str},
	{OPT_DURATION, 0, "cpu", "TIME", "", &time_ns, .min = 1000000, .max = 10000000000},
	{OPT_COUNT, 'n', "count", "N", "", &count},
	{OPT_PID, 'p', "pid", "PID", "", &pid, .once = true},
	{OPT_DURATION, 'd', "duration", "TIME", "", &span_ns, .bare = true},
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

/* What follows "--" is a program's: the mark stays, so that who runs the command sees where. */
static void test_program(void **state)
{
	struct error e;
	const char *args[32] = {"4711", "-f", "--", "java", "-o", "--cpu"};

	cmd.takes_program = true;
	assert_int_equal(parse(&e, args, 6), 5);
	assert_string_equal(args[0], "4711");
	assert_string_equal(args[1], "--");
	assert_string_equal(args[4], "--cpu");
	assert_null(str);
	assert_true(flag);

	/* who forgot the mark is told of it */
	assert_true(PARSE(&e, "java", "-jar", "x.jar") < 0);
	assert_non_null(strstr(e.hint, "follows '--'"));
	assert_non_null(strstr(e.hint, "-- java ..."));
	assert_true(PARSE(&e, "4711", "--coun", "3") < 0);
	assert_non_null(strstr(e.hint, "'--count'"));
	cmd.takes_program = false;
}

static void test_once(void **state)
{
	struct error e;

	assert_true(PARSE(&e, "-p", "1", "--pid=2") < 0);
	assert_string_equal(e.msg, "--pid is given twice");
	assert_int_equal(e.exit, EXIT_USAGE);
	assert_true(PARSE(&e, "-n", "1", "-n", "2") >= 0);
	assert_int_equal(count, 2);
}

static void test_bare(void **state)
{
	struct error e;

	assert_true(PARSE(&e, "-d", "30") >= 0);
	assert_int_equal(span_ns, 30000000000ull);
	assert_true(PARSE(&e, "-d", "30ms") >= 0);
	assert_int_equal(span_ns, 30000000ull);
	assert_true(PARSE(&e, "-d", "99999999999999") < 0);
	assert_true(PARSE(&e, "-d", "3x") < 0);
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
	bad("--how", "thta", "expected one of");
	assert_true(PARSE(&e, "--how", "thta") < 0);
	assert_string_equal(e.hint, "did you mean 'that'?");
	assert_true(PARSE(&e, "--ouptut", "x") < 0);
	assert_non_null(strstr(e.hint, "did you mean '--output'?"));
	bad("--nope", "x", "unknown option '--nope'");
	bad("-z", "x", "unknown option '-z'");
	assert_true(PARSE(&e, "--output") < 0);
	assert_string_equal(e.msg, "--output needs a value: FILE");
	assert_true(PARSE(&e, "-o") < 0);
	/* an option where a value was forgotten */
	assert_true(PARSE(&e, "-t", "-d", "3") < 0);
	assert_string_equal(e.msg, "-t needs a value: GLOB");
	assert_string_equal(e.hint, "'-d' is an option; if it is the value: --thread=-d");
	assert_true(PARSE(&e, "--thread", "--cpu=10ms") < 0);
	assert_int_equal(PARSE(&e, "--thread=-d", "-t-d", "-t", "-z", "-t", "-"), 0);
	assert_int_equal(list.n, 4);
}

#define WANTED(...)                                                                                \
	opt_help_wanted(sizeof((const char *[]){"test", __VA_ARGS__}) / sizeof(char *),            \
			(char *[]){"test", __VA_ARGS__})

/* A program's own --help is not ours. */
static void test_help_wanted(void **state)
{
	assert_true(WANTED("--help"));
	assert_true(WANTED("x", "-h"));
	assert_true(WANTED("--frobnicate", "-o", "x", "--help"));
	assert_false(WANTED("x", "--", "--help"));
	assert_false(WANTED("-o", "x", "--", "java", "--help"));
	assert_false(WANTED("x"));
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
		cmocka_unit_test(test_forms),  cmocka_unit_test(test_program),
		cmocka_unit_test(test_once),   cmocka_unit_test(test_bare),
		cmocka_unit_test(test_errors), cmocka_unit_test(test_help_wanted),
		cmocka_unit_test(test_units),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
