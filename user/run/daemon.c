/* SPDX-License-Identifier: Apache-2.0 */
#include "run/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "run/census.h"
#include "run/control.h"
#include "run/metrics.h"
#include "run/notify.h"
#include "run/place.h"
#include "run/rates.h"
#include "run/runner.h"
#include "run/sentry.h"
#include "target/select.h"

#define TURN_MS	   1000
#define METRICS_NS 10000000000ull
#define ASKED_MAX  GN_MAX_PROCS

/* A JVM that somebody wants recorded, or not, whatever the rules say. */
struct asked {
	struct proc_id id;
	bool wanted;
};

struct daemon {
	const struct daemon_config *cfg;
	struct place place;
	pthread_t thread;
	bool keeps; /* there is that thread */
	int wake;   /* eventfd: SIGHUP, or the end */
	_Atomic bool hangup, chosen, ends;
	_Atomic size_t processes;
	struct retention_pace pace; /* when the directory is to be looked at */
	bool keep_failed;	    /* and that was said */
	struct age_clock age;
	uint64_t metrics_ns; /* when these are to be written */
	bool metrics_failed; /* and that was said */
	struct census *census;
	struct sentry *sentry;
	struct control *control;
	struct runner *runner;	    /* NULL: commands are not run */
	struct retention_look look; /* the last one; these two guarded by the lock, too */
	bool look_failed;
	pthread_mutex_t lock; /* guards the orders, held while a JVM is held against them */
	struct daemon_orders *orders;
	struct asked asked[ASKED_MAX];
	size_t nasked;
	struct rate usual;
	uint64_t tick_ns; /* the finest wall interval */
	struct rates *rates;
	/* the session's thread's */
	struct jvm_budget *budget;
	struct budget_limits limits;
	struct overhead_cost before;
	double cost_share; /* of the last second */
};

/* ---- on the session's thread ----------------------------------------------------------------- */

static void wake(struct daemon *d)
{
	uint64_t one = 1;

	if (write(d->wake, &one, sizeof(one)) < 0)
		return; /* it is awake */
}

static void on_began(void *ctx)
{
	struct daemon *d = ctx;

	log_info("recording into '%s'", d->cfg->dir);
	notify("READY=1");
}

static int jvm_name(void *ctx, const struct jvm_proc *j, char *path, size_t cap)
{
	struct daemon *d = ctx;
	int rc = d->cfg->name(d->cfg->name_ctx, j, path, cap);

	if (!rc)
		census_jvm(d->census, j, path);
	return rc;
}

/*
 * What a JVM costs beside others, roughly: the ns that its samples, its new stacks and its switches
 * take. The cost is shared out by it.
 */
static double cost_of(const struct totals *t, uint64_t switches)
{
	return 10000.0 * (double)t->cpu_samples + 10000.0 * (double)t->wall_records +
	       200000.0 * (double)t->stacks + 150.0 * (double)switches;
}

static void on_target(void *ctx, pid_t pid, const struct totals *t, uint64_t switches)
{
	struct daemon *d = ctx;

	census_target(d->census, pid, t, now_ns());
	budget_jvm(d->budget, pid, cost_of(t, switches) / (double)sysconf(_SC_NPROCESSORS_ONLN));
}

/* A reload may be at it just now: then they are those of before for another second. */
static void limits_look(struct daemon *d)
{
	struct budget_limits l;

	if (pthread_mutex_trylock(&d->lock))
		return;
	l = d->orders->budget;
	pthread_mutex_unlock(&d->lock);
	if (l.share == d->limits.share && l.jvm_share == d->limits.jvm_share)
		return;
	d->limits = l;
	budget_limits(d->budget, &l);
}

