/* SPDX-License-Identifier: Apache-2.0 */
#include "run/session.h"

#include <errno.h>
#include <inttypes.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/tasks.h"
#include "capture/capture.h"
#include "capture/ticks.h"
#include "capture/unwinder.h"
#include "naming/recorder.h"
#include "out/findings.h"
#include "out/report.h"
#include "run/choice.h"
#include "run/cpuclocks.h"
#include "run/fleet.h"
#include "run/launch.h"
#include "run/overhead.h"
#include "run/pace.h"
#include "run/renounce.h"
#include "target/neighbours.h"

#define SENDING_NS 1000000ull /* a record is in its ring so long after its time, at most */
#define DRAIN_MS   100	      /* rings are drained at least so often */
#define LAUNCH_MS  10	      /* for the first time after so long if a command was launched */
/* a command that was launched may take so long to end with the recording */
#define PATIENCE_MS    500
#define SAME_SIGNAL_NS 500000000ull
#define START_NS       1000000000ull /* after a signal the start is waited for so long */
#define HURRY_MS       10	     /* rings are drained so often while classes come and go */
#define ACCOUNT_TICKS  1000 /* wall ticks of open intervals are reported at least so often */
#define ACCOUNT_TURNS  10000
#define ACCOUNT_MIN_NS 1000000000ull
/* with thousands of threads the period is so long for each of them */
#define ACCOUNT_THREAD_NS 6000000ull
#define ACCOUNT_MAX_NS	  60000000000ull /* but never longer than this */
#define THREADS_NS	  5000000000ull	 /* they are counted so often, which goes through all */
#define ACCOUNT_FEW	  64		 /* threads looked at per draining, at least, */
#define ACCOUNT_MANY	  256 /* and at most: a millisecond's work, without their names */

enum why_ended { RUNNING = 0, DURATION, SIGNALLED, TARGET_GONE, FAILED };

struct session {
	const struct session_config *cfg;
	struct recorder *rec;
	struct fleet *fleet;
	struct capture *cap;
	struct unwinder_maps *unwinder;
	struct cpuclocks clocks;
	struct ticks *ticks;
	struct choice *choice; /* NULL: all threads */
	struct pace *pace;     /* with hooks.rate */
	struct launch launch;
	struct neighbours *cpus; /* NULL: who else used the CPUs is not known */
	struct overhead cost;
	struct recorder_cost told; /* the sum of all reports of the cost */
	/* CPU time of naming's process before that, and the most memory it was seen to have */
	uint64_t naming_cpu_ns, naming_memory;
	sigset_t old_mask;
	struct signalfd_siginfo signal; /* the last one that came */
	uint64_t signal_ns;		/* when the first of those came that end it; 0: none */
	int epoll, sigfd, timer;
	pid_t pid;	      /* the first target */
	uint32_t draw_shift;  /* with a reservoir: log2 of the ticks of a draw */
	uint64_t sampling_ns; /* CLOCK_MONOTONIC, when sampling began */
	uint64_t ended_ns;    /* when it ended, or will end; 0: not known yet */
	uint64_t account_ns;  /* when the last accounting began */
	bool accounting;      /* it goes on: some threads each time the rings are drained */
	uint64_t threads;     /* of all targets, as they were at threads_ns */
	uint64_t threads_ns;
	/* the process whose file soon begins a new chunk; 0: none, -1: several */
	_Atomic pid_t chunk_of;
	uint32_t watching; /* the number of the orders that naming has */
	uint64_t seconds;  /* whole seconds that each_second() was called for */
	enum why_ended ended;
	enum wall_engine wall_engine; /* as the files were told last; AUTO: none */
};

/* ---- the loop's sources ---- */

static int watch(struct session *s, int fd)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &ev);
}

/*
 * Signals are taken from the beginning, so that even one that comes early leads to an end in order.
 */
static int signals_take(struct session *s, struct error *e)
{
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGHUP);
	sigprocmask(SIG_BLOCK, &mask, &s->old_mask);
	s->sigfd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (s->sigfd < 0 || s->epoll < 0 || watch(s, s->sigfd))
		return error_set(e, -errno, EXIT_INTERNAL, "cannot set up the event loop: %s",
				 strerror(errno));
	return 0;
}

