/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writing side of stream.h. Any thread may write; writers exclude each other by a spin lock
 * that gives up, so that no thread of the JVM can be held up for long.
 */
#ifndef GNOMON_AGENT_RING_H
#define GNOMON_AGENT_RING_H

#include "agent/stream.h"

#include <stdbool.h>
#include <stddef.h>

/* Create the memfd and map it; 0, also when it is there already (size is then as it was). */
int ring_init(uint64_t size);

/* Take a slot for `nonce`; false if the lock was not had. */
bool ring_join(uint64_t nonce, const char *path, size_t path_len);
void ring_leave(uint64_t nonce);
bool ring_wanted(void); /* some reader's lease is valid */
void ring_state(enum gna_state s);
uint32_t ring_generation_next(void);
void ring_release(void); /* unless wanted: give the memory of the records back */

/* Sleep while a live reader is more than half a ring behind; at most *budget_ms, which shrinks. */
void ring_pace(uint32_t *budget_ms);

/* A record under construction. */
struct ring_writer {
	uint64_t pos; /* of the record */
	uint32_t len;
	bool full; /* longer than a record may be */
};

bool ring_begin(struct ring_writer *w, const void *head, size_t n);
void ring_put(struct ring_writer *w, const void *p, size_t n);
void ring_varint(struct ring_writer *w, uint64_t v);
bool ring_commit(struct ring_writer *w); /* false: it was too long and is gone */
bool ring_record(const void *head, size_t n, const void *tail, size_t m);
void ring_drop(void); /* count a record that was not written */

void record_init(struct gna_record *r, enum gna_type type, uint16_t flags);

#endif
