/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/capture.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/tasks.h"
#include "capture/features.h"
#include "capture/kerneltypes.h"
#include "capture/peers.h"
#include "capture/programs.h"
#include "capture/refusal.h"
#include "capture/reserve.h"
#include "capture/rings.h"
#include "gnomon.skel.h"
#include "kern/abi_context.h"

#define RING_BYTES (128u << 10) /* per CPU, at first: about 2,300 samples */
#define RING_MAX   (64u << 20)

struct capture {
	struct gnomon *skel; /* has the maps and the small programs */
	struct programs *programs;
	int types_fd; /* the kernel's types in a file, at the path `types`; or -errno */
	char types[KERNELTYPES_PATH];
	struct rings *rings;
	int ncpu;
	uint64_t *per_cpu; /* room for a value of each CPU */
	bool can_switch;
	bool can_find;	     /* tasks by their pid, in a program that may sleep */
	bool can_visit;	     /* who rests is read by others of its process */
	bool can_pick;	     /* iterators over one process */
	bool can_lock;	     /* whose locks are is told */
	bool looks;	     /* at who has the CPUs, at each tick */
	bool wanted;	     /* at the last one a thread was queued, or would have been */
	struct ring_buffer *bell; /* NULL: ticks are never left out */
	bool wakes;	     /* who wakes threads is told */
	struct peers *peers; /* NULL: whose connections' other ends are is not told */
	uint64_t peers_ns;   /* before which they are not looked for again */
	bool rates;
	bool scanning;		    /* wall samples by scans (written by the tick thread) */
	pthread_mutex_t accounting; /* held while an accounting goes on */
	struct bpf_link *slices;    /* of an accounting in slices; NULL: none is on */
	int slices_fd;
	uint64_t slices_left; /* threads of it for whose records the rings were too full */
	pid_t *tgids;	      /* processes added; only the draining thread changes them */
	size_t ntgids;
	pthread_mutex_t lock;	  /* held while tgids change, and while they are copied */
	_Atomic uint64_t changes; /* counts the changes of tgids */
	pid_t *ticks_tgids;	  /* the tick thread's copy */
	size_t nticks_tgids;
	uint64_t ticks_changes; /* the count of changes when it was copied */
	bool stopped;
	_Atomic int crowded; /* 1 + the CPU whose ring was too small for an accounting, or 0 */
	/* losses that are of no known thread, as they were told last */
	uint64_t unplaced[GN_LOSS_MAX];
	_Atomic bool remote_due; /* threads were found that have no stack yet */
	_Atomic bool reread_due; /* some thread's stack may be read better now */
	_Atomic bool relist_due; /* sleepers' lists of frames are to be sent again */
	_Atomic uint32_t late;	 /* CAPTURE_LATE_*: threads that were met late */
	uint64_t late_ns;	 /* when all were last read for such */
	bool resting;		 /* threads that rest are queued to be read, */
	uint32_t rereading;	 /* among them some that have a stack: gn_reread */
	bool unsent;		 /* lists of frames have been lost since losses were told last */
	bool unstored;		 /* threads got no storage since then */
	uint64_t stored_ns;	 /* when those were looked for last */
	uint64_t waiters;	 /* gn_lock_waiters at the last capture_tick_look() */
	bool near;		 /* near_reads(), by the targets' switches since near_since */
	uint64_t near_since, near_switches;
	uint64_t pending[2];	   /* gn_pending, as the last visit of each parity saw it */
	void (*sooner)(void *ctx); /* NULL: nobody wants to know */
	void *sooner_ctx;
};

/*
 * How long the collector waits for threads of the targets to read others (kern/visit.bpf.c), and
 * from how many of them on, and how often they have to switch: some ten times meanwhile. Who comes
 * back meanwhile on a CPU that has not his memory is without a stack, one in a thousand.
 */
#define NEAR_NS	      300000
#define NEAR_FEW      4
#define NEAR_SWITCHES 20000 /* a second */
#define NEAR_LOOK_NS  200000000