/* Whether there was one that ends it. */
static bool signals_read(struct session *s)
{
	const struct session_hooks *h = &s->cfg->hooks;
	bool any = false;

	while (read(s->sigfd, &s->signal, sizeof(s->signal)) == sizeof(s->signal)) {
		if (s->signal.ssi_signo == SIGHUP && h->hangup)
			h->hangup(h->ctx);
		else
			any = true;
	}
	if (any && !s->signal_ns)
		s->signal_ns = now_ns();
	return any;
}

/*
 * Whether a second one came: whoever sent it does not want to wait for names. What comes at once
 * after the first one is the same, sent to a group and to its members.
 */
static bool signals_again(void *ctx)
{
	struct session *s = ctx;
	uint64_t first = s->signal_ns;

	return signals_read(s) && first && now_ns() - first >= SAME_SIGNAL_NS;
}

/* Whoever ends it before it has begun waits for what is nearly ready, and not for what hangs. */
static bool start_interrupted(void *ctx)
{
	struct session *s = ctx;

	return signals_again(s) || (s->signal_ns && now_ns() - s->signal_ns >= START_NS);
}

/* Reads the signals that are pending, so that they are not delivered when the mask is restored. */
static void signals_give_back(struct session *s)
{
	if (s->sigfd >= 0) {
		signals_read(s);
		close(s->sigfd);
	}
	sigprocmask(SIG_SETMASK, &s->old_mask, NULL);
}

static int sources_open(struct session *s, struct error *e)
{
	struct itimerspec every = {
		.it_interval.tv_nsec = DRAIN_MS * 1000000,
		/* a command that was launched execs at once, and needs its tables soon */
		.it_value.tv_nsec = (s->cfg->argv ? LAUNCH_MS : DRAIN_MS) * 1000000,
	};

	s->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (s->timer < 0 || timerfd_settime(s->timer, 0, &every, NULL) || watch(s, s->timer) ||
	    watch(s, capture_fd(s->cap)))
		return error_set(e, -errno, EXIT_INTERNAL, "cannot set up the event loop: %s",
				 strerror(errno));
	return 0;
}

/* ---- thread filter ---- */

static bool thread_matches(const struct session_config *cfg, pid_t tid, const char *name)
{
	char num[16];

	snprintf(num, sizeof(num), "%d", tid);
	for (size_t i = 0; i < cfg->nthreads; i++)
		if (!strcmp(cfg->threads[i], num) || !fnmatch(cfg->threads[i], name, 0))
			return true;
	return false;
}

static bool on_thread(void *ctx, pid_t tgid, pid_t tid, const char *name)
{
	struct session *s = ctx;
	bool wanted = thread_matches(s->cfg, tid, name);

	if (wanted && capture_want(s->cap, tid, true))
		log_warn("cannot add thread %d to the filter", tid);
	return wanted;
}

static void on_epoch(void *ctx)
{
	struct session *s = ctx;

	capture_epoch(s->cap);
}

static void on_lost(void *ctx)
{
	struct session *s = ctx;

	capture_relist(s->cap);
}

static void on_tables(void *ctx)
{
	struct session *s = ctx;

	capture_reread(s->cap);
}

/* Called on the thread that naming asks. */
static void on_chunk_end(void *ctx, pid_t tgid)
{
	struct session *s = ctx;
	pid_t nobody = 0;

	if (!atomic_compare_exchange_strong(&s->chunk_of, &nobody, tgid) && nobody != tgid)
		s->chunk_of = -1;
}

/* ---- start ---- */

/* The least that is not below n; 0 of 0. */
static size_t power_of_two(uint64_t n)
{
	size_t size = 1;

	while (size < n)
		size *= 2;
	return n ? size : 0;
}

static int recorder_prepare(struct session *s, uint64_t start, struct error *e)
{
	const struct session_config *cfg = s->cfg;
	struct target_config rc = {
		.cpu_ns = cfg->cpu_ns,
		.wall_ns = cfg->wall_ns,
		.duration_ns = cfg->duration_ns,
		.start_ns = start,
		.one_by_one = cfg->one_by_one,
		.queue_bytes = power_of_two(cfg->queue_bytes),
		.jvm = cfg->jvm,
		.form = cfg->form,
		.finished = cfg->finished,
		.total_max_bytes = cfg->total_max_bytes,
		.waits = cfg->waits,
		.causes = cfg->causes,
		.unmounted = cfg->unmounted,
		.environment = cfg->environment,
		.launched = cfg->argv != NULL,
		.on_epoch = on_epoch,
		.on_lost = on_lost,
		.interrupted = start_interrupted,
		.on_tables = on_tables,
		.on_chunk_end = on_chunk_end,
		.wants_thread = cfg->nthreads ? on_thread : NULL,
		.ctx = s,
	};

	return recorder_open(&s->rec, &rc, cfg->isolate, e);
}

