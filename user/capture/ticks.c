/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/ticks.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "capture/capture.h"
#include "capture/doze.h"
#include "kern/abi.h"

#define LATE_NS	    1000000ull
#define CONSIDER_NS 1000000000ull
#define DOZE_NS	    100000000ull

struct ticks {
	struct capture *capture;
	struct ticks_config cfg;
	_Atomic enum wall_engine engine;
	uint64_t considered_ns, switches; /* when, and the counter as it was */
	int agreed;
	bool told;		/* the user was told that another engine cannot be had */
	int wake;		/* an eventfd: another tick is the next one, or it is the end */
	struct doze doze, late; /* which ticks need a visit, lately, and which visits are late */
	bool dozes, rung; /* ticks are left out; it was woken for the next one that is visited */
	_Atomic bool ends;
	pthread_t thread;
	struct ticks_stats stats;
};

/* False: it was woken before. */
static bool sleep_until(struct ticks *t, uint64_t ns)
{
	struct pollfd on[] = {{.fd = t->wake, .events = POLLIN},
			      {.fd = capture_bell(t->capture), .events = POLLIN}};
	uint64_t n;
	int rc;

	do {
		uint64_t now = now_ns(), left = ns > now ? ns - now : 0;
		struct timespec ts = {(time_t)(left / 1000000000u), (long)(left % 1000000000u)};

		rc = ppoll(on, 2, &ts, NULL);
	} while (rc < 0 && errno == EINTR);
	if (rc > 0 && on[0].revents && read(t->wake, &n, sizeof(n)) < 0)
		log_debug("ticks: %s", strerror(errno));
	return rc <= 0;
}

static void wake(struct ticks *t)
{
	uint64_t one = 1;

	if (write(t->wake, &one, sizeof(one)) < 0)
		log_debug("ticks: %s", strerror(errno));
}

static void on_sooner(void *ctx)
{
	wake(ctx);
}

/*
 * A tick's work takes a few microseconds and is bounded, so real-time priority does not starve
 * others.
 */
static void priority_raise(void)
{
	struct sched_param p = {.sched_priority = 1};

	prctl(PR_SET_TIMERSLACK, 1ul); /* some kernels apply it to real-time threads, too */
	if (!pthread_setschedparam(pthread_self(), SCHED_FIFO | SCHED_RESET_ON_FORK, &p))
		return;
	if (setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), -20))
		log_info("the tick thread runs without raised priority: %s", strerror(errno));
}

/* What the targets did since the last call. False: the last call was too short ago. */
static bool load_measure(struct ticks *t, struct engine_load *l)
{
	uint64_t counters[GN_CNT_MAX], now = now_ns(), since = now - t->considered_ns;

	if (since < CONSIDER_NS)
		return false;
	capture_counters(t->capture, counters);
	*l = (struct engine_load){
		.switches = (double)(counters[GN_CNT_SWITCHES] - t->switches) * 1e9 / (double)since,
		.ticks = 1e9 / (double)(t->cfg.wall_ns << capture_visit_level(t->capture)),
		.threads = capture_tick_threads(t->capture),
	};
	t->considered_ns = now;
	t->switches = counters[GN_CNT_SWITCHES];
	return true;
}

/* The change is tried again later, but the user is told once. */
static void engine_refused(struct ticks *t, enum wall_engine then, int rc)
{
	if (t->told)
		return;
	t->told = true;
	log_warn("wall samples go on by %s, which costs more here than by %s: %s%s",
		 engine_wall_name(t->engine), engine_wall_name(then), strerror(-rc),
		 rc == -EMFILE ? " (allow more: ulimit -n)" : "");
}

/*
 * The engine changes only if two seconds in a row call for it, since what a target does at its
 * start passes.
 */
static void engine_consider(struct ticks *t, uint64_t tick)
{
	enum wall_engine now = t->engine, then;
	struct engine_load l;
	int rc;

	if (t->cfg.engine != WALL_ENGINE_AUTO || !load_measure(t, &l))
		return;
	then = engine_wall(now, &l);
	t->agreed = then == now ? 0 : t->agreed + 1;
	if (t->agreed < 2)
		return;
	t->agreed = 0;
	rc = capture_wall_scan(t->capture, then == WALL_ENGINE_SCAN, tick);
	if (rc == -EAGAIN) { /* its programs are being loaded: the next second tries again */
		t->agreed = 1;
		return;
	}
	if (rc) {
		engine_refused(t, then, rc);
		return;
	}
	log_info("wall samples by %s: %.0f switches/s, %llu threads", engine_wall_name(then),
		 l.switches, (unsigned long long)l.threads);
	t->engine = then;
	t->stats.changes++;
}

/*
 * A scan has to find who is off the CPU at the tick. The switch engine knows that already, and its
 * visit must not disturb the tick.
 */
static uint64_t visit_time(const struct ticks *t, uint64_t tick)
{
	uint64_t at = t->cfg.start_ns + gn_tick_time(tick, t->cfg.wall_ns);

	return t->engine == WALL_ENGINE_SCAN ? at : at + GN_VISIT_DELAY;
}

/* Tells whether there was anything to be done. */
static bool visit(struct ticks *t, uint64_t tick)
{
	struct gn_remote_tick arg = {.tick = tick};
	uint64_t pause = capture_tick_look(t->capture, tick);
	int rc;

	if (pause)
		sleep_until(t, visit_time(t, tick) + pause);
	rc = capture_tick(t->capture, &arg);
	if (rc)
		log_debug("tick %llu: %s", (unsigned long long)tick, strerror(-rc));
	t->stats.ticks++;
	t->stats.pending += arg.popped;
	t->stats.taken += arg.taken;
	return capture_tick_was_needed(t->capture, &arg);
}

