/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search for where a JVM has the moments of a collection that its own recording tells, and of
 * its clock, in memory made for it; what collections become of them.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "jvm/collections.h"
#include "jvm/gccause.h"
#include "jvm/gctimer.h"
#include "perfimage.h"

#define US 1000ull
#define MS 1000000ull
#define S  1000000000ull

#define STATICS	      0x7f1000000000ull /* 16 kB: libjvm.so's variables */
#define STATICS_WORDS 2048
#define OBJECTS	      0x7e0000000000ull /* 64 kB: what is allocated */
#define OBJECTS_WORDS 8192

#define PERF_START (STATICS + 8000)
#define HEAP	   (STATICS + 9000)

#define SLACK (2 * MS)

static const struct gctimer_span noted = {100 * MS, 110 * MS};

static uint64_t statics[STATICS_WORDS], objects[OBJECTS_WORDS];
static struct perfimage im;
static struct mem *mem;
static unsigned int reads;
static uint64_t read_ns; /* the last one */
static bool fast;
static bool mirrors; /* whatever is read points to somewhere */

static bool in(uint64_t addr, size_t len, uint64_t base, size_t bytes)
{
	return addr >= base && addr - base <= bytes && len <= bytes - (addr - base);
}

static int jvm_read(void *ctx, uint64_t addr, void *dst, size_t len)
{
	reads++;
	read_ns = now_ns();
	if (mirrors) {
		for (size_t i = 0; i + 8 <= len; i += 8)
			memcpy((char *)dst + i, &(uint64_t){OBJECTS + 8 * i}, 8);
		return 0;
	}
	if (in(addr, len, STATICS, sizeof(statics)))
		memcpy(dst, (char *)statics + (addr - STATICS), len);
	else if (in(addr, len, OBJECTS, sizeof(objects)))
		memcpy(dst, (char *)objects + (addr - OBJECTS), len);
	else
		return perfimage_read(&im, addr, dst, len);
	return 0;
}

static int setup(void **state)
{
	memset(statics, 0, sizeof(statics));
	memset(objects, 0, sizeof(objects));
	perfimage_init(&im);
	mirrors = fast = false;
	reads = 0;
	mem = mem_new(jvm_read, NULL);
	return !mem;
}

static int teardown(void **state)
{
	mem_close(mem);
	return 0;
}

/* As an STWGCTimer lies there, on a machine with a fast clock and on one without. */
static void timer_put(uint64_t *words, uint64_t start, uint64_t end)
{
	words[0] = STATICS - (8 << 20); /* its table of functions */
	words[1] = start;
	words[2] = fast ? start * 3 + 17 : 0;
	words[3] = end;
	words[4] = fast ? end * 3 + 17 : 0;
}

static uint64_t find(bool heap)
{
	const struct gctimer_place p = {mem, PERF_START, heap ? HEAP : 0, 0};

	return gctimer_find(&p, &noted, SLACK);
}

static uint64_t *at(uint64_t addr)
{
	return addr >= STATICS ? &statics[(addr - STATICS) / 8] : &objects[(addr - OBJECTS) / 8];
}

/* ---- where it is found -------------------------------------------------------------------------
 */

static void a_static_one(void **state)
{
	timer_put(at(STATICS + 480), noted.start - 30 * US, noted.end + 40 * US);
	assert_int_equal(find(false), STATICS + 488);
	assert_int_equal(find(true), STATICS + 488);
	fast = true;
	timer_put(at(STATICS + 480), noted.start - 30 * US, noted.end + 40 * US);
	assert_int_equal(find(false), STATICS + 488);
	at(STATICS + 480)[4] = 5; /* no clock goes back */
	assert_int_equal(find(false), 0);
}

static void on_the_edge_of_a_page(void **state)
{
	timer_put(at(STATICS + 4096 - 24), noted.start, noted.end);
	assert_int_equal(find(false), STATICS + 4096 - 16);
}

static void behind_a_static_pointer(void **state)
{
	*at(STATICS + 64) = OBJECTS + 800;
	timer_put(at(OBJECTS + 800), noted.start, noted.end);
	assert_int_equal(find(false), OBJECTS + 808);
}

