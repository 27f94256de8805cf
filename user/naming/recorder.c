/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/recorder.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "broker/broker.h"
#include "jfr/write_file.h"
#include "jvm/attacher.h"
#include "naming/board.h"
#include "naming/cell.h"
#include "naming/confine.h"
#include "naming/namer.h"
#include "naming/port.h"
#include "naming/queue.h"
#include "naming/records.h"
#include "naming/reply.h"
#include "sym/ksyms.h"
#include "target/neighbours.h"
#include "wire/clerk.h"
#include "wire/unwinder.h"

#define QUEUE_BYTES (32u << 20)

/* A file that naming has, and has not told the end of. */
struct opened {
	uint32_t serial;
	pid_t tgid;
	int fd; /* ours */
	char *path;
	struct opened *next;
};

/* Two ends: the session's and naming's. */
struct ends {
	int ours, theirs;
};

struct recorder {
	struct target_config cfg;
	struct queue *queue;
	struct board *board;
	struct ends replies, gifts, asks; /* naming/reply.h twice, wire/ask.h */
	struct cell *cell;		  /* NULL: naming is a thread */
	struct clerk *clerk;		  /* with it, and tables */
	struct namer *namer;		  /* NULL with it */
	pthread_t thread;
	bool started, ended; /* the thread */
	struct opened *opened;
	uint32_t serial;
	unsigned int ready; /* how often naming said so */
	bool done, gone;    /* it has finished all files; nothing more will come from it */
	struct totals totals;
	struct error error;
	struct recorded_file *files; /* of targets that have ended */
	size_t nfiles;
	struct recorder_added *added;
	size_t nadded;
};

/* ---- files ---- */

static void opened_drop(struct recorder *r, struct opened *o)
{
	struct opened **at = &r->opened;

	while (*at != o)
		at = &(*at)->next;
	*at = o->next;
	if (o->fd >= 0)
		close(o->fd);
	free(o->path);
	free(o);
}

static struct opened *opened_find(struct recorder *r, uint32_t serial)
{
	struct opened *o = r->opened;

	while (o && o->serial != serial)
		o = o->next;
	return o;
}

static int opened_new(struct recorder *r, pid_t tgid, const char *path, bool overwrite,
		      struct opened **out, struct error *e)
{
	struct opened *o = calloc(1, sizeof(*o));
	int rc;

	if (o)
		o->path = strdup(path);
	if (!o || !o->path) {
		free(o);
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	}
	o->fd = -1;
	rc = r->cfg.form.segments ? 0 : outfile_create(path, overwrite, e);
	if (rc > 0)
		o->fd = rc;
	if (rc < 0) {
		free(o->path);
		free(o);
		return rc;
	}
	o->tgid = tgid;
	o->serial = ++r->serial;
	o->next = r->opened;
	r->opened = o;
	*out = o;
	return 0;
}

static void opened_remove(struct recorder *r, struct opened *o)
{
	outfile_remove(o->fd, o->path);
	opened_drop(r, o);
}

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

static void on_added(struct recorder *r, const struct reply *reply)
{
	struct opened *o = opened_find(r, reply->serial);

	if (!o)
		return;
	added_note(r, o, reply);
	if (reply->rc)
		opened_remove(r, o);
}

static void on_file(struct recorder *r, const struct reply *reply)
{
	struct opened *o = opened_find(r, reply->serial);

	if (!o)
		return;
	file_note(r, o, reply);
	opened_drop(r, o);
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

	while (!r->gone && (rc = reply_take(r->replies.ours, &reply)) > 0)
		on_reply(r, &reply);
	r->gone |= rc < 0;
}

/* Waits for one, or for naming to be gone, for so long at most. */
static void reply_await(struct recorder *r, int ms)
{
	struct pollfd p = {.fd = r->replies.ours, .events = POLLIN};

	poll(&p, 1, ms);
	replies_take(r);
}

static int gone_error(struct error *e)
{
	error_set(e, -ECHILD, EXIT_INTERNAL, "the process that names has ended");
	return error_hint(e, "look into the kernel's log (dmesg) for why");
}

/* ---- life ---- */

static int ends_open(struct ends *e, int type)
{
	int v[2];

	if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, v))
		return -errno;
	*e = (struct ends){v[0], v[1]};
	return 0;
}

static void end_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static struct namer_config namer_config(const struct recorder *r)
{
	return (struct namer_config){
		.target = r->cfg,
		.queue = r->queue,
		.board = r->board,
		.replies = r->replies.theirs,
		.gifts = r->gifts.theirs,
	};
}

/* In the process of its own: all that naming says goes by messages. */
static void cell_main(void *arg)
{
	struct recorder *r = arg;
	struct namer_config cfg = namer_config(r);
	struct port *port = port_new(r->asks.theirs);
	struct reply failed = {.kind = REPLY_FAILED};
	struct namer *n;

	if (!port)
		return;
	failed.rc = confine_self();
	if (failed.rc) {
		error_set(&failed.error, failed.rc, EXIT_KERNEL,
			  "the process that names cannot give up its rights: %s",
			  strerror(-failed.rc));
		reply_send(cfg.replies, &failed);
		return;
	}
	port_config(port, &cfg.target);
	cfg.unwinder = port_unwinder(port);
	ksyms_programs_by(cfg.unwinder->programs, cfg.unwinder->ctx);
	failed.rc = namer_new(&n, &cfg, &failed.error);
	if (failed.rc) {
		reply_send(cfg.replies, &failed);
		return;
	}
	namer_main(n);
}

