/* SPDX-License-Identifier: Apache-2.0 */
/* What is said to stand out, and what is not, of recordings of two seconds made for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "jfr/vitals.h"
#include "jfrmade.h"
#include "model/totals.h"
#include "out/findings.h"

static char path[] = "/tmp/gnomon-test.XXXXXX";

static struct jfrw *w;
static const char *none; /* what the last one says where it found nothing */

static void begin(void)
{
	w = jm_open(path, (struct jfrw_form){.vitals = true});
	assert_non_null(w);
}

static uint32_t thread(const char *name, uint64_t id)
{
	return jfrw_thread(
		w, &(struct jfrw_thread){
			   .os_name = name, .os_tid = id, .java_name = name, .java_tid = id});
}

/* Leaf first: "app.Stock.take". */
static uint32_t stack(size_t n, ...)
{
	static char text[8][100];
	struct frame_name f[8] = {0};
	va_list ap;

	va_start(ap, n);
	for (size_t i = 0; i < n; i++) {
		char *dot;

		snprintf(text[i], sizeof(text[i]), "%s", va_arg(ap, const char *));
		dot = strrchr(text[i], '.');
		*dot = 0;
		f[i] = (struct frame_name){.klass = text[i],
					   .method = dot + 1,
					   .sig = "()V",
					   .line = -1,
					   .bci = -1,
					   .type = FRAME_JIT};
	}
	va_end(ap);
	return jfrw_stack(w, f, n, false);
}

static void waits(uint32_t t, uint32_t s, enum jfr_state state, uint64_t from_ms, uint64_t to_ms)
{
	jfrw_wall_sample(w, START + (from_ms + 10) * MS, t, s, state,
			 (uint32_t)((to_ms - from_ms) / 20), (to_ms - from_ms) * MS);
}

static void runs(uint32_t t, uint32_t s, uint64_t from_ms, uint64_t to_ms)
{
	for (uint64_t at = from_ms; at < to_ms; at += 10)
		jfrw_cpu_sample(w, START + at * MS, t, s);
}

/* Every finding, "kind: text #link", a line each; to be freed. */
static char *found_with(struct profile_options o)
{
	struct findings *x = NULL;
	struct profile *p = NULL;
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	o.show_idle = true;
	assert_int_equal(profile_new(&p, &o, NULL), 0);
	assert_int_equal(profile_load(p, path, 0, NULL, NULL), 0);
	assert_int_equal(profile_finish(p, NULL), 0);
	assert_int_equal(findings_new(&x, p, NULL), 0);
	for (size_t i = 0; i < x->n; i++)
		fprintf(f, "%s: %s #%s\n", x->v[i].kind, x->v[i].text, x->v[i].link);
	none = x->none;
	fclose(f);
	findings_free(x);
	profile_free(p);
	return text;
}

static char *found(void)
{
	assert_int_equal(jfrw_flush(w, START + 2000 * MS, NULL), 0); /* so long it was */
	assert_int_equal(jfrw_close(w, NULL), 0);
	return found_with((struct profile_options){0});
}

static void expect(char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%s' is not in '%s'", part, text);
}

static void expect_no(char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("'%s' is in '%s'", part, text);
}

static void test_blocked(void **state)
{
	const char *const lock = "java.util.concurrent.locks.ReentrantLock.lock",
			  *const park = "java.util.concurrent.locks.LockSupport.park";
	char *text;

	begin();
	waits(thread("a", 1), stack(2, "app.Stock.take", "app.Main.run"), JFR_STATE_BLOCKED, 0,
	      2000);
	text = found();
	expect(text, "blocked: The thread 'a' was blocked throughout: it waited for a lock in "
		     "app.Stock.take for 100% of the time. #d=wall&t=0");
	expect_no(text, "deadlock");
	free(text);

	/* a lock of java.util.concurrent is seen by its frames; two may wait for each other */
	begin();
	waits(thread("a", 1), stack(3, park, lock, "app.Stock.take"), JFR_STATE_PARKED, 0, 2000);
	waits(thread("b", 2), stack(3, park, lock, "app.Stock.put"), JFR_STATE_PARKED, 0, 2000);
	text = found();
	expect(text, "blocked: 2 threads, ");
	expect(text, "If they wait for each other this is a deadlock");
	free(text);

	/* a condition is no lock; nor is a tenth of the time all of it */
	begin();
	waits(thread("a", 1),
	      stack(3, park,
		    "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject.await",
		    "app.Stock.wait"),
	      JFR_STATE_PARKED, 0, 2000);
	waits(thread("b", 2), stack(1, "app.Stock.take"), JFR_STATE_BLOCKED, 0, 1800);
	waits(thread("b", 2), stack(1, "app.Stock.read"), JFR_STATE_IO, 1800, 2000);
	waits(thread("c", 3), stack(1, "app.Stock.take"), JFR_STATE_BLOCKED, 200, 2000);
	text = found();
	assert_string_equal(text, "");
	free(text);
}

