/* SPDX-License-Identifier: Apache-2.0 */
/* The processes that are recorded, and how often each is. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "base/log.h"
#include "base/tasks.h"
#include "capture/capture_int.h"
#include "capture/iterator.h"

static int tgid_keep(struct capture *c, pid_t tgid)
{
	pid_t *tgids;
	int rc = 0;

	pthread_mutex_lock(&c->lock);
	tgids = realloc(c->tgids, (c->ntgids + 1) * sizeof(*tgids));
	if (tgids) {
		c->tgids = tgids;
		c->tgids[c->ntgids++] = tgid;
		c->changes++;
	} else {
		rc = -ENOMEM;
	}
	pthread_mutex_unlock(&c->lock);
	return rc;
}

static void tgid_forget(struct capture *c, pid_t tgid)
{
	pthread_mutex_lock(&c->lock);
	for (size_t i = 0; i < c->ntgids; i++)
		if (c->tgids[i] == tgid)
			c->tgids[i--] = c->tgids[--c->ntgids];
	c->changes++;
	pthread_mutex_unlock(&c->lock);
}

static struct gn_rate rate_of(const struct capture *c, pid_t tgid)
{
	struct gn_proc proc;

	if (bpf_map_lookup_elem(bpf_map__fd(c->skel->maps.procs), &tgid, &proc))
		return (struct gn_rate){.level = GN_LEVEL_NONE};
	return proc.rate;
}

struct skips {
	uint64_t with[GN_SKIP_WORDS], without[GN_SKIP_WORDS];
};

static void skip_add(struct skips *s, uint32_t tgid, bool skipped)
{
	(skipped ? s->without : s->with)[gn_skip_word(tgid)] |= gn_skip_bit(tgid);
}

/* Where two have the same bit it is as the one of them wants it that is looked at. */
static void skips_store(uint64_t *to, const struct skips *s)
{
	for (unsigned int i = 0; i < GN_SKIP_WORDS; i++)
		__atomic_store_n(&to[i], s->without[i] & ~s->with[i], __ATOMIC_RELEASE);
}

/*
 * Whose switches nobody looks at, and whose wakers. In a PID namespace of our own we do not know
 * their numbers.
 */
static void skips_set(struct capture *c)
{
	struct skips switches = {0}, wakers = {0};

	if (!c->rates || c->skel->bss->gn_pidns_level)
		return;
	for (size_t i = 0; i < c->ntgids; i++) {
		uint32_t tgid = (uint32_t)c->tgids[i];
		struct gn_rate rate = rate_of(c, c->tgids[i]);
		bool no_wall = rate.level == GN_LEVEL_NONE;

		skip_add(&switches, tgid, no_wall);
		skip_add(&wakers, tgid, no_wall || rate.no_wakers);
	}
	skips_store((uint64_t *)c->skel->bss->gn_skips, &switches);
	skips_store((uint64_t *)c->skel->bss->gn_waker_skips, &wakers);
}

/*
 * Threads look at their process's again; and which ticks are visited. Whoever waits for the next of
 * them would wait for too long where they have become more.
 */
static void rates_changed(struct capture *c)
{
	uint32_t least = GN_LEVEL_MAX, before = capture_visit_level(c);

	if (!c->rates)
		return;
	for (size_t i = 0; i < c->ntgids; i++) {
		uint32_t level = rate_of(c, c->tgids[i]).level;

		if (level < least)
			least = level;
	}
	__atomic_store_n(&c->skel->bss->gn_visit_level, least, __ATOMIC_RELAXED);
	__atomic_fetch_add(&c->skel->data->gn_rate_gen, 1, __ATOMIC_RELEASE);
	if (least < before && c->sooner)
		c->sooner(c->sooner_ctx);
}

static void target_delete(struct capture *c, pid_t tgid)
{
	bpf_map_delete_elem(bpf_map__fd(c->skel->maps.procs), &tgid);
	__atomic_fetch_add(&c->skel->data->gn_targets_gen, 1, __ATOMIC_RELEASE);
}

int capture_add(struct capture *c, pid_t tgid, struct error *e)
{
	struct gn_proc proc = {.rate.cpu_ns = c->skel->rodata->gn_cpu_ns, .scan = c->scans + 1};

	if (bpf_map_update_elem(bpf_map__fd(c->skel->maps.procs), &tgid, &proc, BPF_ANY))
		return error_set(e, -errno, EXIT_KERNEL, "cannot add process %d: %s", tgid,
				 strerror(errno));
	tgid_forget(c, tgid);
	if (tgid_keep(c, tgid)) {
		target_delete(c, tgid);
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	}
	rates_changed(c);
	skips_set(c);
	return 0;
}

void capture_remove(struct capture *c, pid_t tgid)
{
	tgid_forget(c, tgid);
	target_delete(c, tgid);
	rates_changed(c);
	skips_set(c);
}

uint64_t capture_wall_of(uint64_t tick_ns, uint64_t ns)
{
	uint32_t level = gn_level_of(ns, tick_ns);

	return level == GN_LEVEL_NONE ? 0 : tick_ns << level;
}

uint64_t capture_switches_of(const struct capture *c, pid_t tgid)
{
	struct gn_proc proc;

	if (bpf_map_lookup_elem(bpf_map__fd(c->skel->maps.procs), &tgid, &proc))
		return 0;
	return proc.switches;
}

void capture_on_sooner(struct capture *c, void (*fn)(void *ctx), void *ctx)
{
	c->sooner = fn;
	c->sooner_ctx = ctx;
}

uint32_t capture_visit_level(const struct capture *c)
{
	return __atomic_load_n(&c->skel->bss->gn_visit_level, __ATOMIC_RELAXED);
}

