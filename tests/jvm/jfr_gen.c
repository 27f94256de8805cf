/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes recordings for tests/jvm/jfrcheck.sh and others: jfr_gen KIND FILE [BEGIN], or jfr_gen
 * list. BEGIN is in seconds since 1970. Prints "EVENT COUNT" for every event type with a count that
 * the tools must agree with.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "jfr/write.h"

#define MS 1000000ull

static struct jfrw *w;
static struct jfrw_config cfg;
static uint64_t now;
static uint32_t threads[4];
static uint64_t n_cpu, n_wall;

static void fail(const struct error *e)
{
	error_print(e);
	exit(1);
}

static void flush(void)
{
	struct timespec nap = {.tv_nsec = 1000000};
	struct jfrw_stats before, after;
	struct error e;

	/* until the disk took it: tests want the flush at this very place */
	jfrw_stats(w, &before);
	for (int i = 0; i < 2000; i++) {
		if (jfrw_flush(w, now, &e))
			fail(&e);
		jfrw_stats(w, &after);
		if (after.bytes != before.bytes)
			return;
		nanosleep(&nap, NULL);
	}
}

static struct frame_name java(const char *klass, const char *method, const char *sig, int line)
{
	return (struct frame_name){.klass = klass,
				   .method = method,
				   .sig = sig,
				   .line = line,
				   .bci = 3,
				   .type = FRAME_JIT,
				   .modifiers = 1};
}

static void sample(uint32_t thread, uint32_t stack)
{
	now += MS;
	jfrw_cpu_sample(w, now, thread, stack);
	n_cpu++;
}

static void wall(uint32_t thread, uint32_t stack, enum jfr_state state, uint32_t samples)
{
	jfrw_wall_sample(w, now, thread, stack, state, samples, samples * 20 * MS);
	n_wall++;
}

static void information(void)
{
	jfrw_active_recording(w, now,
			      &(struct jfr_active_recording){.id = 1,
							     .name = "gnomon",
							     .destination = "out.jfr",
							     .disk = true,
							     .max_age_ms = INT64_MAX,
							     .flush_interval_ms = 1000,
							     .start_unix_ms = 1700000000000,
							     .duration_ms = 30000});
	jfrw_active_setting(w, now,
			    &(struct jfr_active_setting){JFR_EXECUTION_SAMPLE, "period", "10 ms"});
	jfrw_active_setting(w, now,
			    &(struct jfr_active_setting){JFR_WALL_CLOCK_SAMPLE, "period", "20 ms"});
	jfrw_os_information(w, now, &(struct jfr_os_information){"Debian GNU/Linux 12"});
	jfrw_cpu_information(w, now, &(struct jfr_cpu_information){"AMD", "EPYC", 1, 2, 2});
	jfrw_jvm_information(w, now,
			     &(struct jfr_jvm_information){.name = "OpenJDK 64-Bit Server VM",
							   .version = "17",
							   .jvm_arguments = "-Xmx1g",
							   .java_arguments = "Main",
							   .start_unix_ms = 1700000000000,
							   .pid = 4711});
	jfrw_native_library(
		w, now,
		&(struct jfr_native_library){"/lib/libc.so.6", 0x7f0000000000, 0x7f0000200000});
}

static void measurements(void)
{
	jfrw_container_configuration(
		w, now,
		&(struct jfr_container_configuration){.type = "cgroupv2",
						      .slice_period_us = 100000,
						      .quota_us = -1,
						      .effective_cpus = 2,
						      .memory_soft_limit = -1,
						      .memory_limit = 1 << 30,
						      .swap_memory_limit = -1,
						      .host_memory = 8ll << 30,
						      .host_swap = 0});
	jfrw_container_cpu_throttling(w, now,
				      &(struct jfr_container_cpu_throttling){10, 2, 50 * MS});
	jfrw_cpu_lost(w, now, threads[0], 7);
	jfrw_data_loss(w, now, &(struct jfr_data_loss){100, 100});
	jfrw_samples_lost(w, now, &(struct jfr_samples_lost){0, "wall", "ring buffer full", 3});
	jfrw_cpu_use(w, now,
		     &(struct jfr_cpu_use){.period_ns = 1000 * MS,
					   .whose = "process",
					   .name = "make",
					   .pid = 1234,
					   .count = 3,
					   .cpu_ns = 700 * MS});
	jfrw_stack_quality(w, now,
			   &(struct jfr_stack_quality){.period_ns = 1000 * MS,
						       .kind = "cpu",
						       .samples = 100,
						       .complete = 97,
						       .guessed = 1,
						       .truncated = 1,
						       .failed = 1});
	jfrw_overhead(w, now,
		      &(struct jfr_overhead){.period_ns = 1000 * MS,
					     .collector_ns = 5 * MS,
					     .bpf_ns = 2 * MS,
					     .bpf_runs = 1234,
					     .memory = 20 << 20,
					     .cpu_share = 0.007f});
	jfrw_thread_reservoir(w, now, &(struct jfr_thread_reservoir){1, 900, 800, 64});
}