#define FILES_LEAST  293  /* open files with which all programs can be loaded */
#define FILES_WAKING 1024 /* and those that are loaded while others open theirs */

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
	if (c->looks)
		bpf_map__set_max_entries(c->skel->maps.holders, (__u32)c->ncpu * GN_HELD_TICKS);
	else
		bpf_program__set_autoload(c->skel->progs.cpus_look, false);
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
	c->can_visit = cfg->wall_ns && c->can_switch && c->can_find;
	c->skel->rodata->gn_can_visit = c->can_visit;
	if (!c->can_visit)
		bpf_program__set_autoload(c->skel->progs.switch_visit, false);
	c->wakes = cfg->causes && cfg->wall_ns && c->can_switch && feature_has(FEATURE_WAKING) &&
		   !files_are_fewer(FILES_WAKING);
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

/* Whether the recording begins with the programs of that part. */
static bool is_needed(const struct capture *c, enum programs_part part)
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
		if (is_needed(c, i) || (i == PROGRAMS_REMOTE && c->can_lock))
			programs_begin(c->programs, i);
}

static int part_wait(struct capture *c, enum programs_part part, struct error *e)
{
	int rc = programs_wait(c->programs, part);

	return rc && e ? load_error(e, rc, c->skel->rodata->gn_wall_ns) : rc;
}

/* The skeleton that has the switch engine's programs: that of the part they were loaded with. */
static struct gnomon *switches(const struct capture *c)
{
	return programs_of(c->programs, PROGRAMS_SWITCH);
}

static struct gnomon *remote(const struct capture *c)
{
	return programs_of(c->programs, PROGRAMS_REMOTE);
}

