/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A JVM's performance counters: the format with each of its numbers lying, counters that come and
 * change while they are read, the clock's bounds, and collections seen, unseen and under way.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "jvm/collections.h"
#include "jvm/perfdata.h"
#include "perfimage.h"

#define MS 1000000ull
#define S  1000000000ull

static struct perfimage im;

/* ---- the format --------------------------------------------------------------------------------
 */

struct seen {
	unsigned int n;
	uint32_t at;
	size_t len;
};

static bool on_entry(void *ctx, const struct perfdata_entry *e)
{
	struct seen *s = ctx;

	assert_true(e->at < s->len && e->bytes <= s->len - e->at);
	s->n++;
	s->at = e->at;
	return strcmp(e->name, "stop") != 0;
}

static void entries(void **state)
{
	struct seen s = {.len = sizeof(im.b)};
	struct perfdata_head h;
	uint32_t two;

	perfimage_init(&im);
	perfimage_add(&im, "one", 0);
	two = perfimage_add(&im, "two", 5);
	assert_int_equal(perfdata_head(im.b, sizeof(im.b), &h), 0);
	assert_true(h.accessible && h.entries == 2 && h.used == im.used);
	assert_int_equal(perfdata_each(im.b, im.used, on_entry, &s), 0);
	assert_true(s.n == 2 && s.at == two);
	perfimage_add(&im, "stop", 0);
	perfimage_add(&im, "never", 0);
	s.n = 0;
	assert_int_equal(perfdata_each(im.b, im.used, on_entry, &s), 0);
	assert_int_equal(s.n, 3);
}

/* Each number of the prologue and of the first two entries, with each of these in its place. */
static void lies(void **state)
{
	static const int32_t numbers[] = {INT32_MIN, -1, 0, 1, 19, 20, 31, 40, 4096, INT32_MAX};
	static const uint32_t at[] = {8, 24, 28, 32, 36, 40, 48, 72, 76, 80, 88};

	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		for (size_t j = 0; j < sizeof(numbers) / sizeof(numbers[0]); j++) {
			struct seen s;
			struct perfdata_head h;
			uint8_t *copy;

			perfimage_init(&im);
			perfimage_add(&im, "one", 0);
			perfimage_add(&im, "two", 16);
			perfimage_add(&im, "three", 0);
			perfimage_put(&im, at[i], numbers[j]);
			/* of exactly its length, so that reading beyond is found */
			s = (struct seen){.len = im.used};
			copy = malloc(im.used);
			assert_non_null(copy);
			memcpy(copy, im.b, im.used);
			perfdata_head(copy, im.used, &h);
			perfdata_each(copy, im.used, on_entry, &s);
			assert_true(s.n <= im.used / 20);
			free(copy);
		}
	}
}

static void cut_anywhere(void **state)
{
	perfimage_init(&im);
	perfimage_add(&im, "one", 0);
	perfimage_add(&im, "two", 16);
	for (uint32_t len = 0; len < im.used; len++) {
		struct seen s = {.len = len};
		uint8_t *copy = malloc(len + 1);

		assert_non_null(copy);
		memcpy(copy, im.b, len);
		assert_int_equal(perfdata_each(copy, len, on_entry, &s), -EBADMSG);
		assert_true(s.n < 2);
		free(copy);
	}
}

/* ---- counters ----------------------------------------------------------------------------------
 */

