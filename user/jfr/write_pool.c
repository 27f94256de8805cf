/* SPDX-License-Identifier: Apache-2.0 */
#include "jfr/write_pool.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK_SIZE  (256u << 10)
#define POOL_MAX_ID 0x7fffffffu

struct block {
	struct block *next;
	size_t size, used;
	uint8_t data[];
};

struct entry {
	const uint8_t *data;
	uint32_t len;
	uint32_t hash;
	uint32_t chunk; /* last one it was touched in */
};

struct pool {
	uint64_t seed;
	uint32_t base; /* id of e[0] */
	struct entry *e;
	uint32_t n, cap;
	uint32_t *slots; /* index into e + 1, 0 free; a power of two */
	uint32_t n_slots;
	uint32_t *pending;
	uint32_t n_pending, pending_cap;
	struct block *blocks;
	size_t memory;
};

struct pool *pool_new(uint64_t seed)
{
	struct pool *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->seed = seed;
	p->base = 1;
	return p;
}

void pool_drop(struct pool *p)
{
	struct block *b, *next;

	for (b = p->blocks; b; b = next) {
		next = b->next;
		free(b);
	}
	free(p->e);
	free(p->slots);
	free(p->pending);
	*p = (struct pool){.seed = p->seed, .base = p->base + p->n};
}

void pool_free(struct pool *p)
{
	if (!p)
		return;
	pool_drop(p);
	free(p);
}

/* Eight bytes at a time, mixed by multiplication; the seed makes collisions unpredictable. */
static uint32_t hash_bytes(uint64_t seed, const uint8_t *p, size_t len)
{
	uint64_t h = seed ^ len * 0x9e3779b97f4a7c15ULL, w;

	while (len) {
		size_t n = len < 8 ? len : 8;

		w = 0;
		memcpy(&w, p, n);
		h = (h ^ w ^ seed << 1) * 0xd6e8feb86659fd93ULL;
		h ^= h >> 32;
		p += n;
		len -= n;
	}
	h *= 0xd6e8feb86659fd93ULL;
	return (uint32_t)(h >> 32);
}

static bool array_grow(struct pool *p, void **a, uint32_t *cap, size_t item)
{
	uint32_t want = *cap ? *cap * 2 : 64;
	void *q = realloc(*a, want * item);

	if (!q)
		return false;
	p->memory += (want - *cap) * item;
	*a = q;
	*cap = want;
	return true;
}

static bool slots_grow(struct pool *p)
{
	uint32_t want = p->n_slots ? p->n_slots * 2 : 128;
	uint32_t *slots = calloc(want, sizeof(*slots));

	if (!slots)
		return false;
	for (uint32_t i = 0; i < p->n; i++) {
		uint32_t at = p->e[i].hash & (want - 1);

		while (slots[at])
			at = (at + 1) & (want - 1);
		slots[at] = i + 1;
	}
	free(p->slots);
	p->memory += (want - p->n_slots) * sizeof(*slots);
	p->slots = slots;
	p->n_slots = want;
	return true;
}

static const uint8_t *store(struct pool *p, const void *data, size_t len)
{
	struct block *b = p->blocks;
	uint8_t *to;

	if (!b || b->size - b->used < len) {
		size_t size = len > BLOCK_SIZE ? len : BLOCK_SIZE;

		b = malloc(sizeof(*b) + size);
		if (!b)
			return NULL;
		*b = (struct block){.next = p->blocks, .size = size};
		p->blocks = b;
		p->memory += sizeof(*b) + size;
	}
	to = b->data + b->used;
	memcpy(to, data, len);
	b->used += len;
	return to;
}

uint32_t pool_intern(struct pool *p, const void *data, size_t len)
{
	uint32_t hash = hash_bytes(p->seed, data, len), at;
	const uint8_t *copy;

	if (p->n >= p->n_slots / 2 && !slots_grow(p))
		return 0;
	at = hash & (p->n_slots - 1);
	for (; p->slots[at]; at = (at + 1) & (p->n_slots - 1)) {
		uint32_t i = p->slots[at] - 1;

		if (p->e[i].hash == hash && p->e[i].len == len && !memcmp(p->e[i].data, data, len))
			return p->base + i;
	}
	if (len > UINT32_MAX || p->n >= POOL_MAX_ID - p->base)
		return 0;
	if (p->n == p->cap && !array_grow(p, (void **)&p->e, &p->cap, sizeof(*p->e)))
		return 0;
	copy = store(p, data, len);
	if (!copy)
		return 0;
	p->e[p->n] = (struct entry){.data = copy, .len = (uint32_t)len, .hash = hash};
	p->slots[at] = ++p->n;
	return p->base + p->n - 1;
}

static struct entry *find(const struct pool *p, uint32_t id)
{
	return id >= p->base && id - p->base < p->n ? &p->e[id - p->base] : NULL;
}

const uint8_t *pool_value(const struct pool *p, uint32_t id, size_t *len)
{
	const struct entry *e = find(p, id);

	if (!e)
		return NULL;
	*len = e->len;
	return e->data;
}

bool pool_touch(struct pool *p, uint32_t id, uint32_t chunk)
{
	struct entry *e = find(p, id);

	if (!e || e->chunk == chunk)
		return false;
	if (p->n_pending == p->pending_cap &&
	    !array_grow(p, (void **)&p->pending, &p->pending_cap, sizeof(*p->pending)))
		return false;
	p->pending[p->n_pending++] = id;
	e->chunk = chunk;
	return true;
}

const uint32_t *pool_pending(const struct pool *p, size_t *n)
{
	*n = p->n_pending;
	return p->pending;
}

void pool_written(struct pool *p)
{
	p->n_pending = 0;
}

size_t pool_count(const struct pool *p)
{
	return p->n;
}

size_t pool_memory(const struct pool *p)
{
	return p->memory;
}
