/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wall samples by switches and by scans, and the change between them while recording: every tick of
 * a thread that sleeps is counted just once, whichever engine was on. The same for CPU clocks.
 */
#include <math.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "asleep.h"
#include "base/clock.h"
#include "capture/capture.h"
#include "capture/clocks.h"
#include "pin.h"
#include "sleeps.h"

#define MS	1000000ull
#define WALL_NS (5 * MS)

#define TICKS 200000 /* a busy machine takes minutes to load programs */

struct seen {
	pid_t sleeper, worker;
	uint8_t sleeper_ticks[TICKS], worker_ticks[TICKS];
	uint64_t start_ns, first; /* the tick at which the recording begins */
	uint64_t stackless;	  /* ticks from then on that have no stack */
	uint64_t causeless;	  /* ticks of pollers of whose wait no cause is told */
	uint64_t missed, late;	  /* all that were told to have none; visits that came late */
	uint64_t last_stack;	  /* of the sleeper */
	uint64_t beyond;
	uint64_t states[GN_ST_MAX]; /* of the sleeper */
	uint64_t worker_states[GN_ST_MAX];
};

static void mark(struct seen *s, uint8_t *ticks, const struct gn_sample *rec)
{
	uint64_t first = gn_ticks_until(rec->h.time - s->start_ns, WALL_NS) - 1;

	for (uint64_t i = first; i < first + rec->n; i++) {
		if (i < s->first)
			continue; /* while the programs were loaded, which takes seconds on some */
		if (i - s->first >= TICKS)
			s->beyond++;
		else
			ticks[i - s->first]++;
	}
}

static void on_record(void *ctx, const struct gn_rec *rec)
{
	const struct gn_sample *sample = (const void *)rec;
	struct seen *s = ctx;

	if (rec->type != GN_REC_SAMPLE)
		return;
	s->causeless += (pid_t)rec->tid == s->worker || sample->cause ? 0 : sample->n;
	if ((pid_t)rec->tid == s->sleeper)
		mark(s, s->sleeper_ticks, sample);
	if ((pid_t)rec->tid == s->worker)
		mark(s, s->worker_ticks, sample);
	if (!sample->stack && rec->time >= s->start_ns + gn_tick_time(s->first, WALL_NS))
		s->stackless += sample->n;
	if ((pid_t)rec->tid == s->sleeper) {
		s->states[sample->state] += sample->n;
		s->last_stack = sample->stack;
	}
	if ((pid_t)rec->tid == s->worker)
		s->worker_states[sample->state] += sample->n;
}

/* Of the process's threads, by the kernel's count: neither of the two ends. */
static uint64_t switches_of(const struct seen *s)
{
	const pid_t tids[] = {s->worker, s->sleeper};
	unsigned long long n, sum = 0;
	char path[64], line[128];

	for (int i = 0; i < 2; i++) {
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%d/task/%d/status", s->worker, tids[i]);
		f = fopen(path, "re");
		assert_non_null(f);
		while (fgets(line, sizeof(line), f))
			if (sscanf(line, "voluntary_ctxt_switches: %llu", &n) == 1 ||
			    sscanf(line, "nonvoluntary_ctxt_switches: %llu", &n) == 1)
				sum += n;
		fclose(f);
	}
	return sum;
}

static void *sleeper_run(void *arg)
{
	pid_t tid = (pid_t)syscall(SYS_gettid);

	if (write(*(int *)arg, &tid, sizeof(tid)) == sizeof(tid))
		for (;;)
			pause();
	return NULL;
}

/* A thread that sleeps for ever, and the main thread, which sleeps 7 ms of about 8. */
static void child(int fd)
{
	pthread_t th;

	pthread_create(&th, NULL, sleeper_run, &fd);
	for (;;) {
		struct timespec ts = {0, 7 * MS};
		uint64_t end = now_ns() + MS;

		while (now_ns() < end)
			;
		nanosleep(&ts, NULL);
	}
}

