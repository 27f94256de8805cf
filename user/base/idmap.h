/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash map from 64-bit keys to 64-bit values: open addressing, no deletion, 16 bytes per slot.
 * Keys may come from a hostile file: they are mixed with a constant that is good against the usual
 * arithmetic series, and a probe is never longer than the map.
 */
#ifndef GNOMON_BASE_IDMAP_H
#define GNOMON_BASE_IDMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct idmap {
	struct idmap_slot *slots;
	size_t cap; /* power of two, 0 before the first insertion */
	size_t n;
};

/* The value of `key`, or NULL. Valid until the next insertion. */
uint64_t *idmap_get(const struct idmap *m, uint64_t key);

/*
 * The value of `key`; when it is new, it is inserted with `init` and *fresh (may be NULL) is set.
 * NULL when out of memory.
 */
uint64_t *idmap_put(struct idmap *m, uint64_t key, uint64_t init, bool *fresh);

void idmap_clear(struct idmap *m); /* keeps the memory */
void idmap_free(struct idmap *m);

static inline uint64_t idmap_mix(uint64_t x)
{
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ULL;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ULL;
	return x ^ x >> 32;
}

#endif
