/* SPDX-License-Identifier: Apache-2.0 */
#include "run/lookout.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "target/jvmwatch.h"

#define LOOK_NS	  1000000000ull
#define STOP_NS	  2000000000ull
#define FOUND_MAX 256 /* found and not taken: others are found again at the next look */

struct found {
	struct lookout_found f;
	struct found *next;
};

/* What the thread is to tell its watch. */
struct order {
	pid_t pid; /* 0: there is room */
	uint64_t key;
};

struct lookout {
	lookout_fn wants;
	void *ctx;
	struct cgroup_mounts mounts;
	struct jvmwatch *watch; /* the thread's */
	bool all;		/* this look tells all */
	pthread_t thread;
	pthread_cond_t ends;

	pthread_mutex_t lock; /* guards what follows; held only while that is changed */
	struct found *first, **last;
	size_t nfound;
	struct order *orders;
	size_t norders;
	bool again_all, stop, ended;
	uint64_t stop_ns; /* when it was told to */
};

static bool on_jvm(const struct jvm_proc *j, void *arg)
{
	struct lookout *l = arg;
	bool wanted = l->wants(l->ctx, &l->mounts, j), room;
	struct found *f;

	if (!wanted && !l->all)
		return j->cmd.kind != JAVA_MAIN_ARGFILE; /* it has yet to say what it runs */
	f = malloc(sizeof(*f));
	if (!f)
		return false;
	*f = (struct found){.f = {.jvm = *j, .wanted = wanted}};
	pthread_mutex_lock(&l->lock);
	room = l->nfound < FOUND_MAX;
	if (room) {
		*l->last = f;
		l->last = &f->next;
		l->nfound++;
	}
	pthread_mutex_unlock(&l->lock);
	if (!room)
		free(f);
	return room;
}

static void orders_do(struct lookout *l)
{
	for (size_t i = 0; i < l->norders; i++) {
		const struct order *o = &l->orders[i];

		if (o->pid)
			jvmwatch_put_off(l->watch, o->pid, o->key);
		else
			jvmwatch_room(l->watch, o->key);
	}
	l->norders = 0;
}

/* False: it is to end. */
static bool pause_until(struct lookout *l, uint64_t ns)
{
	struct timespec ts = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
	bool stop;

	pthread_mutex_lock(&l->lock);
	while (!l->stop && !l->again_all && now_ns() < ns)
		pthread_cond_timedwait(&l->ends, &l->lock, &ts);
	orders_do(l);
	l->all = l->again_all;
	l->again_all = false;
	if (l->all)
		jvmwatch_again_all(l->watch);
	stop = l->stop;
	pthread_mutex_unlock(&l->lock);
	return !stop;
}

static void *lookout_main(void *arg)
{
	struct lookout *l = arg;
	uint64_t next = now_ns();

	pthread_setname_np(pthread_self(), "gnomon-lookout");
	while (pause_until(l, next)) {
		next = now_ns() + LOOK_NS;
		jvmwatch_look(l->watch, now_ns(), on_jvm, l);
	}
	pthread_mutex_lock(&l->lock);
	l->ended = true;
	pthread_cond_signal(&l->ends);
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

static void lookout_free(struct lookout *l)
{
	for (struct found *f = l->first, *next; f; f = next) {
		next = f->next;
		free(f);
	}
	free(l->orders);
	jvmwatch_free(l->watch);
	pthread_cond_destroy(&l->ends);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

int lookout_start(struct lookout **out, lookout_fn wants, void *ctx, struct error *e)
{
	struct lookout *l = calloc(1, sizeof(*l));
	pthread_condattr_t attr;
	int rc;

	if (!l)
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	l->wants = wants;
	l->ctx = ctx;
	l->last = &l->first;
	l->watch = jvmwatch_new();
	cgroup_mounts_read(&l->mounts);
	pthread_mutex_init(&l->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&l->ends, &attr);
	pthread_condattr_destroy(&attr);
	rc = l->watch ? pthread_create(&l->thread, NULL, lookout_main, l) : ENOMEM;
	if (rc) {
		lookout_free(l);
		return error_set(e, -rc, EXIT_INTERNAL, "cannot look for JVMs: %s", strerror(rc));
	}
	*out = l;
	return 0;
}

void lookout_end(struct lookout *l)
{
	if (!l)
		return;
	pthread_mutex_lock(&l->lock);
	if (!l->stop)
		l->stop_ns = now_ns();
	l->stop = true;
	pthread_cond_signal(&l->ends);
	pthread_mutex_unlock(&l->lock);
}

void lookout_stop(struct lookout *l)
{
	struct timespec ts;
	uint64_t until;
	bool ended;

	if (!l)
		return;
	lookout_end(l);
	until = l->stop_ns + STOP_NS;
	ts = (struct timespec){(time_t)(until / 1000000000u), (long)(until % 1000000000u)};
	pthread_mutex_lock(&l->lock);
	while (!l->ended && now_ns() < until)
		pthread_cond_timedwait(&l->ends, &l->lock, &ts);
	ended = l->ended;
	pthread_mutex_unlock(&l->lock);
	if (!ended) {
		pthread_detach(l->thread);
		return;
	}
	pthread_join(l->thread, NULL);
	lookout_free(l);
}

bool lookout_take(struct lookout *l, struct lookout_found *out)
{
	struct found *f;

	pthread_mutex_lock(&l->lock);
	f = l->first;
	if (f) {
		l->first = f->next;
		if (!l->first)
			l->last = &l->first;
		l->nfound--;
	}
	pthread_mutex_unlock(&l->lock);
	if (!f)
		return false;
	*out = f->f;
	free(f);
	return true;
}

static void order_add(struct lookout *l, pid_t pid, uint64_t key)
{
	struct order *v;

	pthread_mutex_lock(&l->lock);
	v = realloc(l->orders, (l->norders + 1) * sizeof(*v));
	if (v) {
		l->orders = v;
		v[l->norders++] = (struct order){pid, key};
	}
	pthread_mutex_unlock(&l->lock);
}

void lookout_put_off(struct lookout *l, pid_t pid, uint64_t key)
{
	order_add(l, pid, key);
}

void lookout_room(struct lookout *l, uint64_t key)
{
	order_add(l, 0, key);
}

void lookout_all(struct lookout *l)
{
	pthread_mutex_lock(&l->lock);
	l->again_all = true;
	pthread_cond_signal(&l->ends);
	pthread_mutex_unlock(&l->lock);
}
