/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/programs.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/clock.h"
#include "base/fds.h"
#include "base/log.h"
#include "gnomon.skel.h"
#include "kern/abi.h"

enum part_state { PART_NONE, PART_LOADING, PART_READY, PART_FAILED };

struct part {
	struct programs *of;
	enum programs_part which;
	struct gnomon *skel;
	/* of those without a skeleton: descriptors of its programs, and of the first one's link;
	 * -1 none */
	int kept[2], link;
	pthread_t thread;
	bool threaded; /* `thread` is to be joined */
	int rc;
	_Atomic enum part_state state;
};

struct programs {
	struct gnomon *base;
	const char *btf;
	pthread_mutex_t lock; /* of programs_begin() */
	struct part parts[PROGRAMS_PARTS];
	uint32_t wanted;	/* a bit for each of heavy[] */
	bool sleeping;		/* PROGRAMS_WAKING is not to be attached now */
	pthread_mutex_t waking; /* of that, and of what the part keeps */
};

static const struct {
	enum programs_part part;
	const char *name;
} heavy[] = {
	{PROGRAMS_SWITCH, "wall_switch"}, {PROGRAMS_SWITCH, "switch_walk"},
	{PROGRAMS_VISIT, "switch_visit"}, {PROGRAMS_CLOCK, "thread_clock"},
	{PROGRAMS_REMOTE, "remote_scan"}, {PROGRAMS_REMOTE, "remote_tick"},
	{PROGRAMS_SCAN, "wall_scan"},	  {PROGRAMS_REMOTE, "lock_tick"},
	{PROGRAMS_WAKING, "wall_waking"}, {PROGRAMS_WAKING, "waking_walk"},
	{PROGRAMS_SCAN, "cpus_look"},
};

#define HEAVY (sizeof(heavy) / sizeof(heavy[0]))

/* ---- a part ---- */

static bool is_wanted(const struct programs *p, enum programs_part part, const char *name)
{
	for (size_t i = 0; i < HEAVY; i++)
		if (heavy[i].part == part && !strcmp(heavy[i].name, name))
			return p->wanted >> i & 1;
	return false;
}

/* Whether the part's programs name that map. Each one that is shared takes an open file. */
static bool has_map(enum programs_part part, const char *name)
{
	if (!strcmp(name, "peers_wanted") || !strcmp(name, "tickers"))
		return false;
	return part == PROGRAMS_WAKING ||
	       (strcmp(name, "waking_walker") && strcmp(name, "waker_scratch"));
}

static int maps_share(const struct programs *p, enum programs_part part, struct gnomon *skel)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, skel->obj)
	{
		struct bpf_map *of = bpf_object__find_map_by_name(p->base->obj, bpf_map__name(map));
		int rc;

		if (!has_map(part, bpf_map__name(map)))
			rc = bpf_map__set_autocreate(map, false);
		else
			rc = of ? bpf_map__reuse_fd(map, bpf_map__fd(of)) : -ENOENT;
		if (rc)
			return rc;
	}
	return 0;
}

static int part_open(struct programs *p, enum programs_part part)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = p->btf);
	struct gnomon *skel = gnomon__open_opts(&opts);
	struct bpf_program *prog;

	if (!skel)
		return -errno;
	p->parts[part].skel = skel;
	bpf_object__for_each_program(prog, skel->obj)
		bpf_program__set_autoload(prog, is_wanted(p, part, bpf_program__name(prog)));
	return maps_share(p, part, skel);
}

/* Attached unless it sleeps. With p->waking. */
static int waking_follow(struct programs *p)
{
	struct part *part = &p->parts[PROGRAMS_WAKING];

	if (p->sleeping)
		fd_close(&part->link);
	else if (part->link < 0 && part->kept[0] >= 0)
		part->link = bpf_raw_tracepoint_open(NULL, part->kept[0]);
	return p->sleeping || part->kept[0] < 0 || part->link >= 0 ? 0 : -errno;
}

