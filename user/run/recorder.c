/* SPDX-License-Identifier: Apache-2.0 */
#include "run/recorder.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <uthash.h>

#include "base/clock.h"
#include "base/log.h"
#include "jfr/write.h"
#include "model/state.h"
#include "run/facts.h"
#include "run/queue.h"
#include "run/tables.h"
#include "sym/proc.h"
#include "target/procfs.h"

#define QUEUE_BYTES    (32u << 20)
#define POLL_NS	       100000000ull
#define FLUSH_NS       1000000000ull
#define THROTTLING_NS  10000000000ull
#define TABLES_NS      1000000000ull /* unwind tables are made anew at most so often */
#define LATE_NS	       2000000000ull /* a stack's frames may come so much later than its id */
#define LATE_MAX       65536
#define NAMELESS_NS    50000000ull
#define LOGICAL_FRAMES 2048 /* frames of a named stack, inlined ones included */

#define SETTINGS_MAX 16

/* Records made in user space, for the same queue: the numbers lie beyond enum gn_rec_type. */
enum { REC_LOSS = 100, REC_SETTING, REC_COST, REC_ADD, REC_END };

struct rec_loss {
	struct gn_rec h;
	uint64_t count;
	uint32_t reason, pad;
};

struct rec_setting {
	struct gn_rec h;
	char name[48];
	char value[160];
};

struct rec_cost {
	struct gn_rec h;
	struct recorder_cost cost;
};

struct rec_add {
	struct gn_rec h;
	char path[RECORDER_PATH_LEN];
};

/* Samples of one kind since the last gnomon.StackQuality. */
struct quality {
	uint64_t since_ns, samples, guessed, ends[GN_END_MAX];
};

/* One process and its file. */
struct target {
	pid_t tgid;
	struct recorder *r;
	struct resolver *names;
	struct jfrw *out;
	uint64_t start_ns; /* of its file, CLOCK_MONOTONIC */
	char path[RECORDER_PATH_LEN];
	uint64_t tables_ns; /* when its unwind tables were last made */
	bool had_vm;
	bool tables_stale; /* code was met that they do not have */
	struct stack *stacks;
	struct thread *threads;
	struct gn_sample *late; /* samples whose stack or name has not come yet, oldest first */
	size_t nlate;
	struct quality cpu, wall;
	uint64_t throttling_ns;
	uint32_t no_stack; /* the JFR stack that says so */
	uint32_t jfr_epoch;
	uint64_t file_dropped; /* events the writer dropped, as counted so far */
	struct recorder_totals totals;
	UT_hash_handle hh;
};

struct stack {
	uint64_t id;
	uint32_t jfr;
	uint8_t end;   /* enum gn_walk_end */
	uint8_t sleep; /* enum thread_state for GN_ST_SLEEP */
	uint8_t disk;  /* and for GN_ST_DISK */
	bool guessed;  /* a frame was found by a heuristic */
	UT_hash_handle hh;
};

struct thread {
	pid_t tid, tgid;
	uint32_t jfr;	  /* 0: not written yet */
	uint64_t born_ns; /* it has its creator's name still, 0: it has its own */
	char comm[16];
	struct resolved_thread java; /* name "" until known */
	UT_hash_handle hh;
};

struct recorder {
	struct recorder_config cfg;
	struct queue *queue;
	struct resolver_shared *shared;
	struct tables *tables;
	struct target *targets;
	struct frame_name *frames; /* LOGICAL_FRAMES */
	struct rec_setting settings[SETTINGS_MAX];
	size_t nsettings;
	struct recorder_file *files; /* of targets that have ended */
	size_t nfiles;
	uint64_t lost[RECORDER_LOSS_MAX]; /* of nobody knows which target */
	struct error failed;		  /* the first error of a writer */
	pthread_t thread;
	bool started, joined;
	uint64_t polled_ns, flushed_ns;
	_Atomic uint64_t queue_lost;
	_Atomic bool discard; /* nothing of what is open is worth a file */

	pthread_mutex_t lock; /* held for a copy only; guards what follows */
	struct recorder_totals totals;
	struct error error;
	struct recorder_added *added;
	size_t nadded;
};

const char *recorder_loss_name(unsigned int reason)
{
	static const char *const names[RECORDER_LOSS_MAX] = {
		[GN_LOSS_RING] = "CPU samples: ring buffer full",
		[GN_LOSS_WALL] = "wall samples: ring buffer full",
		[GN_LOSS_STACK] = "stacks: ring buffer full",
		[GN_LOSS_MISSED] = "wall samples without a stack",
		[GN_LOSS_STATE] = "no memory for a thread's state",
		[RECORDER_LOSS_QUEUE] = "records: naming too slow",
		[RECORDER_LOSS_FILE] = "events: the disk did not keep up",
		[RECORDER_LOSS_NAMES] = "samples whose frames were lost",
	};

	return reason < RECORDER_LOSS_MAX && names[reason] ? names[reason] : "unknown";
}

