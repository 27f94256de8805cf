/* SPDX-License-Identifier: Apache-2.0 */
/* What the writer writes, the reader and the profile find again, times and all. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "jfr/read_reservoir.h"
#include "jfr/repair.h"
#include "jfr/vitals.h"
#include "jfrmade.h"
#include "model/totals.h"
#include "out/profile.h"
#include "out/findings.h"
#include "out/summary.h"
#include "out/text.h"

static char dir[] = "/tmp/gnomon-round.XXXXXX";
static char path[64];

static void samples_write(struct jfrw *w)
{
	static const struct frame_name frames[] = {
		{.klass = "libc.so.6",
		 .method = "read",
		 .sig = "",
		 .line = -1,
		 .bci = -1,
		 .type = FRAME_NATIVE},
		{.klass = "shop.Cart$Item",
		 .method = "l\xc3\xa4uft",
		 .sig = "(II)I",
		 .line = 7,
		 .bci = 3,
		 .type = FRAME_C1},
		{.klass = "shop.Main",
		 .method = "main",
		 .sig = "([Ljava/lang/String;)V",
		 .line = 12,
		 .bci = 0,
		 .type = FRAME_INTERPRETED},
	};
	uint32_t t = jm_main(w);
	uint32_t deep = jfrw_stack(w, frames, 3, false), java = jfrw_stack(w, frames + 1, 2, true);

	for (int i = 0; i < 10; i++)
		jfrw_cpu_sample(w, START + (uint64_t)i * 10 * MS, t, java);
	jfrw_wall_sample(w, START + 100 * MS, t, deep, JFR_STATE_IO, 4, 80 * MS);
	jfrw_wall_sample(w, START + 200 * MS, t, java, JFR_STATE_QUEUED, 30, 600 * MS);
	jfrw_wall_sample(w, START + 900 * MS, t, 0, JFR_STATE_PARKED, 1, 20 * MS);
}

static void recording_write(enum jfrw_cpu_event cpu_event)
{
	struct jfrw *w = jm_open(path, (struct jfrw_form){.cpu_event = cpu_event});
	struct error e = {0};

	assert_non_null(w);
	samples_write(w);
	jfrw_samples_lost(w, START + 950 * MS,
			  &(struct jfr_samples_lost){
				  .kind = "cpu", .reason = loss_name(GN_LOSS_RING), .count = 3});
	jfrw_stack_quality(w, START + 950 * MS,
			   &(struct jfr_stack_quality){.kind = "cpu",
						       .samples = 10,
						       .complete = 9,
						       .truncated = 1,
						       .unnamed = 4,
						       .in_heap = 2});
	jfrw_stack_quality(
		w, START + 950 * MS,
		&(struct jfr_stack_quality){
			.kind = "wall", .samples = 40, .complete = 39, .failed = 1, .guessed = 2});
	assert_int_equal(jfrw_close(w, &e), 0);
}

static struct profile *recording_read_as(const struct profile_options *o)
{
	struct profile *p = NULL;
	struct jfr_report r;

	assert_int_equal(profile_new(&p, o, NULL), 0);
	assert_int_equal(profile_load(p, path, 0, &r, NULL), 0);
	assert_int_equal(r.problems, 0);
	assert_int_equal(r.events_unknown, 0);
	assert_int_equal(profile_finish(p, NULL), 0);
	return p;
}

static struct profile *recording_read(void)
{
	return recording_read_as(NULL);
}

/* A writer that is lost in the middle of its work: bytes of a flush lie behind its last chunk. */
static void writer_lose(struct jfrw *w, uint64_t n)
{
	static const char half[] = "half a checkpoint";
	struct jfrw_stats st;
	uint32_t t = jm_main(w);
	FILE *f;

	samples_write(w);
	assert_int_equal(jfrw_flush(w, START + 1000 * MS, NULL), 0);
	while (jfrw_busy(w))
		usleep(1000);
	for (uint64_t i = 0; i < n; i++)
		jfrw_cpu_sample(w, START + 1100 * MS, t, 0);
	jfrw_stats(w, &st);
	assert_int_equal(st.cpu_settled, 10);
	assert_int_equal(st.wall_settled, 35);
	f = fopen(path, "ab"); /* nobody else writes any more */
	assert_non_null(f);
	assert_int_equal(fwrite(half, sizeof(half), 1, f), 1);
	fclose(f);
}

static struct jfrw *writer_resume(uint32_t nth)
{
	struct jfrw_config cfg = {.path = path,
				  .opened = true,
				  .fd = open(path, O_RDWR),
				  .resumed = nth,
				  .resumed_mono_ns = START + (1000 + 100 * nth) * MS,
				  .start_unix_ns = EPOCH,
				  .start_mono_ns = START,
				  .cpu_period_ns = 10 * MS};
	struct jfrw *w = NULL;

	assert_int_equal(jfrw_open(&w, &cfg, NULL), 0);
	return w;
}

/*
 * Others go on where a writer was lost: what was flushed stays, ids mean what they meant, and what
 * happened before they began (a sleep) is told as of its time.
 */
