/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel's verifier goes through before a recording begins, which is most of what
 * beginning one costs: a few times each program's instructions. A loop that it follows turn by turn
 * is a hundred times as much, and loads all the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <cmocka.h>

#include "base/clock.h"
#include "capture/capture.h"
#include "capture/features.h"

#define MS     1000000ull
#define TIMES  20 /* Linux 6.1 goes 14 times through thread_clock, 6.18 6 times */
#define FDS    1024
#define KERNEL "anon_inode:bpf-prog"

static bool is_program(int fd)
{
	char path[32], to[sizeof(KERNEL)];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, to, sizeof(to));
	return n == sizeof(KERNEL) - 1 && !memcmp(to, KERNEL, (size_t)n);
}

/* Of all programs that this process has loaded; returns how many. */
static unsigned int programs_judge(void)
{
	unsigned int n = 0;

	for (int fd = 3; fd < FDS; fd++) {
		struct bpf_prog_info info = {0};
		__u32 len = sizeof(info), insns;

		if (!is_program(fd))
			continue;
		assert_int_equal(bpf_obj_get_info_by_fd(fd, &info, &len), 0);
		insns = info.xlated_prog_len / sizeof(struct bpf_insn);
		print_message("%s: %u instructions, verified %u\n", info.name, insns,
			      info.verified_insns);
		assert_in_range(info.verified_insns, insns / TIMES, insns * TIMES);
		n++;
	}
	return n;
}

static void judge(bool scan)
{
	const struct capture_config cfg = {
		.cpu_ns = 10 * MS,
		.wall_ns = 10 * MS,
		.start_ns = now_ns(),
		.causes = true,
		.wall_scan = scan,
	};
	struct capture *c;
	struct error e = {0};

	if (capture_open(&c, &cfg, &e) || capture_add(c, getpid(), &e) || capture_attach(c, &e))
		fail_msg("%s", e.msg);
	if (!scan && feature_has(FEATURE_WAKING))
		assert_int_equal(capture_wakers_wait(c), 0);
	if (!scan && feature_has(FEATURE_TASK_FIND))
		assert_int_equal(capture_visits_wait(c), 0);
	assert_in_range(programs_judge(), 10, FDS);
	capture_close(c);
}

static void test_by_switches(void **state)
{
	(void)state;
	if (!features_can_switch())
		skip();
	judge(false);
}

static void test_by_scans(void **state)
{
	(void)state;
	judge(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_switches),
		cmocka_unit_test(test_by_scans),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
