/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who woke a thread that waited in a futex: a thread of its own process, another process, or, where
 * the time ran out, nobody.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture/features.h"
#include "waking.h"

#define TOLD 4096

/* ---- what is recorded ---- */

struct shared {
	_Atomic int inner, outer, timed; /* futexes */
	_Atomic pid_t by_thread, by_process, by_nobody, thread;
};

static struct shared *shared;

static long futex(_Atomic int *at, int op, int value, const struct timespec *until)
{
	return syscall(SYS_futex, at, op, value, until, NULL, 0);
}

static void wait_for_ever(_Atomic pid_t *self, _Atomic int *at, const struct timespec *until)
{
	*self = (pid_t)syscall(SYS_gettid);
	for (;;)
		futex(at, FUTEX_WAIT, *at, until);
}

static void wake(_Atomic int *at)
{
	nap(WAKING_LONG_NS);
	++*at;
	futex(at, FUTEX_WAKE, 1, NULL);
}

static void *by_thread_run(void *arg)
{
	wait_for_ever(&shared->by_thread, &shared->inner, NULL);
	return arg;
}

static void *by_process_run(void *arg)
{
	wait_for_ever(&shared->by_process, &shared->outer, NULL);
	return arg;
}

static void *by_nobody_run(void *arg)
{
	const struct timespec some = {0, WAKING_LONG_NS};

	wait_for_ever(&shared->by_nobody, &shared->timed, &some);
	return arg;
}

static void *waker_run(void *arg)
{
	shared->thread = (pid_t)syscall(SYS_gettid);
	for (;;)
		wake(&shared->inner);
	return arg;
}

static void target(void)
{
	void *(*const all[])(void *) = {by_thread_run, by_process_run, by_nobody_run, waker_run};
	pthread_t th;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		pthread_create(&th, NULL, all[i], NULL);
	for (;;)
		pause();
}

static void outsider(void)
{
	prctl(PR_SET_NAME, "outsider");
	for (;;)
		wake(&shared->outer);
}

/* ---- what is told of it ---- */

struct seen {
	pid_t target, outsider;
	struct waking waking;
	/* samples with a cause, whose content may come later by another CPU's ring */
	struct told {
		int who;
		uint64_t cause;
	} v[TOLD];
	size_t ntold;
	uint64_t ticks[3], told[3]; /* by thread, by process, by nobody */
};

static int who_of(pid_t tid)
{
	if (tid == shared->by_thread)
		return 0;
	if (tid == shared->by_process)
		return 1;
	return tid == shared->by_nobody ? 2 : -1;
}

/* It is who has to have woken that one. */
static bool is_right(const struct seen *s, int who, const struct gn_cause_rec *c)
{
	if (!c || c->of.kind != GN_CAUSE_WAKER)
		return false;
	if (who == 0)
		return c->of.family == GN_WAKER_THREAD && (pid_t)c->of.ino == shared->thread;
	return who == 1 && c->of.family == GN_WAKER_PROCESS && (pid_t)c->of.dev == s->outsider &&
	       !strcmp(c->fs, "outsider");
}

static void sample_take(struct seen *s, const struct gn_sample *x)
{
	int who = who_of((pid_t)x->h.tid);

	if (who < 0 || x->clock != GN_CLOCK_WALL || x->state == GN_ST_QUEUED ||
	    x->h.time < s->waking.from_ns)
		return;
	s->ticks[who] += x->n;
	if (!x->cause)
		return;
	s->told[who] += x->n;
	assert_true(s->ntold < TOLD);
	s->v[s->ntold++] = (struct told){who, x->cause};
}

/* Each is who did it, and where that one was then, if it is of the same process. */
static void told_check(const struct seen *s)
{
	for (size_t i = 0; i < s->ntold; i++) {
		const struct gn_cause_rec *c = waking_find(&s->waking, s->v[i].cause);

		assert_true(is_right(s, s->v[i].who, c));
		assert_int_equal(c->of.count != 0, s->v[i].who == 0);
	}
}

static void on_record(void *ctx, const struct gn_rec *rec)
{
	struct seen *s = ctx;

	if (rec->type == GN_REC_CAUSE)
		waking_keep(&s->waking, rec);
	if (rec->type == GN_REC_SAMPLE)
		sample_take(s, (const void *)rec);
}

static void children_start(struct seen *s)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	assert_true(shared != MAP_FAILED);
	s->target = fork();
	if (!s->target)
		target();
	s->outsider = fork();
	if (!s->outsider)
		outsider();
	while (!shared->thread || !shared->by_thread || !shared->by_process || !shared->by_nobody)
		nap(MS);
}

static void children_end(const struct seen *s)
{
	kill(s->target, SIGKILL);
	kill(s->outsider, SIGKILL);
	waitpid(s->target, NULL, 0);
	waitpid(s->outsider, NULL, 0);
}

/* `told`: the kernel is to have them told. */
static void run(struct seen *s, bool told)
{
	children_start(s);
	if (!waking_record(&s->waking, s->target, told, on_record, s)) {
		children_end(s);
		skip();
	}
	children_end(s);
	for (int i = 0; i < 3; i++)
		assert_true(s->ticks[i] >= WAKING_ROUNDS);
}

static void test_wakers(void **state)
{
	struct seen s = {0};

	run(&s, true);
	print_message(
		"ticks told: %d of %d by a thread, %d of %d by a process, %d of %d by nobody\n",
		(int)s.told[0], (int)s.ticks[0], (int)s.told[1], (int)s.ticks[1], (int)s.told[2],
		(int)s.ticks[2]);
	told_check(&s);
	assert_int_equal(s.told[2], 0);
	/* those of a wait whose stack no visit has read in time, and of the last one, have none */
	assert_true(s.told[0] * 2 >= s.ticks[0]);
	assert_true(s.told[1] * 2 >= s.ticks[1]);
}

/* Of a process of which nobody wants to know it. */
static void test_not_asked(void **state)
{
	struct seen s = {.waking = {.rates = true}};

	run(&s, true);
	told_check(&s);
	assert_true(s.told[0] * 2 >= s.ticks[0]);
	s = (struct seen){.waking = {.rates = true, .no_wakers = true}};
	run(&s, true);
	assert_int_equal(s.told[0] + s.told[1] + s.told[2], 0);
}

/* Told again when threads are no longer scanned. */
static void test_scans(void **state)
{
	struct seen s = {.waking = {.scans = true}};

	run(&s, true);
	told_check(&s);
	assert_true(s.told[0] * 2 >= s.ticks[0]);
	assert_true(s.told[1] * 2 >= s.ticks[1]);
}

/* A kernel that does not show it. */
static void test_without(void **state)
{
	struct seen s = {0};

	setenv("GNOMON_WITHOUT", "tp_btf/sched_waking", 1);
	features_forget();
	run(&s, false);
	unsetenv("GNOMON_WITHOUT");
	features_forget();
	assert_int_equal(s.told[0] + s.told[1] + s.told[2], 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wakers),
		cmocka_unit_test(test_not_asked),
		cmocka_unit_test(test_scans),
		cmocka_unit_test(test_without),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