static void test_resumed(void **state)
{
	static const struct frame_name other = {
		.klass = "late.Late", .method = "late", .sig = "()V"};
	struct jfrw *lost[2] = {jm_open(path, (struct jfrw_form){0})}, *w;
	struct profile *p;
	uint32_t stack;
	struct jfrw_stats st;

	assert_non_null(lost[0]);
	writer_lose(lost[0], 5);
	lost[1] = writer_resume(1);
	writer_lose(lost[1], 7);
	w = writer_resume(2);
	stack = jfrw_stack(w, &other, 1, false);
	assert_false(jfrw_has_stack(lost[0], stack));
	assert_false(jfrw_has_stack(lost[1], stack));
	jfrw_wall_sample(w, START + 300 * MS, jm_main(w), stack, JFR_STATE_PARKED, 8, 160 * MS);
	jfrw_stats(w, &st);
	assert_int_equal(st.wall_settled, 0);
	assert_int_equal(jfrw_close(w, NULL), 0);
	p = recording_read();
	assert_int_equal(p->samples[JFR_SOURCE_EXECUTION], 20);
	assert_int_equal(p->samples[JFR_SOURCE_WALL], 2 * 35 + 8);
	assert_int_equal(p->nthreads, 1);
	profile_free(p);
	jfrw_discard(lost[0]);
	jfrw_discard(lost[1]);
}

/* Every type of vitals, with nothing in it: what the table says of its fields is what is written.
 */
static void test_vitals(void **state)
{
	struct jfrw *w = jm_open(path, (struct jfrw_form){.vitals = true});
	static const uint64_t nothing[64];
	struct profile *p;
	uint64_t found = 0;

	assert_non_null(w);
	assert_int_equal(jfrw_name(w, JFR_GC_CAUSE, NULL), 0);
	assert_int_not_equal(jfrw_name(w, JFR_GC_CAUSE, "a"), jfrw_name(w, JFR_GC_CAUSE, "b"));
	for (unsigned int t = JFR_VITALS_FIRST; t < JFR_EVENT_END; t++)
		jfrw_event(w, t, START + MS, nothing);
	jfrw_event(w, JFR_GC_HEAP_SUMMARY, START + 2 * MS,
		   &(struct jfr_gc_heap_summary){.id = 7,
						 .when = jfrw_name(w, JFR_GC_WHEN, "After GC"),
						 .heap = {.committed = 1 << 20},
						 .used = 1 << 19});
	assert_int_equal(jfrw_close(w, NULL), 0);
	p = recording_read();
	for (uint32_t i = 0; i < p->ncounts; i++)
		if (strcmp(names_get(&p->names, p->counts[i].name), "jdk.ActiveSetting"))
			found += p->counts[i].events;
	assert_int_equal(found, JFR_EVENT_END - JFR_VITALS_FIRST + 1);
	profile_free(p);
}

/* Collections 3, 4 and 6, the last of which is a full one; 5 was not seen. */
static void collections_write(struct jfrw *w)
{
	static const struct {
		uint32_t id;
		uint64_t at, took, before, after;
	} all[] = {{3, 100, 5, 900, 100}, {4, 200, 7, 1100, 200}, {6, 400, 20, 5000, 300}};

	for (size_t i = 0; i < 3; i++) {
		uint64_t at = START + all[i].at * MS, took = all[i].took * MS;
		struct jfr_gc_heap_summary heap = {.id = all[i].id, .used = all[i].before};

		heap.when = jfrw_name(w, JFR_GC_WHEN, "Before GC");
		jfrw_event(w, JFR_GC_HEAP_SUMMARY, at, &heap);
		jfrw_event(
			w, JFR_GARBAGE_COLLECTION, at,
			&(struct jfr_garbage_collection){
				.duration = took,
				.id = all[i].id,
				.name = jfrw_name(w, JFR_GC_NAME, i == 2 ? "SerialOld" : "DefNew"),
				.cause = jfrw_name(w, JFR_GC_CAUSE, i == 2 ? "Asked" : "Full"),
				.pauses = took,
				.longest = took});
		heap.when = jfrw_name(w, JFR_GC_WHEN, "After GC");
		heap.used = all[i].after;
		jfrw_event(w, JFR_GC_HEAP_SUMMARY, at + took, &heap);
	}
	jfrw_event(w, JFR_COLLECTIONS_UNSEEN, START + 400 * MS,
		   &(struct jfr_collections_unseen){
			   .collector = "New", .count = 1, .pauses_ns = 3 * MS});
}