#define LATE_NS (MS / 2) /* a visit that is over by then finds those who slept at its tick */

/* Visit n ticks. Returns the last one, plus 1. */
static uint64_t visit(struct capture *c, struct seen *s, uint64_t tick, uint64_t n)
{
	uint64_t end = tick + n;

	for (; tick < end; tick++) {
		struct gn_remote_tick arg = {.tick = tick};
		uint64_t at = s->start_ns + gn_tick_time(tick, WALL_NS);

		sleep_until(at);
		capture_tick_look(c, tick);
		assert_int_equal(capture_tick(c, &arg), 0);
		s->late += now_ns() > at + LATE_NS;
		assert_true(capture_drain(c, on_record, s) >= 0);
	}
	return end;
}

static void child_start(struct seen *s)
{
	int fd[2];

	assert_int_equal(pipe(fd), 0);
	s->worker = fork();
	if (!s->worker)
		child(fd[1]);
	assert_int_equal(read(fd[0], &s->sleeper, sizeof(pid_t)), sizeof(pid_t));
	close(fd[0]);
	close(fd[1]);
}

static void worker_end(const struct seen *s)
{
	kill(s->worker, SIGKILL);
	waitpid(s->worker, NULL, 0);
}

/* A capture whose ticks begin now; where the engine of switches is wanted and cannot be had, the
 * test ends. */
static struct capture *recording_open(struct seen *s, struct capture_config *cfg, bool switches)
{
	struct capture *c = NULL;
	struct error e = {0};

	cfg->start_ns = s->start_ns = now_ns();
	if (capture_open(&c, cfg, &e))
		fail_msg("%s", e.msg);
	if (switches && !capture_can_switch(c)) {
		print_message("needs what wall samples by switches take from the scheduler\n");
		capture_close(c);
		worker_end(s);
		free(s);
		skip();
	}
	return c;
}

/* From here on the process is recorded; s->first is the tick at which that begins. */
static void recording_attach(struct capture *c, struct seen *s)
{
	struct error e = {0};

	assert_int_equal(capture_add(c, s->worker, &e), 0);
	assert_int_equal(capture_attach(c, &e), 0);
	s->first = gn_ticks_until(now_ns() - s->start_ns, WALL_NS);
}

static void recording_stop(struct capture *c, struct seen *s)
{
	capture_account(c, 0);
	capture_stop(c);
	assert_true(capture_drain(c, on_record, s) >= 0);
}

static void on_loss(void *ctx, pid_t tid, enum gn_loss reason, uint64_t count)
{
	struct seen *s = ctx;

	if (reason == GN_LOSS_MISSED && (tid == s->worker || tid == s->sleeper))
		s->missed += count;
}

/*
 * Ticks without a stack are few, where visits come in time, but for who slept when an engine began
 * and was awake when we came; and they are told.
 */
static void stacks_check(const struct seen *s, uint64_t end, int changes)
{
	uint64_t most = end / 50 + 1 + (uint64_t)changes + s->late;

	if (s->stackless > most)
		fail_msg("%d of %d ticks have no stack, %d visits were late", (int)s->stackless,
			 (int)end, (int)s->late);
	assert_true(s->missed >= s->stackless);
}

/* Every tick of the sleeper once, of the worker at most once. */
static void ticks_check(const struct seen *s, uint64_t end)
{
	uint64_t worked = 0;

	assert_int_equal(s->beyond, 0);
	for (uint64_t i = 1; i < end - 1; i++)
		if (s->sleeper_ticks[i] != 1)
			fail_msg("tick %d of %d counted %d times for the sleeper", (int)i, (int)end,
				 s->sleeper_ticks[i]);
	for (uint64_t i = 0; i < TICKS; i++)
		assert_true(s->worker_ticks[i] <= 1);
	/*
	 * Of each 8 ms it is off the CPU for 7, on a busy machine for more: 4 standard errors of
	 * ticks drawn at random.
	 */
	for (uint64_t i = 0; i < end; i++)
		worked += s->worker_ticks[i] != 0;
	assert_true((double)worked >= (double)end * 7 / 8 - 4 * sqrt((double)end * 7 / 64));
	assert_true(s->states[GN_ST_SLEEP] + s->states[GN_ST_UNSEEN] >= end - 2);
}