static void values(void **state)
{
	struct mem *mem = mem_new(perfimage_read, &im);
	struct counters *c = counters_new(mem, PERFIMAGE_BASE);
	uint32_t live, cause, late, collections;
	char text[16];
	uint64_t v;

	perfimage_init(&im);
	perfimage_add(&im, "java.threads.peculiar", 0);
	live = perfimage_add(&im, "java.threads.live", 0);
	cause = perfimage_add(&im, "sun.gc.cause", 12);
	perfimage_add(&im, "sun.gc.filler", 2000);
	collections = perfimage_add(&im, "sun.gc.collector.0.invocations", 0);
	perfimage_add(&im, "sun.gc.filled", 2000);
	perfimage_set(&im, live, 7);
	memcpy(im.b + cause, "A\nlong\033cause", 12); /* without a terminator */
	assert_int_equal(counters_poll(c), 0);
	assert_true(counter_number(c, CTR_THREADS_LIVE, &v) && v == 7);
	assert_true(counter_text(c, CTR_CAUSE, text, sizeof(text)));
	assert_string_equal(text, "A?long?cause");
	assert_true(counter_text(c, CTR_CAUSE, text, 4));
	assert_string_equal(text, "A?l");
	assert_false(counter_number(c, CTR_CAUSE, &v));
	assert_false(counter_text(c, CTR_THREADS_LIVE, text, sizeof(text)));
	assert_false(counter_number(c, CTR_SAFEPOINTS, &v));
	assert_int_equal(counter_value(c, CTR_SAFEPOINTS), 0);

	/* one more comes, and another changes */
	late = perfimage_add(&im, "sun.rt.safepoints", 0);
	perfimage_set(&im, late, 3);
	perfimage_set(&im, live, 8);
	assert_int_equal(counters_poll(c), 0);
	assert_int_equal(counter_value(c, CTR_SAFEPOINTS), 3);
	assert_int_equal(counter_value(c, CTR_THREADS_LIVE), 8);

	/* once they are known a poll of memory is one read */
	im.reads = 0;
	assert_int_equal(counters_poll(c), 0);
	assert_int_equal(im.reads, 1);

	/* a glance is of the heap and its collectors */
	perfimage_set(&im, live, 9);
	perfimage_set(&im, collections, 4);
	im.reads = 0;
	assert_int_equal(counters_glance(c), 0);
	assert_int_equal(im.reads, 1);
	assert_int_equal(counter_value(c, ctr_collector(0, COLLECTOR_INVOCATIONS)), 4);
	assert_int_equal(counter_value(c, CTR_THREADS_LIVE), 8);

	im.b[0] = 0;
	assert_int_equal(counters_poll(c), -EBADMSG);
	assert_int_equal(counter_value(c, CTR_THREADS_LIVE), 9);
	counters_close(c);
	mem_close(mem);
}

static void not_yet(void **state)
{
	struct mem *mem = mem_new(perfimage_read, &im);
	struct counters *c = counters_new(mem, PERFIMAGE_BASE);

	perfimage_init(&im);
	perfimage_add(&im, "java.threads.live", 0);
	im.b[7] = 0;
	assert_int_equal(counters_poll(c), -EAGAIN);
	im.b[7] = 1;
	assert_int_equal(counters_poll(c), 0);
	counters_close(c);
	c = counters_new(mem, PERFIMAGE_BASE + PERFIMAGE_BYTES);
	assert_int_equal(counters_poll(c), -EFAULT);
	counters_close(c);
	mem_close(mem);
}

struct texts {
	unsigned int n;
	char name[32], value[32];
};

static void on_text(void *ctx, const char *name, const char *value)
{
	struct texts *t = ctx;

	t->n++;
	snprintf(t->name, sizeof(t->name), "%s", name);
	snprintf(t->value, sizeof(t->value), "%s", value);
}

static void properties(void **state)
{
	struct mem *mem = mem_new(perfimage_read, &im);
	struct counters *c = counters_new(mem, PERFIMAGE_BASE);
	struct texts t = {0};
	uint32_t at;

	perfimage_init(&im);
	at = perfimage_add(&im, "java.property.java.home", 16);
	memcpy(im.b + at, "/usr/lib", 9);
	perfimage_add(&im, "java.property.number", 0);
	assert_int_equal(counters_texts(c, "java.property.", on_text, &t), 0);
	assert_int_equal(t.n, 1);
	assert_string_equal(t.name, "java.home");
	assert_string_equal(t.value, "/usr/lib");
	counters_close(c);
	mem_close(mem);
}

/* ---- the clock ---------------------------------------------------------------------------------
 */

