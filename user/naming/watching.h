/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the stacks that triggers are about (model/watch.h). Pure. */
#ifndef GNOMON_NAMING_WATCHING_H
#define GNOMON_NAMING_WATCHING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/frame.h"
#include "model/watch.h"

struct hold;

/* Returns a bit for each pattern that one of the frames fits, as CLASS.METHOD. */
uint16_t watching_fits(const struct watch_orders *o, const struct frame_name *frames, size_t n);

/* A sample, as far as it tells where its thread is. */
struct watching_sample {
	uint64_t last_ns; /* the last time at which it surely was there */
	uint64_t span_ns; /* of a wait: its length until then */
	uint64_t cause;	  /* the lock that it waits for, 0: none */
	uint64_t tick;	  /* of last_ns, of a wait */
	uint32_t stack;	  /* id in the file, 0: none */
	uint32_t watch;
	uint16_t watched;
	bool wait;   /* it did not run */
	bool queued; /* it neither ran nor waited: it goes on from where it was */
};

/*
 * Takes note of a sample. Samples of one thread come in any order by some milliseconds: an older
 * one changes nothing.
 */
void watching_note(struct hold *h, const struct watching_sample *s);

/* Returns for how long the thread has had that stack at now_ns; 0: that is not known. */
uint64_t watching_held(const struct hold *h, uint64_t now_ns);

/* The thread that has the lock for which h waits. NULL: it is not known, or waits for no lock. */
typedef const struct hold *(*watching_next_fn)(void *ctx, const struct hold *h);

/*
 * Returns the number of threads of the deadlock that h is in, as far as is known; 0: it is in none.
 * Each of them waits, all at one time, for a lock of the next one, and the last one for one of h.
 */
unsigned int watching_circle(const struct hold *h, watching_next_fn next, void *ctx);

#endif
