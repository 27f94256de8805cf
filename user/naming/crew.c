/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/crew.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "naming/board.h"
#include "naming/cell.h"
#include "naming/filer.h"
#include "naming/latest.h"
#include "naming/line.h"
#include "naming/namer.h"
#include "naming/opened.h"
#include "naming/queue.h"
#include "naming/records.h"
#include "naming/reply.h"
#include "naming/seats.h"
#include "target/neighbours.h"
#include "wire/clerk.h"
#include "wire/unwinder.h"

#define QUEUE_BYTES (32u << 20)
#define SPARES	    JFRW_RESUMED_MAX /* processes that may take over */
#define AWAIT_MS    100		     /* what is asked at the start is looked after so often */
#define TAKE_MOST   256		     /* replies, at a time */
#define END_LOOK_MS 10		     /* and likewise what ends */
#define OWN_NS	    500000000ull     /* naming has so much of its time at the end, in any case */
#define FORGET_NS   3600000000000ull /* of files that go on and on, a loss counts for so long */
#define REST_NS	    30000000000ull   /* and where none is left, so long there is none */
#define REST_MOST   20		     /* times as long, where each was twice the one before */

struct crew {
	struct crew_shared *shared;
	uint32_t number;
	struct line lines[1 + SPARES]; /* those that were lost, and the one in use */
	struct line *line;	       /* the latter */
	size_t nlines;
	uint64_t lost_ns[1 + SPARES]; /* when they were */
	uint64_t forgotten_cpu_ns;    /* CPU time of those that do not count any more */
	bool process;
	struct clerk *clerk; /* with processes and tables */
	struct filer *filer; /* with processes and segments */
	struct namer *namer; /* without processes */
	pthread_t thread;
	struct opened_list opened;
	bool tables, started; /* were asked for */
	/* CPU samples and wall ticks that the one in use was handed */
	uint64_t cpu_pushed, wall_pushed;
	uint64_t looked_ns;
	unsigned int ready, asked;	/* how often naming said so; how often it was to */
	bool ended, awaited, done;	/* it was told to end, and waited for; all is finished */
	bool kept;			/* `before` has what the one in use counted: it is lost */
	uint64_t rests_until_ns;	/* and until then nobody takes over; 0: somebody has */
	unsigned int rests;		/* how often it was so, one soon after the other */
	struct totals before, totals;	/* of those that were lost; with the one in use */
	uint64_t losses_told[LOSS_MAX]; /* to the one in use */
	struct error error;
	struct recorder_added *added;
	size_t nadded;
};

/* ---- files ---- */

/* Of one that goes on and on nobody asks for the files of all that ever ended. */
static void file_note(struct crew *c, const struct opened *o, const struct reply *reply)
{
	struct recorded_list *l = &c->shared->files;
	struct recorded_file *v;

	if (c->shared->target.form.segments)
		return;
	v = realloc(l->v, (l->n + 1) * sizeof(*v));
	if (!v)
		return;
	l->v = v;
	v += l->n;
	*v = (struct recorded_file){
		.tgid = o->tgid,
		.path = strdup(o->path),
		.names = strdup(reply->names),
		.totals = reply->totals,
	};
	if (v->path && v->names) {
		l->n++;
		return;
	}
	free(v->path);
	free(v->names);
}

/*
 * Naming is done with it, makes no more files of it, and is not to look into whoever has its number
 * next. Where it is recorded anew already, into the same directory, all that goes on.
 */
static void target_forget(struct crew *c, struct opened *o,
			  void (*end)(struct opened_list *, struct opened *))
{
	char *path = strdup(o->path);
	pid_t tgid = o->tgid;

	end(&c->opened, o);
	if (!opened_of(&c->opened, tgid)) {
		if (path)
			filer_deny(c->filer, path);
		line_take(c->line, tgid);
	}
	free(path);
}

static void target_drop(struct crew *c, struct opened *o)
{
	target_forget(c, o, opened_drop);
}

static void target_remove(struct crew *c, struct opened *o)
{
	target_forget(c, o, opened_remove);
}

/* ---- what naming says ---- */

