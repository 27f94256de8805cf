/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/target.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/tasks.h"
#include "jfr/vitals.h"
#include "jfr/write.h"
#include "jvm/threads.h"
#include "model/roster.h"
#include "model/state.h"
#include "naming/facts.h"
#include "naming/lifespans.h"
#include "naming/quality.h"
#include "naming/stacks.h"
#include "naming/tables.h"
#include "naming/upkeep.h"
#include "naming/vitals.h"
#include "naming/vthreads.h"
#include "sym/proc.h"
#include "target/neighbours.h"
#include "target/usage.h"

#define THROTTLING_NS 10000000000ull
/* how often a process that was launched is asked whether it is a JVM by now */
#define JVM_LOOK_NS   100000000ull
#define MEET_THREADS  500	    /* looking at so many takes some 10 ms */
#define LATE_NS	      2000000000ull /* a stack's frames may come so much later than its id */
#define LATE_MAX      65536
#define CONSTANTS_MAX (64u << 20) /* bytes of a file's names and stacks kept in memory */
/*
 * Stacks and constants are kept for so long though no sample has them. A sleeper is accounted for
 * each minute or each 1,000 ticks, and its ticks wait for as long again before they are written.
 */
#define KEEP_NS	    240000000000ull
#define KEEP_TICKS  2000
#define FLUSH_NS    1000000000ull  /* what there is goes to the file so often */
#define HELD_MIN_NS 1000000000ull  /* wall ticks that stand for so much time may wait for more */
#define HELD_MAX_NS 60000000000ull /* until they stand for so much */
/* so long before a chunk's end an accounting for its sleepers is asked for */
#define CHUNK_SOON_NS 300000000ull
#define CHUNK_TOLD_NS 750000000ull /* at most so often */
#define NEIGHBOURS    5		   /* names of processes that used most of the CPUs */
/* after a loss of records all threads are looked at again at most so often */
#define REREAD_NS 2000000000ull

struct target {
	pid_t tgid;
	struct target_env *env;
	struct resolver *names;
	struct roster *threads;
	struct vthreads *vthreads;
	struct jfrw *out;
	uint64_t start_ns; /* CLOCK_MONOTONIC, when its file begins */
	char path[TARGET_PATH_LEN];
	struct stacks *stacks;
	struct upkeep tables;
	struct late_sample *late; /* oldest first */
	size_t nlate;
	struct quality cpu, wall;
	struct vitals *vitals; /* NULL: not wanted */
	struct lifespans lifespans;
	uint64_t machine_ns; /* while threads' loads are written: what they are shares of */
	uint64_t throttling_ns;
	uint64_t jvm_ns; /* when we last looked whether it is a JVM */
	bool jvm_told;	 /* the events that say which JVM it is were written */
	uint64_t flushed_ns;
	uint64_t chunk_told_ns; /* when the session was told that its chunk ends soon */
	uint64_t file_dropped;	/* events that the writer dropped, of which the totals know */
	bool reread, exec_lost; /* records of what its threads did were lost */
	uint64_t reread_ns;	/* when its threads were last looked at for that */
	struct totals totals;
};

/* A sample whose stack or name has not come yet. */
struct late_sample {
	struct gn_sample s;
	/* when it came; its own time is the beginning of a sleep, perhaps long ago */
	uint64_t came_ns;
};

static uint64_t keep_ns(const struct target *t)
{
	return KEEP_NS + KEEP_TICKS * t->env->cfg.wall_ns;
}

/* ---- threads ---- */

static int java_thread(void *ctx, pid_t tid, struct resolved_thread *java)
{
	struct target *t = ctx;
	int rc = resolver_thread(t->names, tid, java);

	if (rc || !t->env->tables)
		return rc;
	if (java->thread)
		tables_java_thread(t->env->tables, t->tgid, tid, java->thread);
	if (java->carrier &&
	    !tables_carrier(t->env->tables, t->tgid, tid, resolver_vm(t->names), java->carrier))
		t->env->cfg.on_tables(t->env->cfg.ctx);
	return 0;
}