static void test_vitals_summary(void **state)
{
	struct jfrw *w = jm_open(path, (struct jfrw_form){.vitals = true});
	struct profile *p;
	const struct prof_vitals *v;
	char *text = NULL;
	size_t len;
	FILE *f;

	assert_non_null(w);
	collections_write(w);
	for (int i = 1; i <= 2; i++)
		jfrw_event(w, JFR_VITALS, START + (uint64_t)i * 300 * MS,
			   &(struct jfr_vitals){.period_ns = 300 * MS,
						.has = "process",
						.safepoints = 10,
						.safepoint_ns = 6 * MS,
						.throttled_ns = MS});
	assert_int_equal(jfrw_close(w, NULL), 0);
	p = recording_read();
	v = &p->vitals[0];
	assert_true(v->collections == 3 && v->unseen == 1);
	assert_int_equal(vitals_pause_ns(v), 35 * MS);
	assert_int_equal(v->longest_ns, 20 * MS);
	assert_string_equal(v->longest_name, "SerialOld");
	assert_string_equal(v->longest_cause, "Asked");
	/* between 3 and 4 only: nobody knows what 5 left */
	assert_int_equal(v->allocated, 1000);
	assert_int_equal(v->allocated_ns, 95 * MS);
	assert_true(v->heap_after == 300 && v->live.last.bytes == 300 && v->live.all == 1);
	assert_true(v->safepoints == 20 && v->safepoint_ns == 12 * MS);
	assert_int_equal(v->throttled_ns, 2 * MS);
	f = open_memstream(&text, &len);
	vitals_print(v, 1000 * MS, f);
	fclose(f);
	assert_non_null(
		strstr(text, "3.5% in 4 pauses of 35 ms in all; longest 20 ms, SerialOld, Asked"));
	assert_non_null(strstr(text, "1 of these came between two looks"));
	assert_non_null(
		strstr(text, "300 B after the last collection, 300 B left by the last old one"));
	free(text);
	profile_free(p);
}

static void both(enum jfrw_cpu_event cpu_event)
{
	struct profile *p;

	recording_write(cpu_event);
	p = recording_read();
	assert_int_equal(p->total_ns[0][DIM_CPU], 100 * MS);
	assert_int_equal(p->total_ns[0][DIM_OFF], 700 * MS);
	assert_int_equal(p->total_ns[0][DIM_WALL], 800 * MS);
	assert_true(p->start_ns == (int64_t)EPOCH);
	assert_int_equal(p->nthreads, 1);
	assert_int_equal(p->threads[0].os_id, 4711);
	assert_string_equal(names_get(&p->names, p->threads[0].name), "main");
	assert_int_equal(p->facts.truncated_samples[JFR_SOURCE_WALL], 30);
	assert_int_equal(p->facts.no_stack_samples[JFR_SOURCE_WALL], 1);
	assert_int_equal(p->facts.quality[QUALITY_CPU].unnamed, 4);
	assert_int_equal(p->facts.quality[QUALITY_CPU].in_heap, 2);
	assert_int_equal(p->facts.quality[QUALITY_CPU].complete, 9);
	assert_int_equal(p->facts.quality[QUALITY_WALL].complete, 39);
	assert_int_equal(p->facts.nlosses, 1);
	assert_string_equal(p->facts.losses[0].what, "cpu: CPU samples: ring buffer full");
	assert_int_equal(p->facts.losses[0].count, 3);
	profile_free(p);
}

static void test_execution(void **state)
{
	both(JFRW_EXECUTION);
}

static void test_cputime(void **state)
{
	both(JFRW_CPUTIME);
}

static struct jfrw *recording_open(uint64_t chunk_max)
{
	struct jfrw *w = jm_open(path, (struct jfrw_form){.chunk_max_bytes = chunk_max});

	assert_non_null(w);
	return w;
}

static void choice_write(struct jfrw *w, uint64_t at, uint32_t eligible, uint32_t sampled)
{
	static uint64_t draw;

	jfrw_thread_reservoir(w, START + at,
			      &(struct jfr_thread_reservoir){.draw = ++draw,
							     .live = eligible + 10,
							     .eligible = eligible,
							     .sampled = sampled});
}

/*
 * All of 20 ms ticks. Thread a waits in ticks 0 to 19 of which 5 lie before the choice of 3 in 10
 * at 100 ms, 5 in it, and 10 in that of 4 in 5 from 200 ms on: 5 + 5 * 10/3 + 10 * 5/4 ticks.
 * What is on a CPU is not chosen.
 */
static void test_reservoir(void **state)
{
	uint64_t want = 5 * 20 * MS + 50 * 20 * MS / 3 + 50 * 20 * MS / 4;
	struct jfrw *w = recording_open(0);
	uint32_t t = jfrw_thread(w, &(struct jfrw_thread){.os_name = "a", .os_tid = 1});
	struct profile *p;
	char text[80];

	choice_write(w, 100 * MS, 10, 3);
	choice_write(w, 200 * MS, 5, 4);
	jfrw_cpu_sample(w, START + 150 * MS, t, 0);
	jfrw_wall_sample(w, START, t, 0, JFR_STATE_PARKED, 20, 400 * MS);
	assert_int_equal(jfrw_close(w, NULL), 0);
	p = recording_read();
	assert_int_equal(p->total_ns[0][DIM_CPU], 10 * MS);
	assert_in_range(p->total_ns[0][DIM_OFF], want - 2, want + 2);
	assert_int_equal(p->samples[JFR_SOURCE_WALL], 20);
	assert_true(profile_sampled_threads(p, text, sizeof(text)));
	assert_string_equal(text, "4 of 8 threads"); /* 3.5 of 7.5 on average */
	profile_free(p);
}

static void rate_write(struct jfrw *w, uint64_t at, uint64_t cpu_ns)
{
	jfrw_rate(w, START + at,
		  &(struct jfr_rate_change){.cpu_ns = cpu_ns, .by = "command", .reason = "test"});
}

