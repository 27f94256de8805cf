/* SPDX-License-Identifier: Apache-2.0 */
/* What a process may read by a path, as its status and the files' modes have it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "broker/reader.h"

static void parse(void **state)
{
	struct reader r;

	assert_true(reader_parse("Name:\tx\nUid:\t7\t7\t7\t7\nGid:\t8\t8\t8\t8\nFDSize:\t64\n"
				 "Groups:\t8 20 4000000000 \nNStgid:\t1\n",
				 &r));
	assert_false(r.nobody);
	assert_int_equal(r.uid, 7);
	assert_int_equal(r.ngroups, 4);
	assert_int_equal(r.groups[0], 8);
	assert_int_equal(r.groups[2], 20);
	assert_int_equal(r.groups[3], 4000000000u);
	assert_true(
		reader_parse("\nUid:\t7\t7\t7\t7\nGid:\t8\t8\t8\t8\nGroups:\t\nNStgid:\t1\n", &r));
	assert_int_equal(r.ngroups, 1);
	assert_true(reader_parse("\nUid:\t7\t7\t7\t7\nGid:\t8\t8\t8\t8\nGroups: 1", &r));
	assert_int_equal(r.ngroups, 2);
	/* of a program with set-user-ID */
	assert_true(reader_parse("\nUid:\t7\t0\t0\t0\nGid:\t8\t8\t8\t8\nGroups:\t0\n", &r));
	assert_true(r.nobody);
	assert_true(reader_parse("\nUid:\t7\t7\t7\t7\nGid:\t8\t0\t0\t0\nGroups:\t0\n", &r));
	assert_true(r.nobody);
	assert_false(reader_parse("", &r));
	assert_false(reader_parse("\nUid:\t7\n", &r));
	assert_false(reader_parse("\nUid:\t7\t7\t7\t7\nGid:\tx\n", &r));
	assert_true(r.nobody);
}

static void may(void **state)
{
	const struct reader r = {.uid = 7, .groups = {8, 20}, .ngroups = 2};
	const struct reader nobody = {.nobody = true};
	const struct stat own = {.st_uid = 7, .st_gid = 1, .st_mode = S_IFREG};
	const struct stat group = {.st_uid = 1, .st_gid = 20, .st_mode = S_IFREG | 0604};
	const struct stat others = {.st_uid = 1, .st_gid = 1, .st_mode = S_IFDIR | 0771};
	const struct stat root = {.st_mode = S_IFREG | 0640};

	assert_true(reader_may(&r, &own, R_OK));
	assert_false(reader_may(&r, &group, R_OK));
	assert_true(reader_may(&nobody, &group, R_OK));
	assert_true(reader_may(&r, &others, X_OK));
	assert_false(reader_may(&r, &others, R_OK));
	assert_false(reader_may(&nobody, &root, R_OK));
	assert_false(reader_may(&r, &root, R_OK));
}

static int reach(const struct reader *r, const char *top, const char *path)
{
	int root = open(top, O_PATH | O_CLOEXEC), fd;

	fd = reader_reach(r, root, open(path, O_PATH | O_CLOEXEC));
	close(root);
	return fd;
}

/* Below a root that is not the machine's, and to the root itself. */
static void reached(void **state)
{
	const struct reader r = {.nobody = true};
	struct stat want, got;
	int fd;

	assert_int_equal(stat("/etc/passwd", &want), 0);
	fd = reach(&r, "/etc", "/etc/passwd");
	assert_int_equal(fstat(fd, &got), 0);
	assert_int_equal(got.st_ino, want.st_ino);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	assert_int_equal(stat("/etc", &want), 0);
	fd = reach(&r, "/etc", "/etc");
	assert_int_equal(fstat(fd, &got), 0);
	assert_int_equal(got.st_ino, want.st_ino);
	close(fd);
	fd = reach(&r, "/", "/");
	assert_true(fd >= 0);
	close(fd);
	assert_true(reach(&r, "/etc", "/usr") < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parse),
		cmocka_unit_test(may),
		cmocka_unit_test(reached),
	};

	return cmocka_run_group_tests_name("reader", tests, NULL, NULL);
}