static void test_hot_lock(void **state)
{
	char *text;

	begin();
	for (uint64_t i = 0; i < 4; i++) {
		uint32_t t = thread((const char *[]){"a", "b", "c", "d"}[i], i + 1);

		waits(t, stack(1, "app.Stock$X.take"), JFR_STATE_BLOCKED, 0, i ? 500 : 100);
		waits(t, stack(1, "app.Other.take"), JFR_STATE_BLOCKED, 600, i < 2 ? 1800 : 600);
	}
	text = found();
	/* more was waited in app.Other, by two threads */
	expect(text, "hot lock: 4 threads waited for a lock in app.Stock$X.take, 1.60 s together: "
		     "0.8 of them at a time");
	expect(text, "#d=wall&s=BLOCKED,PARKED&q=%5Eapp%5C%2EStock%5C%24X%5C%2Etake%24");
	expect_no(text, "Other");
	free(text);

	begin();
	for (uint64_t i = 0; i < 4; i++)
		waits(thread((const char *[]){"a", "b", "c", "d"}[i], i + 1),
		      stack(1, "app.Stock.take"), JFR_STATE_BLOCKED, 0, 240);
	text = found();
	assert_string_equal(text, "");
	free(text);
}

#define WORKER "java.util.concurrent.ThreadPoolExecutor$Worker.run"

static void pool_write(const char *leaf, uint64_t busy_ms)
{
	for (uint64_t i = 1; i <= 3; i++) {
		uint32_t t = thread((const char *[]){"pool-1", "pool-2", "pool-3"}[i - 1], i);

		waits(t, stack(2, "app.Db.read", leaf), JFR_STATE_IO, 0, busy_ms);
		if (busy_ms < 2000)
			waits(t, stack(2, "java.util.concurrent.ThreadPoolExecutor.getTask", leaf),
			      JFR_STATE_PARKED, busy_ms, 2000);
	}
}

static void test_pool(void **state)
{
	char *text;

	begin();
	pool_write(WORKER, 2000);
	text = found();
	expect(text, "pool: All 3 threads of 'pool-#' were busy throughout: they waited for work "
		     "0.0% of the time, and were IO for 100% of it.");
	expect(text, "#d=wall&g=pool-%23");
	free(text);
	/* a filter makes "throughout" mean something else */
	text = found_with((struct profile_options){.states = {.v = &(const char *){"IO"}, .n = 1}});
	assert_string_equal(text, "");
	free(text);

	begin(); /* now and then one was free */
	pool_write(WORKER, 1900);
	text = found();
	assert_string_equal(text, "");
	free(text);

	begin(); /* no pool's threads */
	pool_write("app.Main.run", 2000);
	text = found();
	assert_string_equal(text, "");
	free(text);
}

/* The largest are told of, and how many more there are. */
static void test_pools(void **state)
{
	char name[32], *text;
	uint32_t s;

	begin();
	s = stack(2, "app.Db.read", WORKER);
	for (uint64_t i = 0; i < 17; i++) { /* seven pools of two threads, the last one of three */
		snprintf(name, sizeof(name), "%c-%d", (char)('a' + (i < 16 ? i / 2 : 7)), (int)i);
		waits(thread(name, i + 1), s, JFR_STATE_IO, 0, 2000);
	}
	text = found();
	assert_non_null(text);
	assert_int_equal(strncmp(text, "pool: All 3 threads of 'h-#'", 28), 0);
	expect(text, "All 2 threads of 'd-#'");
	expect_no(text, "'e-#'");
	expect(text,
	       "pool: 3 smaller pools had no free thread throughout, either. #d=wall&p=group");
	free(text);
}

static void collectors_write(uint64_t gc_ms, bool java)
{
	uint32_t s = stack(1, "app.Main.run");

	runs(jfrw_thread(w, &(struct jfrw_thread){.os_name = "GC Thread#0",
						  .os_tid = 9,
						  .java_name = java ? "GC Thread#0" : NULL,
						  .java_tid = java ? 9 : 0}),
	     s, 0, gc_ms);
	runs(thread("a", 1), s, 0, 900);
}

