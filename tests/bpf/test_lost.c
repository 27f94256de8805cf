/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the collector did not get, in the running kernel: what threads did is counted by kind, and
 * the frames of stacks come again.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "capture/capture.h"
#include "capture/clocks.h"
#include "capture/ticks.h"
#include "capture/unwinder.h"
#include "naming/tables.h"
#include "sym/cache.h"
#include "sym/proc.h"
#include "target/procfs.h"

#define MS	1000000ull
#define THREADS 400
#define IDS	4096

static void sleep_ms(uint64_t ms)
{
	struct timespec ts = {(time_t)(ms / 1000), (long)(ms % 1000 * MS)};

	nanosleep(&ts, NULL);
}

/* A child that waits for a byte and then does its work. */
struct child {
	pid_t pid;
	int go;
};

static struct child child_start(void (*work)(void))
{
	int p[2];
	char b;
	struct child c;

	assert_int_equal(pipe(p), 0);
	c.go = p[1];
	c.pid = fork();
	if (!c.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* after a failure, too */
		close(p[1]);
		if (read(p[0], &b, 1) == 1)
			work();
		_exit(0);
	}
	close(p[0]);
	return c;
}

static void child_go(struct child *c)
{
	assert_int_equal(write(c->go, "x", 1), 1);
	close(c->go);
}

static void child_end(struct child *c)
{
	kill(c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0);
}

static void begin(struct capture **c, const struct capture_config *cfg, pid_t pid)
{
	struct error e = {0};

	if (capture_open(c, cfg, &e) || capture_add(*c, pid, &e) || capture_attach(*c, &e))
		fail_msg("%s", e.msg);
}

/* ---- what threads did ---- */

static void *renamed(void *arg)
{
	prctl(PR_SET_NAME, "renamed");
	return NULL;
}

static void work_threads(void)
{
	pthread_t t;

	for (int i = 0; i < THREADS; i++)
		if (!pthread_create(&t, NULL, renamed, NULL))
			pthread_join(t, NULL);
	execl("/bin/sleep", "sleep", "60", NULL);
}

struct tasks {
	uint64_t told[GN_REC_VTHREAD + 1], lost[GN_LOSS_MAX];
};

static void task_told(void *ctx, const struct gn_rec *rec)
{
	((struct tasks *)ctx)->told[rec->type]++;
}

static void task_lost(void *ctx, pid_t tid, enum gn_loss reason, uint64_t n)
{
	((struct tasks *)ctx)->lost[reason] += n;
}

static bool is_sleep(pid_t pid)
{
	char comm[32];

	return !proc_comm_read(pid, 0, comm, sizeof(comm)) && !strcmp(comm, "sleep");
}

/* Of a ring that holds some 70 records and is not drained: each that was due is told or counted. */
static void test_tasks_by_kind(void **state)
{
	struct capture_config cfg = {.cpu_ns = 1000 * MS, .ring_bytes = 4096};
	struct child child = child_start(work_threads);
	struct tasks t = {0};
	struct capture *c;

	begin(&c, &cfg, child.pid);
	child_go(&child);
	for (int i = 0; i < 3000 && !is_sleep(child.pid); i++)
		sleep_ms(10);
	assert_true(is_sleep(child.pid));
	capture_stop(c);
	assert_true(capture_drain(c, task_told, &t) > 0);
	capture_losses(c, task_lost, &t);
	assert_true(t.lost[GN_LOSS_FORK] > 0 && t.lost[GN_LOSS_EXIT] > 0);
	assert_int_equal(t.told[GN_REC_FORK] + t.lost[GN_LOSS_FORK], THREADS);
	assert_int_equal(t.told[GN_REC_EXIT] + t.lost[GN_LOSS_EXIT], THREADS);
	assert_int_equal(t.told[GN_REC_EXEC] + t.lost[GN_LOSS_EXEC], 1);
	/* the program's name is the last, of a thread that is not young: half of a ring is not for
	 * it */
	assert_int_equal(t.told[GN_REC_COMM] + t.lost[GN_LOSS_COMM] + t.lost[GN_LOSS_CHURN],
			 THREADS + 1);
	assert_int_equal(t.lost[GN_LOSS_RING], 0);
	capture_close(c);
	child_end(&child);
}

/* ---- lists of frames ---- */

struct lists {
	struct capture *c;
	bool refuse; /* as a full queue does */
	uint64_t known[IDS], without[IDS];
	size_t nknown, nwithout, refused;
};

static bool has(const uint64_t *v, size_t n, uint64_t id)
{
	while (n--)
		if (v[n] == id)
			return true;
	return false;
}

static void on_list(void *ctx, const struct gn_rec *rec)
{
	struct lists *l = ctx;

	if (l->refuse) {
		l->refused += rec->type == GN_REC_STACK;
		capture_unsent(l->c, rec);
	} else if (rec->type == GN_REC_STACK) {
		assert_true(l->nknown < IDS);
		l->known[l->nknown++] = ((const struct gn_stack *)rec)->id;
	} else if (rec->type == GN_REC_SAMPLE) {
		assert_true(l->nwithout < IDS);
		l->without[l->nwithout++] = ((const struct gn_sample *)rec)->stack;
	}
}

static void no_loss(void *ctx, pid_t tid, enum gn_loss reason, uint64_t n)
{
}

/* Samples whose list did not come, of all drained while lists were taken. */
static size_t without_list(const struct lists *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->nwithout; i++)
		n += !has(l->known, l->nknown, l->without[i]);
	return n;
}

static void work_burn(void)
{
	for (;;)
		getppid();
}

