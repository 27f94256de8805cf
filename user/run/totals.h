/* SPDX-License-Identifier: Apache-2.0 */
/* What a recording holds and what it lost, counted. */
#ifndef GNOMON_RUN_TOTALS_H
#define GNOMON_RUN_TOTALS_H

#include <stdbool.h>
#include <stdint.h>

#include "kern/abi.h"

/* User-space losses, after those of enum gn_loss. */
enum { LOSS_QUEUE = GN_LOSS_MAX, LOSS_NAMES, LOSS_FILE, LOSS_MAX };

/* In words, for people. */
const char *loss_name(unsigned int reason);

/* Of samples, as the events have it: "cpu", "wall" or "any". */
const char *loss_kind(unsigned int reason);

struct totals {
	uint64_t cpu_samples;
	uint64_t wall_samples; /* ticks */
	uint64_t wall_records;
	uint64_t stacks;	   /* distinct */
	uint64_t ends[GN_END_MAX]; /* samples by how the user part of their stack ended */
	uint64_t guessed;	   /* samples whose stack has a frame found by a heuristic */
	uint64_t unnamed;	   /* and a frame whose class was unloaded before it had a name */
	uint64_t lost[LOSS_MAX];
	uint64_t threads; /* seen */
	uint64_t file_bytes;
};

/* n samples whose stack is such. */
void totals_stack(struct totals *t, unsigned int end, bool guessed, bool unnamed, uint64_t n);

void totals_add(struct totals *sum, const struct totals *t);

#endif
