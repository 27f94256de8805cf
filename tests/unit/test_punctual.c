/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A CPU's clock on a host that steals: what fires for stolen time counts for nothing, so that the
 * samples of whoever runs add up to its CPU time. The host and the kernel's timer are played here:
 * a timer that is due while the CPU is away fires when it is back, and is due next at the first
 * multiple of its period after that (hrtimer_forward_now()).
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "kern/punctual.h"

#define MS     1000000.0
#define PERIOD 9830000ull /* of 10 ms, as GN_CPU_CLOCK_KEEP says */

struct host {
	double run_ns, away_ns; /* how long the CPU is there, and away, at a time */
	bool regular;		/* else exponentially distributed */
	double jitter_ns;	/* by which firings are late anyway, at most */
	bool counted;		/* the kernel knows of stolen time */
};

struct outcome {
	double all, kept; /* CPU time that firings stand for, of the CPU time there was */
};

static uint64_t seed;

static double random_unit(void)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return ((double)(seed >> 11) + 0.5) / 9007199254740992.0;
}

static double length(const struct host *h, double mean)
{
	return h->regular ? mean : -mean * log(random_unit());
}

/* Firings are counted until so many have been. */
static struct outcome play(const struct host *h, int firings)
{
	double now = 1e9 + 123456, end = 0, cpu = 0, stolen = 0;
	uint64_t due = (uint64_t)now + PERIOD / 3;
	struct gn_punctual p = {0};
	int all = 0, kept = 0;

	seed = 42;
	while (all < firings) {
		double run = length(h, h->run_ns), away = length(h, h->away_ns);

		end = now + run;
		while ((double)due < end && all < firings) {
			uint64_t at = due + (uint64_t)(random_unit() * h->jitter_ns);

			if ((double)at < now)
				at = (uint64_t)now;
			all++;
			kept += !gn_firing_stolen(&p, at, PERIOD,
						  h->counted ? (uint64_t)stolen : 0);
			due += ((at - due) / PERIOD + 1) * PERIOD;
		}
		cpu += run;
		stolen += away;
		now = end + away;
	}
	return (struct outcome){.all = all * (double)PERIOD / cpu,
				.kept = kept * (double)PERIOD / cpu};
}

static void assert_within(double got, double want, double tolerance, const char *what)
{
	if (fabs(got - want) > tolerance)
		fail_msg("%s: %.4f, expected %.4f +- %.4f", what, got, want, tolerance);
}

#define FIRINGS 200000

/* What was seen: 58 to 77%, in turns of some milliseconds, or by a quota for each 100 ms. */
static void test_stolen(void **state)
{
	static const struct host hosts[] = {
		{2 * MS, 2.8 * MS, false, 30000, true}, {1.5 * MS, 5 * MS, false, 30000, true},
		{3 * MS, 4 * MS, true, 30000, true},	{40 * MS, 60 * MS, true, 50000, true},
		{23 * MS, 77 * MS, false, 50000, true},
	};

	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		struct outcome o = play(&hosts[i], FIRINGS);

		if (o.all < 1.1)
			fail_msg("host %zu: nothing was wrong to begin with (%.3f)", i, o.all);
		/* what is stolen for less than GN_LATE_NS at a time counts */
		assert_within(o.kept, 1, 0.06, "samples of CPU time");
	}
}

/* Nothing is stolen: all count, however unpunctual the machine's own interrupts are. */
static void test_own_machine(void **state)
{
	static const struct host hosts[] = {
		{1000 * MS, 0, true, 0, false},
		{1000 * MS, 0, true, 50000, true},
		{1000 * MS, 0, true, 3 * MS, true}, /* one that is emulated */
	};

	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++)
		assert_within(play(&hosts[i], FIRINGS).kept, 1, 0.001, "samples of CPU time");
}

/* Where the kernel does not count it, it is in the CPU time. */
static void test_not_counted(void **state)
{
	struct host h = {2 * MS, 5 * MS, false, 30000, false};
	struct outcome o = play(&h, FIRINGS);

	assert_true(o.kept == o.all);
}

/* The clock is stopped and begins anew, at other times: that is learned. */
static void test_begun_anew(void **state)
{
	struct gn_punctual p = {0};
	uint64_t at = 1000 * PERIOD;
	int late = 0;

	for (int i = 0; i < 100; i++)
		assert_int_equal(gn_firing_stolen(&p, at += PERIOD, PERIOD, (uint64_t)i), 0);
	at += PERIOD / 2;
	for (int i = 0; i < 100; i++)
		late += gn_firing_stolen(&p, at += PERIOD, PERIOD, (uint64_t)i + 1000);
	assert_in_range(late, 1, GN_AGREED_MAX + GN_AGREES_WORTH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stolen),
		cmocka_unit_test(test_own_machine),
		cmocka_unit_test(test_not_counted),
		cmocka_unit_test(test_begun_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
