/* SPDX-License-Identifier: Apache-2.0 */
/* What a recording has cost so far. */
#ifndef GNOMON_MODEL_COST_H
#define GNOMON_MODEL_COST_H

#include <stdint.h>

struct overhead_cost {
	uint64_t wall_ns, cpu_ns;
	uint64_t bpf_ns;	      /* inferred for the whole time */
	uint64_t bpf_run_ns;	      /* mean of one run */
	uint64_t bpf_lately_ns;	      /* of a second, as the last time that it was measured */
	uint64_t memory, memory_peak; /* bytes */
	/*
	 * Not our doing, but as little to be seen in samples: CPU time of the whole machine, a
	 * guest, that went to others on its host. A thread that had the CPU then neither ran nor
	 * waited. 10 s old at most.
	 */
	uint64_t stolen_ns;
};

#endif