/*
 * Opens each target's file, so that the user hears of an output that cannot be written before
 * sampling.
 */
static int targets_open(struct session *s, struct error *e)
{
	const struct session_config *cfg = s->cfg;
	const struct fleet_config fc = {
		.follow = cfg->follow,
		.follow_ctx = cfg->follow_ctx,
		.name = cfg->name,
		.name_ctx = cfg->name_ctx,
		.owner_max = cfg->owner_max,
		.overwrite = cfg->overwrite,
		.epoll = s->epoll,
	};
	struct session_target launched;
	const struct session_target *v = cfg->targets;
	size_t n = cfg->ntargets;
	int rc;

	if (cfg->argv) {
		launched = *v;
		launched.pid = s->launch.pid;
		v = &launched;
	}
	rc = fleet_open(&s->fleet, &fc, s->rec, e);
	for (size_t i = 0; i < n && !rc; i++)
		rc = fleet_first(s->fleet, v[i].pid, v[i].owner, v[i].path, e);
	s->pid = n ? v[0].pid : 0;
	return rc;
}

static uint64_t targets_threads(const struct session *s)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s->cfg->ntargets; i++)
		sum += tasks_count(s->cfg->targets[i].pid);
	return sum;
}

static int capture_prepare(struct session *s, uint64_t start, struct error *e)
{
	struct capture_config cc = {
		.cpu_ns = s->cfg->cpu_ns,
		.wall_ns = s->cfg->wall_ns,
		.start_ns = start,
		.cpu_clocks = s->clocks.alone,
		.rates = s->cfg->hooks.rate != NULL,
		.wall_scan = s->cfg->wall_engine == WALL_ENGINE_SCAN,
		.thread_filter = s->cfg->nthreads > 0,
		.causes = s->cfg->causes,
		.only_context = s->cfg->only_context,
		.depth = s->cfg->depth,
		.reservoir = s->cfg->reservoir > 0,
		.draw_shift = s->draw_shift,
		.ring_bytes = power_of_two(s->cfg->ring_bytes),
	};
	int rc = capture_open(&s->cap, &cc, e);

	return rc ? rc : fleet_capture(s->fleet, s->cap, e);
}

/* The first threads are chosen before sampling begins. */
static int choice_prepare(struct session *s, uint64_t start, struct error *e)
{
	struct choice_config cc = {
		.n = s->cfg->reservoir,
		.start_ns = start,
		.wall_ns = s->cfg->wall_ns,
		.shift = s->draw_shift,
		.filtered = s->cfg->nthreads > 0,
		.capture = s->cap,
		.recorder = s->rec,
	};
	int rc;

	if (!cc.n || !cc.wall_ns)
		return 0;
	rc = choice_open(&s->choice, &cc, e);
	if (!rc)
		choice_poll(s->choice, now_ns());
	return rc;
}

/* From any thread. */
static bool is_recorded(void *fleet, pid_t tgid)
{
	return fleet_has(fleet, tgid);
}

static int pace_prepare(struct session *s, struct error *e)
{
	const struct pace_config pc = {
		.capture = s->cap,
		.recorder = s->rec,
		.clocks = &s->clocks,
		.wished = s->cfg->hooks.rate,
		.ctx = s->cfg->hooks.ctx,
	};

	if (!pc.wished)
		return 0;
	s->pace = pace_new(&pc);
	return s->pace ? 0 : error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
}

static int sampling_start(struct session *s, uint64_t start, struct error *e)
{
	int rc;

	if (s->cfg->wall_ns && s->cfg->reservoir)
		s->draw_shift = choice_shift(s->cfg->wall_ns, targets_threads(s));
	rc = capture_prepare(s, start, e);
	if (!rc)
		rc = unwinder_open(&s->unwinder, s->cap, e);
	if (!rc)
		rc = recorder_tables(s->rec, unwinder_of(s->unwinder), is_recorded, s->fleet, e);
	if (!rc)
		rc = choice_prepare(s, start, e);
	if (!rc)
		rc = pace_prepare(s, e);
	if (!rc)
		rc = capture_attach(s->cap, e);
	if (!rc)
		rc = cpuclocks_start(&s->clocks, s->cap, s->rec, s->pid, e);
	return rc;
}