static void mixed_samples(void)
{
	static const uint8_t types[] = {FRAME_KERNEL, FRAME_CPP, FRAME_NATIVE,	   FRAME_INLINED,
					FRAME_JIT,    FRAME_C1,	 FRAME_INTERPRETED};
	struct frame_name f[7];
	uint32_t stack;

	for (unsigned int i = 0; i < 7; i++) {
		bool native = types[i] >= FRAME_NATIVE && types[i] <= FRAME_KERNEL;

		f[i] = native ? (struct frame_name){"libjvm.so", "Foo::bar(int)", "", -1,
						    -1,		 types[i],	  0,  0}
			      : java("com.acme.Server", "handle", "(ILjava/lang/String;[J)V", -1);
		f[i].type = types[i];
		f[i].bci = -1;
	}
	stack = jfrw_stack(w, f, 7, false);
	sample(threads[0], stack);
	wall(threads[1], stack, JFR_STATE_PARKED, 50);
	wall(threads[2], stack, JFR_STATE_QUEUED, 1);
	wall(threads[3], stack, JFR_STATE_IO, 1);
}

static void normal(void)
{
	struct frame_name f[2] = {java("B", "run", "()V", 17),
				  java("java.lang.Thread", "run", "()V", 840)};

	information();
	for (int i = 0; i < 1000; i++) {
		f[0].line = 10 + i % 10;
		sample(threads[i % 4], jfrw_stack(w, f, 2, false));
		if (i % 100 == 99)
			flush();
	}
	measurements();
	mixed_samples();
}

static void zero(void)
{
}

/* Each chunk has other stacks, but one that all share: ids must not resolve to a former chunk's. */
static void chunks(void)
{
	char name[32];

	for (int c = 0; c < 5; c++) {
		for (int i = 0; i < 200; i++) {
			struct frame_name f[2] = {
				java(name, "work", "()I", i),
				java("app.Main", "main", "([Ljava/lang/String;)V", 3)};

			snprintf(name, sizeof(name), "chunk%d.C%d", c, i);
			sample(threads[c % 4],
			       jfrw_stack(w, i % 2 ? f : f + 1, 2 - !(i % 2), false));
		}
		flush();
	}
}

static void deep(void)
{
	static struct frame_name f[2048];

	for (int i = 0; i < 2048; i++)
		f[i] = java("deep.Recursion", "down", "(I)I", i);
	sample(threads[0], jfrw_stack(w, f, 2048, true));
	sample(threads[0], jfrw_stack(w, f, 2047, false));
}

static void names(void)
{
	static const char *const odd[] = {
		"Gr\xc3\xbc\xc3\x9f\x65",   /* Gruesse */
		"\xf0\x9f\x98\x80",	    /* emoji */
		"\xed\xa0\xbd\xed\xb8\x80", /* the same as the JVM has it */
		"\xff\xfe\x80",		    /* not UTF-8 */
		"cut\xe2\x82",		    /* a character's beginning */
		"quote\"back\\slash\ttab\x01",
		"",
		NULL,
		"a.b.Lambda$1/0x00007f1234",
		"..",
		"/",
		".leading",
	};
	static const char *const sigs[] = {"()V",  "(",	    ")",      "",    NULL,
					   "(L)V", "(Lx;)", "([[[)V", "()VV"};

	for (unsigned int i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		for (unsigned int k = 0; k < sizeof(sigs) / sizeof(sigs[0]); k++) {
			struct frame_name f[2] = {java(odd[i], odd[i], sigs[k], -1),
						  java("x.Y", "z", "()V", 0)};
			char groups[64] = "";
			struct jfrw_thread t = {odd[i], 77, odd[i], 7, groups, true};

			snprintf(groups, sizeof(groups) - 1, "%s", odd[i] ? odd[i] : "");
			f[1].type = k & 1 ? FRAME_NATIVE : FRAME_JIT;
			f[1].klass = odd[i];
			sample(jfrw_thread(w, &t), jfrw_stack(w, f, 2, false));
		}
	}
	jfrw_active_setting(w, now, &(struct jfr_active_setting){JFR_OVERHEAD, NULL, "\xff"});
	jfrw_os_information(w, now, &(struct jfr_os_information){""});
	sample(0, 0);
	sample(threads[0], jfrw_stack(w, NULL, 0, false));
	sample(12345678, 12345678);
}

