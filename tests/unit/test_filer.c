/* SPDX-License-Identifier: Apache-2.0 */
/* Files that naming asks for, and what it must not have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "naming/filer.h"

#define NOW 1764165600000000000ull

static char dir[64];
static int ends[2];
static struct filer *filer;
static const struct outfile_maker *maker;
static struct finished_to told; /* what the filer passes on is read from heard */
static int heard;

static int setup(void **state)
{
	int p[2];

	assert_int_equal(pipe2(p, O_NONBLOCK), 0);
	heard = p[0];
	told = (struct finished_to){.fd = p[1]};
	snprintf(dir, sizeof(dir), "/tmp/gnomon-filer.XXXXXX");
	assert_non_null(mkdtemp(dir));
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	assert_int_equal(filer_start(&filer, ends[0], &told), 0);
	maker = filer_maker(ends[1]);
	return 0;
}

static int teardown(void **state)
{
	char command[128];

	filer_stop(filer);
	close(ends[0]);
	close(ends[1]);
	close(heard);
	close(told.fd);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

/* The file, which is to be had. */
static int made(const char *in, uint64_t at, char **path)
{
	int fd = maker->make(in, at, path);

	assert_true(fd >= 0);
	return fd;
}

static void refused(const char *in, int rc)
{
	char *path = NULL;

	assert_int_equal(maker->make(in, NOW, &path), rc);
}

static void makes(void **state)
{
	char *path, *next;
	struct stat st;
	FILE *theirs;
	int fd;

	assert_int_equal(filer_allow(filer, dir), 0);
	fd = made(dir, NOW, &path);
	assert_int_equal(write(fd, "x", 1), 1);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 1);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_memory_equal(path, dir, strlen(dir));
	assert_string_equal(path + strlen(dir), "/20251126T140000Z.jfr");
	/* what was written into stays */
	maker->unmake(dir);
	assert_int_equal(access(path, F_OK), 0);
	close(fd);
	/* another one of that second, which nothing was written into */
	fd = made(dir, NOW, &next);
	assert_string_not_equal(next, path);
	maker->unmake(dir);
	assert_int_equal(access(next, F_OK), -1);
	/* once: then it is somebody else's */
	theirs = fopen(next, "w");
	assert_non_null(theirs);
	fclose(theirs);
	maker->unmake(dir);
	assert_int_equal(access(next, F_OK), 0);
	close(fd);
	free(path);
	free(next);
}

static void elsewhere(void **state)
{
	char inner[128], *path;

	refused(dir, -EACCES);
	assert_int_equal(filer_allow(filer, dir), 0);
	snprintf(inner, sizeof(inner), "%s/x", dir);
	refused(inner, -EACCES);
	assert_int_equal(access(inner, F_OK), -1);
	refused("/etc", -EACCES);
	refused("", -EACCES);
	snprintf(inner, sizeof(inner), "%s/../%s", dir, dir + 5);
	refused(inner, -EACCES);
	close(made(dir, NOW, &path));
	free(path);
	filer_deny(filer, dir);
	filer_deny(filer, dir);
	refused(dir, -EACCES);
}

/* Where the directory is gone it is made again, and what cannot be made is said as the kernel does.
 */
static void disk(void **state)
{
	char gone[128], under[160], *path;

	snprintf(gone, sizeof(gone), "%s/gone", dir);
	snprintf(under, sizeof(under), "%s/more", gone);
	assert_int_equal(filer_allow(filer, gone), 0);
	assert_int_equal(filer_allow(filer, under), 0);
	refused(under, -ENOENT);
	close(made(gone, NOW, &path));
	free(path);
	close(made(under, NOW, &path));
	free(path);
}

/* The file that is passed on as whole, or "". */
static void tells(const char *path, const char *want)
{
	const struct finished_to to = filer_finished(ends[1]);
	char text[FINISHED_MOST];
	struct finished m = {0};
	ssize_t n;

	finished_tell(&to, path, 10, 20);
	n = read(heard, text, sizeof(text));
	assert_int_equal(n > 0 ? finished_take(text, (size_t)n, &m) : 0, n > 0 ? n : 0);
	assert_string_equal(m.path, want);
	if (n > 0)
		assert_true(m.from == 10 && m.end == 20);
}

/* Of its own files alone, whatever it says. */
static void passes_on(void **state)
{
	char path[160], other[160], file[160];

	snprintf(path, sizeof(path), "%s/20251126T140000Z.jfr", dir);
	snprintf(other, sizeof(other), "%s.x/20251126T140000Z.jfr", dir);
	snprintf(file, sizeof(file), "%s/one", dir);
	tells(path, "");
	assert_int_equal(filer_allow(filer, dir), 0);
	tells(path, path);
	tells(other, "");
	tells("/dev/watchdog", "");
	tells(file, "");
	assert_int_equal(filer_allow(filer, file), 0);
	tells(file, file);
	snprintf(other, sizeof(other), "%s/x/20251126T140000Z.jfr", dir);
	tells(other, "");
	snprintf(other, sizeof(other), "%s/../20251126T140000Z.jfr", dir);
	tells(other, "");
	filer_deny(filer, dir);
	tells(path, "");
}

static void many(void **state)
{
	char *path;
	int rc, n = 0;

	assert_int_equal(filer_allow(filer, dir), 0);
	while ((rc = maker->make(dir, NOW + (uint64_t)n * 1000000000u, &path)) >= 0) {
		close(rc);
		free(path);
		assert_true(++n < 1000);
	}
	assert_int_equal(rc, -EAGAIN);
	assert_true(n >= 10);
}

static void nonsense(void **state)
{
	static const uint8_t bytes[1120] = {1};
	uint8_t answer[4096], ask[1120];
	int32_t rc;
	char *path;

	assert_int_equal(filer_allow(filer, dir), 0);
	for (size_t n = 1; n < sizeof(ask); n *= 2) {
		assert_int_equal(send(ends[1], bytes, n, 0), n);
		assert_true(recv(ends[1], answer, sizeof(answer), 0) > 4);
		memcpy(&rc, answer, sizeof(rc));
		assert_int_equal(rc, -EBADMSG);
	}
	/* a name without an end, and no such kind */
	memset(ask, 'x', sizeof(ask));
	ask[0] = 1;
	ask[1] = ask[2] = ask[3] = 0;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(send(ends[1], ask, sizeof(ask), 0), sizeof(ask));
		assert_true(recv(ends[1], answer, sizeof(answer), 0) > 4);
		memcpy(&rc, answer, sizeof(rc));
		assert_int_equal(rc, -EBADMSG);
		ask[0] = 9;
		ask[sizeof(ask) - 1] = 0;
	}
	close(made(dir, NOW, &path)); /* it goes on */
	free(path);
}

static void ends_well(void **state)
{
	char *path = NULL;

	shutdown(ends[0], SHUT_RDWR);
	assert_true(maker->make(dir, NOW, &path) < 0);
	maker->unmake(dir);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(makes), CASE(elsewhere), CASE(passes_on), CASE(disk),
		CASE(many),  CASE(nonsense),  CASE(ends_well),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
