/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/recorder.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/beat.h"
#include "base/clock.h"
#include "base/log.h"
#include "jvm/attacher.h"
#include "naming/board.h"
#include "naming/cell.h"
#include "naming/confine.h"
#include "naming/latest.h"
#include "naming/line.h"
#include "naming/namer.h"
#include "naming/opened.h"
#include "naming/port.h"
#include "naming/queue.h"
#include "naming/records.h"
#include "naming/reply.h"
#include "sym/ksyms.h"
#include "target/neighbours.h"
#include "wire/clerk.h"
#include "wire/unwinder.h"

#define QUEUE_BYTES (32u << 20)
#define SPARES	    JFRW_RESUMED_MAX /* processes that may take over */
#define AWAIT_MS    100		     /* what is asked at the start is looked after so often */
#define END_LOOK_MS 10		     /* and likewise what ends */
#define OWN_NS	    500000000ull     /* naming has so much of its time at the end, in any case */

struct recorder {
	struct target_config cfg;
	struct line lines[1 + SPARES];
	struct line *line; /* the one in use */
	size_t nlines;
	bool process;
	struct clerk *clerk; /* with processes and tables */
	struct namer *namer; /* without processes */
	pthread_t thread;
	struct opened_list opened;
	/* what one that takes over is told, too */
	struct latest settings;
	const struct unwinder *unwinder;
	struct clerk_duties duties;
	bool tables, started; /* were asked for */
	uint64_t start_ns;
	/* CPU samples and wall ticks that the one in use was handed */
	uint64_t cpu_pushed, wall_pushed;
	uint64_t looked_ns;
	unsigned int ready;		/* how often naming said so */
	bool ended, done;		/* it was told to end; it has finished all files */
	bool kept;			/* `before` has what the one in use counted: it is lost */
	struct totals before, totals;	/* of those that were lost; with the one in use */
	uint64_t losses_told[LOSS_MAX]; /* to the one in use */
	struct error error;
	struct recorded_file *files; /* of targets that have ended */
	size_t nfiles;
	struct recorder_added *added;
	size_t nadded;
};

/* ---- files ---- */

static void file_free(struct recorded_file *f)
{
	free(f->path);
	free(f->names);
}

/* Of one that goes on and on nobody asks for the files of all that ever ended. */
static void file_note(struct recorder *r, const struct opened *o, const struct reply *reply)
{
	struct recorded_file *v;

	if (r->cfg.form.segments)
		return;
	v = realloc(r->files, (r->nfiles + 1) * sizeof(*v));
	if (!v)
		return;
	r->files = v;
	v += r->nfiles;
	*v = (struct recorded_file){
		.tgid = o->tgid,
		.path = strdup(o->path),
		.names = strdup(reply->names),
		.totals = reply->totals,
	};
	if (v->path && v->names)
		r->nfiles++;
	else
		file_free(v);
}

/* ---- what naming says ---- */