/*
 * `scan`: the last engine; `switches` as the kernel's own files have them, while the recording went
 * on for sure; `most`: from before it began until it had stopped.
 */
static void counters_check(const uint64_t counters[GN_CNT_MAX], bool scan, int changes,
			   uint64_t switches, uint64_t most)
{
	assert_int_equal(counters[GN_CNT_RAN], 0);
	if (!scan)
		assert_true(counters[GN_CNT_VERIFIED] >= 1);
	if (scan || changes)
		assert_true(counters[GN_CNT_SCANNED] >= 2 * 40);
	else
		assert_int_equal(counters[GN_CNT_SCANNED], 0);
	/*
	 * None twice. Those before the first look, after the last and at changes need not be among
	 * them: many where the machine is busy and looks come late.
	 */
	if (counters[GN_CNT_SWITCHES] > most + 5 || counters[GN_CNT_SWITCHES] * 2 + 10 < switches)
		fail_msg("%d switches counted of %d to %d", (int)counters[GN_CNT_SWITCHES],
			 (int)switches, (int)most);
}

/* `changes`: how often the engine changes, after each 40 ticks. */
static void run(bool scan, int changes)
{
	struct seen *s = calloc(1, sizeof(*s));
	struct capture_config cfg = {.wall_ns = WALL_NS, .wall_scan = scan};
	uint64_t end, counters[GN_CNT_MAX], switches, most;
	struct capture *c;
	int rc;

	child_start(s);
	c = recording_open(s, &cfg, !scan || changes);
	most = switches_of(s);
	recording_attach(c, s);
	assert_int_equal(capture_threads(c), 2);
	switches = switches_of(s);
	end = visit(c, s, s->first, 40);
	for (int i = 0; i < changes; i++) {
		scan = !scan;
		while ((rc = capture_wall_scan(c, scan, end - 1)) == -EAGAIN)
			end = visit(c, s, end, 1); /* its programs are being loaded */
		assert_int_equal(rc, 0);
		end = visit(c, s, end, 40);
	}
	switches = switches_of(s) - switches;
	recording_stop(c, s);
	most = switches_of(s) - most;
	capture_losses(c, on_loss, s);
	capture_counters(c, counters);
	capture_close(c);
	worker_end(s);

	end -= s->first;
	ticks_check(s, end);
	stacks_check(s, end, changes);
	counters_check(counters, scan, changes, switches, most);
	free(s);
}

static void test_switch(void **state)
{
	run(false, 0);
}

static void test_scan(void **state)
{
	run(true, 0);
}

static void test_changes(void **state)
{
	run(false, 5);
}

static void test_changes_back(void **state)
{
	run(true, 4);
}

/* ---- a thread that runs between the last scan and the first switch ---- */

static int moves[2]; /* "go" for the thread that moves */

static void *mover_run(void *arg)
{
	pid_t tid = (pid_t)syscall(SYS_gettid);
	char go;

	if (write(*(int *)arg, &tid, sizeof(tid)) != sizeof(tid) || read(moves[0], &go, 1) != 1 ||
	    write(*(int *)arg, &tid, sizeof(tid)) != sizeof(tid))
		_exit(8);
	for (;;)
		pause();
}

static void mover_child(int fd)
{
	pthread_t th;

	pthread_create(&th, NULL, mover_run, &fd);
	pthread_join(th, NULL);
}