static void added_note(struct crew *c, const struct opened *o, const struct reply *reply)
{
	struct recorder_added *v = realloc(c->added, (c->nadded + 1) * sizeof(*v));

	if (!v)
		return;
	c->added = v;
	v[c->nadded++] = (struct recorder_added){o->tgid, reply->rc, reply->error};
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* What was lost with the one in use. */
static struct opened_loss loss_of(const struct crew *c)
{
	const struct board *b = c->line->board;
	uint64_t cpu = b->cpu_settled, wall = b->wall_settled, now = now_ns(), stop = b->stop_ns;

	return (struct opened_loss){
		.cpu = c->cpu_pushed > cpu ? c->cpu_pushed - cpu : 0,
		.wall = c->wall_pushed > wall ? c->wall_pushed - wall : 0,
		.time_ns = stop ? least(stop, now) : now,
	};
}

/* A file that nobody goes on with. */
static void opened_end(struct crew *c, struct opened *o, const struct opened_loss *lost)
{
	struct reply none = {.names = "not known any more: the process that names was lost"};
	struct error e = {0};

	if (opened_close(o, &c->shared->target.form, lost, &e))
		log_warn("the end of '%s' is missing: %s", o->path, e.msg);
	file_note(c, o, &none);
	target_drop(c, o);
}

static void on_added(struct crew *c, const struct reply *reply)
{
	struct opened *o = opened_find(&c->opened, reply->serial);

	if (!o)
		return;
	if (!o->added)
		added_note(c, o, reply);
	if (!reply->rc) {
		o->added = true;
	} else if (o->added) { /* it was recorded by one that was lost */
		log_warn("process %d is not recorded any more: %s", o->tgid, reply->error.msg);
		opened_end(c, o, &(struct opened_loss){.time_ns = now_ns()});
	} else {
		target_remove(c, o);
	}
}

static void on_file(struct crew *c, const struct reply *reply)
{
	struct opened *o = opened_find(&c->opened, reply->serial);

	if (!o)
		return;
	file_note(c, o, reply);
	target_drop(c, o);
}

static void on_reply(struct crew *c, const struct reply *reply)
{
	switch (reply->kind) {
	case REPLY_ADDED:
		on_added(c, reply);
		break;
	case REPLY_READY:
		c->ready++;
		if (reply->rc && !c->error.rc)
			c->error = reply->error;
		break;
	case REPLY_FILE:
		on_file(c, reply);
		break;
	case REPLY_FAILED:
		if (!c->error.rc)
			c->error = reply->error;
		break;
	case REPLY_DONE:
		c->done = true;
		break;
	}
}

/* The rest is taken the next time: one that replies without end does not hold up the session. */
static void replies_take(struct crew *c)
{
	struct reply reply;
	int rc = 1;

	for (int i = 0; i < TAKE_MOST && rc > 0 && !c->line->gone; i++) {
		rc = reply_take(c->line->replies.ours, &reply);
		if (rc > 0)
			on_reply(c, &reply);
	}
	c->line->gone |= rc < 0;
}

/* Waits for one, or for naming to be gone, for so long at most. */
static void reply_await(struct crew *c, int ms)
{
	struct pollfd p = {.fd = c->line->replies.ours, .events = POLLIN};

	poll(&p, 1, ms);
	replies_take(c);
}

static int gone_error(struct error *e)
{
	error_set(e, -ECHILD, EXIT_INTERNAL, "the process that names was lost, and %d in its place",
		  SPARES);
	return error_hint(e, "look into the kernel's log (dmesg) for why");
}

/* ---- life ---- */

static struct namer_config namer_config(const struct crew *c)
{
	return (struct namer_config){
		.target = c->shared->target,
		.queue = c->line->queue,
		.board = c->line->board,
		.replies = c->line->replies.theirs,
		.gifts = c->line->gifts.theirs,
	};
}

size_t crew_queue_bytes(const struct crew_shared *s)
{
	return s->target.queue_bytes ? s->target.queue_bytes : QUEUE_BYTES;
}

/* The process, and who makes files for it. 0 or -errno; line_close() in any case. */
static int line_make(struct crew *c, struct line *l)
{
	int rc = line_begin(l, crew_queue_bytes(c->shared), c->shared->mould, now_ns());

	c->shared->spareless |= rc == -EPIPE || rc == -ECHILD;
	if (!rc && (c->shared->target.form.segments || c->shared->target.finished.fd))
		rc = filer_start(&c->filer, l->files.ours, &c->shared->target.finished);
	return rc;
}

static int process_open(struct crew *c, struct error *e)
{
	int rc = line_make(c, c->line);

	if (rc)
		error_set(e, rc, EXIT_KERNEL, "cannot set up a process that names: %s",
			  strerror(-rc));
	return rc;
}

static int thread_open(struct crew *c, struct error *e)
{
	int rc = line_open(c->line, crew_queue_bytes(c->shared));
	struct namer_config nc = namer_config(c);

	if (rc)
		return error_set(e, rc, EXIT_INTERNAL, "cannot set up naming: %s", strerror(-rc));
	return namer_new(&c->namer, &nc, e);
}

static int told_again(struct crew *c);

int crew_new(struct crew **out, struct crew_shared *shared, uint32_t number, struct error *e)
{
	struct crew *c = calloc(1, sizeof(*c));
	int rc;

	if (!c)
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	c->shared = shared;
	c->number = number;
	c->process = shared->mould != NULL;
	c->line = c->lines;
	c->nlines = 1;
	rc = (c->process ? process_open : thread_open)(c, e);
	if (!rc && c->process) {
		c->tables = shared->unwinder != NULL;
		c->started = shared->start_ns != 0;
		c->line->board->stop_ns = shared->stop_ns;
		rc = told_again(c);
		if (rc)
			error_set(e, rc, EXIT_INTERNAL, "cannot set up naming: %s", strerror(-rc));
	}
	if (rc) {
		crew_close(c, false);
		return rc;
	}
	*out = c;
	return 0;
}

uint32_t crew_number(const struct crew *c)
{
	return c->number;
}

bool crew_is_idle(const struct crew *c)
{
	return !c->opened.first;
}

/* ---- targets ---- */

/* Hands a target and its file to naming. 0, or -errno, as when there is no room for it. */
static int target_push(struct crew *c, const struct opened *o)
{
	struct rec_add rec = {
		.h = {.type = REC_ADD,
		      .size = sizeof(rec),
		      .tgid = (__u32)o->tgid,
		      .time = now_ns()},
		.serial = o->serial,
		.resumed = c->shared->target.form.segments ? o->resumed != 0 : o->resumed,
		.untried = o->untried,
		.start_ns = o->resumed ? o->start_ns : 0,
	};
	int rc;

	if (snprintf(rec.path, sizeof(rec.path), "%s", o->path) >= (int)sizeof(rec.path))
		return -ENAMETOOLONG;
	rc = line_give(c->line, o->tgid, o->uid);
	if (!rc && c->filer)
		rc = filer_allow(c->filer, o->path);
	if (rc)
		return rc;
	rc = o->fd < 0 ? 0 : gift_send(c->line->gifts.ours, o->serial, o->fd);
	return rc ? rc : queue_push(c->line->queue, &rec.h) ? 0 : -EAGAIN;
}

static int opening(struct crew *c, pid_t tgid, uint32_t uid, const char *path, bool overwrite,
		   struct opened **out, struct error *e)
{
	int rc = opened_new(&c->opened, tgid, path, overwrite, c->shared->target.form.segments, out,
			    e);

	if (!rc)
		(*out)->uid = uid;
	return rc;
}

/* ---- one that is lost ---- */

/*
 * A process of its own, that is. From the clerk's thread, as what follows: whatever naming asks for
 * is done for its own targets only.
 */
static bool is_ours(void *whose, pid_t tgid)
{
	const struct crew *c = whose;

	return seats_of(c->shared->seats, tgid) == c->number;
}

static bool is_recorded(void *whose, pid_t tgid)
{
	const struct crew *c = whose;

	return is_ours(whose, tgid) && c->shared->is_recorded(c->shared->whose, tgid);
}

static int tables_begin(struct crew *c)
{
	const struct target_config *t = &c->shared->target;
	const struct clerk_duties duties = {
		.on_epoch = t->on_epoch,
		.on_tables = t->on_tables,
		.on_chunk_end = t->on_chunk_end,
		.wants_thread = t->wants_thread,
		.ctx = t->ctx,
		.is_recorded = is_recorded,
		.is_ours = is_ours,
		.whose = c,
		.desk = c->shared->desk,
		.domain = c->number,
	};
	struct gn_rec rec = {.type = REC_TABLES, .size = sizeof(rec), .time = now_ns()};
	int rc = clerk_start(&c->clerk, c->line->asks.ours, c->shared->unwinder, &duties);

	return rc ? rc : queue_push(c->line->queue, &rec) ? 0 : -EAGAIN;
}

static int start_push(struct crew *c)
{
	struct gn_rec rec = {.type = REC_START, .size = sizeof(rec), .time = c->shared->start_ns};

	return queue_push(c->line->queue, &rec) ? 0 : -EAGAIN;
}

/* Hands over what waits for it, as far as there is room. */
static void opened_feed(struct crew *c)
{
	bool any = false;

	for (struct opened *o = c->opened.first; o; o = o->next) {
		if (!o->waits)
			continue;
		if (target_push(c, o))
			break;
		o->waits = false;
		any = true;
		if (o->choice.h.size)
			queue_push(c->line->queue, &o->choice.h);
		if (o->rate.h.size) {
			o->rate.h.time = now_ns();
			queue_push(c->line->queue, &o->rate.h);
		}
		if (o->ending)
			crew_end(c, o->tgid);
	}
	if (any)
		queue_wake(c->line->queue);
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
static void losses_untaken(const struct crew *c, uint64_t untaken[LOSS_MAX])
{
	for (int i = 0; i < LOSS_MAX; i++) {
		uint64_t taken = c->line->board->losses_taken[i];

		untaken[i] = c->losses_told[i] > taken ? c->losses_told[i] - taken : 0;
	}
}

static void losses_tell_again(struct crew *c, const uint64_t untaken[LOSS_MAX])
{
	for (unsigned int i = 0; i < LOSS_MAX; i++) {
		if (untaken[i])
			crew_lost(c, 0, i, untaken[i]);
	}
}

static void loss_tell(struct crew *c, const struct opened_loss *lost)
{
	if (lost->cpu)
		crew_lost(c, 0, LOSS_NAMER_CPU, lost->cpu);
	if (lost->wall)
		crew_lost(c, 0, LOSS_NAMER_WALL, lost->wall);
}

/* What it had counted is what is in its files. The next one counts their bytes and threads, too. */
static void totals_keep(struct crew *c, bool goes_on)
{
	const struct board *b = c->line->board;
	struct totals t = {0};

	board_totals_get(b, &t);
	t.cpu_samples = least(t.cpu_samples, b->cpu_settled);
	t.wall_samples = least(t.wall_samples, b->wall_settled);
	if (goes_on)
		t.threads = t.file_bytes = 0;
	totals_add(&c->before, &t);
	c->totals = c->before;
	c->kept = true;
}

/* What the one before was told so far. */
static int told_again(struct crew *c)
{
	int rc = 0;

	for (size_t i = 0; i < c->shared->settings->n; i++)
		crew_push(c, &c->shared->settings->v[i].h);
	if (c->shared->watch->orders.number)
		crew_push(c, &c->shared->watch->h);
	opened_feed(c);
	if (c->tables)
		rc = tables_begin(c);
	if (!rc && c->started)
		rc = start_push(c);
	return rc;
}

static bool next_begin(struct crew *c)
{
	struct line *next = c->line + 1;
	int rc;

	if (c->nlines == 1 + SPARES)
		return false;
	rc = line_make(c, next);
	if (rc) {
		log_warn("no other process that names can be made: %s", strerror(-rc));
		line_close(next);
		return false;
	}
	c->nlines++;
	return true;
}

static void next_go(struct crew *c, const struct line *lost, const struct opened_loss *missing)
{
	uint64_t untaken[LOSS_MAX];
	int rc;

	losses_untaken(c, untaken);
	memset(c->losses_told, 0, sizeof(c->losses_told));
	c->line++;
	c->kept = false;
	c->line->board->stop_ns = lost->board->stop_ns;
	c->cpu_pushed = c->wall_pushed = 0;
	rc = told_again(c);
	if (rc && !c->error.rc)
		error_set(&c->error, rc, EXIT_INTERNAL, "cannot start a thread: %s", strerror(-rc));
	/* it has none of the stacks that the kernel side has sent */
	if (c->started && c->shared->target.on_lost)
		c->shared->target.on_lost(c->shared->target.ctx);
	loss_tell(c, missing);
	losses_tell_again(c, untaken);
	queue_wake(c->line->queue);
}

static void oldest_forget(struct crew *c)
{
	size_t left = c->nlines - 1;

	c->forgotten_cpu_ns += c->lines[0].cell ? cell_cpu_ns(c->lines[0].cell) : 0;
	line_close(&c->lines[0]);
	memmove(c->lines, c->lines + 1, left * sizeof(*c->lines));
	memmove(c->lost_ns, c->lost_ns + 1, left * sizeof(*c->lost_ns));
	c->nlines = left;
	c->line--;
}

/*
 * A recording that ends has so many processes that may take over. Of one that goes on and on, whose
 * files are no longer than a chunk, those count that were lost lately.
 */
static void lines_forget(struct crew *c, uint64_t now)
{
	if (!c->shared->target.form.segments || c->nlines < 1 + SPARES ||
	    now - c->lost_ns[0] < FORGET_NS)
		return;
	oldest_forget(c);
	c->rests = 0;
}

/* One that goes on and on does so after a while, longer each time: a fault may pass. */
static bool rest_begin(struct crew *c, uint64_t now)
{
	unsigned int times = 1u << (c->rests < 5 ? c->rests : 5);
	uint64_t rest = REST_NS * (times < REST_MOST ? times : REST_MOST);

	if (!c->shared->target.form.segments || !c->started || c->nlines < 1 + SPARES)
		return false;
	c->rests++;
	c->rests_until_ns = now + rest;
	log_warn("it was the last of %d within an hour: there is another one in %" PRIu64
		 " s, and what comes until then is counted as lost",
		 1 + SPARES, rest / 1000000000u);
	return true;
}

/* Another one takes over all files, if there is one. */
static void line_follow(struct crew *c, bool is_made)
{
	struct opened_loss missing = loss_of(c);
	struct line *lost = c->line;

	totals_keep(c, is_made);
	for (struct opened *o = c->opened.first; o; o = o->next) {
		o->resumed++;
		o->waits = true;
	}
	if (is_made)
		next_go(c, lost, &missing);
	else if (!c->error.rc)
		gone_error(&c->error);
}

static void rest_end(struct crew *c)
{
	c->rests_until_ns = 0;
	oldest_forget(c);
	line_follow(c, next_begin(c));
}

/* Kills what there is of the one in use, and has the next one take over, at once or later. */
static void line_replace(struct crew *c, bool hung)
{
	struct opened *at = opened_of(&c->opened, c->line->board->at_work);
	uint64_t now = now_ns();
	bool goes_on;

	lines_forget(c, now);
	c->lost_ns[c->line - c->lines] = now;
	line_kill(c->line);
	clerk_stop(c->clerk);
	filer_stop(c->filer);
	c->clerk = NULL;
	c->filer = NULL;
	goes_on = next_begin(c);
	log_warn("the process that names %s: %s", hung ? "did not answer for 10 s" : "has ended",
		 goes_on ? "another one takes over; what it had in memory is lost"
			 : "there is none to take over");
	if (at)
		opened_blame(at, hung);
	if (goes_on || !rest_begin(c, now))
		line_follow(c, goes_on);
}

/* To be called all the time: naming is a process that may be lost. */
static void line_watch(struct crew *c)
{
	uint64_t now = now_ns();

	replies_take(c);
	if (!c->process || c->ended || c->error.rc)
		return;
	if (c->rests_until_ns) {
		if (now >= c->rests_until_ns)
			rest_end(c);
		return;
	}
	if (now - c->looked_ns >= PATIENCE_LOOK_NS && !c->line->gone) {
		c->looked_ns = now;
		line_look(c->line, now);
	}
	if (c->line->gone)
		line_replace(c, false);
	else if (c->line->patience.quiet_ns >= PATIENCE_QUIET_NS)
		line_replace(c, true);
	else
		opened_feed(c);
}

/* One that is not waited for is not asked to finish anything either. */
static void interrupted_take(struct crew *c)
{
	if (c->error.rc || !c->shared->target.interrupted ||
	    !c->shared->target.interrupted(c->shared->target.ctx))
		return;
	error_set(&c->error, -EINTR, EXIT_INTERNAL, "interrupted before the recording began");
	line_kill(c->line);
}

/* What is asked at the start is awaited, when nothing is drained yet. */
static void await(struct crew *c)
{
	reply_await(c, AWAIT_MS);
	line_watch(c);
	interrupted_take(c);
}

/* Nothing is to be seen of it, and others wait. */
static bool is_quiet(const struct crew *c, bool alone)
{
	return !alone && c->process && c->line->patience.quiet_ns >= CREW_QUIET_NS;
}

int crew_ready(struct crew *c, bool alone, struct error *e)
{
	if (c->line->queue)
		queue_wake(c->line->queue);
	while (c->ready < c->asked && !c->error.rc && !is_quiet(c, alone))
		await(c);
	if (c->error.rc && e)
		*e = c->error;
	return c->error.rc;
}

/* ---- targets that come ---- */

/* One of which nothing is to be seen tells later what becomes of it: crew_added(). */
static int target_await(struct crew *c, struct opened *o, bool alone, struct error *e)
{
	struct recorder_added a = {0};
	int rc = target_push(c, o);

	if (rc == -ENAMETOOLONG) {
		target_remove(c, o);
		return error_set(e, rc, EXIT_INTERNAL, "cannot hand over a file: %s",
				 strerror(-rc));
	}
	o->waits = rc != 0; /* for room, or for another that takes over */
	queue_wake(c->line->queue);
	while (!c->nadded && !c->error.rc && !is_quiet(c, alone))
		await(c);
	if (!c->nadded && !c->error.rc)
		return 0;
	if (!crew_added(c, &a)) {
		target_remove(c, o);
		if (e)
			*e = c->error;
		return c->error.rc;
	}
	if (a.rc && e)
		*e = a.error;
	return a.rc;
}

int crew_target(struct crew *c, pid_t tgid, uint32_t uid, const char *path, bool overwrite,
		bool alone, struct error *e)
{
	struct opened *o;
	int rc = opening(c, tgid, uid, path, overwrite, &o, e);
	struct target_file f = {.path = path, .fd = -1};

	if (rc)
		return rc;
	if (c->process)
		return target_await(c, o, alone, e);
	if (o->fd >= 0)
		f.fd = dup(o->fd);
	rc = f.fd < 0 && o->fd >= 0 ? error_set(e, -errno, EXIT_INTERNAL,
						"cannot hand over a file: %s", strerror(errno))
				    : namer_target(c->namer, tgid, o->serial, &f, e);
	if (rc)
		target_remove(c, o);
	return rc;
}

int crew_add(struct crew *c, pid_t tgid, uint32_t uid, const char *path)
{
	struct error why = {0};
	struct opened *o;
	int rc = c->error.rc ? -ECHILD : opening(c, tgid, uid, path, false, &o, &why);

	if (rc)
		return rc;
	o->start_ns = now_ns();
	rc = target_push(c, o);
	if (rc)
		target_remove(c, o);
	return rc;
}

bool crew_added(struct crew *c, struct recorder_added *out)
{
	replies_take(c);
	if (!c->nadded)
		return false;
	*out = c->added[0];
	memmove(c->added, c->added + 1, --c->nadded * sizeof(*c->added));
	return true;
}

int crew_end(struct crew *c, pid_t tgid)
{
	struct gn_rec rec = {
		.type = REC_END, .size = sizeof(rec), .tgid = (__u32)tgid, .time = now_ns()};
	struct opened *o = opened_of(&c->opened, tgid);

	if (o)
		o->ending = true;
	/* one that has nobody left has its files closed at the end */
	return c->line->gone || (o && o->waits) || queue_push(c->line->queue, &rec) ? 0 : -EAGAIN;
}

/* ---- the beginning ---- */

int crew_tables(struct crew *c, struct error *e)
{
	int rc;

	if (!c->process)
		return namer_tables(c->namer, c->shared->unwinder, e);
	c->tables = true;
	c->asked++;
	rc = c->line->gone ? 0 : tables_begin(c);
	return rc ? error_set(e, rc, EXIT_INTERNAL, "cannot start a thread: %s", strerror(-rc)) : 0;
}

static void *thread_main(void *arg)
{
	struct crew *c = arg;

	namer_main(c->namer);
	return NULL;
}

int crew_start(struct crew *c, struct error *e)
{
	uint64_t now = c->shared->start_ns;
	int rc;

	c->started = true;
	for (struct opened *o = c->opened.first; o; o = o->next)
		o->start_ns = now;
	if (c->process) {
		c->asked++;
		rc = c->line->gone ? 0 : start_push(c);
		return rc ? error_set(e, rc, EXIT_INTERNAL, "cannot begin: %s", strerror(-rc)) : 0;
	}
	namer_start(c->namer, now);
	rc = pthread_create(&c->thread, NULL, thread_main, c);
	if (!rc)
		return 0;
	c->started = false;
	return error_set(e, -rc, EXIT_INTERNAL, "cannot start a thread: %s", strerror(rc));
}

/* ---- records ---- */

static void pushed_count(struct crew *c, const struct gn_sample *s)
{
	if (s->clock == GN_CLOCK_WALL)
		c->wall_pushed += s->n;
	else
		c->cpu_pushed += s->n;
}

bool crew_push(struct crew *c, const struct gn_rec *rec)
{
	unsigned int reason;
	uint64_t count;

	/* what is handed to one that is gone is lost with it */
	if (c->line->gone || queue_push(c->line->queue, rec)) {
		if (rec->type == GN_REC_SAMPLE)
			pushed_count(c, (const void *)rec);
		return true;
	}
	reason = loss_of_record(rec, &count);
	c->losses_told[reason] += count;
	board_lose(c->line->board, (pid_t)rec->tid, reason, count);
	return false;
}

void crew_lost(struct crew *c, pid_t tid, unsigned int reason, uint64_t count)
{
	struct rec_loss rec = {
		.h = {.type = REC_LOSS, .size = sizeof(rec), .tid = (__u32)tid, .time = now_ns()},
		.count = count,
		.reason = reason,
	};

	c->losses_told[reason] += count;
	if (!queue_push(c->line->queue, &rec.h))
		board_lose(c->line->board, tid, reason, count);
}

void crew_choice(struct crew *c, const struct rec_choice *choice)
{
	struct opened *o = opened_of(&c->opened, (pid_t)choice->h.tgid);

	if (o)
		o->choice = *choice;
	crew_push(c, &choice->h);
}

bool crew_rate(struct crew *c, const struct rec_rate *rate)
{
	struct opened *o = opened_of(&c->opened, (pid_t)rate->h.tgid);

	if (o)
		o->rate = *rate;
	return crew_push(c, &rate->h);
}

void crew_cpus(struct crew *c, const struct neighbours *cpus)
{
	for (const struct opened *o = c->opened.first; o; o = o->next) {
		struct rec_cpus rec = {
			.h = {.type = REC_CPUS,
			      .size = sizeof(rec),
			      .tgid = (__u32)o->tgid,
			      .time = now_ns()},
		};

		neighbours_sums(cpus, o->tgid, &rec.cpus.sums);
		rec.cpus.n =
			(uint32_t)neighbours_top(cpus, o->tgid, rec.cpus.top, TARGET_NEIGHBOURS);
		crew_push(c, &rec.h);
	}
}

void crew_drained(struct crew *c, uint64_t ns)
{
	c->line->board->drained_ns = ns;
}

void crew_wake(struct crew *c)
{
	queue_wake(c->line->queue);
}

void crew_stop(struct crew *c)
{
	c->line->board->stop_ns = c->shared->stop_ns;
}

/* ---- how it goes ---- */

bool crew_hurries(const struct crew *c, uint64_t now)
{
	return now < c->line->board->hurry_ns;
}

static void on_target(void *ctx, pid_t tgid, const struct totals *t)
{
	struct crew *c = ctx;
	struct opened *o = opened_of(&c->opened, tgid);

	if (!o)
		return;
	o->totals = *t;
	o->told = true;
}

/*
 * With what was told last: who took over may have said nothing yet, of all or of some. Of a process
 * that is recorded anew while its earlier file is being finished, the latter is not told.
 */
void crew_targets(struct crew *c, recorder_target_fn fn, void *ctx)
{
	if (c->kept)
		return;
	board_targets(c->line->board, on_target, c);
	for (const struct opened *o = c->opened.first; o; o = o->next) {
		if (o->told && opened_of(&c->opened, o->tgid) == o)
			fn(ctx, o->tgid, &o->totals);
	}
}

void crew_totals(struct crew *c, struct totals *out)
{
	struct totals t;

	if (!c->kept && board_totals_get(c->line->board, &t)) {
		c->totals = c->before;
		totals_add(&c->totals, &t);
	}
	*out = c->totals;
}

int crew_error(struct crew *c, struct error *e)
{
	line_watch(c);
	if (c->error.rc && e)
		*e = c->error;
	return c->error.rc;
}

bool crew_failed(const struct crew *c, struct error *why)
{
	*why = c->error;
	return c->error.rc;
}

uint64_t crew_cpu_ns(const struct crew *c)
{
	uint64_t sum = c->forgotten_cpu_ns;

	for (size_t i = 0; i < c->nlines && c->process; i++)
		sum += c->lines[i].cell ? cell_cpu_ns(c->lines[i].cell) : 0;
	return sum;
}

uint64_t crew_memory(const struct crew *c)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < c->nlines && c->process; i++)
		sum += c->lines[i].cell ? cell_memory(c->lines[i].cell) : 0;
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
static bool end_look(struct crew *c, recorder_enough_fn enough, void *ctx)
{
	struct line *l = c->line;

	line_look(l, now_ns());
	l->board->haste = haste_of(&l->patience);
	if (enough && enough(ctx)) {
		log_warn("the process that names is not waited for any more");
		return false;
	}
	return l->patience.spent_ns < PATIENCE_END_NS;
}

static void opened_end_all(struct crew *c)
{
	struct opened_loss lost = loss_of(c);
	struct opened *o = c->opened.first;
	uint64_t untaken[LOSS_MAX];

	if (!o)
		return;
	log_warn("the process that names did not come to an end: what it had in memory is lost");
	if (!c->kept)
		totals_keep(c, false);
	losses_untaken(c, untaken);
	for (int i = 0; i < LOSS_MAX; i++)
		c->before.lost[i] += untaken[i];
	c->before.lost[LOSS_NAMER_CPU] += lost.cpu;
	c->before.lost[LOSS_NAMER_WALL] += lost.wall;
	c->totals = c->before;
	while ((o = c->opened.first))
		opened_end(c, o, &lost);
}

/*
 * Naming has finished all files, or others do. What it has left to do then is of no file. False: it
 * is to be asked again.
 */
static bool cell_ends(struct crew *c, recorder_enough_fn enough, void *ctx)
{
	struct line *l = c->line;

	reply_await(c, END_LOOK_MS);
	if (!c->done && !l->gone && end_look(c, enough, ctx))
		return false;
	if (c->done && !cell_wait(l->cell, 0) && end_look(c, enough, ctx))
		return false;
	line_kill(l);
	if (!c->done && !l->board->discard && c->started)
		opened_end_all(c);
	return true;
}

static void thread_end(struct crew *c, recorder_enough_fn enough, void *ctx)
{
	while (!c->done && !c->line->gone) {
		reply_await(c, AWAIT_MS);
		if (enough && enough(ctx)) {
			log_warn(
				"naming is not waited for any more: what it had in memory is lost");
			_exit(EXIT_INTERNAL);
		}
	}
	pthread_join(c->thread, NULL);
}

void crew_ends(struct crew *c)
{
	uint64_t now = now_ns(), stop = c->shared->stop_ns, since = now - stop;

	if (c->ended || !c->line->queue)
		return;
	c->ended = true;
	queue_end(c->line->queue);
	line_end(c->line, now, stop && now > stop ? least(since, OWN_NS) : 0);
}

bool crew_has_ended(struct crew *c, recorder_enough_fn enough, void *ctx)
{
	if (c->awaited || !c->ended)
		return true;
	if (c->process && c->line->cell && !cell_ends(c, enough, ctx))
		return false;
	c->awaited = true;
	if (!c->process && c->started)
		thread_end(c, enough, ctx);
	return true;
}

void crew_let_go(struct crew *c)
{
	line_kill(c->line);
	crew_close(c, false);
}

void crew_close(struct crew *c, bool keep)
{
	if (!c)
		return;
	if (c->line->board)
		c->line->board->discard = !keep;
	crew_ends(c);
	while (!crew_has_ended(c, NULL, NULL))
		;
	namer_free(c->namer, keep);
	clerk_stop(c->clerk);
	filer_stop(c->filer);
	for (size_t i = 0; i < c->nlines; i++)
		line_close(&c->lines[i]);
	while (c->opened.first && !keep)
		opened_remove(&c->opened, c->opened.first);
	while (c->opened.first)
		opened_drop(&c->opened, c->opened.first);
	free(c->added);
	free(c);
}