#define ZERO  (5000 * (int64_t)S)	/* tick 0 in CLOCK_MONOTONIC */
#define AHEAD (1700000000 * (int64_t)S) /* of the wall clock */

static void look(struct vmclock *c, uint64_t sampled, uint64_t begin_ms, uint64_t read)
{
	vmclock_look(c, S, sampled, begin_ms, AHEAD, (uint64_t)ZERO + read,
		     (uint64_t)ZERO + read + 10000);
}

static uint64_t off_by(const struct vmclock *c)
{
	int64_t d = (int64_t)vmclock_time(c, 0) - ZERO;

	return (uint64_t)(d < 0 ? -d : d);
}

static void clock_by_millisecond(void **state)
{
	struct vmclock c = VMCLOCK_INIT;
	uint64_t begin = (uint64_t)(ZERO + AHEAD) / MS;

	assert_int_equal(vmclock_error(&c), UINT64_MAX);
	look(&c, 100 * MS, begin, 130 * MS);
	look(&c, 150 * MS, begin, 160 * MS);
	assert_in_range(vmclock_error(&c), 1, 600001);
	assert_true(off_by(&c) <= vmclock_error(&c));
	assert_int_equal(vmclock_time(&c, 70) - vmclock_time(&c, 20), 50);
}

/* The wall clock was set since: the samplings alone hold. */
static void clock_by_samplings(void **state)
{
	struct vmclock c = VMCLOCK_INIT;
	uint64_t begin = (uint64_t)(ZERO + AHEAD) / MS + 3600000;

	for (uint64_t i = 3; i < 60; i++) {
		uint64_t read = i * 23 * MS;

		look(&c, read / (50 * MS) * 50 * MS, begin, read);
	}
	assert_in_range(vmclock_error(&c), 1, 5 * MS);
	assert_true(off_by(&c) <= vmclock_error(&c));
}

static void clock_units(void **state)
{
	struct vmclock c = VMCLOCK_INIT;

	vmclock_look(&c, 1000, 5000, 0, AHEAD, (uint64_t)ZERO + 5 * S, (uint64_t)ZERO + 5 * S);
	assert_int_equal(vmclock_span(&c, 7), 7 * MS);
	assert_int_equal(vmclock_time(&c, 0), 0);
	assert_int_equal(vmclock_span(&c, UINT64_MAX) > 0, 1);
}

/* What no clock can have shown changes nothing of what is known, and overflows nothing. */
static void clock_of_lies(void **state)
{
	static const uint64_t lies[] = {INT64_MAX,	INT64_MAX - 1,	      1ull << 63,
					UINT64_MAX,	(1ull << 61) + 1,     UINT64_MAX - 1,
					INT64_MAX / MS, (1ull << 61) / MS + 1};
	struct vmclock c = VMCLOCK_INIT;
	uint64_t error;

	for (uint64_t i = 3; i < 60; i++)
		look(&c, i * 23 * MS / (50 * MS) * 50 * MS, 0, i * 23 * MS);
	error = vmclock_error(&c);
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		look(&c, lies[i] < 1ull << 61 ? 0 : lies[i], lies[i], 1400 * MS);
		assert_int_equal(vmclock_error(&c), error);
		assert_true(off_by(&c) <= error);
	}
}

/* ---- collections -------------------------------------------------------------------------------
 */

struct gc {
	uint32_t hz, cause, last_cause, eden, old;
	uint32_t name[2], inv[2], time[2], entry[2], exit[2];
	struct mem *mem;
	struct counters *c;
	struct collections all;
	struct collection got[8];
	struct collections_gap gaps[8];
	unsigned int ngot, ngaps;
};

static struct gc gc;

static void on_one(void *ctx, const struct collection *c)
{
	assert_true(gc.ngot < 8);
	gc.got[gc.ngot++] = *c;
}

static void on_gap(void *ctx, const struct collections_gap *g)
{
	assert_true(gc.ngaps < 8);
	gc.gaps[gc.ngaps++] = *g;
}

