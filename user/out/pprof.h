/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pprof's profile.proto, gzipped. Sample types as Datadog and Go tools name them:
 * cpu-samples/count, cpu-time/nanoseconds, wall-samples/count, wall-time/nanoseconds; with one
 * dimension asked for (cpu, wall or off >= 0) samples/count and cpu, wall or off_cpu/nanoseconds
 * alone, which is what Pyroscope (that refuses a type with "-") and Parca expect. Labels: "thread",
 * "state"; "thread id" is a number.
 */
#ifndef GNOMON_OUT_PPROF_H
#define GNOMON_OUT_PPROF_H

#include <stdio.h>

#include "out/profile.h"

int pprof_write(const struct profile *p, int dim, FILE *f, struct error *e);

/* The message before compression. For tests. */
int pprof_encode(const struct profile *p, int dim, struct buffer *out);

#endif
