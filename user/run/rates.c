/* SPDX-License-Identifier: Apache-2.0 */
#include "run/rates.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <uthash.h>

#include "capture/capture.h"

#define ENTRIES_MANY 2048 /* then those of processes that have ended are dropped */

struct entry {
	pid_t pid;
	struct proc_id id;
	struct rate_wish wishes[RATE_WISHES];
	enum rate_step step;
	char why[128]; /* of the step */
	UT_hash_handle hh;
};

struct rates {
	pthread_mutex_t lock;
	struct rate usual;
	uint64_t tick_ns;
	struct entry *entries;
};

const char *rate_by_name(enum rate_by by)
{
	static const char *const names[] = {"configuration", "trigger", "command", "budget"};

	return names[by];
}

const char *rate_step_name(enum rate_step s)
{
	static const char *const names[RATE_STEPS] = {
		"everything",
		"wall intervals twice as long",
		"wall intervals four times as long",
		"wall intervals sixteen times as long",
		"wall intervals sixteen times, CPU intervals twice as long",
		"wall intervals sixteen times, CPU intervals four times as long",
		"wall and CPU intervals sixteen times as long, no wakers",
		"wall intervals 64 times, CPU intervals sixteen times as long, no wakers",
		"no wall samples, CPU intervals sixteen times as long",
		"nothing",
	};

	return names[s];
}

struct rate rate_less(struct rate full, enum rate_step s)
{
	static const struct {
		uint8_t wall, cpu; /* times as long; 0: none */
	} steps[RATE_STEPS] = {
		[RATE_FULL] = {1, 1},	  [RATE_WALL_2] = {2, 1},    [RATE_WALL_4] = {4, 1},
		[RATE_WALL_16] = {16, 1}, [RATE_CPU_2] = {16, 2},    [RATE_CPU_4] = {16, 4},
		[RATE_ALL_16] = {16, 16}, [RATE_WALL_64] = {64, 16}, [RATE_CPU_ONLY] = {0, 16},
		[RATE_OFF] = {0, 0},
	};

	return (struct rate){.cpu_ns = full.cpu_ns * steps[s].cpu,
			     .wall_ns = full.wall_ns * steps[s].wall,
			     .no_wakers = full.no_wakers || s >= RATE_ALL_16};
}

struct rates *rates_new(const struct rate *usual, uint64_t tick_ns)
{
	struct rates *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	pthread_mutex_init(&r->lock, NULL);
	r->usual = *usual;
	r->tick_ns = tick_ns;
	return r;
}

static void entry_drop(struct rates *r, struct entry *e)
{
	HASH_DEL(r->entries, e);
	free(e);
}

void rates_free(struct rates *r)
{
	struct entry *e, *next;

	if (!r)
		return;
	HASH_ITER(hh, r->entries, e, next)
		entry_drop(r, e);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

static struct entry *entry_find(struct rates *r, pid_t pid)
{
	struct entry *e;

	HASH_FIND_INT(r->entries, &pid, e);
	return e;
}

static void ended_drop(struct rates *r)
{
	struct entry *e, *next;

	HASH_ITER(hh, r->entries, e, next)
		if (!proc_id_alive(&e->id))
			entry_drop(r, e);
}

static struct entry *entry_new(struct rates *r, const struct proc_id *id)
{
	struct entry *e;

	if (HASH_COUNT(r->entries) >= ENTRIES_MANY)
		ended_drop(r);
	e = calloc(1, sizeof(*e));
	if (!e)
		return NULL;
	e->pid = id->pid;
	e->id = *id;
	HASH_ADD_INT(r->entries, pid, e);
	return e;
}

/* That of this very process; one of an earlier process with its number goes. */
static struct entry *entry_of(struct rates *r, const struct proc_id *id, bool make)
{
	struct entry *e = entry_find(r, id->pid);

	if (e && e->id.start != id->start) {
		entry_drop(r, e);
		e = NULL;
	}
	return e || !make ? e : entry_new(r, id);
}

int rates_wish(struct rates *r, const struct proc_id *id, enum rate_by by,
	       const struct rate_wish *w)
{
	static const struct rate_wish none;
	struct entry *e;

	pthread_mutex_lock(&r->lock);
	e = entry_of(r, id, w);
	if (e)
		e->wishes[by] = w ? *w : none;
	pthread_mutex_unlock(&r->lock);
	return w && !e ? -ENOMEM : 0;
}

int rates_limit(struct rates *r, const struct proc_id *id, enum rate_step step, const char *reason)
{
	struct entry *e;

	pthread_mutex_lock(&r->lock);
	e = entry_of(r, id, step != RATE_FULL);
	if (e) {
		e->step = step;
		snprintf(e->why, sizeof(e->why), "%s", reason);
	}
	pthread_mutex_unlock(&r->lock);
	return step != RATE_FULL && !e ? -ENOMEM : 0;
}

static bool is_in_force(const struct rate_wish *w, uint64_t now_ns)
{
	return (w->cpu || w->wall) && (!w->until_ns || now_ns < w->until_ns);
}

/* Later wishes have more to say than earlier ones. */
static void wishes_follow(const struct entry *e, uint64_t now_ns, struct rate_now *out)
{
	for (int by = 0; by < RATE_WISHES; by++) {
		const struct rate_wish *w = &e->wishes[by];

		if (!is_in_force(w, now_ns))
			continue;
		if (w->cpu)
			out->rate.cpu_ns = w->rate.cpu_ns;
		if (w->wall)
			out->rate.wall_ns = w->rate.wall_ns;
		out->by = (enum rate_by)by;
		out->until_ns = w->until_ns;
		snprintf(out->reason, sizeof(out->reason), "%s", w->reason);
	}
}

void rates_of(struct rates *r, pid_t pid, uint64_t now_ns, struct rate_now *out)
{
	const struct entry *e;

	pthread_mutex_lock(&r->lock);
	*out = (struct rate_now){.rate = r->usual};
	e = entry_find(r, pid);
	if (e)
		wishes_follow(e, now_ns, out);
	if (e && e->step) {
		out->rate = rate_less(out->rate, e->step);
		out->step = e->step;
		out->by = RATE_BUDGET;
		snprintf(out->reason, sizeof(out->reason), "%s%s", e->why,
			 out->rate.no_wakers ? "; wakers are not told" : "");
	}
	out->rate.wall_ns = capture_wall_of(r->tick_ns, out->rate.wall_ns);
	pthread_mutex_unlock(&r->lock);
}