static void gc_look(void)
{
	const struct collections_fns fns = {.one = on_one, .gap = on_gap};

	gc.ngot = gc.ngaps = 0;
	assert_int_equal(collections_look(&gc.all, gc.c, &fns), 0);
}

static uint32_t collector_counter(unsigned int n, const char *what, uint32_t bytes)
{
	char name[64];

	snprintf(name, sizeof(name), "sun.gc.collector.%u.%s", n, what);
	return perfimage_add(&im, name, bytes);
}

static int gc_setup(void **state)
{
	static const char *const names[] = {"Parallel young collection pauses",
					    "Parallel full collection pauses"};

	memset(&gc, 0, sizeof(gc));
	gc.all = (struct collections)COLLECTIONS_INIT;
	perfimage_init(&im);
	gc.hz = perfimage_add(&im, "sun.os.hrt.frequency", 0);
	perfimage_set(&im, gc.hz, S);
	gc.cause = perfimage_add(&im, "sun.gc.cause", 32);
	gc.last_cause = perfimage_add(&im, "sun.gc.lastCause", 32);
	memcpy(im.b + gc.cause, "No GC", 6);
	memcpy(im.b + gc.last_cause, "Allocation Failure", 19);
	gc.eden = perfimage_add(&im, "sun.gc.generation.0.space.0.used", 0);
	gc.old = perfimage_add(&im, "sun.gc.generation.1.space.0.used", 0);
	for (unsigned int n = 0; n < 2; n++) {
		uint32_t at = collector_counter(n, "name", 40);

		memcpy(im.b + at, names[n], strlen(names[n]));
		gc.name[n] = at;
		gc.inv[n] = collector_counter(n, "invocations", 0);
		gc.time[n] = collector_counter(n, "time", 0);
		gc.entry[n] = collector_counter(n, "lastEntryTime", 0);
		gc.exit[n] = collector_counter(n, "lastExitTime", 0);
	}
	gc.mem = mem_new(perfimage_read, &im);
	gc.c = counters_new(gc.mem, PERFIMAGE_BASE);
	return 0;
}

static int gc_teardown(void **state)
{
	counters_close(gc.c);
	mem_close(gc.mem);
	im.on_read = NULL;
	return 0;
}

static void collected(unsigned int n, uint64_t inv, uint64_t time, uint64_t entry, uint64_t exit)
{
	perfimage_set(&im, gc.inv[n], inv);
	perfimage_set(&im, gc.time[n], time);
	perfimage_set(&im, gc.entry[n], entry);
	perfimage_set(&im, gc.exit[n], exit);
}

static void seen_and_unseen(void **state)
{
	collected(0, 5, 50 * MS, 100 * MS, 110 * MS);
	perfimage_set(&im, gc.eden, 1000);
	perfimage_set(&im, gc.old, 10);
	gc_look();
	assert_true(!gc.ngot && !gc.ngaps); /* those of before */

	collected(0, 6, 63 * MS, 200 * MS, 213 * MS);
	perfimage_set(&im, gc.eden, 0);
	perfimage_set(&im, gc.old, 30);
	gc_look();
	assert_true(gc.ngot == 1 && !gc.ngaps);
	assert_string_equal(gc.got[0].name, "ParallelScavenge");
	assert_string_equal(gc.got[0].cause, "Allocation Failure");
	assert_int_equal(gc.got[0].kind, COLLECTION_YOUNG);
	assert_int_equal(gc.got[0].duration_ns, 13 * MS);
	assert_int_equal(gc.got[0].id, 6);
	assert_int_equal(gc.got[0].before.used, 1010);
	assert_int_equal(gc.got[0].after.used, 30);
	assert_int_equal(gc.got[0].after.old, 30);

	gc_look();
	assert_true(!gc.ngot && !gc.ngaps);

	/* three more, of which the last took 4 of 24 ms */
	collected(0, 9, 87 * MS, 400 * MS, 404 * MS);
	gc_look();
	assert_true(gc.ngot == 1 && gc.ngaps == 1);
	assert_int_equal(gc.got[0].duration_ns, 4 * MS);
	assert_int_equal(gc.gaps[0].count, 2);
	assert_int_equal(gc.gaps[0].sum_ns, 20 * MS);
	assert_string_equal(gc.gaps[0].name, "ParallelScavenge");
	assert_true(gc.gaps[0].from_ns && gc.gaps[0].until_ns > gc.gaps[0].from_ns);
}

