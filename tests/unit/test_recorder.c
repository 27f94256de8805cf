/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the naming thread makes of losses: each record that a full queue refuses is counted for what
 * it was, and what lost records would have told of threads is read from /proc.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "broker/grants.h"
#include "naming/recorder.h"
#include "out/profile.h"

#define MS 1000000ull

static int epochs;

static void on_epoch(void *ctx)
{
	__atomic_fetch_add(&epochs, 1, __ATOMIC_RELAXED);
}

static void on_chunk_end(void *ctx, pid_t tgid)
{
}

static char path[64];

/* Of this process itself, whose naming thread does not run yet. */
static struct recorder *open_own(void)
{
	struct target_config cfg = {
		.cpu_ns = 10 * MS,
		.wall_ns = 20 * MS,
		.start_ns = now_ns(),
		.jvm = RESOLVE_NONE,
		.on_epoch = on_epoch,
		.on_tables = on_epoch,
		.on_chunk_end = on_chunk_end,
	};
	struct error e = {0};
	struct recorder *r;

	snprintf(path, sizeof(path), "/tmp/gnomon-recorder.%d.jfr", getpid());
	assert_int_equal(recorder_open(&r, &cfg, false, &e), 0);
	if (recorder_target(r, getpid(), (struct jvm_owner){.uid = GRANTS_ANY}, path, true, &e))
		fail_msg("%s", e.msg);
	return r;
}

static struct totals finish(struct recorder *r)
{
	struct error e = {0};
	struct totals t;

	assert_int_equal(recorder_finish(r, NULL, NULL, &e), 0);
	recorder_totals(r, &t);
	recorder_close(r, true);
	return t;
}

static bool push_sample(struct recorder *r, uint8_t clock, uint32_t n)
{
	struct gn_sample s = {
		.h = {.type = GN_REC_SAMPLE,
		      .size = sizeof(s),
		      .tgid = (__u32)getpid(),
		      .tid = (__u32)getpid(),
		      .time = now_ns()},
		.n = n,
		.clock = clock,
		.state = clock == GN_CLOCK_WALL ? GN_ST_SLEEP : GN_ST_RUNNING,
		.span = 20 * MS,
	};

	return recorder_push(r, &s.h);
}

static bool push_task(struct recorder *r, uint16_t type)
{
	struct gn_task_rec rec = {.h = {.type = type,
					.size = sizeof(rec),
					.tgid = (__u32)getpid(),
					.tid = (__u32)getpid(),
					.time = now_ns()}};

	return recorder_push(r, &rec.h);
}

/* Records of no process: nothing is done with them. Until not even a small one finds room. */
static void queue_fill(struct recorder *r)
{
	static struct {
		struct gn_rec h;
		uint8_t rest[60000];
	} big = {.h = {.type = GN_REC_FORK, .size = sizeof(big)}};
	struct gn_rec small = {.type = GN_REC_FORK, .size = sizeof(small)};

	while (recorder_push(r, &big.h))
		;
	while (recorder_push(r, &small))
		;
}

static void refused_are_counted_by_kind(void **state)
{
	struct gn_stack stack = {.h = {.type = GN_REC_STACK, .size = sizeof(stack)}};
	struct gn_vthread_rec name = {.h = {.type = GN_REC_VTHREAD, .size = sizeof(name)}};
	struct recorder *r = open_own();
	struct error e = {0};
	struct totals t;

	queue_fill(r); /* with two births too many */
	assert_false(push_sample(r, GN_CLOCK_THREAD, 3));
	assert_false(push_sample(r, GN_CLOCK_CPU, 4));
	assert_false(push_sample(r, GN_CLOCK_WALL, 50));
	assert_false(recorder_push(r, &stack.h));
	assert_false(recorder_push(r, &name.h));
	assert_false(push_task(r, GN_REC_EXIT));
	assert_false(push_task(r, GN_REC_EXEC));
	assert_false(push_task(r, GN_REC_COMM));
	/* and what the kernel lost is not lost with the record that says so */
	recorder_lost(r, getpid(), GN_LOSS_WALL, 1000);
	recorder_setting(r, "a", "b");
	assert_int_equal(recorder_start(r, now_ns(), &e), 0);
	t = finish(r);
	assert_int_equal(t.lost[LOSS_QUEUE_CPU], 7);
	assert_int_equal(t.lost[LOSS_QUEUE_WALL], 50);
	assert_int_equal(t.lost[LOSS_QUEUE_STACK], 1);
	assert_int_equal(t.lost[LOSS_QUEUE_VTHREAD], 1);
	assert_int_equal(t.lost[GN_LOSS_FORK], 2);
	assert_int_equal(t.lost[GN_LOSS_EXIT], 1);
	assert_int_equal(t.lost[GN_LOSS_EXEC], 1);
	assert_int_equal(t.lost[GN_LOSS_COMM], 1);
	assert_int_equal(t.lost[GN_LOSS_WALL], 1000);
	assert_int_equal(t.lost[LOSS_QUEUE], 1);
	unlink(path);
}

static void await_samples(struct recorder *r, uint64_t n)
{
	struct totals t = {0};

	for (int i = 0; i < 3000 && t.cpu_samples < n; i++) {
		usleep(10000);
		recorder_totals(r, &t);
	}
	assert_int_equal(t.cpu_samples, n);
}

static bool has_thread(const struct profile *p, const char *name)
{
	for (uint32_t i = 0; i < p->nthreads; i++)
		if (!strcmp(names_get(&p->names, p->threads[i].name), name))
			return true;
	return false;
}

static bool says_lost(const struct profile *p, const char *what)
{
	for (uint32_t i = 0; i < p->facts.nlosses; i++)
		if (strstr(p->facts.losses[i].what, what))
			return true;
	return false;
}

/* The record of a new name is lost: samples from then on have it all the same, and it is told. */
static void lost_names_are_read(void **state)
{
	struct recorder *r = open_own();
	struct profile *p = NULL;
	struct error e = {0};
	struct totals t;
	int before;

	prctl(PR_SET_NAME, "before");
	assert_int_equal(recorder_start(r, now_ns(), &e), 0);
	push_sample(r, GN_CLOCK_THREAD, 1);
	recorder_wake(r);
	await_samples(r, 1);
	prctl(PR_SET_NAME, "after");
	before = __atomic_load_n(&epochs, __ATOMIC_RELAXED);
	recorder_lost(r, getpid(), GN_LOSS_COMM, 1);
	recorder_lost(r, getpid(), GN_LOSS_EXEC, 1);
	recorder_wake(r);
	/* a lost exec: ids of stacks mean other code */
	for (int i = 0; i < 3000 && __atomic_load_n(&epochs, __ATOMIC_RELAXED) == before; i++)
		usleep(10000);
	assert_true(__atomic_load_n(&epochs, __ATOMIC_RELAXED) > before);
	push_sample(r, GN_CLOCK_THREAD, 1);
	recorder_wake(r);
	await_samples(r, 2);
	t = finish(r);
	assert_int_equal(t.lost[GN_LOSS_COMM], 1);
	assert_int_equal(t.lost[GN_LOSS_EXEC], 1);
	assert_int_equal(profile_new(&p, &(struct profile_options){0}, NULL), 0);
	assert_int_equal(profile_load(p, path, 0, NULL, NULL), 0);
	assert_int_equal(profile_finish(p, NULL), 0);
	assert_true(has_thread(p, "before"));
	assert_true(has_thread(p, "after"));
	assert_true(says_lost(p, "execs"));
	assert_true(says_lost(p, "names of threads"));
	profile_free(p);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused_are_counted_by_kind),
		cmocka_unit_test(lost_names_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
