/* SPDX-License-Identifier: Apache-2.0 */
/* The process that runs commands of triggers: what it takes from who asks, and that it is made
 * anew. */
#include "run/runner.h"

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[64], made[128];
static struct runner *r;
static struct triggers first;

static void trigger_add(struct triggers *t, const char *label, const char *program,
			const char *argument)
{
	struct trigger *x = triggers_add(t, label);

	assert_non_null(x);
	x->argv[0] = strdup(program);
	x->argv[1] = strdup(argument);
	x->uid = geteuid();
	x->gid = getegid();
}

/* What the configuration has when it is read again: only the second trigger; or it makes no sense.
 */
static int reload(void *ctx, struct triggers *out, struct error *e)
{
	char bad[128];

	snprintf(bad, sizeof(bad), "%s/bad", dir);
	if (!access(bad, F_OK))
		return error_set(e, -EINVAL, EXIT_USAGE, "line 3: nonsense");
	trigger_add(out, "second", "/bin/mkdir", made);
	return 0;
}

static int begin(void **state)
{
	const struct runner_config cfg = {.reload = reload};

	strcpy(dir, "/tmp/gnomon-runner.XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(made, sizeof(made), "%s/made", dir);
	first = (struct triggers){0};
	trigger_add(&first, "first", "/bin/mkdir", made);
	trigger_add(&first, "nothing", "/nonexistent/program", "");
	trigger_add(&first, "nobody said", "/bin/mkdir", made);
	first.v[2].uid = (uint32_t)-1;
	return runner_start(&r, &first, &cfg, NULL);
}

static int end(void **state)
{
	char text[160];

	runner_stop(r);
	triggers_free(&first);
	snprintf(text, sizeof(text), "rm -rf '%s'", dir);
	return system(text);
}

static int run(const char *trigger)
{
	struct runner_order o = {.pid = 1, .name = "app", .words = "so"};

	snprintf(o.trigger, sizeof(o.trigger), "%s", trigger);
	return runner_run(r, &o);
}

static bool is_made(void)
{
	for (int i = 0; i < 5000; i++) {
		if (!access(made, F_OK))
			return true;
		usleep(1000);
	}
	return false;
}

/* As another user nothing is run by who is not root; all else is the same. */
static void ran(const char *trigger)
{
	if (geteuid()) {
		assert_int_equal(run(trigger), -EPERM);
		return;
	}
	assert_int_equal(run(trigger), 0);
	assert_true(is_made());
	rmdir(made);
}

static void runs(void **state)
{
	ran("first");
	assert_int_equal(run("third"), -ENOENT);
	assert_int_equal(run(""), -ENOENT);
	assert_int_equal(run("nobody said"), -EINVAL);
	if (!geteuid())
		assert_int_equal(run("nothing"), -ENOENT);
	assert_int_not_equal(access(made, F_OK), 0);
}

static void reads_again(void **state)
{
	struct error e = {0};
	char bad[128];

	assert_int_equal(run("second"), -ENOENT);
	assert_int_equal(runner_reload(r, &e), 0);
	ran("second");
	assert_int_equal(run("first"), -ENOENT);
	snprintf(bad, sizeof(bad), "%s/bad", dir);
	assert_int_equal(mkdir(bad, 0700), 0);
	assert_int_equal(runner_reload(r, &e), -EINVAL);
	assert_string_equal(e.msg, "line 3: nonsense");
	assert_int_equal(e.exit, EXIT_USAGE);
	ran("second");
}

/* A child of that process; 0: it has none. */
static pid_t child_of(pid_t parent)
{
	DIR *d = opendir("/proc");
	struct dirent *f;
	pid_t child = 0;

	assert_non_null(d);
	while ((f = readdir(d))) {
		char path[300], text[512] = "", *rest;
		int ppid, pid = atoi(f->d_name);
		FILE *stat;

		snprintf(path, sizeof(path), "/proc/%d/stat", pid);
		stat = pid > 0 ? fopen(path, "r") : NULL;
		if (!stat)
			continue;
		rest = fgets(text, sizeof(text), stat) ? strrchr(text, ')') : NULL;
		if (rest && sscanf(rest, ") %*c %d", &ppid) == 1 && ppid == parent)
			child = pid;
		fclose(stat);
	}
	closedir(d);
	return child;
}

/* Where it is killed there is another one, by the configuration of now. */
static void killed(void **state)
{
	pid_t worker;

	ran("first");
	worker = child_of(child_of(getpid()));
	assert_true(worker > 0);
	assert_int_equal(kill(worker, SIGKILL), 0);
	ran("second");
}

/* Where its parent is killed it goes on. */
static void parent_killed(void **state)
{
	ran("first");
	assert_int_equal(kill(child_of(getpid()), SIGKILL), 0);
	ran("first");
}

static void ends(void **state)
{
	pid_t parent = child_of(getpid()), worker;

	ran("first");
	worker = child_of(parent);
	runner_stop(r);
	r = NULL;
	assert_int_equal(child_of(getpid()), 0);
	assert_int_equal(kill(worker, 0), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(runs, begin, end),
		cmocka_unit_test_setup_teardown(reads_again, begin, end),
		cmocka_unit_test_setup_teardown(killed, begin, end),
		cmocka_unit_test_setup_teardown(parent_killed, begin, end),
		cmocka_unit_test_setup_teardown(ends, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
