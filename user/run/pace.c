/* SPDX-License-Identifier: Apache-2.0 */
#include "run/pace.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "base/log.h"
#include "capture/capture.h"
#include "jfr/types.h"
#include "naming/recorder.h"
#include "run/cpuclocks.h"

/* What is in force for a process, as it was told last. */
struct paced {
	pid_t pid;
	struct rate_now now;
	bool told; /* so that its file has it */
	bool seen;
	UT_hash_handle hh;
};

struct pace {
	struct pace_config cfg;
	struct paced *v;
};

struct pace *pace_new(const struct pace_config *cfg)
{
	struct pace *p = calloc(1, sizeof(*p));

	if (p)
		p->cfg = *cfg;
	return p;
}

static void paced_drop(struct pace *p, struct paced *one)
{
	HASH_DEL(p->v, one);
	free(one);
}

void pace_free(struct pace *p)
{
	struct paced *one, *next;

	if (!p)
		return;
	HASH_ITER(hh, p->v, one, next)
		paced_drop(p, one);
	free(p);
}

static struct paced *paced_get(struct pace *p, pid_t pid)
{
	struct paced *one;

	HASH_FIND_INT(p->v, &pid, one);
	if (one)
		return one;
	one = calloc(1, sizeof(*one));
	if (!one)
		return NULL;
	one->pid = pid;
	HASH_ADD_INT(p->v, pid, one);
	return one;
}

static bool is_same(const struct rate_now *a, const struct rate_now *b)
{
	return a->rate.cpu_ns == b->rate.cpu_ns && a->rate.wall_ns == b->rate.wall_ns &&
	       a->by == b->by && a->step == b->step && !strcmp(a->reason, b->reason);
}

/* False: the file was not told, which is to be tried again. */
static bool rate_set(struct pace *p, pid_t pid, const struct rate_now *now)
{
	struct jfr_rate_change change = {
		.cpu_ns = now->rate.cpu_ns,
		.wall_ns = now->rate.wall_ns,
		.by = rate_by_name(now->by),
		.reason = now->reason,
	};
	struct capture_rate rate = {
		.cpu_ns = now->rate.cpu_ns,
		.wall_ns = now->rate.wall_ns,
		.no_wakers = now->rate.no_wakers,
	};
	bool told = recorder_rate(p->cfg.recorder, pid, &change);
	int rc = capture_rate(p->cfg.capture, pid, &rate);

	if (rc)
		log_debug("process %d is sampled as before: %s", pid, strerror(-rc));
	return told;
}

static void one_poll(struct pace *p, pid_t pid, uint64_t *finest)
{
	struct paced *one = paced_get(p, pid);
	struct rate_now now;

	if (!one)
		return;
	one->seen = true;
	p->cfg.wished(p->cfg.ctx, pid, &now);
	if (now.rate.cpu_ns && (!*finest || now.rate.cpu_ns < *finest))
		*finest = now.rate.cpu_ns;
	if (one->told && is_same(&now, &one->now))
		return;
	one->told = rate_set(p, pid, &now);
	one->now = now;
}

static void ended_drop(struct pace *p)
{
	struct paced *one, *next;

	HASH_ITER(hh, p->v, one, next) {
		if (!one->seen)
			paced_drop(p, one);
		else
			one->seen = false;
	}
}

void pace_poll(struct pace *p)
{
	uint64_t finest = 0;
	pid_t *pids = NULL;
	size_t n = 0;

	if (capture_targets(p->cfg.capture, &pids, &n))
		return;
	for (size_t i = 0; i < n; i++)
		one_poll(p, pids[i], &finest);
	free(pids);
	ended_drop(p);
	cpuclocks_finest(p->cfg.clocks, finest);
}