static void of_a_generation(void **state)
{
	*at(HEAP) = OBJECTS;
	*at(OBJECTS + 240) = OBJECTS + 16000;
	*at(OBJECTS + 16000 + 600) = OBJECTS + 32000;
	timer_put(at(OBJECTS + 32000), noted.start + 50 * US, noted.end - 10 * US);
	assert_int_equal(find(false), 0);
	assert_int_equal(find(true), OBJECTS + 32008);
}

/* The moments of a part of it, those of another, and what has not ended. */
static void not_others(void **state)
{
	timer_put(at(STATICS + 400), noted.start, noted.end - 5 * MS);
	timer_put(at(STATICS + 480), noted.start + 900 * MS, noted.end + 900 * MS);
	timer_put(at(STATICS + 560), noted.start, 0);
	timer_put(at(STATICS + 640), noted.end - MS, noted.end);
	assert_int_equal(find(true), 0);
	/* of two that fit the longer one: the other is a part */
	timer_put(at(STATICS + 720), noted.start + 300 * US, noted.end - 300 * US);
	timer_put(at(STATICS + 800), noted.start, noted.end);
	timer_put(at(STATICS + 880), noted.start + 300 * US, noted.end);
	assert_int_equal(find(true), STATICS + 808);
}

static void bounded(void **state)
{
	mirrors = true;
	find(true);
	assert_in_range(reads, 1, 25000);
}

static void what_it_says(void **state)
{
	struct gctimer_span s;

	timer_put(at(STATICS), noted.start + 5, noted.end - 7);
	assert_int_equal(gctimer_read(mem, STATICS + 8, &noted, &s), GCTIMER_THIS);
	assert_true(s.start == noted.start + 5 && s.end == noted.end - 7);
	timer_put(at(STATICS), noted.start + 5, 3); /* when the one before ended */
	assert_int_equal(gctimer_read(mem, STATICS + 8, &noted, &s), GCTIMER_RUNNING);
	timer_put(at(STATICS), noted.start + 500 * MS, noted.end + 500 * MS);
	assert_int_equal(gctimer_read(mem, STATICS + 8, &noted, &s), GCTIMER_NOTHING);
	timer_put(at(STATICS), noted.start - 50 * MS, noted.start - 40 * MS);
	assert_int_equal(gctimer_read(mem, STATICS + 8, &noted, &s), GCTIMER_BEFORE);
	memset(statics, 0, sizeof(statics));
	assert_int_equal(gctimer_read(mem, STATICS + 8, &noted, &s), GCTIMER_NOTHING);
	assert_int_equal(gctimer_read(mem, 8, &noted, &s), GCTIMER_NOTHING);
}

/* As a GCTracer lies there. */
static void tracer_put(uint64_t *words, const struct gctimer_span *s, uint64_t cause)
{
	words[0] = STATICS - (8 << 20);
	words[1] = cause << 32 | 3;
	words[2] = s->start;
	words[4] = s->end;
	words[6] = words[8] = s->end - s->start;
}

static void tracers(void **state)
{
	const struct gctimer_place p = {mem, PERF_START, HEAP, 0};
	const uint64_t lasted = noted.end - noted.start;
	const struct gctimer_whole this = {noted, lasted, lasted};
	const struct gctimer_whole other = {{noted.start, noted.end + 1}, lasted, lasted};

	timer_put(at(STATICS + 480), noted.start, noted.end); /* is none */
	assert_int_equal(gctimer_tracer_find(&p, &this), 0);
	tracer_put(at(STATICS + 4096 - 40), &noted, 12); /* on two pages */
	assert_int_equal(gctimer_tracer_find(&p, &this), STATICS + 4096 - 32);
	assert_int_equal(gctimer_cause(mem, STATICS + 4096 - 32, noted.start), 12);
	assert_int_equal(gctimer_cause(mem, STATICS + 4096 - 32, noted.start + 1), -1);
	assert_int_equal(gctimer_tracer_find(&p, &other), 0);
	tracer_put(at(STATICS + 4096 - 40), &noted, GCTIMER_CAUSES); /* no cause */
	assert_int_equal(gctimer_cause(mem, STATICS + 4096 - 32, noted.start), -1);
	memset(statics, 0, sizeof(statics));
	*at(HEAP) = OBJECTS;
	*at(OBJECTS + 240) = OBJECTS + 16000;
	tracer_put(at(OBJECTS + 16000), &noted, 1);
	assert_int_equal(gctimer_tracer_find(&p, &this), OBJECTS + 16008);
	assert_int_equal(gctimer_cause(mem, 8, noted.start), -1);
}