/* Tells the files which engine is in use, at the start and whenever it has changed. */
static void wall_engine_write(struct session *s)
{
	enum wall_engine now = s->ticks ? ticks_engine(s->ticks) : WALL_ENGINE_AUTO;

	if (now == s->wall_engine)
		return;
	s->wall_engine = now;
	recorder_setting(s->rec, "gnomon.wallEngine", engine_wall_name(now));
}

static void depth_write(struct session *s)
{
	char value[32];

	snprintf(value, sizeof(value), "%u frames", s->cfg->depth);
	recorder_setting(s->rec, "gnomon.depth", value);
}

static void settings_write(struct session *s)
{
	recorder_setting(s->rec, "gnomon.version", GNOMON_VERSION);
	if (s->cfg->depth)
		depth_write(s);
	cpuclocks_write(&s->clocks);
	wall_engine_write(s);
}

static int ticks_prepare(struct session *s, uint64_t start, struct error *e)
{
	struct ticks_config tc = {
		.start_ns = start,
		.wall_ns = s->cfg->wall_ns,
		.engine = s->cfg->wall_engine,
	};

	return ticks_start(&s->ticks, s->cap, &tc, e);
}

/* Samples of both kinds and the files end at that instant, however long it takes us to end. */
static void end_at(struct session *s, uint64_t ns)
{
	s->ended_ns = ns;
	capture_stop_at(s->cap, ns);
	recorder_stop_at(s->rec, ns);
}

/*
 * The end is set with the beginning: who is held up between the two, for seconds where the machine
 * is starved, has no more in its file than was asked for.
 */
static void sampling_begin(struct session *s)
{
	s->sampling_ns = now_ns();
	if (s->cfg->duration_ns)
		end_at(s, s->sampling_ns + s->cfg->duration_ns);
	overhead_start(&s->cost);
	s->naming_cpu_ns = recorder_cpu_ns(s->rec);
}

static void watch_look(struct session *s)
{
	const struct session_hooks *h = &s->cfg->hooks;
	struct watch_orders o = {.number = s->watching};

	if (!h->watch)
		return;
	h->watch(h->ctx, &o);
	if (o.number == s->watching || !recorder_watch(s->rec, &o))
		return;
	s->watching = o.number;
	if (s->cap) /* else nothing was sent yet */
		capture_relist(s->cap);
}

static int session_prepare(struct session *s, struct error *e)
{
	uint64_t start = now_ns();
	int rc;

	cpuclocks_init(&s->clocks, s->cfg->cpu_ns, s->cfg->clock, s->cfg->follow, s->cfg->wall_ns);
	rc = signals_take(s, e);
	if (!rc)
		rc = recorder_prepare(s, start, e);
	if (!rc && s->cfg->argv)
		rc = launch_prepare(&s->launch, s->cfg->argv, e);
	if (!rc && s->cfg->isolate)
		rc = renounce(s->cfg->hooks.answers, e);
	if (!rc && s->cfg->hooks.apart)
		rc = s->cfg->hooks.apart(s->cfg->hooks.ctx, e);
	if (!rc)
		watch_look(s); /* before there are stacks */
	if (!rc)
		rc = targets_open(s, e);
	if (!rc)
		rc = sampling_start(s, start, e);
	if (!rc && s->cfg->wall_ns)
		rc = ticks_prepare(s, start, e);
	if (!rc)
		rc = sources_open(s, e);
	if (!rc)
		sampling_begin(s);
	if (!rc)
		rc = recorder_start(s->rec, s->sampling_ns, e);
	if (!rc && s->cfg->argv)
		rc = launch_go(&s->launch, s->cfg->argv[0], e);
	return rc;
}

/* ---- run ---- */

static void on_record(void *ctx, const struct gn_rec *rec)
{
	struct session *s = ctx;

	if (!recorder_push(s->rec, rec))
		capture_unsent(s->cap, rec);
	else
		capture_told(s->cap, rec);
}

/* What is known by now of a cause that was told. */
static void on_peer(void *ctx, const struct gn_rec *rec)
{
	const struct session *s = ctx;

	recorder_push(s->rec, rec); /* what does not fit is told in the next epoch */
}

static void on_loss(void *ctx, pid_t tid, enum gn_loss reason, uint64_t count)
{
	recorder_lost(ctx, tid, reason, count);
}

