/* SPDX-License-Identifier: Apache-2.0 */
#include "base/slab.h"

#include <stdlib.h>
#include <string.h>

/* Large enough to be a mapping of its own (memory.c), whose pages come when they are written to. */
#define BLOCK_BYTES (256U << 10)

struct slab_block {
	struct slab_block *next;
	size_t used; /* bytes of data */
	_Alignas(8) unsigned char data[BLOCK_BYTES];
};

static void *slab_fresh(struct slab *s)
{
	struct slab_block *b = s->blocks;
	void *item;

	if (!b || BLOCK_BYTES - b->used < s->item) {
		b = malloc(sizeof(*b));
		if (!b)
			return NULL;
		b->next = s->blocks;
		b->used = 0;
		s->blocks = b;
	}
	item = b->data + b->used;
	b->used += s->item;
	return item;
}

void *slab_alloc(struct slab *s)
{
	void *item = s->unused;

	if (item)
		memcpy(&s->unused, item, sizeof(s->unused));
	else
		item = slab_fresh(s);
	return item ? memset(item, 0, s->item) : NULL;
}

void slab_free(struct slab *s, void *item)
{
	memcpy(item, &s->unused, sizeof(s->unused));
	s->unused = item;
}

void slab_release(struct slab *s)
{
	struct slab_block *b = s->blocks, *next;

	for (; b; b = next) {
		next = b->next;
		free(b);
	}
	*s = (struct slab){.item = s->item};
}
