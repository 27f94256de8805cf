/* SPDX-License-Identifier: Apache-2.0 */
/* The samples of a target: their states, how waits become events, and what was lost. */
#include "naming/target_int.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "jvm/monitors.h"
#include "model/state.h"
#include "naming/causes.h"
#include "naming/holders.h"
#include "naming/requests.h"
#include "naming/vitals.h"
#include "naming/vthreads.h"
#include "naming/watching.h"

#define LATE_NS	    2000000000ull /* a stack's frames may come so much later than its id */
#define LATE_MAX    65536
#define WAIT_MIN_NS 1000000000ull  /* wall ticks that stand for so much time may wait for more */
#define WAIT_MAX_NS 60000000000ull /* until they stand for so much */

static enum jfr_state sample_state(const struct gn_sample *s, const struct stack *st)
{
	static const enum jfr_state ids[STATE_MAX] = {
		[STATE_DEFAULT] = JFR_STATE_DEFAULT,
		[STATE_QUEUED] = JFR_STATE_QUEUED,
		[STATE_SLEEPING] = JFR_STATE_SLEEPING,
		[STATE_WAITING] = JFR_STATE_WAITING,
		[STATE_WAITING_TIMED] = JFR_STATE_WAITING_TIMED,
		[STATE_PARKED] = JFR_STATE_PARKED,
		[STATE_PARKED_TIMED] = JFR_STATE_PARKED_TIMED,
		[STATE_BLOCKED] = JFR_STATE_BLOCKED,
		[STATE_IO] = JFR_STATE_IO,
		[STATE_STOPPED] = JFR_STATE_STOPPED,
		[STATE_IDLE] = JFR_STATE_IDLE,
	};
	enum thread_state state;

	if (s->state == GN_ST_DISK)
		state = st ? st->disk : STATE_IO;
	else if (s->state == GN_ST_SLEEP || s->state == GN_ST_UNSEEN)
		state = st ? st->sleep : STATE_IDLE;
	else
		state = state_of(s->state, NULL, 0);
	return ids[state];
}

/* The number of the tick at that time. */
static uint64_t tick_of(const struct target *t, uint64_t time_ns)
{
	const struct target_config *cfg = &t->env->cfg;

	return gn_ticks_until(time_ns - cfg->start_ns, cfg->wall_ns) - 1;
}

/*
 * The last tick that is sure to be one of the sample's: at a level its n ticks are those of whole
 * groups (kern/abi.h), of which the sample begins at one.
 */
static uint64_t tick_last(uint64_t first, uint32_t n, uint32_t level)
{
	uint64_t group = (first >> level) + (n >> level) - 1;

	return n >> level > 1 ? group << level : first + (level ? 0 : n - 1);
}

/*
 * The length of the wait that an event of so many ticks tells. The kernel's records of one wait
 * each have its whole length so far; an event tells no more of it than its ticks stand for, so that
 * the events of one wait add up to its length.
 */
static uint64_t span_of(const struct target *t, uint64_t length_ns, uint32_t ticks)
{
	uint64_t ns = t->env->cfg.wall_ns * ticks;

	return length_ns < ns ? length_ns : ns;
}

static void ticks_write(struct target *t, const struct gn_sample *s, uint32_t thread,
			uint32_t stack, enum jfr_state state)
{
	uint64_t tick = tick_of(t, s->h.time);

	for (uint32_t i = 0; i < s->n; i++)
		jfrw_wall_sample(t->out, target_tick_time(t, tick + i), thread, stack, state, 1,
				 span_of(t, s->span, 1));
}

/* ---- what is waited for ---- */

/* The thread of its own that the cause is, or that serves it; 0: none. */
static pid_t cause_tid(const struct target *t, const struct gn_cause_rec *rec)
{
	if (rec->of.kind == GN_CAUSE_SERVED)
		return (pid_t)rec->of.dev == t->tgid ? (pid_t)rec->of.count : 0;
	if (rec->of.kind == GN_CAUSE_THREAD ||
	    (rec->of.kind == GN_CAUSE_WAKER && rec->of.family == GN_WAKER_THREAD))
		return (pid_t)rec->of.ino;
	return 0;
}

