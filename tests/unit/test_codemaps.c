/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target/codemaps.h"
#include "target/mapquery.h"
#include "target/maps.h"

#define PAGES 16384

static int self;
static struct maps *maps;

static int setup(void **state)
{
	self = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	maps = maps_new();
	return self < 0 || !maps;
}

static int teardown(void **state)
{
	maps_free(maps);
	return close(self);
}

/* Both ways say the same. */
static uint64_t digest(void)
{
	uint64_t by_query = 0, by_text = 0;

	assert_int_equal(codemaps_digest(maps, self, &by_query), 0);
	assert_int_equal(codemaps_digest_text(maps, self, &by_text), 0);
	assert_int_equal(by_query, by_text);
	assert_int_not_equal(by_query, 0);
	return by_query;
}

static void *map_file(void *at, const char *path, int prot, off_t offset)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *p = mmap(at, PAGES, prot, MAP_PRIVATE | (at ? MAP_FIXED : 0), fd, offset);

	assert_true(fd >= 0 && p != MAP_FAILED);
	close(fd);
	return p;
}

/* Each mapping of a file that the text has comes by queries, with its path; no other does. */
static void files_by_name(void **state)
{
	char name[] = "/tmp/two\nlines.XXXXXX", path[4096];
	int fd = mkstemp(name), text = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	void *gone = mmap(NULL, PAGES, PROT_READ, MAP_PRIVATE, fd, 0);
	const struct mapping *was = NULL;
	struct mapping m = {0};
	size_t files = 0;

	assert_true(fd >= 0 && text >= 0 && gone != MAP_FAILED);
	unlink(name);
	assert_int_equal(maps_read(maps, self), 0);
	while (!mapquery_named(text, MAPQUERY_NEXT_FILE, m.end, &m, path, sizeof(path))) {
		was = maps_find(maps, m.start);
		assert_non_null(was);
		assert_string_equal(path, maps_path(maps, was));
		assert_true(m.start == was->start && m.end == was->end && m.offset == was->offset &&
			    m.inode == was->inode && m.deleted == was->deleted);
		files++;
	}
	for (size_t i = 0; i < maps_count(maps); i++)
		files -= mapping_is_file(maps_at(maps, i));
	assert_int_equal(files, 0);
	assert_int_equal(mapquery_named(text, MAPQUERY_AT, (uintptr_t)gone, &m, path, 4096), 0);
	assert_string_equal(path, name);
	assert_true(m.deleted);
	assert_int_equal(mapquery_named(text, MAPQUERY_AT, (uintptr_t)gone, &m, path, 8), 0);
	assert_string_equal(path, "");
	assert_int_equal(m.start, (uintptr_t)gone);
	munmap(gone, PAGES);
	close(text);
	close(fd);
}

static void code_alone_counts(void **state)
{
	uint64_t before = digest();
	void *p = mmap(NULL, PAGES, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(p != MAP_FAILED);
	assert_int_equal(digest(), before);
	munmap(p, PAGES);
	p = map_file(NULL, "/proc/self/exe", PROT_READ, 0);
	assert_int_equal(digest(), before);
	assert_int_equal(mprotect(p, PAGES, PROT_READ | PROT_EXEC), 0);
	assert_int_not_equal(digest(), before);
	munmap(p, PAGES);
	assert_int_equal(digest(), before);
}

/* The same addresses, another file; and the same file, another part of it. */
static void replaced(void **state)
{
	void *p = map_file(NULL, "/proc/self/exe", PROT_READ | PROT_EXEC, 0);
	uint64_t first = digest(), second, third;

	map_file(p, "/bin/sh", PROT_READ | PROT_EXEC, 0);
	second = digest();
	map_file(p, "/bin/sh", PROT_READ | PROT_EXEC, PAGES);
	third = digest();
	assert_int_not_equal(first, second);
	assert_int_not_equal(second, third);
	assert_int_not_equal(first, third);
	map_file(p, "/proc/self/exe", PROT_READ | PROT_EXEC, 0);
	assert_int_equal(digest(), first);
	munmap(p, PAGES);
}

static void no_process(void **state)
{
	int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct maps *none = maps_new();
	uint64_t d = 7;

	assert_int_equal(codemaps_digest(none, proc, &d), -ESRCH);
	assert_int_equal(codemaps_digest_text(none, proc, &d), -ESRCH);
	assert_int_equal(maps_read(none, proc), -ESRCH);
	assert_int_equal(d, 7);
	maps_free(none);
	close(proc);
}

/* Opening it may be dear, so it is done once for all that is read of it. */
static void kept_open(void **state)
{
	int fd;

	digest();
	fd = maps_file(maps, self);
	assert_true(fd >= 0);
	digest();
	assert_int_equal(maps_read(maps, self), 0);
	assert_int_equal(maps_read(maps, self), 0);
	assert_true(maps_count(maps) > 3);
	assert_int_equal(maps_file(maps, self), fd);
}

static pid_t waits_then_execs(int go)
{
	pid_t pid = fork();
	char c;

	if (pid)
		return pid;
	if (read(go, &c, 1) == 1)
		execl("/bin/sleep", "sleep", "600", NULL);
	_exit(1);
}

/* The file that is open is of the program before: the next one is told all the same. */
static void other_program(void **state)
{
	uint64_t before = 0, query = 0, text = 0;
	struct maps *m = maps_new(), *t = maps_new();
	char path[64];
	int go[2], dir;
	pid_t pid;

	assert_int_equal(pipe(go), 0);
	pid = waits_then_execs(go[0]);
	snprintf(path, sizeof(path), "/proc/%d", pid);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(codemaps_digest(m, dir, &before), 0);
	assert_int_equal(codemaps_digest_text(t, dir, &text), 0);
	assert_int_equal(text, before);
	assert_int_equal(write(go[1], "", 1), 1);
	do { /* it execs */
		usleep(1000);
		assert_int_equal(codemaps_digest(m, dir, &query), 0);
	} while (query == before);
	/* seen in the middle of it, it has a few mappings; the rest comes */
	for (int i = 0; i < 10000 && maps_count(t) <= 3; i++) {
		usleep(1000);
		assert_int_equal(maps_read(t, dir), 0);
	}
	assert_true(maps_count(t) > 3);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(codemaps_digest(m, dir, &query), -ESRCH);
	assert_int_equal(maps_read(t, dir), -ESRCH);
	maps_free(m);
	maps_free(t);
	close(dir);
	close(go[0]);
	close(go[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_alone_counts), cmocka_unit_test(replaced),
		cmocka_unit_test(no_process),	     cmocka_unit_test(kept_open),
		cmocka_unit_test(other_program),     cmocka_unit_test(files_by_name),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
