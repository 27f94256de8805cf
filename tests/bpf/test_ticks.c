/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread of the ticks has real time priority, and others that it has not may be kept from the
 * CPU for as long as the machine is busy: it takes no lock that they hold. And ticks that are left
 * out.
 * Runs alone: beside others two threads do not switch as often as they have to.
 */
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "capture/capture.h"
#include "capture/features.h"
#include "capture/ticks.h"
#include "pin.h"

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

/* ---- ticks that are left out ---- */

static _Atomic bool spins;

static void *spin(void *arg)
{
	while (spins)
		;
	return NULL;
}

static uint64_t tick_now(const struct capture_config *cfg)
{
	return gn_ticks_until(now_ns() - cfg->start_ns, cfg->wall_ns);
}

/* Visits ticks until nothing is to be done at them. */
static void doze_begin(struct capture *c, const struct capture_config *cfg)
{
	struct gn_remote_tick arg = {0};

	for (int i = 0; i < 6000; i++) {
		arg.tick = tick_now(cfg) - 1;
		arg.popped = arg.taken = 0;
		capture_tick_look(c, arg.tick);
		capture_tick(c, &arg);
		if (!capture_tick_was_needed(c, &arg) && capture_doze(c, tick_now(cfg)))
			return;
		usleep(10000);
	}
	fail_msg("for a minute each tick was needed");
}

/*
 * While two threads take turns on a CPU, one is off it at each tick: the tick that is to be visited
 * is told, and has passed. With none for a while nothing looks at ticks any more, and whoever needs
 * one rings at once.
 */
static void test_bell(void **state)
{
	struct capture_config cfg = {.wall_ns = 10 * MS, .start_ns = now_ns(), .causes = true};
	struct error e = {0};
	struct pollfd bell = {.events = POLLIN};
	pthread_t two[2];
	struct capture *c;
	uint64_t found;

	if (capture_open(&c, &cfg, &e) || capture_add(c, getpid(), &e) || capture_attach(c, &e))
		fail_msg("%s", e.msg);
	bell.fd = capture_bell(c);
	assert_true(bell.fd >= 0);
	assert_int_equal(poll(&bell, 1, 0), 0);
	for (int i = 0; i < 3; i++) {
		doze_begin(c, &cfg);
		spins = true;
		pin_to(0);
		pthread_create(&two[0], NULL, spin, NULL);
		pthread_create(&two[1], NULL, spin, NULL);
		assert_int_equal(poll(&bell, 1, 60000), 1);
		assert_false(capture_dozes(c));
		found = capture_doze_end(c);
		assert_true(found <= tick_now(&cfg));
		assert_int_equal(poll(&bell, 1, 0), 0);
		spins = false;
		pthread_join(two[0], NULL);
		pthread_join(two[1], NULL);
	}
	doze_begin(c, &cfg);
	capture_close(c);
}

/* ---- where others read who rests ---- */

static void *swap(void *arg)
{
	const int *fds = arg; /* one to read from, one to write to */
	char byte = 0;

	while (read(fds[0], &byte, 1) == 1 && write(fds[1], &byte, 1) == 1)
		;
	return NULL;
}

/* It takes no stack as it goes off for long, since most of its naps are over before a tick. */
static void *nap(void *arg)
{
	for (unsigned int i = 0;; i++)
		usleep(i % 50 ? 50 : 8000);
	return NULL;
}

/*
 * Its threads are read by nobody else, and so by the collector at most ticks: those of other
 * processes have not their memory, and use up what their CPU may look at after a tick.
 */
static pid_t napper_start(void)
{
	pid_t pid = fork();
	pthread_t t;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < 8; i++)
		pthread_create(&t, NULL, nap, NULL);
	pause();
	_exit(0);
}

static void ignore(void *ctx, const struct gn_rec *rec)
{
}

/* Until they have switched often enough for others to read them. */
static void near_begin(struct capture *c, const struct capture_config *cfg)
{
	for (int i = 0; i < 600 && !capture_near(c); i++) {
		capture_tick_look(c, tick_now(cfg) - 1);
		capture_drain(c, ignore, NULL);
		usleep(100000);
	}
	assert_true(capture_near(c) > 0);
}

/* Each visit is rung for there, though most ticks need one. */
static void test_near(void **state)
{
	static int there[2], back[2], one[2], other[2];
	struct capture_config cfg = {.wall_ns = 10 * MS, .start_ns = now_ns()};
	struct ticks_config tc = {cfg.start_ns, cfg.wall_ns, WALL_ENGINE_SWITCH};
	struct ticks_stats st;
	struct error e = {0};
	struct capture *c;
	struct ticks *t;
	pthread_t two[2];
	pid_t napper;

	if (!features_can_switch() || !feature_has(FEATURE_TASK_FIND))
		skip();
	pin_to(0);
	napper = napper_start();
	assert_int_equal(pipe(there) | pipe(back), 0);
	memcpy(one, (int[]){there[0], back[1]}, sizeof(one));
	memcpy(other, (int[]){back[0], there[1]}, sizeof(other));
	pthread_create(&two[0], NULL, swap, one);
	pthread_create(&two[1], NULL, swap, other);
	if (capture_open(&c, &cfg, &e) || capture_add(c, getpid(), &e) ||
	    capture_add(c, napper, &e) || capture_attach(c, &e))
		fail_msg("%s", e.msg);
	assert_int_equal(capture_visits_wait(c), 0);
	assert_int_equal(write(there[1], "", 1), 1);
	near_begin(c, &cfg);
	assert_int_equal(ticks_start(&t, c, &tc, &e), 0);
	for (int i = 0; i < 20; i++) {
		capture_drain(c, ignore, NULL);
		usleep(100000);
	}
	ticks_stop(t, &st);
	print_message("%llu ticks visited, %llu times some left out\n",
		      (unsigned long long)st.ticks, (unsigned long long)st.dozes);
	assert_true(st.ticks > 20);
	assert_true(st.dozes + 3 >= st.ticks);
	close(there[1]);
	close(back[1]);
	pthread_join(two[0], NULL);
	pthread_join(two[1], NULL);
	close(there[0]);
	close(back[0]);
	capture_close(c);
	kill(napper, SIGKILL);
	waitpid(napper, NULL, 0);
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
		cmocka_unit_test(test_bell),
		cmocka_unit_test(test_near),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