/* A concurrent one that goes on when its timer is read, and ends while the tracer is searched for.
 */
static void tracer_of_one_that_ends(void **state)
{
	const struct gctimer_place p = {mem, PERF_START, HEAP, 0};
	const struct gctimer_whole runs = {{noted.start, noted.start - 50 * MS}, 2 * MS, MS};
	uint64_t *words = at(STATICS + 960);

	tracer_put(words, &noted, 5);
	words[6] = 3 * MS; /* of pauses, and the longest */
	words[8] = 2 * MS;
	assert_int_equal(gctimer_tracer_find(&p, &runs), STATICS + 968);
	words[6] = MS; /* less than it was */
	assert_int_equal(gctimer_tracer_find(&p, &runs), 0);
	words[6] = noted.end - noted.start + 1;
	assert_int_equal(gctimer_tracer_find(&p, &runs), 0);
}

/* As a ConcurrentGCTimer lies there, with two pauses and a phase between them that is none. */
static void concurrent_put(uint64_t *words, uint64_t start, uint64_t end)
{
	const uint64_t phases[3][2] = {{10 * MS, 11 * MS}, {12 * MS, 20 * MS}, {30 * MS, 32 * MS}};
	uint64_t *p = at(OBJECTS + 40000);

	timer_put(words, start, end);
	words[5] = OBJECTS + 30000;
	*at(OBJECTS + 30000) = 10ull << 32 | 3;
	*at(OBJECTS + 30008) = OBJECTS + 40000;
	for (int i = 0; i < 3; i++) {
		p[i * 7 + 2] = start + phases[i][0];
		p[i * 7 + 4] = start + phases[i][1];
		p[i * 7 + 6] = i == 1;
	}
	p[0] = OBJECTS + 60000;
	memcpy(at(OBJECTS + 60000), "Pause Mark Start", 17);
}

static void concurrent_ones(void **state)
{
	const struct gctimer_place p = {mem, PERF_START, HEAP, 0};
	struct gctimer_pause pauses[4];
	struct gctimer_whole whole;
	uint64_t all[4];

	assert_int_equal(gctimer_concurrent_find(&p, &noted, all, 4), 0);
	*at(STATICS + 64) = OBJECTS + 800;
	concurrent_put(at(OBJECTS + 1600), 80 * MS, 70 * MS); /* it goes on */
	assert_int_equal(gctimer_concurrent_find(&p, &noted, all, 4), 1);
	assert_int_equal(all[0], OBJECTS + 1608);
	assert_int_equal(gctimer_pauses(mem, all[0], 0, UINT64_MAX, pauses, 4, &whole), 2);
	assert_true(pauses[0].span.start == 90 * MS && pauses[0].span.end == 91 * MS);
	assert_string_equal(pauses[0].name, "Pause Mark Start");
	assert_true(pauses[1].span.start == 110 * MS && pauses[1].span.end == 112 * MS);
	assert_true(whole.sum == 3 * MS && whole.longest == 2 * MS);
	assert_int_equal(gctimer_pauses(mem, all[0], 90 * MS, UINT64_MAX, pauses, 4, &whole), 1);
	assert_int_equal(gctimer_pauses(mem, all[0], 0, 110 * MS, pauses, 4, &whole), 1);
	assert_int_equal(gctimer_pauses(mem, all[0], 0, UINT64_MAX, pauses, 1, &whole), 1);
	*at(OBJECTS + 30000) = 3ull << 32 | 10; /* more than there is room for */
	assert_int_equal(gctimer_pauses(mem, all[0], 0, UINT64_MAX, pauses, 4, &whole), -1);
	assert_int_equal(gctimer_concurrent_find(&p, &noted, all, 4), 0);
}