/* G1 counts eden as it is given out: what was since the collection is not what it left. */
static void given_out_since(void **state)
{
	memcpy(im.b + gc.name[0], "G1 young collection pauses", 27);
	gc_look();
	collected(0, 1, 10 * MS, 100 * MS, 110 * MS);
	perfimage_set(&im, gc.eden, 3000);
	perfimage_set(&im, gc.old, 500);
	gc_look();
	assert_int_equal(gc.ngot, 1);
	assert_string_equal(gc.got[0].name, "G1New");
	assert_int_equal(gc.got[0].after.used, 500);
	assert_int_equal(gc.all.heap.used, 3500);

	/* what has no place in the old generation is left in eden by others */
	memcpy(im.b + gc.name[1], "Serial full collection pauses", 30);
	collected(1, 1, 10 * MS, 200 * MS, 210 * MS);
	gc_look();
	assert_int_equal(gc.ngot, 1);
	assert_string_equal(gc.got[0].name, "SerialOld");
	assert_int_equal(gc.got[0].after.used, 3500);
}

static void under_way(void **state)
{
	gc_look();
	/* the first has begun */
	collected(0, 1, 0, 100 * MS, 0);
	gc_look();
	assert_true(!gc.ngot && !gc.ngaps);
	collected(0, 1, 10 * MS, 100 * MS, 110 * MS);
	gc_look();
	assert_true(gc.ngot == 1 && !gc.ngaps && gc.got[0].duration_ns == 10 * MS);
	/* one came and went, and another is under way: its times are gone, its number and sum not
	 */
	collected(0, 3, 17 * MS, 300 * MS, 210 * MS);
	gc_look();
	assert_true(!gc.ngot && gc.ngaps == 1);
	assert_true(gc.gaps[0].count == 1 && gc.gaps[0].sum_ns == 7 * MS);
	collected(0, 3, 22 * MS, 300 * MS, 305 * MS);
	gc_look();
	assert_true(gc.ngot == 1 && !gc.ngaps && gc.got[0].duration_ns == 5 * MS);
}

/* The JVM counts a collection before it notes its beginning, and adds its time up at the end. */
static void half_written(struct perfimage *m)
{
	if (m->reads == 2)
		collected(0, 2, 30 * MS, 200 * MS, 220 * MS);
}

static void while_written(void **state)
{
	gc_look();
	collected(0, 1, 10 * MS, 100 * MS, 110 * MS);
	gc_look();
	assert_int_equal(gc.ngot, 1);
	collected(0, 2, 10 * MS, 100 * MS, 110 * MS); /* counted only */
	im.reads = 0;
	im.on_read = half_written;
	gc_look();
	assert_true(gc.ngot == 1 && !gc.ngaps);
	assert_int_equal(gc.got[0].duration_ns, 20 * MS);
}

static void one_more(struct perfimage *m)
{
	collected(0, m->reads, 10 * MS, m->reads * MS, m->reads * MS + 1);
}

