/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of recordings of which a time is wanted, and which cannot be read. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "cli/filter.h"

/* For any time that is asked for it is the same as without. */
static void expect(const char *path, enum exit_code exit, const char *said)
{
	static const char *const times[] = {"30s", "-5m", "14:00", "2026-11-23T14:00"};

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		struct instant from, none = {0};
		struct error e = {0};
		struct stretch s;

		assert_int_equal(instant_parse(times[i], &from), 0);
		if (!strcmp(path, "-") && from.kind == INSTANT_AFTER)
			continue;
		assert_true(filter_stretch(path, &from, &none, &s, &e) < 0);
		assert_int_equal(e.exit, exit);
		if (!strstr(e.msg, said))
			fail_msg("%s: '%s'", times[i], e.msg);
	}
}

static void test_unreadable(void **state)
{
	char text[] = "/tmp/gnomon-test.XXXXXX";
	int fd = mkstemp(text);

	assert_int_equal(write(fd, "hello, world", 12), 12);
	close(fd);
	expect("/nowhere/x.jfr", EXIT_INPUT, "cannot open '/nowhere/x.jfr'");
	expect(text, EXIT_INPUT, "not a JFR file");
	unlink(text);
}

/* Of what is read once no end is known before. */
static void test_unseen(void **state)
{
	expect("-", EXIT_USAGE, "only a time since its start");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unreadable),
		cmocka_unit_test(test_unseen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
