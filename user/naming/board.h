/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the session and naming see of each other at any time, in memory that both have; naming may
 * be a process of its own, so what it writes is believed as little as that needs to be: numbers.
 */
#ifndef GNOMON_NAMING_BOARD_H
#define GNOMON_NAMING_BOARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/beat.h"
#include "model/totals.h"

#define BOARD_LOSSES  4096 /* a power of two */
#define BOARD_TARGETS GN_MAX_PROCS

/* What is left out when the recording has ended and there is no more time. */
enum board_haste {
	BOARD_NAMES,	 /* nothing: names are looked for */
	BOARD_ADDRESSES, /* names: no target is looked at any more */
	BOARD_COUNT,	 /* samples, too: they are counted */
};

/* What one thread has lost for one reason. */
struct board_loss {
	_Atomic uint64_t whose; /* both; 0: free */
	_Atomic uint64_t count;
};

/* One of the targets. */
struct board_target {
	_Atomic uint32_t changes; /* counted before and after */
	_Atomic pid_t tgid;
	struct totals totals;
};

struct board {
	/* the session's */
	_Atomic uint64_t stop_ns;    /* the recording's end; 0: not known yet */
	_Atomic uint64_t drained_ns; /* the kernel's records of all before are in the queue */
	_Atomic bool discard;	     /* files that are still open are to be removed */
	_Atomic uint32_t haste;	     /* enum board_haste */
	/*
	 * What the queue had no room for: by thread, as long as there is a place for it, and what
	 * is of no thread. Naming takes out what it has told the targets.
	 */
	struct board_loss losses[BOARD_LOSSES];
	_Atomic uint64_t queue_lost[LOSS_MAX];

	/* naming's */
	_Atomic uint64_t hurry_ns; /* until then names are lost if records are late */
	struct beats beats;
	_Atomic pid_t at_work; /* the target that it is at; 0: none */
	/* CPU samples and wall ticks that are in a file, were told as lost, or are not wanted */
	_Atomic uint64_t cpu_settled, wall_settled;
	_Atomic uint64_t losses_taken[LOSS_MAX]; /* of those that the session told it */
	_Atomic uint32_t changes;		 /* of totals, counted before and after */
	struct totals totals;
	struct board_target targets[BOARD_TARGETS];
	_Atomic uint32_t ntargets;
};

struct board *board_new(void); /* NULL: no memory */

/* For another process, which has it by the descriptor: that, or -errno. */
int board_new_shared(struct board **out);
struct board *board_of(int fd); /* there; NULL: no memory */
void board_free(struct board *b);

/* The session's: so many of the thread (0: of none) are lost. */
void board_lose(struct board *b, pid_t tid, unsigned int reason, uint64_t count);

/* Naming's: calls fn for all that was lost since the last time. */
typedef void (*board_loss_fn)(void *ctx, pid_t tid, unsigned int reason, uint64_t count);
void board_losses(struct board *b, board_loss_fn fn, void *ctx);

void board_totals_set(struct board *b, const struct totals *t);

/* Naming's: the ith target, and how many there are. Those beyond BOARD_TARGETS are left out. */
void board_target_set(struct board *b, uint32_t i, pid_t tgid, const struct totals *t);
void board_targets_set(struct board *b, uint32_t n);

/* Calls fn for each that is not just being changed. */
typedef void (*board_target_fn)(void *ctx, pid_t tgid, const struct totals *t);
void board_targets(const struct board *b, board_target_fn fn, void *ctx);

/* False, and *out as it was: they are being changed; another time. */
bool board_totals_get(const struct board *b, struct totals *out);

#endif