/* A thread of its own is told by its number: here it gets its name. */
static void cause_name(struct target *t, struct gn_cause_rec *rec)
{
	pid_t tid = cause_tid(t, rec);
	struct member *m = tid ? roster_living(t->threads, tid, rec->h.time) : NULL;

	if (!m)
		return;
	roster_ask(t->threads, m);
	if (rec->of.kind == GN_CAUSE_SERVED && !m->java)
		return; /* it has the kernel's names */
	holders_name(rec, m->java ? m->java : m->comm, m->java != NULL);
}

void target_cause(struct target *t, const struct gn_cause_rec *told)
{
	struct gn_cause_rec copy = *told, *rec = &copy;
	struct vm *vm = gn_cause_is_lock(rec->of.kind) && !target_is_blind(t)
				? resolver_vm(t->names)
				: NULL;
	char name[FRAME_NAME_MAX] = "";

	cause_name(t, rec);
	if (vm)
		vm_class_name(vm, gn_cause_lock(&rec->of)->klass, name, sizeof(name));
	/* others were forgotten for it, and have to be sent again */
	if (causes_add(t->causes, rec, name))
		t->env->cfg.on_epoch(t->env->cfg.ctx);
}

/* When its last tick was. */
static uint64_t wait_last(const struct target *t, const struct wait *h)
{
	return target_tick_time(t, tick_of(t, h->time_ns) + h->ticks - 1);
}

/* What these ticks waited for, of a wait in that state. */
static struct cause_wait cause_wait_of(struct target *t, const struct wait *h)
{
	return (struct cause_wait){
		.cause = h->cause,
		.thread = h->thread,
		.stack = h->stack,
		.state = h->state,
		.samples = h->ticks,
		.first_ns = h->time_ns,
		.last_ns = wait_last(t, h),
		.span_ns = h->span_ns,
		.tick = tick_of(t, h->time_ns),
		.level = h->level,
	};
}

/* It depends on each tick whose it was, or what the VM thread did. */
static bool is_by_tick(uint64_t cause)
{
	return gn_cause_id_is_lock(cause) || causes_are_vm(cause);
}

/* So pieces of one wait are not joined. */
static void lock_note(struct target *t, const struct wait *h)
{
	struct cause_wait w;

	if (!t->env->cfg.causes || !is_by_tick(h->cause))
		return;
	w = cause_wait_of(t, h);
	target_locks_hold(t, &w);
}

void target_waker(void *ctx, const struct cause_waker *by, uint64_t last_ns, uint32_t *thread,
		  uint32_t *stack)
{
	struct target *t = ctx;
	uint64_t time = by->time_ns > last_ns ? by->time_ns : last_ns;
	struct stack *st = by->stack ? stacks_find(t->stacks, by->stack) : NULL;

	*thread = target_thread_of(t, by->tid, time);
	if (!st)
		return;
	if (time > st->seen_ns)
		st->seen_ns = time;
	st = stacks_as_of(t->stacks, st, time);
	*stack = st ? st->jfr : 0;
}

/* What a thread that serves it did at the wait's ticks are its own samples, as of an owner. */
static void cause_note(struct target *t, const struct wait *h)
{
	struct cause_wait w;
	pid_t server;

	if (!t->env->cfg.causes || !h->cause || is_by_tick(h->cause))
		return;
	w = cause_wait_of(t, h);
	server = causes_server(t->causes, h->cause);
	w.owner = server ? target_thread_of(t, server, w.last_ns) : 0;
	if (w.owner)
		w.whose = CAUSE_OWNER_THREAD;
	else if (!causes_is_known(t->causes, h->cause))
		w.whose = CAUSE_OWNER_LATER;
	causes_note(t->causes, &w, t->out);
}

/* ---- which request they worked for ---- */

void target_context(struct target *t, const struct gn_context_rec *rec)
{
	requests_add(t->requests, rec);
}

