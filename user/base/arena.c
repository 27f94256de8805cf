/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES 65536

struct arena_block {
	struct arena_block *next;
	size_t used, cap;
	unsigned char data[] __attribute__((aligned(8)));
};

static struct arena_block *block_new(size_t n)
{
	size_t cap = n > BLOCK_BYTES ? n : BLOCK_BYTES;
	struct arena_block *b = malloc(sizeof(*b) + cap);

	if (b)
		*b = (struct arena_block){.cap = cap};
	return b;
}

void *arena_alloc(struct arena *a, size_t n)
{
	struct arena_block *b = a->block;
	void *p;

	n = (n + 7) & ~(size_t)7;
	if (!b || b->cap - b->used < n) {
		b = block_new(n);
		if (!b)
			return NULL;
		b->next = a->block;
		a->block = b;
	}
	p = b->data + b->used;
	b->used += n;
	return p;
}

const char *arena_string(struct arena *a, const char *s)
{
	size_t n = s ? strlen(s) + 1 : 0;
	char *p = n > 1 ? arena_alloc(a, n) : NULL;

	if (!p)
		return "";
	return memcpy(p, s, n);
}

void arena_reset(struct arena *a)
{
	struct arena_block *b = a->block;

	if (!b)
		return;
	while (b->next) {
		a->block = b->next;
		free(b);
		b = a->block;
	}
	b->used = 0;
}

void arena_free(struct arena *a)
{
	while (a->block) {
		struct arena_block *b = a->block;

		a->block = b->next;
		free(b);
	}
}
