/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the waits of a recording waited for: its gnomon.WaitCause events, which are written behind
 * the samples that they are about, so that the file is read for them first. Each wall sample is
 * then given its cause by thread, stack, state and time; a cause gives to no more samples than it
 * says, so that sums are its own.
 */
#ifndef GNOMON_OUT_WAITS_H
#define GNOMON_OUT_WAITS_H

#include "jfr/read_sample.h"
#include "jfr/stretch.h"

struct waits;

/* What some ticks of a thread waited for. */
struct waited {
	const char *cause; /* in words, "(TCP) 10.0.0.7:5432"; NULL: not known */
	uint64_t owner;	   /* whose it was, a number of waits_thread(); 0: nobody's, or not known */
	const char *owner_name; /* with `owner` */
	const char *waker;	/* who woke it at their end; NULL: not known */
	int64_t waker_stack;	/* its key in the chunk: where the waker was; 0: not known */
};

/*
 * Memory grows with the number of such events; a file may have none. EXIT_USAGE for "-", which can
 * be read once only.
 */
int waits_read(struct waits **out, const struct stretch *s, struct error *e);
void waits_free(struct waits *x);

#define TICK_NONE UINT64_MAX

/*
 * Take the next part off *rest (a wall sample of chunk `chunk`, at first whole) that has one cause
 * and owner, or none. 1, and *part and what it waited for; 0 when there is no more. *tick is the
 * number of the first tick of *rest by waits_tick(), or TICK_NONE.
 */
int waits_next(struct waits *x, uint64_t chunk, struct jfr_sample *rest, uint64_t *tick,
	       struct jfr_sample *part, struct waited *out);

/* ---- for the join with what owners did ---- */

/* Returns a number that tells a thread from others in all chunks. 0: it is not known. */
uint64_t waits_thread(struct jfr_reader *r, const struct jfr_value *thread);

bool waits_have_owners(const struct waits *x);

/* Tells whether that thread had something that others waited for. */
bool waits_is_owner(const struct waits *x, uint64_t who);

/* The number of the tick at that time, in a chunk in which a lock was waited for. */
bool waits_tick(const struct waits *x, uint64_t chunk, int64_t time_ns, uint64_t *tick);

/*
 * Tells what a thread in that stack and state waited for at a tick; the same holds up to the tick
 * *until, at least. False: not known. (Thread, stack and state by their keys in the chunk.)
 */
bool waits_at(struct waits *x, uint64_t chunk, const int64_t key[3], uint64_t tick,
	      struct waited *out, uint64_t *until);

#endif
