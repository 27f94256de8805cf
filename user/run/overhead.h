/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What we cost. CPU and memory of the collector are exact (its CPU clock, /proc/self/status). The
 * BPF programs' run time comes from the kernel's statistics (BPF_ENABLE_STATS, Linux 5.8), which
 * cost every BPF program on the host two clock reads per run, and each CPU six interrupts whenever
 * they are switched on and off (text_poke_sync() in arch/x86/kernel/alternative.c). So they are on
 * for 100 ms of each of the first 30 seconds, of five more after each change of rates, and of each
 * one in which the targets switch more or less than before the last such window, or else of each
 * tenth one; the rest is inferred, each window standing for the time since the one before it.
 * Nothing is inferred from the beginning, when stacks are taken of all threads there are, and from
 * bursts that come seldom: these are measured. What measuring adds to each run is not in what is
 * inferred.
 */
#ifndef GNOMON_RUN_OVERHEAD_H
#define GNOMON_RUN_OVERHEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "model/cost.h"

struct capture;

struct overhead {
	uint64_t start_ns, cpu_start_ns;
	uint64_t run_price_ns; /* what measuring adds to a run */
	int stats_fd;	       /* open while we have statistics on, else -1 */
	uint64_t on_since, before_ns, before_runs;
	bool inferring, resume; /* `inferring`: the beginning is over */
	/* time in which everything was measured, and the BPF run time in it */
	uint64_t known_ns, known_bpf_ns;
	/* time for which windows stand, and the BPF run time in it by what they have measured */
	uint64_t covered_ns, covered_bpf_ns;
	uint64_t bpf_ns, runs;	      /* all that was measured */
	uint64_t lately_ns;	      /* of a second, by the last window */
	uint64_t windows, window_ns;  /* windows so far, and when the last one began */
	uint64_t rate;		      /* switches of the targets in the second before it */
	uint64_t second_ns, switches; /* when they were counted last, and the counter then */
	uint64_t rate_changes;	      /* as counted then */
	uint64_t stolen_start_ns, stolen_ns, stolen_read; /* stolen_read: when, CLOCK_MONOTONIC */
};

void overhead_start(struct overhead *o);

/* Tells what `runs` cost that took `ns` while they were measured. */
uint64_t overhead_net(const struct overhead *o, uint64_t ns, uint64_t runs);

/* What was counted, over a time of wall_ns since the start. */
uint64_t overhead_bpf_ns(const struct overhead *o, uint64_t wall_ns);

/*
 * Is a window to begin, by the counters of the targets' switches and of changes of rates? Call once
 * a second. It notes what the next call compares with.
 */
bool overhead_is_due(struct overhead *o, uint64_t now, uint64_t switches, uint64_t rate_changes);

/* A window in which programs ran for `ns` (overhead_net()) has ended. */
void overhead_measured(struct overhead *o, uint64_t now, uint64_t ns);

/* Call about every 100 ms: switches the statistics on and off. */
void overhead_tick(struct overhead *o, const struct capture *c);
/* Around what runs many programs at once, and seldom. */
void overhead_burst(struct overhead *o, const struct capture *c);
void overhead_burst_end(struct overhead *o, const struct capture *c);

void overhead_stop(struct overhead *o, const struct capture *c);
void overhead_cost(const struct overhead *o, struct overhead_cost *out);

#endif