static void budget_keep(struct daemon *d, const struct overhead_cost *c)
{
	uint64_t wall = c->wall_ns - d->before.wall_ns, cpu = c->cpu_ns - d->before.cpu_ns;
	double cpus = (double)sysconf(_SC_NPROCESSORS_ONLN);
	struct budget_change change;
	struct proc_id id;

	limits_look(d);
	if (wall)
		d->cost_share =
			((double)cpu / (double)wall + (double)c->bpf_lately_ns / 1e9) / cpus;
	d->before = *c;
	budget_second(d->budget, now_ns(), d->cost_share);
	while (budget_change(d->budget, &change)) {
		if (proc_id_read(change.pid, &id))
			continue;
		rates_limit(d->rates, &id, change.step, change.reason);
		log_info("process %d: %s (step %d): %s", change.pid, rate_step_name(change.step),
			 (int)change.step, change.reason);
	}
}

/*
 * The watchdog is told here, since what has to go on is the session: a disk that does not answer
 * for a minute holds up the keeper, and is no reason to lose what the session holds in memory.
 */
static void on_second(void *ctx, const struct session_now *now)
{
	struct daemon *d = ctx;
	struct control_state state;

	notify("WATCHDOG=1");
	budget_keep(d, &now->cost);
	state = (struct control_state){
		.pid = getpid(),
		.elapsed_ns = now->elapsed_ns,
		.cpu_ns = d->usual.cpu_ns,
		.wall_ns = d->usual.wall_ns,
		.tick_ns = d->tick_ns,
		.cost_share = d->cost_share,
		.budget = d->limits.share,
		.jvm_budget = d->limits.jvm_share,
		.totals = now->totals,
		.cost = now->cost,
	};

	atomic_store(&d->processes, now->processes);
	census_second(d->census, &state, now_ns());
}

static void on_hangup(void *ctx)
{
	struct daemon *d = ctx;

	atomic_store(&d->hangup, true);
	wake(d);
}

static void rate_of(void *ctx, pid_t pid, struct rate_now *out)
{
	struct daemon *d = ctx;

	rates_of(d->rates, pid, now_ns(), out);
}

static bool was_chosen(void *ctx)
{
	struct daemon *d = ctx;

	return atomic_exchange(&d->chosen, false);
}

static void on_watch(void *ctx, struct watch_orders *orders)
{
	struct daemon *d = ctx;

	sentry_watch(d->sentry, orders);
}

/* ---- on the lookout's ------------------------------------------------------------------------ */

static struct asked *asked_find(struct daemon *d, const struct proc_id *id)
{
	for (size_t i = 0; i < d->nasked; i++)
		if (d->asked[i].id.pid == id->pid && d->asked[i].id.start == id->start)
			return &d->asked[i];
	return NULL;
}

static bool is_wanted(void *ctx, const struct cgroup_mounts *mounts, const struct jvm_proc *j)
{
	struct daemon *d = ctx;
	const struct asked *asked;
	const struct rule *rule;
	struct rate_wish wish;
	bool wanted, wishes;

	pthread_mutex_lock(&d->lock);
	asked = asked_find(d, &j->id);
	rule = rules_find(&d->orders->rules, mounts, j);
	wanted = rule ? rule->record : d->orders->rules.otherwise;
	if (asked)
		wanted = asked->wanted;
	wishes = rule && rules_rate(rule, &wish);
	rates_wish(d->rates, &j->id, RATE_CONFIGURATION, wishes ? &wish : NULL);
	pthread_mutex_unlock(&d->lock);
	if (wanted)
		sentry_jvm(d->sentry, mounts, j);
	return wanted;
}

/* ---- on that of who is asked ----------------------------------------------------------------- */

/* Those that have ended make room. */
static void asked_clear(struct daemon *d)
{
	size_t n = 0;

	for (size_t i = 0; i < d->nasked; i++)
		if (proc_id_alive(&d->asked[i].id))
			d->asked[n++] = d->asked[i];
	d->nasked = n;
}

/* Who asks may not be able to look into it. */
static int jvm_check(pid_t pid, struct error *e)
{
	struct jvm_proc *j = malloc(sizeof(*j));
	int rc = j ? select_pid(pid, j, e) : error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");

	free(j);
	return rc;
}