static void added_note(struct recorder *r, const struct opened *o, const struct reply *reply)
{
	struct recorder_added *v = realloc(r->added, (r->nadded + 1) * sizeof(*v));

	if (!v)
		return;
	r->added = v;
	v[r->nadded++] = (struct recorder_added){o->tgid, reply->rc, reply->error};
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* What was lost with the one in use. */
static struct opened_loss loss_of(const struct recorder *r)
{
	const struct board *b = r->line->board;
	uint64_t cpu = b->cpu_settled, wall = b->wall_settled, now = now_ns(), stop = b->stop_ns;

	return (struct opened_loss){
		.cpu = r->cpu_pushed > cpu ? r->cpu_pushed - cpu : 0,
		.wall = r->wall_pushed > wall ? r->wall_pushed - wall : 0,
		.time_ns = stop ? least(stop, now) : now,
	};
}

/* A file that nobody goes on with. */
static void opened_end(struct recorder *r, struct opened *o, const struct opened_loss *lost)
{
	struct reply none = {.names = "not known any more: the process that names was lost"};
	struct error e = {0};

	if (opened_close(o, &r->cfg.form, lost, &e))
		log_warn("the end of '%s' is missing: %s", o->path, e.msg);
	file_note(r, o, &none);
	opened_drop(&r->opened, o);
}

static void on_added(struct recorder *r, const struct reply *reply)
{
	struct opened *o = opened_find(&r->opened, reply->serial);

	if (!o)
		return;
	if (!o->added)
		added_note(r, o, reply);
	if (!reply->rc) {
		o->added = true;
	} else if (o->added) { /* it was recorded by one that was lost */
		log_warn("process %d is not recorded any more: %s", o->tgid, reply->error.msg);
		opened_end(r, o, &(struct opened_loss){.time_ns = now_ns()});
	} else {
		opened_remove(&r->opened, o);
	}
}

static void on_file(struct recorder *r, const struct reply *reply)
{
	struct opened *o = opened_find(&r->opened, reply->serial);

	if (!o)
		return;
	file_note(r, o, reply);
	opened_drop(&r->opened, o);
}

static void on_reply(struct recorder *r, const struct reply *reply)
{
	switch (reply->kind) {
	case REPLY_ADDED:
		on_added(r, reply);
		break;
	case REPLY_READY:
		r->ready++;
		if (reply->rc && !r->error.rc)
			r->error = reply->error;
		break;
	case REPLY_FILE:
		on_file(r, reply);
		break;
	case REPLY_FAILED:
		if (!r->error.rc)
			r->error = reply->error;
		break;
	case REPLY_DONE:
		r->done = true;
		break;
	}
}

static void replies_take(struct recorder *r)
{
	struct reply reply;
	int rc = 1;

	while (!r->line->gone && (rc = reply_take(r->line->replies.ours, &reply)) > 0)
		on_reply(r, &reply);
	r->line->gone |= rc < 0;
}

/* Waits for one, or for naming to be gone, for so long at most. */
static void reply_await(struct recorder *r, int ms)
{
	struct pollfd p = {.fd = r->line->replies.ours, .events = POLLIN};

	poll(&p, 1, ms);
	replies_take(r);
}

static int gone_error(struct error *e)
{
	error_set(e, -ECHILD, EXIT_INTERNAL, "the process that names was lost, and %d in its place",
		  SPARES);
	return error_hint(e, "look into the kernel's log (dmesg) for why");
}

/* ---- life ---- */

static struct namer_config namer_config(const struct recorder *r)
{
	return (struct namer_config){
		.target = r->cfg,
		.queue = r->line->queue,
		.board = r->line->board,
		.replies = r->line->replies.theirs,
		.gifts = r->line->gifts.theirs,
	};
}

/* In the process of its own: all that naming says goes by messages. */
static void name(struct recorder *r, struct port *port)
{
	struct namer_config cfg = namer_config(r);
	struct reply failed = {.kind = REPLY_FAILED};
	struct namer *n;

	port_config(port, &cfg.target);
	cfg.unwinder = port_unwinder(port);
	ksyms_programs_by(cfg.unwinder->programs, cfg.unwinder->ctx);
	beats_to(&cfg.board->beats);
	failed.rc = namer_new(&n, &cfg, &failed.error);
	if (failed.rc)
		reply_send(cfg.replies, &failed);
	else
		namer_main(n);
}

/* It gives up its rights at once, and has something to do when its turn comes. */
static void cell_main(void *arg)
{
	struct recorder *r = arg;
	struct port *port = port_new(r->line->asks.theirs);
	struct reply failed = {.kind = REPLY_FAILED};

	if (!port)
		return;
	failed.rc = confine_self();
	if (!line_await(r->line))
		return;
	prctl(PR_SET_NAME, "gnomon-namer");
	if (!failed.rc) {
		name(r, port);
		return;
	}
	error_set(&failed.error, failed.rc, EXIT_KERNEL,
		  "the process that names cannot give up its rights: %s", strerror(-failed.rc));
	reply_send(r->line->replies.theirs, &failed);
}

/* Each has its line as the one in use. */
static int cells_begin(struct recorder *r)
{
	int keep[LINE_KEEP] = {-1, r->cfg.finished.fd}, rc = 0;

	if (r->cfg.jvm == RESOLVE_AUTO || r->cfg.jvm == RESOLVE_AGENT)
		rc = attacher_start();
	keep[0] = attacher_descriptor();
	for (size_t i = 0; i < r->nlines && !rc; i++) {
		r->line = &r->lines[i];
		rc = line_fork(r->line, cell_main, r, keep, r->lines, r->nlines);
	}
	r->line = r->lines;
	if (!rc)
		line_go(r->line, now_ns());
	return rc;
}

static int lines_open(struct recorder *r)
{
	size_t bytes = r->cfg.queue_bytes ? r->cfg.queue_bytes : QUEUE_BYTES;
	size_t want = r->process ? 1 + SPARES : 1;
	int rc = 0;

	r->line = r->lines;
	while (!rc && r->nlines < want)
		rc = line_open(&r->lines[r->nlines++], bytes);
	return rc;
}

int recorder_open(struct recorder **out, const struct target_config *cfg, bool process,
		  struct error *e)
{
	struct recorder *r = calloc(1, sizeof(*r));
	struct namer_config nc;
	int rc;

	if (!r)
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	r->cfg = *cfg;
	r->process = process;
	rc = lines_open(r);
	if (!rc && process)
		rc = cells_begin(r);
	if (rc)
		error_set(e, rc, EXIT_INTERNAL, "cannot set up naming: %s", strerror(-rc));
	nc = namer_config(r);
	if (!rc && !process)
		rc = namer_new(&r->namer, &nc, e);
	if (rc) {
		recorder_close(r, false);
		return rc;
	}
	*out = r;
	return 0;
}

/* ---- targets ---- */

/* Hands a target and its file to naming. 0, or -errno, as when there is no room for it. */
static int target_push(struct recorder *r, const struct opened *o)
{
	struct rec_add rec = {
		.h = {.type = REC_ADD,
		      .size = sizeof(rec),
		      .tgid = (__u32)o->tgid,
		      .time = now_ns()},
		.serial = o->serial,
		.resumed = o->resumed,
		.untried = o->untried,
		.start_ns = o->resumed ? o->start_ns : 0,
	};
	int rc;

	if (snprintf(rec.path, sizeof(rec.path), "%s", o->path) >= (int)sizeof(rec.path))
		return -ENAMETOOLONG;
	rc = o->fd < 0 ? 0 : gift_send(r->line->gifts.ours, o->serial, o->fd);
	return rc ? rc : queue_push(r->line->queue, &rec.h) ? 0 : -EAGAIN;
}

static int opening(struct recorder *r, pid_t tgid, const char *path, bool overwrite,
		   struct opened **out, struct error *e)
{
	return opened_new(&r->opened, tgid, path, overwrite, r->cfg.form.segments, out, e);
}

/* ---- one that is lost ---- */

static int tables_begin(struct recorder *r)
{
	struct gn_rec rec = {.type = REC_TABLES, .size = sizeof(rec), .time = now_ns()};
	int rc = clerk_start(&r->clerk, r->line->asks.ours, r->unwinder, &r->duties);

	return rc ? rc : queue_push(r->line->queue, &rec) ? 0 : -EAGAIN;
}

static int start_push(struct recorder *r)
{
	struct gn_rec rec = {.type = REC_START, .size = sizeof(rec), .time = r->start_ns};

	return queue_push(r->line->queue, &rec) ? 0 : -EAGAIN;
}

/* Hands over what waits for it, as far as there is room. */
static void opened_feed(struct recorder *r)
{
	bool any = false;

	for (struct opened *o = r->opened.first; o; o = o->next) {
		if (!o->waits)
			continue;
		if (target_push(r, o))
			break;
		o->waits = false;
		any = true;
		if (o->choice.h.size)
			queue_push(r->line->queue, &o->choice.h);
		if (o->ending)
			recorder_end(r, o->tgid);
	}
	if (any)
		queue_wake(r->line->queue);
}

/* Who was looked at when naming was lost; twice, or while it hung: nobody looks there again. */
static void opened_blame(struct opened *o, bool hung)
{
	o->blamed++;
	o->untried |= hung || o->blamed > 1;
	log_warn("process %d was being looked at then%s", o->tgid,
		 o->untried ? ": from now on its stacks have addresses for names" : "");
}

/*
 * The losses that the one before was told and had not taken: those of the queue, and of the kernel
 * side while it hung. Of which threads they were is not known any more. (What it had taken and not
 * yet written, of less than a second, is not told again.)
 */
static void losses_untaken(const struct recorder *r, uint64_t untaken[LOSS_MAX])
{
	for (int i = 0; i < LOSS_MAX; i++) {
		uint64_t taken = r->line->board->losses_taken[i];

		untaken[i] = r->losses_told[i] > taken ? r->losses_told[i] - taken : 0;
	}
}

static void losses_tell_again(struct recorder *r, const uint64_t untaken[LOSS_MAX])
{
	for (unsigned int i = 0; i < LOSS_MAX; i++) {
		if (untaken[i])
			recorder_lost(r, 0, i, untaken[i]);
	}
}

static void loss_tell(struct recorder *r, const struct opened_loss *lost)
{
	if (lost->cpu)
		recorder_lost(r, 0, LOSS_NAMER_CPU, lost->cpu);
	if (lost->wall)
		recorder_lost(r, 0, LOSS_NAMER_WALL, lost->wall);
}

/* What it had counted is what is in its files. The next one counts their bytes and threads, too. */
static void totals_keep(struct recorder *r, bool goes_on)
{
	const struct board *b = r->line->board;
	struct totals t = {0};

	board_totals_get(b, &t);
	t.cpu_samples = least(t.cpu_samples, b->cpu_settled);
	t.wall_samples = least(t.wall_samples, b->wall_settled);
	if (goes_on)
		t.threads = t.file_bytes = 0;
	totals_add(&r->before, &t);
	r->totals = r->before;
	r->kept = true;
}

/* What the one before was told so far. */
static int told_again(struct recorder *r)
{
	int rc = 0;

	for (size_t i = 0; i < r->settings.n; i++)
		recorder_push(r, &r->settings.v[i].h);
	opened_feed(r);
	if (r->tables)
		rc = tables_begin(r);
	if (!rc && r->started)
		rc = start_push(r);
	/* it has none of the stacks that the kernel side has sent */
	if (r->started && r->cfg.on_lost)
		r->cfg.on_lost(r->cfg.ctx);
	return rc;
}

static void next_go(struct recorder *r, const struct line *lost, const struct opened_loss *missing)
{
	uint64_t untaken[LOSS_MAX];
	int rc;

	losses_untaken(r, untaken);
	memset(r->losses_told, 0, sizeof(r->losses_told));
	r->line++;
	r->kept = false;
	r->line->board->stop_ns = lost->board->stop_ns;
	r->cpu_pushed = r->wall_pushed = 0;
	line_go(r->line, now_ns());
	rc = told_again(r);
	if (rc && !r->error.rc)
		error_set(&r->error, rc, EXIT_INTERNAL, "cannot start a thread: %s", strerror(-rc));
	loss_tell(r, missing);
	losses_tell_again(r, untaken);
	queue_wake(r->line->queue);
}

/* Kills what there is of the one in use, and has the next one take over. */
static void line_replace(struct recorder *r, bool hung)
{
	struct line *lost = r->line;
	struct opened *at = opened_of(&r->opened, lost->board->at_work);
	struct opened_loss missing;

	line_kill(lost);
	clerk_stop(r->clerk);
	r->clerk = NULL;
	log_warn("the process that names %s: %s", hung ? "did not answer for 10 s" : "has ended",
		 r->line + 1 < r->lines + r->nlines
			 ? "another one takes over; what it had in memory is lost"
			 : "there is none to take over");
	if (at)
		opened_blame(at, hung);
	missing = loss_of(r);
	totals_keep(r, r->line + 1 < r->lines + r->nlines);
	for (struct opened *o = r->opened.first; o; o = o->next) {
		o->resumed++;
		o->waits = true;
	}
	if (r->line + 1 < r->lines + r->nlines)
		next_go(r, lost, &missing);
	else if (!r->error.rc)
		gone_error(&r->error);
}

/* To be called all the time: naming is a process that may be lost. */
static void line_watch(struct recorder *r)
{
	uint64_t now = now_ns();

	replies_take(r);
	if (!r->process || r->ended || r->error.rc)
		return;
	if (now - r->looked_ns >= PATIENCE_LOOK_NS && !r->line->gone) {
		r->looked_ns = now;
		line_look(r->line, now);
	}
	if (r->line->gone)
		line_replace(r, false);
	else if (r->line->patience.quiet_ns >= PATIENCE_QUIET_NS)
		line_replace(r, true);
	else
		opened_feed(r);
}

/* One that is not waited for is not asked to finish anything either. */
static void interrupted_take(struct recorder *r)
{
	if (r->error.rc || !r->cfg.interrupted || !r->cfg.interrupted(r->cfg.ctx))
		return;
	error_set(&r->error, -EINTR, EXIT_INTERNAL, "interrupted before the recording began");
	line_kill(r->line);
}

/* What is asked at the start is awaited, when nothing is drained yet. */
static void await(struct recorder *r)
{
	reply_await(r, AWAIT_MS);
	line_watch(r);
	interrupted_take(r);
}

static int ready_await(struct recorder *r, unsigned int ready, struct error *e)
{
	queue_wake(r->line->queue);
	while (r->ready == ready && !r->error.rc)
		await(r);
	if (r->error.rc && e)
		*e = r->error;
	return r->error.rc;
}

/* ---- targets that come ---- */

static int target_await(struct recorder *r, struct opened *o, struct error *e)
{
	struct recorder_added a = {0};
	int rc = target_push(r, o);

	if (rc == -ENAMETOOLONG) {
		opened_remove(&r->opened, o);
		return error_set(e, rc, EXIT_INTERNAL, "cannot hand over a file: %s",
				 strerror(-rc));
	}
	o->waits = rc != 0; /* for room, or for another that takes over */
	queue_wake(r->line->queue);
	while (!r->nadded && !r->error.rc)
		await(r);
	if (!recorder_added(r, &a)) {
		opened_remove(&r->opened, o);
		if (e)
			*e = r->error;
		return r->error.rc;
	}
	if (a.rc && e)
		*e = a.error;
	return a.rc;
}

int recorder_target(struct recorder *r, pid_t tgid, const char *path, bool overwrite,
		    struct error *e)
{
	struct opened *o;
	int rc = opening(r, tgid, path, overwrite, &o, e);
	struct target_file f = {.path = path, .fd = -1};

	if (rc)
		return rc;
	if (r->process)
		return target_await(r, o, e);
	if (o->fd >= 0)
		f.fd = dup(o->fd);
	rc = f.fd < 0 && o->fd >= 0 ? error_set(e, -errno, EXIT_INTERNAL,
						"cannot hand over a file: %s", strerror(errno))
				    : namer_target(r->namer, tgid, o->serial, &f, e);
	if (rc)
		opened_remove(&r->opened, o);
	return rc;
}

int recorder_add(struct recorder *r, pid_t tgid, const char *path)
{
	struct error why = {0};
	struct opened *o;
	int rc = opening(r, tgid, path, false, &o, &why);

	if (rc)
		return rc;
	o->start_ns = now_ns();
	rc = target_push(r, o);
	if (rc)
		opened_remove(&r->opened, o);
	return rc;
}

bool recorder_added(struct recorder *r, struct recorder_added *out)
{
	replies_take(r);
	if (!r->nadded)
		return false;
	*out = r->added[0];
	memmove(r->added, r->added + 1, --r->nadded * sizeof(*r->added));
	return true;
}

int recorder_end(struct recorder *r, pid_t tgid)
{
	struct gn_rec rec = {
		.type = REC_END, .size = sizeof(rec), .tgid = (__u32)tgid, .time = now_ns()};
	struct opened *o = opened_of(&r->opened, tgid);

	if (o)
		o->ending = true;
	return (o && o->waits) || queue_push(r->line->queue, &rec) ? 0 : -EAGAIN;
}

/* ---- the beginning ---- */

int recorder_tables(struct recorder *r, const struct unwinder *u,
		    bool (*is_recorded)(void *whose, pid_t tgid), void *whose, struct error *e)
{
	unsigned int ready = r->ready;
	int rc;

	if (!r->process)
		return namer_tables(r->namer, u, e);
	r->duties = (struct clerk_duties){
		.on_epoch = r->cfg.on_epoch,
		.on_tables = r->cfg.on_tables,
		.on_chunk_end = r->cfg.on_chunk_end,
		.wants_thread = r->cfg.wants_thread,
		.ctx = r->cfg.ctx,
		.is_recorded = is_recorded,
		.whose = whose,
	};
	r->unwinder = u;
	r->tables = true;
	rc = tables_begin(r);
	if (rc)
		return error_set(e, rc, EXIT_INTERNAL, "cannot start a thread: %s", strerror(-rc));
	return ready_await(r, ready, e);
}

static void *thread_main(void *arg)
{
	struct recorder *r = arg;

	namer_main(r->namer);
	return NULL;
}

int recorder_start(struct recorder *r, uint64_t now, struct error *e)
{
	unsigned int ready = r->ready;
	int rc;

	r->start_ns = now;
	r->started = true;
	for (struct opened *o = r->opened.first; o; o = o->next)
		o->start_ns = now;
	if (r->process) {
		rc = start_push(r);
		return rc ? error_set(e, rc, EXIT_INTERNAL, "cannot begin: %s", strerror(-rc))
			  : ready_await(r, ready, e);
	}
	namer_start(r->namer, now);
	rc = pthread_create(&r->thread, NULL, thread_main, r);
	if (!rc)
		return 0;
	r->started = false;
	return error_set(e, -rc, EXIT_INTERNAL, "cannot start a thread: %s", strerror(rc));
}

/* ---- records ---- */

static void pushed_count(struct recorder *r, const struct gn_sample *s)
{
	if (s->clock == GN_CLOCK_WALL)
		r->wall_pushed += s->n;
	else
		r->cpu_pushed += s->n;
}

bool recorder_push(struct recorder *r, const struct gn_rec *rec)
{
	unsigned int reason;
	uint64_t count;

	if (queue_push(r->line->queue, rec)) {
		if (rec->type == GN_REC_SAMPLE)
			pushed_count(r, (const void *)rec);
		return true;
	}
	reason = loss_of_record(rec, &count);
	r->losses_told[reason] += count;
	board_lose(r->line->board, (pid_t)rec->tid, reason, count);
	return false;
}

void recorder_lost(struct recorder *r, pid_t tid, unsigned int reason, uint64_t count)
{
	struct rec_loss rec = {
		.h = {.type = REC_LOSS, .size = sizeof(rec), .tid = (__u32)tid, .time = now_ns()},
		.count = count,
		.reason = reason,
	};

	r->losses_told[reason] += count;
	if (!queue_push(r->line->queue, &rec.h))
		board_lose(r->line->board, tid, reason, count);
}

void recorder_setting(struct recorder *r, const char *name, const char *value)
{
	struct rec_setting rec = {
		.h = {.type = REC_SETTING, .size = sizeof(rec), .time = now_ns()},
	};

	snprintf(rec.name, sizeof(rec.name), "%s", name);
	snprintf(rec.value, sizeof(rec.value), "%s", value);
	latest_keep(&r->settings, &rec);
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

void recorder_choice(struct recorder *r, pid_t tgid, const struct recorder_choice *choice)
{
	struct rec_choice rec = {
		.h = {.type = REC_CHOICE,
		      .size = sizeof(rec),
		      .tgid = (__u32)tgid,
		      .time = now_ns()},
		.choice = *choice,
	};
	struct opened *o = opened_of(&r->opened, tgid);

	if (o)
		o->choice = rec;
	recorder_push(r, &rec.h);
}

void recorder_rate(struct recorder *r, pid_t tgid, const struct jfr_rate_change *rate)
{
	struct rec_rate rec = {
		.h = {.type = REC_RATE, .size = sizeof(rec), .tgid = (__u32)tgid, .time = now_ns()},
		.cpu_ns = rate->cpu_ns,
		.wall_ns = rate->wall_ns,
		.threads = rate->threads,
	};

	snprintf(rec.by, sizeof(rec.by), "%s", rate->by);
	snprintf(rec.reason, sizeof(rec.reason), "%s", rate->reason);
	recorder_push(r, &rec.h);
}

void recorder_cpus(struct recorder *r, const struct neighbours *cpus)
{
	for (const struct opened *o = r->opened.first; o; o = o->next) {
		struct rec_cpus rec = {
			.h = {.type = REC_CPUS,
			      .size = sizeof(rec),
			      .tgid = (__u32)o->tgid,
			      .time = now_ns()},
		};

		neighbours_sums(cpus, o->tgid, &rec.cpus.sums);
		rec.cpus.n =
			(uint32_t)neighbours_top(cpus, o->tgid, rec.cpus.top, TARGET_NEIGHBOURS);
		recorder_push(r, &rec.h);
	}
}

void recorder_drained(struct recorder *r, uint64_t ns)
{
	r->line->board->drained_ns = ns;
}

void recorder_wake(struct recorder *r)
{
	queue_wake(r->line->queue);
}

void recorder_stop_at(struct recorder *r, uint64_t ns)
{
	r->line->board->stop_ns = ns;
}

/* ---- how it goes ---- */

bool recorder_hurries(const struct recorder *r, uint64_t now)
{
	return now < r->line->board->hurry_ns;
}

void recorder_targets(struct recorder *r, recorder_target_fn fn, void *ctx)
{
	if (!r->kept)
		board_targets(r->line->board, fn, ctx);
}

void recorder_totals(struct recorder *r, struct totals *out)
{
	struct totals t;

	if (!r->kept && board_totals_get(r->line->board, &t)) {
		r->totals = r->before;
		totals_add(&r->totals, &t);
	}
	*out = r->totals;
}

int recorder_error(struct recorder *r, struct error *e)
{
	line_watch(r);
	if (r->error.rc && e)
		*e = r->error;
	return r->error.rc;
}

const struct recorded_file *recorder_files(const struct recorder *r, size_t *n)
{
	*n = r->nfiles;
	return r->files;
}

uint64_t recorder_cpu_ns(const struct recorder *r)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < r->nlines && r->process; i++)
		sum += r->lines[i].cell ? cell_cpu_ns(r->lines[i].cell) : 0;
	return sum;
}