static struct gnomon *scanner(const struct capture *c)
{
	return programs_of(c->programs, PROGRAMS_SCAN);
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

static void iterator_close(int fd, struct bpf_link **link)
{
	close(fd);
	bpf_link__destroy(*link);
	*link = NULL;
	reserve_fill();
}

static void slices_end(struct capture *c)
{
	if (c->slices)
		iterator_close(c->slices_fd, &c->slices);
}

void capture_close(struct capture *c)
{
	if (!c)
		return;
	slices_end(c);
	peers_free(c->peers);
	ring_buffer__free(c->bell);
	rings_close(c->rings);
	free(c->per_cpu);
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

int capture_add(struct capture *c, pid_t tgid, struct error *e)
{
	struct gn_proc proc = {.rate.cpu_ns = c->skel->rodata->gn_cpu_ns};

	if (bpf_map_update_elem(bpf_map__fd(c->skel->maps.procs), &tgid, &proc, BPF_ANY))
		return error_set(e, -errno, EXIT_KERNEL, "cannot add process %d: %s", tgid,
				 strerror(errno));
	tgid_forget(c, tgid);
	if (tgid_keep(c, tgid))
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	rates_changed(c);
	skips_set(c);
	return 0;
}

void capture_remove(struct capture *c, pid_t tgid)
{
	tgid_forget(c, tgid);
	bpf_map_delete_elem(bpf_map__fd(c->skel->maps.procs), &tgid);
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

int capture_targets(struct capture *c, pid_t **out, size_t *n)
{
	*n = c->ntgids;
	*out = calloc(*n + 1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	memcpy(*out, c->tgids, *n * sizeof(**out));
	return 0;
}

/*
 * The tick thread's copy of tgids. It waits for nobody: while the draining thread changes them, it
 * keeps the copy of the tick before.
 */
static void ticks_tgids_follow(struct capture *c)
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

void capture_cpu_clocks(struct capture *c, bool alone)
{
	if (!alone)
		c->skel->data->gn_clock_gen++;
	__atomic_store_n(&c->skel->bss->gn_cpu_clocks_only, alone, __ATOMIC_RELEASE);
}

static int iterator_try(struct bpf_program *prog, pid_t tgid, struct bpf_link **link)
{
	union bpf_iter_link_info info = {.task.pid = (__u32)tgid};
	LIBBPF_OPTS(bpf_iter_attach_opts, opts, .link_info = &info, .link_info_len = sizeof(info));
	int fd, rc;

	*link = bpf_program__attach_iter(prog, tgid ? &opts : NULL);
	if (!*link)
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(*link));
	if (fd >= 0)
		return fd;
	rc = -errno;
	bpf_link__destroy(*link);
	*link = NULL;
	return rc;
}

/* An iterator program over the tasks of a process, or over all (tgid 0): its file, or -errno. */
static int iterator_open(struct bpf_program *prog, pid_t tgid, struct bpf_link **link)
{
	int fd = iterator_try(prog, tgid, link);

	if (fd != -EMFILE)
		return fd;
	reserve_spend();
	return iterator_try(prog, tgid, link);
}

/*
 * Run an iterator until it has put out `most` bytes. 1: there may be more; 0: it is at its end;
 * -errno.
 */
static int iterator_run(int fd, size_t most)
{
	char buf[4096];

	while (most) {
		ssize_t n = read(fd, buf, most < sizeof(buf) ? most : sizeof(buf));

		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (!n)
			return 0;
		if (n > 0)
			most -= (size_t)n;
	}
	return 1;
}

/* Run an iterator program over the tasks of a process, or over all (tgid 0). */
static int iterate_some(struct bpf_program *prog, pid_t tgid)
{
	struct bpf_link *link;
	int fd = iterator_open(prog, tgid, &link), rc;

	if (fd < 0)
		return fd;
	rc = iterator_run(fd, SIZE_MAX);
	iterator_close(fd, &link);
	return rc < 0 ? rc : 0;
}

static int iterate(struct bpf_program *prog)
{
	return iterate_some(prog, 0);
}

/*
 * Run it over the tasks of these processes. The programs leave out those of others where the kernel
 * can only iterate over all.
 */
static int iterate_tgids(const struct capture *c, struct bpf_program *prog, const pid_t *tgids,
			 size_t n)
{
	int rc = 0;

	if (!c->can_pick)
		return iterate(prog);
	for (size_t i = 0; i < n; i++) {
		int one = iterate_some(prog, tgids[i]);

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
	rc = iterate_tgids(c, c->skel->progs.task_scan, &tgid, 1);
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
	rc = iterate_tgids(c, c->skel->progs.task_leave, &tgid, 1);
	if (rc)
		log_debug("process %d is still looked at when it switches: %s", tgid,
			  strerror(-rc));
}

/* What is to be read again by now: gn_reread. */
static uint32_t reread_take(struct capture *c)
{
	bool reread = atomic_exchange(&c->reread_due, false);

	return atomic_exchange(&c->relist_due, false) ? GN_REREAD_LISTS : reread;
}

static void reread_put_off(struct capture *c, uint32_t reread)
{
	c->reread_due |= reread != 0;
	c->relist_due |= reread == GN_REREAD_LISTS;
}

/*
 * Read the stacks of threads that have been off the CPU since before that tick, or of all threads
 * (UINT64_MAX). If some did not fit into the rings another scan is due.
 */
static int remote_scan(struct capture *c, uint64_t tick)
{
	/* a request that comes while this scan goes on leads to another scan */
	uint32_t reread = tick == UINT64_MAX ? reread_take(c) : 0;
	int rc;

	c->skel->data->gn_remote_tick = tick;
	c->skel->bss->gn_unread = 0;
	c->skel->bss->gn_reread = reread;
	rc = iterate(remote(c)->progs.remote_scan);
	c->skel->bss->gn_reread = 0;
	if (c->skel->bss->gn_unread) {
		reread_put_off(c, reread);
		c->remote_due = true;
	}
	return rc;
}

static int remote_run(struct capture *c, struct gn_remote_tick *arg)
{
	/* the kernel copies the context back to where it came from */
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = arg, .ctx_size_in = sizeof(*arg));

	return bpf_prog_test_run_opts(bpf_program__fd(remote(c)->progs.remote_tick), &opts);
}

/* Queue the threads that rest without a stack, or with one that may be read better now. */
static int resting_queue(struct capture *c)
{
	int rc;

	c->rereading = reread_take(c);
	c->skel->bss->gn_unread = 0;
	c->skel->bss->gn_reread = c->rereading;
	rc = iterate(c->skel->progs.resting_scan);
	c->skel->bss->gn_reread = 0;
	if (c->skel->bss->gn_unread) {
		reread_put_off(c, c->rereading);
		c->remote_due = true;
	}
	c->resting = true;
	return rc;
}

/* So many at each tick that it takes a fifth of a CPU at most: a stack takes some 20 us. */
#define RESTING_NS    100000
#define RESTING_LEAST 16
#define RESTING_MOST  1000

static uint32_t resting_most(const struct capture *c)
{
	uint64_t n = c->skel->rodata->gn_wall_ns / RESTING_NS;

	if (n < RESTING_LEAST)
		return RESTING_LEAST;
	return n < RESTING_MOST ? (uint32_t)n : RESTING_MOST;
}

#define LATE_NS 1000000000ull /* between two looks at all threads for some that were met late */

/* Takes note of what has to be read again of what was met late. True: some threads are queued. */
static bool late_take(struct capture *c)
{
	uint32_t late = atomic_exchange(&c->late, 0);

	if (late & CAPTURE_LATE_ALL && now_ns() - c->late_ns >= LATE_NS) {
		c->late_ns = now_ns();
		capture_reread(c);
	} else if (late & CAPTURE_LATE_ALL) {
		atomic_fetch_or(&c->late, CAPTURE_LATE_ALL);
	}
	return late & CAPTURE_LATE_QUEUED;
}

/* Read some of the threads that rest; when all have been, those that are due by then are queued. */
static int resting_read(struct capture *c)
{
	struct gn_remote_tick arg = {.tick = GN_RESTING, .most = resting_most(c)};
	bool late = late_take(c);
	int rc = 0;

	if (!c->resting)
		c->rereading = 0;
	if (!c->resting && atomic_exchange(&c->remote_due, false))
		rc = resting_queue(c);
	if (rc || !(c->resting || late))
		return rc;
	c->skel->bss->gn_reread = c->rereading;
	rc = remote_run(c, &arg);
	c->skel->bss->gn_reread = 0;
	c->resting = !rc && arg.left;
	return rc;
}

static int resting_begin(struct capture *c)
{
	if (!is_needed(c, PROGRAMS_REMOTE))
		return 0;
	return c->can_find ? resting_read(c) : remote_scan(c, UINT64_MAX);
}

int capture_scan(struct capture *c)
{
	int rc = iterate(c->skel->progs.task_scan);

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
	struct gnomon *s = switches(c);
	int rc;

	if (!s || !bpf_program__autoload(s->progs.wall_switch))
		return 0;
	rc = tail_put(s->maps.switch_walker, GN_SWITCH_WALK, bpf_program__fd(s->progs.switch_walk),
		      e);
	if (!rc && c->can_visit)
		rc = tail_put(s->maps.switch_walker, GN_SWITCH_VISIT,
			      bpf_program__fd(s->progs.switch_visit), e);
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
		if (is_needed(c, i))
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
		rc = resting_begin(c);
	if (!rc && c->wakes) /* who has the recording wait for it would lose its first samples */
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

/* Loads also the engines that a recording does not begin with. */
static int parts_try(struct capture *c, struct error *e)
{
	int rc = 0;

	for (int i = 0; i < PROGRAMS_PARTS && !rc; i++)
		if (i != PROGRAMS_WAKING) /* a recording goes on without */
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

/*
 * The lock keeps to one accounting at a time, since the tick thread accounts, too, when it changes
 * the engine. tgid 0: for all targets.
 */
static int account(struct capture *c, unsigned int how, pid_t tgid, uint32_t *left)
{
	struct gnomon *s = c->skel;
	int rc;

	pthread_mutex_lock(&c->accounting);
	if (!(how & CAPTURE_AGAIN)) {
		s->bss->gn_round++;
		s->bss->gn_awaited = 0;
	}
	s->bss->gn_patient = (how & CAPTURE_PATIENT) != 0;
	s->bss->gn_unaccounted = 0;
	rc = iterate_some(s->progs.wall_account, c->can_pick ? tgid : 0);
	*left = s->bss->gn_unaccounted;
	pthread_mutex_unlock(&c->accounting);
	return rc;
}

int capture_account(struct capture *c, unsigned int how)
{
	uint32_t left;
	int rc;

	if (!c->skel->rodata->gn_wall_ns && !c->skel->bss->gn_cpu_clocks_only)
		return 0;
	rc = account(c, how, 0, &left);
	if (!rc && left)
		c->crowded = sched_getcpu() + 1;
	return rc ? rc : left > 0;
}

/* The next threads of an accounting in slices; as iterator_run(). */
static int slice(struct capture *c, size_t threads)
{
	struct gnomon *s = c->skel;
	int rc;

	s->bss->gn_patient = 0;
	s->bss->gn_unaccounted = 0;
	if (!c->slices) {
		c->slices_fd = iterator_open(s->progs.wall_account, 0, &c->slices);
		if (c->slices_fd < 0)
			return c->slices_fd;
	}
	rc = iterator_run(c->slices_fd, threads);
	c->slices_left += s->bss->gn_unaccounted;
	if (rc != 1)
		slices_end(c);
	return rc;
}

int capture_account_some(struct capture *c, bool first, size_t threads)
{
	int rc;

	pthread_mutex_lock(&c->accounting);
	if (first) {
		slices_end(c);
		c->skel->bss->gn_round++;
		c->slices_left = 0;
	}
	rc = slice(c, threads);
	if (!rc && c->slices_left) { /* once more, for those for whom the rings were too full */
		c->slices_left = 0;
		rc = 1;
	}
	pthread_mutex_unlock(&c->accounting);
	return rc;
}

bool capture_awaits(const struct capture *c)
{
	return c->skel->bss->gn_awaited > 0;
}

int capture_account_of(struct capture *c, pid_t tgid)
{
	uint32_t left;

	return account(c, 0, tgid, &left);
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
	ticks_tgids_follow(c);
	return threads_sum(c->ticks_tgids, c->nticks_tgids);
}

bool capture_can_switch(const struct capture *c)
{
	return c->can_switch;
}

static int scanning_begin(struct capture *c, uint64_t tick)
{
	struct gnomon *s = switches(c);
	int rc = capture_account(c, 0);

	bpf_link__destroy(s->links.wall_switch);
	s->links.wall_switch = NULL;
	c->skel->bss->gn_scan_tick = tick;
	c->skel->data->gn_scan_gen++;
	c->skel->bss->gn_scanning = 1;
	c->scanning = true;
	return rc < 0 ? rc : 0;
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
	s->bss->gn_scanning = 0;
	s->bss->gn_marking = 1;
	c->scanning = false;
	rc = capture_account(c, 0);
	found = capture_scan(c);
	return rc < 0 ? rc : found < 0 ? found : 0;
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

int capture_switches(struct capture *c)
{
	return iterate_tgids(c, c->skel->progs.switches_scan, c->tgids, c->ntgids);
}

/*
 * How many threads were added to the tick's queue since it was visited last; that is now, if
 * `visits`. One that is being added right now is found two ticks later.
 */
static uint64_t pending_added(struct capture *c, uint64_t tick, bool visits)
{
	size_t odd = tick >> capture_visit_level(c) & 1; /* as tick_parity() has it */
	uint64_t n = __atomic_load_n(&c->skel->bss->gn_pending[odd], __ATOMIC_ACQUIRE);
	uint64_t added = n - c->pending[odd];

	if (visits)
		c->pending[odd] = n;
	return added;
}

/* Not for what it is told on, since samples without it are samples. */
static void cpus_look(struct capture *c, uint64_t tick)
{
	struct gn_cpus_look arg = {.tick = tick};
	/* the kernel copies the context back to where it came from */
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = &arg, .ctx_size_in = sizeof(arg));
	int rc = bpf_prog_test_run_opts(bpf_program__fd(c->skel->progs.cpus_look), &opts);

	c->wanted = rc || arg.crowded;
	if (rc)
		log_debug("who had the CPUs at tick %llu: %s", (unsigned long long)tick,
			  strerror(-rc));
}

/*
 * Read whose the locks are that threads wait for: of all of them (0), or of those that have come
 * since an earlier call of this tick has returned `since`.
 */
static uint64_t locks_read(struct capture *c, uint64_t tick, uint64_t since)
{
	uint64_t *waiters = (uint64_t *)&c->skel->bss->gn_lock_waiters;
	struct gn_lock_tick arg = {.tick = tick, .since = since};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = &arg, .ctx_size_in = sizeof(arg));
	uint64_t seen = since ? since : c->skel->bss->gn_lock_seen;

	if (!c->can_lock || __atomic_load_n(waiters, __ATOMIC_ACQUIRE) == seen ||
	    programs_begin(c->programs, PROGRAMS_REMOTE))
		return seen;
	bpf_prog_test_run_opts(bpf_program__fd(remote(c)->progs.lock_tick), &opts);
	return __atomic_load_n(waiters, __ATOMIC_ACQUIRE);
}

/*
 * The number of switches. The switch program counts them per CPU beside the CPU's time, which it
 * has at hand; the scan engine has its own counter.
 */
static uint64_t switches_sum(const struct capture *c)
{
	struct gn_cpu_time *v = calloc((size_t)c->ncpu, sizeof(*v));
	uint64_t sum = 0;
	__u32 zero = 0;

	if (v && !bpf_map_lookup_elem(bpf_map__fd(c->skel->maps.cpu_times), &zero, v))
		for (int i = 0; i < c->ncpu; i++)
			sum += v[i].switches;
	free(v);
	return sum;
}

/* Do others read who rests, so that the collector need not? */
static bool near_reads(struct capture *c)
{
	uint64_t now = now_ns(), since = now - c->near_since, n;

	if (!c->can_visit || since < NEAR_LOOK_NS)
		return c->near;
	n = switches_sum(c);
	c->near = (n - c->near_switches) * 1000000000 / since >= NEAR_SWITCHES;
	c->near_since = now;
	c->near_switches = n;
	return c->near;
}

uint64_t capture_tick_look(struct capture *c, uint64_t tick)
{
	if (c->looks)
		cpus_look(c, tick);
	if (c->scanning || !c->can_find)
		return 0;
	c->waiters = locks_read(c, tick, 0);
	return near_reads(c) && pending_added(c, tick, false) >= NEAR_FEW ? NEAR_NS : 0;
}

/*
 * On kernels where the program cannot find a task by its pid, an iterator goes through all tasks
 * instead.
 */
int capture_tick(struct capture *c, struct gn_remote_tick *arg)
{
	int rc = 0, rested;

	if (c->scanning) {
		c->skel->bss->gn_scan_tick = arg->tick;
		ticks_tgids_follow(c);
		rc = iterate_tgids(c, scanner(c)->progs.wall_scan, c->ticks_tgids, c->nticks_tgids);
		locks_read(c, arg->tick, 0);
		return rc;
	}
	if (!c->can_find) {
		late_take(c);
		return remote_scan(c,
				   atomic_exchange(&c->remote_due, false) ? UINT64_MAX : arg->tick);
	}
	if (pending_added(c, arg->tick, true))
		rc = remote_run(c, arg);
	rested = resting_read(c);
	locks_read(c, arg->tick, c->waiters); /* of those that were only met now */
	return rc ? rc : rested;
}

/* ---- ticks that are left out ---- */

bool capture_is_quiet(const struct capture *c)
{
	const struct gnomon__bss *bss = c->skel->bss;

	return c->bell && !c->scanning && c->can_find && !c->wanted && !c->resting && !c->remote_due && !c->late &&
	       __atomic_load_n(&bss->gn_pending[0], __ATOMIC_ACQUIRE) == c->pending[0] &&
	       __atomic_load_n(&bss->gn_pending[1], __ATOMIC_ACQUIRE) == c->pending[1] &&
	       (!c->can_lock ||
		__atomic_load_n(&bss->gn_lock_waiters, __ATOMIC_ACQUIRE) == bss->gn_lock_seen);
}

/* Whoever comes to need a tick either finds that it is to ring, or is found here. */
bool capture_doze(struct capture *c)
{
	if (!capture_is_quiet(c))
		return false;
	__atomic_store_n(&c->skel->bss->gn_tick_dozes, 1, __ATOMIC_SEQ_CST);
	if (capture_is_quiet(c))
		return true;
	capture_doze_end(c);
	return false;
}

void capture_doze_end(struct capture *c)
{
	__atomic_store_n(&c->skel->bss->gn_tick_dozes, 0, __ATOMIC_SEQ_CST);
	if (c->bell)
		ring_buffer__consume(c->bell);
}

int capture_bell(const struct capture *c)
{
	return c->bell ? bpf_map__fd(c->skel->maps.bell) : -1;
}

uint64_t capture_unseen(const struct capture *c)
{
	return __atomic_load_n(&c->skel->bss->gn_unseen, __ATOMIC_RELAXED);
}

void capture_reread(struct capture *c)
{
	c->reread_due = true;
	c->remote_due = true;
}

void capture_stop_at(struct capture *c, uint64_t ns)
{
	uint64_t since = ns - c->skel->rodata->gn_start_ns, wall = c->skel->rodata->gn_wall_ns;

	if (wall) /* ns - 1: a tick at that very instant is not part of the recording either */
		__atomic_store_n(&c->skel->data->gn_stop_tick, gn_ticks_until(since - 1, wall),
				 __ATOMIC_RELAXED);
	__atomic_store_n(&c->skel->data->gn_stop_ns, ns, __ATOMIC_RELEASE);
}

void capture_unsent(struct capture *c, const struct gn_rec *rec)
{
	if (rec->type == GN_REC_STACK) {
		const struct gn_stack *s = (const void *)rec;

		bpf_map_delete_elem(bpf_map__fd(c->skel->maps.sent), &s->id);
		c->unsent = true;
	} else if (rec->type == GN_REC_VTHREAD) {
		const struct gn_vthread_rec *v = (const void *)rec;
		const uint64_t key[2] = {v->id, rec->tgid}; /* kern/vthread.bpf.h */

		bpf_map_delete_elem(bpf_map__fd(c->skel->maps.vthread_names), key);
	} else if (rec->type == GN_REC_CAUSE) {
		const struct gn_cause_rec *r = (const void *)rec;

		bpf_map_delete_elem(bpf_map__fd(c->skel->maps.causes_sent), &r->id);
	} else if (rec->type == GN_REC_CONTEXT) {
		const struct gn_context_rec *r = (const void *)rec;

		bpf_map_delete_elem(bpf_map__fd(c->skel->maps.contexts_sent), &r->id);
	}
}

void capture_told(struct capture *c, const struct gn_rec *rec)
{
	if (c->peers && rec->type == GN_REC_CAUSE)
		peers_note(c->peers, (const void *)rec, now_ns());
}

#define PEERS_SHARE 200 /* of a CPU's time looks for them take at most 1 in so many */

void capture_peers(struct capture *c, capture_fn fn, void *ctx)
{
	uint64_t begun = now_ns();

	if (!c->peers)
		return;
	if (begun >= c->peers_ns && peers_ask(c->peers, begun)) {
		int rc = iterate(c->skel->progs.peer_find);

		if (rc)
			log_debug("the files of all processes cannot be looked at: %s",
				  strerror(-rc));
		c->peers_ns = begun + PEERS_SHARE * (now_ns() - begun);
		log_debug("other ends of connections: looked for in %.1f ms",
			  (double)(now_ns() - begun) / 1e6);
	}
	peers_tell(c->peers, now_ns(), fn, ctx);
}

void capture_epoch(struct capture *c)
{
	__atomic_fetch_add(&c->skel->data->gn_epoch, 1, __ATOMIC_RELAXED);
}

void capture_relist(struct capture *c)
{
	capture_epoch(c);
	c->relist_due = true;
	c->remote_due = true;
}

static void sent_forget(int map)
{
	uint64_t id;

	while (!bpf_map_get_next_key(map, NULL, &id) && !bpf_map_delete_elem(map, &id))
		;
}

void capture_forgotten(struct capture *c)
{
	capture_epoch(c);
	sent_forget(bpf_map__fd(c->skel->maps.sent));
	capture_reread(c);
}

/* Threads are found there by the initial PID namespace's numbers. */
static int resting_fd(const struct capture *c)
{
	if (!c->can_find || !is_needed(c, PROGRAMS_REMOTE) || c->skel->bss->gn_pidns_level)
		return -1;
	return bpf_map__fd(c->skel->maps.resting);
}

void capture_tables(struct capture *c, struct capture_tables *out)
{
	*out = (struct capture_tables){
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

int capture_fd(const struct capture *c)
{
	return rings_fd(c->rings);
}

/*
 * Grows a ring that was too small for an accounting: otherwise the accounting takes several turns,
 * and each of them looks at all threads.
 */
static void ring_widen(struct capture *c, int cpu)
{
	size_t bytes = 2 * capture_threads(c) * (sizeof(struct gn_sample) + 8);
	int rc = rings_reserve(c->rings, cpu, bytes, now_ns());

	if (rc)
		log_debug("a ring buffer could not grow: %s", strerror(-rc));
}

static void rings_adapt(struct capture *c)
{
	int crowded = atomic_exchange(&c->crowded, 0), rc;
	__u32 key = GN_CNT_LOST_BYTES;

	if (crowded)
		ring_widen(c, crowded - 1);
	if (bpf_map_lookup_elem(bpf_map__fd(c->skel->maps.counters), &key, c->per_cpu))
		return;
	rc = rings_grow(c->rings, c->per_cpu, now_ns());
	if (rc < 0)
		log_debug("a ring buffer could not grow: %s", strerror(-rc));
	rc = rings_shrink(c->rings, now_ns());
	if (rc < 0)
		log_debug("a ring buffer could not shrink: %s", strerror(-rc));
}

void capture_make_room(struct capture *c)
{
	if (c->skel->rodata->gn_wall_ns && !c->skel->rodata->gn_reservoir)
		ring_widen(c, sched_getcpu());
}

int capture_drain(struct capture *c, capture_fn fn, void *ctx)
{
	int n = rings_drain(c->rings, fn, ctx);

	if (n >= 0)
		rings_adapt(c);
	return n;
}

void capture_counters(const struct capture *c, uint64_t out[GN_CNT_MAX])
{
	__u64 *v = calloc((size_t)c->ncpu, sizeof(*v));

	memset(out, 0, GN_CNT_MAX * sizeof(*out));
	for (__u32 k = 0; v && k < GN_CNT_MAX; k++) {
		if (bpf_map_lookup_elem(bpf_map__fd(c->skel->maps.counters), &k, v))
			continue;
		for (int i = 0; i < c->ncpu; i++)
			out[k] += v[i];
	}
	free(v);
	out[GN_CNT_SWITCHES] += switches_sum(c);
}

/* Losses of threads for which the map had no room. */
static void losses_unplaced(struct capture *c, capture_loss_fn fn, void *ctx)
{
	uint64_t counters[GN_CNT_MAX];

	capture_counters(c, counters);
	for (unsigned int i = 0; i < GN_LOSS_MAX; i++) {
		uint64_t n = counters[GN_CNT_LOSSES + i];

		if (n > c->unplaced[i]) {
			fn(ctx, 0, i, n - c->unplaced[i]);
			c->unsent |= i == GN_LOSS_STACK;
			c->unstored |= i == GN_LOSS_STATE;
			c->unplaced[i] = n;
		}
	}
}

#define STORED_NS 10000000000ull /* between two looks for threads that have no storage */

/*
 * A thread that got none when it was born is seen nowhere: on Linux 6.1 a program is refused what
 * another one, which it has interrupted, is about to get (bpf_task_storage_get() of that kernel).
 * From a look at all threads on it is recorded like one that was there before us.
 */
static void unstored_find(struct capture *c)
{
	uint64_t now = now_ns();

	if (c->stopped || now - c->stored_ns < STORED_NS)
		return;
	c->unstored = false;
	c->stored_ns = now;
	capture_scan(c);
}

void capture_losses(struct capture *c, capture_loss_fn fn, void *ctx)
{
	int fd = bpf_map__fd(c->skel->maps.losses);
	struct gn_loss_key key, next;
	bool more = !bpf_map_get_next_key(fd, NULL, &next);
	__u64 count;

	while (more) {
		key = next;
		more = !bpf_map_get_next_key(fd, &key, &next);
		/*
		 * This takes the entry out in one step: what a program adds meanwhile starts a new
		 * one.
		 */
		if (bpf_map_lookup_and_delete_elem(fd, &key, &count) || !count)
			continue;
		c->unsent |= key.reason == GN_LOSS_STACK;
		c->unstored |= key.reason == GN_LOSS_STATE;
		fn(ctx, (pid_t)key.tid, key.reason, count);
	}
	losses_unplaced(c, fn, ctx);
	if (c->unsent)
		capture_reread(c);
	c->unsent = false;
	if (c->unstored)
		unstored_find(c);
}

int capture_run_time_on(void)
{
	return bpf_enable_stats(BPF_STATS_RUN_TIME);
}

void capture_run_time(const struct capture *c, uint64_t *ns, uint64_t *runs)
{
	programs_run_time(c->programs, ns, runs);
}

size_t capture_ring_bytes(const struct capture *c)
{
	return rings_bytes(c->rings);
}
