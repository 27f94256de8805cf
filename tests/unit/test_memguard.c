/* SPDX-License-Identifier: Apache-2.0 */
/* Which memory may be read: our own mappings. One that hangs: tests/jvm/hostile_overlay.sh. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "broker/broker.h"
#include "jvm/mem.h"
#include "jvm/memguard.h"

#define PAGE 4096

static uint64_t map(int fd, size_t pages)
{
	void *p = mmap(NULL, pages * PAGE, PROT_READ, MAP_PRIVATE | (fd < 0 ? MAP_ANONYMOUS : 0),
		       fd, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	return (uintptr_t)p;
}

static uint64_t map_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint64_t addr;

	assert_true(fd >= 0);
	addr = map(fd, 2);
	close(fd);
	return addr;
}

static void look(bool by_text)
{
	struct memguard *g = memguard_open(getpid());
	int memfd = memfd_create("test", MFD_CLOEXEC);
	uint64_t anon = map(-1, 4), shared, file;
	int own = geteuid() ? -EREMOTE : 0; /* map_files takes a capability */

	assert_int_equal(ftruncate(memfd, 2 * PAGE), 0);
	shared = map(memfd, 2);
	file = map_file("/proc/self/exe");
	assert_non_null(g);
	if (by_text)
		memguard_by_text(g);
	assert_int_equal(memguard_look(g, anon, 4 * PAGE), 0);
	assert_int_equal(memguard_look(g, anon + 5, 1), 0);
	assert_int_equal(memguard_look(g, shared, 2 * PAGE), own);
	assert_int_equal(memguard_look(g, file + 10, 20), own);
	assert_int_equal(munmap((void *)(uintptr_t)(anon + 2 * PAGE), PAGE), 0);
	if (!by_text) { /* which is up to a second old */
		assert_int_equal(memguard_look(g, anon, 4 * PAGE), -EFAULT);
		assert_int_equal(memguard_look(g, anon + 2 * PAGE, 1), -EFAULT);
	}
	assert_int_equal(memguard_look(g, anon, 2 * PAGE), 0);
	assert_int_equal(memguard_look(g, 0, 8), -EFAULT);
	assert_int_equal(memguard_look(g, UINT64_MAX - 4, 8), -EFAULT);
	munmap((void *)(uintptr_t)anon, 4 * PAGE);
	munmap((void *)(uintptr_t)shared, 2 * PAGE);
	munmap((void *)(uintptr_t)file, 2 * PAGE);
	close(memfd);
	memguard_close(g);
}

static void by_question(void **state)
{
	look(false);
}

static void by_text(void **state)
{
	look(true);
}

/* The bytes that this process has read, by whatever call. */
static uint64_t bytes_read(void)
{
	unsigned long long n = 0;
	FILE *f = fopen("/proc/self/io", "re");

	if (!f || fscanf(f, "rchar: %llu", &n) != 1)
		n = 0;
	if (f)
		fclose(f);
	return n;
}

/* Each page for itself, since its neighbours have other rights. */
static uint64_t map_many(size_t pages)
{
	uint64_t at = map(-1, pages);

	for (size_t i = 0; i < pages; i += 2)
		assert_int_equal(mprotect((void *)(uintptr_t)(at + i * PAGE), PAGE, PROT_NONE), 0);
	return at;
}

/* Before Linux 6.11: what is not there is not looked for in all of the text each time. */
static void misses_by_text(void **state)
{
	struct memguard *g = memguard_open(getpid());
	uint64_t at = map_many(4000), before, once;

	assert_non_null(g);
	memguard_by_text(g);
	before = bytes_read();
	assert_int_equal(memguard_look(g, at, PAGE), 0);
	once = bytes_read() - before;
	if (!before) {
		print_message("no account of what is read\n");
		skip();
	}
	assert_true(once > 4000 * 20);
	before = bytes_read();
	for (int i = 0; i < 1000; i++)
		assert_int_equal(memguard_look(g, 8 + 16 * (uint64_t)i, 8), -EFAULT);
	assert_true(bytes_read() - before < 100 * once);
	munmap((void *)(uintptr_t)at, 4000 * PAGE);
	memguard_close(g);
}

static void no_process(void **state)
{
	assert_null(memguard_open(0x3fffffff));
	assert_int_equal(errno, ENOENT);
}

/* By a worker, more than one message's worth, and where there is nothing. */
static void by_worker(void **state)
{
	static char text[100000], got[sizeof(text)];
	int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)(i * 7 + i / 251);
	assert_int_equal(broker_memory(getpid(), fd, (uintptr_t)text, got, sizeof(text)), 0);
	assert_memory_equal(text, got, sizeof(text));
	assert_int_equal(broker_memory(getpid(), fd, 16, got, 8), -EIO);
	assert_int_equal(broker_memory(getpid(), fd, UINT64_MAX - 4, got, 8), -EINVAL);
	close(fd);
}

static int set_up(void **state)
{
	return broker_start();
}

static int tear_down(void **state)
{
	broker_stop();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_question),	  cmocka_unit_test(by_text),
		cmocka_unit_test(misses_by_text), cmocka_unit_test(no_process),
		cmocka_unit_test(by_worker),
	};

	return cmocka_run_group_tests_name("memguard", tests, set_up, tear_down);
}
