/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/recorder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/beat.h"
#include "base/clock.h"
#include "base/log.h"
#include "jvm/attacher.h"
#include "naming/board.h"
#include "naming/crew.h"
#include "naming/filer.h"
#include "naming/latest.h"
#include "naming/line.h"
#include "naming/mould.h"
#include "naming/namer.h"
#include "naming/port.h"
#include "naming/reply.h"
#include "naming/seats.h"
#include "target/procfs.h"
#include "wire/desk.h"
#include "wire/unwinder.h"

#define CREWS (RECORDER_DOMAINS + 1)

struct domain {
	struct crew *crew; /* NULL: free */
	uint64_t owner;
	bool shared; /* of all for which there was no room */
	bool told;   /* the user was told that it works no more */
};

struct recorder {
	struct crew_shared shared;
	struct latest settings;
	struct rec_watch watch;
	struct domain v[CREWS]; /* a thread's is the first */
	size_t n;		/* none beyond is in use */
	uint32_t numbers;	/* that crews were given */
	struct domain *last;	/* whose record came last, */
	pid_t last_tgid;	/* and of which process; 0: not known */
	bool crowded;		/* the user was told that one is shared */
	struct totals gone;	/* of crews that were let go */
	uint64_t gone_cpu_ns;
	uint64_t told_more[LOSS_MAX]; /* so many losses were told several, and are one */
	struct error error;
};

static bool is_process(const struct recorder *r)
{
	return r->shared.mould != NULL;
}

/* ---- the processes ---- */

/* In a copy of the mould: all that naming says goes by messages. */
static void name(struct recorder *r, struct line *l, struct port *port)
{
	struct namer_config cfg = {
		.target = r->shared.target,
		.queue = l->queue,
		.board = l->board,
		.replies = l->replies.theirs,
		.gifts = l->gifts.theirs,
	};
	struct reply failed = {.kind = REPLY_FAILED};
	struct namer *n;

	port_config(port, &cfg.target);
	cfg.target.maker = filer_maker(l->files.theirs);
	if (cfg.target.finished.fd)
		cfg.target.finished = filer_finished(l->files.theirs);
	cfg.unwinder = port_unwinder(port);
	beats_to(&cfg.board->beats);
	failed.rc = namer_new(&n, &cfg, &failed.error);
	if (failed.rc)
		reply_send(cfg.replies, &failed);
	else
		namer_main(n);
}

static void copy_main(void *arg, const int fds[MOULD_FDS])
{
	struct recorder *r = arg;
	struct port *port;
	struct line l;

	if (line_of(&l, crew_queue_bytes(&r->shared), fds))
		return;
	port = port_new(l.asks.theirs);
	if (port)
		name(r, &l, port);
}

static int processes_prepare(struct recorder *r)
{
	const struct target_config *t = &r->shared.target;
	int rc = 0;

	if (t->jvm == RESOLVE_AUTO || t->jvm == RESOLVE_AGENT)
		rc = attacher_start();
	r->shared.seats = seats_new();
	r->shared.desk = desk_new();
	if (!r->shared.seats || !r->shared.desk)
		return -ENOMEM;
	return rc ? rc : mould_start(&r->shared.mould, copy_main, r, attacher_descriptor());
}

int recorder_open(struct recorder **out, const struct target_config *cfg, bool process,
		  struct error *e)
{
	struct recorder *r = calloc(1, sizeof(*r));
	int rc = 0;

	if (!r)
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	r->shared.target = *cfg;
	r->shared.settings = &r->settings;
	r->shared.watch = &r->watch;
	if (process)
		rc = processes_prepare(r);
	if (rc)
		error_set(e, rc, EXIT_INTERNAL, "cannot set up naming: %s", strerror(-rc));
	else if (!process)
		rc = crew_new(&r->v[r->n++].crew, &r->shared, ++r->numbers, e);
	if (rc) {
		recorder_close(r, false);
		return rc;
	}
	*out = r;
	return 0;
}

/* ---- domains ---- */

/* What it counted and used stays known. */
static void domain_let_go(struct recorder *r, struct domain *d)
{
	uint32_t number = crew_number(d->crew);
	struct totals t;

	crew_totals(d->crew, &t);
	totals_add(&r->gone, &t);
	r->gone_cpu_ns += crew_cpu_ns(d->crew);
	seats_clear(r->shared.seats, number);
	crew_let_go(d->crew);
	*d = (struct domain){0};
	r->last = NULL;
}

static struct domain *domain_find(struct recorder *r, uint64_t owner)
{
	struct domain *d = r->v;