static void drain(struct session *s)
{
	uint64_t begun = now_ns();

	if (capture_drain(s->cap, on_record, s) > 0)
		recorder_wake(s->rec);
	recorder_drained(s->rec, begun - SENDING_NS);
}

static uint64_t beyond(uint64_t now, uint64_t told)
{
	return now > told ? now - told : 0;
}

/* Ours and that of the process that names. */
static void cost_of(struct session *s, struct overhead_cost *c)
{
	uint64_t naming = recorder_memory(s->rec);

	overhead_cost(&s->cost, c);
	c->cpu_ns += recorder_cpu_ns(s->rec) - s->naming_cpu_ns;
	if (naming > s->naming_memory)
		s->naming_memory = naming;
	c->memory += naming;
	c->memory_peak += s->naming_memory;
}

/* Reports what was spent since the last report, so that the events of a file can be added up. */
static void cost_report(struct session *s)
{
	struct recorder_cost *told = &s->told, rc;
	struct overhead_cost c;

	cost_of(s, &c);
	rc = (struct recorder_cost){
		.wall_ns = beyond(c.wall_ns, told->wall_ns),
		.cpu_ns = beyond(c.cpu_ns, told->cpu_ns),
		/* an estimate for the whole time, so it may become smaller */
		.bpf_ns = beyond(c.bpf_ns, told->bpf_ns),
		.bpf_runs = beyond(c.bpf_run_ns ? c.bpf_ns / c.bpf_run_ns : 0, told->bpf_runs),
		.memory = c.memory + capture_ring_bytes(s->cap),
		.stolen_ns = beyond(c.stolen_ns, told->stolen_ns),
	};
	if (!rc.wall_ns)
		return;
	rc.cpu_share = (float)((double)(rc.cpu_ns + rc.bpf_ns) / (double)rc.wall_ns);
	told->wall_ns += rc.wall_ns;
	told->cpu_ns += rc.cpu_ns;
	told->bpf_ns += rc.bpf_ns;
	told->bpf_runs += rc.bpf_runs;
	told->stolen_ns += rc.stolen_ns;
	recorder_cost(s->rec, &rc);
}

static void target_tell(void *ctx, pid_t pid, const struct totals *t)
{
	const struct session *s = ctx;
	const struct session_hooks *h = &s->cfg->hooks;

	h->target(h->ctx, pid, t, s->pace ? capture_switches_of(s->cap, pid) : 0);
}

static void second_tell(struct session *s, uint64_t now)
{
	const struct session_hooks *h = &s->cfg->hooks;
	struct session_now n = {
		.elapsed_ns = now - s->sampling_ns,
		.processes = fleet_count(s->fleet),
	};

	if (!h->second)
		return;
	recorder_totals(s->rec, &n.totals);
	cost_of(s, &n.cost);
	if (h->target)
		recorder_targets(s->rec, target_tell, s);
	h->second(h->ctx, &n);
}

static void each_second(struct session *s, uint64_t now)
{
	struct totals t;
	struct overhead_cost c;

	capture_losses(s->cap, on_loss, s->rec);
	capture_peers(s->cap, on_peer, s);
	cost_report(s);
	wall_engine_write(s);
	cpuclocks_consider(&s->clocks, now);
	second_tell(s, now);
	watch_look(s);
	if (s->cfg->quiet || !isatty(STDERR_FILENO))
		return;
	recorder_totals(s->rec, &t);
	cost_of(s, &c);
	report_progress(now - s->sampling_ns, &t, &c);
}

/*
 * Accounts for all open intervals. Many of them do not fit into the rings at once, so accounting
 * and draining take turns.
 */
static void account(struct session *s, unsigned int how)
{
	overhead_burst(&s->cost, s->cap);
	capture_make_room(s->cap);
	for (int i = 0; i < ACCOUNT_TURNS && capture_account(s->cap, how) > 0; i++) {
		drain(s);
		how |= CAPTURE_AGAIN;
	}
	overhead_burst_end(&s->cost, s->cap);
}

static uint64_t threads_count(struct session *s, uint64_t now)
{
	if (!s->threads_ns || now - s->threads_ns >= THREADS_NS) {
		s->threads = capture_threads(s->cap);
		s->threads_ns = now;
	}
	return s->threads;
}

/*
 * Accounting for a sleeper costs the thread nothing, and us some 7 us with its record. It does not
 * make the file larger: there the records of one sleep become one event of up to a minute
 * (naming/target_samples.c).
 */
