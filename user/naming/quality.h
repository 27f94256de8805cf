/* SPDX-License-Identifier: Apache-2.0 */
/* How whole the stacks of one kind of sample are, for gnomon.StackQuality. */
#ifndef GNOMON_NAMING_QUALITY_H
#define GNOMON_NAMING_QUALITY_H

#include <stdint.h>

#include "jfr/write.h"
#include "model/totals.h"

/* Samples since the last event. */
struct quality {
	const char *kind; /* "cpu" or "wall" */
	uint64_t since_ns;
	struct walks walks;
};

/* Counts n samples with that stack; NULL: without one. */
void quality_add(struct quality *q, const struct stack *st, uint32_t n);

/* Writes the event if there were samples, and begins anew. */
void quality_write(struct quality *q, struct jfrw *out, uint64_t now);

#endif
