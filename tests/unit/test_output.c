/* SPDX-License-Identifier: Apache-2.0 */
/* Files that cannot be written or read: what is said, what it costs, and what stays untouched. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "jfr/read.h"
#include "jfr/repair.h"
#include "out/output.h"

static char dir[] = "/tmp/gnomon-out.XXXXXX";

static int setup(void **state)
{
	return !mkdtemp(dir) || chdir(dir);
}

static int teardown(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return chdir("/") || system(command);
}

static void file_make(const char *name, const char *text)
{
	FILE *f = fopen(name, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void expect_create(const char *path, bool force, const char *said, const char *remedy)
{
	struct error e = {0};
	struct output o;
	int rc = output_open(&o, path, force, &e);

	if (!rc) /* some file systems tell only when the file gets its name */
		rc = output_close(&o, 0, &e);
	assert_true(rc < 0);
	assert_int_equal(e.exit, EXIT_OUTPUT);
	if (!strstr(e.msg, said) || !strstr(e.hint, remedy))
		fail_msg("'%s', '%s'", e.msg, e.hint);
}

static void test_create_errors(void **state)
{
	file_make("there", "old");
	assert_int_equal(mkdir("d", 0700), 0);
	expect_create("there", false, "'there' exists", "--force");
	expect_create("d", false, "Is a directory", "a file in it");
	expect_create("d", true, "Is a directory", "a file in it");
	expect_create("no/x.html", false, "no directory 'no'", "create");
	expect_create("/no/x.html", false, "no directory '/no'", "create");
	expect_create("there/x.html", false, "Not a directory", "choose another");
	expect_create("/proc/x.html", false, "'/proc' takes no files", "choose another");
}

static void test_apart(void **state)
{
	char *in[] = {"a.jfr", "b.jfr"};
	struct error e = {0};

	file_make("a.jfr", "a");
	file_make("b.jfr", "b");
	assert_int_equal(symlink("b.jfr", "link"), 0);
	assert_int_equal(link("a.jfr", "hard"), 0);
	assert_int_equal(output_apart(NULL, in, 2, &e), 0);
	assert_int_equal(output_apart("-", in, 2, &e), 0);
	assert_int_equal(output_apart("new", in, 2, &e), 0);
	assert_true(output_apart("link", in, 2, &e) < 0);
	assert_non_null(strstr(e.msg, "'link' is the recording 'b.jfr' itself"));
	assert_int_equal(e.exit, EXIT_USAGE);
	assert_true(output_apart("hard", in, 2, &e) < 0);
	assert_int_equal(output_apart("link", in, 1, &e), 0);
}

static void expect_text(const char *name, const char *want)
{
	char text[8] = "";
	FILE *f = fopen(name, "r");

	assert_non_null(f);
	assert_int_equal(fread(text, 1, sizeof(text), f), strlen(want));
	fclose(f);
	assert_string_equal(text, want);
}

/* Half a file never gets the name, and what had it stays. */
static void test_whole_or_not(void **state)
{
	struct error e = {0};
	struct output o;

	file_make("kept", "old");
	assert_int_equal(output_open(&o, "kept", true, &e), 0);
	fputs("half", o.f);
	assert_int_equal(output_close(&o, -EIO, &e), -EIO);
	expect_text("kept", "old");
	assert_int_equal(output_open(&o, "kept", true, &e), 0);
	fputs("new", o.f);
	assert_int_equal(output_close(&o, 0, &e), 0);
	expect_text("kept", "new");
}

/* A link stays one, and the file that it leads to is whole or as it was. */
static void test_link(void **state)
{
	struct error e = {0};
	struct output o;
	struct stat st;

	assert_int_equal(mkdir("far", 0700), 0);
	file_make("far/page", "old");
	assert_int_equal(symlink("far/page", "to"), 0);
	expect_create("to", false, "'to' exists", "--force");
	assert_int_equal(output_open(&o, "to", true, &e), 0);
	fputs("half", o.f);
	assert_int_equal(output_close(&o, -EIO, &e), -EIO);
	expect_text("far/page", "old");
	assert_int_equal(output_open(&o, "to", true, &e), 0);
	fputs("new", o.f);
	expect_text("far/page", "old");
	assert_int_equal(output_close(&o, 0, &e), 0);
	expect_text("far/page", "new");
	assert_int_equal(lstat("to", &st), 0);
	assert_true(S_ISLNK(st.st_mode));
}

static void expect_input(const char *path, const char *said, const char *remedy)
{
	struct error e = {0};
	struct jfr_reader *r;

	assert_true(jfr_reader_open(&r, path, NULL, &e) < 0);
	assert_int_equal(e.exit, EXIT_INPUT);
	if (!strstr(e.msg, said) || !strstr(e.hint, remedy))
		fail_msg("'%s', '%s'", e.msg, e.hint);
}

static void test_input_errors(void **state)
{
	struct jfr_repair r;
	struct error e = {0};

	file_make("empty", "");
	file_make("text", "hello, world");
	expect_input("", "''", "recording");
	expect_input("none", "'none'", "recording");
	expect_input(".", "'.' is a directory", "recordings in it");
	expect_input("empty", "'empty' is empty", "nothing was recorded");
	expect_input("text", "not a JFR file", "FLR");
	expect_input("/dev/zero", "not a regular file", "pipe");
	assert_true(jfr_repair("empty", &r, &e) < 0);
	assert_non_null(strstr(e.msg, "it is empty"));
	assert_true(jfr_repair("text", &r, &e) < 0);
	assert_non_null(strstr(e.msg, "no JFR chunk"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_create_errors), cmocka_unit_test(test_apart),
		cmocka_unit_test(test_whole_or_not),  cmocka_unit_test(test_link),
		cmocka_unit_test(test_input_errors),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
