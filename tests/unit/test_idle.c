/* SPDX-License-Identifier: Apache-2.0 */
/* Who waits for work, by the frames, and that it counts nowhere unless it is asked for. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "jfrmade.h"
#include "out/idle.h"
#include "out/profile.h"
#include "out/text.h"
#include "profileload.h"

static char path[] = "/tmp/gnomon-idle.XXXXXX";

/* ---- rules ---- */

static struct idle_rules *rules(const char *more)
{
	struct pattern_list l = {.v = &more, .n = more ? 1 : 0};
	struct idle_rules *r = NULL;

	assert_int_equal(idle_rules_new(&r, &l, NULL), 0);
	return r;
}

static void test_known(void **state)
{
	struct idle_rules *r = rules(NULL);
	const char *loop = "java.util.TimerThread.mainLoop", *task = "a.B.handle";

	assert_true(idle_call(r, "java.util.concurrent.ThreadPoolExecutor.getTask", task));
	assert_true(idle_call(r, "sun.nio.ch.EPoll.wait", NULL));
	/* the loop of a timer runs the tasks, too */
	assert_true(idle_frame(r, loop));
	assert_true(idle_call(r, loop, "java.lang.Object.wait"));
	assert_false(idle_call(r, loop, "a.Task.run"));
	assert_false(idle_call(r, loop, NULL));
	assert_false(idle_frame(r, task));
	/* an answer may come by a queue */
	assert_false(idle_frame(r, "java.util.concurrent.LinkedBlockingQueue.take"));
	idle_rules_free(r);
}

static void test_given(void **state)
{
	struct idle_rules *r = rules("my.Worker.* > my.Queue.take");

	assert_true(idle_call(r, "my.Worker.loop", "my.Queue.takeFirst"));
	assert_false(idle_call(r, "my.Worker.loop", "my.Work.run"));
	assert_false(idle_call(r, "your.Worker.loop", "my.Queue.take"));
	assert_true(idle_frame(r, "sun.nio.ch.EPoll.wait")); /* beside those known */
	idle_rules_free(r);
}

static void test_no_rule(void **state)
{
	static const char *const bad[] = {"", "  ", " > a", "a > ", "a >  "};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct pattern_list l = {.v = &bad[i], .n = 1};
		struct idle_rules *r = NULL;
		struct error e = {0};

		assert_int_equal(idle_rules_new(&r, &l, &e), -EINVAL);
		assert_int_equal(e.exit, EXIT_USAGE);
		assert_null(r);
	}
}

/* ---- profiles ---- */

static uint32_t stack_write(struct jfrw *w, const char *klass, const char *method)
{
	struct frame_name frames[] = {
		{.klass = "libc.so.6",
		 .method = "futex",
		 .sig = "",
		 .line = -1,
		 .type = FRAME_NATIVE},
		{.klass = "jdk.internal.misc.Unsafe",
		 .method = "park",
		 .sig = "(ZJ)V",
		 .type = FRAME_JIT},
		{.klass = klass, .method = method, .sig = "()V", .type = FRAME_JIT},
		{.klass = "java.lang.Thread", .method = "run", .sig = "()V", .type = FRAME_JIT},
	};

	return jfrw_stack(w, frames, 4, false);
}

/*
 * A pool's worker: 600 ms parked for a task, 20 ms queued and 10 ms on the CPU on the way there.
 * One that works: 100 ms parked for an answer. A thread of the VM: 200 ms idle in native code.
 */
static int setup(void **state)
{
	uint32_t t, pool, work;
	struct jfrw *w;

	w = jm_temp(path);
	if (!w)
		return -1;
	t = jfrw_thread(w, &(struct jfrw_thread){.os_name = "w", .os_tid = 1, .java_name = "w-1"});
	pool = stack_write(w, "java.util.concurrent.ThreadPoolExecutor", "getTask");
	work = stack_write(w, "a.Client", "answer");
	jfrw_cpu_sample(w, START, t, pool);
	jfrw_wall_sample(w, START + 10 * MS, t, pool, JFR_STATE_PARKED, 30, 600 * MS);
	jfrw_wall_sample(w, START + 610 * MS, t, pool, JFR_STATE_QUEUED, 1, 20 * MS);
	jfrw_wall_sample(w, START + 630 * MS, t, work, JFR_STATE_PARKED, 5, 100 * MS);
	jfrw_wall_sample(w, START + 10 * MS, t, 0, JFR_STATE_IDLE, 10, 200 * MS);
	return jfrw_close(w, NULL);
}

static int teardown(void **state)
{
	return unlink(path);
}

static struct profile *load(const struct profile_options *o)
{
	return profile_of(path, o);
}

static void expect(const struct profile_options *o, uint64_t cpu, uint64_t off, uint64_t idle)
{
	struct profile *p = load(o);

	assert_int_equal(p->total_ns[0][DIM_CPU], cpu);
	assert_int_equal(p->total_ns[0][DIM_OFF], off);
	assert_int_equal(p->total_ns[0][DIM_WALL], cpu + off);
	assert_int_equal(p->idle_ns[0], idle);
	profile_free(p);
}

static void test_left_out(void **state)
{
	const char *park = "Unsafe.park", *pool = "ThreadPoolExecutor", *answer = "a.Client.answer";
	const char *parked = "PARKED", *idle = "IDLE";

	expect(NULL, 10 * MS, 120 * MS, 800 * MS);
	expect(&(struct profile_options){.show_idle = true}, 10 * MS, 920 * MS, 0);
	expect(&(struct profile_options){.idle_rules = {&answer, 1}}, 10 * MS, 20 * MS, 900 * MS);
	/* frames that are not shown tell it as well */
	expect(&(struct profile_options){.hide = {&pool, 1}}, 10 * MS, 120 * MS, 800 * MS);
	expect(&(struct profile_options){.include = {&park, 1}}, 10 * MS, 120 * MS, 600 * MS);
	/* the filter sees the state that is shown */
	expect(&(struct profile_options){.states = {&parked, 1}, .show_idle = true}, 0, 100 * MS,
	       0);
	expect(&(struct profile_options){.states = {&idle, 1}, .show_idle = true}, 0, 800 * MS, 0);
}

static void test_said(void **state)
{
	struct profile *p = load(NULL);
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	text_head(p, f);
	fclose(f);
	assert_non_null(strstr(text, "CPU 10 ms, off CPU 120 ms, wall 130 ms\n"
				     "left out: 800 ms (86% of all) of threads that wait for work; "
				     "--idle counts them\n"));
	free(text);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known),	cmocka_unit_test(test_given),
		cmocka_unit_test(test_no_rule), cmocka_unit_test(test_left_out),
		cmocka_unit_test(test_said),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
