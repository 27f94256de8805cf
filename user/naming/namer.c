/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/namer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <uthash.h>

#include "base/beat.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "jfr/write.h"
#include "naming/board.h"
#include "naming/latest.h"
#include "naming/queue.h"
#include "naming/records.h"
#include "naming/reply.h"
#include "naming/tables.h"
#include "naming/vitals.h"
#include "sym/ksyms.h"
#include "target/procfs.h"
#include "wire/unwinder.h"

#define POLL_NS 100000000ull
/* for so long a JVM may be starting, and is looked at more often */
#define BEGIN_NS      5000000000ull
#define BEGIN_POLL_NS 25000000ull
/* while one is starting: what runs before its code is known has no names */
#define EXPECT_POLL_NS 2000000ull
/* what was launched may end at any time, and takes its names with it */
#define LAUNCH_HURRY_NS 10000000000ull
/* after a target came or went, which takes memory for a while */
#define GIVE_BACK_NS 5000000000ull

/* One process and its file. */
struct node {
	pid_t tgid;
	uint32_t serial;
	struct target *target;
	struct node *next; /* that has ended, too */
	UT_hash_handle hh;
};

struct namer {
	struct namer_config cfg;
	struct target_env env;
	struct node *targets;
	struct latest settings;
	struct totals ended;	 /* of all that have ended together */
	uint64_t lost[LOSS_MAX]; /* losses of which the target is not known */
	bool started, failed;	 /* the latter: the session was told */
	uint64_t began_ns, polled_ns;
	uint64_t stop_ns;      /* the recording's end as the targets were told it */
	uint64_t give_back_ns; /* when memory is given back; 0: no reason to */
};

static struct target *target_find(struct namer *r, pid_t tgid)
{
	struct node *n;

	HASH_FIND_INT(r->targets, &tgid, n);
	return n ? n->target : NULL;
}

/* Whoever finds us stuck is to know where. */
static void work_on(struct namer *r, pid_t tgid)
{
	atomic_store_explicit(&r->cfg.board->at_work, tgid, memory_order_relaxed);
	beat_step();
}

/* ---- losses counted by thread ---- */

static struct target *target_of_thread(struct namer *r, pid_t tid)
{
	struct node *n, *tmp;
	pid_t tgid;

	HASH_ITER(hh, r->targets, n, tmp) {
		if (target_has_thread(n->target, tid))
			return n->target;
	}
	if (HASH_COUNT(r->targets) == 1)
		return r->targets->target;
	return proc_tgid(tid, &tgid) ? NULL : target_find(r, tgid);
}

/*
 * A loss that may be any target's is written to every file, so that no file looks better than it
 * is.
 */
static void on_loss(struct namer *r, uint64_t time, pid_t tid, unsigned int reason, uint64_t count)
{
	struct target *target = target_of_thread(r, tid);
	struct node *n, *tmp;

	if (reason >= LOSS_MAX)
		return;
	r->cfg.board->losses_taken[reason] += count;
	if (target) {
		target_lost(target, time, tid, reason, count);
		return;
	}
	r->lost[reason] += count;
	HASH_ITER(hh, r->targets, n, tmp)
		target_note_lost(n->target, time, 0, reason, count);
}

static void on_queue_loss(void *ctx, pid_t tid, unsigned int reason, uint64_t count)
{
	on_loss(ctx, now_ns(), tid, reason, count);
}

/* ---- the end of a target ---- */

static void file_tell(struct namer *r, const struct node *n)
{
	struct reply reply = {.kind = REPLY_FILE, .serial = n->serial};

	target_totals(n->target, &reply.totals);
	totals_add(&r->ended, &reply.totals);
	snprintf(reply.names, sizeof(reply.names), "%s", target_source(n->target));
	reply_send(r->cfg.replies, &reply);
}

static void node_drop(struct namer *r, struct node *n, bool keep)
{
	HASH_DEL(r->targets, n);
	target_free(n->target, keep);
	r->give_back_ns = now_ns() + GIVE_BACK_NS;
	free(n);
}

static void on_end(struct namer *r, pid_t tgid)
{
	struct node *n;

	HASH_FIND_INT(r->targets, &tgid, n);
	if (!n)
		return;
	target_end(n->target);
	file_tell(r, n);
	node_drop(r, n, true);
}

/* ---- the records ---- */

static void on_setting(struct namer *r, const struct rec_setting *set)
{
	struct node *n, *tmp;

	latest_keep(&r->settings, set);
	HASH_ITER(hh, r->targets, n, tmp)
		target_setting(n->target, set->h.time, set->name, set->value);
}

