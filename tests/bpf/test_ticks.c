/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread of the ticks has real time priority, and others that it has not may be kept from the
 * CPU for as long as the machine is busy: it takes no lock that they hold.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "capture/capture.h"

#define MS 1000000ull

static bool is_tick;
static int waits; /* locks taken in a tick without a look at whether they are free */

/* In place of the C library's, for all that is linked into this program. */
int pthread_mutex_lock(pthread_mutex_t *m)
{
	int rc;

	waits += is_tick;
	while ((rc = pthread_mutex_trylock(m)) != 0)
		usleep(100);
	return rc;
}

static void ticks_of(bool scan)
{
	struct capture_config cfg = {.wall_ns = 10 * MS, .start_ns = now_ns(), .wall_scan = scan};
	struct gn_remote_tick arg = {0};
	struct error e = {0};
	struct capture *c;
	uint64_t threads;

	if (capture_open(&c, &cfg, &e) || capture_add(c, getpid(), &e) || capture_attach(c, &e))
		fail_msg("%s", e.msg);
	waits = 0;
	is_tick = true;
	threads = capture_tick_threads(c);
	for (arg.tick = 1; arg.tick <= 2; arg.tick++) {
		capture_tick_look(c, arg.tick);
		capture_tick(c, &arg);
	}
	is_tick = false;
	assert_int_equal(waits, 0);
	assert_true(threads >= 1);
	assert_int_equal(capture_threads(c), capture_tick_threads(c));
	/* and it learns of who comes and goes */
	assert_int_equal(capture_add(c, getppid(), &e), 0);
	threads = capture_tick_threads(c);
	assert_int_equal(threads, capture_threads(c));
	capture_remove(c, getppid());
	assert_true(capture_tick_threads(c) < threads);
	capture_close(c);
}

static void test_switches(void **state)
{
	ticks_of(false);
}

static void test_scans(void **state)
{
	ticks_of(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_switches),
		cmocka_unit_test(test_scans),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