/* Of samples, as the events have it. */
static const char *loss_kind(unsigned int reason)
{
	switch (reason) {
	case GN_LOSS_RING:
		return "cpu";
	case GN_LOSS_WALL:
	case GN_LOSS_MISSED:
		return "wall";
	default:
		return "any";
	}
}

/* ---- threads ---- */

static void thread_comm_read(struct thread *t)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", t->tgid, t->tid);
	f = fopen(path, "re");
	if (!f)
		return;
	if (fgets(t->comm, sizeof(t->comm), f))
		t->comm[strcspn(t->comm, "\n")] = '\0';
	fclose(f);
}

static struct target *target_find(struct recorder *r, pid_t tgid)
{
	struct target *t;

	HASH_FIND_INT(r->targets, &tgid, t);
	return t;
}

/* Ask once more for a Java name; a thread being started does not have it at first. */
static void thread_name_try(struct target *target, struct thread *t)
{
	if (!t->java.name[0])
		resolver_thread(target->names, t->tid, &t->java);
}

static void thread_offer(struct recorder *r, struct thread *t)
{
	if (!r->cfg.wants_thread)
		return;
	if (!t->java.name[0] || !r->cfg.wants_thread(r->cfg.ctx, t->tid, t->java.name))
		r->cfg.wants_thread(r->cfg.ctx, t->tid, t->comm);
}

static struct thread *thread_get(struct target *target, pid_t tid)
{
	struct thread *t;

	HASH_FIND_INT(target->threads, &tid, t);
	if (t)
		return t;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->tid = tid;
	t->tgid = target->tgid;
	thread_comm_read(t);
	HASH_ADD_INT(target->threads, tid, t);
	target->totals.threads++;
	return t;
}

static uint32_t thread_jfr(struct target *target, struct thread *t)
{
	struct jfrw_thread jt;

	if (t->jfr)
		return t->jfr;
	thread_name_try(target, t);
	jt = (struct jfrw_thread){
		.os_name = t->comm,
		.os_tid = t->tid,
		.java_name = t->java.name[0] ? t->java.name : NULL,
		.java_tid = t->java.java_id,
	};
	t->jfr = jfrw_thread(target->out, &jt);
	return t->jfr;
}

static void on_fork(struct recorder *r, const struct gn_task_rec *rec)
{
	struct target *target = target_find(r, (pid_t)rec->h.tgid);
	pid_t tid = (pid_t)rec->h.tid;
	struct thread *t;

	if (!target)
		return;
	/* The number of a thread that has ended may be given again. */
	HASH_FIND_INT(target->threads, &tid, t);
	if (t) {
		HASH_DEL(target->threads, t);
		free(t);
	}
	t = thread_get(target, tid);
	if (!t)
		return;
	t->born_ns = rec->h.time;
	if (!t->comm[0])
		memcpy(t->comm, rec->comm, sizeof(t->comm));
	thread_name_try(target, t);
	thread_offer(r, t);
}

static void on_comm(struct recorder *r, const struct gn_task_rec *rec)
{
	struct target *target = target_find(r, (pid_t)rec->h.tgid);
	struct thread *t = target ? thread_get(target, (pid_t)rec->h.tid) : NULL;

	if (!t)
		return;
	memcpy(t->comm, rec->comm, sizeof(t->comm));
	t->comm[sizeof(t->comm) - 1] = '\0';
	t->born_ns = 0;
	t->java.name[0] = '\0'; /* renamed: ask again, and make it another thread of the file */
	t->jfr = 0;
	thread_name_try(target, t);
	thread_offer(r, t);
}

/* With a thread filter, names decide who is sampled: look at all threads there are. */
static void threads_offer(struct target *target)
{
	pid_t *tids = NULL;
	size_t n = 0;

	if (!target->r->cfg.wants_thread || proc_tasks_read(target->tgid, &tids, &n))
		return;
	for (size_t i = 0; i < n; i++) {
		struct thread *t = thread_get(target, tids[i]);

		if (!t || t->java.name[0])
			continue;
		thread_name_try(target, t);
		thread_offer(target->r, t);
	}
	free(tids);
}

/* ---- the unwinder's tables ---- */