uint64_t capture_rate_changes(const struct capture *c)
{
	return __atomic_load_n(&c->skel->data->gn_rate_gen, __ATOMIC_RELAXED);
}

int capture_targets(struct capture *c, pid_t **out, size_t *n)
{
	*n = c->ntgids;
	*out = calloc(*n + 1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	memcpy(*out, c->tgids, *n * sizeof(**out));
	return 0;
}

void capture_ticks_follow(struct capture *c)
{
	pid_t *v;

	if (c->changes == c->ticks_changes || pthread_mutex_trylock(&c->lock))
		return;
	v = realloc(c->ticks_tgids, (c->ntgids + 1) * sizeof(*v));
	if (v) {
		c->ticks_tgids = v;
		memcpy(v, c->tgids, c->ntgids * sizeof(*v));
		c->nticks_tgids = c->ntgids;
		c->ticks_changes = c->changes;
	}
	pthread_mutex_unlock(&c->lock);
}

/* Reading and then writing the entry is safe: only this thread writes it. */
int capture_limit(struct capture *c, pid_t tgid, uint64_t draw, uint32_t limit)
{
	int fd = bpf_map__fd(c->skel->maps.procs);
	struct gn_proc proc;

	if (bpf_map_lookup_elem(fd, &tgid, &proc))
		return -errno;
	proc.limit[draw % GN_DRAWS] = limit;
	return bpf_map_update_elem(fd, &tgid, &proc, BPF_EXIST) ? -errno : 0;
}

bool capture_wanted(struct capture *c, pid_t tid)
{
	__u8 one;

	return !bpf_map_lookup_elem(bpf_map__fd(c->skel->maps.wanted), &tid, &one);
}

int capture_want(struct capture *c, pid_t tid, bool wanted)
{
	int fd = bpf_map__fd(c->skel->maps.wanted);
	__u8 one = 1;

	if (wanted)
		return bpf_map_update_elem(fd, &tid, &one, BPF_ANY) ? -errno : 0;
	return bpf_map_delete_elem(fd, &tid) ? -errno : 0;
}

int capture_iterate(const struct capture *c, struct bpf_program *prog, const pid_t *tgids, size_t n)
{
	int rc = 0;

	if (!c->can_pick)
		return iterator_all(prog);
	for (size_t i = 0; i < n; i++) {
		int one = iterator_of(prog, tgids[i]);

		if (one != -ESRCH && !rc)
			rc = one;
	}
	return rc;
}

/* Its threads that have run meanwhile are found as they are now. */
static void wall_resume(struct capture *c, pid_t tgid)
{
	int rc;

	c->skel->bss->gn_resumed = (uint32_t)tgid;
	rc = capture_iterate(c, c->skel->progs.task_scan, &tgid, 1);
	c->skel->bss->gn_resumed = 0;
	if (rc)
		log_debug("process %d: its threads are not found: %s", tgid, strerror(-rc));
	c->remote_due = true; /* who fell asleep meanwhile has no stack */
}

/*
 * Where there were no wall samples, or will be none, the time until now is accounted for first;
 * and once there are none, each thread gets to know that, before its switches are not looked at.
 * Where CPU samples begin, what was used before them is in none: threads are young again.
 */
int capture_rate(struct capture *c, pid_t tgid, struct capture_rate *rate)
{
	uint64_t tick = c->skel->rodata->gn_wall_ns;
	uint32_t level = gn_level_of(rate->wall_ns, tick), before;
	uint64_t cpu_ns = c->skel->rodata->gn_cpu_ns ? rate->cpu_ns : 0;
	int fd = bpf_map__fd(c->skel->maps.procs);
	struct gn_proc proc;

	if (!c->rates || bpf_map_lookup_elem(fd, &tgid, &proc))
		return c->rates ? -errno : -EOPNOTSUPP;
	if ((level == GN_LEVEL_NONE) != (proc.rate.level == GN_LEVEL_NONE) || !cpu_ns)
		capture_account_of(c, tgid);
	if (cpu_ns && !proc.rate.cpu_ns)
		c->skel->data->gn_clock_gen++;
	before = proc.rate.level;
	proc.rate =
		(struct gn_rate){.cpu_ns = cpu_ns, .level = level, .no_wakers = rate->no_wakers};
	if (bpf_map_update_elem(fd, &tgid, &proc, BPF_EXIST))
		return -errno;
	rate->wall_ns = capture_wall_of(tick, rate->wall_ns);
	rates_changed(c);
	if (before != GN_LEVEL_NONE && level == GN_LEVEL_NONE)
		capture_account_of(c, tgid);
	skips_set(c);
	if (before == GN_LEVEL_NONE && level != GN_LEVEL_NONE)
		wall_resume(c, tgid);
	return 0;
}

void capture_let_go(struct capture *c, pid_t tgid)
{
	int rc;

	capture_account_of(c, tgid);
	capture_remove(c, tgid);
	rc = capture_iterate(c, c->skel->progs.task_leave, &tgid, 1);
	if (rc)
		log_debug("process %d is still looked at when it switches: %s", tgid,
			  strerror(-rc));
}

static uint64_t threads_sum(const pid_t *tgids, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += tasks_count(tgids[i]);
	return sum;
}

uint64_t capture_threads(const struct capture *c)
{
	return threads_sum(c->tgids, c->ntgids);
}

uint64_t capture_tick_threads(struct capture *c)
{
	capture_ticks_follow(c);
	return threads_sum(c->ticks_tgids, c->nticks_tgids);
}

int capture_switches(struct capture *c)
{
	return capture_iterate(c, c->skel->progs.switches_scan, c->tgids, c->ntgids);
}
