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

#include "model/totals.h"

struct board {
	/* the session's */
	_Atomic uint64_t stop_ns;    /* the recording's end; 0: not known yet */
	_Atomic uint64_t drained_ns; /* the kernel's records of all before are in the queue */
	_Atomic bool discard;	     /* files that are still open are to be removed */
	/* what the queue had no room for; naming takes out what it has told the targets */
	_Atomic uint64_t queue_lost[LOSS_MAX];

	/* naming's */
	_Atomic uint64_t hurry_ns; /* until then names are lost if records are late */
	_Atomic uint64_t steps;	   /* another number whenever it has done something */
	_Atomic uint32_t changes;  /* of totals, counted before and after */
	struct totals totals;
};

struct board *board_new(void); /* NULL: no memory */
void board_free(struct board *b);

void board_totals_set(struct board *b, const struct totals *t);

/* False, and *out as it was: they are being changed; another time. */
bool board_totals_get(const struct board *b, struct totals *out);

#endif