static void tables_make(struct recorder *r, struct target *t, uint64_t now)
{
	int rc;

	t->tables_ns = now;
	t->tables_stale = false;
	symproc_changed(resolver_native(t->names));
	rc = tables_update(r->tables, t->tgid, resolver_native(t->names), resolver_vm(t->names),
			   now);
	if (rc)
		log_info("no unwind tables for process %d: %s", t->tgid, strerror(-rc));
}

/* A user frame that no table knew: something was mapped since. */
static bool stack_has_unknown(const struct gn_stack *s)
{
	const struct gn_frame *f = gn_stack_frames(s) + s->nkernel;

	for (int i = 0; i < s->nuser; i++)
		if (gn_frame_kind(&f[i]) == GN_FRAME_USER && gn_frame_flags(&f[i]) & GN_FF_FP)
			return true;
	return s->end == GN_END_NORULE || s->end == GN_END_FP;
}

static void tables_poll(struct recorder *r, struct target *t, bool jvm_changed, uint64_t now)
{
	if (!r->tables)
		return;
	tables_follow(r->tables, t->tgid, resolver_vm(t->names), now);
	if (jvm_changed || (t->tables_stale && now - t->tables_ns > TABLES_NS))
		tables_make(r, t, now);
}

/* ---- stacks ---- */

static struct stack *stack_find(struct target *target, uint64_t id)
{
	struct stack *s;

	HASH_FIND(hh, target->stacks, &id, sizeof(id), s);
	return s;
}

static bool stack_is_guessed(const struct gn_stack *s)
{
	const struct gn_frame *f = gn_stack_frames(s) + s->nkernel;

	for (int i = 0; i < s->nuser; i++)
		if (gn_frame_flags(&f[i]) & GN_FF_GUESSED)
			return true;
	return false;
}

/* Kernel threads have no user part; a virtual thread's stack ends where its carrier's begins. */
static bool stack_is_whole(const struct gn_stack *s)
{
	return s->end == GN_END_COMPLETE || s->end == GN_END_NONE || s->end == GN_END_CONT;
}

static void on_stack(struct recorder *r, const struct gn_stack *rec)
{
	struct target *target = target_find(r, (pid_t)rec->h.tgid);
	struct stack *s;
	bool cut = false;
	size_t n;

	if (!target)
		return;
	s = stack_find(target, rec->id);
	if (!s) {
		s = calloc(1, sizeof(*s));
		if (!s)
			return;
		s->id = rec->id;
		HASH_ADD(hh, target->stacks, id, sizeof(s->id), s);
		target->totals.stacks++;
	}
	target->tables_stale |= stack_has_unknown(rec);
	n = resolver_stack(target->names, rec, r->frames, LOGICAL_FRAMES, &cut);
	s->jfr = jfrw_stack(target->out, r->frames, n, cut || !stack_is_whole(rec));
	s->guessed = stack_is_guessed(rec);
	s->end = rec->end < GN_END_MAX ? rec->end : GN_END_NORULE;
	s->sleep = (uint8_t)state_of(GN_ST_SLEEP, r->frames, n);
	s->disk = (uint8_t)state_of(GN_ST_DISK, r->frames, n);
}

