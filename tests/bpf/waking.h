/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording of waits that cross some ticks each, by which it is told who ended them. Included
 * behind cmocka.h.
 */
#ifndef TESTS_BPF_WAKING_H
#define TESTS_BPF_WAKING_H

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "capture/capture.h"
#include "sleeps.h"

#define MS	       1000000ull
#define WAKING_WALL_NS (5 * MS)
#define WAKING_ROUNDS  20
#define WAKING_LONG_NS (30 * MS) /* of each wait: some ticks */
#define WAKING_CAUSES  256

/* The contents of causes, which may come later than samples, by another CPU's ring. */
struct waking {
	struct gn_cause_rec causes[WAKING_CAUSES];
	size_t ncauses;
	uint64_t start_ns, from_ns; /* who ends a wait is told of what begins from then on */
	bool rates, no_wakers;	    /* the process has a rate of its own, without them */
	bool scans;		    /* there was another engine before that */
};

static inline void waking_keep(struct waking *w, const struct gn_rec *rec)
{
	assert_true(w->ncauses < WAKING_CAUSES);
	memcpy(&w->causes[w->ncauses++], rec, sizeof(struct gn_cause_rec));
}

static inline const struct gn_cause_rec *waking_find(const struct waking *w, uint64_t id)
{
	for (size_t i = 0; i < w->ncauses; i++)
		if (w->causes[i].id == id)
			return &w->causes[i];
	return NULL;
}

static inline void waking_visit(struct waking *w, struct capture *c, capture_fn fn, void *ctx)
{
	uint64_t tick = gn_ticks_until(w->from_ns - w->start_ns, WAKING_WALL_NS);

	for (uint64_t end = tick + WAKING_ROUNDS * WAKING_LONG_NS / WAKING_WALL_NS; tick < end;
	     tick++) {
		struct gn_remote_tick arg = {.tick = tick};

		sleep_until(w->start_ns + gn_tick_time(tick, WAKING_WALL_NS));
		capture_tick_look(c, tick);
		assert_int_equal(capture_tick(c, &arg), 0);
		assert_true(capture_drain(c, fn, ctx) >= 0);
	}
}

#define WAKING_TRIPS 5000

/* A byte to a child and back, so often: two wake-ups each. How often programs of `c` ran. */
static inline uint64_t waking_trips(const struct capture *c)
{
	uint64_t ns, before, after;
	int to[2], back[2];
	char byte = 0;
	pid_t child;

	assert_int_equal(pipe(to) | pipe(back), 0);
	child = fork();
	if (!child) {
		close(to[1]);
		while (read(to[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1)
			;
		_exit(0);
	}
	capture_run_time(c, &ns, &before);
	for (int i = 0; i < WAKING_TRIPS; i++)
		assert_true(write(to[1], &byte, 1) == 1 && read(back[0], &byte, 1) == 1);
	capture_run_time(c, &ns, &after);
	for (int i = 0; i < 2; i++) {
		close(to[i]);
		close(back[i]);
	}
	waitpid(child, NULL, 0);
	return after - before;
}

/* While threads are scanned no program runs where somebody wakes or switches. */
static inline void waking_scan(struct capture *c, uint64_t start_ns)
{
	uint64_t tick = gn_ticks_until(now_ns() - start_ns, WAKING_WALL_NS);
	int on, rc;

	while ((rc = capture_wall_scan(c, true, tick)) == -EAGAIN)
		sleep_until(now_ns() + MS);
	assert_int_equal(rc, 0);
	on = capture_run_time_on();
	assert_true(on >= 0);
	assert_in_range(waking_trips(c), 0, WAKING_TRIPS / 2); /* others' births, too */
	tick = gn_ticks_until(now_ns() - start_ns, WAKING_WALL_NS);
	assert_int_equal(capture_wall_scan(c, false, tick), 0);
	assert_true(waking_trips(c) > WAKING_TRIPS);
	close(on);
}

/* Records WAKING_ROUNDS waits of `target`. `told`: the kernel shows who wakes. False: it cannot be
 * recorded by switches. */
static inline bool waking_record(struct waking *w, pid_t target, bool told, capture_fn fn,
				 void *ctx)
{
	struct capture_config cfg = {.wall_ns = WAKING_WALL_NS, .causes = true, .rates = w->rates};
	struct capture_rate rate = {.wall_ns = WAKING_WALL_NS, .no_wakers = w->no_wakers};
	struct capture *c = NULL;
	struct error e = {0};

	cfg.start_ns = w->start_ns = now_ns();
	if (capture_open(&c, &cfg, &e))
		fail_msg("%s", e.msg);
	if (!capture_can_switch(c)) {
		print_message("needs what wall samples by switches take from the scheduler\n");
		capture_close(c);
		return false;
	}
	assert_int_equal(capture_add(c, target, &e), 0);
	if (w->rates)
		assert_int_equal(capture_rate(c, target, &rate), 0);
	assert_int_equal(capture_attach(c, &e), 0);
	assert_int_equal(capture_wakers_wait(c), told ? 0 : -EOPNOTSUPP);
	if (w->scans)
		waking_scan(c, w->start_ns);
	w->from_ns = now_ns() + 2 * WAKING_LONG_NS;
	waking_visit(w, c, fn, ctx);
	capture_account(c, 0);
	capture_stop(c);
	assert_true(capture_drain(c, fn, ctx) >= 0);
	capture_close(c);
	return true;
}

#endif