/* ---- ticks that are left out ---- */

/* The first tick whose visit has not been missed. */
static uint64_t tick_coming(const struct ticks *t)
{
	return gn_ticks_until(now_ns() - t->cfg.start_ns, t->cfg.wall_ns);
}

static uint64_t tick_next(const struct ticks *t, uint64_t from)
{
	return gn_level_next(from, capture_visit_level(t->capture));
}

/* The ticks until then are not to be made up for: nobody wanted them when they passed. */
static void ticks_pass(const struct ticks *t, uint64_t *from)
{
	uint64_t coming = tick_coming(t);

	*from = coming > *from ? coming : *from;
}

/* Till then it is not looked at what is asked for while ticks are left out. */
static uint64_t doze_until(const struct ticks *t)
{
	uint64_t interval = t->cfg.wall_ns << capture_visit_level(t->capture);

	return now_ns() + (interval > DOZE_NS ? interval : DOZE_NS);
}

/*
 * Where others read for a while who rests, a visit is two wake-ups, at the tick and after that
 * while, and a tick that the ticker finds is one. (Unless it finds them late: it has to wait for
 * the kernel's soft interrupts, and this thread, by its priority, for next to nobody.)
 */
static bool leaves_out(const struct ticks *t)
{
	return doze_pays(&t->doze) || (capture_near(t->capture) && doze_pays(&t->late));
}

/* The last tick that has passed, if those that rest since are still left to others. */
static bool tick_left(const struct ticks *t, uint64_t from, uint64_t *tick)
{
	uint32_t level = capture_visit_level(t->capture);
	uint64_t n = gn_level_before(tick_coming(t), level), near = capture_near(t->capture);

	if (!n || !near)
		return false;
	*tick = gn_level_tick(n - 1, level);
	return *tick >= from && now_ns() <= visit_time(t, *tick) + near + LATE_NS;
}

/*
 * Sleeps until a tick is to be visited. False: none is, now. What else it was woken for must not
 * take a tick's second look from it.
 */
static bool doze(struct ticks *t, uint64_t *from, uint64_t *tick)
{
	uint64_t found;

	if (sleep_until(t, doze_until(t))) {
		engine_consider(t, tick_coming(t) - 1);
		if (capture_dozes(t->capture))
			return false;
	}
	t->dozes = false;
	t->rung = true;
	found = capture_doze_end(t->capture);
	if (found > *from && found <= tick_coming(t)) {
		*tick = found - 1;
		return true;
	}
	if (tick_left(t, *from, tick))
		return true;
	ticks_pass(t, from);
	return false;
}

/* The same where ticks are not left out. */
static bool await(struct ticks *t, uint64_t *from, uint64_t *tick)
{
	*tick = tick_next(t, *from);
	if (sleep_until(t, visit_time(t, *tick)))
		return true;
	capture_doze_end(t->capture);
	ticks_pass(t, from);
	return false;
}

static void late_note(struct ticks *t, uint64_t tick)
{
	bool late = now_ns() - visit_time(t, tick) > LATE_NS + capture_near(t->capture);

	doze_note(&t->late, late, 1);
	if (!late)
		return;
	t->stats.late++;
	capture_tick_late(t->capture);
}

static void *ticks_main(void *arg)
{
	struct ticks *t = arg;
	uint64_t from = tick_coming(t), seen = from, tick;

	pthread_setname_np(pthread_self(), "gnomon-ticks");
	priority_raise();
	while (!atomic_load(&t->ends)) {
		if (t->dozes ? !doze(t, &from, &tick) : !await(t, &from, &tick))
			continue;
		late_note(t, tick);
		doze_note(&t->doze, visit(t, tick) || t->rung, tick + 1 - seen);
		t->rung = false;
		engine_consider(t, tick);
		from = seen = tick + 1;
		t->dozes = leaves_out(t) && capture_doze(t->capture, tick_next(t, from));
		t->stats.dozes += t->dozes;
	}
	capture_doze_end(t->capture);
	return NULL;
}

int ticks_start(struct ticks **out, struct capture *c, const struct ticks_config *cfg,
		struct error *e)
{
	struct ticks *t = calloc(1, sizeof(*t));
	int rc;

	if (!t)
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	t->capture = c;
	t->cfg = *cfg;
	t->considered_ns = now_ns();
	t->engine = cfg->engine == WALL_ENGINE_SCAN || !capture_can_switch(c) ? WALL_ENGINE_SCAN
									      : WALL_ENGINE_SWITCH;
	if (!capture_can_switch(c))
		t->cfg.engine = WALL_ENGINE_SCAN;
	t->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (t->wake < 0) {
		rc = errno;
		free(t);
		return error_set(e, -rc, EXIT_INTERNAL, "cannot make an eventfd: %s", strerror(rc));
	}
	rc = pthread_create(&t->thread, NULL, ticks_main, t);
	if (rc) {
		close(t->wake);
		free(t);
		return error_set(e, -rc, EXIT_INTERNAL, "cannot start a thread: %s", strerror(rc));
	}
	capture_on_sooner(c, on_sooner, t);
	*out = t;
	return 0;
}

enum wall_engine ticks_engine(const struct ticks *t)
{
	return t->engine;
}

void ticks_stop(struct ticks *t, struct ticks_stats *out)
{
	if (!t)
		return;
	capture_on_sooner(t->capture, NULL, NULL);
	atomic_store(&t->ends, true);
	wake(t);
	pthread_join(t->thread, NULL);
	close(t->wake);
	if (out)
		*out = t->stats;
	free(t);
}