static int wish_take(struct daemon *d, pid_t pid, bool wanted, struct error *e)
{
	struct asked one = {.wanted = wanted}, *is;
	bool room = true;

	if (pid <= 0 || proc_id_read(pid, &one.id))
		return error_set(e, -ESRCH, EXIT_TARGET, "there is no process %d", pid);
	if (wanted && jvm_check(pid, e))
		return e->rc;
	pthread_mutex_lock(&d->lock);
	is = asked_find(d, &one.id);
	if (!is && d->nasked == ASKED_MAX)
		asked_clear(d);
	if (is)
		*is = one;
	else if (d->nasked < ASKED_MAX)
		d->asked[d->nasked++] = one;
	else
		room = false;
	pthread_mutex_unlock(&d->lock);
	if (!room)
		return error_set(e, -ENOSPC, EXIT_INTERNAL,
				 "more than %d processes were asked for one by one", ASKED_MAX);
	atomic_store(&d->chosen, true);
	log_info("process %d: somebody asked for it %s", pid,
		 wanted ? "to be recorded" : "not to be recorded");
	return 0;
}

/* Whether there can be such samples. */
static int rate_check(const struct daemon *d, const struct control_request *r, struct error *e)
{
	if (r->has_cpu && r->cpu_ns && !d->usual.cpu_ns)
		return error_set(e, -EINVAL, EXIT_USAGE,
				 "this daemon was started without CPU samples");
	if (r->has_wall && r->wall_ns && !d->tick_ns)
		return error_set(e, -EINVAL, EXIT_USAGE,
				 "this daemon was started without wall samples");
	if (r->has_wall && r->wall_ns && r->wall_ns < d->tick_ns) {
		error_set(e, -EINVAL, EXIT_USAGE,
			  "the shortest wall interval of this daemon is %" PRIu64 "us",
			  d->tick_ns / 1000);
		return error_hint(e, "a shorter one stands in its configuration, before a restart");
	}
	return 0;
}

static int rate_take(struct daemon *d, const struct control_request *r, struct error *e)
{
	struct rate_wish wish = {
		.cpu = r->has_cpu,
		.wall = r->has_wall,
		.rate = {.cpu_ns = r->cpu_ns, .wall_ns = r->wall_ns},
		.until_ns = r->for_ns ? now_ns() + r->for_ns : 0,
		.reason = "gnomon set",
	};
	bool wishes = wish.cpu || wish.wall;
	struct proc_id id;
	int rc = rate_check(d, r, e);

	if (rc)
		return rc;
	if (r->pid <= 0 || proc_id_read(r->pid, &id))
		return error_set(e, -ESRCH, EXIT_TARGET, "there is no process %d", r->pid);
	if (rates_wish(d->rates, &id, RATE_COMMAND, wishes ? &wish : NULL))
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	log_info("process %d: somebody set how often it is sampled", r->pid);
	return 0;
}

static void rate_tell(struct daemon *d, struct control_jvm *j, uint64_t now)
{
	struct rate_now is;

	rates_of(d->rates, j->pid, now, &is);
	j->cpu_ns = is.rate.cpu_ns;
	j->wall_ns = is.rate.wall_ns;
	j->for_ns = is.until_ns > now ? is.until_ns - now : 0;
	j->by = is.by;
	j->step = is.step;
	memcpy(j->reason, is.reason, sizeof(j->reason));
}

static void asked_tell(struct daemon *d, struct control_jvm *j)
{
	const struct proc_id id = {j->pid, j->start};
	const struct asked *asked = asked_find(d, &id);

	j->by_command = asked && asked->wanted;
}

static int state_take(struct daemon *d, struct control_answer *a, struct error *e)
{
	struct control_state *s = &a->state;

	if (census_take(d->census, a))
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	s->cpus = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
	sentry_tell(d->sentry, s);
	if (d->cfg->delivery)
		d->cfg->delivery(d->cfg->ctx, &s->delivery);
	snprintf(s->directory, sizeof(s->directory), "%s", d->cfg->dir);
	snprintf(s->version, sizeof(s->version), "%s", d->cfg->version);
	pthread_mutex_lock(&d->lock);
	s->disk = d->look;
	s->disk_failed = d->look_failed;
	s->keep = d->orders->keep;
	for (uint32_t i = 0; i < s->njvms; i++) {
		rate_tell(d, &a->jvms[i], now_ns());
		asked_tell(d, &a->jvms[i]);
	}
	pthread_mutex_unlock(&d->lock);
	return 0;
}

