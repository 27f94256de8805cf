/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records that the session makes for naming, in the same queue as the kernel's (kern/abi.h): their
 * numbers lie beyond enum gn_rec_type.
 */
#ifndef GNOMON_NAMING_RECORDS_H
#define GNOMON_NAMING_RECORDS_H

#include "kern/abi.h"
#include "naming/target.h"

/* Of how many of a process's threads wall samples are taken from `time_ns` on. */
struct recorder_choice {
	uint64_t time_ns, draw;
	uint32_t live, eligible, sampled;
};
struct recorder_cost {
	uint64_t wall_ns, cpu_ns, bpf_ns; /* since the last one */
	uint64_t bpf_runs;
	uint64_t memory;    /* bytes resident */
	float cpu_share;    /* of one CPU, 0..1 */
	uint64_t stolen_ns; /* CPU time that went to other machines on the host */
};
enum {
	REC_LOSS = 100,
	REC_SETTING,
	REC_COST,
	REC_CHOICE,
	REC_RATE,
	REC_CPUS,
	REC_ADD, /* its file comes as a gift (naming/reply.h) */
	REC_END,
	REC_TABLES, /* the unwinder is there */
	REC_WATCH,  /* what triggers want to know */
	REC_START,  /* the recording begins at the record's time */
};

struct rec_loss {
	struct gn_rec h;
	uint64_t count;
	uint32_t reason, pad;
};

struct rec_setting {
	struct gn_rec h;
	char name[48];
	char value[160];
};

struct rec_watch {
	struct gn_rec h;
	struct watch_orders orders;
};

struct rec_cost {
	struct gn_rec h;
	struct recorder_cost cost;
};

struct rec_choice {
	struct gn_rec h;
	struct recorder_choice choice;
};

struct rec_rate {
	struct gn_rec h;
	uint64_t cpu_ns, wall_ns;
	uint32_t threads, pad;
	char by[24], reason[160];
};

struct rec_cpus {
	struct gn_rec h;
	struct target_neighbours cpus;
};

struct rec_add {
	struct gn_rec h;
	uint32_t serial;
	uint32_t resumed; /* so many processes that wrote the file before were lost */
	uint32_t untried; /* it is not looked into: who did so was lost */
	uint32_t pad;
	uint64_t start_ns; /* CLOCK_MONOTONIC, of the file; 0: now, or when the recording begins */
	char path[TARGET_PATH_LEN];
};

#endif
