/* SPDX-License-Identifier: Apache-2.0 */
/* Sleepers are read and accounted for bit by bit, in the running kernel: a few at a time, and each
 * once. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "asleep.h"
#include "base/clock.h"
#include "base/tasks.h"
#include "capture/capture.h"
#include "capture/features.h"
#include "pin.h"

#define MS	1000000ull
#define THREADS 40 /* beside the child's first */
#define SLICE	7

static void sleep_ms(uint64_t ms)
{
	struct timespec ts = {(time_t)(ms / 1000), (long)(ms % 1000 * MS)};

	nanosleep(&ts, NULL);
}

static void *rest(void *arg)
{
	for (;;)
		pause();
	return NULL;
}

/* How many of its threads wait. */
static unsigned int sleeping(pid_t pid)
{
	unsigned int sum = 0;
	pid_t *tids = NULL;
	size_t n = 0;

	if (tasks_read(pid, &tids, &n))
		return 0;
	for (size_t i = 0; i < n; i++)
		sum += is_asleep(pid, tids[i]);
	free(tids);
	return sum;
}

static _Atomic pid_t tired; /* the thread that is about to sleep */

/* Sleeps for good after more than its share of CPU 0, which another process wants, too. */
static void *tire(void *arg)
{
	uint64_t until;

	pin_to(0);
	until = now_ns() + 10 * MS;
	while (now_ns() < until)
		;
	tired = (pid_t)syscall(SYS_gettid);
	return rest(NULL);
}

/* One after the other, each is moved to another CPU as soon as it sleeps. */
static void movers_make(void)
{
	pthread_t t;

	pin_to(1); /* where there is one CPU all stay on it */
	for (int i = 0; i < THREADS; i++) {
		tired = 0;
		if (pthread_create(&t, NULL, tire, NULL))
			_exit(1);
		while (!tired || !is_asleep(getpid(), tired))
			;
		pin(tired, 1);
	}
}

static void sleepers_make(void)
{
	pthread_t t;

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&t, NULL, rest, NULL))
			_exit(1);
}

/* A child whose threads all sleep for good once they are made. */
static pid_t sleepers_start(void (*make)(void))
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		make();
		rest(NULL);
	}
	for (int i = 0; i < 30000 && sleeping(pid) < THREADS + 1; i++)
		sleep_ms(10);
	assert_int_equal(sleeping(pid), THREADS + 1);
	return pid;
}

struct told {
	uint32_t tid[8 * THREADS];
	unsigned int n, stackless;
	uint64_t ticks, queued;
};

static void on_record(void *ctx, const struct gn_rec *rec)
{
	const struct gn_sample *s = (const void *)rec;
	struct told *t = ctx;

	if (rec->type != GN_REC_SAMPLE || s->clock != GN_CLOCK_WALL)
		return;
	if (t->n < sizeof(t->tid) / sizeof(*t->tid))
		t->tid[t->n++] = rec->tid;
	t->ticks += s->n;
	t->stackless += !s->stack;
	t->queued += s->state == GN_ST_QUEUED ? s->n : 0;
}

static unsigned int threads_of(const struct told *t)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < t->n; i++) {
		unsigned int k = 0;

		while (k < i && t->tid[k] != t->tid[i])
			k++;
		n += k == i;
	}
	return n;
}

static struct capture *begin(pid_t pid, uint64_t wall_ns)
{
	const struct capture_config cfg = {.wall_ns = wall_ns, .start_ns = now_ns()};
	struct capture *c;
	struct error e = {0};

	if (capture_open(&c, &cfg, &e) || capture_add(c, pid, &e) || capture_attach(c, &e))
		fail_msg("%s", e.msg);
	if (!capture_can_switch(c))
		skip();
	return c;
}

