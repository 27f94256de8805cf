/* SPDX-License-Identifier: Apache-2.0 */
#include "run/choice.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "base/log.h"
#include "base/tasks.h"
#include "capture/capture.h"
#include "kern/abi.h"
#include "naming/recorder.h"

#define DRAW_NS	   250000000ull
#define SHIFT_MIN  3
#define AHEAD	   2 /* threads are chosen for so many draws before these begin */
#define THREADS_NS 1000000000ull

/* A process with the threads that it had lately, and the draws that these were chosen for. */
struct choice_proc {
	pid_t tgid;
	pid_t *tids;
	size_t live, eligible; /* the length of tids is `eligible` */
	uint64_t read_ns;
	uint64_t until; /* the first draw for which nothing is chosen yet */
	struct recorder_choice said;
	bool seen; /* this poll has met the process */
	UT_hash_handle hh;
};

struct choice {
	struct choice_config cfg;
	struct choice_proc *procs;
	uint64_t accounted; /* the last draw for which an accounting was asked for */
};

uint32_t choice_shift(uint64_t wall_ns, uint64_t threads)
{
	uint64_t least =
		threads * CHOICE_THREAD_NS > DRAW_NS ? threads * CHOICE_THREAD_NS : DRAW_NS;
	uint32_t shift = SHIFT_MIN;

	while (wall_ns << shift < least)
		shift++;
	return shift;
}

static int hash_compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

uint32_t choice_limit(uint32_t *hashes, size_t count, size_t n)
{
	if (count <= n)
		return UINT32_MAX;
	qsort(hashes, count, sizeof(*hashes), hash_compare);
	return hashes[n - 1];
}

int choice_open(struct choice **out, const struct choice_config *cfg, struct error *e)
{
	struct choice *c = calloc(1, sizeof(*c));

	if (!c)
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	c->cfg = *cfg;
	*out = c;
	return 0;
}

static void proc_drop(struct choice *c, struct choice_proc *p)
{
	HASH_DEL(c->procs, p);
	free(p->tids);
	free(p);
}

void choice_close(struct choice *c)
{
	struct choice_proc *p, *tmp;

	if (!c)
		return;
	HASH_ITER(hh, c->procs, p, tmp)
		proc_drop(c, p);
	free(c);
}

static void threads_read(const struct choice *c, struct choice_proc *p, uint64_t now_ns)
{
	size_t n = 0, live;
	pid_t *tids;

	if (tasks_read(p->tgid, &tids, &live))
		return;
	for (size_t i = 0; i < live; i++)
		if (!c->cfg.filtered || capture_wanted(c->cfg.capture, tids[i]))
			tids[n++] = tids[i];
	free(p->tids);
	p->tids = tids;
	p->live = live;
	p->eligible = n;
	p->read_ns = now_ns;
}

/*
 * Tells the recording of the choice if the numbers have changed: what was told holds until the
 * next.
 */
static void draw_say(struct choice *c, struct choice_proc *p, uint64_t draw)
{
	struct recorder_choice now = {
		.draw = draw,
		.time_ns = c->cfg.start_ns + (draw << c->cfg.shift) * c->cfg.wall_ns,
		.live = (uint32_t)p->live,
		.eligible = (uint32_t)p->eligible,
		.sampled = p->eligible < c->cfg.n ? (uint32_t)p->eligible : c->cfg.n,
	};

	if (now.live == p->said.live && now.eligible == p->said.eligible)
		return;
	p->said = now;
	recorder_choice(c->cfg.recorder, p->tgid, &now);
}

static void draw_make(struct choice *c, struct choice_proc *p, uint64_t draw)
{
	uint32_t *hashes = calloc(p->eligible + 1, sizeof(*hashes)), limit;
	int rc;

	if (!hashes)
		return;
	for (size_t i = 0; i < p->eligible; i++)
		hashes[i] = gn_thread_hash((uint32_t)p->tids[i], draw);
	limit = choice_limit(hashes, p->eligible, c->cfg.n);
	free(hashes);
	rc = capture_limit(c->cfg.capture, p->tgid, draw, limit);
	if (rc)
		log_debug("no choice of threads of process %d: %s", p->tgid, strerror(-rc));
	else
		draw_say(c, p, draw);
}

static struct choice_proc *proc_get(struct choice *c, pid_t tgid)
{
	struct choice_proc *p;

	HASH_FIND_INT(c->procs, &tgid, p);
	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->tgid = tgid;
	HASH_ADD_INT(c->procs, tgid, p);
	return p;
}

/* Chooses for the draw `now` and the next AHEAD ones, as far as that has not been done. */
static void proc_choose(struct choice *c, pid_t tgid, uint64_t now, uint64_t now_ns)
{
	struct choice_proc *p = proc_get(c, tgid);

	if (!p)
		return;
	p->seen = true;
	if (p->until < now)
		p->until = now;
	if (p->until <= now + AHEAD && now_ns - p->read_ns >= THREADS_NS)
		threads_read(c, p, now_ns);
	for (; p->until <= now + AHEAD; p->until++)
		draw_make(c, p, p->until);
}

static void procs_forget(struct choice *c)
{
	struct choice_proc *p, *tmp;

	HASH_ITER(hh, c->procs, p, tmp) {
		if (!p->seen)
			proc_drop(c, p);
		else
			p->seen = false;
	}
}

bool choice_poll(struct choice *c, uint64_t now_ns)
{
	uint64_t tick = gn_ticks_until(now_ns - c->cfg.start_ns, c->cfg.wall_ns);
	uint64_t draw = tick >> c->cfg.shift, next;
	pid_t *tgids = NULL;
	size_t n = 0;

	if (!capture_targets(c->cfg.capture, &tgids, &n)) {
		for (size_t i = 0; i < n; i++)
			proc_choose(c, tgids[i], draw, now_ns);
		procs_forget(c);
	}
	free(tgids);
	next = (tick + gn_draw_lead(c->cfg.shift)) >> c->cfg.shift;
	if (c->accounted >= next)
		return false;
	c->accounted = next;
	return true;
}