/*
 * A CPU sample stands for the interval in force at its time: 4 of 10 ms, 5 of 1 ms, 2 of 20 ms; and
 * two that came late: one of 10 ms from the time of 1 ms becomes ten, 30 of 1 ms of the time of
 * 20 ms become one, and the 10 ms that are left over are made whole by the next ten.
 */
static void test_rates(void **state)
{
	struct jfrw *w = recording_open(0);
	uint32_t t = jfrw_thread(w, &(struct jfrw_thread){.os_name = "a", .os_tid = 1});
	struct profile *p;

	rate_write(w, 0, 10 * MS);
	jfrw_cpu_samples(w, START + 50 * MS, t, 0, 4, 10 * MS);
	rate_write(w, 100 * MS, MS);
	jfrw_cpu_samples(w, START + 110 * MS, t, 0, 5, MS);
	rate_write(w, 200 * MS, 20 * MS);
	jfrw_cpu_samples(w, START + 210 * MS, t, 0, 2, 20 * MS);
	jfrw_cpu_samples(w, START + 150 * MS, t, 0, 1, 10 * MS);
	jfrw_cpu_samples(w, START + 220 * MS, t, 0, 30, MS);
	jfrw_cpu_samples(w, START + 230 * MS, t, 0, 10, MS);
	assert_int_equal(jfrw_close(w, NULL), 0);
	p = recording_read();
	assert_int_equal(p->total_ns[0][DIM_CPU], (40 + 5 + 40 + 10 + 40) * MS);
	assert_int_equal(p->samples[JFR_SOURCE_EXECUTION], 4 + 5 + 2 + 10 + 2);
	assert_int_equal(p->period_ns[JFR_SOURCE_EXECUTION], MS);
	profile_free(p);
}

/*
 * Each chunk says what holds in it. A change that is told when the next chunk has begun holds from
 * there, whatever its time; a sample of the time before is made to fit.
 */
static void test_rates_chunks(void **state)
{
	struct jfrw *w = jm_open(path, (struct jfrw_form){.chunk_max_ns = 100 * MS});
	uint32_t t = jfrw_thread(w, &(struct jfrw_thread){.os_name = "a", .os_tid = 1});
	struct profile *p;

	rate_write(w, 0, 10 * MS);
	jfrw_cpu_samples(w, START + 50 * MS, t, 0, 1, 10 * MS);
	assert_int_equal(jfrw_flush(w, START + 110 * MS, NULL), 0);
	assert_int_equal(jfrw_chunk(w), 2);
	rate_write(w, 90 * MS, 2 * MS);
	jfrw_cpu_samples(w, START + 80 * MS, t, 0, 1, 10 * MS);
	jfrw_cpu_samples(w, START + 150 * MS, t, 0, 7, 2 * MS);
	assert_int_equal(jfrw_flush(w, START + 210 * MS, NULL), 0);
	jfrw_cpu_samples(w, START + 220 * MS, t, 0, 3, 2 * MS);
	assert_int_equal(jfrw_close(w, NULL), 0);
	p = recording_read();
	assert_int_equal(p->total_ns[0][DIM_CPU], (10 + 10 + 14 + 6) * MS);
	profile_free(p);
}

/* Equal numbers: everything is sampled again. And none of it is of use to a later recording. */
static void test_reservoir_ends(void **state)
{
	struct jfrw *w = recording_open(0);
	char text[80], longer[80], command[512];
	struct profile *p;

	choice_write(w, 0, 8, 4);
	choice_write(w, 100 * MS, 8, 8);
	jfrw_wall_sample(w, START + 60 * MS, 0, 0, JFR_STATE_IO, 4, 80 * MS);
	choice_write(w, 200 * MS, 8, 4);
	assert_int_equal(jfrw_close(w, NULL), 0);
	p = recording_read();
	assert_int_equal(p->total_ns[0][DIM_OFF], (2 * 2 + 2) * 20 * MS);
	profile_free(p);

	snprintf(longer, sizeof(longer), "%s.first", path);
	assert_int_equal(rename(path, longer), 0);
	w = recording_open(0);
	jfrw_wall_sample(w, START + 300 * MS, 0, 0, JFR_STATE_IO, 3, 60 * MS);
	assert_int_equal(jfrw_close(w, NULL), 0);
	p = recording_read();
	assert_false(profile_sampled_threads(p, text, sizeof(text)));
	profile_free(p);
	snprintf(command, sizeof(command), "cat %s >>%s && mv %s %s", path, longer, longer, path);
	assert_int_equal(system(command), 0);
	p = recording_read();
	assert_int_equal(p->total_ns[0][DIM_OFF], (2 * 2 + 2 + 3) * 20 * MS);
	profile_free(p);
}