static void test_collections(void **state)
{
	char *text;

	begin();
	collectors_write(300, false);
	text = found();
	expect(text, "gc: 1 thread of the garbage collector took 25% of the CPU time (300 ms of "
		     "1.20 s).");
	free(text);

	begin(); /* not worth a word */
	collectors_write(90, false);
	text = found();
	assert_string_equal(text, "");
	free(text);

	begin(); /* an application may call its threads so */
	collectors_write(300, true);
	text = found();
	assert_string_equal(text, "");
	free(text);
}

static void collection_write(uint64_t ms)
{
	jfrw_event(w, JFR_GARBAGE_COLLECTION, START + 500 * MS,
		   &(struct jfr_garbage_collection){
			   .duration = ms * MS,
			   .name = jfrw_name(w, JFR_GC_NAME, "G1New"),
			   .cause = jfrw_name(w, JFR_GC_CAUSE, "G1 Evacuation Pause"),
			   .pauses = ms * MS,
			   .longest = ms * MS});
}

static void unseen_write(uint64_t n, uint64_t ms)
{
	jfrw_event(w, JFR_COLLECTIONS_UNSEEN, START + 1000 * MS,
		   &(struct jfr_collections_unseen){.period_ns = 100 * MS,
						    .collector = "G1New",
						    .count = n,
						    .pauses_ns = ms * MS});
}

static void test_pauses(void **state)
{
	char *text;

	begin();
	collection_write(200);
	collection_write(150);
	unseen_write(3, 50);
	text = found();
	expect(text, "pauses: Collections stopped the JVM for 20% of the time: 5 had pauses of 400 "
		     "ms in all; the longest pause took 200 ms (G1New, G1 Evacuation Pause). "
		     "#d=wall&b=in");
	free(text);
	text = found_with((struct profile_options){.to_ns = 1000 * MS});
	expect_no(text, "pauses"); /* of the whole */
	free(text);

	begin(); /* not worth a word */
	collection_write(150);
	unseen_write(1, 40);
	text = found();
	assert_string_equal(text, "");
	free(text);

	begin(); /* none of them was seen */
	unseen_write(100, 1000);
	text = found();
	expect(text, "pauses: Collections stopped the JVM for 50% of the time: 100 had pauses of "
		     "1.00 s in all. #");
	free(text);
}

static void throttling_write(uint64_t throttled_ms)
{
	jfrw_event(w, JFR_VITALS, START + 1000 * MS,
		   &(struct jfr_vitals){.period_ns = 1000 * MS,
					.has = "process throttling",
					.throttled_ns = throttled_ms * MS});
}

static void test_throttled(void **state)
{
	char *text;

	begin();
	throttling_write(300);
	throttling_write(150);
	text = found();
	expect(text, "throttled: The container's CPU limit stopped it for 450 ms in all, added up "
		     "over the CPUs. #d=wall&s=QUEUED");
	free(text);

	for (uint64_t ms = 0; ms <= 19; ms += 19) { /* any burst is stopped for a while */
		begin();
		throttling_write(ms);
		text = found();
		assert_string_equal(text, "");
		free(text);
	}
}

/* ---- memory ---- */

#define MB 1000000ull

static uint32_t gc_id;

/* A JVM with so much heap, of which the young generation may have a third. */
static void heap_begin(const char *old_collector, uint64_t max)
{
	begin();
	gc_id = 0;
	jfrw_event(w, JFR_GC_CONFIGURATION, START,
		   &(struct jfr_gc_configuration){.old = jfrw_name(w, JFR_GC_NAME, old_collector)});
	jfrw_event(w, JFR_GC_HEAP_CONFIGURATION, START,
		   &(struct jfr_gc_heap_configuration){.max = max});
	jfrw_event(w, JFR_YOUNG_CONFIGURATION, START,
		   &(struct jfr_young_configuration){.max = max / 3});
}

static void gc_summary(uint64_t at, uint64_t used)
{
	jfrw_event(w, JFR_GC_HEAP_SUMMARY, at,
		   &(struct jfr_gc_heap_summary){.id = gc_id,
						 .when = jfrw_name(w, JFR_GC_WHEN, "After GC"),
						 .used = used});
}