/* ---- collections -------------------------------------------------------------------------------
 */

static uint32_t invocations, total, entry, last_exit, ticks, begin_ms, last_cause;
static struct counters *counters;
static struct collections all;
static int release;
static struct collection got;
static struct collections_gap gap;
static unsigned int ngot, ngaps;

static void on_one(void *ctx, const struct collection *c)
{
	got = *c;
	ngot++;
}

static void on_gap(void *ctx, const struct collections_gap *g)
{
	gap = *g;
	ngaps++;
}

static void look(void)
{
	const struct collections_fns fns = {.one = on_one, .gap = on_gap};

	ngot = ngaps = 0;
	assert_int_equal(collections_look(&all, counters, &fns), 0);
}

static void serial(void)
{
	all = (struct collections)COLLECTIONS_INIT;
	perfimage_set(&im, perfimage_add(&im, "sun.os.hrt.frequency", 0), S);
	ticks = perfimage_add(&im, "sun.os.hrt.ticks", 0);
	begin_ms = perfimage_add(&im, "sun.rt.createVmBeginTime", 0);
	memcpy(im.b + perfimage_add(&im, "sun.gc.collector.0.name", 40),
	       "Serial young collection pauses", 31);
	invocations = perfimage_add(&im, "sun.gc.collector.0.invocations", 0);
	total = perfimage_add(&im, "sun.gc.collector.0.time", 0);
	entry = perfimage_add(&im, "sun.gc.collector.0.lastEntryTime", 0);
	last_exit = perfimage_add(&im, "sun.gc.collector.0.lastExitTime", 0);
	counters = counters_new(mem, PERFIMAGE_BASE);
	counters_place_set(counters, PERF_START, HEAP, release);
}

/* The n-th one, of 10 ms by the counters: of `in_timer` of these by the timer, if it is there. */
static void collected(uint64_t n, uint64_t in_timer)
{
	uint64_t start = n * 100 * MS;

	perfimage_set(&im, invocations, n);
	perfimage_set(&im, total, n * 10 * MS);
	perfimage_set(&im, entry, start);
	perfimage_set(&im, last_exit, start + 10 * MS);
	if (in_timer)
		timer_put(at(STATICS + 480), start + 40 * US, start + 40 * US + in_timer);
}

static void by_the_timer(void **state)
{
	serial();
	look();
	collected(1, 9900 * US);
	look();
	assert_true(ngot == 1 && !ngaps);
	assert_int_equal(got.duration_ns, 9900 * US);
	assert_int_equal(got.ticks, 100 * MS);
	collected(2, 9950 * US);
	look();
	assert_int_equal(got.duration_ns, 9950 * US);
	/* one whose timer says nothing: as much as the counters and it differ by */
	collected(3, 0);
	memset(at(STATICS + 480), 0, 40);
	look();
	assert_in_range(got.duration_ns, 9900 * US, 9950 * US);
	/* five that were not seen: the same of each */
	collected(9, 9900 * US);
	look();
	assert_true(ngot == 1 && ngaps == 1 && gap.count == 5);
	assert_int_equal(got.duration_ns, 9900 * US);
	assert_in_range(gap.sum_ns, 5 * 9900 * US, 5 * 9950 * US);
	counters_close(counters);
}

/* Counted, and given up before it began: the timer is of the one before. */
static void given_up(void **state)
{
	serial();
	look();
	collected(1, 9900 * US);
	look();
	assert_int_equal(ngot, 1);
	for (uint64_t n = 2; n < 8; n++) {
		collected(n, 0);
		look();
		assert_true(!ngot && !ngaps);
	}
	at(STATICS + 480)[1] = 800 * MS + 10 * US; /* begun, and not ended */
	collected(8, 0);
	look();
	assert_true(!ngot && !ngaps);
	collected(9, 9900 * US);
	look();
	assert_true(ngot == 1 && !ngaps);
	assert_int_equal(got.duration_ns, 9900 * US);
	counters_close(counters);
}