/* Time is never dropped for want of a stack: it goes to a frame that says so. */
static uint32_t no_stack(struct target *target)
{
	static const struct frame_name why = {"[gnomon]", "[stack not captured]", "", -1,
					      -1,	  FRAME_NATIVE,		  0,  0};

	if (!target->no_stack)
		target->no_stack = jfrw_stack(target->out, &why, 1, true);
	return target->no_stack;
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

static void quality_add(struct target *target, const struct gn_sample *s, const struct stack *st)
{
	struct quality *q = s->clock == GN_CLOCK_WALL ? &target->wall : &target->cpu;
	uint8_t end = st ? st->end : GN_END_NONE;

	q->samples += s->n;
	q->ends[end] += s->n;
	target->totals.ends[end] += s->n;
	if (st && st->guessed) {
		q->guessed += s->n;
		target->totals.guessed += s->n;
	}
}

static void quality_write(struct target *target, struct quality *q, const char *kind, uint64_t now)
{
	if (q->samples)
		jfrw_stack_quality(
			target->out, now,
			&(struct jfr_stack_quality){
				.period_ns = now - q->since_ns,
				.kind = kind,
				.samples = q->samples,
				.complete = q->ends[GN_END_COMPLETE] + q->ends[GN_END_CONT],
				.guessed = q->guessed,
				.truncated = q->ends[GN_END_DEPTH],
				.bad_address = q->ends[GN_END_BADADDR],
				.no_rule = q->ends[GN_END_NORULE] + q->ends[GN_END_FP],
				.failed = q->ends[GN_END_NONE],
			});
	*q = (struct quality){.since_ns = now};
}

static void sample_write(struct target *target, const struct gn_sample *s, const struct stack *st)
{
	struct thread *t = thread_get(target, (pid_t)s->h.tid);
	uint32_t stack = st ? st->jfr : no_stack(target), thread;

	if (!t)
		return;
	thread = thread_jfr(target, t);
	quality_add(target, s, st);
	if (s->clock == GN_CLOCK_WALL) {
		jfrw_wall_sample(target->out, s->h.time, thread, stack, sample_state(s, st), s->n,
				 s->span);
		target->totals.wall_samples += s->n;
		target->totals.wall_records++;
	} else {
		jfrw_cpu_sample(target->out, s->h.time, thread, stack);
		target->totals.cpu_samples += s->n;
	}
}

/* Does not count it in the totals: a loss may be written to several files. */
static void lost_write(struct target *target, uint64_t time, pid_t tid, unsigned int reason,
		       uint64_t count)
{
	struct thread *t = tid ? thread_get(target, tid) : NULL;

	jfrw_samples_lost(target->out, time,
			  &(struct jfr_samples_lost){
				  .thread = t ? thread_jfr(target, t) : 0,
				  .kind = loss_kind(reason),
				  .reason = recorder_loss_name(reason),
				  .count = count,
			  });
}

static void lost_add(struct target *target, uint64_t time, pid_t tid, unsigned int reason,
		     uint64_t count)
{
	target->totals.lost[reason] += count;
	lost_write(target, time, tid, reason, count);
}

/*
 * A thread that has just been created carries its creator's name until it gives itself its own,
 * some 100 us later. What it is sampled with before that waits for the name.
 */
static bool thread_is_nameless(struct target *target, const struct gn_sample *s)
{
	struct thread *t = thread_get(target, (pid_t)s->h.tid);

	return t && t->born_ns && s->h.time - t->born_ns < NAMELESS_NS;
}

/*
 * A stack's list travels by the ring of the CPU that took it first, a sample by its own: a sample
 * may come first. It waits a little; if the list was lost it is written without frames.
 */
static void late_add(struct target *target, const struct gn_sample *s)
{
	if (!target->late)
		target->late = calloc(LATE_MAX, sizeof(*target->late));
	if (!target->late || target->nlate == LATE_MAX) {
		sample_write(target, s, stack_find(target, s->stack));
		if (s->stack && !stack_find(target, s->stack))
			lost_add(target, s->h.time, (pid_t)s->h.tid, RECORDER_LOSS_NAMES, s->n);
		return;
	}
	target->late[target->nlate++] = *s;
}

static void late_retry(struct target *target, uint64_t now, bool last)
{
	size_t kept = 0;

	for (size_t i = 0; i < target->nlate; i++) {
		struct gn_sample s = target->late[i];
		struct stack *st = stack_find(target, s.stack);

		if (last || now - s.h.time > LATE_NS ||
		    ((st || !s.stack) && !thread_is_nameless(target, &s))) {
			sample_write(target, &s, st);
			if (!st && s.stack)
				lost_add(target, now, (pid_t)s.h.tid, RECORDER_LOSS_NAMES, s.n);
		} else {
			target->late[kept++] = s;
		}
	}
	target->nlate = kept;
}

/*
 * Clocks and switches are set up one after the other: what was seen before the recording's start
 * is not of it. False: all of the sample was before.
 */
static bool sample_begin(const struct target *t, struct gn_sample *s)
{
	uint64_t base = t->r->cfg.start_ns, wall = t->r->cfg.wall_ns, first, skip;

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

static void on_sample(struct recorder *r, const struct gn_sample *rec)
{
	struct target *target = target_find(r, (pid_t)rec->h.tgid);
	struct gn_sample copy = *rec, *s = &copy;
	struct stack *st;

	if (!target || !sample_begin(target, s))
		return;
	st = s->stack ? stack_find(target, s->stack) : NULL;
	if ((s->stack && !st) || thread_is_nameless(target, s))
		late_add(target, s);
	else
		sample_write(target, s, st);
}

/* ---- losses counted by thread ---- */

static struct target *target_of_thread(struct recorder *r, pid_t tid)
{
	struct target *target, *tmp;
	struct thread *t;
	pid_t tgid;

	HASH_ITER(hh, r->targets, target, tmp) {
		HASH_FIND_INT(target->threads, &tid, t);
		if (t)
			return target;
	}
	if (HASH_COUNT(r->targets) == 1)
		return r->targets;
	return proc_tgid(tid, &tgid) ? NULL : target_find(r, tgid);
}

/* A loss that may be anybody's is written to every file: none may look better than it is. */
static void on_loss(struct recorder *r, uint64_t time, pid_t tid, unsigned int reason,
		    uint64_t count)
{
	struct target *target = target_of_thread(r, tid), *tmp;

	if (reason >= RECORDER_LOSS_MAX)
		return;
	if (target) {
		lost_add(target, time, tid, reason, count);
		return;
	}
	r->lost[reason] += count;
	HASH_ITER(hh, r->targets, target, tmp)
		lost_write(target, time, 0, reason, count);
}

/* ---- the thread ---- */

static void on_exec(struct recorder *r, const struct gn_task_rec *rec)
{
	struct target *t = target_find(r, (pid_t)rec->h.tgid);

	if (!t)
		return;
	resolver_exec(t->names);
	t->had_vm = false;
	if (r->tables) {
		tables_drop(r->tables, t->tgid, rec->h.time);
		tables_make(r, t, rec->h.time);
	}
	r->cfg.on_epoch(r->cfg.ctx);
}

/* Ids of an earlier epoch of the writer mean nothing: have everything named again. */
static void ids_forget(struct target *target)
{
	struct thread *t, *tt;
	struct stack *s, *st;

	HASH_ITER(hh, target->threads, t, tt)
		t->jfr = 0;
	HASH_ITER(hh, target->stacks, s, st) {
		HASH_DEL(target->stacks, s);
		free(s);
	}
	target->no_stack = 0;
	target->jfr_epoch = jfrw_epoch(target->out);
	target->r->cfg.on_epoch(target->r->cfg.ctx);
}

/* At the start, now and then, and at the end, so that the difference is that of the recording. */
static void throttling_write(struct target *target, uint64_t now, bool last)
{
	if (!last && target->throttling_ns && now - target->throttling_ns < THROTTLING_NS)
		return;
	target->throttling_ns = now;
	facts_throttling(target->out, now, target->tgid);
}

static void flush(struct target *target, bool last)
{
	struct error e = {0};
	struct jfrw_stats st;
	uint64_t now = now_ns();

	threads_offer(target);
	quality_write(target, &target->cpu, "cpu", now);
	quality_write(target, &target->wall, "wall", now);
	throttling_write(target, now, last);
	if (jfrw_flush(target->out, now, &e) && !target->r->failed.rc)
		target->r->failed = e;
	jfrw_stats(target->out, &st);
	target->totals.file_bytes = st.bytes;
	if (st.dropped_events > target->file_dropped) {
		lost_add(target, now, 0, RECORDER_LOSS_FILE,
			 st.dropped_events - target->file_dropped);
		target->file_dropped = st.dropped_events;
	}
	if (jfrw_epoch(target->out) != target->jfr_epoch)
		ids_forget(target);
}

/* ---- the end of a target ---- */

/* Safe for one opened in part. Not keeping it removes its file. */
static void target_free(struct target *target, bool keep)
{
	struct thread *t, *tt;
	struct stack *s, *st;

	if (target->out && keep)
		jfrw_close(target->out, NULL);
	else if (target->out)
		jfrw_discard(target->out);
	HASH_ITER(hh, target->threads, t, tt) {
		HASH_DEL(target->threads, t);
		free(t);
	}
	HASH_ITER(hh, target->stacks, s, st) {
		HASH_DEL(target->stacks, s);
		free(s);
	}
	resolver_close(target->names);
	free(target->late);
	free(target);
}

static void file_note(struct recorder *r, const struct target *target)
{
	struct recorder_file *v = realloc(r->files, (r->nfiles + 1) * sizeof(*v));

	if (!v)
		return;
	r->files = v;
	v += r->nfiles++;
	*v = (struct recorder_file){.tgid = target->tgid, .totals = target->totals};
	snprintf(v->path, sizeof(v->path), "%s", target->path);
	snprintf(v->names, sizeof(v->names), "%s", resolver_source(target->names));
}

/* Write what there is still to write, and finish the file. */
static void on_end(struct recorder *r, struct target *target)
{
	struct error e = {0};

	if (!target)
		return;
	late_retry(target, now_ns(), true);
	flush(target, true);
	if (jfrw_close(target->out, &e) && !r->failed.rc)
		r->failed = e;
	target->out = NULL;
	file_note(r, target);
	if (r->tables)
		tables_drop(r->tables, target->tgid, now_ns());
	HASH_DEL(r->targets, target);
	target_free(target, true);
}

/* ---- the records ---- */

static void setting_write(struct target *target, const struct rec_setting *set)
{
	jfrw_active_setting(target->out, set->h.time,
			    &(struct jfr_active_setting){
				    .id = JFR_ACTIVE_RECORDING,
				    .name = set->name,
				    .value = set->value,
			    });
}

/* Kept, for files that are opened later. */
static void on_setting(struct recorder *r, const struct rec_setting *set)
{
	struct target *target, *tmp;

	if (r->nsettings < SETTINGS_MAX)
		r->settings[r->nsettings++] = *set;
	HASH_ITER(hh, r->targets, target, tmp)
		setting_write(target, set);
}

static void on_cost(struct recorder *r, const struct rec_cost *rec)
{
	const struct recorder_cost *c = &rec->cost;
	struct target *target, *tmp;

	HASH_ITER(hh, r->targets, target, tmp)
		jfrw_overhead(target->out, rec->h.time,
			      &(struct jfr_overhead){
				      .period_ns = c->wall_ns,
				      .collector_ns = c->cpu_ns,
				      .bpf_ns = c->bpf_ns,
				      .bpf_runs = c->bpf_runs,
				      .memory = c->memory,
				      .cpu_share = c->cpu_share,
			      });
}

static void on_add(struct recorder *r, const struct rec_add *rec)
{
	struct recorder_added done = {.tgid = (pid_t)rec->h.tgid}, *v;

	done.rc = recorder_target(r, done.tgid, rec->path, false, &done.error);
	pthread_mutex_lock(&r->lock);
	v = realloc(r->added, (r->nadded + 1) * sizeof(*v));
	if (v) {
		r->added = v;
		v[r->nadded++] = done;
	}
	pthread_mutex_unlock(&r->lock);
}

static void take(struct recorder *r, const struct gn_rec *rec)
{
	const struct rec_loss *loss = (const void *)rec;

	switch (rec->type) {
	case GN_REC_SAMPLE:
		on_sample(r, (const void *)rec);
		break;
	case GN_REC_STACK:
		on_stack(r, (const void *)rec);
		break;
	case GN_REC_FORK:
		on_fork(r, (const void *)rec);
		break;
	case GN_REC_COMM:
		on_comm(r, (const void *)rec);
		break;
	case GN_REC_EXEC:
		on_exec(r, (const void *)rec);
		break;
	case REC_LOSS:
		on_loss(r, rec->time, (pid_t)rec->tid, loss->reason, loss->count);
		break;
	case REC_SETTING:
		on_setting(r, (const void *)rec);
		break;
	case REC_COST:
		on_cost(r, (const void *)rec);
		break;
	case REC_ADD:
		on_add(r, (const void *)rec);
		break;
	case REC_END:
		on_end(r, target_find(r, (pid_t)rec->tgid));
		break;
	}
}

/* ---- at times ---- */

static bool target_poll(struct target *t, uint64_t now)
{
	bool changed = resolver_poll(t->names, now);

	tables_poll(t->r, t, !t->had_vm && resolver_vm(t->names), now);
	t->had_vm = resolver_vm(t->names) != NULL;
	late_retry(t, now, false);
	return changed;
}

static void totals_add(struct recorder_totals *sum, const struct recorder_totals *t)
{
	sum->cpu_samples += t->cpu_samples;
	sum->wall_samples += t->wall_samples;
	sum->wall_records += t->wall_records;
	sum->stacks += t->stacks;
	sum->guessed += t->guessed;
	sum->threads += t->threads;
	sum->file_bytes += t->file_bytes;
	for (int i = 0; i < GN_END_MAX; i++)
		sum->ends[i] += t->ends[i];
	for (int i = 0; i < RECORDER_LOSS_MAX; i++)
		sum->lost[i] += t->lost[i];
}

/* What other threads may know; they never wait for the naming. */
static void publish(struct recorder *r)
{
	struct recorder_totals sum = {0};
	struct target *t, *tmp;

	for (size_t i = 0; i < r->nfiles; i++)
		totals_add(&sum, &r->files[i].totals);
	HASH_ITER(hh, r->targets, t, tmp)
		totals_add(&sum, &t->totals);
	for (int i = 0; i < RECORDER_LOSS_MAX; i++)
		sum.lost[i] += r->lost[i];
	pthread_mutex_lock(&r->lock);
	r->totals = sum;
	r->error = r->failed;
	pthread_mutex_unlock(&r->lock);
}

static void poll_targets(struct recorder *r, uint64_t now)
{
	uint64_t lost = atomic_exchange(&r->queue_lost, 0);
	struct target *t, *tmp;
	bool changed = false;

	HASH_ITER(hh, r->targets, t, tmp)
		changed |= target_poll(t, now);
	if (changed)
		r->cfg.on_epoch(r->cfg.ctx);
	if (lost)
		on_loss(r, now, 0, RECORDER_LOSS_QUEUE, lost);
	publish(r);
}

static void work(struct recorder *r, const struct gn_rec *rec)
{
	uint64_t now = now_ns();
	struct target *t, *tmp;

	if (now - r->polled_ns >= POLL_NS) {
		r->polled_ns = now;
		poll_targets(r, now);
	}
	if (rec)
		take(r, rec);
	if (now - r->flushed_ns >= FLUSH_NS) {
		r->flushed_ns = now;
		HASH_ITER(hh, r->targets, t, tmp)
			flush(t, false);
	}
}

static void *recorder_main(void *arg)
{
	struct recorder *r = arg;
	bool ended = false;

	r->polled_ns = r->flushed_ns = now_ns();
	while (!ended)
		work(r, queue_pop(r->queue, POLL_NS / 1000000, &ended));
	poll_targets(r, now_ns());
	while (r->targets && !r->discard)
		on_end(r, r->targets);
	publish(r);
	return NULL;
}

/* ---- for others ---- */

int recorder_open(struct recorder **out, const struct recorder_config *cfg, struct error *e)
{
	struct recorder *r = calloc(1, sizeof(*r));
	int rc;

	if (!r)
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	r->cfg = *cfg;
	pthread_mutex_init(&r->lock, NULL);
	r->queue = queue_new(QUEUE_BYTES);
	r->frames = calloc(LOGICAL_FRAMES, sizeof(*r->frames));
	if (!r->queue || !r->frames)
		rc = error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	else
		rc = resolver_shared_open(&r->shared, e);
	if (rc) {
		recorder_close(r, false);
		return rc;
	}
	*out = r;
	return 0;
}

static int target_open(struct target *t, bool overwrite, struct error *e)
{
	struct recorder *r = t->r;
	struct timespec ts;
	uint64_t mono = now_ns();
	struct jfrw_config jc = {
		.path = t->path,
		.overwrite = overwrite,
		.cpu_period_ns = r->cfg.cpu_ns,
	};
	int rc;

	/* those that come later have files that begin later */
	t->start_ns = r->started ? mono : r->cfg.start_ns;
	clock_gettime(CLOCK_REALTIME, &ts);
	jc.start_mono_ns = t->start_ns;
	jc.start_epoch_ns =
		(uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec - (mono - t->start_ns);
	rc = jfrw_open(&t->out, &jc, e);
	return rc ? rc : resolver_open(&t->names, r->shared, t->tgid, r->cfg.jvm, e);
}

/* The file's time begins where sampling does: loading the programs may have taken a while. */
static void target_begin(struct target *t)
{
	struct recorder *r = t->r;

	t->start_ns = now_ns();
	jfrw_begin(t->out, t->start_ns);
	facts_write(t->out, t->tgid, &r->cfg, t->path, t->start_ns);
	facts_libraries(t->out, t->start_ns, resolver_native(t->names));
	for (size_t i = 0; i < r->nsettings; i++) {
		r->settings[i].h.time = t->start_ns;
		setting_write(t, &r->settings[i]);
	}
	t->cpu.since_ns = t->wall.since_ns = t->start_ns;
	threads_offer(t);
}

int recorder_target(struct recorder *r, pid_t tgid, const char *path, bool overwrite,
		    struct error *e)
{
	struct target *t = calloc(1, sizeof(*t));
	int rc;

	if (!t)
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	t->tgid = tgid;
	t->r = r;
	snprintf(t->path, sizeof(t->path), "%s", path);
	rc = target_open(t, overwrite, e);
	if (rc) {
		target_free(t, false);
		return rc;
	}
	HASH_ADD_INT(r->targets, tgid, t);
	resolver_poll(t->names, now_ns());
	if (r->tables) {
		tables_make(r, t, now_ns());
		t->had_vm = resolver_vm(t->names) != NULL;
	}
	if (r->started)
		target_begin(t);
	return 0;
}

int recorder_tables(struct recorder *r, const struct capture *c, struct error *e)
{
	struct target *t, *tmp;
	int rc;

	tables_free(r->tables);
	r->tables = NULL;
	if (!c)
		return 0;
	rc = tables_new(&r->tables, c, e);
	if (rc)
		return rc;
	HASH_ITER(hh, r->targets, t, tmp) {
		tables_make(r, t, now_ns());
		t->had_vm = resolver_vm(t->names) != NULL;
	}
	return 0;
}

int recorder_start(struct recorder *r, struct error *e)
{
	struct target *t, *tmp;
	int rc;

	HASH_ITER(hh, r->targets, t, tmp)
		target_begin(t);
	r->started = true;
	rc = pthread_create(&r->thread, NULL, recorder_main, r);
	if (rc) {
		r->started = false;
		return error_set(e, -rc, EXIT_INTERNAL, "cannot start a thread: %s", strerror(rc));
	}
	return 0;
}

void recorder_push(struct recorder *r, const struct gn_rec *rec)
{
	if (!queue_push(r->queue, rec))
		atomic_fetch_add(&r->queue_lost, 1);
}

int recorder_add(struct recorder *r, pid_t tgid, const char *path)
{
	struct rec_add rec = {
		.h = {.type = REC_ADD, .size = sizeof(rec), .tgid = (__u32)tgid, .time = now_ns()},
	};

	if (snprintf(rec.path, sizeof(rec.path), "%s", path) >= (int)sizeof(rec.path))
		return -ENAMETOOLONG;
	return queue_push(r->queue, &rec.h) ? 0 : -EAGAIN;
}

bool recorder_added(struct recorder *r, struct recorder_added *out)
{
	bool any;

	pthread_mutex_lock(&r->lock);
	any = r->nadded > 0;
	if (any) {
		*out = r->added[0];
		memmove(r->added, r->added + 1, --r->nadded * sizeof(*r->added));
	}
	pthread_mutex_unlock(&r->lock);
	return any;
}

int recorder_end(struct recorder *r, pid_t tgid)
{
	struct gn_rec rec = {
		.type = REC_END, .size = sizeof(rec), .tgid = (__u32)tgid, .time = now_ns()};

	return queue_push(r->queue, &rec) ? 0 : -EAGAIN;
}

void recorder_lost(struct recorder *r, pid_t tid, unsigned int reason, uint64_t count)
{
	struct rec_loss rec = {
		.h = {.type = REC_LOSS, .size = sizeof(rec), .tid = (__u32)tid, .time = now_ns()},
		.count = count,
		.reason = reason,
	};

	recorder_push(r, &rec.h);
}

void recorder_setting(struct recorder *r, const char *name, const char *value)
{
	struct rec_setting rec = {
		.h = {.type = REC_SETTING, .size = sizeof(rec), .time = now_ns()},
	};

	snprintf(rec.name, sizeof(rec.name), "%s", name);
	snprintf(rec.value, sizeof(rec.value), "%s", value);
	recorder_push(r, &rec.h);
}

void recorder_cost(struct recorder *r, const struct recorder_cost *cost)
{
	struct rec_cost rec = {
		.h = {.type = REC_COST, .size = sizeof(rec), .time = now_ns()},
		.cost = *cost,
	};

	recorder_push(r, &rec.h);
}

void recorder_wake(struct recorder *r)
{
	queue_wake(r->queue);
}

void recorder_totals(struct recorder *r, struct recorder_totals *out)
{
	pthread_mutex_lock(&r->lock);
	*out = r->totals;
	pthread_mutex_unlock(&r->lock);
}

int recorder_error(struct recorder *r, struct error *e)
{
	int rc;

	pthread_mutex_lock(&r->lock);
	rc = r->error.rc;
	if (rc && e)
		*e = r->error;
	pthread_mutex_unlock(&r->lock);
	return rc;
}

const struct recorder_file *recorder_files(const struct recorder *r, size_t *n)
{
	*n = r->nfiles;
	return r->files;
}

static void join(struct recorder *r)
{
	if (!r->started || r->joined)
		return;
	queue_end(r->queue);
	pthread_join(r->thread, NULL);
	r->joined = true;
}

int recorder_finish(struct recorder *r, struct error *e)
{
	join(r);
	return recorder_error(r, e);
}

void recorder_close(struct recorder *r, bool keep)
{
	struct target *t, *tmp;

	if (!r)
		return;
	r->discard = !keep;
	join(r);
	HASH_ITER(hh, r->targets, t, tmp) {
		HASH_DEL(r->targets, t);
		target_free(t, keep);
	}
	tables_free(r->tables);
	resolver_shared_close(r->shared);
	queue_free(r->queue);
	free(r->frames);
	free(r->files);
	free(r->added);
	pthread_mutex_destroy(&r->lock);
	free(r);
}