/* Lets the thread through the thread filter if either of its names is wanted. */
static void thread_offer(struct target *t, struct member *m)
{
	const struct target_config *cfg = &t->env->cfg;

	if (!cfg->wants_thread)
		return;
	if (!m->java || !cfg->wants_thread(cfg->ctx, m->tid, m->java))
		cfg->wants_thread(cfg->ctx, m->tid, m->comm);
}

/*
 * Asks for the Java names of all threads there are, since with a thread filter names decide who is
 * sampled. By the way it is found which of them carry virtual threads, and which JavaThread each
 * is.
 */
static void threads_ask(struct target *t)
{
	pid_t *tids = NULL;
	size_t n = 0;

	if (tasks_read(t->tgid, &tids, &n))
		return;
	for (size_t i = 0; i < n; i++) {
		struct member *m = roster_get(t->threads, tids[i], now_ns());

		if (!m || m->java)
			continue;
		roster_ask(t->threads, m);
		thread_offer(t, m);
	}
	free(tids);
}

static void threads_offer(struct target *t)
{
	if (t->env->cfg.wants_thread)
		threads_ask(t);
}

/*
 * Looks at the threads before the first sample, for what the unwinder needs to know of them. If
 * there are many that is worth the time only for a JVM that has virtual threads, for their
 * carriers.
 */
static void threads_meet(struct target *t)
{
	struct gn_vthreads layout;
	struct vm *vm = resolver_vm(t->names);

	if (vm && (tasks_count(t->tgid) <= MEET_THREADS || !vm_vthreads(vm, &layout)))
		threads_ask(t);
}

static uint32_t thread_jfr(struct target *t, struct member *m)
{
	if (m->jfr)
		return m->jfr;
	roster_ask(t->threads, m);
	m->jfr = jfrw_thread(t->out, &(struct jfrw_thread){
					     .os_name = m->comm,
					     .os_tid = (uint64_t)m->tid,
					     .java_name = m->java,
					     .java_tid = m->java_id,
					     .groups = m->groups,
				     });
	return m->jfr;
}

/* The thread that the sample is of: a carrier's samples are of the virtual thread that it ran. */
static uint32_t sample_thread(struct target *t, const struct gn_sample *s, struct member *m)
{
	if (!m)
		return 0;
	return s->vthread ? vthreads_jfr(t->vthreads, t->out, s->vthread, m) : thread_jfr(t, m);
}

static uint32_t thread_of(struct target *t, pid_t tid, uint64_t time)
{
	struct member *m = tid ? roster_get(t->threads, tid, time) : NULL;

	return m ? thread_jfr(t, m) : 0;
}

/* ---- stacks ---- */

/* Called before ids of the file are used: forgets those that are no longer valid. */
static void ids_check(struct target *t)
{
	if (stacks_check(t->stacks))
		roster_forget_ids(t->threads);
}

void target_notice(struct target *t, const struct gn_stack *rec)
{
	resolver_notice(t->names, rec);
}

void target_stack(struct target *t, const struct gn_stack *rec)
{
	ids_check(t);
	upkeep_stack(&t->tables, rec);
	t->totals.stacks += stacks_add(t->stacks, rec);
}

/* ---- samples ---- */