/* As we write it; the JDK has the heap's summary in front. */
static void collected(const char *name, uint64_t at_ms, uint64_t used, bool as_jdk)
{
	uint64_t at = START + at_ms * MS;

	gc_id++;
	if (as_jdk)
		gc_summary(at, used);
	jfrw_event(w, JFR_GARBAGE_COLLECTION, at,
		   &(struct jfr_garbage_collection){.duration = MS / 10,
						    .id = gc_id,
						    .name = jfrw_name(w, JFR_GC_NAME, name),
						    .pauses = MS / 10,
						    .longest = MS / 10});
	if (!as_jdk)
		gc_summary(at + MS, used);
}

/* So many full collections over all of the time, with young ones between; mb[i % n] is left. */
static void fulls(unsigned int count, const uint64_t *mb, unsigned int n)
{
	for (unsigned int i = 0; i < count; i++) {
		collected("SerialOld", 1900 * i / count + 50, mb[i % n] * MB, i & 1);
		collected("DefNew", 1900 * i / count + 51, mb[i % n] * MB + 30 * MB, false);
	}
}

static void expect_only(const char *part)
{
	char *text = found();

	if (part)
		expect(text, part);
	else
		assert_string_equal(text, "");
	free(text);
}

static void test_live_set(void **state)
{
	uint64_t mb[100];

	heap_begin("SerialOld", 600 * MB);
	fulls(8, (const uint64_t[]){20, 31, 39, 50, 61, 70, 81, 90}, 8);
	expect_only(
		"live set: What old collections leave grew all the time: from 20.0 MB to 90.0 MB "
		"in 1.66 s, after 8 of them. At this rate the 400 MB that may live are full in 7 "
		"s. ");

	/* a hundred, with some noise, half of them seen by way of the JDK's order of events */
	heap_begin("SerialOld", 600 * MB);
	for (unsigned int i = 0; i < 100; i++)
		mb[i] = 20 + i + 7 * (i % 3);
	fulls(100, mb, 100);
	expect_only("live set: ");

	/* a cache that fills, and then stays: after half of the time, and late */
	for (unsigned int until = 50; until <= 85; until += 35) {
		heap_begin("SerialOld", 600 * MB);
		for (unsigned int i = 0; i < 100; i++)
			mb[i] = 20 + 3 * (i < until ? i : until) + i % 3;
		fulls(100, mb, 100);
		expect_only(NULL);
	}

	heap_begin("SerialOld", 600 * MB); /* up and down, and higher at the end than at first */
	fulls(14, (const uint64_t[]){20, 60, 100, 60}, 4);
	expect_only(NULL);

	heap_begin("SerialOld", 600 * MB); /* by nearly nothing */
	fulls(8, (const uint64_t[]){200, 201, 202, 203, 204, 205, 206, 207}, 8);
	expect_only(NULL);

	heap_begin("SerialOld", 600 * MB); /* too few */
	fulls(4, (const uint64_t[]){20, 40, 60, 80}, 4);
	expect_only(NULL);

	heap_begin("SerialOld", 600 * MB); /* for a part of the time: what was then is not known */
	for (unsigned int i = 0; i < 8; i++)
		collected("SerialOld", 100 + i * 100, (20 + 10 * i) * MB, false);
	expect_only(NULL);
}

/*
 * Three markings, each with two pauses; young collections behind them free what they found, down to
 * `least`, and then it fills again. What is used at the pauses themselves is of no account.
 */
static void markings(unsigned int n, uint64_t least, uint64_t more, uint64_t at_pause)
{
	for (unsigned int i = 0; i < n; i++) {
		uint64_t at = 1900 * i / n;

		collected("G1Old", at, at_pause, i & 1);
		collected("G1New", at + 2, least + 400 * MB, false);
		collected("G1Old", at + 4, at_pause, i & 1);
		for (unsigned int k = 0; k < 8; k++)
			collected("G1New", at + 6 + 2 * k,
				  least + i * more + (k < 4 ? 40 - 10 * k : 10 * k) * MB, k & 1);
	}
}

static void test_markings(void **state)
{
	heap_begin("G1Old", 1000 * MB);
	markings(10, 100 * MB, 20 * MB, 10 * MB);
	expect_only("live set: What old collections leave grew all the time: from 110 MB to 270 MB "
		    "in ");

	heap_begin("G1Old", 1000 * MB); /* a steady saw-tooth; its pauses come when it is full */
	markings(10, 100 * MB, 0, 990 * MB);
	expect_only(NULL);

	/* young collections alone promote what nobody has looked at yet */
	heap_begin("G1Old", 1000 * MB);
	for (unsigned int i = 0; i < 50; i++)
		collected("G1New", 30 * i, (20 + 19 * i) * MB, false);
	expect_only(NULL);

	/* what concurrent collectors show of theirs are pauses */
	heap_begin("Z", 1000 * MB);
	for (unsigned int i = 0; i < 50; i++)
		collected(i & 1 ? "ZGC Major" : "Z", 30 * i, (20 + 19 * i) * MB, false);
	expect_only(NULL);
}