/* `n` samples of the thread from first_ns to last_ns, between which it has no others. */
static void context_note(struct target *t, uint64_t context, uint32_t thread, uint32_t n,
			 uint64_t first_ns, uint64_t last_ns)
{
	const struct request_note note = {
		.context = context,
		.thread = thread,
		.samples = n,
		.first_ns = first_ns,
		.last_ns = last_ns,
	};

	requests_note(t->requests, &note, t->out);
}

/* ---- long sleeps ---- */

/* The JDK's event of the wait. */
static void wait_event(struct target *t, const struct wait *h)
{
	const struct target_config *cfg = &t->env->cfg;
	struct cause_place place;

	if (h->state == JFR_STATE_BLOCKED && causes_are_jvm(h->cause))
		return; /* it enters no monitor */
	if (h->state == JFR_STATE_IO && causes_place(t->causes, h->cause, &place))
		vitals_wait_io(t->out, h->thread, h->stack, &place, h->time_ns, h->ticks,
			       cfg->wall_ns, h->span_ns);
	else
		vitals_wait(t->out, h->thread, h->stack, h->state, h->time_ns, h->ticks,
			    cfg->wall_ns, h->span_ns);
}

static void wait_write(struct target *t, struct wait *h)
{
	const struct target_config *cfg = &t->env->cfg;

	if (h->ticks && t->out) {
		cause_note(t, h);
		context_note(t, h->context, h->thread, h->ticks, h->time_ns, wait_last(t, h));
	}
	if (h->ticks && t->out)
		jfrw_wall_sample(t->out, h->time_ns, h->thread, h->stack, (enum jfr_state)h->state,
				 h->ticks, h->span_ns);
	if (h->ticks && t->vitals && cfg->waits)
		wait_event(t, h);
	h->ticks = 0;
}

void target_wait_write(void *ctx, struct member *m)
{
	wait_write(ctx, &m->wait);
}

/* Are the next ticks those that come after h's? */
static bool wait_follows(const struct target *t, const struct wait *h, const struct wait *next)
{
	uint64_t first = tick_of(t, h->time_ns) >> h->level;

	return first + (h->ticks >> h->level) == tick_of(t, next->time_ns) >> h->level;
}

/* When a thread went off the CPU, or up to a tick later; `length_ns`: of its wait until these
 * ticks' end. */
static uint64_t wait_began(const struct target *t, const struct wait *h, uint64_t length_ns)
{
	uint64_t end = wait_last(t, h) + t->env->cfg.wall_ns;

	return end - (length_ns < end ? length_ns : end);
}

/* Who ended a wait, or serves it, is known at its end: of these pieces of one the last tells it. */
static bool wait_goes_on(const struct target *t, const struct wait *h, const struct wait *next,
			 uint64_t length_ns)
{
	if (h->cause == next->cause)
		return true;
	return causes_completes(t->causes, h->cause, next->cause) &&
	       wait_began(t, next, length_ns) < h->time_ns + t->env->cfg.wall_ns;
}

/*
 * A thread that sleeps for long is accounted for every 1,000 ticks. Joins these pieces of one sleep
 * into one event: with 10,000 threads asleep they would be most of the file. False: the piece is
 * too short to wait for more.
 */
static bool wait_joins(struct target *t, struct wait *h, const struct wait *next,
		       uint64_t length_ns)
{
	uint64_t ns = t->env->cfg.wall_ns;

	if (next->ticks * ns < WAIT_MIN_NS)
		return false;
	if (h->ticks && h->thread == next->thread && h->stack == next->stack &&
	    h->state == next->state && wait_goes_on(t, h, next, length_ns) &&
	    h->context == next->context && h->ticks * ns < WAIT_MAX_NS && h->level == next->level &&
	    wait_follows(t, h, next)) {
		h->cause = next->cause;
		h->ticks += next->ticks;
		h->span_ns += next->span_ns;
		return true;
	}
	wait_write(t, h);
	*h = *next;
	return true;
}

