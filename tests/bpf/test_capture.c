/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The BPF programs in the running kernel: counts of CPU samples against CPU time, wall ticks
 * against life time, who is sampled and who is not. Targets are children of the test, whose truth
 * comes from the kernel's own CPU clocks.
 */
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "asleep.h"
#include "base/tasks.h"
#include "capture/capture.h"
#include "capture/clocks.h"
#include "capture/ticks.h"
#include "pin.h"
#include "target/procfs.h"

#define MS 1000000ull

static uint64_t now_of(clockid_t clk)
{
	struct timespec ts;

	clock_gettime(clk, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void burn_cpu(uint64_t ns)
{
	uint64_t end = now_of(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (now_of(CLOCK_THREAD_CPUTIME_ID) < end)
		;
}

static void sleep_ns(uint64_t ns)
{
	struct timespec ts = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};

	nanosleep(&ts, NULL);
}

/* What a child tells about itself. */
struct truth {
	volatile uint64_t cpu_ns;
	volatile uint64_t begin_ns;  /* when it was told to begin */
	volatile uint64_t before_ns; /* for how long it was recorded until then, waiting */
	volatile uint64_t life_ns;
	volatile uint64_t wait_ns; /* in run queues */
	volatile uint64_t born_ns; /* when its other thread was there, of CLOCK_MONOTONIC */
	uint64_t late_ns;	   /* from its last look at a clock to its being gone, at most */
	uint64_t attach_ns;	   /* from when wall samples can have begun to when they had */
	uint64_t stolen_ns;	   /* from the machine: whose thread had the CPU is not known */
	uint64_t visits_ns;	   /* CPU time of the tick thread */
	uint64_t late_visits;	   /* of its ticks, visited more than 1 ms after their time */
	volatile pid_t other;	   /* a process that must not be sampled */
};

struct tally {
	uint64_t cpu, wall_ticks, wall_records, stacks, forks, exits, foreign, execs;
	uint64_t stackless;
	uint64_t state_ticks[GN_ST_MAX];
	uint64_t counters[GN_CNT_MAX];
	uint64_t start_ns, wall_ns; /* of the ticks */
	uint64_t last_cpu_ns,
		next_tick; /* of the last CPU sample, and beyond the last wall sample */
	pid_t tgid;
};

/* Not 0: nothing is to be sampled from so long after the child's beginning on. */
static uint64_t stop_after_ns;
static uint64_t stopped_ns;

static void tally_times(struct tally *t, const struct gn_sample *s)
{
	uint64_t next = gn_ticks_until(s->h.time - t->start_ns, t->wall_ns ?: 1) + s->n - 1;

	if (s->clock != GN_CLOCK_WALL && s->h.time > t->last_cpu_ns)
		t->last_cpu_ns = s->h.time;
	if (s->clock == GN_CLOCK_WALL && next > t->next_tick)
		t->next_tick = next;
}

static void tally_record(void *ctx, const struct gn_rec *rec)
{
	const struct gn_sample *s = (const struct gn_sample *)rec;
	struct tally *t = ctx;

	if ((pid_t)rec->tgid != t->tgid)
		t->foreign++;
	switch (rec->type) {
	case GN_REC_SAMPLE:
		if (s->clock == GN_CLOCK_WALL) {
			t->wall_ticks += s->n;
			t->state_ticks[s->state] += s->n;
			t->wall_records++;
		} else {
			t->cpu += s->n;
		}
		t->stackless += !s->stack;
		tally_times(t, s);
		break;
	case GN_REC_STACK:
		t->stacks++;
		break;
	case GN_REC_FORK:
		t->forks++;
		break;
	case GN_REC_EXIT:
		t->exits++;
		break;
	case GN_REC_EXEC:
		t->execs++;
		break;
	}
}

struct lossy {
	uint64_t by_reason[GN_LOSS_MAX];
};

static void count_loss(void *ctx, pid_t tid, enum gn_loss reason, uint64_t n)
{
	((struct lossy *)ctx)->by_reason[reason] += n;
}

typedef void (*workload)(struct truth *t);

/* A child that waits until something can be read of `go`, and then does the work. */
static pid_t worker_start(workload work, struct truth *truth, const int go[2])
{
	pid_t pid = fork();
	uint64_t t0;
	char b;

	if (pid)
		return pid;
	close(go[1]);
	if (read(go[0], &b, 1) != 1)
		_exit(9);
	truth->begin_ns = t0 = now_of(CLOCK_MONOTONIC);
	work(truth);
	truth->life_ns = now_of(CLOCK_MONOTONIC) - t0;
	truth->cpu_ns = now_of(CLOCK_PROCESS_CPUTIME_ID);
	_exit(0);
}

/* Returns when wall samples can have begun. */
static uint64_t sampling_start(struct capture *c, const struct capture_config *cfg, pid_t pid,
			       struct clocks **clk, struct ticks **ticks)
{
	uint64_t attached_ns = now_of(CLOCK_MONOTONIC);
	struct ticks_config tc = {
		.start_ns = cfg->start_ns,
		.wall_ns = cfg->wall_ns,
		.engine = cfg->wall_scan ? WALL_ENGINE_SCAN : WALL_ENGINE_SWITCH,
	};
	struct error e = {0};

	assert_int_equal(
		clocks_open(clk, cfg->cpu_ns,
			    cfg->cpu_clocks ? -1 : capture_clock_fd(c, CAPTURE_THREAD_CLOCK),
			    capture_clock_fd(c, CAPTURE_CPU_CLOCK), &e),
		0);
	assert_int_equal(clocks_add(*clk, pid, &e), 0);
	if (!cfg->wall_ns)
		return attached_ns;
	if (cfg->wall_scan) /* only from its first tick on */
		attached_ns = now_of(CLOCK_MONOTONIC);
	assert_int_equal(ticks_start(ticks, c, &tc, &e), 0);
	return attached_ns;
}

struct sched_times {
	unsigned long long run, wait; /* on a CPU, in run queues */
};

/* Of a thread of this process, by the kernel's account; zeros if it is gone. */
static struct sched_times sched_times_of(pid_t tid)
{
	struct sched_times t = {0};
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/schedstat", tid);
	f = fopen(path, "re");
	if (f && fscanf(f, "%llu %llu", &t.run, &t.wait) != 2)
		t = (struct sched_times){0};
	if (f)
		fclose(f);
	return t;
}

/* CPU time of this process's tick thread. */
static uint64_t visits_cpu_ns(void)
{
	char comm[32];
	uint64_t ns = 0;
	pid_t *tids;
	size_t n;

	assert_int_equal(tasks_read(getpid(), &tids, &n), 0);
	for (size_t i = 0; i < n; i++)
		if (!proc_comm_read(getpid(), tids[i], comm, sizeof(comm)) &&
		    !strcmp(comm, "gnomon-ticks"))
			ns = sched_times_of(tids[i]).run;
	free(tids);
	return ns;
}

/* Run `work` in a child under a capture; the child waits until everything is attached. */
static void record(workload work, struct capture_config *cfg, struct truth *out,
		   struct tally *tally, struct lossy *lost)
{
	struct truth *truth = mmap(NULL, sizeof(*truth), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct capture *c = NULL;
	struct clocks *clk = NULL;
	struct ticks *ticks = NULL;
	struct ticks_stats visits = {0};
	struct error e = {0};
	uint64_t attached_ns, attach_ns, stolen[2] = {0};
	int go[2], status;
	pid_t pid;

	assert_int_equal(pipe(go), 0);
	pid = worker_start(work, truth, go);
	while (!is_asleep(pid, pid))
		sleep_ns(MS);
	cfg->start_ns = now_of(CLOCK_MONOTONIC);
	*tally = (struct tally){.tgid = pid, .start_ns = cfg->start_ns, .wall_ns = cfg->wall_ns};
	if (capture_open(&c, cfg, &e))
		fail_msg("%s", e.msg);
	assert_int_equal(capture_add(c, pid, &e), 0);
	attach_ns = now_of(CLOCK_MONOTONIC);
	assert_int_equal(capture_attach(c, &e), 0);
	attached_ns = sampling_start(c, cfg, pid, &clk, &ticks);
	host_stolen_read(&stolen[0]);
	stopped_ns = now_of(CLOCK_MONOTONIC) + stop_after_ns;
	if (stop_after_ns)
		capture_stop_at(c, stopped_ns);
	assert_int_equal(write(go[1], "x", 1), 1);
	while (waitpid(pid, &status, WNOHANG) == 0) {
		sleep_ns(20 * MS);
		assert_true(capture_drain(c, tally_record, tally) >= 0);
	}
	truth->late_ns = now_of(CLOCK_MONOTONIC) - truth->begin_ns - truth->life_ns;
	host_stolen_read(&stolen[1]);
	truth->visits_ns = visits_cpu_ns();
	ticks_stop(ticks, &visits);
	truth->late_visits = visits.late;
	capture_account(c, 0);
	clocks_close(clk);
	capture_stop(c);
	assert_true(capture_drain(c, tally_record, tally) >= 0);
	memset(lost, 0, sizeof(*lost));
	capture_losses(c, count_loss, lost);
	capture_counters(c, tally->counters);
	capture_close(c);
	close(go[0]);
	close(go[1]);
	assert_int_equal(status, 0);
	truth->before_ns = truth->begin_ns - attached_ns;
	truth->attach_ns = attached_ns - attach_ns;
	truth->stolen_ns = stolen[1] - stolen[0];
	*out = *truth;
	munmap(truth, sizeof(*truth));
}

/* They go on long after, and their clocks and programs stay: samples of both kinds end at once. */
static void *sleep_thread(void *arg)
{
	sleep_ns(*(uint64_t *)arg);
	return NULL;
}

static void work_beyond(struct truth *t)
{
	uint64_t ns = 1500 * MS, begin = now_of(CLOCK_MONOTONIC);
	pthread_t th;

	pthread_create(&th, NULL, sleep_thread, &ns);
	while (now_of(CLOCK_MONOTONIC) - begin < ns)
		;
	pthread_join(th, NULL);
}

static void stop_case(bool scan, bool cpu_clocks)
{
	struct capture_config cfg = {
		.cpu_ns = 2 * MS, .wall_ns = 10 * MS, .wall_scan = scan, .cpu_clocks = cpu_clocks};
	struct truth t;
	struct tally n;
	struct lossy l;

	stop_after_ns = 600 * MS;
	record(work_beyond, &cfg, &t, &n, &l);
	stop_after_ns = 0;
	assert_true(n.cpu > 0);
	assert_true(n.last_cpu_ns < stopped_ns);
	/* who sleeps across it has all ticks until then, and no more */
	assert_int_equal(n.next_tick, gn_ticks_until(stopped_ns - 1 - n.start_ns, n.wall_ns));
	assert_int_equal(l.by_reason[GN_LOSS_WALL], 0);
}

static void test_stop(void **state)
{
	stop_case(false, false);
}

static void test_stop_cpu_clocks(void **state)
{
	stop_case(false, true);
}

static void test_stop_scan(void **state)
{
	stop_case(true, false);
}

/*
 * QUIET: a machine with nothing else to do (`make accuracy`), of which more can be said. Elsewhere
 * the collector comes late to a new thread, say, which the CPUs' clocks draw until then.
 */
static bool is_quiet(void)
{
	return getenv("QUIET") != NULL;
}

/* SLACK widens tolerances, as in tests/jvm/lib.sh. */
static void assert_near(double got, double want, double tolerance, const char *what)
{
	const char *slack = getenv("SLACK");

	if (slack && atof(slack) > 1)
		tolerance *= atof(slack);
	if (got < want - tolerance || got > want + tolerance)
		fail_msg("%s: %.1f, expected %.1f +- %.1f", what, got, want, tolerance);
}

/* Wall time by the samples, of the time that the target knows of. */
static double wall_ns(const struct tally *n, const struct truth *t, uint64_t interval)
{
	return (double)n->wall_ticks * (double)interval - (double)t->before_ns;
}

/*
 * CPU and wall time make up the life of n threads, but for what the host gave to others while one
 * of them had the CPU: the kernel counts that neither as its CPU time nor as waiting. Where others
 * want the CPUs, a thread may wait for one after its last look at a clock and before it ends; and
 * so may we where samples begin.
 */
static void assert_lives(double sum, const struct truth *t, unsigned int n, double tolerance)
{
	double life = 100 * sum / (double)t->life_ns;
	double stolen = 100 * (double)t->stolen_ns / (double)t->life_ns;
	double late = is_quiet() ? 0 : 100 * n * (double)(t->late_ns + 100 * MS) / t->life_ns;

	if (stolen > 1)
		print_message("%.0f ms of CPU time stolen: %.1f%%\n", (double)t->stolen_ns / 1e6,
			      stolen);
	assert_near(life + stolen / 2, 100.0 * n, tolerance + stolen / 2 + late,
		    "CPU + wall over life in percent");
}

static _Atomic uint64_t queued_sum;

/* Time in run queues of the calling thread. */
static uint64_t queued_self(void)
{
	return sched_times_of(gettid()).wait;
}

static uint64_t queued_ns(void)
{
	return queued_sum + queued_self();
}

static void *burn_thread(void *arg)
{
	burn_cpu(*(uint64_t *)arg);
	queued_sum += queued_self();
	return NULL;
}

static void threads_run(int n, uint64_t cpu_ns)
{
	pthread_t th[8];

	for (int i = 0; i < n; i++)
		pthread_create(&th[i], NULL, burn_thread, &cpu_ns);
	for (int i = 0; i < n; i++)
		pthread_join(th[i], NULL);
}

static void work_busy(struct truth *t)
{
	threads_run(3, 700 * MS);
}

static void cpu_count(uint64_t interval, bool cpu_clocks)
{
	struct capture_config cfg = {.cpu_ns = interval, .cpu_clocks = cpu_clocks};
	struct truth t;
	struct tally n;
	struct lossy l;
	double want;

	record(work_busy, &cfg, &t, &n, &l);
	want = (double)t.cpu_ns / (double)interval;
	/*
	 * Own clocks: 2%, and half a sample of lattice per thread. CPUs' clocks draw at random
	 * where others compete for the CPU: 4 sigma of a Poisson count bounds that.
	 */
	assert_near((double)n.cpu, want,
		    cpu_clocks || !is_quiet() ? 4 * sqrt(want) : want * 0.02 + 3, "CPU samples");
	assert_int_equal(n.foreign, 0);
	assert_int_equal(n.wall_records, 0);
	assert_int_equal(n.forks, 3);
	assert_int_equal(n.exits, 4);
	assert_int_equal(n.stackless, 0);
	assert_true(n.stacks > 0 && n.stacks <= n.cpu);
	for (int i = 0; i < GN_LOSS_MAX; i++)
		assert_int_equal(l.by_reason[i], 0);
}

static void test_cpu_1ms(void **state)
{
	cpu_count(1 * MS, false);
}

static void test_cpu_10ms(void **state)
{
	cpu_count(10 * MS, false);
}

static void test_cpu_clocks_only(void **state)
{
	cpu_count(1 * MS, true);
}

/* A timer wakes it for some microseconds at a time, until it has had 40 intervals of CPU time. */
static void work_turns(struct truth *t)
{
	while (now_of(CLOCK_PROCESS_CPUTIME_ID) < 40 * MS)
		sleep_ns(MS / 50);
}

/*
 * A clock that is due in a turn of a few microseconds often fires when it is over: what samples are
 * worth makes up for it from the beginning. Beyond the band, of four, less than one is missing at
 * its end, or too much.
 */
/* CPU samples of `pid`, which does nothing but run, in the next `ns`. */
static uint64_t cpu_samples(struct capture *c, pid_t pid, uint64_t ns)
{
	struct tally t = {.tgid = pid};

	assert_true(capture_drain(c, tally_record, &t) >= 0);
	t.cpu = 0;
	sleep_ns(ns);
	assert_true(capture_drain(c, tally_record, &t) >= 0);
	return t.cpu;
}

/* That a thread is a target's is remembered with it, until its process is none. */
static void test_removed(void **state)
{
	struct capture_config cfg = {
		.cpu_ns = 2 * MS, .cpu_clocks = true, .start_ns = now_of(CLOCK_MONOTONIC)};
	struct clocks *clk = NULL;
	struct ticks *ticks = NULL;
	struct capture *c = NULL;
	struct error e = {0};
	pid_t pid = fork();

	if (!pid)
		for (;;)
			;
	if (capture_open(&c, &cfg, &e) || capture_add(c, pid, &e) || capture_attach(c, &e))
		fail_msg("%s", e.msg);
	sampling_start(c, &cfg, pid, &clk, &ticks);
	assert_true(cpu_samples(c, pid, 300 * MS) > 0);
	capture_remove(c, pid);
	assert_int_equal(cpu_samples(c, pid, 300 * MS), 0);
	assert_int_equal(capture_add(c, pid, &e), 0);
	assert_true(cpu_samples(c, pid, 300 * MS) > 0);
	clocks_close(clk);
	capture_close(c);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

#define SLEEPERS 700 /* their names do not fit into one read of an iterator */

static void *be_a_sleeper(void *arg)
{
	prctl(PR_SET_NAME, "sleeper");
	(*(_Atomic int *)arg)++;
	for (;;)
		pause();
	return NULL;
}

/* A child with SLEEPERS threads of this name beside its own. */
static pid_t sleepers_start(void)
{
	_Atomic int *there = mmap(NULL, sizeof(*there), PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid = fork();
	pthread_attr_t attr;
	pthread_t th;

	if (!pid) {
		pthread_attr_init(&attr);
		pthread_attr_setstacksize(&attr, 65536);
		for (int i = 0; i < SLEEPERS; i++)
			if (pthread_create(&th, &attr, be_a_sleeper, (void *)there))
				_exit(1);
		for (;;)
			pause();
	}
	while (*there < SLEEPERS)
		sleep_ns(MS);
	munmap((void *)there, sizeof(*there));
	return pid;
}

struct met {
	pid_t tgid;
	int found, sleepers, others;
};

static void met_record(void *ctx, const struct gn_rec *rec)
{
	const struct gn_task_rec *r = (const struct gn_task_rec *)rec;
	struct met *m = ctx;

	if (rec->type != GN_REC_FOUND)
		return;
	m->others += (pid_t)rec->tgid != m->tgid || rec->size != sizeof(*r);
	m->found++;
	m->sleepers += !strcmp(r->comm, "sleeper");
}

/* Each thread that was there before is told once, with its name. */
static void test_found(void **state)
{
	struct capture_config cfg = {.wall_ns = 10 * MS, .start_ns = now_of(CLOCK_MONOTONIC)};
	struct met m = {.tgid = sleepers_start()};
	struct capture *c = NULL;
	struct error e = {0};

	if (capture_open(&c, &cfg, &e) || capture_add(c, m.tgid, &e) || capture_attach(c, &e))
		fail_msg("%s", e.msg);
	assert_true(capture_drain(c, met_record, &m) >= 0);
	assert_int_equal(m.found, SLEEPERS + 1);
	assert_int_equal(m.sleepers, SLEEPERS);
	assert_int_equal(m.others, 0);
	assert_int_equal(capture_scan(c), 0);
	assert_true(capture_drain(c, met_record, &m) >= 0);
	assert_int_equal(m.found, SLEEPERS + 1);
	capture_close(c);
	kill(m.tgid, SIGKILL);
	waitpid(m.tgid, NULL, 0);
}

static void test_cpu_short_turns(void **state)
{
	struct capture_config cfg = {.cpu_ns = 1 * MS, .cpu_clocks = true};
	struct truth t;
	struct tally n;
	struct lossy l;
	double want;

	record(work_turns, &cfg, &t, &n, &l);
	want = (double)t.cpu_ns / MS;
	assert_near((double)n.cpu, want, 5.5, "CPU samples of short turns");
}

/* Each lives for one and a half intervals: own clocks alone would give two thirds. */
static void work_short(struct truth *t)
{
	for (int i = 0; i < 600; i++)
		threads_run(1, 3 * MS);
}

static void test_short_lived(void **state)
{
	struct capture_config cfg = {.cpu_ns = 2 * MS};
	struct truth t;
	struct tally n;
	struct lossy l;
	double want;

	record(work_short, &cfg, &t, &n, &l);
	want = (double)t.cpu_ns / (2 * MS);
	/* young to their end: drawn by the CPUs' clocks, 4 sigma of a Poisson count bound that */
	assert_near((double)n.cpu, want, 4 * sqrt(want), "CPU samples of short-lived threads");
	assert_int_equal(n.forks, 600);
}

/* Shorter than an interval: only the CPUs' clocks see them. */
static void work_tiny(struct truth *t)
{
	for (int i = 0; i < 1500; i++)
		threads_run(1, MS);
}

static void test_tiny(void **state)
{
	struct capture_config cfg = {.cpu_ns = 2 * MS};
	struct truth t;
	struct tally n;
	struct lossy l;
	double want;

	record(work_tiny, &cfg, &t, &n, &l);
	want = (double)t.cpu_ns / (2 * MS);
	/* binomial: sigma <= sqrt(750 / 2), take 4 */
	assert_near((double)n.cpu, want, 80, "CPU samples of tiny threads");
}

static void work_sleep(struct truth *t)
{
	for (int i = 0; i < 30; i++) {
		sleep_ns(5 * MS);
		burn_cpu(5 * MS);
		sleep_ns(40 * MS);
	}
}

static void test_wall_sum(void **state)
{
	struct capture_config cfg = {.cpu_ns = MS, .wall_ns = 2 * MS};
	struct truth t;
	struct tally n;
	struct lossy l;
	double life;

	record(work_sleep, &cfg, &t, &n, &l);
	life = (double)n.cpu * MS + wall_ns(&n, &t, 2 * MS);
	assert_lives(life, &t, 1, 3);
	/* two a round and a few; a busy machine adds the times it has to queue */
	assert_true(n.wall_records <= 90 + n.state_ticks[GN_ST_QUEUED]);
	/* of 750 ticks; where others want the CPU the tick thread comes late to some */
	assert_in_range(l.by_reason[GN_LOSS_MISSED], 0, is_quiet() ? 0 : 15 + t.late_visits);
	assert_true(n.stackless <= l.by_reason[GN_LOSS_MISSED]); /* none that nobody counted */
}

/* A forked child and what it becomes by exec are no threads of the target. */
static void work_fork(struct truth *t)
{
	pid_t pid = fork();

	if (!pid) {
		execl("/bin/sh", "sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done",
		      (char *)NULL);
		_exit(1);
	}
	t->other = pid;
	waitpid(pid, NULL, 0);
}

static void test_children_are_not_ours(void **state)
{
	struct capture_config cfg = {.cpu_ns = MS, .wall_ns = MS};
	struct truth t;
	struct tally n;
	struct lossy l;

	record(work_fork, &cfg, &t, &n, &l);
	assert_true(t.life_ns > 50 * MS);
	assert_int_equal(n.foreign, 0);
	assert_int_equal(n.forks, 0);
	assert_near((double)n.cpu, 0, 20, "CPU samples of a waiting parent");
	assert_near(wall_ns(&n, &t, MS) / (double)t.life_ns, 1.0, 0.05, "wall of a waiting parent");
}

static void *sleeper(void *arg)
{
	sleep_ns(10000 * MS);
	return NULL;
}

/* Threads that never come back within the recording are accounted for at its end. */
static void work_long_sleep(struct truth *t)
{
	pthread_t th;

	pthread_create(&th, NULL, sleeper, NULL);
	t->born_ns = now_of(CLOCK_MONOTONIC);
	sleep_ns(300 * MS);
}

static void test_long_sleep(void **state)
{
	struct capture_config cfg = {.cpu_ns = MS, .wall_ns = MS};
	struct truth t;
	struct tally n;
	struct lossy l;

	double both, got;

	record(work_long_sleep, &cfg, &t, &n, &l);
	got = wall_ns(&n, &t, MS) / 1e6;
	/* the sleeper lives until exit_group, and for as long as it then waits for a CPU to end on
	 */
	both = (double)(2 * t.life_ns - (t.born_ns - t.begin_ns)) / 1e6;
	if (got < both - 18 || got > both + (double)(2 * t.late_ns + t.attach_ns) / 1e6 + 18)
		fail_msg("wall of two sleepers: %.1f ms, expected %.1f", got, both);
}

/* Six busy threads on one CPU: each runs a sixth of the time and is queued for the rest. */
static void work_starved(struct truth *t)
{

	pin_to(0);
	threads_run(6, 150 * MS);
	t->wait_ns = queued_ns();
}

static void test_starved(void **state)
{
	struct capture_config cfg = {.cpu_ns = MS, .wall_ns = 2 * MS};
	struct truth t;
	struct tally n;
	struct lossy l;
	double want, got;

	record(work_starved, &cfg, &t, &n, &l);
	want = (double)t.wait_ns;
	got = (double)n.state_ticks[GN_ST_QUEUED] * 2 * MS;
	assert_near(100 * got / want, 100, 5, "queued time in percent of the kernel's");
}

/*
 * Threads are born on a CPU where another one spins, and their turn comes late, since they are
 * nicer: what a thread waits for before its first turn is queued time.
 */
#define BORN 80

static _Atomic bool spun;
static _Atomic int born;

static void *spin_thread(void *arg)
{
	while (!spun)
		;
	queued_sum += queued_self();
	return NULL;
}

static void *born_thread(void *arg)
{
	queued_sum += queued_self();
	born++;
	sleep_ns(60000 * MS);
	return NULL;
}

static void work_born(struct truth *t)
{
	pthread_t spinner, th;

	pin_to(0);
	pthread_create(&spinner, NULL, spin_thread, NULL);
	setpriority(PRIO_PROCESS, 0, 19); /* this thread, and those it makes */
	for (int i = 0; i < BORN; i++) {
		pthread_create(&th, NULL, born_thread, NULL);
		while (born == i)
			sleep_ns(MS);
	}
	spun = true;
	pthread_join(spinner, NULL);
	t->wait_ns = queued_ns();
}

static void test_born(void **state)
{
	struct capture_config cfg = {.cpu_ns = MS, .wall_ns = MS};
	struct truth t;
	struct tally n;
	struct lossy l;
	double want, got, late, lost, visits = 0;

	record(work_born, &cfg, &t, &n, &l);
	want = (double)t.wait_ns / 1e6;
	got = (double)n.state_ticks[GN_ST_QUEUED];
	late = (double)(BORN + 1) * (double)t.late_ns / 1e6; /* each may wait to end */
	assert_true(l.by_reason[GN_LOSS_STATE] <= BORN / 8);
	lost = (double)l.by_reason[GN_LOSS_STATE] / (BORN + 1) *
	       want; /* and was told to be missing */
	/* the visit of a tick interrupts the one that spins, who is queued then and across no tick
	 */
	if (sysconf(_SC_NPROCESSORS_ONLN) == 1)
		visits = (double)t.visits_ns / 1e6;
	if (got < 0.93 * want - lost - visits || got > 1.07 * want + late)
		fail_msg("queued: %.1f ms, expected %.1f by the kernel's account; lost: %llu of %d "
			 "threads; visits: %.1f ms",
			 got, want, (unsigned long long)l.by_reason[GN_LOSS_STATE], BORN + 1,
			 visits);
}

/* A process that is none of ours takes the CPU for 30 us, 300 times a second. */
static pid_t preempter_start(void)
{
	struct sched_param p = {.sched_priority = 1};
	pid_t pid = fork();

	if (pid)
		return pid;
	if (sched_setscheduler(0, SCHED_FIFO, &p))
		_exit(1);
	for (;;) {
		sleep_ns(3 * MS);
		burn_cpu(MS / 32);
	}
}

static void work_preempted(struct truth *t)
{
	pid_t pid;

	pin_to(0);
	pid = preempter_start();
	burn_cpu(3000 * MS);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/*
 * Three times a tick, and nearly never across one: stacks are not taken for that. It takes some 60
 * in vain to learn it, where each would be with the look-ahead of a thread that waits.
 */
static void test_preempted(void **state)
{
	struct capture_config cfg = {.cpu_ns = 10 * MS, .wall_ns = 10 * MS};
	struct truth t;
	struct tally n;
	struct lossy l;

	record(work_preempted, &cfg, &t, &n, &l);
	assert_true(n.counters[GN_CNT_SWITCHES] > 300);
	/* of those that crossed one, where others want the CPU, too, it may have been taken */
	assert_true(n.counters[GN_CNT_CAPTURES] * 4 <=
		    n.counters[GN_CNT_SWITCHES] + 4 * n.wall_records);
}

#define NAPS 130

/* It hurries, and then it is calm. */
static void work_calm(struct truth *t)
{
	uint64_t end = now_of(CLOCK_MONOTONIC) + 500 * MS;

	while (now_of(CLOCK_MONOTONIC) < end)
		sleep_ns(MS / 2);
	for (int i = 0; i < NAPS; i++)
		sleep_ns(15 * MS);
}

/*
 * While it hurries it learns that stacks are taken in vain. To have the collector read those of its
 * long naps for ever would cost three times as much as to take them again.
 */
static void test_calm(void **state)
{
	struct capture_config cfg = {.cpu_ns = 10 * MS, .wall_ns = 10 * MS};
	struct truth t;
	struct tally n;
	struct lossy l;

	record(work_calm, &cfg, &t, &n, &l);
	assert_true(n.counters[GN_CNT_SWITCHES] > 2 * NAPS);
	assert_true(n.counters[GN_CNT_REMOTE] > 0); /* it has learned so */
	assert_true(n.counters[GN_CNT_REMOTE] * 2 < NAPS);
}

static int pipes[2][2];
static int pingpong_cpus; /* 0: where the scheduler puts them, 1: on one CPU, 2: on one each */

static void pingpong_pin(int thread)
{
	if (pingpong_cpus && pin_to(pingpong_cpus == 2 ? thread : 0))
		_exit(6);
}

static void *pong_thread(void *arg)
{
	char b;

	pingpong_pin(1);
	while (read(pipes[0][0], &b, 1) == 1 && write(pipes[1][1], &b, 1) == 1)
		;
	queued_sum += queued_self();
	return NULL;
}

/* Two threads that wake each other, for two seconds: hundreds of thousands of switches. */
static void work_pingpong(struct truth *t)
{
	uint64_t end = now_of(CLOCK_MONOTONIC) + 2000 * MS;
	pthread_t th;
	char b = 0;

	if (pipe(pipes[0]) || pipe(pipes[1]))
		_exit(8);
	pthread_create(&th, NULL, pong_thread, NULL);
	pingpong_pin(0);
	while (now_of(CLOCK_MONOTONIC) < end)
		if (write(pipes[0][1], &b, 1) != 1 || read(pipes[1][0], &b, 1) != 1)
			_exit(7);
	close(pipes[0][1]);
	pthread_join(th, NULL);
	t->wait_ns = queued_ns();
}

static void pingpong(bool scan, int cpus)
{
	struct capture_config cfg = {
		.cpu_ns = MS / 4,
		.wall_ns = 5 * MS,
		.cpu_clocks = true,
		.wall_scan = scan,
		.ring_bytes = 4 << 20, /* on a busy machine they are drained late */
	};
	struct truth t;
	struct tally n;
	struct lossy l;
	double want, life;

	pingpong_cpus = cpus;
	record(work_pingpong, &cfg, &t, &n, &l);
	want = (double)t.cpu_ns / (MS / 4);
	/*
	 * Half of this workload's CPU time passes with interrupts off, in the switch itself; a
	 * clock that is due then fires in whoever runs next, one of ours or not. What samples are
	 * worth makes up for it.
	 */
	assert_near(100 * (double)n.cpu / want, 100, is_quiet() ? 2 : 10,
		    "CPU samples in percent of CPU time");
	life = (double)t.cpu_ns + wall_ns(&n, &t, 5 * MS);
	/*
	 * Two threads, 400 ticks each. Switches are all seen, or counted by the kernel, and their
	 * sum is owed: what is not paid at the end is a tick or two of each kind, three where
	 * stacks could not be read. Where others leave them few switches each tick finds them
	 * queued or not by chance, both at once: 4 sigma are 20%.
	 */
	assert_lives(life, &t, 2, 4);
	assert_near(100.0 * (double)n.state_ticks[GN_ST_QUEUED] * 5 * MS / (double)t.life_ns,
		    100.0 * (double)t.wait_ns / (double)t.life_ns, is_quiet() ? 4 : 20,
		    "queued over life in percent");
	/* some 100,000 where nobody else wants the CPUs; beside a load of 40 it was 10,000 */
	assert_true(n.counters[GN_CNT_SWITCHES] > (is_quiet() ? 10000 : 500));
	/*
	 * Of a twentieth of the switches; where others leave them few, three a tick of each thread:
	 * after more than two in vain the look-ahead is halved.
	 */
	assert_true(n.counters[GN_CNT_CAPTURES] * 20 <= n.counters[GN_CNT_SWITCHES] ||
		    n.counters[GN_CNT_CAPTURES] <= 3ul * 2 * 400);
	/* some are gone between the tick and the visit: many where the tick thread has to wait */
	if (!scan)
		assert_true(l.by_reason[GN_LOSS_MISSED] * 4 <= n.wall_ticks);
}

static void test_pingpong(void **state)
{
	pingpong(false, 0);
}

static void test_pingpong_one_cpu(void **state)
{
	pingpong(false, 1);
}

static void test_pingpong_two_cpus(void **state)
{
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2) {
		print_message("needs two CPUs\n");
		skip();
	}
	pingpong(false, 2);
}

static void test_scan_pingpong(void **state)
{
	pingpong(true, 0);
}

/* By scans a run queue's time is known to a tick only: 4 sigma of the ticks there are. */
static void test_scan_starved(void **state)
{
	struct capture_config cfg = {.cpu_ns = MS, .wall_ns = MS, .wall_scan = true};
	struct truth t;
	struct tally n;
	struct lossy l;
	double want, got;

	record(work_starved, &cfg, &t, &n, &l);
	want = (double)t.wait_ns / MS;
	got = (double)n.state_ticks[GN_ST_QUEUED];
	assert_near(100 * got / want, 100, 400 / sqrt(want), "queued ticks in percent");
}

static void test_scan_sum(void **state)
{
	struct capture_config cfg = {.cpu_ns = MS, .wall_ns = 2 * MS, .wall_scan = true};
	struct truth t;
	struct tally n;
	struct lossy l;
	double life;

	record(work_sleep, &cfg, &t, &n, &l);
	life = (double)n.cpu * MS + wall_ns(&n, &t, 2 * MS);
	assert_lives(life, &t, 1, 4);
}

static void test_ticks(void **state)
{
	uint64_t t = 0, total = 0;

	/* strictly one per stratum, and the count agrees with the times */
	for (uint64_t k = 1; k <= 10000; k++) {
		uint64_t at = gn_tick_time(k, 20 * MS);

		assert_true(at >= k * 20 * MS && at < (k + 1) * 20 * MS);
		assert_int_equal(gn_ticks_until(at, 20 * MS), k + 1);
		assert_int_equal(gn_ticks_until(at - 1, 20 * MS), k);
		assert_true(at > t);
		total += at - k * 20 * MS;
		t = at;
	}
	assert_near((double)total / 10000 / (10 * MS), 1.0, 0.02, "mean place in the stratum");
}

/* An argument names the tests to run, with * and ? for what is not said. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ticks),
		cmocka_unit_test(test_stop),
		cmocka_unit_test(test_stop_cpu_clocks),
		cmocka_unit_test(test_stop_scan),
		cmocka_unit_test(test_cpu_1ms),
		cmocka_unit_test(test_cpu_10ms),
		cmocka_unit_test(test_cpu_clocks_only),
		cmocka_unit_test(test_cpu_short_turns),
		cmocka_unit_test(test_removed),
		cmocka_unit_test(test_found),
		cmocka_unit_test(test_short_lived),
		cmocka_unit_test(test_tiny),
		cmocka_unit_test(test_wall_sum),
		cmocka_unit_test(test_children_are_not_ours),
		cmocka_unit_test(test_long_sleep),
		cmocka_unit_test(test_starved),
		cmocka_unit_test(test_born),
		cmocka_unit_test(test_preempted),
		cmocka_unit_test(test_calm),
		cmocka_unit_test(test_scan_starved),
		cmocka_unit_test(test_scan_sum),
		cmocka_unit_test(test_pingpong),
		cmocka_unit_test(test_scan_pingpong),
		cmocka_unit_test(test_pingpong_one_cpu),
		cmocka_unit_test(test_pingpong_two_cpus),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
