/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When visits of ticks are left out: where nothing is to be done at them. The tick thread of an
 * idle JVM wakes a tenth as often then.
 *
 * What is missed is who had the CPU while a thread was queued that was woken in between, on a
 * machine that had an idle CPU at the last look. Where that happens all ticks are visited for a
 * second, and for twice as long each time that it happens again within a minute after that.
 */
#ifndef GNOMON_CAPTURE_DOZE_H
#define GNOMON_CAPTURE_DOZE_H

#include <stdint.h>

/* Begins with zeroes. */
struct doze {
	uint64_t quiet;	   /* visited and left out ticks with nothing to do, lately */
	uint64_t unseen;   /* the counter of capture_unseen(), as it was last */
	uint64_t awake_ns; /* how long all are visited after something was missed */
	uint64_t until_ns; /* till then */
};

enum doze_tick {
	DOZE_QUIET,   /* nothing was to be done, nor is now */
	DOZE_PENDING, /* threads were pending */
	DOZE_BUSY,    /* something goes on, for which the next ticks are needed */
};

/* A tick was visited; `n` ticks have passed since the last one that was. */
void doze_note(struct doze *d, enum doze_tick what, uint64_t n);

/* So many ticks of `interval_ns` may pass before the next visit: 1, or more where all is quiet. */
uint64_t doze_ticks(struct doze *d, uint64_t now_ns, uint64_t unseen, uint64_t interval_ns);

#endif
