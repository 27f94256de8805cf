/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/capture.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/clock.h"
#include "base/log.h"
#include "capture/capture_int.h"
#include "capture/features.h"
#include "capture/iterator.h"
#include "capture/peers.h"
#include "capture/refusal.h"
#include "capture/reserve.h"
#include "capture/rings.h"

#define RING_BYTES (128u << 10) /* per CPU, at first: about 2,300 samples */
#define RING_MAX   (64u << 20)

#define FILES_LEAST 293	 /* open files with which all programs can be loaded */
#define FILES_LATER 1024 /* and those that are loaded while others open theirs */

/*
 * libbpf tries out what the kernel can do. Without descriptors its trials fail, and the load then
 * fails with an error that has nothing to do with the cause.
 */
static bool files_are_fewer(rlim_t least)
{
	struct rlimit rl;

	return !getrlimit(RLIMIT_NOFILE, &rl) && rl.rlim_cur < least;
}

/* Logs for which of the optional features this kernel needs another way. */
static void ways_tell(bool wall)
{
	for (int f = 0; f < FEATURE_QUICK && wall; f++)
		if (!feature_has(f))
			log_info("%s: %s", feature_info(f)->name, feature_info(f)->without);
}

/* Who has the CPUs is told as the cause of waits for one. */
static void looks_configure(struct capture *c, const struct capture_config *cfg)
{
	c->looks = cfg->causes && cfg->wall_ns && feature_has(FEATURE_RUN_QUEUE);
	c->skel->rodata->gn_cpus = (__u32)c->ncpu;
	if (c->looks) {
		bpf_map__set_max_entries(c->skel->maps.holders, (__u32)c->ncpu * GN_HELD_TICKS);
		return;
	}
	bpf_program__set_autoload(c->skel->progs.cpus_look, false);
	bpf_program__set_autoload(c->skel->progs.groups_look, false);
}

static void configure(struct capture *c, const struct capture_config *cfg)
{
	const char *check = getenv("GNOMON_CHECK_CODE");

	features_try(FEATURE_QUICK);
	c->can_find = feature_has(FEATURE_TASK_FIND);
	c->can_pick = feature_has(FEATURE_ITER_PROCESS);
	c->can_switch = features_can_switch();
	c->skel->rodata->gn_can_switch = c->can_switch;
	c->skel->rodata->gn_run_queue = feature_has(FEATURE_RUN_QUEUE);
	c->skel->rodata->gn_stolen = feature_has(FEATURE_STOLEN);
	c->skel->rodata->gn_sched_info = feature_has(FEATURE_SCHED_INFO);
	c->skel->rodata->gn_cpu_ns = cfg->cpu_ns;
	c->skel->rodata->gn_wall_ns = cfg->wall_ns;
	c->skel->rodata->gn_start_ns = cfg->start_ns;
	c->skel->bss->gn_cpu_clocks_only = cfg->cpu_clocks;
	c->skel->rodata->gn_rates = c->rates = cfg->rates;
	c->skel->rodata->gn_thread_filter = cfg->thread_filter;
	c->skel->rodata->gn_causes = cfg->causes;
	c->skel->rodata->gn_only_context = cfg->only_context;
	c->skel->rodata->gn_check_code = check && *check; /* for tests */
	if (cfg->depth)
		c->skel->rodata->gn_depth = cfg->depth;
	c->skel->rodata->gn_reservoir = cfg->reservoir;
	c->skel->rodata->gn_draw_shift = cfg->draw_shift;
	if (!cfg->wall_ns || c->can_find)
		bpf_program__set_autoload(c->skel->progs.remote_scan, false);
	if (!cfg->wall_ns) {
		bpf_program__set_autoload(c->skel->progs.wall_scan, false);
		bpf_program__set_autoload(c->skel->progs.scan_ends, false);
	}
	if (!cfg->wall_ns || !c->can_switch) {
		bpf_program__set_autoload(c->skel->progs.wall_switch, false);
		bpf_program__set_autoload(c->skel->progs.switch_walk, false);
	}
	c->can_visit =
		cfg->wall_ns && c->can_switch && c->can_find && !files_are_fewer(FILES_LATER);
	c->skel->rodata->gn_can_visit = c->can_visit;
	if (!c->can_visit)
		bpf_program__set_autoload(c->skel->progs.switch_visit, false);
	c->wakes = cfg->causes && cfg->wall_ns && c->can_switch && feature_has(FEATURE_WAKING) &&
		   !files_are_fewer(FILES_LATER);
	if (!c->wakes) {
		bpf_program__set_autoload(c->skel->progs.wall_waking, false);
		bpf_program__set_autoload(c->skel->progs.waking_walk, false);
		bpf_map__set_autocreate(c->skel->maps.waking_walker, false);
		bpf_map__set_autocreate(c->skel->maps.waker_scratch, false);
	}
	if (!cfg->cpu_ns)
		bpf_program__set_autoload(c->skel->progs.thread_clock, false);
	if (!cfg->wall_ns || !c->can_find)
		bpf_program__set_autoload(c->skel->progs.remote_tick, false);
	if (!cfg->wall_ns || !c->can_find || !c->can_switch) {
		bpf_program__set_autoload(c->skel->progs.ticker_start, false);
		bpf_map__set_autocreate(c->skel->maps.tickers, false);
	}
	if (!cfg->causes || !cfg->wall_ns || !feature_has(FEATURE_ITER_FILES)) {
		bpf_program__set_autoload(c->skel->progs.peer_find, false);
		bpf_map__set_autocreate(c->skel->maps.peers_wanted, false);
	}
	c->can_lock = cfg->wall_ns && cfg->causes && c->can_find;
	if (!c->can_lock)
		bpf_program__set_autoload(c->skel->progs.lock_tick, false);
	looks_configure(c, cfg);
	ways_tell(cfg->wall_ns);
	c->scanning = cfg->wall_ns && (cfg->wall_scan || !c->can_switch);
	bpf_map__set_max_entries(c->skel->maps.rings, (__u32)c->ncpu);
	bpf_map__set_max_entries(c->skel->maps.bell, (__u32)sysconf(_SC_PAGESIZE));
}

