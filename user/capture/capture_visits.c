/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is done at ticks: threads that rest are read, and it is looked at whose the locks are and
 * why threads are queued.
 */
#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>

#include "base/clock.h"
#include "base/log.h"
#include "capture/capture_int.h"
#include "capture/iterator.h"

/*
 * How long the collector waits for threads of the targets to read others (kern/visit.bpf.c): until
 * they have switched NEAR_WHILE times; and from how many of them on. Who comes back meanwhile on a
 * CPU that has not his memory is without a stack, one in a thousand.
 */
#define NEAR_LEAST_NS 300000
#define NEAR_MOST_NS  1500000 /* kern/offcpu.bpf.c has them read for 2 ms */
#define NEAR_WHILE    20      /* switches */
#define NEAR_SWITCHES 8000    /* a second, from which on they read */
#define NEAR_FEW      4
#define NEAR_PART     4 /* of the time between two ticks, at most */
#define NEAR_LOOK_NS  200000000
#define NEAR_AGAIN_NS 1000000000
#define NEAR_LATE     10 /* ticks visited late */

/* What is to be read again by now: gn_reread. */
static uint32_t reread_take(struct capture *c)
{
	bool reread = atomic_exchange(&c->reread_due, false);

	return atomic_exchange(&c->relist_due, false) ? GN_REREAD_LISTS : reread;
}

static void reread_put_off(struct capture *c, uint32_t reread)
{
	c->reread_due |= reread != 0;
	c->relist_due |= reread == GN_REREAD_LISTS;
}

/*
 * Read the stacks of threads that have been off the CPU since before that tick, or of all threads
 * (UINT64_MAX). If some did not fit into the rings another scan is due.
 */
static int remote_scan(struct capture *c, uint64_t tick)
{
	/* a request that comes while this scan goes on leads to another scan */
	uint32_t reread = tick == UINT64_MAX ? reread_take(c) : 0;
	int rc;

	c->skel->data->gn_remote_tick = tick;
	c->skel->bss->gn_unread = 0;
	c->skel->bss->gn_reread = reread;
	rc = iterator_all(capture_part(c, PROGRAMS_REMOTE)->progs.remote_scan);
	c->skel->bss->gn_reread = 0;
	if (c->skel->bss->gn_unread) {
		reread_put_off(c, reread);
		c->remote_due = true;
	}
	return rc;
}

/* Run a program now, which reads and fills in what it is given: 0, or -errno. */
static int program_run(const struct bpf_program *prog, void *arg, size_t size)
{
	/* the kernel copies the context back to where it came from */
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = arg, .ctx_size_in = (__u32)size);
	int rc = bpf_prog_test_run_opts(bpf_program__fd(prog), &opts);

	return rc ? rc : (int)opts.retval;
}

static int remote_run(struct capture *c, struct gn_remote_tick *arg)
{
	return program_run(capture_part(c, PROGRAMS_REMOTE)->progs.remote_tick, arg, sizeof(*arg));
}

/* Queue the threads that rest without a stack, or with one that may be read better now. */
static int resting_queue(struct capture *c)
{
	int rc;

	c->rereading = reread_take(c);
	c->skel->bss->gn_unread = 0;
	c->skel->bss->gn_reread = c->rereading;
	rc = iterator_all(c->skel->progs.resting_scan);
	c->skel->bss->gn_reread = 0;
	if (c->skel->bss->gn_unread) {
		reread_put_off(c, c->rereading);
		c->remote_due = true;
	}
	c->resting = true;
	return rc;
}

/* So many at each tick that it takes a fifth of a CPU at most: a stack takes some 20 us. */
#define RESTING_NS    100000
#define RESTING_LEAST 16
#define RESTING_MOST  1000

static uint32_t resting_most(const struct capture *c)
{
	uint64_t n = c->skel->rodata->gn_wall_ns / RESTING_NS;

	if (n < RESTING_LEAST)
		return RESTING_LEAST;
	return n < RESTING_MOST ? (uint32_t)n : RESTING_MOST;
}

#define LATE_NS 1000000000ull /* between two looks at all threads for some that were met late */

/* Takes note of what has to be read again of what was met late. True: some threads are queued. */
static bool late_take(struct capture *c)
{
	uint32_t late = atomic_exchange(&c->late, 0);

	if (late & CAPTURE_LATE_ALL && now_ns() - c->late_ns >= LATE_NS) {
		c->late_ns = now_ns();
		capture_reread(c);
	} else if (late & CAPTURE_LATE_ALL) {
		atomic_fetch_or(&c->late, CAPTURE_LATE_ALL);
	}
	return late & CAPTURE_LATE_QUEUED;
}