static int cell_begin(struct recorder *r, struct error *e)
{
	int fds[4] = {r->replies.theirs, r->gifts.theirs, r->asks.theirs}, rc = 0;
	size_t n = 3;

	if (r->cfg.jvm == RESOLVE_AUTO || r->cfg.jvm == RESOLVE_AGENT)
		rc = attacher_start();
	fds[n] = attacher_descriptor();
	n += fds[n] >= 0;
	if (!rc)
		rc = cell_start(&r->cell, cell_main, r, fds, n);

	if (rc)
		return error_set(e, rc, EXIT_INTERNAL, "cannot start the process that names: %s",
				 strerror(-rc));
	end_close(&r->replies.theirs);
	end_close(&r->gifts.theirs);
	end_close(&r->asks.theirs);
	return 0;
}

static int parts_open(struct recorder *r)
{
	int rc;

	r->queue = queue_new(r->cfg.queue_bytes ? r->cfg.queue_bytes : QUEUE_BYTES);
	r->board = board_new();
	if (!r->queue || !r->board)
		return -ENOMEM;
	rc = ends_open(&r->replies, SOCK_SEQPACKET);
	if (!rc)
		rc = ends_open(&r->gifts, SOCK_SEQPACKET);
	return rc ? rc : ends_open(&r->asks, SOCK_STREAM);
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
	r->replies = r->gifts = r->asks = (struct ends){-1, -1};
	rc = parts_open(r);
	if (rc)
		error_set(e, rc, EXIT_INTERNAL, "cannot set up naming: %s", strerror(-rc));
	nc = namer_config(r);
	if (!rc)
		rc = process ? cell_begin(r, e) : namer_new(&r->namer, &nc, e);
	if (rc) {
		recorder_close(r, false);
		return rc;
	}
	*out = r;
	return 0;
}

/* What is asked at the start is awaited, when nothing is drained yet. */
static int push_await(struct recorder *r, const struct gn_rec *rec, struct error *e)
{
	unsigned int ready = r->ready;

	while (!queue_push(r->queue, rec) && !r->gone)
		reply_await(r, 10);
	queue_wake(r->queue);
	while (r->ready == ready && !r->error.rc && !r->gone)
		reply_await(r, 1000);
	if (r->error.rc && e)
		*e = r->error;
	return r->ready != ready ? r->error.rc : r->error.rc ? r->error.rc : gone_error(e);
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
	};
	int rc;

	if (snprintf(rec.path, sizeof(rec.path), "%s", o->path) >= (int)sizeof(rec.path))
		return -ENAMETOOLONG;
	rc = o->fd < 0 ? 0 : gift_send(r->gifts.ours, o->serial, o->fd);
	return rc ? rc : queue_push(r->queue, &rec.h) ? 0 : -EAGAIN;
}

static int target_await(struct recorder *r, struct opened *o, struct error *e)
{
	struct recorder_added a = {0};
	int rc = target_push(r, o);

	if (rc) {
		opened_remove(r, o);
		return error_set(e, rc, EXIT_INTERNAL, "cannot hand over a file: %s",
				 strerror(-rc));
	}
	queue_wake(r->queue);
	while (!r->nadded && !r->error.rc && !r->gone)
		reply_await(r, 1000);
	if (!recorder_added(r, &a)) {
		opened_remove(r, o);
		if (r->error.rc && e)
			*e = r->error;
		return r->error.rc ? r->error.rc : gone_error(e);
	}
	if (a.rc && e)
		*e = a.error;
	return a.rc;
}

int recorder_target(struct recorder *r, pid_t tgid, const char *path, bool overwrite,
		    struct error *e)
{
	struct opened *o;
	int rc = opened_new(r, tgid, path, overwrite, &o, e), fd;

	if (rc)
		return rc;
	if (r->cell)
		return target_await(r, o, e);
	fd = o->fd < 0 ? -1 : dup(o->fd);
	rc = fd < 0 && o->fd >= 0 ? error_set(e, -errno, EXIT_INTERNAL,
					      "cannot hand over a file: %s", strerror(errno))
				  : namer_target(r->namer, tgid, o->serial, path, fd, e);
	if (rc)
		opened_remove(r, o);
	return rc;
}

int recorder_add(struct recorder *r, pid_t tgid, const char *path)
{
	struct error why = {0};
	struct opened *o;
	int rc = opened_new(r, tgid, path, false, &o, &why);

	if (rc)
		return rc;
	rc = target_push(r, o);
	if (rc)
		opened_remove(r, o);
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

	return queue_push(r->queue, &rec) ? 0 : -EAGAIN;
}

/* ---- the beginning ---- */