/* Stacks are held against them as they are named: they are sent once more behind this. */
static void on_watch(struct namer *r, const struct rec_watch *rec)
{
	struct node *n, *tmp;

	r->env.watch = rec->orders;
	HASH_ITER(hh, r->targets, n, tmp)
		target_watch_orders(n->target);
}

static void settings_write(struct namer *r, struct target *t, uint64_t now)
{
	for (size_t i = 0; i < r->settings.n; i++)
		target_setting(t, now, r->settings.v[i].name, r->settings.v[i].value);
}

static void on_cost(struct namer *r, const struct rec_cost *rec)
{
	const struct recorder_cost *c = &rec->cost;
	struct jfr_overhead cost = {
		.period_ns = c->wall_ns,
		.collector_ns = c->cpu_ns,
		.bpf_ns = c->bpf_ns,
		.bpf_runs = c->bpf_runs,
		.memory = c->memory,
		.cpu_share = c->cpu_share,
		.stolen_ns = c->stolen_ns,
	};
	struct node *n, *tmp;

	HASH_ITER(hh, r->targets, n, tmp)
		target_cost(n->target, rec->h.time, &cost);
}

static void on_choice(struct namer *r, const struct rec_choice *rec)
{
	const struct recorder_choice *c = &rec->choice;
	struct target *t = target_find(r, (pid_t)rec->h.tgid);

	if (t)
		target_choice(t, c->time_ns,
			      &(struct jfr_thread_reservoir){
				      .draw = (int64_t)c->draw,
				      .live = (int32_t)c->live,
				      .eligible = (int32_t)c->eligible,
				      .sampled = (int32_t)c->sampled,
			      });
}

static void on_rate(struct namer *r, const struct rec_rate *rec)
{
	struct target *t = target_find(r, (pid_t)rec->h.tgid);

	if (t)
		target_rate(t, rec->h.time,
			    &(struct jfr_rate_change){
				    .cpu_ns = rec->cpu_ns,
				    .wall_ns = rec->wall_ns,
				    .threads = rec->threads,
				    .by = rec->by,
				    .reason = rec->reason,
			    });
}

static void on_cpus(struct namer *r, const struct rec_cpus *rec)
{
	struct target *t = target_find(r, (pid_t)rec->h.tgid);

	if (t)
		target_cpus(t, rec->h.time, &rec->cpus);
}

static void on_add(struct namer *r, const struct rec_add *rec)
{
	struct reply done = {.kind = REPLY_ADDED, .serial = rec->serial};
	bool has_file = !r->cfg.target.form.segments;
	int fd = has_file ? gift_take(r->cfg.gifts, rec->serial) : -1;

	struct target_file f = {
		.path = rec->path,
		.fd = fd,
		.resumed = rec->resumed,
		.start_ns = rec->start_ns,
		.untried = rec->untried != 0,
	};

	work_on(r, (pid_t)rec->h.tgid);
	if (fd < 0 && has_file)
		done.rc = error_set(&done.error, fd, EXIT_INTERNAL, "the file did not come: %s",
				    strerror(-fd));
	else
		done.rc = namer_target(r, (pid_t)rec->h.tgid, rec->serial, &f, &done.error);
	work_on(r, 0);
	reply_send(r->cfg.replies, &done);
}

static void on_tables(struct namer *r)
{
	struct reply done = {.kind = REPLY_READY};

	done.rc = namer_tables(r, r->cfg.unwinder, &done.error);
	reply_send(r->cfg.replies, &done);
}

static void on_start(struct namer *r, uint64_t time)
{
	struct reply done = {.kind = REPLY_READY};

	namer_start(r, time);
	reply_send(r->cfg.replies, &done);
}

/* A sample of a process that is not recorded any more is not missed. */
static void sample_pass(struct namer *r, const struct gn_sample *s)
{
	if (s->clock == GN_CLOCK_WALL)
		r->cfg.board->wall_settled += s->n;
	else
		r->cfg.board->cpu_settled += s->n;
}

/* Hands on a record that came from the kernel. */
static void take_kernel(struct namer *r, const struct gn_rec *rec)
{
	struct target *t = target_find(r, (pid_t)rec->tgid);

	if (!t && rec->type == GN_REC_SAMPLE)
		sample_pass(r, (const void *)rec);
	if (!t || (rec->type != GN_REC_SAMPLE && r->cfg.board->haste >= BOARD_COUNT))
		return;
	work_on(r, (pid_t)rec->tgid);
	if (rec->type == GN_REC_SAMPLE)
		target_sample(t, (const void *)rec);
	else if (rec->type == GN_REC_STACK)
		target_stack(t, (const void *)rec);
	else if (rec->type == GN_REC_VTHREAD)
		target_vthread(t, (const void *)rec);
	else if (rec->type == GN_REC_CAUSE)
		target_cause(t, (const void *)rec);
	else if (rec->type == GN_REC_CONTEXT)
		target_context(t, (const void *)rec);
	else if (rec->type == GN_REC_OWNER)
		target_owner(t, (const void *)rec);
	else
		target_task(t, (const void *)rec);
	work_on(r, 0);
}