static void caused(uint64_t n, uint64_t number, const char *text)
{
	const struct gctimer_span s = {n * 100 * MS + 40 * US, n * 100 * MS + 9940 * US};

	collected(n, 9900 * US);
	tracer_put(at(STATICS + 880), &s, number);
	memset(im.b + last_cause, 0, 32);
	memcpy(im.b + last_cause, text, strlen(text));
	look();
	assert_int_equal(ngot, 1);
}

/* A number has the text that the counters had with it, and is told where they have none. */
static void causes(void **state)
{
	serial();
	last_cause = perfimage_add(&im, "sun.gc.lastCause", 32);
	memcpy(im.b + perfimage_add(&im, "sun.gc.cause", 32), "No GC", 6);
	look();
	caused(1, 12, "Allocation Failure");
	assert_string_equal(got.cause, "Allocation Failure");
	caused(2, 12, "No GC");
	assert_string_equal(got.cause, "Allocation Failure");
	caused(3, 30, "No GC");
	assert_string_equal(got.cause, CAUSE_UNKNOWN);
	caused(4, 30, "Allocation Failure"); /* it is another number's */
	assert_string_equal(got.cause, CAUSE_UNKNOWN);
	caused(5, 30, "System.gc()");
	assert_string_equal(got.cause, "System.gc()");
	/* one that was learned wrongly is outvoted */
	caused(6, 7, "Ergonomics");
	caused(7, 7, "Timer");
	caused(8, 7, "Timer");
	assert_string_equal(got.cause, "Timer");
	counters_close(counters);
}

static void g1_collected(unsigned int n, uint64_t count, uint64_t start, uint64_t end)
{
	static const char *const names[] = {"G1 young collection pauses", NULL,
					    "G1 concurrent cycle pauses"};
	static const char *const what[] = {"invocations", "time", "lastEntryTime", "lastExitTime"};
	const uint64_t v[] = {count, end - start, start, end};
	char name[64];

	snprintf(name, sizeof(name), "sun.gc.collector.%u.name", n);
	memcpy(im.b + perfimage_add(&im, name, 40), names[n], strlen(names[n]) + 1);
	for (int i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "sun.gc.collector.%u.%s", n, what[i]);
		perfimage_set(&im, perfimage_add(&im, name, 0), v[i]);
	}
}

/* A look at counters of so many collections: the JVM's last, a young one of 10 ms, and two pauses.
 */
static void g1_look(uint64_t young, uint64_t pauses, uint64_t end)
{
	perfimage_init(&im);
	perfimage_set(&im, perfimage_add(&im, "sun.os.hrt.frequency", 0), S);
	memcpy(im.b + perfimage_add(&im, "sun.gc.lastCause", 32), "G1 Evacuation Pause", 20);
	memcpy(im.b + perfimage_add(&im, "sun.gc.cause", 32), "No GC", 6);
	g1_collected(0, young, young * 75 * MS, young * 85 * MS);
	g1_collected(2, pauses, pauses ? end - 2 * MS : 0, pauses ? end - 10 * US : 0);
	counters = counters_new(mem, PERFIMAGE_BASE);
	counters_place_set(counters, PERF_START, HEAP, 0);
	look();
	counters_close(counters);
}

/* `start`: of the concurrent one, with pauses from 10 and 30 ms after it on. */
static void concurrent_cause(uint64_t start, const char *want)
{
	all = (struct collections)COLLECTIONS_INIT;
	g1_look(0, 0, 0);
	g1_look(1, 0, 0);
	assert_int_equal(ngot, 1);
	assert_string_equal(got.cause, "G1 Evacuation Pause");
	*at(STATICS + 64) = OBJECTS + 800;
	concurrent_put(at(OBJECTS + 1600), start, start + 60 * MS);
	g1_look(1, 2, start + 32 * MS);
	assert_int_equal(ngot, 2);
	assert_string_equal(got.name, "G1Old");
	assert_string_equal(got.cause, want);
}