/* What scans saw of it is not what it does now. */
static void test_moved_between(void **state)
{
	struct capture_config cfg = {.wall_ns = WALL_NS};
	struct seen *s = calloc(1, sizeof(*s));
	uint64_t counters[GN_CNT_MAX], end, before, ticks = 0;
	struct capture *c;
	int told[2], rc;

	assert_int_equal(pipe(told) | pipe(moves), 0);
	s->worker = fork();
	if (!s->worker)
		mover_child(told[1]);
	assert_int_equal(read(told[0], &s->sleeper, sizeof(pid_t)), sizeof(pid_t));
	c = recording_open(s, &cfg, true);
	recording_attach(c, s);
	end = visit(c, s, s->first, 10);
	while ((rc = capture_wall_scan(c, true, end - 1)) == -EAGAIN)
		end = visit(c, s, end, 1);
	assert_int_equal(rc, 0);
	end = visit(c, s, end, 10);
	assert_int_equal(write(moves[1], "x", 1), 1);
	assert_int_equal(read(told[0], &s->sleeper, sizeof(pid_t)), sizeof(pid_t));
	while (!is_asleep(s->worker, s->sleeper))
		;
	assert_int_equal(capture_wall_scan(c, false, end - 1), 0);
	assert_true(capture_drain(c, on_record, s) >= 0);
	before = s->last_stack;
	end = gn_ticks_until(now_ns() - s->start_ns, WALL_NS); /* it may have taken a while */
	end = visit(c, s, end, 40);
	recording_stop(c, s);
	capture_counters(c, counters);
	capture_close(c);
	worker_end(s);
	for (uint64_t i = end - 39 - s->first; i < end - 1 - s->first; i++)
		ticks += s->sleeper_ticks[i] == 1;
	assert_int_equal(ticks, 38);
	assert_int_equal(counters[GN_CNT_RAN], 0);
	assert_true(before && s->last_stack);
	assert_true(before != s->last_stack);
	for (int i = 0; i < 2; i++) {
		close(told[i]);
		close(moves[i]);
	}
	free(s);
}

/* ---- a thread that waits for a CPU when the recording begins ---- */

#define HELD_TICKS 40

/* It holds its CPU: who is of the idle policy gets some ms of it a second. */
static void *holder_run(void *arg)
{
	int told = *(int *)arg;

	if (write(told, "h", 1) != 1)
		_exit(8);
	for (;;)
		;
	return NULL;
}

/* The main thread wants the CPU that the other one holds. */
static void held_child(int told)
{
	struct sched_param none = {0};
	pthread_t th;

	if (pin_to(0) || pthread_create(&th, NULL, holder_run, &told) ||
	    sched_setscheduler((pid_t)syscall(SYS_gettid), SCHED_IDLE, &none))
		_exit(9);
	for (;;)
		;
}

static void test_queued_before(void **state)
{
	struct capture_config cfg = {.wall_ns = WALL_NS, .ring_bytes = 1 << 20};
	struct seen *s = calloc(1, sizeof(*s));
	int told[2];
	struct capture *c;
	uint64_t end, n = 0;
	char t;

	assert_int_equal(pipe(told), 0);
	s->worker = fork();
	if (!s->worker)
		held_child(told[1]);
	assert_int_equal(read(told[0], &t, 1), 1);
	c = recording_open(s, &cfg, true);
	recording_attach(c, s);
	end = visit(c, s, s->first, HELD_TICKS);
	recording_stop(c, s);
	capture_close(c);
	worker_end(s);
	for (uint64_t i = 1; i < end - s->first - 1; i++)
		n += s->worker_ticks[i];
	/* but for a turn of its own */
	assert_true(n >= HELD_TICKS * 3 / 4);
	assert_true(s->worker_states[GN_ST_QUEUED] >= n);
	close(told[0]);
	close(told[1]);
	free(s);
}

/* ---- a process that changes its mappings ---- */

#define CHANGED (64ul << 20)
#define POLLERS 20

struct changing {
	_Atomic bool changes; /* the child does, as fast as it can */
	_Atomic bool rests;   /* it does not */
	_Atomic uint64_t times;
	_Atomic pid_t poller[POLLERS];
};

static struct changing *changing;

