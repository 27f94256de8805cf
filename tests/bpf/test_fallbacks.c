/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings on a kernel that lacks something for which there is another way: the other tests, run
 * with GNOMON_WITHOUT (capture/features.h). What they hold is that every tick of a sleeping thread
 * is counted just once, and every inner map is where it belongs.
 */
#include <libgen.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture/features.h"

static char folder[PATH_MAX]; /* where the other tests are */

static const struct {
	enum feature without;
	const char *program, *test;
} runs[] = {
	{FEATURE_SWITCHES, "test_engines", "test_scan"},
	{FEATURE_RUN_QUEUE, "test_engines", "test_scan"},
	{FEATURE_SCHED_INFO, "test_engines", "test_scan"},
	{FEATURE_CLOCKS_IN_STEP, "test_engines", "test_scan"},
	{FEATURE_STOLEN, "test_engines", "test_cpu_changes"},
	{FEATURE_TASK_FIND, "test_engines", "test_changes"},
	{FEATURE_ITER_PROCESS, "test_engines", "test_changes"},
	{FEATURE_WAKING, "test_wakers", "test_without"},
	{FEATURE_ITER_FILES, "test_wakers", "test_wakers"},
	{FEATURE_INNER_BATCH, "test_innermap", "*"},
};

#define RUNS (sizeof(runs) / sizeof(runs[0]))

/* What a test program said stays out of our output, which it looks like, unless it failed. */
static int program_run(const char *program, const char *test, FILE *said)
{
	char path[PATH_MAX + 64];
	int status = -1;
	pid_t pid;

	snprintf(path, sizeof(path), "%s/%s", folder, program);
	pid = fork();
	if (!pid) {
		dup2(fileno(said), STDOUT_FILENO);
		dup2(fileno(said), STDERR_FILENO);
		execl(path, path, test, (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* How many of its tests passed. */
static int passed_count(FILE *said)
{
	char line[512];
	int n = 0;

	rewind(said);
	while (fgets(line, sizeof(line), said))
		n += strstr(line, "[       OK ]") != NULL;
	return n;
}

/* Each line marked, so that nobody takes it for ours. */
static void said_show(FILE *said)
{
	char line[512];

	rewind(said);
	while (fgets(line, sizeof(line), said))
		print_message("  | %s", line);
}

static void test_without(void **state)
{
	const char *name;
	int status, passed;
	FILE *said;

	for (size_t i = 0; i < RUNS; i++) {
		name = feature_info(runs[i].without)->name;
		said = tmpfile();
		assert_non_null(said);
		setenv("GNOMON_WITHOUT", name, 1);
		status = program_run(runs[i].program, runs[i].test, said);
		unsetenv("GNOMON_WITHOUT");
		passed = passed_count(said);
		if (status || !passed)
			said_show(said);
		fclose(said);
		if (status || !passed)
			fail_msg("without '%s': %s %s: status %d", name, runs[i].program,
				 runs[i].test, status);
	}
}

static void test_each_has_a_run(void **state)
{
	for (int f = 0; f < FEATURE_OPTIONAL; f++) {
		bool any = false;

		for (size_t i = 0; i < RUNS; i++)
			any |= (int)runs[i].without == f;
		if (!any)
			fail_msg("'%s' is never taken away", feature_info(f)->name);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_has_a_run),
		cmocka_unit_test(test_without),
	};

	snprintf(folder, sizeof(folder), "%s", dirname(argv[0]));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
