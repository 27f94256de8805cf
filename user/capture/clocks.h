/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The perf events that drive CPU samples: software CPU clocks (PERF_COUNT_SW_CPU_CLOCK), one bound
 * to each thread and inherited by threads it creates (attr.inherit_thread, Linux 5.13: not by
 * forked children), and one per CPU. See kern/oncpu.bpf.c for how the two share the work.
 */
#ifndef GNOMON_CAPTURE_CLOCKS_H
#define GNOMON_CAPTURE_CLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct clocks;

/* Opens the per-CPU clocks. thread_prog < 0: there will be no others. */
int clocks_open(struct clocks **out, uint64_t interval_ns, int thread_prog, int cpu_prog,
		struct error *e);

/*
 * Give every thread of the process its clock, and look again until no new thread appears. -EMFILE:
 * too many threads for the open-files limit; then no thread of it has a clock. -ESRCH: it is gone.
 */
int clocks_add(struct clocks *c, pid_t tgid, struct error *e);

/*
 * The CPUs' clocks have another interval from now on; for some microseconds a CPU may have both,
 * which is right where samples are weighed (kern/oncpu.bpf.c). What goes wrong leaves its clock as
 * it was.
 */
int clocks_interval(struct clocks *c, uint64_t interval_ns, struct error *e);

/*
 * To be called about once a second: CPUs that went and came back have no clock any more, and those
 * that were added have none yet. 1: there were such, and all have clocks again; 0; -errno: see `e`,
 * it is tried again when CPUs come or go.
 */
int clocks_follow(struct clocks *c, struct error *e);

/* Close the threads' clocks, of all processes; clocks_add() opens them again. */
void clocks_drop(struct clocks *c);

size_t clocks_count(const struct clocks *c); /* per-thread clocks open */
void clocks_close(struct clocks *c);

#endif