static void waking_end(struct part *part)
{
	fd_close(&part->link);
	fd_close(&part->kept[0]);
	fd_close(&part->kept[1]);
}

static int waking_attach(struct part *part)
{
	struct gnomon *skel = part->skel;
	int walk = bpf_program__fd(skel->progs.waking_walk), rc;
	__u32 zero = 0;

	if (bpf_map_update_elem(bpf_map__fd(skel->maps.waking_walker), &zero, &walk, BPF_ANY))
		return -errno;
	pthread_mutex_lock(&part->of->waking);
	part->kept[0] = fcntl(bpf_program__fd(skel->progs.wall_waking), F_DUPFD_CLOEXEC, 3);
	part->kept[1] = fcntl(walk, F_DUPFD_CLOEXEC, 3);
	rc = part->kept[0] < 0 ? -errno : waking_follow(part->of);
	pthread_mutex_unlock(&part->of->waking);
	if (rc)
		waking_end(part);
	return rc;
}

static int visit_put(struct part *part)
{
	int visit = bpf_program__fd(part->skel->progs.switch_visit);
	__u32 at = GN_SWITCH_VISIT;

	if (bpf_map_update_elem(bpf_map__fd(part->skel->maps.switch_walker), &at, &visit, BPF_ANY))
		return -errno;
	part->kept[0] = fcntl(visit, F_DUPFD_CLOEXEC, 3);
	return 0;
}

/*
 * Nobody waits for programs that are put to work when they have been loaded. What they are loaded
 * with has a descriptor for each map, which others may need: it is given up.
 */
static int part_use(struct part *part)
{
	int rc = part->which == PROGRAMS_WAKING ? waking_attach(part) : visit_put(part);

	gnomon__destroy(part->skel);
	part->skel = NULL;
	return rc;
}

int programs_wake(struct programs *p, bool on)
{
	int rc;

	pthread_mutex_lock(&p->waking);
	p->sleeping = !on;
	rc = waking_follow(p);
	pthread_mutex_unlock(&p->waking);
	return rc;
}

const char *programs_without(enum programs_part part)
{
	static const char *const without[PROGRAMS_PARTS] = {
		[PROGRAMS_WAKING] = "who wakes threads is not told",
		[PROGRAMS_VISIT] = "stacks of threads at rest are read by the collector alone",
	};

	return without[part];
}

static void *part_load(void *arg)
{
	struct part *part = arg;
	const char *without = programs_without(part->which);
	uint64_t begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	part->rc = part_open(part->of, part->which);
	if (!part->rc)
		part->rc = gnomon__load(part->skel);
	if (!part->rc && without)
		part->rc = part_use(part);
	log_debug("BPF programs loaded in %.1f ms of a CPU",
		  (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin) / 1e6);
	if (part->rc && without)
		log_info("%s: %s", without, strerror(-part->rc));
	part->state = part->rc ? PART_FAILED : PART_READY;
	return NULL;
}

static void part_begin(struct programs *p, enum programs_part which)
{
	struct part *part = &p->parts[which];

	part->of = p;
	part->which = which;
	part->state = PART_LOADING;
	if (!pthread_create(&part->thread, NULL, part_load, part))
		part->threaded = true;
	else
		part_load(part);
}

static void part_join(struct part *part)
{
	if (part->threaded)
		pthread_join(part->thread, NULL);
	part->threaded = false;
}

/*
 * Makes as if the part had not been tried: it failed for want of descriptors, and some may be free
 * later.
 */
static void part_forget(struct part *part)
{
	part_join(part);
	gnomon__destroy(part->skel);
	part->skel = NULL;
	part->state = PART_NONE;
}

int programs_begin(struct programs *p, enum programs_part which)
{
	struct part *part = &p->parts[which];
	int rc;

	pthread_mutex_lock(&p->lock);
	if (part->state == PART_NONE)
		part_begin(p, which);
	rc = part->state == PART_LOADING ? -EAGAIN : part->rc;
	if (rc == -EMFILE || rc == -ENFILE)
		part_forget(part);
	pthread_mutex_unlock(&p->lock);
	return rc;
}