int recorder_tables(struct recorder *r, const struct unwinder *u,
		    bool (*is_recorded)(void *whose, pid_t tgid), void *whose, struct error *e)
{
	const struct clerk_duties duties = {
		.on_epoch = r->cfg.on_epoch,
		.on_tables = r->cfg.on_tables,
		.on_chunk_end = r->cfg.on_chunk_end,
		.wants_thread = r->cfg.wants_thread,
		.ctx = r->cfg.ctx,
		.is_recorded = is_recorded,
		.whose = whose,
	};
	struct gn_rec rec = {.type = REC_TABLES, .size = sizeof(rec), .time = now_ns()};
	int rc;

	if (!r->cell)
		return namer_tables(r->namer, u, e);
	rc = clerk_start(&r->clerk, r->asks.ours, u, &duties);
	if (rc)
		return error_set(e, rc, EXIT_INTERNAL, "cannot start a thread: %s", strerror(-rc));
	return push_await(r, &rec, e);
}

static void *thread_main(void *arg)
{
	struct recorder *r = arg;

	namer_main(r->namer);
	return NULL;
}

int recorder_start(struct recorder *r, uint64_t now, struct error *e)
{
	struct gn_rec rec = {.type = REC_START, .size = sizeof(rec), .time = now};
	int rc;

	if (r->cell) {
		rc = push_await(r, &rec, e);
		r->started = !rc;
		return rc;
	}
	namer_start(r->namer, now);
	rc = pthread_create(&r->thread, NULL, thread_main, r);
	if (rc)
		return error_set(e, -rc, EXIT_INTERNAL, "cannot start a thread: %s", strerror(rc));
	r->started = true;
	return 0;
}

/* ---- records ---- */

bool recorder_push(struct recorder *r, const struct gn_rec *rec)
{
	unsigned int reason;
	uint64_t count;

	if (queue_push(r->queue, rec))
		return true;
	reason = loss_of_record(rec, &count);
	board_lose(r->board, (pid_t)rec->tid, reason, count);
	return false;
}

void recorder_lost(struct recorder *r, pid_t tid, unsigned int reason, uint64_t count)
{
	struct rec_loss rec = {
		.h = {.type = REC_LOSS, .size = sizeof(rec), .tid = (__u32)tid, .time = now_ns()},
		.count = count,
		.reason = reason,
	};

	if (!queue_push(r->queue, &rec.h))
		board_lose(r->board, tid, reason, count);
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

void recorder_choice(struct recorder *r, pid_t tgid, const struct recorder_choice *choice)
{
	struct rec_choice rec = {
		.h = {.type = REC_CHOICE,
		      .size = sizeof(rec),
		      .tgid = (__u32)tgid,
		      .time = now_ns()},
		.choice = *choice,
	};

	recorder_push(r, &rec.h);
}

void recorder_cpus(struct recorder *r, const struct neighbours *cpus)
{
	for (const struct opened *o = r->opened; o; o = o->next) {
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
	r->board->drained_ns = ns;
}

void recorder_wake(struct recorder *r)
{
	queue_wake(r->queue);
}

void recorder_stop_at(struct recorder *r, uint64_t ns)
{
	r->board->stop_ns = ns;
}

/* ---- how it goes ---- */

bool recorder_hurries(const struct recorder *r, uint64_t now)
{
	return now < r->board->hurry_ns;
}

void recorder_totals(struct recorder *r, struct totals *out)
{
	board_totals_get(r->board, &r->totals);
	*out = r->totals;
}

int recorder_error(struct recorder *r, struct error *e)
{
	replies_take(r);
	if (r->gone && !r->done && !r->error.rc && r->cell)
		gone_error(&r->error);
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
	return r->cell ? cell_cpu_ns(r->cell) : 0;
}

uint64_t recorder_memory(const struct recorder *r)
{
	return r->cell ? cell_memory(r->cell) : 0;
}

/* ---- the end ---- */

/* Naming says when it has finished all files; what it said until then is taken. */
static void end_await(struct recorder *r)
{
	if (r->ended)
		return;
	r->ended = true;
	queue_end(r->queue);
	if (!r->cell && !r->started)
		return;
	while (!r->done && !r->gone)
		reply_await(r, 1000);
	replies_take(r);
	if (r->cell)
		cell_wait(r->cell);
	else
		pthread_join(r->thread, NULL);
}

int recorder_finish(struct recorder *r, struct error *e)
{
	end_await(r);
	return recorder_error(r, e);
}

void recorder_close(struct recorder *r, bool keep)
{
	if (!r)
		return;
	if (r->board)
		r->board->discard = !keep;
	if (r->queue)
		end_await(r);
	namer_free(r->namer, keep);
	cell_free(r->cell);
	attacher_stop();
	clerk_stop(r->clerk);
	while (r->opened && !keep)
		opened_remove(r, r->opened);
	while (r->opened)
		opened_drop(r, r->opened);
	queue_free(r->queue);
	board_free(r->board);
	for (int *fd = &r->replies.ours; fd <= &r->asks.theirs; fd++)
		end_close(fd);
	for (size_t i = 0; i < r->nfiles; i++)
		file_free(&r->files[i]);
	free(r->files);
	free(r->added);
	free(r);
}