/* One sample a tick, each with its weight, in chunks of their own. */
static void test_reservoir_ticks(void **state)
{
	struct jfrw *w = recording_open(1);
	struct jfr_sampler *s;
	struct jfr_reader *r;
	struct jfr_sample x;
	struct jfr_event ev;
	double sum = 0;
	int n = 0;

	choice_write(w, 0, 90, 9);
	assert_int_equal(jfrw_flush(w, START, NULL), 0);
	jfrw_wall_sample(w, START + 20 * MS, 0, 0, JFR_STATE_IO, 2, 40 * MS);
	assert_int_equal(jfrw_flush(w, START + 60 * MS, NULL), 0);
	jfrw_wall_sample(w, START + 60 * MS, 0, 0, JFR_STATE_IO, 3, 60 * MS);
	assert_int_equal(jfrw_close(w, NULL), 0);
	assert_int_equal(jfr_reader_open(&r, path, NULL, NULL), 0);
	s = jfr_sampler_new(r, false);
	while (jfr_sampler_next(s, &ev, &x) > 0) {
		sum += x.scale * (double)x.ticks;
		n += x.ticks != 0;
	}
	assert_int_equal(n, 5);
	assert_true(sum > 49.999 && sum < 50.001);
	jfr_sampler_free(s);
	jfr_reader_close(r);
}

/* Numbers no recorder writes, and more choices than are kept. */
static void test_reservoir_odd(void **state)
{
	static const int64_t odd[][2] = {
		{0, 0}, {-5, 2}, {5, -2}, {3, 4}, {INT64_MIN, INT64_MIN}, {INT64_MAX, 0}, {1, 1}};
	struct reservoir r = {0};
	uint64_t same;

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		assert_int_equal(reservoir_add(&r, (int64_t)i, odd[i][0], odd[i][1]), 0);
	for (int64_t i = -2; i < 20; i++)
		assert_true(reservoir_scale(&r, i, 0, 1, &same) == 1.0 && same == 1);
	for (int64_t i = 0; i < 3 * RESERVOIR_EPOCHS; i++)
		assert_int_equal(reservoir_add(&r, 1000 * i, 100 + i, 100), 0);
	assert_true(r.n <= RESERVOIR_EPOCHS);
	assert_true(reservoir_scale(&r, INT64_MAX, INT64_MAX, 1 << 30, &same) ==
		    (99.0 + 3 * RESERVOIR_EPOCHS) / 100);
	assert_int_equal(same, 1 << 30);
	/* before the first that is remembered: that one's is the best guess */
	assert_true(reservoir_scale(&r, INT64_MIN, INT64_MAX, 7, &same) == r.v[0].scale);
	assert_true(r.v[0].scale > 1 && same >= 1 && same <= 7);
	reservoir_free(&r);
}

/* Two chunks, the second longer than what will be cut off. Returns the file; freed by the caller.
 */
static uint8_t *two_chunks(size_t *len, uint64_t *first_events)
{
	struct jfrw *w = recording_open(1);
	struct jfrw_stats stats;
	uint8_t *data;
	FILE *f;

	samples_write(w);
	jfrw_stats(w, &stats);
	*first_events = stats.events;
	for (uint64_t before = stats.bytes; stats.bytes == before;) {
		assert_int_equal(jfrw_flush(w, START, NULL), 0); /* may be busy still */
		jfrw_stats(w, &stats);
	}
	for (int i = 0; i < 100; i++)
		samples_write(w);
	assert_int_equal(jfrw_close(w, NULL), 0);
	f = fopen(path, "r");
	assert_non_null(f);
	fseek(f, 0, SEEK_END);
	*len = (size_t)ftell(f);
	rewind(f);
	data = malloc(*len);
	assert_int_equal(fread(data, 1, *len, f), *len);
	fclose(f);
	return data;
}

static void file_write(const uint8_t *data, size_t len)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	fclose(f);
}

static uint64_t events_of(struct jfr_reader *r, uint64_t *problems)
{
	struct jfr_event ev;
	uint64_t n = 0;

	while (jfr_reader_next(r, &ev) > 0)
		n++;
	*problems = jfr_reader_report(r)->problems;
	jfr_reader_close(r);
	return n;
}

/*
 * Cut anywhere in its last 4,096 bytes a file keeps the chunks before, and those events of the last
 * one that are whole; repaired it has nothing wrong with it any more.
 */
static void test_cut(void **state)
{
	uint64_t first, problems, last = UINT64_MAX;
	struct jfr_reader *r;
	size_t len;
	uint8_t *data = two_chunks(&len, &first);

	assert_true(len > 8192);
	for (size_t cut = 0; cut <= 4096; cut++) {
		uint8_t *copy = malloc(len - cut); /* exact: a sanitizer sees a byte too far */
		struct jfr_repair rep;
		uint64_t n;

		memcpy(copy, data, len - cut);
		assert_int_equal(jfr_reader_open_memory(&r, copy, len - cut, NULL, NULL), 0);
		n = events_of(r, &problems);
		assert_in_range(n, first, last); /* the more is cut, the fewer there are */
		last = n;
		free(copy);
		if (cut % 61)
			continue;
		file_write(data, len - cut);
		assert_int_equal(jfr_repair(path, &rep, NULL), 0);
		assert_int_equal(jfr_reader_open(&r, path, NULL, NULL), 0);
		assert_true(events_of(r, &problems) >= first);
		assert_int_equal(problems, 0);
	}
	free(data);
}