	while (d < r->v + r->n && (!d->crew || d->shared || d->owner != owner))
		d++;
	return d < r->v + r->n ? d : NULL;
}

/* A place that is free, or whose domain has nothing that is recorded any more; NULL: there is none.
 */
static struct domain *place_find(struct recorder *r)
{
	struct domain *end = r->v + RECORDER_DOMAINS, *d;

	for (d = r->v; d < end; d++)
		if (!d->crew)
			return d;
	for (d = r->v; d < end; d++) {
		if (!crew_is_idle(d->crew))
			continue;
		domain_let_go(r, d);
		return d;
	}
	return NULL;
}

static int domain_begin(struct recorder *r, struct domain *d, uint64_t owner, struct error *e)
{
	int rc = crew_new(&d->crew, &r->shared, ++r->numbers, e);

	if (rc)
		return rc;
	d->owner = owner;
	if ((size_t)(d - r->v) >= r->n)
		r->n = (size_t)(d - r->v) + 1;
	return 0;
}

/* The last place is for all that are more than there may be. */
static int domain_of_others(struct recorder *r, struct domain **out, struct error *e)
{
	struct domain *d = &r->v[RECORDER_DOMAINS];
	int rc = d->crew ? 0 : domain_begin(r, d, 0, e);

	d->shared = true;
	*out = d;
	if (!r->crowded)
		log_warn("there are processes of more than %d users and containers: one process "
			 "names "
			 "those of all others, who can harm each other's recordings",
			 RECORDER_DOMAINS);
	r->crowded = true;
	return rc;
}

/* That of the process, from now on. */
static int domain_take(struct recorder *r, pid_t tgid, uint64_t owner, struct domain **out,
		       struct error *e)
{
	struct domain *d = is_process(r) ? domain_find(r, owner) : r->v;
	int rc = 0;

	*out = d;
	if (!is_process(r))
		return 0;
	if (!d && (d = place_find(r)))
		rc = domain_begin(r, d, owner, e);
	else if (!d)
		rc = domain_of_others(r, &d, e);
	*out = d;
	r->last = NULL;
	return rc ? rc : seats_put(r->shared.seats, tgid, crew_number(d->crew));
}

static struct domain *domain_numbered(struct recorder *r, uint32_t number)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].crew && crew_number(r->v[i].crew) == number)
			return &r->v[i];
	return NULL;
}

/* Whose the process is or was; NULL: nobody's. */
static struct domain *domain_of(struct recorder *r, pid_t tgid)
{
	if (!is_process(r))
		return r->v;
	if (!r->last || r->last_tgid != tgid) {
		r->last_tgid = tgid;
		r->last = domain_numbered(r, seats_of(r->shared.seats, tgid));
	}
	return r->last;
}

static size_t domains_count(const struct recorder *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		n += r->v[i].crew != NULL;
	return n;
}

/* ---- targets ---- */

int recorder_target(struct recorder *r, pid_t tgid, struct jvm_owner owner, const char *path,
		    bool overwrite, struct error *e)
{
	struct domain *d;
	int rc = domain_take(r, tgid, owner.domain, &d, e);

	if (!rc)
		rc = crew_target(d->crew, tgid, owner.uid, path, overwrite, domains_count(r) == 1,
				 e);
	if (rc == -EINTR)
		error_set(&r->error, rc, EXIT_INTERNAL, "interrupted before the recording began");
	return rc;
}

int recorder_add(struct recorder *r, pid_t tgid, struct jvm_owner owner, const char *path)
{
	struct error why = {0};
	struct domain *d;
	int rc = domain_take(r, tgid, owner.domain, &d, &why);

	return rc ? rc : crew_add(d->crew, tgid, owner.uid, path);
}

bool recorder_added(struct recorder *r, struct recorder_added *out)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].crew && crew_added(r->v[i].crew, out))
			return true;
	return false;
}

int recorder_end(struct recorder *r, pid_t tgid)
{
	struct domain *d = domain_of(r, tgid);

	return d ? crew_end(d->crew, tgid) : 0;
}

/* ---- the beginning ---- */

static int all_ready(struct recorder *r, struct error *e)
{
	bool alone = domains_count(r) == 1;
	struct error why = {0};

	for (size_t i = 0; i < r->n && !r->error.rc; i++)
		if (r->v[i].crew && crew_ready(r->v[i].crew, alone, &why) == -EINTR)
			r->error = why;
	return recorder_error(r, e);
}

