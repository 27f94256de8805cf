/* SPDX-License-Identifier: Apache-2.0 */
/* What is said at the end of a command that was launched. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>

#include <cmocka.h>

#include "run/launch.h"

#define KTHREADD 2

/* Waits at our gate: this program, which is no JVM and is not called java. */
static void other_program(void **state)
{
	char *const argv[] = {"/bin/true", NULL};
	struct launch l = {0};
	struct error e = {0};

	assert_int_equal(launch_prepare(&l, argv, &e), 0);
	launch_look(&l, 1);
	assert_int_equal(launch_judge(&l, argv[0], &e), -ENOEXEC);
	assert_int_equal(e.exit, EXIT_TARGET);
	launch_end(&l);
}

/*
 * A process that is ending has no memory and no program before it is a zombie. Nor has a kernel
 * thread, ever.
 */
static void ending_is_what_it_was(void **state)
{
	struct launch l = {.pid = KTHREADD, .other = true};
	struct error e = {0};

	launch_look(&l, 1);
	assert_int_equal(launch_judge(&l, "sleep", &e), -ENOEXEC);
	l = (struct launch){.pid = KTHREADD};
	launch_look(&l, 1);
	assert_int_equal(launch_judge(&l, "java", &e), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(other_program),
		cmocka_unit_test(ending_is_what_it_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
