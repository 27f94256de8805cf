/* SPDX-License-Identifier: Apache-2.0 */
/* What triggers are told of samples: stacks with a method, how long a thread is at one, circles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/roster.h"
#include "naming/watching.h"

#define MS 1000000ull
#define S  (1000 * MS)

static struct hold h;

static int setup(void **state)
{
	h = (struct hold){0};
	return 0;
}

static void test_fits(void **state)
{
	const struct watch_orders o = {.n = 4, .method = {"a.B.run", "*.C.*", "x", "java.*"}};
	const struct frame_name frames[] = {
		{.klass = "a.B", .method = "runs"},
		{.klass = "d.C", .method = "go"},
		{.klass = "(kernel)", .method = "[unknown]"},
	};

	assert_int_equal(watching_fits(&o, frames, 1), 1);
	assert_int_equal(watching_fits(&o, frames, 3), 3);
	assert_int_equal(watching_fits(&o, frames + 2, 1), 0);
	assert_int_equal(watching_fits(&(struct watch_orders){0}, frames, 3), 0);
}

static void wait_until(uint64_t at, uint64_t span, uint32_t stack)
{
	watching_note(&h, &(struct watching_sample){
				  .last_ns = at, .span_ns = span, .stack = stack, .wait = true});
}

static void run_at(uint64_t at, uint32_t stack)
{
	watching_note(&h, &(struct watching_sample){.last_ns = at, .stack = stack});
}

/* One wait is told in pieces, each with its whole length; who wakes between is at none. */
static void test_waits(void **state)
{
	wait_until(100 * S, 5 * S, 1);
	assert_int_equal(watching_held(&h, 101 * S), 5 * S);
	wait_until(110 * S, 15 * S, 1);
	assert_int_equal(watching_held(&h, 170 * S), 15 * S); /* it still sleeps */
	wait_until(105 * S, 10 * S, 1);			      /* came late */
	assert_int_equal(watching_held(&h, 170 * S), 15 * S);
	for (int i = 0; i < 100; i++) /* it polls, at the same stack */
		wait_until((200 + (uint64_t)i) * S, 900 * MS, 1);
	assert_int_equal(watching_held(&h, 300 * S), 900 * MS);
}

/* Who runs, at one place; also while others have its CPU. */
static void test_runs(void **state)
{
	for (int i = 0; i <= 400; i++)
		run_at(100 * S + (uint64_t)i * 10 * MS, 1);
	assert_int_equal(watching_held(&h, 104 * S), 4 * S);
	watching_note(&h,
		      &(struct watching_sample){.last_ns = 107 * S, .stack = 9, .queued = true});
	run_at(109 * S, 1);
	assert_int_equal(watching_held(&h, 109 * S), 9 * S);
	assert_int_equal(watching_held(&h, 120 * S), 0); /* nothing is known of it since */
	run_at(121 * S, 1);
	assert_int_equal(watching_held(&h, 121 * S), 0);
	run_at(122 * S, 2);
	assert_int_equal(watching_held(&h, 122 * S), 0);
	run_at(123 * S, 0); /* without a stack */
	run_at(124 * S, 0);
	assert_int_equal(watching_held(&h, 124 * S), 0);
}

/* A thread that waited, and then runs at what looks the same, does another thing. */
static void test_wakes(void **state)
{
	wait_until(100 * S, 50 * S, 1);
	run_at(101 * S, 1);
	assert_int_equal(watching_held(&h, 101 * S), 0);
}

/* ---- circles ---- */

static struct hold v[4];

static const struct hold *next_of(void *ctx, const struct hold *at)
{
	return at->owner ? &v[at->owner - 1] : NULL;
}

static unsigned int circle(int i)
{
	return watching_circle(&v[i], next_of, NULL);
}

static void waits_for(int i, int owner, uint64_t since, uint64_t until)
{
	v[i] = (struct hold){.since_ns = since * S,
			     .until_ns = until * S,
			     .cause = 1,
			     .sleeps = true,
			     .owner = owner + 1};
}

static void test_circles(void **state)
{
	waits_for(0, 1, 10, 20);
	waits_for(1, 2, 11, 19);
	waits_for(2, 0, 18, 30);
	waits_for(3, 0, 18, 30); /* waits for them, and is not in it */
	assert_int_equal(circle(0), 3);
	assert_int_equal(circle(1), 3);
	assert_int_equal(circle(2), 3);
	assert_int_equal(circle(3), 0);
	waits_for(2, 0, 25, 30); /* after the others, as far as is known */
	assert_int_equal(circle(0), 0);
	waits_for(2, 2, 18, 30);
	assert_int_equal(circle(2), 0);				      /* of itself is none */
	v[2] = (struct hold){.since_ns = 18 * S, .until_ns = 30 * S}; /* waits for no lock */
	assert_int_equal(circle(0), 0);
	v[1].owner = 0; /* nobody knows */
	assert_int_equal(circle(0), 0);
}

/* What a wait was known to be for stays known while it is the same one. */
static void test_owner(void **state)
{
	const struct watching_sample first = {
		.last_ns = 10 * S, .span_ns = S, .cause = 5, .wait = true};
	const struct watching_sample same = {
		.last_ns = 20 * S, .span_ns = 11 * S, .cause = 5, .wait = true};
	const struct watching_sample other = {
		.last_ns = 30 * S, .span_ns = 2 * S, .cause = 5, .wait = true};

	watching_note(&h, &first);
	h.owner = 77;
	watching_note(&h, &same);
	assert_int_equal(h.owner, 77);
	watching_note(&h, &other);
	assert_int_equal(h.owner, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fits),
		cmocka_unit_test_setup(test_waits, setup),
		cmocka_unit_test_setup(test_runs, setup),
		cmocka_unit_test_setup(test_wakes, setup),
		cmocka_unit_test(test_circles),
		cmocka_unit_test_setup(test_owner, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
