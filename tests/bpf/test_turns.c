/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who had the CPU for which a thread queued, though nobody looks at ticks: a thread of this process
 * and others that are not recorded want one CPU.
 * Runs alone: more that want it would be to blame, too.
 */
#include <errno.h>
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
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "capture/capture.h"
#include "pin.h"
#include "sleeps.h"

#define MS	1000000ull
#define WALL_NS (2 * MS)
#define CAUSES	64

/* What was told of the thread while it was queued, in ticks by cause. */
struct told {
	uint32_t tid;
	struct {
		uint64_t id;
		uint32_t ticks;
		struct gn_cause_rec of; /* its content, which may come later; id 0: not yet */
	} causes[CAUSES];
	size_t n;
	uint32_t ticks;
};

static size_t cause_at(struct told *t, uint64_t id)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->causes[i].id == id)
			return i;
	assert_true(t->n < CAUSES);
	t->causes[t->n].id = id;
	return t->n++;
}

static void on_record(void *ctx, const struct gn_rec *rec)
{
	const struct gn_sample *s = (const struct gn_sample *)rec;
	struct told *t = ctx;

	if (rec->type == GN_REC_CAUSE) {
		const struct gn_cause_rec *r = (const struct gn_cause_rec *)rec;

		t->causes[cause_at(t, r->id)].of = *r;
	} else if (rec->type == GN_REC_SAMPLE && rec->tid == t->tid && s->clock == GN_CLOCK_WALL &&
		   s->state == GN_ST_QUEUED) {
		t->causes[cause_at(t, s->cause)].ticks += s->n;
		t->ticks += s->n;
	}
}

/* Ticks for which a process of that name is to blame, or, NULL, any of that kind. */
static uint32_t ticks_of(const struct told *t, uint32_t kind, const char *name)
{
	uint32_t n = 0;

	for (size_t i = 0; i < t->n; i++)
		if (t->causes[i].of.of.kind == kind && (!name || !strcmp(t->causes[i].of.fs, name)))
			n += t->causes[i].ticks;
	return n;
}

static void told_print(const struct told *t)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->causes[i].ticks)
			print_message("%u ticks: kind %u '%s'\n", t->causes[i].ticks,
				      t->causes[i].of.of.kind, t->causes[i].of.fs);
}

/* ---- who wants the CPU ---- */

static void spin_for(uint64_t ns)
{
	for (uint64_t end = now_ns() + ns; now_ns() < end;)
		;
}

/* A process on the first CPU that runs and sleeps in turns. `rest` 0: at real-time priority, once.
 */
static pid_t hog_start(const char *name, uint64_t run, uint64_t rest)
{
	struct sched_param p = {.sched_priority = 1};
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, name);
	if (pin_to(0) || (!rest && sched_setscheduler(0, SCHED_FIFO, &p)))
		_exit(1);
	do {
		spin_for(run);
		nap(rest);
	} while (rest);
	_exit(0);
}

static void hog_end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static _Atomic uint32_t spinner_tid;
static _Atomic bool spins;

static void *spinner_run(void *arg)
{
	pin_to(0);
	spinner_tid = (uint32_t)syscall(SYS_gettid);
	while (spins)
		;
	return NULL;
}

static pthread_t spinner_start(struct told *t)
{
	pthread_t thread;

	spins = true;
	spinner_tid = 0;
	pthread_create(&thread, NULL, spinner_run, NULL);
	while (!spinner_tid)
		nap(MS);
	t->tid = spinner_tid;
	return thread;
}

static struct capture *recording_start(void)
{
	struct capture_config cfg = {.wall_ns = WALL_NS, .start_ns = now_ns(), .causes = true};
	struct error e = {0};
	struct capture *c;

	if (capture_open(&c, &cfg, &e))
		fail_msg("%s", e.msg);
	if (!capture_can_switch(c)) {
		print_message("needs what wall samples by switches take from the scheduler\n");
		capture_close(c);
		return NULL;
	}
	if (capture_add(c, getpid(), &e) || capture_attach(c, &e))
		fail_msg("%s", e.msg);
	return c;
}

/* Each comes and goes between ticks and across them: none of them is missed. */
static void test_turns(void **state)
{
	pid_t one = hog_start("turn-one", 3 * MS, MS), other = hog_start("turn-other", MS, 2 * MS);
	struct told t = {0};
	pthread_t thread = spinner_start(&t);
	struct capture *c = recording_start();
	uint32_t by_one, by_other;

	for (int i = 0; c && i < 100; i++) {
		nap(20 * MS);
		assert_true(capture_drain(c, on_record, &t) >= 0);
	}
	spins = false;
	pthread_join(thread, NULL);
	hog_end(one);
	hog_end(other);
	if (!c)
		return;
	capture_stop(c);
	assert_true(capture_drain(c, on_record, &t) >= 0);
	capture_close(c);
	told_print(&t);
	by_one = ticks_of(&t, GN_CAUSE_PROCESS, "turn-one");
	by_other = ticks_of(&t, GN_CAUSE_PROCESS, "turn-other");
	assert_true(t.ticks > 100);
	/* a switch that the kernel does not show leaves ticks of which nothing is known */
	assert_in_range(ticks_of(&t, GN_CAUSE_UNSEEN, NULL), 0, 1 + t.ticks / 100);
	assert_int_equal(ticks_of(&t, GN_CAUSE_NONE, NULL), 0);
	assert_true(by_one > by_other && by_other > t.ticks / 20);
	assert_true(by_one + by_other > t.ticks / 2); /* others may want that CPU, too */
}

/* There is no switch on its CPU while it is accounted for: it is who has the CPU then. */
static void test_no_switch(void **state)
{
	struct told t = {0};
	pthread_t thread = spinner_start(&t);
	struct capture *c = recording_start();
	pid_t hog;

	if (!c) {
		spins = false;
		pthread_join(thread, NULL);
		return;
	}
	pin_to(1);
	nap(20 * MS);
	hog = hog_start("turn-hog", 400 * MS, 0);
	nap(200 * MS);
	capture_account(c, 0);
	assert_true(capture_drain(c, on_record, &t) >= 0);
	told_print(&t);
	assert_true(ticks_of(&t, GN_CAUSE_PROCESS, "turn-hog") > 50);
	assert_int_equal(ticks_of(&t, GN_CAUSE_UNSEEN, NULL), 0);
	waitpid(hog, NULL, 0);
	spins = false;
	pthread_join(thread, NULL);
	capture_close(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_no_switch),
	};

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2) {
		print_message("skip: needs two CPUs\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
