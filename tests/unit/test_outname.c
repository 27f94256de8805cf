/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/outname.h"

static const char *made(const char *output, const char *main, const char *container,
			unsigned int again)
{
	static char path[OUTNAME_LEN];
	const struct outname_facts f = {
		.pid = 4711, .main = main, .container = container, .time = "20261123-014500"};
	struct outname o;

	assert_int_equal(outname_read(&o, output, NULL), 0);
	assert_int_equal(outname_make(&o, &f, again, path, sizeof(path)), 0);
	return path;
}

static void kinds(void **state)
{
	struct error e = {0};
	struct outname o;

	assert_int_equal(outname_read(&o, "a.jfr", &e), 0);
	assert_true(o.fixed);
	assert_false(o.unique);
	assert_int_equal(outname_read(&o, "100%%.jfr", &e), 0);
	assert_true(o.fixed);
	assert_int_equal(outname_read(&o, "%n.jfr", &e), 0);
	assert_false(o.fixed);
	assert_false(o.unique);
	assert_int_equal(outname_read(&o, "nowhere/", &e), 0);
	assert_true(o.unique);
	assert_string_equal(o.pattern, "nowhere/%n-%p.jfr");
	assert_int_equal(outname_read(&o, "/", &e), 0);
	assert_string_equal(o.pattern, "/%n-%p.jfr");
	assert_int_equal(outname_read(&o, "/tmp", &e), 0);
	assert_string_equal(o.pattern, "/tmp/%n-%p.jfr");
}

static void refused(void **state)
{
	char longer[OUTNAME_LEN + 8];
	struct error e = {0};
	struct outname o;

	assert_int_equal(outname_read(&o, "x%d.jfr", &e), -EINVAL);
	assert_int_equal(e.exit, EXIT_USAGE);
	assert_string_equal(e.msg, "unknown '%d' in output 'x%d.jfr'");
	assert_int_equal(outname_read(&o, "x%", &e), -EINVAL);
	assert_string_equal(e.msg, "unknown '%' in output 'x%'");
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(outname_read(&o, longer, &e), -ENAMETOOLONG);
}

static void fields(void **state)
{
	assert_string_equal(made("%p", "Main", "", 0), "4711");
	assert_string_equal(made("d.x/%n", "org.example.Main", "", 0), "d.x/Main");
	assert_string_equal(made("%n.jfr", "mod/org.example.Main", "", 0), "Main.jfr");
	assert_string_equal(made("%n.jfr", "/opt/x.y/app-1.2.jar", "", 0), "app-1.2.jfr");
	assert_string_equal(made("%n", "", "", 0), "java");
	assert_string_equal(made("%n", ".jar", "", 0), "jar");
	assert_string_equal(made("%c-%n", "A", "web", 0), "web-A");
	assert_string_equal(made("%c", "A", "", 0), "host");
	assert_string_equal(made("100%%", "A", "", 0), "100%");
	/* taken names are numbered before the suffix, where the name has one */
	assert_string_equal(made("a.b/%p.jfr", "A", "", 2), "a.b/4711-2.jfr");
	assert_string_equal(made("a.b/%p", "A", "", 12), "a.b/4711-12");
	assert_string_equal(made("x.%p", "A", "", 2), "x.4711-2");
}

/* What a target calls itself leads to no other place and hides nothing. */
static void hostile(void **state)
{
	char word[3000], *path;

	assert_string_equal(made("d/%c", "A", "../../etc/passwd", 0), "d/_._.._etc_passwd");
	assert_string_equal(made("d/%c", "A", "..", 0), "d/_.");
	assert_string_equal(made("d/%n", "a/..", "", 0), "d/_.");
	assert_string_equal(made("d/%c", "A", "a\nb c\xff%p", 0), "d/a_b_c__p");
	memset(word, 'w', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	path = (char *)made("%n", word, "", 0);
	assert_int_equal(strlen(path), 100);
}

static void no_room(void **state)
{
	const struct outname_facts f = {.pid = 1, .main = "Main", .container = "", .time = ""};
	struct outname o;
	char path[5];

	assert_int_equal(outname_read(&o, "%n", NULL), 0);
	assert_int_equal(outname_make(&o, &f, 0, path, 5), 0);
	assert_string_equal(path, "Main");
	assert_int_equal(outname_make(&o, &f, 0, path, 4), -ENAMETOOLONG);
	assert_int_equal(outname_make(&o, &f, 1, path, 5), -ENAMETOOLONG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds),   cmocka_unit_test(refused), cmocka_unit_test(fields),
		cmocka_unit_test(hostile), cmocka_unit_test(no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