static void test_full(void **state)
{
	heap_begin("SerialOld", 600 * MB);
	fulls(4, (const uint64_t[]){300, 360, 341, 342}, 4);
	expect_only(
		"heap: The heap is near its limit: 342 MB of the 400 MB that may live in the old "
		"generation were still in use after the last old collection, and more than 85% "
		"after 3 of 4 such. ");

	heap_begin("G1Old", 600 * MB); /* it may use all of the heap for what is old */
	collected("G1Full", 100, 520 * MB, true);
	expect_only(
		"heap: The heap is near its limit: 520 MB of the 600 MB that may live were still "
		"in use after the last old collection. ");

	heap_begin("G1Old", 600 * MB);
	collected("G1Full", 100, 500 * MB, true);
	expect_only(NULL);

	heap_begin("SerialOld", 600 * MB); /* full now and then, and not in the end */
	fulls(9, (const uint64_t[]){100, 360, 110}, 3);
	expect_only(NULL);

	heap_begin("SerialOld", 600 * MB); /* young ones leave what is garbage, too */
	for (unsigned int i = 0; i < 20; i++)
		collected("DefNew", 50 * i, 590 * MB, false);
	expect_only(NULL);

	begin(); /* nobody told how large it may be */
	gc_id = 0;
	collected("G1Full", 100, 520 * MB, true);
	expect_only(NULL);
}

static void test_killed(void **state)
{
	begin();
	jfrw_event(w, JFR_VITALS, START + 1000 * MS,
		   &(struct jfr_vitals){.period_ns = 1000 * MS, .has = "process", .oom_kills = 1});
	expect_only("killed: The container ran out of memory: the kernel killed 1 of its "
		    "processes. #");
}

static void test_bound(void **state)
{
	char *text;

	begin();
	runs(thread("a", 1), stack(1, "app.Main.run"), 0, 1960);
	runs(thread("b", 2), stack(1, "app.Main.run"), 0, 1800);
	text = found();
	expect(text, "one cpu: The thread 'a' ran on a CPU for 98% of the time");
	expect_no(text, "2 threads");
	free(text);
}

static void test_losses(void **state)
{
	char *text;

	begin();
	runs(thread("a", 1), stack(1, "app.Main.run"), 0, 990);
	jfrw_samples_lost(w, START,
			  &(struct jfr_samples_lost){.kind = "cpu", .reason = "x", .count = 1});
	text = found();
	expect(text, "lost: 1 samples (1%) were lost, most of them as: cpu: x.");
	expect_no(text, "Remedy");
	free(text);
	begin();
	runs(thread("a", 1), stack(1, "app.Main.run"), 0, 990);
	jfrw_samples_lost(w, START,
			  &(struct jfr_samples_lost){
				  .kind = "cpu", .reason = loss_name(GN_LOSS_RING), .count = 10});
	text = found();
	expect(text, "CPU samples: ring buffer full. Remedy: larger rings from the start: "
		     "--ring-size 4m");
	free(text);
	/* every reason is told whole */
	for (unsigned int i = 0; i < LOSS_MAX; i++) {
		begin();
		runs(thread("a", 1), stack(1, "app.Main.run"), 0, 10);
		jfrw_samples_lost(w, START,
				  &(struct jfr_samples_lost){
					  .kind = "cpu", .reason = loss_name(i), .count = 10});
		text = found();
		expect(text, loss_name(i));
		free(text);
	}
	/* in which part of the time is not known */
	text = found_with((struct profile_options){.from_ns = 1});
	expect_no(text, "lost");
	free(text);
}

/* Only some threads were sampled at a time: what each did throughout is not known. */
static void test_reservoir(void **state)
{
	char *text;

	begin();
	jfrw_thread_reservoir(w, START,
			      &(struct jfr_thread_reservoir){
				      .live = 10, .eligible = 10, .sampled = 5, .draw = 1});
	waits(thread("a", 1), stack(1, "app.Stock.take"), JFR_STATE_BLOCKED, 0, 2000);
	text = found();
	expect_no(text, "throughout");
	free(text);
}

