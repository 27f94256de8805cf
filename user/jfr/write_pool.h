/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Constants of one type: encoded values interned to ids. An id is given once per file and never
 * means anything else, since the JDK's parser resolves an id to the value it had in the chunk
 * before. A chunk contains the constants its events refer to and no others: pool_touch() notes,
 * once per chunk, that a constant has to be written, and pool_pending() lists those for the next
 * checkpoint. Chunks are numbered; a constant was last used in the one in which it was interned or
 * touched last.
 */
#ifndef GNOMON_JFR_WRITE_POOL_H
#define GNOMON_JFR_WRITE_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pool;

/*
 * `seed` keys the hash, so that names chosen by a target cannot make it degenerate. Ids are given
 * from `first` on.
 */
struct pool *pool_new(uint64_t seed, uint32_t first);
void pool_free(struct pool *p);

/* The id of a value, the same for equal bytes; 0 if memory or ids (below 2^31) ran out. */
uint32_t pool_intern(struct pool *p, const void *data, size_t len, uint32_t chunk);

/* The value of an id, NULL if it is none (0, or dropped since). */
const uint8_t *pool_value(const struct pool *p, uint32_t id, size_t *len);

/* True the first time in a chunk: the caller then touches what the value refers to. */
bool pool_touch(struct pool *p, uint32_t id, uint32_t chunk);

/* The ids touched since pool_written(). */
const uint32_t *pool_pending(const struct pool *p, size_t *n);
void pool_written(struct pool *p);

/*
 * Forget the values last used before the chunk `oldest`; the others keep their ids. Nothing may be
 * pending. Where memory runs out all are forgotten.
 */
void pool_drop(struct pool *p, uint32_t oldest);

/*
 * Whether ids run out, of which a chunk may take as many as are left then; and the remedy, for a
 * file of which none was given: all values are forgotten, and ids are given from 1 on again.
 */
#define POOL_IDS_LEFT (1u << 28)
bool pool_is_worn(const struct pool *p);
void pool_restart(struct pool *p);

/* Bytes of the values that would be dropped. */
size_t pool_droppable(const struct pool *p, uint32_t oldest);

size_t pool_count(const struct pool *p);
size_t pool_memory(const struct pool *p);

#endif