/* What holds it up within the JVM its frames tell, and that is nearer than what the kernel does. */
static uint64_t sample_cause(struct target *t, const struct gn_sample *s, const struct stack *st)
{
	if (!st || !st->jvm || s->state == GN_ST_QUEUED || s->state == GN_ST_STOPPED)
		return s->cause;
	return causes_jvm(t->causes, st->jvm, 0, s->h.time);
}

static void wall_write(struct target *t, const struct gn_sample *s, struct member *m,
		       uint32_t stack, enum jfr_state state, uint64_t cause)
{
	struct wait now = {
		.time_ns = s->h.time,
		.span_ns = span_of(t, s->span, s->n),
		.ticks = s->n,
		.thread = target_sample_thread(t, s, m),
		.stack = stack,
		.state = state,
		.cause = cause,
		.context = s->context,
		.level = s->level,
	};

	lock_note(t, &now);
	if (t->env->cfg.one_by_one) {
		cause_note(t, &now);
		context_note(t, now.context, now.thread, now.ticks, now.time_ns,
			     wait_last(t, &now));
		ticks_write(t, s, now.thread, stack, state);
	} else if (!m || !wait_joins(t, &m->wait, &now, s->span)) {
		if (m)
			wait_write(t, &m->wait);
		wait_write(t, &now);
	}
}

/*
 * The last time at which the sample's thread surely was at its stack. As long as it is there it
 * keeps the methods of its frames alive.
 */
static uint64_t sample_last(const struct target *t, const struct gn_sample *s)
{
	if (s->clock != GN_CLOCK_WALL || !s->n)
		return s->h.time;
	return target_tick_time(t, tick_last(tick_of(t, s->h.time), s->n, s->level));
}

/* The last tick of these at which it was read whose a lock was. */
static uint64_t owner_tick(uint64_t first, uint32_t n, uint32_t level)
{
	if (!level)
		return first + n - 1;
	return gn_level_tick((first >> level) + (n >> level) - 1, level);
}

/* Where its thread is, for triggers. */
static void hold_note(struct target *t, const struct gn_sample *s, const struct stack *st,
		      struct member *m)
{
	struct watching_sample w = {
		.last_ns = sample_last(t, s),
		.span_ns = s->span,
		.stack = st ? st->jfr : 0,
		.watch = st ? st->watch : 0,
		.watched = st ? st->watched : 0,
		.wait = s->clock == GN_CLOCK_WALL && s->state != GN_ST_QUEUED,
		.queued = s->clock == GN_CLOCK_WALL && s->state == GN_ST_QUEUED,
		.cause = gn_cause_id_is_lock(s->cause) ? s->cause : 0,
	};

	if (w.wait && s->n)
		w.tick = owner_tick(tick_of(t, s->h.time), s->n, s->level);
	target_watch_thread(t, m, &w);
}

static void sample_count(struct target *t, const struct gn_sample *s, const struct stack *st)
{
	bool wall = s->clock == GN_CLOCK_WALL;

	quality_add(wall ? &t->wall : &t->cpu, st, s->n);
	walks_add(wall ? &t->totals.wall : &t->totals.cpu, st, s->n);
	if (wall) {
		t->totals.wall_samples += s->n;
		t->totals.wall_records++;
		t->totals.wall_queued += s->state == GN_ST_QUEUED ? s->n : 0;
		t->totals.wall_blocked +=
			s->state == GN_ST_SLEEP && st && st->sleep == STATE_BLOCKED ? s->n : 0;
	} else {
		uint64_t ns = s->n * (s->span ? s->span : t->env->cfg.cpu_ns);

		t->totals.cpu_samples += s->n;
		t->totals.cpu_ns += ns;
		target_watch_cpu(t, st, ns);
	}
}

static bool is_vm_thread(const struct member *m)
{
	return m && !m->java && !strcmp(m->comm, "VM Thread");
}

