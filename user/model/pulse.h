/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a JVM is now: what its own counters and the kernel's files said when they were last looked
 * at. Sums are since the JVM's start, or that of its control group.
 */
#ifndef GNOMON_MODEL_PULSE_H
#define GNOMON_MODEL_PULSE_H

#include <stdint.h>

enum pulse_has {
	PULSE_PROCESS = 1,
	PULSE_JVM = 2,	      /* performance counters */
	PULSE_THROTTLING = 4, /* a quota is in force */
	PULSE_MEMORY = 8,     /* of the control group */
};

/* Whose collections: every collector has its own counters. */
enum pulse_collector {
	PULSE_YOUNG,
	PULSE_FULL,
	PULSE_CONCURRENT, /* each of its pauses is one */
	PULSE_COLLECTORS
};

struct pulse {
	uint32_t has; /* enum pulse_has: what the rest is known of */
	uint32_t threads;
	uint64_t collections[PULSE_COLLECTORS], pause_ns[PULSE_COLLECTORS];
	uint64_t safepoints, safepoint_ns, to_safepoint_ns;
	uint64_t heap_used, heap_committed, heap_max; /* heap_max: 0 not known */
	/* what the last old collection left, and the most that may live; 0: not known */
	uint64_t live, live_max;
	uint64_t live_ns; /* when that was, CLOCK_MONOTONIC */
	uint64_t metaspace;
	uint64_t classes; /* loaded now */
	uint64_t cpu_ns, rss;
	uint64_t slices, throttled_slices, throttled_ns;
	uint64_t memory, memory_limit, oom_kills; /* memory_limit: 0 none */
};

#endif
