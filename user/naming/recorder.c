/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/recorder.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "jfr/write.h"
#include "naming/queue.h"
#include "naming/tables.h"
#include "naming/vitals.h"
#include "target/procfs.h"

#define QUEUE_BYTES (32u << 20)
#define POLL_NS	    100000000ull
/* for so long a JVM may be starting, and is looked at more often */
#define BEGIN_NS      5000000000ull
#define BEGIN_POLL_NS 25000000ull
/* while one is starting: what runs before its code is known has no names */
#define EXPECT_POLL_NS 2000000ull
/* what was launched may end at any time, and takes its names with it */
#define LAUNCH_HURRY_NS 10000000000ull
#define SETTINGS_MAX	16
/* after a target came or went, which takes memory for a while */
#define GIVE_BACK_NS 5000000000ull

/* Records made in user space, for the same queue: the numbers lie beyond enum gn_rec_type. */
enum { REC_LOSS = 100, REC_SETTING, REC_COST, REC_CHOICE, REC_CPUS, REC_ADD, REC_END };

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

struct rec_choice {
	struct gn_rec h;
	struct recorder_choice choice;
};

struct rec_cpus {
	struct gn_rec h;
	const struct neighbours *cpus;
};

struct rec_add {
	struct gn_rec h;
	char path[TARGET_PATH_LEN];
};

/* One process and its file. */
struct node {
	pid_t tgid;
	struct target *target;
	UT_hash_handle hh;
};

struct recorder {
	struct target_env env;
	struct queue *queue;
	struct node *targets;
	struct rec_setting settings[SETTINGS_MAX];
	size_t nsettings;
	struct recorded_file *files; /* of targets that have ended */
	size_t nfiles;
	struct totals ended;	 /* of all these together */
	uint64_t lost[LOSS_MAX]; /* losses of which the target is not known */
	pthread_t thread;
	bool started, joined;
	uint64_t began_ns, polled_ns;
	uint64_t stop_ns;      /* env.stop_ns as the targets were told it */
	uint64_t give_back_ns; /* when memory is given back; 0: no reason to */
	/* what the queue had no room for, and the targets have not been told */
	_Atomic uint64_t queue_lost[LOSS_MAX];
	_Atomic bool discard; /* files that are still open are to be removed */

	pthread_mutex_t lock; /* guards what follows; held only while that is copied */
	struct totals totals;
	struct error error;
	struct recorder_added *added;
	size_t nadded;
};

static struct target *target_find(struct recorder *r, pid_t tgid)
{
	struct node *n;

	HASH_FIND_INT(r->targets, &tgid, n);
	return n ? n->target : NULL;
}

/* ---- losses counted by thread ---- */

static struct target *target_of_thread(struct recorder *r, pid_t tid)
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
static void on_loss(struct recorder *r, uint64_t time, pid_t tid, unsigned int reason,
		    uint64_t count)
{
	struct target *target = target_of_thread(r, tid);
	struct node *n, *tmp;

	if (reason >= LOSS_MAX)
		return;
	if (target) {
		target_lost(target, time, tid, reason, count);
		return;
	}
	r->lost[reason] += count;
	HASH_ITER(hh, r->targets, n, tmp)
		target_note_lost(n->target, time, 0, reason, count);
}

static void on_queue_losses(struct recorder *r, uint64_t now)
{
	for (unsigned int i = 0; i < LOSS_MAX; i++) {
		uint64_t lost = atomic_exchange(&r->queue_lost[i], 0);

		if (lost)
			on_loss(r, now, 0, i, lost);
	}
}

/* ---- the end of a target ---- */

static void file_free(struct recorded_file *f)
{
	free(f->path);
	free(f->names);
}

/* Of one that goes on and on nobody asks for the files of all that ever ended. */
static void file_note(struct recorder *r, const struct target *target)
{
	struct recorded_file *v;
	struct totals totals;

	if (r->env.cfg.form.segments) {
		target_totals(target, &totals);
		totals_add(&r->ended, &totals);
		return;
	}
	v = realloc(r->files, (r->nfiles + 1) * sizeof(*v));
	if (!v)
		return;
	r->files = v;
	v += r->nfiles;
	*v = (struct recorded_file){
		.tgid = target_tgid(target),
		.path = strdup(target_path(target)),
		.names = strdup(target_source(target)),
	};
	target_totals(target, &v->totals);
	totals_add(&r->ended, &v->totals);
	if (v->path && v->names)
		r->nfiles++;
	else
		file_free(v);
}

static void node_drop(struct recorder *r, struct node *n, bool keep)
{
	HASH_DEL(r->targets, n);
	target_free(n->target, keep);
	r->give_back_ns = now_ns() + GIVE_BACK_NS;
	free(n);
}

static void on_end(struct recorder *r, pid_t tgid)
{
	struct node *n;

	HASH_FIND_INT(r->targets, &tgid, n);
	if (!n)
		return;
	target_end(n->target);
	file_note(r, n->target);
	node_drop(r, n, true);
}

