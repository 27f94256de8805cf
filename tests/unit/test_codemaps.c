/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "target/codemaps.h"

#define PAGES 16384

static int self;

static int setup(void **state)
{
	self = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return self < 0;
}

static int teardown(void **state)
{
	return close(self);
}

/* Both ways say the same. */
static uint64_t digest(void)
{
	uint64_t by_query = 0, by_text = 0;

	assert_int_equal(codemaps_digest(self, &by_query), 0);
	assert_int_equal(codemaps_digest_text(self, &by_text), 0);
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
	uint64_t d = 7;

	assert_int_equal(codemaps_digest(proc, &d), -ESRCH);
	assert_int_equal(d, 7);
	close(proc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_alone_counts),
		cmocka_unit_test(replaced),
		cmocka_unit_test(no_process),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
