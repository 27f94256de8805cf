/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes with rates of their own, in the running kernel: a thread that sleeps has its stack,
 * also if it fell asleep while nothing of its process was sampled, or while that was not recorded.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "asleep.h"
#include "base/clock.h"
#include "capture/capture.h"
#include "capture/ticks.h"

#define MS   1000000ull
#define TICK (5 * MS)
#define WALL (20 * MS) /* so that it takes one of four ticks */

/* Sleeps in read() until it is woken, naps so often for NAP, answers, and sleeps again. */
struct sleeper {
	pid_t pid;
	int wake, answer;
};

#define NAP (50 * 1000l)

static void sleep_ms(uint64_t ms)
{
	struct timespec ts = {(time_t)(ms / 1000), (long)(ms % 1000 * MS)};

	nanosleep(&ts, NULL);
}

static void sleeper_rests(const struct sleeper *s)
{
	for (int i = 0; i < 6000 && !is_asleep(s->pid, s->pid); i++)
		sleep_ms(10);
	assert_true(is_asleep(s->pid, s->pid));
}

static void naps(int n)
{
	struct timespec ts = {.tv_nsec = NAP};

	for (int i = 0; i < n; i++)
		nanosleep(&ts, NULL);
}

static void sleeper_start(struct sleeper *s, int times)
{
	int to[2], from[2];
	char byte;

	assert_int_equal(pipe(to), 0);
	assert_int_equal(pipe(from), 0);
	s->pid = fork();
	if (!s->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(to[1]);
		while (read(to[0], &byte, 1) == 1) {
			naps(times);
			if (write(from[1], &byte, 1) != 1)
				break;
		}
		_exit(0);
	}
	assert_true(s->pid > 0);
	close(to[0]);
	close(from[1]);
	s->wake = to[1];
	s->answer = from[0];
	sleeper_rests(s);
}

static void sleeper_turn(const struct sleeper *s)
{
	char byte = 0;

	assert_int_equal(write(s->wake, &byte, 1), 1);
	assert_int_equal(read(s->answer, &byte, 1), 1);
	sleeper_rests(s);
}

static void sleeper_end(const struct sleeper *s)
{
	close(s->wake);
	close(s->answer);
	waitpid(s->pid, NULL, 0);
}

/* What came: ticks of waits with a stack and without, and whether the last stack's frames did. */
struct told {
	uint64_t with, without, stack;
	uint64_t lists[64];
	unsigned int nlists;
};

static void on_record(void *ctx, const struct gn_rec *rec)
{
	const struct gn_stack *list = (const void *)rec;
	const struct gn_sample *s = (const void *)rec;
	struct told *t = ctx;

	if (rec->type == GN_REC_STACK && t->nlists < 64)
		t->lists[t->nlists++] = list->id;
	if (rec->type != GN_REC_SAMPLE || s->clock != GN_CLOCK_WALL)
		return;
	t->stack = s->stack;
	if (s->stack)
		t->with += s->n;
	else
		t->without += s->n;
}

static bool has_frames(const struct told *t)
{
	for (unsigned int i = 0; i < t->nlists; i++)
		if (t->stack && t->lists[i] == t->stack)
			return true;
	return false;
}

static void look(struct capture *c, pid_t pid, struct told *t)
{
	assert_int_equal(capture_account_of(c, pid), 0);
	assert_true(capture_drain(c, on_record, t) >= 0);
}

/* Until a sample of the thread has a stack. */
static void wait_stack(struct capture *c, pid_t pid, struct told *t)
{
	*t = (struct told){0};
	for (int i = 0; i < 600 && !t->with; i++) {
		sleep_ms(100);
		look(c, pid, t);
	}
	assert_true(t->with > 0);
}

static void rate_set(struct capture *c, pid_t pid, uint64_t wall)
{
	struct capture_rate is = {.wall_ns = wall};

	assert_int_equal(capture_rate(c, pid, &is), 0);
	assert_int_equal(is.wall_ns, wall);
}

static struct capture *begin(const struct sleeper *s, struct ticks **ticks)
{
	const struct capture_config cfg = {.wall_ns = TICK, .start_ns = now_ns(), .rates = true};
	const struct ticks_config tc = {
		.start_ns = cfg.start_ns, .wall_ns = TICK, .engine = WALL_ENGINE_SWITCH};
	struct error e = {0};
	struct capture *c;

	if (capture_open(&c, &cfg, &e) || capture_add(c, s->pid, &e) || capture_attach(c, &e))
		fail_msg("%s", e.msg);
	if (!capture_can_switch(c))
		skip();
	rate_set(c, s->pid, WALL);
	if (ticks_start(ticks, c, &tc, &e))
		fail_msg("%s", e.msg);
	return c;
}