static enum jfr_state sample_state(const struct gn_sample *s, const struct stack *st)
{
	static const enum jfr_state ids[STATE_MAX] = {
		[STATE_DEFAULT] = JFR_STATE_DEFAULT,
		[STATE_RUNNABLE] = JFR_STATE_RUNNABLE,
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
	const struct target_config *cfg = &t->env->cfg;
	uint64_t tick = tick_of(t, s->h.time);

	for (uint32_t i = 0; i < s->n; i++)
		jfrw_wall_sample(t->out, cfg->start_ns + gn_tick_time(tick + i, cfg->wall_ns),
				 thread, stack, state, 1, span_of(t, s->span, 1));
}

/* ---- long sleeps ---- */

static void wait_write(struct target *t, struct wait *h)
{
	const struct target_config *cfg = &t->env->cfg;

	if (h->ticks && t->out)
		jfrw_wall_sample(t->out, h->time_ns, h->thread, h->stack, (enum jfr_state)h->state,
				 h->ticks, h->span_ns);
	if (h->ticks && t->vitals && cfg->waits)
		vitals_wait(t->out, h->thread, h->stack, h->state, h->time_ns, h->ticks,
			    cfg->wall_ns, h->span_ns);
	h->ticks = 0;
}

static void on_wait(void *ctx, struct member *m)
{
	wait_write(ctx, &m->wait);
}

/*
 * A thread that sleeps for long is accounted for every 1,000 ticks. Joins these pieces of one sleep
 * into one event: with 10,000 threads asleep they would be most of the file. False: the piece is
 * too short to wait for more.
 */
static bool wait_joins(struct target *t, struct wait *h, const struct wait *next)
{
	uint64_t ns = t->env->cfg.wall_ns;

	if (next->ticks * ns < HELD_MIN_NS)
		return false;
	if (h->ticks && h->thread == next->thread && h->stack == next->stack &&
	    h->state == next->state && h->ticks * ns < HELD_MAX_NS &&
	    tick_of(t, h->time_ns) + h->ticks == tick_of(t, next->time_ns)) {
		h->ticks += next->ticks;
		h->span_ns += next->span_ns;
		return true;
	}
	wait_write(t, h);
	*h = *next;
	return true;
}

static void wall_write(struct target *t, const struct gn_sample *s, struct member *m,
		       uint32_t stack, enum jfr_state state)
{
	struct wait now = {
		.time_ns = s->h.time,
		.span_ns = span_of(t, s->span, s->n),
		.ticks = s->n,
		.thread = sample_thread(t, s, m),
		.stack = stack,
		.state = state,
	};

	if (t->env->cfg.one_by_one) {
		ticks_write(t, s, now.thread, stack, state);
	} else if (!m || !wait_joins(t, &m->wait, &now)) {
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
	const struct target_config *cfg = &t->env->cfg;

	if (s->clock != GN_CLOCK_WALL || !s->n)
		return s->h.time;
	return cfg->start_ns + gn_tick_time(tick_of(t, s->h.time) + s->n - 1, cfg->wall_ns);
}

/* ---- what threads use ---- */

/* It runs: what it has used so far is known from its first sample on. */
static void load_begin(struct target *t, struct member *m)
{
	if (!t->vitals || !m)
		return;
	m->load.ran = true;
	if (!m->load.known)
		m->load.known =
			!thread_usage_read(t->tgid, m->tid, &m->load.user_ns, &m->load.system_ns);
}

static float share_of(uint64_t now, uint64_t was, uint64_t all)
{
	return now > was ? (float)((double)(now - was) / (double)all) : 0;
}

static void on_load(void *ctx, struct member *m)
{
	struct target *t = ctx;
	struct thread_load was = m->load, *is = &m->load;

	if (!was.ran || m->ended_ns)
		return;
	is->ran = false;
	is->known = !thread_usage_read(t->tgid, m->tid, &is->user_ns, &is->system_ns);
	if (!was.known || !is->known || !t->machine_ns)
		return;
	jfrw_event(t->out, JFR_THREAD_CPU_LOAD, now_ns(),
		   &(struct jfr_thread_cpu_load){
			   .thread = thread_jfr(t, m),
			   .user = share_of(is->user_ns, was.user_ns, t->machine_ns),
			   .system = share_of(is->system_ns, was.system_ns, t->machine_ns),
		   });
}

/* ---- samples, again ---- */

static void sample_count(struct target *t, const struct gn_sample *s, const struct stack *st)
{
	bool wall = s->clock == GN_CLOCK_WALL;

	quality_add(wall ? &t->wall : &t->cpu, st, s->n);
	walks_add(wall ? &t->totals.wall : &t->totals.cpu, st, s->n);
	if (wall) {
		t->totals.wall_samples += s->n;
		t->totals.wall_records++;
	} else {
		t->totals.cpu_samples += s->n;
	}
}

static void sample_write(struct target *t, const struct gn_sample *s, struct stack *found)
{
	struct stack *st = found ? stacks_as_of(t->stacks, found, sample_last(t, s)) : NULL;
	uint32_t stack = st ? st->jfr : stacks_none(t->stacks);
	struct member *m = roster_get(t->threads, (pid_t)s->h.tid, s->h.time);

	if (s->stack && !st)
		target_lost(t, s->h.time, (pid_t)s->h.tid, LOSS_NAMES, s->n);
	sample_count(t, s, st);
	if (s->clock == GN_CLOCK_WALL) {
		wall_write(t, s, m, stack, sample_state(s, found));
	} else {
		load_begin(t, m);
		for (uint32_t i = 0; i < s->n; i++)
			jfrw_cpu_sample(t->out, s->h.time, sample_thread(t, s, m), stack);
	}
}

void target_note_lost(struct target *t, uint64_t time, pid_t tid, unsigned int reason,
		      uint64_t count)
{
	const struct jfrw_form *form = &t->env->cfg.form;
	struct jfr_samples_lost e = {
		.thread = thread_of(t, tid, time),
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

/* Whether nothing is known yet that tells the thread from others. */
static bool sample_waits(struct target *t, const struct gn_sample *s)
{
	const struct member *m = roster_get(t->threads, (pid_t)s->h.tid, s->h.time);

	if (s->vthread && !vthreads_has(t->vthreads, s->vthread))
		return true;
	return m && roster_waits(m, s->h.time);
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

static void late_retry(struct target *t, uint64_t now, bool last)
{
	size_t kept = 0;

	for (size_t i = 0; i < t->nlate; i++) {
		struct late_sample l = t->late[i];
		struct stack *st;

		ids_check(t);
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
	first = gn_ticks_until(t->start_ns - base, wall);
	skip = first + 1 - gn_ticks_until(s->h.time - base, wall);
	if (skip >= s->n)
		return false;
	s->n -= (uint32_t)skip;
	s->h.time = base + gn_tick_time(first, wall);
	return true;
}

void target_sample(struct target *t, const struct gn_sample *rec)
{
	struct gn_sample copy = *rec, *s = &copy;
	struct stack *st;

	if (!sample_begin(t, s))
		return;
	ids_check(t);
	st = s->stack ? stacks_find(t->stacks, s->stack) : NULL;
	if (st && s->h.time > st->seen_ns)
		st->seen_ns = s->h.time;
	if ((s->stack && !st) || sample_waits(t, s))
		late_add(t, s);
	else
		sample_write(t, s, st);
}

/* ---- what its threads do ---- */

static void on_exec(struct target *t, uint64_t time)
{
	/* the record may come late: the JVM that was told of may be the new program already */
	t->jvm_told &= t->jvm_ns > time;
	upkeep_exec(&t->tables, resolver_exec(t->names, time), time);
	t->env->cfg.on_epoch(t->env->cfg.ctx);
	if (t->vitals)
		vitals_exec(t->vitals);
}

static uint32_t lifespan_thread(void *ctx, struct member *m)
{
	return thread_jfr(ctx, m);
}

static void lifespans_tell(struct target *t, uint64_t now)
{
	ids_check(t);
	lifespans_write(&t->lifespans, t->out, t->threads, lifespan_thread, t, now);
}

static void lifespan_note(struct target *t, pid_t tid, uint64_t time, bool end)
{
	if (lifespans_full(&t->lifespans))
		lifespans_tell(t, UINT64_MAX);
	lifespans_note(&t->lifespans, tid, time, end);
}

void target_task(struct target *t, const struct gn_task_rec *rec)
{
	pid_t tid = (pid_t)rec->h.tid;
	struct member *m = NULL;

	if (t->vitals && (rec->h.type == GN_REC_FORK || rec->h.type == GN_REC_EXIT))
		lifespan_note(t, tid, rec->h.time, rec->h.type == GN_REC_EXIT);
	if (rec->h.type == GN_REC_FORK)
		m = roster_born(t->threads, tid, rec->h.time, rec->comm);
	else if (rec->h.type == GN_REC_COMM)
		m = roster_named(t->threads, tid, rec->h.time, rec->comm);
	else if (rec->h.type == GN_REC_EXIT)
		roster_ended(t->threads, tid, rec->h.time);
	else
		on_exec(t, rec->h.time);
	if (m)
		thread_offer(t, m);
}

void target_vthread(struct target *t, const struct gn_vthread_rec *rec)
{
	char name[VTHREAD_NAME_LEN];
	size_t len = rec->len < GN_VTHREAD_NAME ? rec->len : GN_VTHREAD_NAME;

	java_string_decode(rec->name, len, rec->wide != 0, name, sizeof(name));
	/* others were forgotten for it, and have to be sent again */
	if (vthreads_add(t->vthreads, rec->id, name, rec->len > GN_VTHREAD_NAME))
		t->env->cfg.on_epoch(t->env->cfg.ctx);
}

/* ---- at times ---- */

/*
 * After records of its threads were lost: reads again which threads there are, what they are called
 * and which program the process is. (Where an end was lost, another thread may have the number by
 * now.)
 */
static void reread(struct target *t, uint64_t now)
{
	if (!t->reread || now - t->reread_ns < REREAD_NS)
		return;
	t->reread = false;
	t->reread_ns = now;
	if (t->exec_lost)
		on_exec(t, now);
	t->exec_lost = false;
	roster_reread(t->threads, now);
	threads_meet(t);
}

/* Writes which JVM this is and what libraries it has, once, as soon as it is a JVM. */
static void jvm_tell(struct target *t, uint64_t now)
{
	/*
	 * as soon as the JVM's memory can be read there is no pause, since the process may end soon
	 */
	if (t->jvm_told || (!resolver_vm(t->names) && now - t->jvm_ns < JVM_LOOK_NS))
		return;
	t->jvm_ns = now;
	if (facts_jvm(t->out, t->tgid, resolver_vm(t->names), now))
		return;
	t->jvm_told = true;
	symproc_refresh(resolver_native(t->names));
	facts_libraries(t->out, now, resolver_native(t->names));
}

static void vitals_tell(struct target *t, uint64_t now, bool last)
{
	if (!t->vitals)
		return;
	vitals_poll(t->vitals, resolver_vm(t->names), now, last);
	if (vitals_threads_due(t->vitals, now, &t->machine_ns)) {
		ids_check(t);
		roster_each(t->threads, on_load, t);
	}
	lifespans_tell(t, last ? UINT64_MAX : now);
}

bool target_poll(struct target *t, uint64_t now)
{
	bool changed = resolver_poll(t->names, now);

	jvm_tell(t, now);
	vitals_tell(t, now, false);
	upkeep_poll(&t->tables, now);
	reread(t, now);
	late_retry(t, now, false);
	roster_expire(t->threads, now);
	return changed;
}

/*
 * Writes the throttling at the start, now and then, and at the end, so that the difference between
 * the events is that of the recording.
 */
static void throttling_write(struct target *t, uint64_t now, bool last)
{
	if (!last && t->throttling_ns && now - t->throttling_ns < THROTTLING_NS)
		return;
	t->throttling_ns = now;
	facts_throttling(t->out, now, t->tgid);
}

static void flush(struct target *t, bool last, uint64_t now)
{
	uint64_t stop = t->env->stop_ns;
	struct error e = {0};
	struct jfrw_stats st;

	if (stop && now > stop)
		now = stop;
	threads_offer(t);
	quality_write(&t->cpu, t->out, now);
	quality_write(&t->wall, t->out, now);
	throttling_write(t, now, last);
	if (last || jfrw_chunk_ends(t->out, now))
		roster_each(t->threads, on_wait, t);
	if (jfrw_flush(t->out, now, &e) && !t->env->failed.rc)
		t->env->failed = e;
	jfrw_stats(t->out, &st);
	t->totals.file_bytes = st.bytes;
	if (st.dropped_events > t->file_dropped) {
		target_lost(t, now, 0, LOSS_FILE, st.dropped_events - t->file_dropped);
		t->file_dropped = st.dropped_events;
	}
	ids_check(t);
}

/*
 * Tells the session when the chunk is about to end, so that sleepers are accounted for before it
 * does. If the end keeps being put off it is not told each time.
 */
static void chunk_end_tell(struct target *t, uint64_t now)
{
	const struct target_config *cfg = &t->env->cfg;

	if (!cfg->wall_ns || now - t->chunk_told_ns < CHUNK_TOLD_NS ||
	    !jfrw_chunk_ends_soon(t->out, now + CHUNK_SOON_NS))
		return;
	t->chunk_told_ns = now;
	cfg->on_chunk_end(cfg->ctx, t->tgid);
}

void target_flush(struct target *t, uint64_t now)
{
	bool due = now - t->flushed_ns >= FLUSH_NS || jfrw_chunk_ends(t->out, now);

	if (due && !jfrw_busy(t->out)) {
		t->flushed_ns = now;
		flush(t, false, now);
	}
	chunk_end_tell(t, now);
}

void target_setting(struct target *t, uint64_t time, const char *name, const char *value)
{
	jfrw_active_setting(t->out, time,
			    &(struct jfr_active_setting){
				    .id = JFR_ACTIVE_RECORDING,
				    .name = name,
				    .value = value,
			    });
}

void target_choice(struct target *t, uint64_t time, const struct jfr_thread_reservoir *choice)
{
	jfrw_thread_reservoir(t->out, time < t->start_ns ? t->start_ns : time, choice);
}

void target_cost(struct target *t, uint64_t time, const struct jfr_overhead *cost)
{
	jfrw_overhead(t->out, time, cost);
}

/* The target's own CPU time. If it was gone at the second look its samples tell it. */
static uint64_t own_cpu_ns(const struct target *t, const struct neighbours_sums *sums)
{
	return sums->own_ns ? sums->own_ns : t->totals.cpu_samples * t->env->cfg.cpu_ns;
}

void target_cpus(struct target *t, uint64_t time, const struct neighbours *cpus)
{
	struct neighbour top[NEIGHBOURS];
	struct neighbours_sums sums;
	struct jfr_cpu_use use = {.whose = "machine", .name = ""};
	size_t n = neighbours_top(cpus, t->tgid, top, NEIGHBOURS);

	neighbours_sums(cpus, t->tgid, &sums);
	use.period_ns = sums.period_ns;
	use.cpu_ns = sums.machine_ns;
	jfrw_cpu_use(t->out, time, &use);
	use.whose = "recorded";
	use.pid = t->tgid;
	use.count = 1;
	use.cpu_ns = own_cpu_ns(t, &sums);
	jfrw_cpu_use(t->out, time, &use);
	for (size_t i = 0; i < n; i++) {
		use.whose = "process";
		use.name = top[i].comm;
		use.pid = top[i].pid;
		use.count = top[i].count;
		use.cpu_ns = top[i].cpu_ns;
		jfrw_cpu_use(t->out, time, &use);
	}
}

void target_tables(struct target *t)
{
	if (t->env->cfg.launched)
		/*
		 * it still is a copy of ourselves: tables are made of the program that it becomes,
		 * at its exec
		 */
		return;
	upkeep_renew(&t->tables, now_ns());
	/*
	 * making tables took a while, and names are certain only from the last look on: look again,
	 * since sampling begins now
	 */
	resolver_poll(t->names, now_ns());
	threads_meet(t);
}

/* ---- beginning and end ---- */

static int files_open(struct target *t, bool overwrite, struct error *e)
{
	const struct target_config *cfg = &t->env->cfg;
	struct timespec ts;
	struct jfrw_config jc = {
		.path = t->path,
		.overwrite = overwrite,
		.cpu_period_ns = cfg->cpu_ns,
		.form = cfg->form,
		.constants_max = CONSTANTS_MAX,
		.constants_keep_ns = keep_ns(t),
		.start_mono_ns = t->start_ns,
	};
	int rc;

	clock_gettime(CLOCK_REALTIME, &ts);
	jc.start_unix_ns =
		(uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec - (now_ns() - t->start_ns);
	rc = jfrw_open(&t->out, &jc, e);
	return rc ? rc : resolver_open(&t->names, t->env->shared, t->tgid, cfg->jvm, e);
}

/* Makes the parts that work on the file and the names. */
static int parts_new(struct target *t, struct error *e)
{
	t->tables = (struct upkeep){.env = t->env, .names = t->names, .tgid = t->tgid};
	t->stacks = stacks_new(t->env, t->names, t->out, keep_ns(t));
	return t->stacks ? 0 : error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
}

int target_open(struct target **out, struct target_env *env, pid_t tgid, const char *path,
		bool overwrite, struct error *e)
{
	struct target *t = calloc(1, sizeof(*t));
	int rc;

	if (!t)
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	t->tgid = tgid;
	t->env = env;
	t->start_ns = now_ns();
	snprintf(t->path, sizeof(t->path), "%s", path);
	t->threads = roster_new(tgid, java_thread, on_wait, t);
	t->vthreads = vthreads_new();
	if (!t->threads || !t->vthreads)
		rc = error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	else
		rc = files_open(t, overwrite, e);
	if (!rc)
		rc = parts_new(t, e);
	if (rc) {
		target_free(t, false);
		return rc;
	}
	resolver_poll(t->names, now_ns());
	if (env->tables)
		target_tables(t);
	*out = t;
	return 0;
}

void target_begin(struct target *t, uint64_t now)
{
	t->start_ns = now;
	jfrw_begin(t->out, t->start_ns);
	facts_host(t->out, &t->env->cfg, t->path, t->start_ns);
	jvm_tell(t, t->start_ns);
	t->cpu = (struct quality){.kind = "cpu", .since_ns = t->start_ns};
	t->wall = (struct quality){.kind = "wall", .since_ns = t->start_ns};
	t->flushed_ns = t->start_ns;
	target_stop(t);
	if (t->env->host)
		t->vitals = vitals_new(t->tgid, t->out, t->env->host, t->env->cfg.environment);
	vitals_tell(t, now, false);
	threads_offer(t);
}

void target_stop(struct target *t)
{
	jfrw_end(t->out, t->env->stop_ns);
}

void target_end(struct target *t)
{
	struct error e = {0};

	late_retry(t, now_ns(), true);
	vitals_tell(t, now_ns(), true);
	flush(t, true, now_ns());
	if (jfrw_close(t->out, &e) && !t->env->failed.rc)
		t->env->failed = e;
	t->out = NULL;
	upkeep_end(&t->tables);
}

void target_free(struct target *t, bool keep)
{
	if (!t)
		return;
	if (t->out && keep) {
		roster_each(t->threads, on_wait, t);
		jfrw_close(t->out, NULL);
	} else if (t->out) {
		jfrw_discard(t->out);
	}
	t->out = NULL;
	stacks_free(t->stacks);
	vitals_free(t->vitals);
	lifespans_free(&t->lifespans);
	roster_free(t->threads);
	vthreads_free(t->vthreads);
	resolver_close(t->names);
	free(t->late);
	free(t);
}

/* ---- for others ---- */

pid_t target_tgid(const struct target *t)
{
	return t->tgid;
}

const char *target_path(const struct target *t)
{
	return t->path;
}

const char *target_source(const struct target *t)
{
	return resolver_source(t->names);
}

bool target_has_thread(const struct target *t, pid_t tid)
{
	return roster_find(t->threads, tid) != NULL;
}

void target_totals(const struct target *t, struct totals *out)
{
	*out = t->totals;
	out->threads = roster_count(t->threads);
}