/* Read some of the threads that rest; when all have been, those that are due by then are queued. */
static int resting_read(struct capture *c)
{
	struct gn_remote_tick arg = {.tick = GN_RESTING, .most = resting_most(c)};
	bool late = late_take(c);
	int rc = 0;

	if (!c->resting)
		c->rereading = 0;
	if (!c->resting && atomic_exchange(&c->remote_due, false))
		rc = resting_queue(c);
	if (rc || !(c->resting || late))
		return rc;
	c->skel->bss->gn_reread = c->rereading;
	rc = remote_run(c, &arg);
	c->skel->bss->gn_reread = 0;
	c->resting = !rc && arg.left;
	return rc;
}

int capture_resting_begin(struct capture *c)
{
	if (!capture_needs(c, PROGRAMS_REMOTE))
		return 0;
	return c->can_find ? resting_read(c) : remote_scan(c, UINT64_MAX);
}

/*
 * How many threads were added to the tick's queue since it was visited last; that is now, if
 * `visits`. One that is being added right now is found two ticks later.
 */
static uint64_t pending_added(struct capture *c, uint64_t tick, bool visits)
{
	size_t odd = tick >> capture_visit_level(c) & 1; /* as tick_parity() has it */
	uint64_t n = __atomic_load_n(&c->skel->bss->gn_pending[odd], __ATOMIC_ACQUIRE);
	uint64_t added = n - c->pending[odd];

	if (visits)
		c->pending[odd] = n;
	return added;
}

/* If it fails samples lack what it tells, and are samples. True: some group's time is used up. */
static bool look(const struct bpf_program *by, uint64_t tick)
{
	struct gn_tick_look arg = {.tick = tick};
	int rc = program_run(by, &arg, sizeof(arg));

	if (rc)
		log_debug("%s at tick %llu: %s", bpf_program__name(by), (unsigned long long)tick,
			  strerror(-rc));
	return arg.spent;
}

/* After one at which a group had used up its time, or may have, so many ticks are visited. */
#define SPENT_TICKS 100

/* Why threads are queued: who has the CPUs, unless switches tell it, and which groups have used up
 * their time. */
static void queues_look(struct capture *c, uint64_t tick)
{
	if (c->scanning)
		look(capture_part(c, PROGRAMS_SCAN)->progs.cpus_look, tick);
	if (!c->skel->bss->gn_groups)
		return;
	if (look(c->skel->progs.groups_look, tick) ||
	    __atomic_exchange_n(&c->skel->bss->gn_unsure, 0, __ATOMIC_RELAXED))
		c->spent = SPENT_TICKS;
	else if (c->spent)
		c->spent--;
}

/*
 * Read whose the locks are that threads wait for: of all of them (0), or of those that have come
 * since an earlier call of this tick has returned `since`.
 */
static uint64_t locks_read(struct capture *c, uint64_t tick, uint64_t since)
{
	uint64_t *waiters = (uint64_t *)&c->skel->bss->gn_lock_waiters;
	struct gn_lock_tick arg = {.tick = tick, .since = since};
	uint64_t seen = since ? since : c->skel->bss->gn_lock_seen;

	c->locked = since && c->locked;
	if (!c->can_lock || __atomic_load_n(waiters, __ATOMIC_ACQUIRE) == seen ||
	    programs_begin(c->programs, PROGRAMS_REMOTE))
		return seen;
	program_run(capture_part(c, PROGRAMS_REMOTE)->progs.lock_tick, &arg, sizeof(arg));
	c->locked = true;
	return __atomic_load_n(waiters, __ATOMIC_ACQUIRE);
}

/*
 * Loaded is the program by which others read who rests, where the targets switch often, or the tick
 * thread comes late more than now and then. It takes the verifier two fifths of what all do that a
 * recording begins with. The draining thread
 * has it loaded: a thread that loads inherits the CPUs and the priority of who starts it. Where
 * there were no descriptors for that it is tried again a second later.
 */
void capture_near_load(struct capture *c)
{
	uint64_t now;
	int rc;

	if (!c->near_wanted || c->near_there || c->stopped)
		return;
	now = now_ns();
	if (now < c->near_next)
		return;
	rc = programs_begin(c->programs, PROGRAMS_VISIT);
	c->near_there = !rc;
	c->near_next = rc == -EAGAIN ? now : now + NEAR_AGAIN_NS;
}