/* What `summary` says of 10 s on a machine of two CPUs, of which `stolen_ns` was taken. */
static bool stolen_told(uint64_t stolen_ns, const char *line)
{
	struct jfrw *w = recording_open(0);
	struct jfr_report r = {0};
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	struct profile *p;
	bool told;

	jfrw_event(w, JFR_CPU_INFORMATION, START, &(struct jfr_cpu_information){.hw_threads = 2});
	for (uint64_t i = 1; i <= 10; i++)
		jfrw_overhead(w, START + i * 1000 * MS,
			      &(struct jfr_overhead){.period_ns = 1000 * MS,
						     .stolen_ns = stolen_ns / 10});
	assert_int_equal(jfrw_close(w, NULL), 0);
	p = recording_read();
	assert_int_equal(p->facts.stolen_ns, stolen_ns);
	summary_head(p, &r, path, f);
	fclose(f);
	told = strstr(text, line);
	free(text);
	profile_free(p);
	return told;
}

static void test_stolen(void **state)
{
	assert_true(stolen_told(3000 * MS, "\n  stolen     15.0% of the machine's CPU time"));
	assert_true(stolen_told(20 * MS, "\n  stolen      0.1% of"));
	assert_false(stolen_told(10 * MS, "stolen"));
	assert_false(stolen_told(0, "stolen"));
}

/* A stack that looks the same is one, whatever was compiled of it. */
static void test_same_stack(void **state)
{
	struct frame_name f[] = {{.klass = "shop.Main",
				  .method = "nap",
				  .sig = "()V",
				  .line = 7,
				  .type = FRAME_NATIVE},
				 {.klass = "shop.Main",
				  .method = "main",
				  .sig = "()V",
				  .line = 3,
				  .type = FRAME_INTERPRETED}};
	struct jfrw *w = recording_open(0);
	char *text = NULL, *at;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	struct profile *p;
	uint32_t stack = jfrw_stack(w, f, 2, false);

	jfrw_wall_sample(w, START, 0, stack, JFR_STATE_SLEEPING, 10, 200 * MS);
	f[1].type = FRAME_JIT;
	f[1].line = 4;
	stack = jfrw_stack(w, f, 2, false);
	jfrw_wall_sample(w, START + 300 * MS, 0, stack, JFR_STATE_SLEEPING, 20, 400 * MS);
	jfrw_wall_sample(w, START + 700 * MS, 0, stack, JFR_STATE_WAITING, 5, 100 * MS);
	assert_int_equal(jfrw_close(w, NULL), 0);
	p = recording_read();
	assert_int_equal(text_top(p, 10, out, NULL), 0);
	fclose(out);
	at = strstr(text, "600 ms  SLEEPING\n");
	assert_non_null(at);
	assert_null(strstr(at + 9, "SLEEPING"));
	assert_non_null(strstr(at, "100 ms  WAITING\n"));
	free(text);
	profile_free(p);
}

static void cpu_use_write(struct jfrw *w, const char *whose, const char *name, uint32_t count,
			  uint64_t ns)
{
	jfrw_cpu_use(w, START + 500 * MS,
		     &(struct jfr_cpu_use){.period_ns = 1000 * MS,
					   .whose = whose,
					   .name = name,
					   .pid = 42,
					   .count = count,
					   .cpu_ns = ns});
}

/* Every finding on a line of its own. */
static void findings_all(const struct profile *p, FILE *f)
{
	struct findings *found = NULL;

	assert_int_equal(findings_new(&found, p, NULL), 0);
	for (size_t i = 0; i < found->n; i++)
		fprintf(f, "%s: %s\n", found->v[i].kind, found->v[i].text);
	findings_free(found);
}

/* Two CPUs for a second; what is said of who had them. To be freed. */
static char *starved_by(uint64_t machine, uint64_t own, uint64_t other)
{
	struct jfrw *w = recording_open(0);
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	struct profile *p;

	jfrw_cpu_information(w, START, &(struct jfr_cpu_information){"x", "y", 1, 2, 2});
	jfrw_cpu_sample(w, START + MS, 0, 0);
	jfrw_wall_sample(w, START, 0, 0, JFR_STATE_QUEUED, 10, 200 * MS);
	if (machine) {
		cpu_use_write(w, "machine", "", 0, machine);
		cpu_use_write(w, "recorded", "", 1, own);
		cpu_use_write(w, "process", "stress", 20, other);
		cpu_use_write(w, "process", "make", 1, 40 * MS);
	}
	assert_int_equal(jfrw_close(w, NULL), 0);
	p = recording_read();
	findings_all(p, f);
	fclose(f);
	profile_free(p);
	return text;
}

/* Whoever had the CPUs is named, and what would help follows from that. */
static void test_starvation_by_whom(void **state)
{
	char *text = starved_by(1990 * MS, 100 * MS, 1700 * MS);

	assert_non_null(strstr(text, "this process used 5%, others 94%: stress (20 processes) 85%, "
				     "make (pid 42) 2%, 8% processes that have ended"));
	assert_non_null(strstr(text, "it was others who had the CPUs"));
	assert_null(strstr(text, "its own threads"));
	free(text);
	text = starved_by(1990 * MS, 1900 * MS, 30 * MS);
	assert_non_null(strstr(text, "this process used 95%, others 4%"));
	assert_non_null(strstr(text, "its own threads had the CPUs"));
	assert_null(strstr(text, "it was others"));
	free(text);
	text = starved_by(900 * MS, 700 * MS, 100 * MS);
	assert_non_null(strstr(text, "CPUs with nothing to do"));
	free(text);
	/* older recordings */
	text = starved_by(0, 0, 0);
	assert_non_null(strstr(text, "the recording does not say"));
	free(text);
}