/* Of which no two reads agree: nothing is told of it, and all of it when they do. */
static void changing(void **state)
{
	const struct collections_fns fns = {.one = on_one, .gap = on_gap};
	uint64_t looked;

	gc_look();
	collected(0, 1, 10 * MS, 100 * MS, 110 * MS);
	gc_look();
	assert_int_equal(gc.ngot, 1);
	looked = gc.all.looked_ns;
	im.reads = 1;
	im.on_read = one_more;
	gc.ngot = 0;
	assert_int_equal(collections_look(&gc.all, gc.c, &fns), -EAGAIN);
	assert_true(!gc.ngot && !gc.ngaps && gc.all.looked_ns == looked);
	im.on_read = NULL;
	collected(0, 9, 50 * MS, 900 * MS, 905 * MS);
	gc_look();
	assert_true(gc.ngot == 1 && gc.ngaps == 1);
	assert_true(gc.gaps[0].count == 7 && gc.gaps[0].sum_ns == 35 * MS);
	assert_int_equal(gc.gaps[0].from_ns, looked);
}

static uint64_t read_ns[4];

static void note_time(struct perfimage *m)
{
	if (m->reads <= 4)
		read_ns[m->reads - 1] = now_ns();
}

/* Whatever ended between two reads ended in the gap's time, also where a read took its time. */
static void gap_holds_its_reads(void **state)
{
	gc_look();
	collected(0, 1, 10 * MS, 100 * MS, 110 * MS);
	im.reads = 0;
	im.on_read = note_time;
	gc_look();
	im.on_read = NULL;
	collected(0, 4, 40 * MS, 400 * MS, 410 * MS);
	gc_look();
	assert_true(gc.ngaps == 1 && im.reads >= 2);
	assert_true(gc.gaps[0].from_ns <= read_ns[1] && gc.gaps[0].until_ns > read_ns[1]);
}

/* However long that takes. */
static void not_begun_yet(void **state)
{
	gc_look();
	collected(0, 1, 10 * MS, 100 * MS, 110 * MS);
	gc_look();
	assert_int_equal(gc.ngot, 1);
	collected(0, 2, 10 * MS, 100 * MS, 110 * MS); /* counted only */
	gc_look();
	assert_true(!gc.ngot && !gc.ngaps);
	collected(0, 2, 10 * MS, 200 * MS, 110 * MS);
	gc_look();
	assert_true(!gc.ngot && !gc.ngaps);
	collected(0, 2, 10 * MS, 200 * MS, 230 * MS); /* its time is not added up yet */
	gc_look();
	assert_true(gc.ngot == 1 && !gc.ngaps && gc.got[0].duration_ns == 30 * MS);
	collected(0, 4, 47 * MS, 400 * MS, 405 * MS);
	gc_look();
	assert_true(gc.ngot == 1 && gc.ngaps == 1);
	assert_true(gc.gaps[0].count == 1 && gc.gaps[0].sum_ns == 2 * MS);
}

static void two_collectors(void **state)
{
	gc_look();
	memcpy(im.b + gc.last_cause, "System.gc()", 12);
	collected(1, 1, 40 * MS, 100 * MS + 20000, 140 * MS);
	collected(0, 1, 10 * MS, 90 * MS, 100 * MS);
	gc_look();
	assert_int_equal(gc.ngot, 2);
	assert_string_equal(gc.got[0].name, "ParallelScavenge");
	assert_string_equal(gc.got[0].cause, "System.gc()"); /* a part of the same */
	assert_string_equal(gc.got[1].name, "ParallelOld");
	assert_int_equal(gc.got[1].kind, COLLECTION_FULL);
	assert_true(gc.got[0].id == 1 && gc.got[1].id == 2);

	collected(1, 2, 80 * MS, 500 * MS, 540 * MS);
	collected(0, 2, 20 * MS, 450 * MS, 460 * MS);
	gc_look();
	assert_int_equal(gc.ngot, 2);
	assert_string_equal(gc.got[0].cause, CAUSE_UNKNOWN);
	assert_string_equal(gc.got[1].cause, "System.gc()");
}

/* Numbers that go back, or are nonsense, end in nothing worse than nonsense. */
static void nonsense(void **state)
{
	static const uint64_t numbers[] = {0, 1, INT64_MAX, UINT64_MAX, 1ull << 63};

	for (unsigned int i = 0; i < 625; i++) {
		collected(0, numbers[i % 5], numbers[i / 5 % 5], numbers[i / 25 % 5],
			  numbers[i / 125]);
		perfimage_set(&im, gc.hz, numbers[i / 5 % 5]);
		gc_look();
	}
}

