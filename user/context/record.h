/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread's record (OpenTelemetry OTEP 4947, or Elastic's own). To be read while its thread stands
 * still: in its own context, or while it is stopped.
 */
#ifndef GNOMON_CONTEXT_RECORD_H
#define GNOMON_CONTEXT_RECORD_H

#include "context/place.h"

#include <stdbool.h>

/*
 * The record of the thread with that thread pointer. 0; -ENOENT: it is in no context; or the
 * memory's error: at most five reads in all, of 28 + CTX_ATTRS_MAX + 32 bytes.
 */
int ctx_record_read(const struct ctx_place *p, const struct ctx_memory *m, uint64_t thread_pointer,
		    struct ctx_record *r);

struct ctx_entry {
	uint8_t key, len;
	const uint8_t *value;
};

/*
 * The attribute at *at (0 at first) and on to the next; false at the end and where one is cut off.
 * Of one key the last is the one that holds.
 */
bool ctx_record_next(const struct ctx_record *r, uint32_t *at, struct ctx_entry *e);

/* The one of that key that holds. */
bool ctx_record_attribute(const struct ctx_record *r, uint8_t key, struct ctx_entry *e);

#endif