/* The same few stacks again and again: those refused once come with a later sample. */
static void test_lists_come_again(void **state)
{
	struct capture_config cfg = {.cpu_ns = MS};
	struct child child = child_start(work_burn);
	struct lists l = {.refuse = true};
	struct clocks *clk;
	struct error e = {0};

	begin(&l.c, &cfg, child.pid);
	assert_int_equal(clocks_open(&clk, cfg.cpu_ns, capture_clock_fd(l.c, CAPTURE_THREAD_CLOCK),
				     capture_clock_fd(l.c, CAPTURE_CPU_CLOCK), &e),
			 0);
	assert_int_equal(clocks_add(clk, child.pid, &e), 0);
	child_go(&child);
	for (int i = 0; i < 1000 && l.refused < 3; i++) {
		sleep_ms(20);
		assert_true(capture_drain(l.c, on_list, &l) >= 0);
	}
	assert_true(l.refused >= 3);
	l.refuse = false;
	for (int i = 0; i < 1000 && l.nwithout < 200; i++) {
		sleep_ms(20);
		assert_true(capture_drain(l.c, on_list, &l) >= 0);
	}
	clocks_close(clk);
	capture_stop(l.c);
	assert_true(capture_drain(l.c, on_list, &l) >= 0);
	assert_true(l.nwithout >= 200);
	assert_int_equal(without_list(&l), 0);
	capture_close(l.c);
	child_end(&child);
}

static void work_sleep(void)
{
	for (;;)
		pause();
}

/* Tables, so that a stack is whole and no other reason to look at it again. */
static void tables_make(const struct unwinder_maps *unwinder, pid_t pid, struct tables **tables)
{
	struct image_cache *cache = image_cache_new(0);
	struct symproc *sp;
	struct error e = {0};

	assert_int_equal(tables_new(tables, unwinder_of(unwinder), &e), 0);
	assert_int_equal(symproc_open(&sp, pid, cache, &e), 0);
	symproc_refresh(sp);
	assert_true(tables_update(*tables, pid, sp, NULL, now_ns()) >= 0);
	symproc_close(sp);
	image_cache_free(cache);
}

static void work_nap(void)
{
	for (;;)
		sleep_ms(3);
}

struct waiting {
	struct lists l;
	struct unwinder_maps *unwinder;
	struct tables *tables;
	struct ticks *ticks;
	struct child child;
};

static void waiting_begin(struct waiting *w, void (*work)(void), uint64_t wall_ns)
{
	struct capture_config cfg = {.wall_ns = wall_ns, .start_ns = now_ns()};
	struct ticks_config tc = {.start_ns = cfg.start_ns, .wall_ns = cfg.wall_ns};
	struct error e = {0};

	*w = (struct waiting){.l.refuse = true, .child = child_start(work)};
	child_go(&w->child);
	sleep_ms(200);
	assert_int_equal(capture_open(&w->l.c, &cfg, &e), 0);
	assert_int_equal(capture_add(w->l.c, w->child.pid, &e), 0);
	assert_int_equal(unwinder_open(&w->unwinder, w->l.c, &e), 0);
	tables_make(w->unwinder, w->child.pid, &w->tables);
	assert_int_equal(capture_attach(w->l.c, &e), 0);
	assert_int_equal(ticks_start(&w->ticks, w->l.c, &tc, &e), 0);
}

static void waiting_drain(struct waiting *w)
{
	sleep_ms(20);
	assert_true(capture_drain(w->l.c, on_list, &w->l) >= 0);
}

static void waiting_end(struct waiting *w)
{
	ticks_stop(w->ticks, NULL);
	tables_free(w->tables);
	unwinder_close(w->unwinder);
	capture_close(w->l.c);
	child_end(&w->child);
}

/*
 * A thread that waits at one place again and again: its list is refused when the kernel side has
 * told it apart from nothing for long, and comes with its next stack all the same.
 */
static void test_list_of_a_waiter(void **state)
{
	struct waiting w;

	waiting_begin(&w, work_nap, MS);
	sleep_ms(500);
	for (int i = 0; i < 1000 && !w.l.refused; i++)
		waiting_drain(&w);
	assert_true(w.l.refused > 0);
	w.l.refuse = false;
	waiting_drain(&w); /* of stacks taken before */
	w.l.nwithout = 0;
	for (int i = 0; i < 1000 && w.l.nwithout < 100; i++)
		waiting_drain(&w);
	assert_true(w.l.nwithout >= 100);
	assert_int_equal(without_list(&w.l), 0);
	waiting_end(&w);
}

/* A thread that sleeps through it all has no next sample: it is read again. */
static void test_list_of_a_sleeper(void **state)
{
	struct waiting w;

	waiting_begin(&w, work_sleep, 10 * MS);
	for (int i = 0; i < 1000 && !w.l.refused; i++)
		waiting_drain(&w);
	assert_true(w.l.refused > 0);
	w.l.refuse = false;
	capture_losses(w.l.c, no_loss, NULL);
	for (int i = 0; i < 100 && !w.l.nknown; i++)
		waiting_drain(&w);
	assert_true(w.l.nknown > 0);
	assert_true(w.l.known[0] & GN_STACK_WHOLE);
	w.l.nwithout = 0;
	assert_true(capture_account(w.l.c, 0) >= 0);
	waiting_drain(&w);
	assert_true(w.l.nwithout > 0);
	assert_int_equal(without_list(&w.l), 0);
	waiting_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tasks_by_kind),
		cmocka_unit_test(test_lists_come_again),
		cmocka_unit_test(test_list_of_a_waiter),
		cmocka_unit_test(test_list_of_a_sleeper),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