/* 100,000 distinct stacks of 60 frames, one sample each. */
static void large(void)
{
	static char klass[500][32], method[20][16];
	struct frame_name f[60];

	for (int i = 0; i < 500; i++)
		snprintf(klass[i], sizeof(klass[i]), "com.acme.p%d.Class%d", i % 40, i);
	for (int i = 0; i < 20; i++)
		snprintf(method[i], sizeof(method[i]), "method%d", i);
	for (uint32_t s = 0; s < 100000; s++) {
		uint32_t x = s * 2654435761u;

		for (int i = 0; i < 60; i++) {
			x = x * 1664525 + 1013904223;
			f[i] = java(klass[(x >> 8) % 500], method[(x >> 20) % 20], "(I)V", x >> 24);
		}
		f[0].line = (int)(s & 0x7fff);
		sample(threads[s % 4], jfrw_stack(w, f, 60, false));
		if (s % 1000 == 999)
			flush();
	}
}

/* More than 2 GiB in chunks. */
static void huge(void)
{
	char filler[4096];

	memset(filler, 'x', sizeof(filler) - 1);
	filler[sizeof(filler) - 1] = '\0';
	for (int i = 0; i < 560000; i++) {
		now += 1000;
		jfrw_os_information(w, now, &(struct jfr_os_information){filler});
		if (i % 250 == 249)
			flush();
		if (i % 1000 == 0)
			mixed_samples();
	}
}

static const struct {
	const char *name;
	void (*run)(void);
	uint64_t chunk_max;
	enum jfrw_cpu_event event;
} kinds[] = {
	{"normal", normal, 0, JFRW_EXECUTION},	    {"cputime", normal, 0, JFRW_CPUTIME},
	{"zero", zero, 0, JFRW_EXECUTION},	    {"chunks", chunks, 1, JFRW_EXECUTION},
	{"deep", deep, 0, JFRW_EXECUTION},	    {"names", names, 0, JFRW_EXECUTION},
	{"large", large, 0, JFRW_EXECUTION},	    {"rotation", large, 4 << 20, JFRW_EXECUTION},
	{"huge", huge, 1000 << 20, JFRW_EXECUTION},
};

static void generate(unsigned int k, const char *path, int64_t begin_s)
{
	static const struct jfrw_thread t[4] = {
		{"java", 4711, "main", 1, "main\0system\0", false},
		{"http-nio-8080-e", 4712, "http-nio-8080-exec-1", 31, "main\0system\0", false},
		{"GC Thread#0", 4713, NULL, 0, NULL, false},
		{NULL, 0, "virtual", 99, "VirtualThreads\0", true},
	};
	struct jfrw_stats stats;
	struct error e;

	cfg = (struct jfrw_config){.path = path,
				   .overwrite = true,
				   .start_unix_ns = begin_s * 1000 * (int64_t)MS,
				   .start_mono_ns = 123456789012345,
				   .form.chunk_max_bytes = kinds[k].chunk_max,
				   .cpu_period_ns = 10 * MS,
				   .form.cpu_event = kinds[k].event};
	now = cfg.start_mono_ns;
	if (jfrw_open(&w, &cfg, &e))
		fail(&e);
	for (unsigned int i = 0; i < 4; i++)
		threads[i] = jfrw_thread(w, &t[i]);
	kinds[k].run();
	flush();
	jfrw_stats(w, &stats);
	if (jfrw_close(w, &e))
		fail(&e);
	printf("jdk.%s %llu\nprofiler.WallClockSample %llu\n",
	       cfg.form.cpu_event == JFRW_EXECUTION ? "ExecutionSample" : "CPUTimeSample",
	       (unsigned long long)n_cpu, (unsigned long long)n_wall);
	fprintf(stderr,
		"%s: %llu bytes, %u chunks, %llu events, %llu dropped, %zu kB of constants\n",
		kinds[k].name, (unsigned long long)stats.bytes, stats.chunks,
		(unsigned long long)stats.events, (unsigned long long)stats.dropped_events,
		stats.constants_bytes >> 10);
}

int main(int argc, char **argv)
{
	unsigned int k;

	for (k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		if (argc == 2 && !strcmp(argv[1], "list"))
			puts(kinds[k].name);
		else if (argc >= 3 && !strcmp(argv[1], kinds[k].name)) {
			generate(k, argv[2], argc > 3 ? atoll(argv[3]) : 1700000000);
			return 0;
		}
	}
	return argc == 2 ? 0 : 2;
}
