/* SPDX-License-Identifier: Apache-2.0 */
/* What a daemon knows of its JVMs, of which those who name them say a part. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "run/census.h"

/* Who names may have been taken over: words without an end, or that steer a terminal, are none. */
static void words(void **state)
{
	static const struct jvm_proc p = {.id = {.pid = 77, .start = 4711}};
	struct census *c = census_new();
	struct control_answer a = {0};
	struct totals t = {.cpu_samples = 5};

	memset(&t.watch.circle, '\033', sizeof(t.watch.circle));
	for (int i = 0; i < WATCH_METHODS; i++)
		memset(t.watch.v[i].thread, 'a', sizeof(t.watch.v[i].thread));
	strcpy(t.watch.v[3].thread, "main\n");
	census_jvm(c, &p, "/var/x/jvm");
	census_target(c, 77, &t, now_ns());
	assert_int_equal(census_take(c, &a), 0);
	assert_int_equal(a.state.njvms, 1);
	assert_int_equal(a.jvms[0].start, 4711);
	assert_int_equal(a.jvms[0].totals.cpu_samples, 5);
	assert_int_equal(strlen(a.jvms[0].totals.watch.circle), sizeof(t.watch.circle) - 1);
	assert_null(strchr(a.jvms[0].totals.watch.circle, '\033'));
	assert_int_equal(strlen(a.jvms[0].totals.watch.v[0].thread),
			 sizeof(t.watch.v[0].thread) - 1);
	assert_string_equal(a.jvms[0].totals.watch.v[3].thread, "main?");
	control_answer_free(&a);
	census_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