uint64_t recorder_memory(const struct recorder *r)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < r->nlines && r->process; i++)
		sum += r->lines[i].cell ? cell_memory(r->lines[i].cell) : 0;
	return sum;
}

/* ---- the end ---- */

static enum board_haste haste_of(const struct patience *p)
{
	if (p->spent_ns >= PATIENCE_COUNT_NS)
		return BOARD_COUNT;
	return p->spent_ns >= PATIENCE_ADDRESSES_NS ? BOARD_ADDRESSES : BOARD_NAMES;
}

/* False: there is no time left for it, or who waits has had enough. */
static bool end_look(struct recorder *r, recorder_enough_fn enough, void *ctx)
{
	struct line *l = r->line;

	line_look(l, now_ns());
	l->board->haste = haste_of(&l->patience);
	if (enough && enough(ctx)) {
		log_warn("the process that names is not waited for any more");
		return false;
	}
	return l->patience.spent_ns < PATIENCE_END_NS;
}

static void opened_end_all(struct recorder *r)
{
	struct opened_loss lost = loss_of(r);
	struct opened *o = r->opened.first;
	uint64_t untaken[LOSS_MAX];

	if (!o)
		return;
	log_warn("the process that names did not come to an end: what it had in memory is lost");
	if (!r->kept)
		totals_keep(r, false);
	losses_untaken(r, untaken);
	for (int i = 0; i < LOSS_MAX; i++)
		r->before.lost[i] += untaken[i];
	r->before.lost[LOSS_NAMER_CPU] += lost.cpu;
	r->before.lost[LOSS_NAMER_WALL] += lost.wall;
	r->totals = r->before;
	while ((o = r->opened.first))
		opened_end(r, o, &lost);
}