static int answer(void *ctx, const struct control_request *r, struct control_answer *a,
		  struct error *e)
{
	struct daemon *d = ctx;
	int rc = 0;

	if (r->what == CONTROL_START || r->what == CONTROL_STOP)
		rc = wish_take(d, r->pid, r->what == CONTROL_START, e);
	else if (r->what == CONTROL_SET)
		rc = rate_take(d, r, e);
	else if (r->what != CONTROL_STATUS)
		rc = error_set(e, -EINVAL, EXIT_USAGE, "the daemon does not know what to do");
	return rc ? rc : state_take(d, a, e);
}

/* ---- on the daemon's own --------------------------------------------------------------------- */

/* Who runs commands reads it first: it looks up users, which we may have no call for any more. */
static int orders_read(struct daemon *d, struct daemon_orders *newer, struct error *e)
{
	int rc = d->runner ? runner_reload(d->runner, e) : 0;

	return rc ? rc : d->cfg->reload(d->cfg->ctx, newer, e);
}

static void reload(struct daemon *d)
{
	struct daemon_orders newer = {0}, old;
	struct error e = {0};
	char text[64];

	snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, now_ns() / 1000);
	notify(text);
	if (orders_read(d, &newer, &e)) {
		log_warn("the configuration stays as it was: %s%s%s", e.msg, e.hint[0] ? "; " : "",
			 e.hint);
	} else {
		pthread_mutex_lock(&d->lock);
		old = *d->orders;
		*d->orders = newer;
		pthread_mutex_unlock(&d->lock);
		rules_free(&old.rules);
		sentry_orders(d->sentry, &d->orders->triggers);
		d->pace = (struct retention_pace){0};
		atomic_store(&d->chosen, true);
		log_info("the configuration was read again");
	}
	notify("READY=1");
}

static void status_notify(const struct daemon *d, const struct retention_look *look)
{
	char text[160];
	size_t n = atomic_load(&d->processes);

	snprintf(text, sizeof(text),
		 "STATUS=%zu JVM%s recorded, %" PRIu64 " files of %" PRIu64 " MiB, %" PRIu64
		 " MiB free",
		 n, n == 1 ? "" : "s", look->files, look->bytes >> 20, look->free_bytes >> 20);
	notify(text);
}

static void on_disk(void *ctx, const char *name, uint64_t bytes)
{
	census_disk(ctx, name, bytes);
}

/* What fails is said once, until it works again. */
static void keep(struct daemon *d)
{
	const struct retention_tell tell = {on_disk, d->census};
	struct retention_look look;
	struct error e = {0};
	uint64_t began = now_ns();
	int rc = place_take(&d->place, &e);

	if (!rc)
		rc = retention_apply(&d->orders->keep, &d->age, d->cfg->dir, &tell, &look, &e);
	census_disk_end(d->census);
	if (rc && !d->keep_failed)
		log_warn("%s", e.msg);
	d->keep_failed = rc != 0;
	pthread_mutex_lock(&d->lock);
	if (!rc)
		d->look = look;
	d->look_failed = rc != 0;
	pthread_mutex_unlock(&d->lock);
	if (!rc && look.removed)
		log_debug("%" PRIu64 " files of %" PRIu64 " kB removed, %" PRIu64 " of %" PRIu64
			  " kB stay",
			  look.removed, look.removed_bytes >> 10, look.files, look.bytes >> 10);
	if (!rc)
		status_notify(d, &look);
	retention_paced(&d->pace, began, now_ns());
}

/* What is free is told each second, however seldom all files are looked at. */
static uint64_t space_look(struct daemon *d)
{
	uint64_t bytes;

	if (retention_free(d->cfg->dir, &bytes))
		return UINT64_MAX;
	pthread_mutex_lock(&d->lock);
	d->look.free_bytes = bytes;
	pthread_mutex_unlock(&d->lock);
	return bytes;
}

