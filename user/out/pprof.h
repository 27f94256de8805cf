/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pprof's profile.proto. A message has the frames and names of its own samples alone, so that a
 * part of a profile is no larger than it must be.
 */
#ifndef GNOMON_OUT_PPROF_H
#define GNOMON_OUT_PPROF_H

#include <stdio.h>

#include "out/profile.h"

#define PPROF_VALUES 4

struct pprof_type {
	const char *type, *unit; /* "cpu", "nanoseconds" */
};

/* Which labels the samples have. */
enum pprof_label {
	PPROF_THREAD = 1,    /* "thread": its name */
	PPROF_THREAD_ID = 2, /* "thread id": the kernel's, a number */
	PPROF_STATE = 4,     /* "state" */
	PPROF_GROUP = 8,     /* "thread_group": the name with its digits as '#' */
	PPROF_LINK = 16,     /* "trace_id" and "span_id", where they are known */
};

struct pprof_sample {
	uint32_t node, thread, state, link; /* of the profile */
	uint64_t v[PPROF_VALUES];
};

struct pprof_message {
	struct pprof_type types[PPROF_VALUES]; /* of the values; those behind the last have NULL */
	struct pprof_type period_type;
	uint64_t period; /* 0: not said */
	unsigned int labels;
	int64_t start_ns; /* since 1970 */
	uint64_t duration_ns;
	const struct pprof_sample *samples;
	size_t n;
};

/* Appends the message, which is not compressed. -ENOMEM is the only failure. */
int pprof_message(const struct profile *p, const struct pprof_message *m, struct buffer *out);

/* The interval of what counts towards `dim`, 0 where the recording does not have it. */
uint64_t pprof_period(const struct profile *p, int dim);

/*
 * The whole profile, gzipped. Sample types as Datadog and Go tools name them: cpu-samples/count,
 * cpu-time/nanoseconds, wall-samples/count, wall-time/nanoseconds; with one dimension asked for
 * (cpu, wall or off >= 0) samples/count and cpu, wall or off_cpu/nanoseconds alone, which is what
 * Pyroscope (that refuses a type with "-") and Parca expect. Labels: "thread", "state"; "thread id"
 * is a number.
 */
int pprof_write(const struct profile *p, int dim, FILE *f, struct error *e);

/* The message before compression. For tests. */
int pprof_encode(const struct profile *p, int dim, struct buffer *out);

#endif
