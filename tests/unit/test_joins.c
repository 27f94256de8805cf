/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for locks in a profile: whose these were, and what that thread did at the same ticks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "jfr/write.h"
#include "kern/abi.h"
#include "out/findings.h"
#include "out/text.h"
#include "profileload.h"

#define TICK_NS 20000000ull
#define THREADS 3

static char path[] = "/tmp/gnomon-joins-XXXXXX";
static struct jfrw *w;
static uint32_t threads[THREADS], waits_in[THREADS], sleeps, runs;
static const char *kind;

static uint32_t stack_of(const char *method)
{
	struct frame_name f[] = {
		{.klass = "(kernel)", .method = "futex_wait", .type = FRAME_KERNEL},
		{.klass = "shop.Db", .method = method, .sig = "()V", .type = FRAME_JIT},
	};

	return jfrw_stack(w, f, 2, false);
}

static void begin(void)
{
	static const char *const names[] = {"a", "b", "c"}, *const methods[] = {"x", "y", "z"};
	struct jfrw_config cfg = {.path = path, .overwrite = true};
	struct error e = {0};
	int fd;

	kind = "monitor";
	strcpy(path + strlen(path) - 6, "XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(jfrw_open(&w, &cfg, &e), 0);
	jfrw_active_setting(w, 0,
			    &(struct jfr_active_setting){.id = JFR_WALL_CLOCK_SAMPLE,
							 .name = "period",
							 .value = "20 ms"});
	for (unsigned int i = 0; i < THREADS; i++) {
		threads[i] = jfrw_thread(w, &(struct jfrw_thread){.os_name = names[i],
								  .os_tid = 9 + i,
								  .java_name = names[i],
								  .java_tid = 9 + i});
		waits_in[i] = stack_of(methods[i]);
	}
	sleeps = stack_of("sleep");
	runs = stack_of("run");
}

static uint64_t tick_ns(uint64_t tick)
{
	return gn_tick_time(tick, TICK_NS);
}

static void wall(unsigned int who, uint32_t stack, uint64_t tick, uint32_t n)
{
	jfrw_wall_sample(w, tick_ns(tick), threads[who], stack, JFR_STATE_BLOCKED, n, TICK_NS * n);
}

/* Thread `who` waits for the lock of `owner` (-1: nobody's) at the ticks that the bits say. */
static void lock(unsigned int who, const char *what, int owner, uint64_t tick, uint64_t bits)
{
	uint64_t last = tick + 63 - (uint64_t)__builtin_clzll(bits);

	jfrw_wait_cause(w, tick_ns(tick),
			&(struct jfr_wait_cause){
				.thread = threads[who],
				.stack = waits_in[who],
				.state = JFR_STATE_BLOCKED,
				.kind = jfrw_name(w, JFR_WORD, kind),
				.operation = jfrw_name(w, JFR_WORD, "enter"),
				.cause = jfrw_name(w, JFR_WORD, what),
				.samples = (uint32_t)__builtin_popcountll(bits),
				.period_ns = tick_ns(last) - tick_ns(tick),
				.owner = owner < 0 ? 0 : threads[owner],
				.tick = tick,
				.ticks = bits,
			});
}

/* Collapsed stacks; to be freed. */
static char *shown(void)
{
	struct profile_options o = {.causes = true, .owners = true};
	struct profile *p;
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	assert_int_equal(jfrw_close(w, NULL), 0);
	p = profile_of(path, &o);
	assert_int_equal(text_collapsed(p, DIM_OFF, false, f, NULL), 0);
	fclose(f);
	profile_free(p);
	return text;
}

static void has(const char *text, const char *line)
{
	if (!strstr(text, line))
		fail_msg("no '%s' in:\n%s", line, text);
}

/* An owner that Java has no name for is called as the kernel calls it. */
static void without_name(void **state)
{
	struct jfrw_thread t = {.os_name = "native", .os_tid = 20, .java_name = "", .java_tid = 20};
	char *text;

	begin();
	threads[1] = jfrw_thread(w, &t);
	wall(0, waits_in[0], 10, 1);
	wall(1, sleeps, 10, 1);
	lock(0, "L@1", 1, 10, 1);
	text = shown();
	has(text, "shop.Db.x;(monitor) L@1;[native];shop.Db.sleep 20000000\n");
	free(text);
	unlink(path);
}

/* Each tick of one long wait is charged to what its lock's owner did at that tick. */
static void same_tick(void **state)
{
	char *text;

	begin();
	wall(0, waits_in[0], 10, 8);
	wall(1, sleeps, 10, 3);
	jfrw_cpu_sample(w, tick_ns(13) + 1000000, threads[1], runs);
	wall(2, sleeps, 10, 8);
	lock(0, "L@1", 1, 10, 0xf);  /* 10 to 13 */
	lock(0, "L@1", 2, 14, 0x5);  /* 14 and 16 */
	lock(0, "L@1", -1, 15, 0x5); /* 15 and 17 */
	text = shown();
	has(text, "shop.Db.x;(monitor) L@1;[b];shop.Db.sleep 60000000\n");
	has(text, "shop.Db.x;(monitor) L@1;[b];shop.Db.run;(kernel).futex_wait 20000000\n");
	has(text, "shop.Db.x;(monitor) L@1;[c];shop.Db.sleep 40000000\n");
	has(text, "shop.Db.x;(monitor) L@1 40000000\n");
	free(text);
	unlink(path);
}

/* Who owns waits in turn, and somebody else has that. */
static void chain(void **state)
{
	char *text;

	begin();
	wall(0, waits_in[0], 10, 4);
	wall(1, waits_in[1], 10, 4);
	wall(2, sleeps, 10, 4);
	lock(0, "L@1", 1, 10, 0xf);
	lock(1, "M@2", 2, 10, 0xf);
	text = shown();
	has(text,
	    "shop.Db.x;(monitor) L@1;[b];shop.Db.y;(monitor) M@2;[c];shop.Db.sleep 80000000\n");
	has(text, "shop.Db.y;(monitor) M@2;[c];shop.Db.sleep 80000000\n");
	assert_null(strstr(text, "deadlock"));
	free(text);
	unlink(path);
}

/* Whether a finding begins so. */
static bool is_found(const char *text)
{
	struct profile_options o = {.causes = true};
	struct findings *x = NULL;
	struct profile *p;
	bool told = false;

	p = profile_of(path, &o);
	assert_int_equal(findings_new(&x, p, NULL), 0);
	for (size_t i = 0; i < x->n; i++)
		told |= !strncmp(x->v[i].text, text, strlen(text));
	findings_free(x);
	profile_free(p);
	return told;
}

static bool deadlock_found(void)
{
	return is_found("Deadlock of 3 threads: 'a' waits in shop.Db.x for (monitor) L@1, "
			"which 'b' has; 'b' waits in shop.Db.y for (monitor) M@2, which 'c' "
			"has; 'c' waits in shop.Db.z for (monitor) N@3, which 'a' has.");
}

static void circle_write(unsigned int last)
{
	begin();
	for (unsigned int i = 0; i < THREADS; i++)
		wall(i, waits_in[i], 10, 10);
	lock(0, "L@1", 1, 10, 0x3ff);
	lock(1, "M@2", 2, 10, 0x3ff);
	lock(2, "N@3", 0, 10, 0x3ff);
	if (last)
		wall(0, sleeps, 20, last);
	assert_int_equal(jfrw_flush(w, tick_ns(20 + last), NULL), 0);
}

/* A circle that lasts is a deadlock; one that ends was none. */
static void circle(void **state)
{
	char *text;

	circle_write(0);
	text = shown();
	has(text, "(monitor) N@3;[a];[deadlock] 200000000\n");
	free(text);
	assert_true(deadlock_found());
	unlink(path);
	circle_write(50);
	assert_int_equal(jfrw_close(w, NULL), 0);
	assert_false(deadlock_found());
	unlink(path);
}

#define LONG_TICKS 60 /* of which a finding says that it was throughout */

/* A thread that was blocked throughout, and who had its lock. */
static void owner_named(void **state)
{
	begin();
	for (unsigned int i = 0; i < LONG_TICKS; i++)
		wall(0, waits_in[0], 1 + i, 1);
	wall(1, sleeps, 1, LONG_TICKS * 2 / 3);
	lock(0, "L@1", 1, 1, (1ull << LONG_TICKS) - 1);
	assert_int_equal(jfrw_flush(w, tick_ns(1 + LONG_TICKS), NULL), 0);
	assert_int_equal(jfrw_close(w, NULL), 0);
	assert_true(is_found("The thread 'a' was blocked throughout: it waited for a lock in "
			     "shop.Db.x for 100% of the time. Most of it was for (monitor) L@1; "
			     "'b' had it for 100% of that, most of it in shop.Db.sleep."));
	unlink(path);
}

static void three_wait(const char *what)
{
	begin();
	kind = what;
	for (unsigned int i = 0; i < THREADS; i++) {
		waits_in[i] = waits_in[0];
		wall(i, waits_in[0], 10, LONG_TICKS);
		lock(i, "L@1", -1, 10, (1ull << LONG_TICKS) - 1);
	}
	assert_int_equal(jfrw_close(w, NULL), 0);
}

/* What threads wait for within the JVM may have the state of a wait for a lock: it is none. */
static void jvm_is_no_lock(void **state)
{
	three_wait("monitor");
	assert_true(is_found("3 threads waited for a lock in shop.Db.x, 3.60 s together"));
	unlink(path);
	three_wait("JVM");
	assert_false(is_found("3 threads waited for a lock"));
	unlink(path);
}

/* Owners that are not there, circles that none of the waiters is in, ticks beyond all. */
static void liars(void **state)
{
	char *text;

	begin();
	wall(0, waits_in[0], 10, 4);
	wall(1, waits_in[1], 10, 4);
	wall(2, waits_in[2], 10, 4);
	lock(0, "L@1", 1, 10, 0xf);
	lock(1, "M@2", 2, 10, 0xf);
	lock(2, "N@3", 1, 10, 0xf); /* back to the second */
	lock(2, "N@3", 2, 10, 0xf); /* and to itself */
	lock(1, "O@4", 0, 1ull << 60, ~0ull);
	lock(0, "P@5", 1, INT64_MAX, 1);
	text = shown();
	has(text, "shop.Db.x;(monitor) L@1;[b];shop.Db.y;(monitor) M@2;[c];shop.Db.z");
	free(text);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_tick),	cmocka_unit_test(chain),
		cmocka_unit_test(circle),	cmocka_unit_test(owner_named),
		cmocka_unit_test(without_name), cmocka_unit_test(jvm_is_no_lock),
		cmocka_unit_test(liars),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