/* Who runs at the tick has a CPU sample that is close to it. */
static bool is_close(const struct target *t, uint64_t time, uint64_t tick)
{
	uint64_t at = target_tick_time(t, tick);

	return (at > time ? at - time : time - at) <= t->env->cfg.cpu_ns;
}

#define DELAYS_TICKS 64 /* of a thread that is queued so many are told */

/* A thread of Java that has not stopped, should the VM thread wait for that: it runs, or wants to.
 */
static void delay_note(struct target *t, const struct gn_sample *s, uint64_t tick)
{
	if (s->clock != GN_CLOCK_WALL)
		target_vm_ran(t, (pid_t)s->h.tid, s->h.time);
	else if (s->state == GN_ST_QUEUED)
		for (uint32_t i = 0; i < s->n && i < DELAYS_TICKS; i++)
			target_vm_ran(t, (pid_t)s->h.tid, target_tick_time(t, tick + i));
}

/* What the VM thread does, and which of Java's threads have not stopped for it. */
static void vm_note(struct target *t, const struct gn_sample *s, const struct member *m,
		    const struct stack *st)
{
	bool wall = s->clock == GN_CLOCK_WALL;
	uint64_t tick;

	if (!t->env->cfg.causes || !t->env->cfg.wall_ns || s->h.time < t->env->cfg.start_ns)
		return;
	tick = tick_of(t, s->h.time);
	if (!is_vm_thread(m)) {
		if (m && m->java && st && st->delays)
			delay_note(t, s, tick);
	} else if (!wall) {
		for (uint64_t k = tick; k <= tick + 1; k++)
			if (is_close(t, s->h.time, k))
				target_vm_near(t, (pid_t)s->h.tid, k, st ? st->vmop : 0);
	} else {
		target_vm_note(t, (pid_t)s->h.tid, tick, s->n, st ? st->vmop : 0);
	}
}

static void cpu_write(struct target *t, const struct gn_sample *s, uint32_t thread, uint32_t stack)
{
	context_note(t, s->context, thread, s->n, s->h.time, s->h.time);
	jfrw_cpu_samples(t->out, s->h.time, thread, stack, s->n, s->span);
}

static void sample_write(struct target *t, const struct gn_sample *s, struct stack *found)
{
	struct stack *st = found ? stacks_as_of(t->stacks, found, sample_last(t, s)) : NULL;
	uint32_t stack = st ? st->jfr : stacks_none(t->stacks);
	struct member *m = roster_get(t->threads, (pid_t)s->h.tid, s->h.time);

	if (s->stack && !st)
		target_lost(t, s->h.time, (pid_t)s->h.tid, LOSS_NAMES, s->n);
	sample_count(t, s, st);
	vm_note(t, s, m, found);
	hold_note(t, s, st, m);
	if (s->clock == GN_CLOCK_WALL) {
		wall_write(t, s, m, stack, sample_state(s, found), sample_cause(t, s, found));
	} else {
		target_load_begin(t, m);
		cpu_write(t, s, target_sample_thread(t, s, m), stack);
	}
}

void target_note_lost(struct target *t, uint64_t time, pid_t tid, unsigned int reason,
		      uint64_t count)
{
	const struct jfrw_form *form = &t->env->cfg.form;
	struct jfr_samples_lost e = {
		.thread = target_thread_of(t, tid, time),
		.kind = loss_kind(reason),
		.reason = loss_name(reason),
		.count = count,
	};

	t->reread |= gn_loss_is_task(reason);
	t->exec_lost |= reason == GN_LOSS_EXEC;
	jfrw_samples_lost(t->out, time, &e);
	if (!strcmp(e.kind, "cpu") && (form->cpu_event == JFRW_CPUTIME || form->plain))
		jfrw_cpu_lost(t->out, time, e.thread, count < INT32_MAX ? count : INT32_MAX);
}

void target_lost(struct target *t, uint64_t time, pid_t tid, unsigned int reason, uint64_t count)
{
	t->totals.lost[reason] += count;
	target_note_lost(t, time, tid, reason, count);
}