/* It begins within a young one and has its cause, where no number tells it. */
static void cause_of_the_young_one(void **state)
{
	concurrent_cause(80 * MS, "G1 Evacuation Pause");
	concurrent_cause(86 * MS, CAUSE_UNKNOWN);
}

/*
 * The enumerations of gcCause.hpp by hand: the first, the last, those around what a release took
 * out or put in.
 */
static void numbers_of_causes(void **state)
{
	static const struct {
		int release, number;
		const char *text;
	} all_of[] = {
		{17, 0, "System.gc()"},
		{17, 5, "GCLocker Initiated GC"},
		{17, 9, "WhiteBox Initiated Concurrent Mark"},
		{17, 13, "No GC"},
		{17, 15, "Allocation Failure"},
		{17, 17, "Metadata GC Threshold"},
		{17, 21, "Ergonomics"},
		{17, 26, "G1 Preventive Collection"},
		{17, 37, "High Usage"},
		{17, 38, NULL},
		{21, 9, "WhiteBox Initiated Full GC"},
		{21, 13, "Allocation Failure"},
		{21, 14, "CodeCache GC Threshold"},
		{21, 18, "Ergonomics"},
		{21, 23, "Diagnostic Command"},
		{21, 33, "High Usage"},
		{21, 34, NULL},
		{25, 5, "Heap Inspection Initiated GC"},
		{25, 12, "Allocation Failure"},
		{25, 17, "G1 Evacuation Pause"},
		{25, 25, "Concurrent GC"},
		{25, 27, "Timer"},
		{25, 32, "High Usage"},
		{25, 33, NULL},
		{25, -1, NULL},
		{19, 0, NULL}, /* another order, perhaps */
	};

	for (size_t i = 0; i < sizeof(all_of) / sizeof(all_of[0]); i++) {
		const char *text = gccause_text(all_of[i].release, all_of[i].number);

		assert_true(!text == !all_of[i].text);
		if (text)
			assert_string_equal(text, all_of[i].text);
	}
}

/* What is no timer any more is let go, and what is one later is found. */
static void it_moves(void **state)
{
	serial();
	look();
	collected(1, 9000 * US);
	look();
	assert_int_equal(got.duration_ns, 9000 * US);
	memset(statics, 0, sizeof(statics));
	for (uint64_t n = 2; n <= 9; n++) {
		collected(n, 0);
		timer_put(at(STATICS + 1600), n * 100 * MS, n * 100 * MS + 9500 * US);
		look();
		assert_int_equal(ngot, 1);
	}
	assert_int_equal(got.duration_ns, 9500 * US);
	counters_close(counters);
}

/* Where nothing is found it is not searched for at each collection. */
static void nowhere(void **state)
{
	unsigned int first;

	serial();
	look();
	for (uint64_t n = 1; n <= 20; n++) {
		collected(n, 0);
		look();
		assert_int_equal(got.duration_ns, 10 * MS);
	}
	first = reads;
	collected(21, 0);
	look();
	assert_in_range(reads - first, 1, 20);
	counters_close(counters);
}

/* ---- the clock ---------------------------------------------------------------------------------
 */

/* Not while the thread loses its CPU between the two. */
static int64_t wall_ahead(void)
{
	for (;;) {
		uint64_t a = now_ns(), wall = clock_ns(CLOCK_REALTIME), b = now_ns();

		if (b - a < 10 * US)
			return (int64_t)(wall - a);
	}
}

/*
 * A tick 0 of ten seconds ago, in the middle of a millisecond of the wall clock, so that what is
 * expected depends neither on when the test runs nor on how long it waits for a CPU.
 */
static uint64_t some_zero(void)
{
	int64_t ahead = wall_ahead();
	int64_t wall = (int64_t)(now_ns() - 10 * S) + ahead;

	return (uint64_t)(wall / (int64_t)MS * (int64_t)MS + (int64_t)(500 * US) - ahead);
}