/* Where nothing is found, only what could have been is denied. */
static void test_none(void **state)
{
	char *text;

	begin();
	runs(thread("a", 1), stack(1, "app.Main.run"), 0, 500);
	free(found());
	assert_non_null(strstr(none, "no wall samples"));
	assert_null(strstr(none, "no thread blocked"));

	begin();
	waits(thread("a", 1), stack(1, "app.Main.run"), JFR_STATE_IO, 0, 2000);
	text = found();
	assert_string_equal(text, "");
	assert_non_null(strstr(none, "no thread blocked"));
	free(text);
	free(found_with((struct profile_options){.threads = {.v = &(const char *){"a"}, .n = 1}}));
	assert_non_null(strstr(none, "whole ones only"));
	free(found_with((struct profile_options){.to_ns = 500 * MS}));
	assert_non_null(strstr(none, "less than a second"));
}

/* One thread is blocked throughout, another one on a CPU. */
static void hung_write(const char *file)
{
	uint32_t a, b;

	w = jm_open(file, (struct jfrw_form){.vitals = true});
	assert_non_null(w);
	a = thread("a", 1);
	b = thread("b", 2);
	waits(a, stack(1, "app.Stock.take"), JFR_STATE_BLOCKED, 0, 2000);
	runs(b, stack(1, "app.Main.spin"), 0, 2000);
	assert_int_equal(jfrw_flush(w, START + 2000 * MS, NULL), 0);
	assert_int_equal(jfrw_close(w, NULL), 0);
}

static struct findings *found_of(const char *const *files, int n, struct profile_options o)
{
	struct findings *x = NULL;
	struct profile *p = NULL;

	assert_int_equal(profile_new(&p, &o, NULL), 0);
	for (int i = 0; i < n; i++)
		assert_int_equal(profile_load(p, files[i], 0, NULL, NULL), 0);
	assert_int_equal(profile_finish(p, NULL), 0);
	assert_int_equal(findings_new(&x, p, NULL), 0);
	profile_free(p);
	return x;
}

/*
 * No thread is in all of several recordings, which may be of several JVMs: what lasted throughout
 * is not told, and it is said that nobody looked. Averages are of the time of all.
 */
static void test_several(void **state)
{
	const char *files[] = {path, path};
	const struct profile_options part = {.from_ns = 1000 * MS, .show_idle = true};
	struct findings *x;

	hung_write(path);
	x = found_of(files, 1, part);
	assert_int_equal(x->n, 2);
	assert_string_equal(x->v[0].kind, "blocked");
	assert_string_equal(x->v[1].kind, "one cpu");
	findings_free(x);
	x = found_of(files, 2, part);
	assert_int_equal(x->n, 0);
	assert_non_null(strstr(x->none, "Of several recordings it is not looked at"));
	expect(x->overview, "2.00 s on the CPU, 1.0 CPUs on average");
	findings_free(x);
}

/* As terminals have it. */
static void test_print(void **state)
{
	struct finding v = {.kind = "pool",
			    .text = (char *)"word "
					    "and so on and so on and so on and so on and so on and "
					    "so on and so on and so on "
					    "and so on and so on"};
	struct findings x = {.v = &v, .n = 1};
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	findings_print(&x, f);
	fclose(f);
	assert_int_equal(strncmp(text, "\nFindings\n  pool      word and so on", 36), 0);
	assert_non_null(strstr(text, "\n            and so on"));
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		assert_true(strlen(line) <= 98);
	free(text);
}

static int setup(void **state)
{
	int fd = mkstemp(path);

	if (fd < 0)
		return -1;
	close(fd);
	return 0;
}

static int teardown(void **state)
{
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocked),	    cmocka_unit_test(test_hot_lock),
		cmocka_unit_test(test_pool),	    cmocka_unit_test(test_pools),
		cmocka_unit_test(test_collections), cmocka_unit_test(test_bound),
		cmocka_unit_test(test_losses),	    cmocka_unit_test(test_none),
		cmocka_unit_test(test_reservoir),   cmocka_unit_test(test_print),
		cmocka_unit_test(test_pauses),	    cmocka_unit_test(test_throttled),
		cmocka_unit_test(test_live_set),    cmocka_unit_test(test_markings),
		cmocka_unit_test(test_several),	    cmocka_unit_test(test_full),
		cmocka_unit_test(test_killed),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
