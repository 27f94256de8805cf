/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Items of one size that come and go one by one, in blocks of their own. On the heap, those that
 * live long would settle in the gaps that shorter-lived memory left, and hold its pages for ever.
 */
#ifndef GNOMON_BASE_SLAB_H
#define GNOMON_BASE_SLAB_H

#include <stddef.h>

struct slab_block;

struct slab {
	size_t item; /* bytes of one: set before the first, at least a pointer's, a multiple of 8 */
	struct slab_block *blocks;
	void *unused;
};

/* An item, all zero, 8-aligned; NULL: no memory. */
void *slab_alloc(struct slab *s);

void slab_free(struct slab *s, void *item);

/* All memory goes back, with what is still in use. */
void slab_release(struct slab *s);

#endif
