/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What owners of locks did at the ticks at which others waited for them. Ticks are the same
 * instants for all threads: an owner that was off the CPU has a wall sample of that tick; of one
 * that has none, and CPU samples nearby, the nearest is taken: it ran.
 */
#ifndef GNOMON_OUT_JOINS_H
#define GNOMON_OUT_JOINS_H

#include "base/error.h"
#include "jfr/stretch.h"
#include "out/waits.h"

struct joins;

/* Reads the recording once more, for the samples of owners: none without owners. */
int joins_read(struct joins **out, const struct stretch *s, const struct waits *x, struct error *e);
void joins_free(struct joins *j);

/* What a thread did, by keys of the chunk; the same up to the tick `until`. */
struct did {
	int64_t thread, stack, state;
	bool ran;
	uint64_t until;
};

/* False: it is not known. */
bool joins_at(const struct joins *j, uint64_t chunk, uint64_t who, uint64_t tick, int64_t time_ns,
	      struct did *out);

#endif
