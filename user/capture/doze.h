/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When visits of ticks are left out: where fewer than half of them find anything to be done. A tick
 * that needs one is visited all the same (kern/ticker.bpf.c), but some 10 us later. (Where others
 * read who rests ticks are left out however many need a visit: ticks.c.)
 */
#ifndef GNOMON_CAPTURE_DOZE_H
#define GNOMON_CAPTURE_DOZE_H

#include <stdbool.h>
#include <stdint.h>

/* Begins with zeroes: as if no visit had been needed. */
struct doze {
	uint32_t needed; /* of so many of DOZE_WHOLE ticks, lately */
};

#define DOZE_WHOLE 65536u

/* A tick was visited, which was needed or not; `n` ticks have passed since the last one that was.
 */
void doze_note(struct doze *d, bool needed, uint64_t n);

/* Are the next ones left out? */
bool doze_pays(const struct doze *d);

#endif