int recorder_tables(struct recorder *r, const struct unwinder *u,
		    bool (*is_recorded)(void *whose, pid_t tgid), void *whose, struct error *e)
{
	int rc = r->error.rc;

	if (rc && e)
		*e = r->error;
	r->shared.unwinder = u;
	r->shared.is_recorded = is_recorded;
	r->shared.whose = whose;
	for (size_t i = 0; i < r->n && !rc; i++)
		rc = r->v[i].crew ? crew_tables(r->v[i].crew, e) : 0;
	return rc ? rc : all_ready(r, e);
}

int recorder_start(struct recorder *r, uint64_t now, struct error *e)
{
	int rc = 0;

	r->shared.start_ns = now;
	for (size_t i = 0; i < r->n && !rc; i++)
		rc = r->v[i].crew ? crew_start(r->v[i].crew, e) : 0;
	return rc || !is_process(r) ? rc : all_ready(r, e);
}

/* ---- records ---- */

/* What is of a process that is not recorded any more is not missed. */
bool recorder_push(struct recorder *r, const struct gn_rec *rec)
{
	struct domain *d = domain_of(r, (pid_t)rec->tgid);

	return !d || crew_push(d->crew, rec);
}

static void all_push(struct recorder *r, const struct gn_rec *rec)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].crew)
			crew_push(r->v[i].crew, rec);
}

/* Whose loss that may be: his of whom the thread is; NULL: that is not known. */
static struct domain *domain_of_thread(struct recorder *r, pid_t tid)
{
	struct domain *first = r->v;
	pid_t tgid;

	while (first < r->v + r->n && !first->crew)
		first++;
	if (domains_count(r) == 1)
		return first;
	return tid > 0 && !proc_tgid(tid, &tgid) ? domain_of(r, tgid) : NULL;
}

/* A loss that may be anybody's is told all, so that no file looks better than it is. */
void recorder_lost(struct recorder *r, pid_t tid, unsigned int reason, uint64_t count)
{
	struct domain *d = domain_of_thread(r, tid);
	uint64_t told = 0;

	if (d) {
		crew_lost(d->crew, tid, reason, count);
		return;
	}
	for (size_t i = 0; i < r->n; i++) {
		if (!r->v[i].crew)
			continue;
		crew_lost(r->v[i].crew, 0, reason, count);
		told++;
	}
	if (told && reason < LOSS_MAX)
		r->told_more[reason] += (told - 1) * count;
}

void recorder_setting(struct recorder *r, const char *name, const char *value)
{
	struct rec_setting rec = {
		.h = {.type = REC_SETTING, .size = sizeof(rec), .time = now_ns()},
	};

	snprintf(rec.name, sizeof(rec.name), "%s", name);
	snprintf(rec.value, sizeof(rec.value), "%s", value);
	latest_keep(&r->settings, &rec);
	all_push(r, &rec.h);
}

bool recorder_watch(struct recorder *r, const struct watch_orders *orders)
{
	struct rec_watch rec = {
		.h = {.type = REC_WATCH, .size = sizeof(rec), .time = now_ns()},
		.orders = *orders,
	};

	bool told = true;

	r->watch = rec;
	for (size_t i = 0; i < r->n; i++)
		told &= !r->v[i].crew || crew_push(r->v[i].crew, &rec.h);
	return told;
}

void recorder_cost(struct recorder *r, const struct recorder_cost *cost)
{
	struct rec_cost rec = {
		.h = {.type = REC_COST, .size = sizeof(rec), .time = now_ns()},
		.cost = *cost,
	};

	all_push(r, &rec.h);
}

void recorder_choice(struct recorder *r, pid_t tgid, const struct recorder_choice *choice)
{
	struct domain *d = domain_of(r, tgid);
	struct rec_choice rec = {
		.h = {.type = REC_CHOICE,
		      .size = sizeof(rec),
		      .tgid = (__u32)tgid,
		      .time = now_ns()},
		.choice = *choice,
	};

	if (d)
		crew_choice(d->crew, &rec);
}

bool recorder_rate(struct recorder *r, pid_t tgid, const struct jfr_rate_change *rate)
{
	struct domain *d = domain_of(r, tgid);
	struct rec_rate rec = {
		.h = {.type = REC_RATE, .size = sizeof(rec), .tgid = (__u32)tgid, .time = now_ns()},
		.cpu_ns = rate->cpu_ns,
		.wall_ns = rate->wall_ns,
		.threads = rate->threads,
	};

	snprintf(rec.by, sizeof(rec.by), "%s", rate->by);
	snprintf(rec.reason, sizeof(rec.reason), "%s", rate->reason);
	return !d || crew_rate(d->crew, &rec);
}

/* ---- what all are told ---- */

void recorder_cpus(struct recorder *r, const struct neighbours *cpus)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].crew)
			crew_cpus(r->v[i].crew, cpus);
}