/* An accounting to its end; each call tells of SLICE threads at most. How many calls it took. */
static unsigned int account(struct capture *c, struct told *t)
{
	unsigned int calls = 0, before;
	int rc;

	do {
		before = t->n;
		rc = capture_account_some(c, !calls, SLICE);
		assert_true(rc >= 0);
		assert_true(capture_drain(c, on_record, t) >= 0);
		assert_true(t->n - before <= SLICE);
		calls++;
	} while (rc > 0 && calls < 1000);
	return calls;
}

static void test_each_once(void **state)
{
	pid_t pid = sleepers_start(sleepers_make);
	struct capture *c = begin(pid, 10 * MS);
	struct told first = {0}, second = {0};

	sleep_ms(200);
	assert_true(account(c, &first) >= THREADS / SLICE);
	assert_int_equal(first.n, THREADS + 1);
	assert_int_equal(threads_of(&first), THREADS + 1);
	/* 10 ms each: some 20, how long ever this machine takes to come to it */
	assert_true(first.ticks >= 19 * (THREADS + 1));
	sleep_ms(100);
	account(c, &second);
	assert_int_equal(threads_of(&second), THREADS + 1);
	capture_close(c);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* One of all threads in the middle of it, as at the end of a chunk: no tick is lost or told twice.
 */
static void test_another_between(void **state)
{
	pid_t pid = sleepers_start(sleepers_make);
	struct capture *c = begin(pid, 10 * MS);
	uint64_t from = now_ns(), until;
	struct told t = {0};

	account(c, &t);
	t = (struct told){0};
	sleep_ms(100);
	assert_int_equal(capture_account_some(c, true, SLICE), 1);
	sleep_ms(50);
	assert_int_equal(capture_account(c, 0), 0);
	while (capture_account_some(c, false, SLICE) > 0)
		;
	assert_true(capture_drain(c, on_record, &t) >= 0);
	until = now_ns();
	assert_int_equal(threads_of(&t), THREADS + 1);
	assert_true(t.ticks >= 14 * (THREADS + 1));
	assert_true(t.ticks <= ((until - from) / (10 * MS) + 1) * (THREADS + 1));
	capture_close(c);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* How many of the child's threads have no stack yet. */
static unsigned int stackless(struct capture *c)
{
	struct told t = {0};

	sleep_ms(5);
	account(c, &t);
	assert_int_equal(threads_of(&t), THREADS + 1);
	return t.stackless;
}

/* Of those asleep since before the recording some are read at its beginning and some at each tick.
 */
static void test_read_at_ticks(void **state)
{
	pid_t pid = sleepers_start(sleepers_make);
	struct capture *c = begin(pid, MS);
	unsigned int left = stackless(c), before;
	struct gn_remote_tick tick = {0};

	if (feature_has(FEATURE_TASK_FIND))
		assert_in_range(left, 1, THREADS);
	do {
		before = left;
		assert_int_equal(capture_tick(c, &tick), 0);
		tick.tick++;
		left = stackless(c);
		assert_true(!before || left < before);
	} while (left);
	if (feature_has(FEATURE_TASK_FIND))
		assert_true(tick.tick > 1);
	capture_close(c);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/*
 * Who was moved to another CPU as it had just fallen asleep, and so was in its run queue still, is
 * noted as queued by the kernel (6.12 and later) for as long as it sleeps. It is not.
 */
static void test_moved_asleep(void **state)
{
	pid_t hog = fork(), pid;
	struct told t = {0};
	struct capture *c;

	if (!hog) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pin_to(0);
		for (;;)
			;
	}
	pid = sleepers_start(movers_make);
	kill(hog, SIGKILL);
	waitpid(hog, NULL, 0);
	c = begin(pid, 10 * MS);
	sleep_ms(100);
	account(c, &t);
	assert_int_equal(threads_of(&t), THREADS + 1);
	assert_int_equal(t.queued, 0);
	capture_close(c);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read_at_ticks),
		cmocka_unit_test(test_each_once),
		cmocka_unit_test(test_another_between),
		cmocka_unit_test(test_moved_asleep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
