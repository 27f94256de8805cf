/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What we cost. CPU and memory of the collector are exact (getrusage, /proc/self/statm). The BPF
 * programs' run time comes from the kernel's statistics (BPF_ENABLE_STATS, Linux 5.8), which cost
 * every BPF program on the host two clock reads per run: so they are on for 100 ms of each second
 * and the rest is inferred.
 */
#ifndef GNOMON_RUN_OVERHEAD_H
#define GNOMON_RUN_OVERHEAD_H

#include <stdint.h>

struct capture;

struct overhead {
	uint64_t start_ns, cpu_start_ns;
	int stats_fd;		   /* open while statistics are on, else -1 */
	uint64_t on_since, on_ns;  /* time the statistics were on */
	uint64_t bpf_ns, bpf_runs; /* counted in that time */
};

struct overhead_cost {
	uint64_t wall_ns, cpu_ns;
	uint64_t bpf_ns;	      /* inferred for the whole time */
	uint64_t bpf_run_ns;	      /* mean of one run */
	uint64_t memory, memory_peak; /* bytes */
};

void overhead_start(struct overhead *o);

/* Call about every 100 ms: switches the statistics on and off. */
void overhead_tick(struct overhead *o, const struct capture *c);
void overhead_stop(struct overhead *o, const struct capture *c);
void overhead_cost(const struct overhead *o, struct overhead_cost *out);

#endif