static int rings_create(struct capture *c, const struct capture_config *cfg, struct error *e)
{
	struct rings_config rc = {
		.outer = bpf_map__fd(c->skel->maps.rings),
		.ncpu = c->ncpu,
		.bytes = cfg->ring_bytes ? cfg->ring_bytes : RING_BYTES,
		.max = cfg->ring_max ? cfg->ring_max : RING_MAX,
		.quiet_ns = cfg->ring_quiet_ns,
	};

	c->per_cpu = calloc((size_t)c->ncpu, sizeof(*c->per_cpu));
	if (!c->per_cpu)
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	return rings_open(&c->rings, &rc, e);
}

static int permission_error(struct error *e)
{
	error_set(e, -EPERM, EXIT_PERMISSION, "not permitted to load BPF programs");
	return error_hint(e, "run as root, or with CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE");
}

/* The kernel lacks a feature that is needed. */
static int feature_error(struct error *e, const struct feature_info *f)
{
	error_set(e, -EOPNOTSUPP, EXIT_KERNEL, "this kernel lacks '%s', needed for %s", f->name,
		  f->use);
	return error_hint(e, "%s%s; 'gnomon doctor' tries all that is needed", f->remedy,
			  f->need == FEATURE_FOR_WALL ? " (CPU samples alone: --no-wall)" : "");
}

/* The kernel has all features, and still refuses the programs. */
static int refusal_error(struct error *e, int rc)
{
	char why[256];

	if (!refusal_told(why, sizeof(why)))
		snprintf(why, sizeof(why), "%s", strerror(-rc));
	error_set(e, -EOPNOTSUPP, EXIT_KERNEL,
		  "this kernel does not load gnomon's BPF programs: %s", why);
	return error_hint(e, "'gnomon -vv record ...' shows the loader's words: please report them "
			     "with the kernel's version");
}

/*
 * The verifier also refuses programs with -EACCES and -EPERM, so whether we may load programs at
 * all is found out separately.
 */