static void end(struct capture *c, struct ticks *ticks, const struct sleeper *s)
{
	ticks_stop(ticks, NULL);
	capture_stop(c);
	capture_close(c);
	sleeper_end(s);
}

/* Without wall samples for a while, in which it runs once. */
static void test_off_and_on(void **state)
{
	struct ticks *ticks;
	struct sleeper s;
	struct capture *c;
	struct told t;

	sleeper_start(&s, 0);
	c = begin(&s, &ticks);
	wait_stack(c, s.pid, &t);
	rate_set(c, s.pid, 0);
	sleeper_turn(&s);
	t = (struct told){0};
	look(c, s.pid, &t);
	t = (struct told){0};
	sleep_ms(100);
	look(c, s.pid, &t);
	assert_int_equal(t.with + t.without, 0);
	rate_set(c, s.pid, WALL);
	wait_stack(c, s.pid, &t);
	end(c, ticks, &s);
}

static uint64_t counter(const struct capture *c, enum gn_counter which)
{
	uint64_t counters[GN_CNT_MAX];

	capture_counters(c, counters);
	return counters[which];
}

/* Ticks of a process that has wall samples from now on, of so many until then. */
static void counts_from_now(struct capture *c, pid_t pid, uint64_t least)
{
	uint64_t from = now_ns(), ticks;
	struct told t = {0};

	rate_set(c, pid, WALL);
	sleep_ms(400);
	look(c, pid, &t);
	ticks = (now_ns() - from) / TICK;
	assert_in_range(t.with + t.without, ticks * least / 100, ticks + 2 * WALL / TICK);
}

/*
 * Nobody looks at what it does while it has no wall samples. Then it counts from there on, be it
 * that it has slept all the time, that it ran and sleeps again, or that it comes and goes.
 */
static void test_unseen_while_off(void **state)
{
	const int naps[] = {0, 1500, 40000};
	struct ticks *ticks;
	struct sleeper s;
	struct capture *c;
	struct told t;

	for (int i = 0; i < 3; i++) {
		char byte = 0;
		uint64_t seen;

		sleeper_start(&s, naps[i]);
		c = begin(&s, &ticks);
		wait_stack(c, s.pid, &t);
		rate_set(c, s.pid, 0);
		seen = counter(c, GN_CNT_SWITCHES);
		if (i == 1)
			sleeper_turn(&s);
		else if (i == 2)
			assert_int_equal(write(s.wake, &byte, 1), 1);
		sleep_ms(200);
		t = (struct told){0};
		look(c, s.pid, &t);
		assert_int_equal(t.with + t.without, 0);
		assert_int_equal(counter(c, GN_CNT_SWITCHES), seen);
		counts_from_now(c, s.pid, i == 2 ? 40 : 95);
		assert_int_equal(counter(c, GN_CNT_RAN), 0);
		end(c, ticks, &s);
	}
}

/* Let go and taken in again: whether it ran meanwhile or not, frames come for its stack. */
static void back_again(bool runs)
{
	struct error e = {0};
	struct ticks *ticks;
	struct sleeper s;
	struct capture *c;
	struct told t;

	sleeper_start(&s, 0);
	c = begin(&s, &ticks);
	wait_stack(c, s.pid, &t);
	capture_let_go(c, s.pid);
	t = (struct told){0};
	assert_true(capture_drain(c, on_record, &t) >= 0);
	if (runs)
		sleeper_turn(&s);
	t = (struct told){0};
	sleep_ms(100);
	look(c, s.pid, &t);
	assert_int_equal(t.with + t.without, 0);
	capture_epoch(c);
	assert_int_equal(capture_add(c, s.pid, &e), 0);
	assert_int_equal(capture_scan(c), 0);
	rate_set(c, s.pid, WALL);
	wait_stack(c, s.pid, &t);
	assert_true(has_frames(&t));
	end(c, ticks, &s);
}

static void test_again_asleep(void **state)
{
	back_again(false);
}

static void test_again_after_a_turn(void **state)
{
	back_again(true);
}

/*
 * One that switches often falls asleep long before the next tick, and so without its stack. It is
 * read after that tick, though nothing else happens at any of those that are visited.
 */
static void test_rests_after_many(void **state)
{
	struct ticks *ticks;
	struct sleeper s;
	struct capture *c;
	struct told t = {0};

	sleeper_start(&s, 1500);
	c = begin(&s, &ticks);
	for (int i = 0; i < 8; i++) {
		sleeper_turn(&s);
		look(c, s.pid, &t); /* what was before it slept */
		wait_stack(c, s.pid, &t);
	}
	end(c, ticks, &s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_off_and_on),	 cmocka_unit_test(test_unseen_while_off),
		cmocka_unit_test(test_again_asleep),	 cmocka_unit_test(test_again_after_a_turn),
		cmocka_unit_test(test_rests_after_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