/* By how often the targets switch in a second; 0: too seldom, or ticks are too close. */
static uint64_t near_time(const struct capture *c, uint64_t switches)
{
	uint64_t most = (c->skel->rodata->gn_wall_ns << capture_visit_level(c)) / NEAR_PART, ns;

	if (switches < NEAR_SWITCHES || most < NEAR_LEAST_NS / 2)
		return 0;
	ns = (uint64_t)NEAR_WHILE * 1000000000 / switches;
	if (ns < NEAR_LEAST_NS)
		ns = NEAR_LEAST_NS;
	if (ns > NEAR_MOST_NS)
		ns = NEAR_MOST_NS;
	return ns < most ? ns : most;
}

/* Finds out whether others read who rests, so that the collector need not. */
static void near_follow(struct capture *c)
{
	uint64_t now = now_ns(), since = now - c->near_since, n;

	if (!c->can_visit)
		return;
	if (since >= NEAR_LOOK_NS) {
		n = capture_switches_sum(c);
		c->near_ns = near_time(c, (n - c->near_switches) * 1000000000 / since);
		c->near_since = now;
		c->near_switches = n;
	}
	if (c->near_ns || c->late_ticks >= NEAR_LATE)
		c->near_wanted = true;
	c->skel->bss->gn_near_ns = c->near_there ? c->near_ns : 0;
}

uint64_t capture_near(const struct capture *c)
{
	return c->skel->bss->gn_near_ns;
}

void capture_tick_late(struct capture *c)
{
	c->late_ticks++;
}

uint64_t capture_tick_look(struct capture *c, uint64_t tick)
{
	if (c->looks)
		queues_look(c, tick);
	if (c->scanning || !c->can_find)
		return 0;
	c->waiters = locks_read(c, tick, 0);
	near_follow(c);
	return pending_added(c, tick, false) >= NEAR_FEW ? capture_near(c) : 0;
}

/*
 * On kernels where the program cannot find a task by its pid, an iterator goes through all tasks
 * instead.
 */
int capture_tick(struct capture *c, struct gn_remote_tick *arg)
{
	int rc = 0, rested;

	if (c->scanning) {
		c->skel->bss->gn_scan_tick = arg->tick;
		capture_ticks_follow(c);
		rc = capture_iterate(c, capture_part(c, PROGRAMS_SCAN)->progs.wall_scan,
				     c->ticks_tgids, c->nticks_tgids);
		locks_read(c, arg->tick, 0);
		return rc;
	}
	if (!c->can_find) {
		late_take(c);
		return remote_scan(c,
				   atomic_exchange(&c->remote_due, false) ? UINT64_MAX : arg->tick);
	}
	if (pending_added(c, arg->tick, true))
		rc = remote_run(c, arg);
	rested = resting_read(c);
	locks_read(c, arg->tick, c->waiters); /* of those that were only met now */
	return rc ? rc : rested;
}

/* ---- ticks that are left out ---- */

static bool is_calm(const struct capture *c)
{
	return c->bell && !c->scanning && c->can_find && !c->spent && !c->resting &&
	       !c->remote_due && !c->late;
}

bool capture_tick_was_needed(const struct capture *c, const struct gn_remote_tick *arg)
{
	return arg->taken || c->locked || !is_calm(c);
}

bool capture_doze(struct capture *c, uint64_t tick)
{
	struct gn_ticker_start arg = {.tick = tick};
	int rc;

	if (!is_calm(c))
		return false;
	c->skel->bss->gn_tick_found = 0;
	__atomic_store_n(&c->skel->bss->gn_tick_dozes, GN_DOZE_TICKER, __ATOMIC_SEQ_CST);
	rc = program_run(c->skel->progs.ticker_start, &arg, sizeof(arg));
	if (!rc)
		return true;
	log_debug("ticks: no timer: %s", strerror(-rc));
	capture_doze_end(c);
	return false;
}

bool capture_dozes(struct capture *c)
{
	near_follow(c);
	return is_calm(c) &&
	       __atomic_load_n(&c->skel->bss->gn_tick_dozes, __ATOMIC_SEQ_CST) != GN_DOZE_NOT;
}

uint64_t capture_doze_end(struct capture *c)
{
	__atomic_store_n(&c->skel->bss->gn_tick_dozes, GN_DOZE_NOT, __ATOMIC_SEQ_CST);
	if (c->bell)
		ring_buffer__consume(c->bell);
	return __atomic_exchange_n(&c->skel->bss->gn_tick_found, 0, __ATOMIC_SEQ_CST);
}

int capture_bell(const struct capture *c)
{
	return c->bell ? bpf_map__fd(c->skel->maps.bell) : -1;
}

void capture_reread(struct capture *c)
{
	c->reread_due = true;
	c->remote_due = true;
}
