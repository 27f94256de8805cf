/* SPDX-License-Identifier: Apache-2.0 */
/* What a recording holds and what it lost, counted. */
#ifndef GNOMON_MODEL_TOTALS_H
#define GNOMON_MODEL_TOTALS_H

#include <stdint.h>
#include <sys/types.h>

#include "kern/abi.h"
#include "model/pulse.h"
#include "model/watch.h"

/* User-space losses, after those of enum gn_loss. */
enum {
	LOSS_QUEUE_CPU = GN_LOSS_MAX, /* CPU samples that found no room in the queue */
	LOSS_QUEUE_WALL,
	LOSS_QUEUE_STACK,
	LOSS_QUEUE_VTHREAD,
	LOSS_QUEUE, /* other records */
	LOSS_NAMES,
	LOSS_FILE,
	/* what is over a target's budget */
	LOSS_SIZE,   /* events, of a file as large as it may be */
	LOSS_STACKS, /* lists of frames that were not named */
	LOSS_UNREAD, /* files of its code */
	LOSS_RULES,  /* unwind rules */
	/* at the end, where naming took too long */
	LOSS_HASTE, /* lists of frames that were not named */
	LOSS_HASTE_CPU,
	LOSS_HASTE_WALL,
	LOSS_UNTRIED,	/* lists of frames of a process that naming was lost at */
	LOSS_NAMER_CPU, /* CPU samples that a process had which hung or was killed */
	LOSS_NAMER_WALL,
	LOSS_MAX
};

/* Tells what is lost with this record, and how many. */
unsigned int loss_of_record(const struct gn_rec *rec, uint64_t *count);

/* In words, for people. */
const char *loss_name(unsigned int reason);

/*
 * Tells what keeps such losses away, as a user of `record` types it; NULL: no option does. Reasons
 * that have one remedy have the same pointer.
 */
const char *loss_remedy(unsigned int reason);

/* The reason whose words a text ends with, as recordings have it; LOSS_MAX: none that we know. */
unsigned int loss_reason(const char *text);

/* Of samples, as the events have it: "cpu", "wall" or "any". */
const char *loss_kind(unsigned int reason);

/* Samples by how the walk of their stack went. */
struct walks {
	uint64_t without;	   /* a stack */
	uint64_t ends[GN_END_MAX]; /* with one, by how its user part ended */
	uint64_t guessed;	   /* with a frame found by a heuristic */
	uint64_t unnamed;	   /* with a frame whose class was unloaded before it had a name */
};

/* Counts n samples with that stack; NULL: without one. */
struct stack;
void walks_add(struct walks *w, const struct stack *st, uint32_t n);

uint64_t walks_total(const struct walks *w); /* samples */

struct totals {
	uint64_t cpu_samples;
	uint64_t cpu_ns;       /* that those stand for */
	uint64_t wall_samples; /* ticks */
	uint64_t wall_records;
	uint64_t wall_queued, wall_blocked; /* ticks in these states */
	uint64_t stacks;		    /* distinct */
	struct walks cpu, wall;
	uint64_t lost[LOSS_MAX];
	uint64_t threads; /* seen */
	uint64_t file_bytes;
	uint64_t held_bytes; /* in memory now, since the disk takes nothing */
	struct pulse pulse;  /* of one JVM; it is not added up */
	struct watch watch;  /* likewise */
};

void totals_add(struct totals *sum, const struct totals *t);
uint64_t totals_lost(const struct totals *t); /* by all reasons */

/* A finished file. */
struct recorded_file {
	pid_t tgid;
	char *path;
	char *names; /* where Java names came from, in words */
	struct totals totals;
};

#endif
