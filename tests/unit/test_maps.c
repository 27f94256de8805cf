/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "target/maps.h"

static const char sample[] =
	"00400000-00452000 r-xp 00001000 fe:1a 173521                 /usr/bin/a b c\n"
	"00651000-00652000 rw-s 00051000 08:02 99                     /tmp/x (deleted)\n"
	"00652000-00655000 ---p 00000000 00:00 0 \n"
	"00655000-00656000 r--p 00000000 08:02 100                    /tmp/new\\012line\n"
	"00e03000-00e24000 rw-p 00000000 00:00 0                      [heap]\n"
	"35b1800000-35b1820000 r-xp 00001000 fe:1a 173521             /usr/bin/a b c\n"
	"7fffb2c0d000-7fffb2c2e000 rw-p 00000000 00:00 0              [stack]\n"
	"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0      [vsyscall]\n";

static struct maps *parsed(const char *text)
{
	struct maps *m = maps_new();

	assert_non_null(m);
	assert_int_equal(maps_parse(m, text, strlen(text)), 0);
	return m;
}

static void fields(void **state)
{
	struct maps *m = parsed(sample);
	const struct mapping *p = maps_at(m, 0);

	assert_int_equal(maps_count(m), 8);
	assert_int_equal(maps_skipped(m), 0);
	assert_int_equal(p->start, 0x400000);
	assert_int_equal(p->end, 0x452000);
	assert_int_equal(p->offset, 0x1000);
	assert_int_equal(p->major, 0xfe);
	assert_int_equal(p->minor, 0x1a);
	assert_int_equal(p->inode, 173521);
	assert_int_equal(p->prot, MAPPING_READ | MAPPING_EXEC);
	assert_true(mapping_is_file(p));
	assert_string_equal(maps_path(m, p), "/usr/bin/a b c");
	assert_int_equal(maps_at(m, 5)->path, p->path);
	p = maps_at(m, 1);
	assert_string_equal(maps_path(m, p), "/tmp/x");
	assert_int_equal(p->deleted, 1);
	assert_int_equal(p->prot, MAPPING_READ | MAPPING_WRITE | MAPPING_SHARED);
	assert_string_equal(maps_path(m, maps_at(m, 2)), "");
	assert_string_equal(maps_path(m, maps_at(m, 3)), "/tmp/new\nline");
	assert_string_equal(maps_path(m, maps_at(m, 4)), "[heap]");
	assert_false(mapping_is_file(maps_at(m, 4)));
	assert_true(maps_at(m, 7)->start == 0xffffffffff600000ULL);
	maps_free(m);
}

static void lookup(void **state)
{
	struct maps *m = parsed(sample);

	assert_null(maps_find(m, 0));
	assert_null(maps_find(m, 0x3fffff));
	assert_ptr_equal(maps_find(m, 0x400000), maps_at(m, 0));
	assert_ptr_equal(maps_find(m, 0x451fff), maps_at(m, 0));
	assert_null(maps_find(m, 0x452000));
	assert_ptr_equal(maps_find(m, 0x651fff), maps_at(m, 1));
	assert_ptr_equal(maps_find(m, 0x652000), maps_at(m, 2));
	assert_ptr_equal(maps_find(m, 0xffffffffff600123ULL), maps_at(m, 7));
	assert_null(maps_find(m, UINT64_MAX));
	maps_free(m);
}

static void nonsense(void **state)
{
	static const char *const bad[] = {
		"",
		"\n",
		"x",
		"1-",
		"2-1 r-xp 0 0:0 0 \n",
		"1000-1000 r-xp 0 0:0 0 \n",
		"11112222333344445-2 r-xp 0 0:0 0\n",
		"1-2 r-x",
		"1-2 rwxpp 0 0:0 0",
		"1-2 r-xp 0 0:0 ff\n",
		"1-2 r-xp 0 0:0",
		"-1-2 r-xp 0 0:0 0",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct maps *m = parsed(bad[i]);

		if (maps_count(m))
			fail_msg("'%s' was taken", bad[i]);
		assert_int_equal(maps_skipped(m), bad[i][0] ? 1 : 0);
		maps_free(m);
	}
}