static int load_error(struct error *e, int rc, bool wall)
{
	int missing;

	if (rc == -EMFILE || rc == -ENFILE) {
		error_set(e, rc, EXIT_KERNEL, "too few open files are allowed for BPF programs: %s",
			  strerror(-rc));
		return error_hint(e, "allow %d and more: ulimit -n", FILES_LEAST);
	}
	if (files_are_fewer(FILES_LEAST)) {
		error_set(e, rc, EXIT_KERNEL, "too few open files are allowed for BPF programs");
		return error_hint(e, "allow %d open files and more: ulimit -n", FILES_LEAST);
	}
	if (features_permitted() == -EPERM)
		return permission_error(e);
	missing = features_missing(wall);
	return missing < 0 ? refusal_error(e, rc) : feature_error(e, feature_info(missing));
}

/*
 * Tells the programs our PID namespace, so that they and we mean the same process by a number
 * (kern/pidns.bpf.h).
 */
static int pidns_learn(struct capture *c, struct error *e)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	int rc = bpf_prog_test_run_opts(bpf_program__fd(c->skel->progs.pidns_learn), &opts);

	if (rc)
		return error_set(e, rc, EXIT_KERNEL, "cannot tell the PID namespace: %s",
				 strerror(-rc));
	log_debug("PID namespace %u, level %u", c->skel->bss->gn_pidns_inum,
		  c->skel->bss->gn_pidns_level);
	return 0;
}

bool capture_needs(const struct capture *c, enum programs_part part)
{
	bool wall = c->skel->rodata->gn_wall_ns;

	switch (part) {
	case PROGRAMS_CLOCK:
		return c->skel->rodata->gn_cpu_ns;
	case PROGRAMS_SWITCH:
	case PROGRAMS_REMOTE:
		return wall && !c->scanning;
	case PROGRAMS_SCAN:
		return wall && c->scanning;
	default: /* it comes later */
		return false;
	}
}

static void parts_begin(struct capture *c)
{
	for (int i = 0; i < PROGRAMS_PARTS; i++)
		if (capture_needs(c, i) || (i == PROGRAMS_REMOTE && c->can_lock))
			programs_begin(c->programs, i);
}

static int part_wait(struct capture *c, enum programs_part part, struct error *e)
{
	int rc = programs_wait(c->programs, part);

	return rc && e ? load_error(e, rc, c->skel->rodata->gn_wall_ns) : rc;
}

/* Whose types the programs are fitted to. NULL, libbpf's own way, where there is no memory for a
 * file of them. */
static const char *types_path(struct capture *c, const struct capture_config *cfg, uint32_t *task)
{
	if (cfg->btf)
		return cfg->btf;
	c->types_fd = kerneltypes_open(c->types, task);
	return c->types_fd < 0 ? NULL : c->types;
}

/* Opens and configures the object. Afterwards it is known what it needs of the kernel. */
static int object_open(struct capture *c, const struct capture_config *cfg, struct error *e)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts);
	int rc = features_check(e);
	uint32_t task = 0;

	if (rc)
		return rc;
	if (features_permitted() == -EPERM)
		return permission_error(e);
	opts.btf_custom_path = types_path(c, cfg, &task);
	c->ncpu = libbpf_num_possible_cpus();
	c->skel = gnomon__open_opts(&opts);
	if (c->ncpu < 1 || !c->skel)
		return error_set(e, -errno, EXIT_INTERNAL, "cannot open the BPF object: %s",
				 strerror(errno));
	c->skel->rodata->gn_task_type = task;
	configure(c, cfg);
	rc = features_taken(cfg->wall_ns)
		     ? -EOPNOTSUPP
		     : programs_open(&c->programs, c->skel, opts.btf_custom_path);
	return rc ? load_error(e, rc, cfg->wall_ns) : 0;
}

/*
 * The tick thread has real-time priority and may have to wait for this lock: whoever holds it
 * inherits that priority meanwhile.
 */
static void accounting_init(struct capture *c)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&c->accounting, &attr);
	pthread_mutexattr_destroy(&attr);
}

/* Nothing is ever sent. */
static int on_ring(void *ctx, void *data, size_t size)
{
	(void)ctx;
	(void)data;
	(void)size;
	return 0;
}

