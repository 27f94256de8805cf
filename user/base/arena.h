/* SPDX-License-Identifier: Apache-2.0 */
/* Bump allocation for short-lived strings: freed all at once. */
#ifndef GNOMON_BASE_ARENA_H
#define GNOMON_BASE_ARENA_H

#include <stddef.h>

struct arena_block;

struct arena {
	struct arena_block *block; /* newest first */
};

/* n bytes, 8-aligned, or NULL. */
void *arena_alloc(struct arena *a, size_t n);

/* A copy of s; "" when there is no memory (or s is NULL). */
const char *arena_string(struct arena *a, const char *s);

void arena_reset(struct arena *a); /* keeps one block */
void arena_free(struct arena *a);

#endif