static uint64_t account_period(struct session *s, uint64_t now)
{
	uint64_t period = s->cfg->wall_ns * ACCOUNT_TICKS;
	uint64_t all = threads_count(s, now) * ACCOUNT_THREAD_NS;

	if (all > ACCOUNT_MAX_NS)
		all = ACCOUNT_MAX_NS;
	if (period < ACCOUNT_MIN_NS)
		period = ACCOUNT_MIN_NS;
	return period > all ? period : all;
}

static bool account_is_due(struct session *s, uint64_t now)
{
	uint64_t since = now - s->account_ns;

	return s->cfg->wall_ns && since >= ACCOUNT_MIN_NS && since >= account_period(s, now);
}

/*
 * So many that an accounting takes three quarters of the time until the next: threads that are met
 * for the first time have names to be read, which takes twenty times as long as all else.
 */
static size_t account_slice(struct session *s, uint64_t now)
{
	uint64_t drains = account_period(s, now) * 3 / 4 / (DRAIN_MS * 1000000ull);
	uint64_t n = threads_count(s, now) / (drains ? drains : 1) + 1;

	return n < ACCOUNT_FEW ? ACCOUNT_FEW : n < ACCOUNT_MANY ? n : ACCOUNT_MANY;
}

/*
 * Goes on with an accounting, or begins one that is due. Thousands of sleepers are so spread over
 * seconds: all at once they would take a CPU from the target for tens of milliseconds.
 */
static void account_some(struct session *s, uint64_t now)
{
	bool begins = !s->accounting;

	if (begins && !account_is_due(s, now))
		return;
	if (begins)
		s->account_ns = now;
	s->accounting = capture_account_some(s->cap, begins, account_slice(s, now)) > 0;
	drain(s);
}

static void account_poll(struct session *s, uint64_t now)
{
	pid_t tgid = atomic_exchange(&s->chunk_of, 0);
	bool due = tgid < 0;

	if (s->choice)
		due |= choice_poll(s->choice, now) || capture_awaits(s->cap) ||
		       account_is_due(s, now);
	if (due) {
		s->account_ns = now;
		account(s, CAPTURE_PATIENT);
	} else if (tgid) {
		overhead_burst(&s->cost, s->cap);
		capture_account_of(s->cap, tgid);
		overhead_burst_end(&s->cost, s->cap);
		drain(s);
	} else {
		account_some(s, now);
	}
}

static void on_timer(struct session *s)
{
	const struct session_hooks *h = &s->cfg->hooks;
	uint64_t now = now_ns(), ticks;

	if (read(s->timer, &ticks, sizeof(ticks)) < 0)
		return;
	drain(s);
	if (h->chosen && h->chosen(h->ctx))
		fleet_choose(s->fleet);
	fleet_poll(s->fleet);
	if (s->pace)
		pace_poll(s->pace);
	launch_look(&s->launch, now);
	overhead_tick(&s->cost, s->cap);
	account_poll(s, now);
	if ((now - s->sampling_ns) / 1000000000u > s->seconds) {
		s->seconds = (now - s->sampling_ns) / 1000000000u;
		each_second(s, now);
	}
	if (s->cfg->duration_ns && now - s->sampling_ns >= s->cfg->duration_ns)
		s->ended = DURATION;
	if (recorder_error(s->rec, NULL))
		s->ended = FAILED;
}

static void on_source(struct session *s, int fd)
{
	if (fd == s->timer)
		on_timer(s);
	else if (fd == s->sigfd)
		s->ended = signals_read(s) ? SIGNALLED : RUNNING;
	else
		drain(s);
	/* what an ended process sent has been drained just now */
	if (fleet_source(s->fleet, fd) && !s->cfg->follow && !fleet_count(s->fleet))
		s->ended = TARGET_GONE;
}

/*
 * How long to wait: until the duration is over, so that it is kept to the millisecond, or until the
 * next draining if names would be lost between two.
 */
static int wait_ms(const struct session *s)
{
	uint64_t now = now_ns(), end = s->sampling_ns + s->cfg->duration_ns;
	int most = s->cfg->duration_ns ? 1000 : -1;

	if (recorder_hurries(s->rec, now))
		most = HURRY_MS;
	if (!s->cfg->duration_ns || (now < end && (end - now) / 1000000 >= (uint64_t)most))
		return most;
	return now < end ? (int)((end - now) / 1000000 + 1) : 0;
}