/*
 * Naming has finished all files, or others do. What it has left to do then is of no file; those
 * that wait for their turn are not needed any more.
 */
static void cell_end(struct recorder *r, recorder_enough_fn enough, void *ctx)
{
	uint64_t now = now_ns(), stop = r->line->board->stop_ns, since = now - stop;
	struct line *l = r->line;

	line_end(l, now, stop && now > stop ? least(since, OWN_NS) : 0);
	while (!r->done && !l->gone && end_look(r, enough, ctx))
		reply_await(r, END_LOOK_MS);
	while (r->done && !cell_wait(l->cell, END_LOOK_MS) && end_look(r, enough, ctx))
		;
	line_kill(l);
	if (!r->done && !l->board->discard && r->started)
		opened_end_all(r);
}

static void thread_end(struct recorder *r, recorder_enough_fn enough, void *ctx)
{
	while (!r->done && !r->line->gone) {
		reply_await(r, AWAIT_MS);
		if (enough && enough(ctx)) {
			log_warn(
				"naming is not waited for any more: what it had in memory is lost");
			_exit(EXIT_INTERNAL);
		}
	}
	pthread_join(r->thread, NULL);
}

/* What naming said until its end is taken. */
static void end_await(struct recorder *r, recorder_enough_fn enough, void *ctx)
{
	if (r->ended)
		return;
	r->ended = true;
	queue_end(r->line->queue);
	if (r->process && r->line->cell)
		cell_end(r, enough, ctx);
	else if (!r->process && r->started)
		thread_end(r, enough, ctx);
}

int recorder_finish(struct recorder *r, recorder_enough_fn enough, void *ctx, struct error *e)
{
	end_await(r, enough, ctx);
	return recorder_error(r, e);
}

void recorder_close(struct recorder *r, bool keep)
{
	if (!r)
		return;
	if (r->line->board)
		r->line->board->discard = !keep;
	if (r->line->board && r->line->queue)
		end_await(r, NULL, NULL);
	namer_free(r->namer, keep);
	clerk_stop(r->clerk);
	for (size_t i = 0; i < r->nlines; i++)
		line_close(&r->lines[i]);
	attacher_stop();
	while (r->opened.first && !keep)
		opened_remove(&r->opened, r->opened.first);
	while (r->opened.first)
		opened_drop(&r->opened, r->opened.first);
	for (size_t i = 0; i < r->nfiles; i++)
		file_free(&r->files[i]);
	free(r->files);
	free(r->added);
	free(r);
}
