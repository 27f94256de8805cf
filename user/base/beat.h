/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signs of life of a process that others watch (naming/patience.h), in memory that they see, too:
 * whoever does something that may take long says now and then that it goes on. Without anybody who
 * watches nothing is said.
 */
#ifndef GNOMON_BASE_BEAT_H
#define GNOMON_BASE_BEAT_H

#include <stdatomic.h>
#include <stdint.h>

/* Counts: another one than before is the sign. */
struct beats {
	_Atomic uint64_t steps; /* something was done, or is waited for with a limit */
	_Atomic uint64_t ours;	/* the disk, or another process of ours, is waited for */
};

void beats_to(struct beats *b); /* NULL: nobody watches */

void beat_step(void);
void beat_ours(void);

#endif
