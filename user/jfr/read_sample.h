/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Execution and wall clock samples of any producer in one form, on top of read.h.
 *
 *	source       event                                              counts
 *	EXECUTION    jdk.ExecutionSample                                CPU, one a sample
 *	NATIVE       jdk.NativeMethodSample                             time in native code
 *	CPU_TIME     jdk.CPUTimeSample (JDK 25)                         CPU, period in the event
 *	WALL         profiler.WallClockSample (async-profiler, gnomon)  `samples` ticks in one event
 */
#ifndef GNOMON_JFR_READ_SAMPLE_H
#define GNOMON_JFR_READ_SAMPLE_H

#include "jfr/read.h"

enum jfr_source {
	JFR_SOURCE_EXECUTION = 0,
	JFR_SOURCE_NATIVE,
	JFR_SOURCE_CPU_TIME,
	JFR_SOURCE_WALL,
	JFR_SOURCES,
};

struct jfr_sample {
	uint64_t ticks; /* intervals this stands for; 0: the event is no sample */
	double scale;	/* threads each of these stands for: 1, or more, see below */
	enum jfr_source source;
	int64_t time_ns; /* since 1970, of the first tick */
	int64_t step_ns; /* between ticks of a batch, 0 if unknown or single */
	/* an interval, when the event itself or gnomon.RateChange says so; else 0 */
	uint64_t period_ns;
	bool failed;	/* the stack could not be walked */
	bool unmounted; /* of virtual threads that nobody ran: `scale` of them, without a thread */
	struct jfr_value thread, stack, state;
};

struct jfr_sampler;

/*
 * With `batches`, a sample of n ticks comes once with ticks = n; without, n times with ticks = 1
 * and time_ns moving on.
 *
 * Where a recording samples only some of its threads by the wall clock (gnomon.ThreadReservoir), a
 * tick stands for `scale` ticks of all the threads there were: sums of ticks x scale are right on
 * average, for every stack and state. A batch then comes in as many parts as `scale` changes in it.
 */
struct jfr_sampler *jfr_sampler_new(struct jfr_reader *r, bool batches);
void jfr_sampler_free(struct jfr_sampler *s);

/*
 * gnomon.UnmountedThreads: which virtual threads waited that nobody ran. Unless asked for they are
 * no samples; else they are wall samples, beside the others or with none of these.
 */
enum jfr_unmounted { JFR_UNMOUNTED_NONE, JFR_UNMOUNTED_TOO, JFR_UNMOUNTED_ALONE };

void jfr_sampler_unmounted(struct jfr_sampler *s, enum jfr_unmounted which);

/* As jfr_reader_next(); *out describes ev when it is a sample. */
int jfr_sampler_next(struct jfr_sampler *s, struct jfr_event *ev, struct jfr_sample *out);

/*
 * The interval of a source as the recording's settings gave it so far (ActiveSetting "period" of
 * its event type; async-profiler's "interval" and "wall", of which 0 is its default), 0 when not
 * said. A setting may stand behind the samples of its chunk: ask at the chunk's end.
 */
uint64_t jfr_sampler_period(const struct jfr_sampler *s, enum jfr_source source);

#endif