static void take(struct namer *r, const struct gn_rec *rec)
{
	const struct rec_loss *loss = (const void *)rec;

	switch (rec->type) {
	case REC_LOSS:
		on_loss(r, rec->time, (pid_t)rec->tid, loss->reason, loss->count);
		break;
	case REC_SETTING:
		on_setting(r, (const void *)rec);
		break;
	case REC_WATCH:
		on_watch(r, (const void *)rec);
		break;
	case REC_COST:
		on_cost(r, (const void *)rec);
		break;
	case REC_CHOICE:
		on_choice(r, (const void *)rec);
		break;
	case REC_RATE:
		on_rate(r, (const void *)rec);
		break;
	case REC_CPUS:
		on_cpus(r, (const void *)rec);
		break;
	case REC_ADD:
		on_add(r, (const void *)rec);
		break;
	case REC_END:
		on_end(r, (pid_t)rec->tgid);
		break;
	case REC_TABLES:
		on_tables(r);
		break;
	case REC_START:
		on_start(r, rec->time);
		break;
	default:
		take_kernel(r, rec);
	}
}

/* ---- at times ---- */

/* Tells the session once that files cannot be written. */
static void failure_tell(struct namer *r)
{
	struct reply reply = {.kind = REPLY_FAILED, .rc = r->env.failed.rc, .error = r->env.failed};

	if (!reply.rc || r->failed)
		return;
	r->failed = true;
	reply_send(r->cfg.replies, &reply);
}

static void publish(struct namer *r)
{
	struct totals sum = r->ended, one;
	struct node *n, *tmp;
	uint32_t at = 0;

	HASH_ITER(hh, r->targets, n, tmp) {
		target_totals(n->target, &one);
		totals_add(&sum, &one);
		board_target_set(r->cfg.board, at++, n->tgid, &one);
	}
	board_targets_set(r->cfg.board, at);
	for (int i = 0; i < LOSS_MAX; i++)
		sum.lost[i] += r->lost[i];
	board_totals_set(r->cfg.board, &sum);
	failure_tell(r);
}

static void memory_poll(struct namer *r, uint64_t now)
{
	if (!r->give_back_ns || now < r->give_back_ns)
		return;
	r->give_back_ns = 0;
	memory_give_back();
	log_debug("giving memory back took %.1f ms", (double)(now_ns() - now) / 1e6);
}

static void poll_targets(struct namer *r, uint64_t now)
{
	struct node *n, *tmp;
	bool changed = false;

	HASH_ITER(hh, r->targets, n, tmp) {
		work_on(r, n->tgid);
		changed |= target_poll(n->target, now);
		target_flush(n->target, now);
		if (target_turned(n->target, now))
			settings_write(r, n->target, now);
	}
	work_on(r, 0);
	if (changed)
		r->env.cfg.on_epoch(r->env.cfg.ctx);
	memory_poll(r, now);
	board_losses(r->cfg.board, on_queue_loss, r);
	publish(r);
}

static uint64_t poll_ns(const struct namer *r, uint64_t now)
{
	if (now < r->env.expect_ns)
		return EXPECT_POLL_NS;
	return now < r->began_ns + BEGIN_NS ? BEGIN_POLL_NS : POLL_NS;
}

static void stop_apply(struct namer *r)
{
	uint64_t stop = r->cfg.board->stop_ns;
	struct node *n, *tmp;

	if (stop == r->stop_ns)
		return;
	r->stop_ns = stop;
	HASH_ITER(hh, r->targets, n, tmp)
		target_stop(n->target);
}

static void work(struct namer *r, const struct gn_rec *rec, uint64_t now)
{
	stop_apply(r);
	beat_step();
	if (r->started && now - r->polled_ns >= poll_ns(r, now)) {
		r->polled_ns = now;
		poll_targets(r, now);
	}
	if (rec)
		take(r, rec);
}

/*
 * Looks at the methods of stacks, and at the names of threads that name themselves, as soon as
 * these come, and not when it is their turn, which on a busy machine may be seconds later: a class
 * that is unloaded in between makes every name uncertain that was not read before, and a thread may
 * have another name by then.
 */