static void place_look(struct daemon *d)
{
	struct error e = {0};

	if (place_take(&d->place, &e) ||
	    retention_is_due(&d->pace, now_ns(), &d->orders->keep, space_look(d)))
		keep(d);
}

/* The directory may be another user's, who may have put anything there under that name. */
static FILE *temp_create(const char *temp)
{
	int fd;
	FILE *f;

	unlink(temp);
	fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	f = fd < 0 ? NULL : fdopen(fd, "w");
	if (f)
		fchmod(fd, 0644);
	else if (fd >= 0)
		close(fd);
	return f;
}

/* Whole or not at all: it takes its name when it is written. */
static int metrics_to(struct daemon *d, const char *path, const char *temp, struct error *e)
{
	struct control_answer a = {0};
	FILE *f;
	int rc = state_take(d, &a, e);

	if (rc)
		return rc;
	f = temp_create(temp);
	if (f) {
		metrics_write(&a, f);
		rc = ferror(f) ? -EIO : 0;
	}
	control_answer_free(&a);
	if (!f || fclose(f) || rc || rename(temp, path))
		return error_set(e, -EIO, EXIT_OUTPUT, "cannot write '%s': %s", path,
				 strerror(errno));
	return 0;
}

/* What fails is said once, until it works again. */
static void metrics_keep(struct daemon *d, uint64_t now)
{
	struct error e = {0};
	char temp[4096];
	int rc;

	if (snprintf(temp, sizeof(temp), "%s.new", d->cfg->metrics) >= (int)sizeof(temp))
		return;
	rc = metrics_to(d, d->cfg->metrics, temp, &e);
	if (rc && !d->metrics_failed)
		log_warn("%s", e.msg);
	d->metrics_failed = rc != 0;
	d->metrics_ns = now + METRICS_NS;
}

static void triggers_look(struct daemon *d)
{
	struct control_answer a = {0};

	if (sentry_is_idle(d->sentry))
		return;
	if (!census_take(d->census, &a))
		sentry_second(d->sentry, &a);
	control_answer_free(&a);
}

static void turn(struct daemon *d)
{
	uint64_t now;

	age_look(&d->age, clock_ns(CLOCK_REALTIME), clock_ns(CLOCK_BOOTTIME));
	if (atomic_exchange(&d->hangup, false))
		reload(d);
	place_look(d);
	now = now_ns();
	if (d->cfg->metrics && now >= d->metrics_ns)
		metrics_keep(d, now);
	triggers_look(d);
}