/* ---- a process with a file of them: ourselves ---- */

struct shared {
	char dir[32], path[64];
	int fd;
	void *at;
};

static void shared_make(struct shared *s)
{
	snprintf(s->dir, sizeof(s->dir), "/tmp/hsperfdata_test.XXXXXX");
	assert_non_null(mkdtemp(s->dir));
	snprintf(s->path, sizeof(s->path), "%s/%d", s->dir, (int)getpid());
	s->fd = open(s->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(s->fd >= 0);
	assert_int_equal(ftruncate(s->fd, PERFIMAGE_BYTES), 0);
	s->at = mmap(NULL, PERFIMAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
	assert_ptr_not_equal(s->at, MAP_FAILED);
}

static void shared_remove(struct shared *s)
{
	munmap(s->at, PERFIMAGE_BYTES);
	close(s->fd);
	unlink(s->path);
	rmdir(s->dir);
}

/* There is nothing in it yet. */
static void nothing_opened(void **state)
{
	struct counters *c = NULL;
	struct shared s;

	shared_make(&s);
	assert_true(counters_open(&c, getpid(), NULL) < 0);
	assert_null(c);
	shared_remove(&s);
}

/* It is read as that file, whatever lies at its address later and however long it is then. */
static void by_the_file(void **state)
{
	struct counters *c = NULL;
	struct shared s;
	uint32_t live;

	perfimage_init(&im);
	live = perfimage_add(&im, "java.threads.live", 0);
	shared_make(&s);
	memcpy(s.at, im.b, im.used);
	assert_int_equal(counters_open(&c, getpid(), NULL), 0);
	*(uint64_t *)((char *)s.at + live) = 7;
	assert_int_equal(counters_poll(c), 0);
	assert_int_equal(counter_value(c, CTR_THREADS_LIVE), 7);
	assert_ptr_equal(mmap(s.at, PERFIMAGE_BYTES, PROT_NONE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
			 s.at);
	assert_int_equal(pwrite(s.fd, &(uint64_t){8}, 8, live), 8);
	assert_int_equal(unlink(s.path), 0);
	assert_int_equal(counters_poll(c), 0);
	assert_int_equal(counter_value(c, CTR_THREADS_LIVE), 8);
	assert_int_equal(ftruncate(s.fd, 16), 0);
	assert_int_equal(counters_poll(c), -EFAULT);
	assert_int_equal(counter_value(c, CTR_THREADS_LIVE), 8);
	counters_close(c);
	shared_remove(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries),
		cmocka_unit_test(nothing_opened),
		cmocka_unit_test(by_the_file),
		cmocka_unit_test(lies),
		cmocka_unit_test(cut_anywhere),
		cmocka_unit_test(values),
		cmocka_unit_test(not_yet),
		cmocka_unit_test(properties),
		cmocka_unit_test(clock_by_millisecond),
		cmocka_unit_test(clock_by_samplings),
		cmocka_unit_test(clock_units),
		cmocka_unit_test(clock_of_lies),
		cmocka_unit_test_setup_teardown(seen_and_unseen, gc_setup, gc_teardown),
		cmocka_unit_test_setup_teardown(given_out_since, gc_setup, gc_teardown),
		cmocka_unit_test_setup_teardown(under_way, gc_setup, gc_teardown),
		cmocka_unit_test_setup_teardown(while_written, gc_setup, gc_teardown),
		cmocka_unit_test_setup_teardown(changing, gc_setup, gc_teardown),
		cmocka_unit_test_setup_teardown(gap_holds_its_reads, gc_setup, gc_teardown),
		cmocka_unit_test_setup_teardown(not_begun_yet, gc_setup, gc_teardown),
		cmocka_unit_test_setup_teardown(two_collectors, gc_setup, gc_teardown),
		cmocka_unit_test_setup_teardown(nonsense, gc_setup, gc_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
