/* SPDX-License-Identifier: Apache-2.0 */
/* Whose CPU time it was: children that use some, under a name of their own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "target/neighbours.h"

#define MS 1000000ull

/* Uses so much CPU time and then waits to be killed. */
static pid_t worker(const char *name, uint64_t ms)
{
	int ready[2];
	pid_t pid;
	char b;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, name);
		while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) < ms * MS)
			;
		if (write(ready[1], "x", 1) == 1)
			pause();
		_exit(0);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &b, 1), 1);
	close(ready[0]);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* This test may run twice at a time on a machine: names are of each run's own. */
static const char *name_of(const char *what)
{
	static char name[32]; /* the kernel keeps 15 */

	snprintf(name, sizeof(name), "%s-%d", what, getpid());
	return name;
}

static const struct neighbour *find(const struct neighbour *v, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(v[i].comm, name))
			return &v[i];
	return NULL;
}

static void between_two_looks(void **state)
{
	static struct neighbour top[4096];
	const struct neighbour *found;
	struct neighbours_sums sums;
	pid_t before = worker(name_of("before"), 300), twins[2], gone;
	struct neighbours *n = neighbours_new();
	size_t count;

	assert_non_null(n);
	twins[0] = worker(name_of("twin"), 200);
	twins[1] = worker(name_of("twin"), 300);
	gone = worker(name_of("gone"), 100);
	end(gone);
	assert_int_equal(neighbours_end(n), 0);
	count = neighbours_top(n, getpid(), top, 4096);
	for (size_t i = 1; i < count; i++)
		assert_true(top[i - 1].cpu_ns >= top[i].cpu_ns);
	found = find(top, count, name_of("twin"));
	assert_non_null(found);
	assert_int_equal(found->count, 2);
	assert_int_equal(found->pid, twins[1]); /* used most */
	/* clock ticks are cut off, of each */
	assert_in_range(found->cpu_ns, 500 * MS - 40 * MS, 500 * MS + 200 * MS);
	/* what it used before is not of the time between */
	found = find(top, count, name_of("before"));
	assert_true(!found || found->cpu_ns < 100 * MS);
	assert_null(find(top, count, name_of("gone")));
	neighbours_sums(n, twins[0], &sums);
	assert_in_range(sums.own_ns, 180 * MS, 400 * MS);
	/* all of it, also of who has ended: the machine's sum is of clock ticks, too */
	assert_true(sums.machine_ns >= 500 * MS);
	assert_true(sums.period_ns > 0);
	neighbours_sums(n, gone, &sums);
	assert_int_equal(sums.own_ns, 0);
	/* without itself */
	count = neighbours_top(n, twins[1], top, 4096);
	found = find(top, count, name_of("twin"));
	assert_non_null(found);
	assert_int_equal(found->count, 1);
	assert_int_equal(neighbours_top(n, 0, top, 1), 1);
	neighbours_free(n);
	end(before);
	end(twins[0]);
	end(twins[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(between_two_looks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