int capture_open(struct capture **out, const struct capture_config *cfg, struct error *e)
{
	struct capture *c = calloc(1, sizeof(*c));
	int rc;

	if (!c)
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	c->types_fd = -1;
	accounting_init(c);
	pthread_mutex_init(&c->lock, NULL);
	refusal_listen();
	rc = object_open(c, cfg, e);
	if (rc)
		goto fail;
	parts_begin(c);
	rc = pidns_learn(c, e);
	if (!rc)
		rc = rings_create(c, cfg, e);
	if (!rc && cfg->wall_ns)
		c->bell = ring_buffer__new(bpf_map__fd(c->skel->maps.bell), on_ring, NULL, NULL);
	if (!rc && bpf_program__autoload(c->skel->progs.peer_find))
		c->peers = peers_new(bpf_map__fd(c->skel->maps.peers_wanted));
	if (!rc && reserve_fill())
		rc = load_error(e, -EMFILE, cfg->wall_ns != 0);
	if (rc)
		goto fail;
	*out = c;
	return 0;
fail:
	capture_close(c);
	return rc;
}

void capture_stop(struct capture *c)
{
	if (c->stopped)
		return;
	c->stopped = true;
	programs_detach(c->programs);
}

void capture_close(struct capture *c)
{
	if (!c)
		return;
	capture_slices_end(c);
	peers_free(c->peers);
	ring_buffer__free(c->bell);
	rings_close(c->rings);
	free(c->per_cpu);
	buffer_free(&c->found);
	free(c->tgids);
	free(c->ticks_tgids);
	pthread_mutex_destroy(&c->lock);
	pthread_mutex_destroy(&c->accounting);
	programs_close(c->programs);
	gnomon__destroy(c->skel);
	if (c->types_fd >= 0)
		close(c->types_fd);
	free(c);
}

void capture_cpu_clocks(struct capture *c, bool alone)
{
	if (!alone)
		c->skel->data->gn_clock_gen++;
	__atomic_store_n(&c->skel->bss->gn_cpu_clocks_only, alone, __ATOMIC_RELEASE);
}

/* Names that do not fit are read from /proc, one by one. */
static void found_keep(struct capture *c, struct buffer *found)
{
	pthread_mutex_lock(&c->lock);
	if (!found->failed)
		buffer_add(&c->found, found->data, found->len);
	if (c->found.failed)
		buffer_free(&c->found);
	pthread_mutex_unlock(&c->lock);
	buffer_free(found);
}

int capture_scan(struct capture *c)
{
	struct buffer found = BUFFER_INIT;
	uint64_t scan = ++c->scans;
	int rc = iterator_collect(c->skel->progs.task_scan, 0, &found);

	found_keep(c, &found);
	if (rc >= 0 && __atomic_load_n(&c->scanned, __ATOMIC_RELAXED) < scan)
		__atomic_store_n(&c->scanned, scan, __ATOMIC_RELEASE);
	/* the tick thread does that: only one thread at a time may read stacks from outside */
	c->remote_due = true;
	return rc;
}

static int program_attach(struct bpf_program *p, struct bpf_link **link, struct error *e)
{
	if (!bpf_program__autoload(p))
		return 0;
	*link = bpf_program__attach(p);
	if (*link)
		return 0;
	return error_set(e, -errno, EXIT_KERNEL, "cannot attach '%s': %s",
			 bpf_program__section_name(p), strerror(errno));
}

static int births_attach(struct capture *c, struct error *e)
{
	struct gnomon *s = c->skel;
	int rc;

	rc = program_attach(s->progs.task_born, &s->links.task_born, e);
	if (!rc)
		rc = program_attach(s->progs.task_ends, &s->links.task_ends, e);
	if (!rc)
		rc = program_attach(s->progs.task_execs, &s->links.task_execs, e);
	if (!rc)
		rc = program_attach(s->progs.task_renamed, &s->links.task_renamed, e);
	return rc;
}

/* Puts a program where others continue in it by a tail call. */
static int tail_put(struct bpf_map *map, __u32 at, int prog, struct error *e)
{
	if (!bpf_map_update_elem(bpf_map__fd(map), &at, &prog, BPF_ANY))
		return 0;
	return error_set(e, -errno, EXIT_KERNEL, "cannot put a program into '%s': %s",
			 bpf_map__name(map), strerror(errno));
}