/* Without CPU samples there is nothing to hold the waiting against. */
static void test_starvation_unknown(void **state)
{
	struct jfrw *w = recording_open(0);
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	struct profile *p;

	jfrw_wall_sample(w, START, 0, 0, JFR_STATE_QUEUED, 10, 200 * MS);
	assert_int_equal(jfrw_close(w, NULL), 0);
	p = recording_read();
	findings_all(p, f);
	fclose(f);
	assert_string_equal(text, "");
	free(text);
	profile_free(p);
}

/*
 * A wait that goes on is accounted for now and then, each time with its length so far: the ticks of
 * the later parts are no further apart for that.
 */
static void test_long_wait(void **state)
{
	struct profile_options o = {.to_ns = 900 * MS};
	struct jfrw *w = recording_open(0);
	struct profile *p = NULL;

	jfrw_wall_sample(w, START, 0, 0, JFR_STATE_PARKED, 40, 800 * MS);
	jfrw_wall_sample(w, START + 800 * MS, 0, 0, JFR_STATE_PARKED, 10, 1000 * MS);
	assert_int_equal(jfrw_close(w, NULL), 0);
	assert_int_equal(profile_new(&p, &o, NULL), 0);
	assert_int_equal(profile_load(p, path, 0, NULL, NULL), 0);
	assert_int_equal(profile_finish(p, NULL), 0);
	assert_int_equal(p->total_ns[0][DIM_OFF], 900 * MS);
	profile_free(p);
}

/* `jfr disassemble` makes a file of every chunk: its samples have their duration there too. */
static void test_chunk_alone(void **state)
{
	uint64_t first, size = 0;
	struct jfr_sampler *s;
	struct jfr_reader *r;
	struct jfr_sample x;
	struct jfr_event ev;
	size_t len;
	uint8_t *data = two_chunks(&len, &first);

	for (int i = 8; i < 16; i++)
		size = size << 8 | data[i];
	assert_in_range(size, 1000, len - 1000);
	assert_int_equal(jfr_reader_open_memory(&r, data + size, len - size, NULL, NULL), 0);
	s = jfr_sampler_new(r, true);
	while (jfr_sampler_next(s, &ev, &x) > 0)
		;
	assert_int_equal(jfr_sampler_period(s, JFR_SOURCE_EXECUTION), 10 * MS);
	assert_int_equal(jfr_sampler_period(s, JFR_SOURCE_WALL), 20 * MS);
	jfr_sampler_free(s);
	jfr_reader_close(r);
	free(data);
}

static void test_frames(void **state)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	struct profile *p;

	recording_write(JFRW_EXECUTION);
	p = recording_read_as(&(struct profile_options){.split_tiers = true});
	assert_int_equal(text_collapsed(p, DIM_WALL, false, f, NULL), 0);
	fclose(f);
	assert_string_equal(text, "shop.Main.main;shop.Cart$Item.l\xc3\xa4uft 700000000\n"
				  "shop.Main.main;shop.Cart$Item.l\xc3\xa4uft;libc.so.6.read "
				  "80000000\n[no stack] 20000000\n");
	free(text);
	for (uint32_t i = 0; i < p->nframes; i++) {
		const char *name = profile_frame_name(p, i);

		if (!strcmp(name, "shop.Main.main"))
			assert_int_equal(p->frames[i].type, FRAME_INTERPRETED);
		if (!strcmp(name, "libc.so.6.read"))
			assert_int_equal(p->frames[i].type, FRAME_NATIVE);
		if (strstr(name, "Cart$Item"))
			assert_int_equal(p->frames[i].type, FRAME_C1);
	}
	profile_free(p);
}

static void thread_sample(struct jfrw *w, const char *os, uint64_t tid, const char *java,
			  int64_t id)
{
	const struct jfrw_thread t = {
		.os_name = os, .os_tid = tid, .java_name = java, .java_tid = (uint64_t)id};

	jfrw_cpu_sample(w, START + MS, jfrw_thread(w, &t), 0);
}

/* A thread that is given other names is one, in the whole and in each group of names. */
static void test_renamed(void **state)
{
	struct jfrw *w = recording_open(0);
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	struct profile *p;

	thread_sample(w, "java", 70, NULL, 0); /* before the JVM told its name */
	thread_sample(w, "pool-1", 70, "pool-1", 31);
	thread_sample(w, "pool-1", 70, "pool-1 serves /a", 31);
	thread_sample(w, "pool-1", 70, "pool-2 serves /a", 31);
	thread_sample(w, "pool-2", 71, "pool-2", 32);
	thread_sample(w, "pool-3", 70, "pool-3", 33); /* has the tid of the first, which ended */
	thread_sample(w, "native", 80, NULL, 0);
	thread_sample(w, "named later", 80, NULL, 0);
	assert_int_equal(jfrw_close(w, NULL), 0);
	p = recording_read();
	assert_int_equal(p->nthreads, 8);
	assert_int_equal(p->nselves, 4);
	assert_int_equal(summary_groups(p, 20, f, NULL), 0);
	fclose(f);
	assert_non_null(strstr(text, "  pool-#                                 3 "));
	assert_non_null(strstr(text, "  pool-# serves /a                       1 "));
	free(text);
	profile_free(p);
}