void recorder_drained(struct recorder *r, uint64_t ns)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].crew)
			crew_drained(r->v[i].crew, ns);
}

void recorder_wake(struct recorder *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].crew)
			crew_wake(r->v[i].crew);
}

void recorder_stop_at(struct recorder *r, uint64_t ns)
{
	r->shared.stop_ns = ns;
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].crew)
			crew_stop(r->v[i].crew);
}

/* ---- how it goes ---- */

bool recorder_hurries(const struct recorder *r, uint64_t now)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].crew && crew_hurries(r->v[i].crew, now))
			return true;
	return false;
}

void recorder_targets(struct recorder *r, recorder_target_fn fn, void *ctx)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].crew)
			crew_targets(r->v[i].crew, fn, ctx);
}

void recorder_totals(struct recorder *r, struct totals *out)
{
	struct totals t;

	*out = r->gone;
	for (size_t i = 0; i < r->n; i++) {
		if (!r->v[i].crew)
			continue;
		crew_totals(r->v[i].crew, &t);
		totals_add(out, &t);
	}
	for (int i = 0; i < LOSS_MAX; i++)
		out->lost[i] -= out->lost[i] < r->told_more[i] ? out->lost[i] : r->told_more[i];
}

/* One that works no more, where others do. */
static void domain_warn(struct domain *d, const struct error *why)
{
	if (!d->told)
		log_warn("processes of one user in one container are not recorded any more: %s",
			 why->msg);
	d->told = true;
}

/* Looks after all: how many there are, and how many of them work. */
static size_t crews_look(struct recorder *r, size_t *working, struct error *first)
{
	size_t n = 0, failed = 0;

	for (size_t i = 0; i < r->n; i++) {
		struct error why = {0};

		if (!r->v[i].crew)
			continue;
		n++;
		if (!crew_error(r->v[i].crew, &why))
			continue;
		if (!failed++)
			*first = why;
	}
	*working = n - failed;
	return n;
}

/* One that goes on and on ends then, since it can be started again. */
static void spareless_note(struct recorder *r)
{
	if (!r->shared.spareless || !r->shared.target.form.segments || r->error.rc)
		return;
	error_set(&r->error, -ECHILD, EXIT_INTERNAL,
		  "no process that names can be made any more: gnomon-spare was killed");
	error_hint(&r->error, "start it again, as systemd does");
}

int recorder_error(struct recorder *r, struct error *e)
{
	struct error first = {0}, why;
	size_t working, n = crews_look(r, &working, &first);

	spareless_note(r);
	if (n && !working && !r->error.rc)
		r->error = first;
	for (size_t i = 0; i < r->n && working; i++)
		if (r->v[i].crew && crew_failed(r->v[i].crew, &why))
			domain_warn(&r->v[i], &why);
	if (r->error.rc && e)
		*e = r->error;
	return r->error.rc;
}

const struct recorded_file *recorder_files(const struct recorder *r, size_t *n)
{
	*n = r->shared.files.n;
	return r->shared.files.v;
}

uint64_t recorder_cpu_ns(const struct recorder *r)
{
	uint64_t sum = r->gone_cpu_ns + mould_cpu_ns(r->shared.mould);

	for (size_t i = 0; i < r->n; i++)
		sum += r->v[i].crew ? crew_cpu_ns(r->v[i].crew) : 0;
	return sum;
}

uint64_t recorder_memory(const struct recorder *r)
{
	uint64_t sum = mould_memory(r->shared.mould);

	for (size_t i = 0; i < r->n; i++)
		sum += r->v[i].crew ? crew_memory(r->v[i].crew) : 0;
	return sum;
}

/* ---- the end ---- */

int recorder_finish(struct recorder *r, recorder_enough_fn enough, void *ctx, struct error *e)
{
	bool all = false;

	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].crew)
			crew_ends(r->v[i].crew);
	while (!all) {
		all = true;
		for (size_t i = 0; i < r->n; i++)
			if (r->v[i].crew)
				all &= crew_has_ended(r->v[i].crew, enough, ctx);
	}
	return recorder_error(r, e);
}

static void files_free(struct recorded_list *l)
{
	for (size_t i = 0; i < l->n; i++) {
		free(l->v[i].path);
		free(l->v[i].names);
	}
	free(l->v);
}

void recorder_close(struct recorder *r, bool keep)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n; i++)
		crew_close(r->v[i].crew, keep);
	mould_stop(r->shared.mould);
	attacher_stop();
	desk_free(r->shared.desk);
	seats_free(r->shared.seats);
	files_free(&r->shared.files);
	free(r);
}