static void *poller_run(void *arg)
{
	struct pollfd p = {.fd = *(int *)arg, .events = POLLIN};
	static _Atomic int next;

	changing->poller[next++] = (pid_t)syscall(SYS_gettid);
	for (;;)
		poll(&p, 1, -1);
	return NULL;
}

/* Each change of so many pages holds up who looks at the mappings for as long as it takes. */
static void changing_child(int fd)
{
	void *m = mmap(NULL, CHANGED, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	pthread_t th;

	madvise(m, CHANGED, MADV_NOHUGEPAGE);
	for (int i = 0; i < POLLERS; i++)
		pthread_create(&th, NULL, poller_run, &fd);
	for (;;) {
		changing->rests = !changing->changes;
		if (changing->rests) {
			sleep_until(now_ns() + MS);
			continue;
		}
		mprotect(m, CHANGED, PROT_READ);
		mprotect(m, CHANGED, PROT_READ | PROT_WRITE);
		changing->times++;
	}
}

static void on_poller(void *ctx, const struct gn_rec *rec)
{
	const struct gn_sample *sample = (const void *)rec;
	struct seen *s = ctx;

	if (rec->type != GN_REC_SAMPLE || (pid_t)rec->tid == s->worker)
		return;
	s->sleeper_ticks[0]++; /* a sample for each, since none of them wakes */
	s->causeless += sample->cause ? 0 : sample->n;
}

/* What cannot be looked at just now is looked at a little later: who polls tells for what. */
static void changing_run(bool scan)
{
	struct capture_config cfg = {.wall_ns = WALL_NS, .causes = true, .wall_scan = scan};
	struct seen *s = calloc(1, sizeof(*s));
	struct capture *c;
	uint64_t before, next, calm; /* the tick by which all have been looked at in peace */
	int fd[2];

	changing = mmap(NULL, sizeof(*changing), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	assert_true(changing != MAP_FAILED);
	assert_int_equal(pipe(fd), 0);
	s->worker = fork();
	if (!s->worker)
		changing_child(fd[0]);
	for (int i = 0; i < POLLERS; i++)
		while (!changing->poller[i] || !is_asleep(s->worker, changing->poller[i]))
			;
	c = recording_open(s, &cfg, !scan);
	changing->changes = true;
	before = changing->times;
	while (changing->times < before + 2)
		;
	recording_attach(c, s);
	visit(c, s, s->first, 3);
	changing->changes = false;
	while (!changing->rests)
		;
	next = visit(c, s, gn_ticks_until(now_ns() - s->start_ns, WALL_NS), 1);
	calm = gn_ticks_until(now_ns() - s->start_ns, WALL_NS);
	visit(c, s, next, 40);
	capture_account(c, 0);
	capture_stop(c);
	assert_true(capture_drain(c, on_poller, s) >= 0);
	capture_close(c);
	worker_end(s);
	close(fd[0]);
	close(fd[1]);
	assert_true(s->sleeper_ticks[0] >= POLLERS);
	/* a wait has one cause for all of its ticks; a scan that cannot look leaves its own without
	 */
	if (s->causeless > (scan ? POLLERS * (calm + 1 - s->first) : 0))
		fail_msg("%d ticks without a cause; %d ticks until all was calm", (int)s->causeless,
			 (int)(calm + 1 - s->first));
	munmap(changing, sizeof(*changing));
	free(s);
}

static void test_changing(void **state)
{
	changing_run(false);
}

static void test_changing_scan(void **state)
{
	changing_run(true);
}

/* ---- CPU clocks ---- */

#define CPU_NS (MS / 2)

static void *burn_run(void *arg)
{
	struct timespec ts;

	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	while (ts.tv_sec < 1);
	return NULL;
}

static void burner(int fd)
{
	pthread_t th[3];
	char go;

	if (read(fd, &go, 1) != 1)
		_exit(9);
	for (int i = 0; i < 3; i++)
		pthread_create(&th[i], NULL, burn_run, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(th[i], NULL);
	_exit(0);
}

struct cpu_tally {
	uint64_t by_thread, by_cpu;
};

static void on_cpu_record(void *ctx, const struct gn_rec *rec)
{
	const struct gn_sample *sample = (const void *)rec;
	struct cpu_tally *t = ctx;

	if (rec->type != GN_REC_SAMPLE)
		return;
	t->by_thread += sample->clock == GN_CLOCK_THREAD;
	t->by_cpu += sample->clock == GN_CLOCK_CPU;
}

/* Until the child has used so much more CPU time, or has ended. */
static int cpu_wait(pid_t pid, uint64_t ns, int *status, struct rusage *ru)
{
	struct timespec ts;
	clockid_t clk;
	uint64_t until = 0;
	int rc;

	while (!(rc = wait4(pid, status, WNOHANG, ru))) {
		uint64_t used;

		if (clock_getcpuclockid(pid, &clk) || clock_gettime(clk, &ts))
			continue;
		used = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
		until = until ? until : used + ns;
		if (used >= until)
			break;
		sleep_until(now_ns() + 5 * MS);
	}
	return rc;
}

/* Between threads' clocks and CPUs' clocks and back, every 150 ms of CPU time. */
static void test_cpu_changes(void **state)
{
	struct capture_config cfg = {.cpu_ns = CPU_NS};
	struct cpu_tally t = {0};
	struct capture *c = NULL;
	struct clocks *clk = NULL;
	struct error e = {0};
	bool alone = false;
	struct rusage ru;
	double want;
	int fd[2], status;
	pid_t pid;

	assert_int_equal(pipe(fd), 0);
	pid = fork();
	if (!pid)
		burner(fd[0]);
	if (capture_open(&c, &cfg, &e))
		fail_msg("%s", e.msg);
	assert_int_equal(capture_add(c, pid, &e), 0);
	assert_int_equal(capture_attach(c, &e), 0);
	assert_int_equal(clocks_open(&clk, cfg.cpu_ns, capture_clock_fd(c, CAPTURE_THREAD_CLOCK),
				     capture_clock_fd(c, CAPTURE_CPU_CLOCK), &e),
			 0);
	assert_int_equal(clocks_add(clk, pid, &e), 0);
	assert_int_equal(write(fd[1], "x", 1), 1);
	while (!cpu_wait(pid, 150 * MS, &status, &ru)) {
		alone = !alone;
		if (alone) {
			capture_cpu_clocks(c, true);
			clocks_drop(clk);
		} else {
			if (!clocks_add(clk, pid, &e))
				capture_cpu_clocks(c, false);
		}
		assert_true(capture_drain(c, on_cpu_record, &t) >= 0);
	}
	clocks_close(clk);
	capture_stop(c);
	assert_true(capture_drain(c, on_cpu_record, &t) >= 0);
	capture_close(c);
	close(fd[0]);
	close(fd[1]);
	assert_int_equal(status, 0);
	want = ((double)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * 1e9 +
		(double)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) * 1e3) /
	       CPU_NS;
	/* most are drawn by the CPUs' clocks: 4 sigma of a Poisson count, 250 of 6,000 */
	if (fabs((double)(t.by_thread + t.by_cpu) - want) > 4 * sqrt(want))
		fail_msg("%d + %d samples, expected %.0f", (int)t.by_thread, (int)t.by_cpu, want);
	assert_true(t.by_thread > want / 10);
	assert_true(t.by_cpu > want / 10);
}

/* An argument names the tests to run, with * and ? for what is not said. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_switch),	      cmocka_unit_test(test_scan),
		cmocka_unit_test(test_queued_before), cmocka_unit_test(test_changes),
		cmocka_unit_test(test_changes_back),  cmocka_unit_test(test_moved_between),
		cmocka_unit_test(test_changing),      cmocka_unit_test(test_changing_scan),
		cmocka_unit_test(test_cpu_changes),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