static int switches_attach(struct capture *c, struct error *e)
{
	struct gnomon *s = capture_part(c, PROGRAMS_SWITCH);
	int rc;

	if (!s || !bpf_program__autoload(s->progs.wall_switch))
		return 0;
	rc = tail_put(s->maps.switch_walker, GN_SWITCH_WALK, bpf_program__fd(s->progs.switch_walk),
		      e);
	return rc ? rc : program_attach(s->progs.wall_switch, &s->links.wall_switch, e);
}

/* The CPUs' clocks continue in the program of the threads'. */
static int sampler_put(struct capture *c, struct error *e)
{
	int fd = capture_clock_fd(c, CAPTURE_THREAD_CLOCK);

	return fd < 0 ? 0 : tail_put(c->skel->maps.clock_sampler, 0, fd, e);
}

/*
 * Waits for all parts before any is attached, so that the first one attached sees little more than
 * the last.
 */
static int parts_wait(struct capture *c, struct error *e)
{
	int rc = 0;

	for (int i = 0; i < PROGRAMS_PARTS && !rc; i++)
		if (capture_needs(c, i))
			rc = part_wait(c, i, e);
	return rc;
}

int capture_attach(struct capture *c, struct error *e)
{
	struct gnomon *s = c->skel;
	int rc = parts_wait(c, e);

	if (!rc)
		rc = sampler_put(c, e);
	if (!rc)
		rc = births_attach(c, e);
	if (!rc)
		rc = capture_scan(c);
	if (!rc)
		rc = program_attach(s->progs.scan_ends, &s->links.scan_ends, e);
	s->bss->gn_scanning = c->scanning;
	if (!rc && !c->scanning)
		rc = switches_attach(c, e);
	s->bss->gn_marking = !c->scanning;
	if (!rc)
		rc = capture_scan(c);
	if (!rc)
		rc = capture_resting_begin(c);
	/* who has the recording wait for it would lose its first samples */
	if (!rc && c->wakes && !c->scanning)
		programs_begin(c->programs, PROGRAMS_WAKING);
	if (rc && e && !e->rc)
		error_set(e, rc, EXIT_KERNEL, "cannot look at the threads there are: %s",
			  strerror(-rc));
	return rc;
}

int capture_wakers_wait(struct capture *c)
{
	return c->wakes ? programs_wait(c->programs, PROGRAMS_WAKING) : -EOPNOTSUPP;
}

int capture_visits_wait(struct capture *c)
{
	return c->can_visit ? programs_wait(c->programs, PROGRAMS_VISIT) : -EOPNOTSUPP;
}

/* Loads also the engines that a recording does not begin with. */
static int parts_try(struct capture *c, struct error *e)
{
	int rc = 0;

	for (int i = 0; i < PROGRAMS_PARTS && !rc; i++)
		if (!programs_without(i)) /* else a recording goes on without */
			rc = part_wait(c, i, e);
	return rc;
}

int capture_trial(bool wall, struct error *e)
{
	struct capture_config cfg = {
		.cpu_ns = 10000000, .wall_ns = wall ? 50000000 : 0, .causes = wall};
	struct capture *c = NULL;
	int rc;

	cfg.start_ns = now_ns();
	rc = capture_open(&c, &cfg, e);
	if (!rc)
		rc = parts_try(c, e);
	if (!rc)
		rc = capture_attach(c, e);
	if (c)
		capture_stop(c);
	capture_close(c);
	return rc;
}

bool capture_can_switch(const struct capture *c)
{
	return c->can_switch;
}

static int scanning_begin(struct capture *c, uint64_t tick)
{
	struct gnomon *s = capture_part(c, PROGRAMS_SWITCH);
	int rc = capture_account_all(c);

	bpf_link__destroy(s->links.wall_switch);
	s->links.wall_switch = NULL;
	programs_wake(c->programs, false);
	c->skel->bss->gn_scan_tick = tick;
	c->skel->data->gn_scan_gen++;
	c->skel->bss->gn_scanning = 1;
	c->skel->bss->gn_marking = 0; /* scans find who is off the CPU */
	c->scanning = true;
	return rc;
}

static void wakers_back(struct capture *c)
{
	int rc = programs_wake(c->programs, true);

	if (!rc && c->wakes)
		programs_begin(c->programs, PROGRAMS_WAKING);
	if (rc)
		log_info("%s: %s", programs_without(PROGRAMS_WAKING), strerror(-rc));
}