static void *daemon_main(void *arg)
{
	struct daemon *d = arg;
	struct pollfd fd = {.fd = d->wake, .events = POLLIN};
	uint64_t n;

	pthread_setname_np(pthread_self(), "gnomon-keeper");
	while (!atomic_load(&d->ends)) {
		if (poll(&fd, 1, TURN_MS) > 0 && read(d->wake, &n, sizeof(n)) < 0)
			continue;
		if (!atomic_load(&d->ends))
			turn(d);
	}
	return NULL;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Without it everything else goes on. */
static void control_begin(struct daemon *d)
{
	struct error e = {0};

	if (d->control && control_start(d->control, &e))
		log_warn("'gnomon status' and others cannot ask this daemon: %s", e.msg);
}

/* Our threads begin when the session's rights are what they will be: they have the same ones. */
static int on_apart(void *ctx, struct error *e)
{
	struct daemon *d = ctx;
	int rc;

	rc = thread_start(&d->thread, 0, daemon_main, d);
	if (rc)
		return error_set(e, rc, EXIT_INTERNAL, "cannot start a thread: %s", strerror(-rc));
	d->keeps = true;
	control_begin(d);
	return 0;
}

static int record(struct daemon *d, struct error *e)
{
	struct session_config c = d->cfg->record;
	int status;

	c.targets = NULL;
	c.ntargets = 0;
	c.follow = is_wanted;
	c.follow_ctx = d;
	c.wall_ns = d->tick_ns;
	c.name = jvm_name;
	c.name_ctx = d;
	c.hooks = (struct session_hooks){
		.apart = on_apart,
		.began = on_began,
		.target = on_target,
		.second = on_second,
		.hangup = on_hangup,
		.chosen = was_chosen,
		.rate = rate_of,
		.watch = on_watch,
		.answers = true,
		.ctx = d,
	};
	return session_run(&c, &status, e);
}

static int threads_run(struct daemon *d, struct error *e)
{
	int rc;

	d->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (d->wake < 0)
		return error_set(e, -errno, EXIT_INTERNAL, "cannot make an eventfd: %s",
				 strerror(errno));
	rc = record(d, e);
	notify("STOPPING=1");
	atomic_store(&d->ends, true);
	wake(d);
	if (d->keeps)
		pthread_join(d->thread, NULL);
	close(d->wake);
	return rc;
}

/* What others can do without is said, and everything else goes on. */
static void beside_open(struct daemon *d)
{
	const struct control_config c = {
		.path = d->cfg->socket, .gid = d->cfg->gid, .answer = answer, .ctx = d};
	struct error e = {0};

	notify_open();
	if (strcmp(c.path, "none") && control_open(&d->control, &c, &e))
		log_warn("'gnomon status' and others cannot ask this daemon: %s", e.msg);
}

/* First of all, since it has what there is then. */
static void runner_begin(struct daemon *d)
{
	const struct runner_config c = {.reload = d->cfg->triggers, .ctx = d->cfg->ctx};
	struct error e = {0};

	if (runner_start(&d->runner, &d->orders->triggers, &c, &e))
		log_warn("commands of triggers are not run: %s", e.msg);
	sentry_runner(d->sentry, d->runner);
}

#define TICK_NS 5000000ull

/*
 * The finest wall interval: the shortest of the configuration, or, where that is longer than
 * TICK_NS, a part of it, since ticks that no process takes cost next to nothing. Not where each
 * tick is an event, which there would be more of.
 */
static uint64_t tick_choose(const struct daemon_config *cfg, const struct rules *rules)
{
	uint64_t ns = cfg->record.wall_ns;

	if (!ns || cfg->record.one_by_one || cfg->record.form.plain)
		return ns;
	for (size_t i = 0; i < rules->n; i++)
		if (rules->v[i].wall_ns && rules->v[i].wall_ns < ns)
			ns = rules->v[i].wall_ns;
	while (ns > TICK_NS && ns % 2 == 0)
		ns /= 2;
	return ns;
}

static void parts_free(struct daemon *d)
{
	census_free(d->census);
	rates_free(d->rates);
	budget_free(d->budget);
	sentry_free(d->sentry);
}

int daemon_run(const struct daemon_config *cfg, struct daemon_orders *orders, struct error *e)
{
	struct daemon *d = calloc(1, sizeof(*d));
	int rc;

	if (d) {
		d->usual = (struct rate){cfg->record.cpu_ns, cfg->record.wall_ns};
		d->tick_ns = tick_choose(cfg, &orders->rules);
		d->census = census_new();
		d->rates = rates_new(&d->usual, d->tick_ns);
		d->limits = orders->budget;
		d->budget = budget_new(&d->limits);
		d->sentry = sentry_new(&(struct sentry_config){.dir = cfg->dir, .rates = d->rates});
	}
	if (!d || !d->sentry || !d->census || !d->rates || !d->budget) {
		if (d)
			parts_free(d);
		free(d);
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	}
	d->cfg = cfg;
	d->place = (struct place){.dir = cfg->dir, .lock = -1, .gid = cfg->gid};
	d->orders = orders;
	runner_begin(d);
	sentry_orders(d->sentry, &orders->triggers);
	pthread_mutex_init(&d->lock, NULL);
	rc = place_take(&d->place, e);
	if (!rc) {
		beside_open(d);
		rc = threads_run(d, e);
		control_stop(d->control);
	}
	runner_stop(d->runner);
	place_leave(&d->place);
	parts_free(d);
	free(d);
	return rc;
}
