/* SPDX-License-Identifier: Apache-2.0 */
/* What a recording tells a person on stderr: the progress line and the closing summary. */
#ifndef GNOMON_OUT_REPORT_H
#define GNOMON_OUT_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "model/cost.h"
#include "model/totals.h"

/* Rewrites its own line; only for a terminal. */
void report_progress(uint64_t elapsed_ns, const struct totals *t, const struct overhead_cost *c);

/* What was launched outlives its recording. */
void report_waiting(const char *name, pid_t pid);

struct report_summary {
	uint64_t elapsed_ns;
	const struct recorded_file *files;
	size_t nfiles;
	bool several;	     /* there may be any number of files, also none */
	const char *becomes; /* what the only file is made into next; NULL: it stays */
	uint64_t cpu_ns, wall_ns;
	uint32_t depth; /* of stacks, as it was asked for; 0: all there is room for */
	bool cpu_clocks;
	bool target_gone;
	uint64_t switches, captures; /* the latter: stacks taken at them */
	uint64_t remote;	     /* stacks read from outside */
	uint64_t ring_bytes;
};

void report_summary(const struct report_summary *r, const struct totals *t,
		    const struct overhead_cost *c);

/* "10ms", "1.5s": the largest unit that needs at most one decimal. buf: 24 bytes. */
const char *report_time(uint64_t ns, char *buf);

#endif