static void look_ahead(struct namer *r)
{
	uint64_t drained_ns = r->cfg.board->drained_ns; /* before the look at what there is */
	const struct gn_rec *rec;
	struct target *t;

	while ((rec = queue_peek(r->cfg.queue))) {
		if (rec->type != GN_REC_STACK && rec->type != GN_REC_COMM)
			continue;
		t = target_find(r, (pid_t)rec->tgid);
		work_on(r, t ? (pid_t)rec->tgid : 0);
		if (t && rec->type == GN_REC_STACK)
			target_notice(t, (const void *)rec);
		else if (t)
			target_hear(t, rec);
	}
	work_on(r, 0);
	r->env.heard_ns = drained_ns;
}

/* Finishes all files first: what there is to do after it, in a JVM, may take a while. */
static struct node *all_end(struct namer *r)
{
	struct node *n, *tmp, *gone = NULL;

	HASH_ITER(hh, r->targets, n, tmp) {
		work_on(r, n->tgid);
		target_end(n->target);
		file_tell(r, n);
		HASH_DEL(r->targets, n);
		n->next = gone;
		gone = n;
	}
	work_on(r, 0);
	return gone;
}

static void all_drop(struct node *gone)
{
	while (gone) {
		struct node *n = gone;

		gone = n->next;
		target_free(n->target, true);
		free(n);
	}
}

void namer_main(struct namer *r)
{
	struct reply done = {.kind = REPLY_DONE};
	struct node *gone = NULL;
	uint64_t now = now_ns();
	bool ended = false;

	while (!ended) {
		const struct gn_rec *rec =
			queue_pop(r->cfg.queue, (int)(poll_ns(r, now) / 1000000), &ended);

		look_ahead(r);
		now = now_ns();
		work(r, rec, now);
	}
	if (r->started)
		poll_targets(r, now_ns());
	r->env.ending = true;
	if (r->started && !r->cfg.board->discard)
		gone = all_end(r);
	publish(r);
	reply_send(r->cfg.replies, &done);
	all_drop(gone);
}

/* ---- for others ---- */

int namer_new(struct namer **out, const struct namer_config *cfg, struct error *e)
{
	struct namer *r = calloc(1, sizeof(*r));
	int rc;

	if (!r)
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	r->cfg = *cfg;
	r->env.cfg = cfg->target;
	r->env.board = cfg->board;
	r->env.frames = calloc(TARGET_FRAMES, sizeof(*r->env.frames));
	rc = r->env.frames ? resolver_shared_open(&r->env.shared, &cfg->board->haste, e)
			   : error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	if (!rc && cfg->target.form.vitals) {
		r->env.host = vitals_host_new();
		rc = r->env.host ? 0 : error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	}
	if (rc) {
		namer_free(r, false);
		return rc;
	}
	*out = r;
	return 0;
}

static void begin(struct namer *r, struct target *t, uint64_t now)
{
	target_begin(t, now);
	settings_write(r, t, now);
}

int namer_target(struct namer *r, pid_t tgid, uint32_t serial, const struct target_file *f,
		 struct error *e)
{
	struct node *n = calloc(1, sizeof(*n));
	int rc;

	if (!n) {
		if (f->fd >= 0)
			close(f->fd);
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	}
	n->tgid = tgid;
	n->serial = serial;
	rc = target_open(&n->target, &r->env, tgid, f, e);
	if (rc) {
		free(n);
		return rc;
	}
	HASH_ADD_INT(r->targets, tgid, n);
	r->give_back_ns = now_ns() + GIVE_BACK_NS;
	if (r->started)
		begin(r, n->target, now_ns());
	return 0;
}

int namer_tables(struct namer *r, const struct unwinder *u, struct error *e)
{
	struct node *n, *tmp;
	int rc = tables_new(&r->env.tables, u, e);

	if (rc)
		return rc;
	ksyms_programs_by(u->programs, u->ctx);
	HASH_ITER(hh, r->targets, n, tmp) {
		work_on(r, n->tgid);
		target_tables(n->target);
	}
	work_on(r, 0);
	return 0;
}

void namer_start(struct namer *r, uint64_t now)
{
	struct node *n, *tmp;

	HASH_ITER(hh, r->targets, n, tmp) {
		work_on(r, n->tgid);
		begin(r, n->target, now);
	}
	work_on(r, 0);
	r->started = true;
	r->began_ns = r->polled_ns = now_ns();
	if (r->env.cfg.launched)
		r->cfg.board->hurry_ns = r->began_ns + LAUNCH_HURRY_NS;
}

void namer_free(struct namer *r, bool keep)
{
	struct node *n, *tmp;

	if (!r)
		return;
	HASH_ITER(hh, r->targets, n, tmp)
		node_drop(r, n, keep);
	tables_free(r->env.tables);
	vitals_host_free(r->env.host);
	resolver_shared_close(r->env.shared);
	free(r->env.frames);
	free(r);
}