static void unsorted(void **state)
{
	struct maps *m = parsed("5000-6000 r-xp 0 0:0 0\n1000-2000 r-xp 0 0:0 0 [a]\n");

	assert_int_equal(maps_at(m, 0)->start, 0x1000);
	assert_string_equal(maps_path(m, maps_find(m, 0x1fff)), "[a]");
	maps_free(m);
}

static void generation(void **state)
{
	struct maps *m = maps_new();
	uint64_t g;

	assert_int_equal(maps_generation(m), 0);
	assert_int_equal(maps_parse(m, sample, sizeof(sample) - 1), 0);
	g = maps_generation(m);
	assert_int_not_equal(g, 0);
	assert_int_equal(maps_parse(m, sample, sizeof(sample) - 1), 0);
	assert_int_equal(maps_generation(m), g);
	assert_int_equal(maps_parse(m, sample, sizeof(sample) / 2), 0);
	assert_int_not_equal(maps_generation(m), g);
	maps_free(m);
}

/* 200,000 mappings with as many paths: a quadratic parser would take minutes. */
static void large(void **state)
{
	struct buffer b = BUFFER_INIT;
	struct maps *m = maps_new();
	struct timespec t0, t1;
	const int n = 200000;

	for (int i = 0; i < n; i++)
		buffer_printf(&b, "%x000-%x000 rw-p 00000000 08:01 %d   /tmp/file-%d\n", i * 2 + 1,
			      i * 2 + 2, i + 1, i);
	assert_false(b.failed);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t0);
	assert_int_equal(maps_parse(m, (char *)b.data, b.len), 0);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t1);
	assert_int_equal(maps_count(m), n);
	assert_string_equal(maps_path(m, maps_find(m, (2 * 123456 + 1) * 4096ULL)),
			    "/tmp/file-123456");
	assert_true(t1.tv_sec - t0.tv_sec < 5);
	maps_free(m);
	buffer_free(&b);
}

static void own_process(void **state)
{
	int proc = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct maps *m = maps_new();
	const struct mapping *mp;
	uint64_t g;
	void *p;

	assert_int_equal(maps_read(m, proc), 0);
	g = maps_generation(m);
	mp = maps_find(m, (uintptr_t)own_process);
	assert_non_null(mp);
	assert_true(mp->prot & MAPPING_EXEC);
	assert_non_null(strstr(maps_path(m, mp), "test_maps"));
	assert_string_equal(maps_path(m, maps_find(m, (uintptr_t)&g)), "[stack]");
	p = mmap(NULL, 1 << 20, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_int_equal(maps_read(m, proc), 0);
	assert_int_not_equal(maps_generation(m), g);
	mp = maps_find(m, (uintptr_t)p);
	assert_non_null(mp);
	assert_true(mp->prot & MAPPING_SHARED);
	munmap(p, 1 << 20);
	close(proc);
	maps_free(m);
}

/* A zombie has no memory: the last content must survive. */
static void ended(void **state)
{
	struct maps *m = parsed(sample);
	char path[64];
	siginfo_t si;
	pid_t pid = fork();
	int proc;

	if (!pid)
		_exit(0);
	snprintf(path, sizeof(path), "/proc/%d", pid);
	proc = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(proc >= 0);
	assert_int_equal(waitid(P_PID, pid, &si, WEXITED | WNOWAIT), 0);
	assert_int_equal(maps_read(m, proc), -ESRCH);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(maps_read(m, proc), -ESRCH);
	assert_int_equal(maps_count(m), 8);
	close(proc);
	maps_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields),      cmocka_unit_test(lookup),
		cmocka_unit_test(nonsense),    cmocka_unit_test(unsorted),
		cmocka_unit_test(generation),  cmocka_unit_test(large),
		cmocka_unit_test(own_process), cmocka_unit_test(ended),
	};

	return cmocka_run_group_tests_name("maps", tests, NULL, NULL);
}