/*
 * The switch programs are attached before the last look at all threads, so that no off-CPU interval
 * is missed between the two. Who has run since the last scan, and sleeps already, is met by nobody
 * but capture_scan().
 */
static int scanning_end(struct capture *c)
{
	struct gnomon *s = c->skel;
	int rc = switches_attach(c, NULL), found;

	if (rc)
		return rc;
	wakers_back(c);
	s->bss->gn_scanning = 0;
	s->bss->gn_marking = 1;
	c->scanning = false;
	rc = capture_account_all(c);
	found = capture_scan(c);
	return rc ? rc : found < 0 ? found : 0;
}

/* The programs of an engine that the recording did not begin with. 0, -EAGAIN or -errno. */
static int engine_load(struct capture *c, bool scan)
{
	int rc = programs_begin(c->programs, scan ? PROGRAMS_SCAN : PROGRAMS_SWITCH);
	int also = scan ? 0 : programs_begin(c->programs, PROGRAMS_REMOTE);

	return rc ? rc : also;
}

int capture_wall_scan(struct capture *c, bool scan, uint64_t tick)
{
	int rc;

	if (scan == c->scanning)
		return 0;
	if (!scan && !c->can_switch)
		return -EOPNOTSUPP;
	rc = engine_load(c, scan);
	if (rc)
		return rc;
	return scan ? scanning_begin(c, tick) : scanning_end(c);
}

void capture_stop_at(struct capture *c, uint64_t ns)
{
	uint64_t since = ns - c->skel->rodata->gn_start_ns, wall = c->skel->rodata->gn_wall_ns;

	if (wall) /* ns - 1: a tick at that very instant is not part of the recording either */
		__atomic_store_n(&c->skel->data->gn_stop_tick, gn_ticks_until(since - 1, wall),
				 __ATOMIC_RELAXED);
	__atomic_store_n(&c->skel->data->gn_stop_ns, ns, __ATOMIC_RELEASE);
}

/* Threads are found there by the initial PID namespace's numbers. */
static int resting_fd(const struct capture *c)
{
	if (!c->can_find || !capture_needs(c, PROGRAMS_REMOTE) || c->skel->bss->gn_pidns_level)
		return -1;
	return bpf_map__fd(c->skel->maps.resting);
}

void capture_tables(struct capture *c, struct capture_tables *out)
{
	*out = (struct capture_tables){
		.targets = bpf_map__fd(c->skel->maps.procs),
		.procs = bpf_map__fd(c->skel->maps.uw_procs),
		.files = bpf_map__fd(c->skel->maps.uw_files),
		.rules = bpf_map__fd(c->skel->maps.uw_rules),
		.jvms = bpf_map__fd(c->skel->maps.gn_jvms),
		.coders = bpf_map__fd(c->skel->maps.coders),
		.java_threads = bpf_map__fd(c->skel->maps.java_threads),
		.vthreads = bpf_map__fd(c->skel->maps.vthreads),
		.carriers = bpf_map__fd(c->skel->maps.carriers),
		.places = bpf_map__fd(c->skel->maps.context_places),
		.locks = bpf_map__fd(c->skel->maps.locks),
		.scanned = &c->scanned,
		.changes = (uint64_t *)&c->skel->bss->gn_table_changes,
		.ncarriers = &c->skel->bss->gn_carriers,
		.ncontexts = &c->skel->bss->gn_contexts,
		.resting = resting_fd(c),
		.late = c->skel->rodata->gn_wall_ns && c->skel->rodata->gn_causes ? &c->late : NULL,
	};
}

int capture_clock_fd(const struct capture *c, enum capture_clock which)
{
	const struct gnomon *s =
		which == CAPTURE_CPU_CLOCK ? c->skel : programs_of(c->programs, PROGRAMS_CLOCK);

	if (!s)
		return -ENOENT;
	return bpf_program__fd(which == CAPTURE_CPU_CLOCK ? s->progs.cpu_clock
							  : s->progs.thread_clock);
}

int capture_run_time_on(void)
{
	return bpf_enable_stats(BPF_STATS_RUN_TIME);
}

void capture_run_time(const struct capture *c, uint64_t *ns, uint64_t *runs)
{
	programs_run_time(c->programs, ns, runs);
}
