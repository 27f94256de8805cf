/* SPDX-License-Identifier: Apache-2.0 */
#include "run/daemon.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "run/notify.h"
#include "run/place.h"

#define TURN_MS	  1000
#define KEEP_NS	  5000000000ull	 /* the directory is looked at so often */
#define KEEP_PART 200		 /* or, where that takes long, so many times as long */
#define ALIVE_NS  10000000000ull /* a session that has not turned for so long hangs */

struct daemon {
	const struct daemon_config *cfg;
	struct place place;
	pthread_t thread;
	int wake; /* eventfd: SIGHUP, or the end */
	_Atomic bool hangup, chosen, ends;
	_Atomic uint64_t alive_ns; /* the session's last turn */
	_Atomic size_t processes;
	uint64_t keep_ns;     /* when the directory is to be looked at */
	bool keep_failed;     /* and that was said */
	pthread_mutex_t lock; /* guards the orders, held while a JVM is held against them */
	struct daemon_orders *orders;
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

	atomic_store(&d->alive_ns, now_ns());
	log_info("recording into '%s'", d->cfg->dir);
	notify("READY=1");
}

static void on_second(void *ctx, const struct session_now *now)
{
	struct daemon *d = ctx;

	atomic_store(&d->alive_ns, now_ns());
	atomic_store(&d->processes, now->processes);
}

static void on_hangup(void *ctx)
{
	struct daemon *d = ctx;

	atomic_store(&d->hangup, true);
	wake(d);
}

static bool was_chosen(void *ctx)
{
	struct daemon *d = ctx;

	return atomic_exchange(&d->chosen, false);
}

/* ---- on the lookout's ------------------------------------------------------------------------ */

static bool is_wanted(void *ctx, const struct cgroup_mounts *mounts, const struct jvm_proc *j)
{
	struct daemon *d = ctx;
	bool wanted;

	pthread_mutex_lock(&d->lock);
	wanted = rules_want(&d->orders->rules, mounts, j);
	pthread_mutex_unlock(&d->lock);
	return wanted;
}

/* ---- on the daemon's own --------------------------------------------------------------------- */

static void reload(struct daemon *d)
{
	struct daemon_orders newer = {0}, old;
	struct error e = {0};
	char text[64];

	snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, now_ns() / 1000);
	notify(text);
	if (d->cfg->reload(d->cfg->ctx, &newer, &e)) {
		log_warn("the configuration stays as it was: %s%s%s", e.msg, e.hint[0] ? "; " : "",
			 e.hint);
	} else {
		pthread_mutex_lock(&d->lock);
		old = *d->orders;
		*d->orders = newer;
		pthread_mutex_unlock(&d->lock);
		rules_free(&old.rules);
		d->keep_ns = 0;
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

/* What fails is said once, until it works again. */
static void keep(struct daemon *d, uint64_t now)
{
	struct retention_look look;
	struct error e = {0};
	int rc = place_take(&d->place, &e);
	uint64_t took;

	if (!rc)
		rc = retention_apply(&d->orders->keep, d->cfg->dir, &look, &e);
	if (rc && !d->keep_failed)
		log_warn("%s", e.msg);
	d->keep_failed = rc != 0;
	if (!rc && look.removed)
		log_debug("%" PRIu64 " files of %" PRIu64 " kB removed, %" PRIu64 " of %" PRIu64
			  " kB stay",
			  look.removed, look.removed_bytes >> 10, look.files, look.bytes >> 10);
	if (!rc)
		status_notify(d, &look);
	took = now_ns() - now;
	d->keep_ns = now + (took * KEEP_PART > KEEP_NS ? took * KEEP_PART : KEEP_NS);
}

static void turn(struct daemon *d)
{
	struct error e = {0};
	uint64_t now = now_ns();

	if (atomic_exchange(&d->hangup, false))
		reload(d);
	if (now - atomic_load(&d->alive_ns) < ALIVE_NS)
		notify("WATCHDOG=1");
	if (place_take(&d->place, &e) || now >= d->keep_ns)
		keep(d, now);
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

static int record(struct daemon *d, struct error *e)
{
	struct session_config c = d->cfg->record;
	int status;

	c.targets = NULL;
	c.ntargets = 0;
	c.follow = is_wanted;
	c.follow_ctx = d;
	c.name = d->cfg->name;
	c.name_ctx = d->cfg->name_ctx;
	c.hooks = (struct session_hooks){
		.began = on_began,
		.second = on_second,
		.hangup = on_hangup,
		.chosen = was_chosen,
		.ctx = d,
	};
	return session_run(&c, &status, e);
}

/* All signals stay with the session's thread. */
static int thread_start(struct daemon *d)
{
	sigset_t all, old;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&d->thread, NULL, daemon_main, d);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return rc;
}

static int threads_run(struct daemon *d, struct error *e)
{
	int rc;

	d->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (d->wake < 0)
		return error_set(e, -errno, EXIT_INTERNAL, "cannot make an eventfd: %s",
				 strerror(errno));
	/* loading BPF programs may take a while, and is no reason to be taken for dead */
	atomic_store(&d->alive_ns, now_ns());
	rc = thread_start(d);
	if (rc) {
		close(d->wake);
		return error_set(e, -rc, EXIT_INTERNAL, "cannot start a thread: %s", strerror(rc));
	}
	rc = record(d, e);
	notify("STOPPING=1");
	atomic_store(&d->ends, true);
	wake(d);
	pthread_join(d->thread, NULL);
	close(d->wake);
	return rc;
}

int daemon_run(const struct daemon_config *cfg, struct daemon_orders *orders, struct error *e)
{
	struct daemon d = {
		.cfg = cfg,
		.place = {.dir = cfg->dir, .lock = -1},
		.orders = orders,
		.lock = PTHREAD_MUTEX_INITIALIZER,
	};
	int rc = place_take(&d.place, e);

	if (!rc)
		rc = threads_run(&d, e);
	place_leave(&d.place);
	return rc;
}
