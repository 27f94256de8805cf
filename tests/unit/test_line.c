/* SPDX-License-Identifier: Apache-2.0 */
/* Who names and was lost: the number of its process may be that of the next one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <unistd.h>

#include "broker/grants.h"
#include "naming/cell.h"
#include "naming/line.h"

static pid_t idler(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	for (;;)
		pause();
}

/* One that was lost is closed late, up to an hour after its end. */
static void number_again(void **state)
{
	pid_t pid = idler();
	struct line l;

	assert_true(pid > 0);
	assert_int_equal(grants_open(), 0);
	assert_int_equal(line_open(&l, 1 << 16), 0);
	assert_int_equal(cell_of(&l.cell, pid), 0);
	l.asker = pid;
	assert_int_equal(grants_bind(pid), 0);
	assert_int_equal(line_give(&l, 1, GRANTS_ANY), 0);
	assert_true(line_kill(&l));
	assert_false(grants_is_bound(pid));
	/* another one, with that number */
	assert_int_equal(grants_bind(pid), 0);
	assert_false(grants_has(pid, 1));
	line_take(&l, pid);
	line_close(&l);
	assert_true(grants_is_bound(pid));
	assert_true(grants_has(pid, pid));
	assert_false(grants_has(pid, 1));
	grants_close();
}

/* What a number was given before is not its next owner's. */
static void bound_anew(void **state)
{
	assert_int_equal(grants_open(), 0);
	assert_int_equal(grants_bind(7), 0);
	assert_int_equal(grants_give(7, 1000, GRANTS_ANY), 0);
	assert_int_equal(grants_bind(7), 0);
	assert_false(grants_has(7, 1000));
	assert_true(grants_has(7, 7));
	grants_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(number_again),
		cmocka_unit_test(bound_anew),
	};

	return cmocka_run_group_tests_name("line", tests, NULL, NULL);
}