static void session_loop(struct session *s)
{
	struct epoll_event ev[8];

	s->account_ns = now_ns();
	cpuclocks_begin(&s->clocks, s->account_ns);
	s->cpus = neighbours_new();
	if (s->signal_ns) /* it came while that was prepared */
		s->ended = SIGNALLED;
	if (s->cfg->hooks.began)
		s->cfg->hooks.began(s->cfg->hooks.ctx);
	while (!s->ended) {
		int n = epoll_wait(s->epoll, ev, 8, wait_ms(s));

		if (!n)
			drain(s);
		for (int i = 0; i < n && !s->ended; i++)
			on_source(s, ev[i].data.fd);
		if (s->cfg->duration_ns && !s->ended &&
		    now_ns() - s->sampling_ns >= s->cfg->duration_ns)
			s->ended = DURATION;
	}
}

/* ---- stop ---- */

static void ticks_end(struct session *s)
{
	uint64_t counters[GN_CNT_MAX];
	struct ticks_stats st;

	if (!s->ticks)
		return;
	ticks_stop(s->ticks, &st);
	s->ticks = NULL;
	capture_counters(s->cap, counters);
	log_info("ticks: %llu visited, %llu times some left out, %llu more than 1ms late; %llu "
		 "pending threads, %llu read; "
		 "%llu read as they came back, %llu by others of their process",
		 (unsigned long long)st.ticks, (unsigned long long)st.dozes,
		 (unsigned long long)st.late, (unsigned long long)st.pending,
		 (unsigned long long)st.taken, (unsigned long long)counters[GN_CNT_BACK],
		 (unsigned long long)counters[GN_CNT_NEAR]);
}

/*
 * The order matters. First sampling ends; then the open off-CPU intervals are accounted for; then
 * the programs that see switches go; then what is still in the rings is drained; then the losses
 * are read, which were counted until just now. The clocks' programs reckon to the end what CPU time
 * is worth in samples (kern/weight.bpf.h), so clocks are closed after the programs have stopped.
 */
static void session_stop(struct session *s)
{
	uint64_t now = now_ns();

	if (!s->ended_ns || now < s->ended_ns)
		end_at(s, now);
	fleet_end(s->fleet);
	ticks_end(s);
	account(s, 0);
	capture_stop(s->cap);
	cpuclocks_close(&s->clocks);
	drain(s);
	capture_losses(s->cap, on_loss, s->rec);
	overhead_stop(&s->cost, s->cap);
	cost_report(s);
	if (s->cpus && !neighbours_end(s->cpus))
		recorder_cpus(s->rec, s->cpus);
}

#define DEADLOCK_FILE_MAX (16 << 20) /* of larger files `gnomon summary` says it */

/*
 * Threads that wait for each other say so at once, and not only to who asks: nothing of what they
 * were to do will be done. What cannot be read has been written all the same.
 */
static void deadlocks_say(const char *path)
{
	struct profile_options o = {.causes = true, .show_idle = true};
	struct findings *found = NULL;
	struct profile *p = NULL;
	struct stat st;

	if (stat(path, &st) || st.st_size > DEADLOCK_FILE_MAX || profile_new(&p, &o, NULL))
		return;
	if (!profile_load(p, path, 0, NULL, NULL) && !profile_finish(p, NULL) &&
	    !findings_new(&found, p, NULL))
		findings_print_kind(found, "deadlock", stderr);
	findings_free(found);
	profile_free(p);
}

