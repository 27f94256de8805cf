/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/target_int.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "broker/broker.h"
#include "jfr/vitals.h"
#include "naming/causes.h"
#include "naming/facts.h"
#include "naming/publisher.h"
#include "naming/resource.h"
#include "naming/requests.h"
#include "naming/tables.h"
#include "naming/vitals.h"
#include "naming/vthreads.h"
#include "sym/proc.h"
#include "target/neighbours.h"
#include "target/procfs.h"

#define THROTTLING_NS 10000000000ull
/* how often a process that was launched is asked whether it is a JVM by now */
#define JVM_LOOK_NS   100000000ull
#define CONSTANTS_MAX (64u << 20) /* bytes of a file's names and stacks kept in memory */
/*
 * Stacks and constants are kept for so long though no sample has them. A sleeper is accounted for
 * each minute or each 1,000 ticks, and its ticks wait for as long again before they are written.
 */
#define KEEP_NS	   240000000000ull
#define CAUSES_NS  150000000000ull /* causes: a long wait is an event within a minute */
#define KEEP_TICKS 2000
#define FLUSH_NS   1000000000ull /* what there is goes to the file so often */
/* so long before a chunk's end an accounting for its sleepers is asked for */
#define CHUNK_SOON_NS 300000000ull
#define CHUNK_TOLD_NS 750000000ull /* at most so often */
/* a process is asked each few ticks, of the longer of its intervals, and so often at least */
#define PAUSE_TICKS 4
#define PAUSE_NS    950000000ull
/* after a loss of records all threads are looked at again at most so often */
#define REREAD_NS 2000000000ull

static uint64_t keep_ns(const struct target *t)
{
	return KEEP_NS + KEEP_TICKS * t->env->cfg.wall_ns;
}

/* ---- stacks ---- */

/* Called before ids of the file are used: forgets those that are no longer valid. */
void target_ids_check(struct target *t)
{
	if (stacks_check(t->stacks)) {
		roster_forget_ids(t->threads);
		requests_forget_ids(t->requests);
	}
}

bool target_is_blind(const struct target *t)
{
	return t->untried || t->env->board->haste >= BOARD_ADDRESSES;
}

void target_notice(struct target *t, const struct gn_stack *rec)
{
	if (!target_is_blind(t))
		resolver_notice(t->names, rec);
}

void target_stack(struct target *t, const struct gn_stack *rec)
{
	target_ids_check(t);
	if (!target_is_blind(t))
		upkeep_stack(&t->tables, rec);
	target_stack_add(t, rec);
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
		target_exec(t, now);
	t->exec_lost = false;
	roster_reread(t->threads, now);
	target_threads_meet(t);
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
	resource_write(t->out, t->tgid, symproc_maps(resolver_native(t->names)), now);
}

static void vitals_tell(struct target *t, uint64_t now, bool last)
{
	if (!t->vitals)
		return;
	vitals_poll(t->vitals, resolver_vm(t->names), now, last);
	vitals_pulse(t->vitals, &t->totals.pulse);
	if (vitals_threads_due(t->vitals, now, &t->machine_ns)) {
		target_ids_check(t);
		roster_each(t->threads, target_load_write, t);
	}
	target_lifespans_tell(t, last ? UINT64_MAX : now);
}

/* Says once that the process has held up who looks at it. */
static void waiting_tell(struct target *t)
{
	if (t->waiting_told || !broker_waited(t->tgid))
		return;
	t->waiting_told = true;
	log_warn("files or memory of process %d could not be read within %d s: names that they "
		 "would give are missing",
		 t->tgid, BROKER_ANSWER_MS / 1000);
}

/* What asks the process. */
static bool look(struct target *t, uint64_t now)
{
	bool changed = resolver_poll(t->names, now);

	waiting_tell(t);
	jvm_tell(t, now);
	vitals_tell(t, now, false);
	target_virtuals_poll(t, now, false);
	upkeep_poll(&t->tables, now);
	publisher_poll(t->publisher, resolver_native(t->names), t->env->tables, now);
	target_locks_follow(t);
	reread(t, now);
	return changed;
}

/*
 * It is asked as often as it is sampled, in short: whose intervals are longer need not be looked at
 * each time.
 */
static bool look_is_due(const struct target *t, uint64_t now)
{
	return now - t->looked_ns >= t->pause_ns || now < t->env->expect_ns || t->reread ||
	       !t->jvm_told;
}

/* How many of its samples are in the file, for who has to say how many were lost with us. */
static void settled_tell(struct target *t)
{
	struct board *b = t->env->board;
	struct jfrw_stats st;

	jfrw_stats(t->out, &st);
	t->totals.held_bytes = st.held_bytes;
	b->cpu_settled += st.cpu_settled - t->cpu_settled;
	b->wall_settled += st.wall_settled - t->wall_settled;
	t->cpu_settled = st.cpu_settled;
	t->wall_settled = st.wall_settled;
}