/* Whether it is not known yet what tells the thread from others, or what it was called then. */
static bool sample_waits(struct target *t, const struct gn_sample *s)
{
	struct member *m = roster_get(t->threads, (pid_t)s->h.tid, s->h.time);

	if (s->vthread && !vthreads_has(t->vthreads, s->vthread))
		return true;
	if (s->context && !requests_has(t->requests, s->context))
		return true;
	return m && roster_learn(t->threads, m, s->h.time, t->env->heard_ns);
}

/*
 * A stack's list of frames travels by the ring of the CPU that met the stack first, and a sample by
 * that of its own CPU, so a sample may come before its list. It then waits a little. If the list
 * was lost the sample is written without frames.
 */
static void late_add(struct target *t, const struct gn_sample *s)
{
	if (!t->late)
		t->late = calloc(LATE_MAX, sizeof(*t->late));
	if (!t->late || t->nlate == LATE_MAX) {
		sample_write(t, s, stacks_find(t->stacks, s->stack));
		return;
	}
	t->late[t->nlate++] = (struct late_sample){*s, now_ns()};
}

void target_late_retry(struct target *t, uint64_t now, bool last)
{
	size_t kept = 0;

	for (size_t i = 0; i < t->nlate; i++) {
		struct late_sample l = t->late[i];
		struct stack *st;

		target_ids_check(t);
		st = stacks_find(t->stacks, l.s.stack);

		if (last || l.came_ns + LATE_NS < now ||
		    ((st || !l.s.stack) && !sample_waits(t, &l.s)))
			sample_write(t, &l.s, st);
		else
			t->late[kept++] = l;
	}
	t->nlate = kept;
	/* gives the memory back, of which a collector that was held up may have used much */
	if (!kept) {
		free(t->late);
		t->late = NULL;
	}
}

/*
 * Cuts off what lies before the recording's start, since clocks and switch programs are attached
 * one after the other before it. False: the whole sample does.
 */
static bool sample_begin(const struct target *t, struct gn_sample *s)
{
	uint64_t base = t->env->cfg.start_ns, wall = t->env->cfg.wall_ns, first, skip;

	if (s->h.time >= t->start_ns)
		return true;
	if (s->clock != GN_CLOCK_WALL || !wall || s->h.time < base || t->start_ns < base)
		return false;
	first = gn_level_before(gn_ticks_until(t->start_ns - base, wall), s->level);
	skip = first - (tick_of(t, s->h.time) >> s->level);
	if (skip >= s->n >> s->level)
		return false;
	s->n -= (uint32_t)skip << s->level;
	s->h.time = base + gn_tick_time(gn_level_tick(first, s->level), wall);
	return true;
}

/* So many of the sample are not to be written, or were told as lost. */
static void settle(struct target *t, const struct gn_sample *s, uint32_t n)
{
	struct board *b = t->env->board;

	if (s->clock == GN_CLOCK_WALL)
		b->wall_settled += n;
	else
		b->cpu_settled += n;
}

/* There is no time for more. */
static void sample_lose(struct target *t, const struct gn_sample *s)
{
	unsigned int reason = s->clock == GN_CLOCK_WALL ? LOSS_HASTE_WALL : LOSS_HASTE_CPU;

	settle(t, s, s->n);
	target_lost(t, s->h.time, (pid_t)s->h.tid, reason, s->n);
}

void target_sample(struct target *t, const struct gn_sample *rec)
{
	struct gn_sample copy = *rec, *s = &copy;
	bool wanted = sample_begin(t, s);
	struct stack *st;

	settle(t, rec, wanted ? rec->n - s->n : rec->n);
	if (!wanted)
		return;
	target_ids_check(t);
	if (t->env->board->haste >= BOARD_COUNT) {
		sample_lose(t, s);
		return;
	}
	st = s->stack ? stacks_find(t->stacks, s->stack) : NULL;
	if (st && s->h.time > st->seen_ns)
		st->seen_ns = s->h.time;
	if ((s->stack && !st) || sample_waits(t, s))
		late_add(t, s);
	else
		sample_write(t, s, st);
}