/* ---- the records ---- */

/* The latest of a name holds for files that are opened later. */
static void setting_keep(struct recorder *r, const struct rec_setting *set)
{
	size_t i = 0;

	while (i < r->nsettings && strcmp(r->settings[i].name, set->name))
		i++;
	if (i == SETTINGS_MAX)
		return;
	r->settings[i] = *set;
	if (i == r->nsettings)
		r->nsettings++;
}

static void on_setting(struct recorder *r, const struct rec_setting *set)
{
	struct node *n, *tmp;

	setting_keep(r, set);
	HASH_ITER(hh, r->targets, n, tmp)
		target_setting(n->target, set->h.time, set->name, set->value);
}

static void settings_write(struct recorder *r, struct target *t, uint64_t now)
{
	for (size_t i = 0; i < r->nsettings; i++)
		target_setting(t, now, r->settings[i].name, r->settings[i].value);
}

static void on_cost(struct recorder *r, const struct rec_cost *rec)
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

static void on_choice(struct recorder *r, const struct rec_choice *rec)
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

static void on_cpus(struct recorder *r, const struct rec_cpus *rec)
{
	struct node *n, *tmp;

	HASH_ITER(hh, r->targets, n, tmp)
		target_cpus(n->target, rec->h.time, rec->cpus);
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

/* Hands on a record that came from the kernel. */
static void take_kernel(struct target *t, const struct gn_rec *rec)
{
	if (!t)
		return;
	if (rec->type == GN_REC_SAMPLE)
		target_sample(t, (const void *)rec);
	else if (rec->type == GN_REC_STACK)
		target_stack(t, (const void *)rec);
	else if (rec->type == GN_REC_VTHREAD)
		target_vthread(t, (const void *)rec);
	else
		target_task(t, (const void *)rec);
}

static void take(struct recorder *r, const struct gn_rec *rec)
{
	const struct rec_loss *loss = (const void *)rec;

	switch (rec->type) {
	case REC_LOSS:
		on_loss(r, rec->time, (pid_t)rec->tid, loss->reason, loss->count);
		break;
	case REC_SETTING:
		on_setting(r, (const void *)rec);
		break;
	case REC_COST:
		on_cost(r, (const void *)rec);
		break;
	case REC_CHOICE:
		on_choice(r, (const void *)rec);
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
	default:
		take_kernel(target_find(r, (pid_t)rec->tgid), rec);
	}
}

/* ---- at times ---- */

/* Copies what other threads may ask for, so that they never wait for the naming. */
static void publish(struct recorder *r)
{
	struct totals sum = r->ended, one;
	struct node *n, *tmp;

	HASH_ITER(hh, r->targets, n, tmp) {
		target_totals(n->target, &one);
		totals_add(&sum, &one);
	}
	for (int i = 0; i < LOSS_MAX; i++)
		sum.lost[i] += r->lost[i];
	pthread_mutex_lock(&r->lock);
	r->totals = sum;
	r->error = r->env.failed;
	pthread_mutex_unlock(&r->lock);
}

static void memory_poll(struct recorder *r, uint64_t now)
{
	if (!r->give_back_ns || now < r->give_back_ns)
		return;
	r->give_back_ns = 0;
	memory_give_back();
	log_debug("giving memory back took %.1f ms", (double)(now_ns() - now) / 1e6);
}

static void poll_targets(struct recorder *r, uint64_t now)
{
	struct node *n, *tmp;
	bool changed = false;

	HASH_ITER(hh, r->targets, n, tmp) {
		changed |= target_poll(n->target, now);
		target_flush(n->target, now);
		if (target_turned(n->target, now))
			settings_write(r, n->target, now);
	}
	if (changed)
		r->env.cfg.on_epoch(r->env.cfg.ctx);
	memory_poll(r, now);
	on_queue_losses(r, now);
	publish(r);
}

static uint64_t poll_ns(const struct recorder *r, uint64_t now)
{
	if (now < r->env.expect_ns)
		return EXPECT_POLL_NS;
	return now - r->began_ns < BEGIN_NS ? BEGIN_POLL_NS : POLL_NS;
}

static void stop_apply(struct recorder *r)
{
	uint64_t stop = r->env.stop_ns;
	struct node *n, *tmp;

	if (stop == r->stop_ns)
		return;
	r->stop_ns = stop;
	HASH_ITER(hh, r->targets, n, tmp)
		target_stop(n->target);
}

static void work(struct recorder *r, const struct gn_rec *rec)
{
	uint64_t now = now_ns();

	stop_apply(r);
	if (now - r->polled_ns >= poll_ns(r, now)) {
		r->polled_ns = now;
		poll_targets(r, now);
	}
	if (rec)
		take(r, rec);
}

/*
 * Looks at the methods of stacks as soon as these come, and not when it is their turn, which on a
 * busy machine may be seconds later: a class that is unloaded in between makes every name uncertain
 * that was not read before.
 */
static void look_ahead(struct recorder *r)
{
	const struct gn_rec *rec;
	struct target *t;

	while ((rec = queue_peek(r->queue))) {
		t = rec->type == GN_REC_STACK ? target_find(r, (pid_t)rec->tgid) : NULL;
		if (t)
			target_notice(t, (const void *)rec);
	}
}

static void *recorder_main(void *arg)
{
	struct recorder *r = arg;
	bool ended = false;

	r->began_ns = r->polled_ns = now_ns();
	if (r->env.cfg.launched)
		atomic_store(&r->env.hurry_ns, r->began_ns + LAUNCH_HURRY_NS);
	while (!ended) {
		const struct gn_rec *rec =
			queue_pop(r->queue, (int)(poll_ns(r, now_ns()) / 1000000), &ended);

		look_ahead(r);
		work(r, rec);
	}
	poll_targets(r, now_ns());
	r->env.ending = true;
	while (r->targets && !r->discard)
		on_end(r, r->targets->tgid);
	publish(r);
	return NULL;
}

/* ---- for others ---- */

bool recorder_hurries(const struct recorder *r, uint64_t now)
{
	return now < atomic_load(&r->env.hurry_ns);
}

int recorder_open(struct recorder **out, const struct target_config *cfg, struct error *e)
{
	struct recorder *r = calloc(1, sizeof(*r));
	int rc;

	if (!r)
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	r->env.cfg = *cfg;
	pthread_mutex_init(&r->lock, NULL);
	r->queue = queue_new(cfg->queue_bytes ? cfg->queue_bytes : QUEUE_BYTES);
	r->env.frames = calloc(TARGET_FRAMES, sizeof(*r->env.frames));
	if (!r->queue || !r->env.frames)
		rc = error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	else
		rc = resolver_shared_open(&r->env.shared, e);
	if (!rc && cfg->form.vitals) {
		r->env.host = vitals_host_new();
		rc = r->env.host ? 0 : error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	}
	if (rc) {
		recorder_close(r, false);
		return rc;
	}
	*out = r;
	return 0;
}

static void begin(struct recorder *r, struct target *t, uint64_t now)
{
	target_begin(t, now);
	settings_write(r, t, now);
}

int recorder_target(struct recorder *r, pid_t tgid, const char *path, bool overwrite,
		    struct error *e)
{
	struct node *n = calloc(1, sizeof(*n));
	int rc;

	if (!n)
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	n->tgid = tgid;
	rc = target_open(&n->target, &r->env, tgid, path, overwrite, e);
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

int recorder_tables(struct recorder *r, const struct unwinder *u, struct error *e)
{
	struct node *n, *tmp;
	int rc = tables_new(&r->env.tables, u, e);

	if (rc)
		return rc;
	HASH_ITER(hh, r->targets, n, tmp)
		target_tables(n->target);
	return 0;
}

int recorder_start(struct recorder *r, uint64_t now, struct error *e)
{
	struct node *n, *tmp;
	int rc;

	HASH_ITER(hh, r->targets, n, tmp)
		begin(r, n->target, now);
	r->started = true;
	rc = pthread_create(&r->thread, NULL, recorder_main, r);
	if (rc) {
		r->started = false;
		return error_set(e, -rc, EXIT_INTERNAL, "cannot start a thread: %s", strerror(rc));
	}
	return 0;
}

bool recorder_push(struct recorder *r, const struct gn_rec *rec)
{
	unsigned int reason;
	uint64_t count;

	if (queue_push(r->queue, rec))
		return true;
	reason = loss_of_record(rec, &count);
	atomic_fetch_add(&r->queue_lost[reason], count);
	return false;
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

	/* if there is no room the loss is counted without its thread */
	if (!queue_push(r->queue, &rec.h) && reason < LOSS_MAX)
		atomic_fetch_add(&r->queue_lost[reason], count);
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

void recorder_stop_at(struct recorder *r, uint64_t ns)
{
	atomic_store(&r->env.stop_ns, ns);
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
	struct rec_cpus rec = {
		.h = {.type = REC_CPUS, .size = sizeof(rec), .time = now_ns()},
		.cpus = cpus,
	};

	recorder_push(r, &rec.h);
}

void recorder_wake(struct recorder *r)
{
	queue_wake(r->queue);
}

void recorder_totals(struct recorder *r, struct totals *out)
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

const struct recorded_file *recorder_files(const struct recorder *r, size_t *n)
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
	struct node *n, *tmp;

	if (!r)
		return;
	r->discard = !keep;
	join(r);
	HASH_ITER(hh, r->targets, n, tmp)
		node_drop(r, n, keep);
	tables_free(r->env.tables);
	vitals_host_free(r->env.host);
	resolver_shared_close(r->env.shared);
	queue_free(r->queue);
	free(r->env.frames);
	for (size_t i = 0; i < r->nfiles; i++)
		file_free(&r->files[i]);
	free(r->files);
	free(r->added);
	pthread_mutex_destroy(&r->lock);
	free(r);
}