static void summary_print(struct session *s, const struct totals *t)
{
	uint64_t counters[GN_CNT_MAX];
	struct overhead_cost c;
	struct report_summary r = {
		.elapsed_ns = s->ended_ns - s->sampling_ns,
		.cpu_ns = s->cfg->cpu_ns,
		.wall_ns = s->cfg->wall_ns,
		.depth = s->cfg->depth,
		.cpu_clocks = s->clocks.alone,
		.target_gone = s->ended == TARGET_GONE,
		.several = s->cfg->follow,
		.becomes = s->cfg->becomes,
	};

	r.files = recorder_files(s->rec, &r.nfiles);
	cost_of(s, &c);
	capture_counters(s->cap, counters);
	if (counters[GN_CNT_CODE_CHECKED])
		log_info("code: %" PRIu64 " frames known from earlier walks were looked at again, "
			 "%" PRIu64 " were wrong",
			 counters[GN_CNT_CODE_CHECKED], counters[GN_CNT_CODE_WRONG]);
	if (counters[GN_CNT_MEMO_CHECKED])
		log_info("memo: %" PRIu64
			 " frames known from the thread's last walk were walked again, "
			 "%" PRIu64 " were others",
			 counters[GN_CNT_MEMO_CHECKED], counters[GN_CNT_MEMO_WRONG]);
	if (counters[GN_CNT_KSTACK_CHECKED])
		log_info("kernel stacks: %" PRIu64 " that were known were walked again, %" PRIu64
			 " were others",
			 counters[GN_CNT_KSTACK_CHECKED], counters[GN_CNT_KSTACK_WRONG]);
	r.switches = counters[GN_CNT_SWITCHES];
	r.remote = counters[GN_CNT_REMOTE] + counters[GN_CNT_NEAR];
	r.captures = counters[GN_CNT_CAPTURES] - r.remote;
	r.ring_bytes = capture_ring_bytes(s->cap);
	report_summary(&r, t, &c);
	if (s->cfg->causes && !s->cfg->follow && !s->cfg->isolate)
		for (size_t i = 0; i < r.nfiles; i++)
			deadlocks_say(r.files[i].path);
}

/* Removes files that were finished without a sample. */
static void files_remove(const struct session *s)
{
	size_t n;
	const struct recorded_file *files = recorder_files(s->rec, &n);

	for (size_t i = 0; i < n; i++)
		unlink(files[i].path);
}

static int session_finish(struct session *s, struct error *e)
{
	struct totals t;
	int rc;

	session_stop(s);
	rc = recorder_finish(s->rec, signals_again, s, e);
	recorder_totals(s->rec, &t);
	if (s->ended == TARGET_GONE && !rc && !t.cpu_samples && !t.wall_samples) {
		files_remove(s);
		rc = error_set(e, -ESRCH, EXIT_TARGET,
			       "process %d ended before anything was recorded", s->pid);
	}
	if (!rc && s->cfg->argv)
		rc = launch_judge(&s->launch, s->cfg->argv[0], e);
	if (!rc && s->cfg->nthreads && !t.cpu_samples && !t.wall_samples)
		log_warn("no samples: no thread was named or numbered as --thread says");
	/* after an error there is no summary, which would hide it */
	if (!rc && !s->cfg->quiet)
		summary_print(s, &t);
	return rc;
}

/* Safe in every state: what was not opened is skipped. Clocks go before the programs they run. */
static void session_close(struct session *s, bool keep)
{
	cpuclocks_close(&s->clocks);
	ticks_stop(s->ticks, NULL);
	choice_close(s->choice);
	pace_free(s->pace);
	recorder_close(s->rec, keep);
	neighbours_free(s->cpus);
	fleet_close(s->fleet);
	unwinder_close(s->unwinder);
	capture_close(s->cap);
	if (s->timer >= 0)
		close(s->timer);
	if (s->epoll >= 0)
		close(s->epoll);
}

/*
 * The command may run longer than the recording. We wait for it and end as it does, since whoever
 * started us expects that of a program that runs a command. After an error of ours we end at once.
 */
static int launch_finish(struct session *s, bool failed)
{
	const char *name = s->cfg->argv[0];
	struct launch *l = &s->launch;

	if (failed) {
		if (l->go < 0 && launch_runs(l)) /* it was let go and still runs */
			log_warn("'%s' runs on as process %d", name, l->pid);
		return 0;
	}
	if (s->ended == SIGNALLED)
		launch_signal(l, &s->signal);
	if (!launch_wait(l, s->sigfd, PATIENCE_MS)) {
		if (!s->cfg->quiet)
			report_waiting(name, l->pid);
		launch_wait(l, s->sigfd, -1);
	}
	return l->status;
}

int session_run(const struct session_config *cfg, int *status, struct error *e)
{
	struct session s = {.cfg = cfg, .epoll = -1, .sigfd = -1, .timer = -1};
	bool sampled = false;
	int rc;

	memory_configure();
	rc = session_prepare(&s, e);
	if (!rc) {
		settings_write(&s);
		session_loop(&s);
		rc = session_finish(&s, e);
		sampled = true;
	}
	session_close(&s, sampled);
	*status = cfg->argv ? launch_finish(&s, rc != 0) : 0;
	launch_end(&s.launch);
	signals_give_back(&s);
	return rc;
}