/* A CPU sample is worth another than a wall sample: how whole they are is said of each. */
static void test_quality(void **state)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	struct jfr_report r = {0};
	struct profile *p;

	recording_write(JFRW_EXECUTION);
	p = recording_read();
	summary_quality(p, &r, f);
	fclose(f);
	assert_string_equal(
		text,
		"\nQuality\n"
		"  CPU samples\n"
		"   90.0%             9  stacks complete\n"
		"   20.0%             2  of virtual threads, cut where their callers lie in "
		"the heap\n"
		"   10.0%             1  cut at the depth limit (record --depth: up to 1024)\n"
		"   40.0%             4  with methods unloaded before they had a name\n"
		"  wall samples\n"
		"   97.5%            39  stacks complete\n"
		"    5.0%             2  with guessed frames\n"
		"    2.5%             1  without a stack\n"
		"  lost               3  cpu: CPU samples: ring buffer full\n"
		"                        remedy: larger rings from the start: --ring-size 4m "
		"(128k by default); or a longer --cpu and --wall\n");
	free(text);
	profile_free(p);
}

/* Of another recorder's file: what its stacks themselves tell. */
static void test_quality_untold(void **state)
{
	struct jfrw *w = recording_open(0);
	static const struct frame_name f = {.klass = "a.B", .method = "c", .sig = "()V"};
	char *text = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&text, &len);
	uint32_t t = jfrw_thread(w, &(struct jfrw_thread){.os_name = "x", .os_tid = 1});
	const struct profile_options o = {.from_ns = 2 * MS};
	struct jfr_report r = {0};
	struct profile *p;

	for (int i = 0; i < 4; i++)
		jfrw_cpu_sample(w, START + i * MS, t, jfrw_stack(w, &f, 1, i % 2));
	jfrw_wall_sample(w, START + 2 * MS, t, 0, JFR_STATE_PARKED, 5, 0);
	assert_int_equal(jfrw_close(w, NULL), 0);
	p = recording_read_as(&o);
	summary_quality(p, &r, to);
	fclose(to);
	assert_string_equal(text, "\nQuality\n"
				  "  CPU samples\n"
				  "   50.0%             1  with a stack that is not cut\n"
				  "   50.0%             1  cut at the depth limit\n"
				  "  wall samples\n"
				  "  100.0%             5  without a stack\n");
	free(text);
	profile_free(p);
}

/* What has no name is called by its place in its file, and the file is named once. */
static void test_nameless(void **state)
{
	static const struct frame_name frames[] = {
		{.klass = "libfoo.so", .method = "+0x1230", .type = FRAME_NATIVE, .line = -1},
		{.klass = "libfoo.so", .method = "f", .type = FRAME_NATIVE, .line = -1},
	};
	struct jfrw *w = recording_open(0);
	uint32_t t = jfrw_thread(w, &(struct jfrw_thread){.os_name = "x", .os_tid = 1});
	struct profile *p;

	jfrw_cpu_sample(w, START + MS, t, jfrw_stack(w, frames, 2, false));
	assert_int_equal(jfrw_close(w, NULL), 0);
	p = recording_read();
	/* the first is the root's */
	assert_int_equal(p->nframes, 3);
	assert_string_equal(profile_frame_name(p, 1), "libfoo.so.f");
	assert_string_equal(profile_frame_name(p, 2), "libfoo.so+0x1230");
	profile_free(p);
}

/* 100 ms of CPU, 600 ms queued for one: six sevenths lost. */
static void test_starvation(void **state)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	struct profile *p;

	recording_write(JFRW_EXECUTION);
	p = recording_read();
	findings_all(p, f);
	fclose(f);
	assert_non_null(strstr(text, "waited 600 ms for a CPU and had one for 100 ms"));
	assert_non_null(strstr(text, "86% was lost"));
	free(text);
	profile_free(p);
}

static int setup(void **state)
{
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/a.jfr", dir);
	return 0;
}

static int teardown(void **state)
{
	unlink(path);
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_resumed),
		cmocka_unit_test(test_vitals),
		cmocka_unit_test(test_vitals_summary),
		cmocka_unit_test(test_execution),
		cmocka_unit_test(test_cputime),
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_nameless),
		cmocka_unit_test(test_renamed),
		cmocka_unit_test(test_quality),
		cmocka_unit_test(test_quality_untold),
		cmocka_unit_test(test_starvation),
		cmocka_unit_test(test_starvation_by_whom),
		cmocka_unit_test(test_stolen),
		cmocka_unit_test(test_same_stack),
		cmocka_unit_test(test_starvation_unknown),
		cmocka_unit_test(test_long_wait),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_chunk_alone),
		cmocka_unit_test(test_reservoir),
		cmocka_unit_test(test_rates),
		cmocka_unit_test(test_rates_chunks),
		cmocka_unit_test(test_reservoir_ends),
		cmocka_unit_test(test_reservoir_ticks),
		cmocka_unit_test(test_reservoir_odd),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