int programs_wait(struct programs *p, enum programs_part which)
{
	int rc = programs_begin(p, which);

	if (rc != -EAGAIN)
		return rc;
	part_join(&p->parts[which]);
	return p->parts[which].rc;
}

struct gnomon *programs_of(const struct programs *p, enum programs_part which)
{
	return p->parts[which].state == PART_READY ? p->parts[which].skel : NULL;
}

/* ---- all of them ---- */

/*
 * Notes which heavy programs the base's skeleton is configured to load, and keeps it from loading
 * them itself.
 */
static void heavy_take(struct programs *p)
{
	for (size_t i = 0; i < HEAVY; i++) {
		struct bpf_program *prog =
			bpf_object__find_program_by_name(p->base->obj, heavy[i].name);

		if (bpf_program__autoload(prog))
			p->wanted |= 1u << i;
		bpf_program__set_autoload(prog, false);
	}
}

int programs_open(struct programs **out, struct gnomon *base, const char *btf)
{
	struct programs *p = calloc(1, sizeof(*p));
	int rc;

	if (!p)
		return -ENOMEM;
	p->base = base;
	p->btf = btf;
	pthread_mutex_init(&p->lock, NULL);
	pthread_mutex_init(&p->waking, NULL);
	for (int i = 0; i < PROGRAMS_PARTS; i++)
		p->parts[i].link = p->parts[i].kept[0] = p->parts[i].kept[1] = -1;
	heavy_take(p);
	rc = gnomon__load(base);
	if (rc) {
		programs_close(p);
		return rc;
	}
	*out = p;
	return 0;
}

void programs_close(struct programs *p)
{
	if (!p)
		return;
	for (int i = 0; i < PROGRAMS_PARTS; i++) {
		part_join(&p->parts[i]);
		waking_end(&p->parts[i]);
		gnomon__destroy(p->parts[i].skel);
	}
	pthread_mutex_destroy(&p->lock);
	pthread_mutex_destroy(&p->waking);
	free(p);
}

void programs_detach(struct programs *p)
{
	for (int i = 0; i < PROGRAMS_PARTS; i++)
		if (programs_of(p, i))
			gnomon__detach(programs_of(p, i));
	programs_wake(p, false);
	gnomon__detach(p->base);
}

static void run_time_of(int fd, uint64_t *ns, uint64_t *runs)
{
	struct bpf_prog_info info = {0};
	__u32 len = sizeof(info);

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &len))
		return;
	*ns += info.run_time_ns;
	*runs += info.run_cnt;
}

/* Iterators and what is called by bpf(2) run in our own threads, and are part of their CPU time. */
static bool is_run_by_others(const struct bpf_program *prog)
{
	return bpf_program__type(prog) != BPF_PROG_TYPE_SYSCALL &&
	       bpf_program__expected_attach_type(prog) != BPF_TRACE_ITER;
}

static void run_time_add(const struct gnomon *skel, uint64_t *ns, uint64_t *runs)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, skel->obj)
	{
		if (is_run_by_others(prog))
			run_time_of(bpf_program__fd(prog), ns, runs);
	}
}

/* A timer's time is no program's. */
static void ticker_add(const struct gnomon *skel, uint64_t *ns, uint64_t *runs)
{
	struct gn_ticker t;
	uint32_t zero = 0;

	if (bpf_map_lookup_elem(bpf_map__fd(skel->maps.tickers), &zero, &t))
		return;
	*ns += t.ns;
	*runs += t.runs;
}

void programs_run_time(const struct programs *p, uint64_t *ns, uint64_t *runs)
{
	*ns = *runs = 0;
	run_time_add(p->base, ns, runs);
	ticker_add(p->base, ns, runs);
	for (int i = 0; i < PROGRAMS_PARTS; i++)
		if (programs_of(p, i))
			run_time_add(programs_of(p, i), ns, runs);
	for (int i = 0; i < 2; i++)
		run_time_of(p->parts[PROGRAMS_WAKING].kept[i], ns, runs);
}