bool target_poll(struct target *t, uint64_t now)
{
	bool changed = false;

	if (!target_is_blind(t) && look_is_due(t, now)) {
		t->looked_ns = now;
		changed = look(t, now);
	}
	settled_tell(t);
	target_late_retry(t, now, false);
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

/* The recording ends of it; not one that goes on and on, of which others are still written. */
static void failure_note(struct target *t, const struct error *e)
{
	if (t->env->cfg.form.segments)
		log_warn("process %d: %s", t->tgid, e->msg);
	else if (!t->env->failed.rc)
		t->env->failed = *e;
}

static void flush(struct target *t, bool last, uint64_t now)
{
	uint64_t stop = t->env->board->stop_ns;
	struct error e = {0};
	struct jfrw_stats st;
	bool ends;

	if (stop && now > stop)
		now = stop;
	ends = last || jfrw_chunk_ends(t->out, now);
	if (!target_is_blind(t))
		target_threads_offer(t);
	target_budget_tell(t, now);
	quality_write(&t->cpu, t->out, now);
	quality_write(&t->wall, t->out, now);
	facts_files(t->out, now, resolver_native(t->names), jfrw_chunk(t->out));
	throttling_write(t, now, last);
	if (ends)
		roster_each(t->threads, target_wait_write, t);
	target_locks_settle(t, now, ends);
	if (t->env->cfg.form.segments)
		jfrw_clock(t->out, clock_ns(CLOCK_REALTIME), now_ns());
	target_watch_look(t, now_ns());
	causes_write(t->causes, t->out, ends ? CAUSES_ALL : now);
	requests_write(t->requests, t->out);
	if (jfrw_flush(t->out, now, &e))
		failure_note(t, &e);
	jfrw_stats(t->out, &st);
	target_bytes_note(t, st.bytes);
	if (st.dropped_events > t->file_dropped) {
		target_lost(t, now, 0, LOSS_FILE, st.dropped_events - t->file_dropped);
		t->file_dropped = st.dropped_events;
	}
	if (st.over_events > t->file_over) {
		target_lost(t, now, 0, LOSS_SIZE, st.over_events - t->file_over);
		t->file_over = st.over_events;
	}
	target_ids_check(t);
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

bool target_turned(struct target *t, uint64_t now)
{
	const struct jfrw_form *form = &t->env->cfg.form;
	uint32_t chunk = jfrw_chunk(t->out);

	if ((!form->segments && !form->window_ns) || chunk == t->chunk)
		return false;
	t->chunk = chunk;
	facts_host(t->out, &t->env->cfg, t->path, now);
	t->jvm_told = false;
	if (!target_is_blind(t))
		jvm_tell(t, now);
	return true;
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

void target_rate(struct target *t, uint64_t time, const struct jfr_rate_change *rate)
{
	uint64_t longest = rate->cpu_ns > rate->wall_ns ? rate->cpu_ns : rate->wall_ns;

	jfrw_rate(t->out, time < t->start_ns ? t->start_ns : time, rate);
	t->pause_ns =
		longest && longest < PAUSE_NS / PAUSE_TICKS ? longest * PAUSE_TICKS : PAUSE_NS;
}

void target_cost(struct target *t, uint64_t time, const struct jfr_overhead *cost)
{
	jfrw_overhead(t->out, time, cost);
}

/* The target's own CPU time. If it was gone at the second look its samples tell it. */
static uint64_t own_cpu_ns(const struct target *t, const struct neighbours_sums *sums)
{
	return sums->own_ns ? sums->own_ns : t->totals.cpu_ns;
}

void target_cpus(struct target *t, uint64_t time, const struct target_neighbours *cpus)
{
	const struct neighbours_sums *sums = &cpus->sums;
	struct jfr_cpu_use use = {.whose = "machine", .name = ""};

	use.period_ns = sums->period_ns;
	use.cpu_ns = sums->machine_ns;
	jfrw_cpu_use(t->out, time, &use);
	use.whose = "recorded";
	use.pid = t->tgid;
	use.count = 1;
	use.cpu_ns = own_cpu_ns(t, sums);
	jfrw_cpu_use(t->out, time, &use);
	for (uint32_t i = 0; i < cpus->n; i++) {
		use.whose = "process";
		use.name = cpus->top[i].comm;
		use.pid = cpus->top[i].pid;
		use.count = cpus->top[i].count;
		use.cpu_ns = cpus->top[i].cpu_ns;
		jfrw_cpu_use(t->out, time, &use);
	}
}

void target_tables(struct target *t)
{
	if (target_is_blind(t))
		return;
	if (t->env->cfg.launched)
		/*
		 * it still is a copy of ourselves: tables are made of the program that it becomes,
		 * at its exec
		 */
		return;
	upkeep_renew(&t->tables, now_ns());
	target_locks_follow(t);
	/*
	 * making tables took a while, and names are certain only from the last look on: look again,
	 * since sampling begins now
	 */
	resolver_poll(t->names, now_ns());
	publisher_look(t->publisher, resolver_native(t->names), t->env->tables, now_ns());
	target_threads_meet(t);
}

/* ---- beginning and end ---- */

/*
 * Of many processes that are met at once, not all end their chunks at once: each first one is
 * between an eighth and all of what the others are, by its process's number.
 */
static uint64_t chunk_first_ns(const struct jfrw_form *f, pid_t tgid)
{
	uint32_t spread = (uint32_t)tgid * 2654435769u; /* 2^32 / golden ratio: neighbours part */
	uint64_t eighth = f->chunk_max_ns / 8;

	return f->segments ? eighth + 7 * eighth * (spread >> 16) / 65536 : 0;
}

static int files_open(struct target *t, const struct target_file *f, struct error *e)
{
	const struct target_config *cfg = &t->env->cfg;
	struct timespec ts;
	struct jfrw_config jc = {
		.path = t->path,
		.opened = f->fd >= 0,
		.fd = f->fd,
		.resumed = f->resumed,
		.resumed_mono_ns = now_ns(),
		.cpu_period_ns = cfg->cpu_ns,
		.form = cfg->form,
		.chunk_first_ns = chunk_first_ns(&cfg->form, t->tgid),
		.constants_max = CONSTANTS_MAX,
		.constants_keep_ns = keep_ns(t),
		.start_mono_ns = t->start_ns,
		.finished = cfg->finished,
		.maker = cfg->maker,
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

int target_open(struct target **out, struct target_env *env, pid_t tgid,
		const struct target_file *f, struct error *e)
{
	struct target *t = calloc(1, sizeof(*t));
	int rc;

	if (!t) {
		if (f->fd >= 0)
			close(f->fd);
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	}
	t->tgid = tgid;
	t->env = env;
	t->start_ns = f->start_ns ? f->start_ns : now_ns();
	target_watch_orders(t);
	t->continues = f->start_ns != 0;
	t->untried = f->untried;
	snprintf(t->path, sizeof(t->path), "%s", f->path);
	t->threads = roster_new(tgid, proc_comm_read, target_java_thread, target_wait_write, t);
	t->vthreads = vthreads_new();
	t->causes = causes_new(CAUSES_NS + KEEP_TICKS * t->env->cfg.wall_ns);
	if (t->causes)
		causes_on_waker(t->causes, target_waker, t);
	t->locks = target_locks_new();
	t->virtuals = target_virtuals_new();
	t->publisher = publisher_new(tgid);
	t->requests = requests_new(t->publisher);
	rc = files_open(t, f, e);
	if (!rc && (!t->threads || !t->vthreads || !t->causes || !t->publisher || !t->requests ||
		    !t->locks || !t->virtuals))
		rc = error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	if (!rc)
		rc = parts_new(t, e);
	if (rc) {
		target_free(t, false);
		return rc;
	}
	if (!target_is_blind(t))
		resolver_poll(t->names, now_ns());
	if (env->tables)
		target_tables(t);
	*out = t;
	return 0;
}

void target_begin(struct target *t, uint64_t now)
{
	if (!t->continues)
		t->start_ns = now;
	jfrw_begin(t->out, t->start_ns);
	facts_host(t->out, &t->env->cfg, t->path, t->start_ns);
	t->chunk = jfrw_chunk(t->out);
	t->cpu = (struct quality){.kind = "cpu", .since_ns = t->start_ns};
	t->wall = (struct quality){.kind = "wall", .since_ns = t->start_ns};
	t->flushed_ns = t->start_ns;
	if (!target_is_blind(t))
		jvm_tell(t, t->start_ns);
	if (t->env->host && !target_is_blind(t))
		t->vitals = vitals_new(t->tgid, t->out, t->env->host, t->env->cfg.environment);
	target_stop(t);
	if (target_is_blind(t))
		return;
	vitals_tell(t, now, false);
	target_threads_offer(t);
}

void target_stop(struct target *t)
{
	jfrw_end(t->out, t->env->board->stop_ns);
	if (t->vitals)
		vitals_stop(t->vitals, t->env->board->stop_ns);
}

void target_end(struct target *t)
{
	struct error e = {0};

	target_late_retry(t, now_ns(), true);
	if (!target_is_blind(t))
		target_virtuals_poll(t, now_ns(), true);
	if (!target_is_blind(t))
		vitals_tell(t, now_ns(), true);
	flush(t, true, now_ns());
	if (jfrw_close(t->out, &e))
		failure_note(t, &e);
	t->out = NULL;
	t->totals.held_bytes = 0; /* what could not be written was given up */
	upkeep_end(&t->tables);
}

void target_free(struct target *t, bool keep)
{
	if (!t)
		return;
	if (t->out && keep) {
		roster_each(t->threads, target_wait_write, t);
		target_locks_settle(t, now_ns(), true);
		causes_write(t->causes, t->out, CAUSES_ALL);
		requests_write(t->requests, t->out);
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
	target_virtuals_free(t->virtuals);
	causes_free(t->causes);
	requests_free(t->requests);
	publisher_free(t->publisher);
	target_locks_free(t->locks);
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