/* Two looks, the JVM's clock sampled right before each. */
static void begun(uint64_t zero)
{
	perfimage_set(&im, begin_ms, (uint64_t)((int64_t)zero + wall_ahead()) / MS);
	perfimage_set(&im, ticks, now_ns() - zero);
	look();
	perfimage_set(&im, ticks, now_ns() - zero);
	look();
}

static void tick_zero(void **state)
{
	uint64_t zero = some_zero();

	serial();
	*at(STATICS + 2000) = zero;
	*at(STATICS + 2400) = zero;	      /* the same once more is no other */
	*at(STATICS + 3000) = zero + 50 * MS; /* too late to be it */
	begun(zero);
	assert_int_equal(vmclock_time(&all.clock, 5 * MS), zero + 5 * MS);
	assert_in_range(vmclock_error(&all.clock), 1, 1000);
	counters_close(counters);
}

/* Of two that may be it neither is taken. */
static void one_of_two(void **state)
{
	uint64_t zero = some_zero();

	serial();
	*at(STATICS + 2000) = zero;
	*at(STATICS + 2400) = zero + 100 * US;
	*at(STATICS + 3000) = zero - 100 * US;
	begun(zero);
	assert_in_range(vmclock_error(&all.clock), 100 * US, 600 * US + 1);
	counters_close(counters);
}

/* Once the clock is known one read tells whether there is anything to tell. */
static void glances(void **state)
{
	const struct collections_fns fns = {.one = on_one, .gap = on_gap};
	uint64_t zero = some_zero(), looked;

	serial();
	*at(STATICS + 2000) = zero;
	begun(zero);
	reads = ngot = 0;
	looked = now_ns();
	assert_int_equal(collections_glance(&all, counters, &fns), 0);
	assert_true(reads == 1 && !ngot);
	assert_in_range(all.looked_ns, looked, read_ns);
	collected(1, 0);
	assert_int_equal(collections_glance(&all, counters, &fns), 0);
	assert_int_equal(ngot, 1);
	/* one that is under way is looked at, and seen when it has ended */
	perfimage_set(&im, invocations, 2);
	perfimage_set(&im, entry, 200 * MS);
	assert_int_equal(collections_glance(&all, counters, &fns), 0);
	assert_int_equal(ngot, 1);
	collected(2, 0);
	assert_int_equal(collections_glance(&all, counters, &fns), 0);
	assert_true(ngot == 2 && !ngaps);
	assert_int_equal(got.start_ns, zero + 200 * MS);
	counters_close(counters);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_static_one, setup, teardown),
		cmocka_unit_test_setup_teardown(on_the_edge_of_a_page, setup, teardown),
		cmocka_unit_test_setup_teardown(behind_a_static_pointer, setup, teardown),
		cmocka_unit_test_setup_teardown(of_a_generation, setup, teardown),
		cmocka_unit_test_setup_teardown(not_others, setup, teardown),
		cmocka_unit_test_setup_teardown(bounded, setup, teardown),
		cmocka_unit_test_setup_teardown(what_it_says, setup, teardown),
		cmocka_unit_test_setup_teardown(tracers, setup, teardown),
		cmocka_unit_test_setup_teardown(tracer_of_one_that_ends, setup, teardown),
		cmocka_unit_test_setup_teardown(concurrent_ones, setup, teardown),
		cmocka_unit_test_setup_teardown(by_the_timer, setup, teardown),
		cmocka_unit_test_setup_teardown(given_up, setup, teardown),
		cmocka_unit_test_setup_teardown(causes, setup, teardown),
		cmocka_unit_test_setup_teardown(cause_of_the_young_one, setup, teardown),
		cmocka_unit_test(numbers_of_causes),
		cmocka_unit_test_setup_teardown(it_moves, setup, teardown),
		cmocka_unit_test_setup_teardown(nowhere, setup, teardown),
		cmocka_unit_test_setup_teardown(tick_zero, setup, teardown),
		cmocka_unit_test_setup_teardown(one_of_two, setup, teardown),
		cmocka_unit_test_setup_teardown(glances, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
