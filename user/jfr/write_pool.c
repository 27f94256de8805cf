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
	uint32_t touched, used; /* chunks */
};

struct pool {
	uint64_t seed;
	struct entry *e; /* by id */
	uint32_t n, cap;
	/* ids of the first entries, between which others were dropped; the rest has no gaps */
	uint32_t *old;
	uint32_t n_old;
	uint32_t base;	 /* id of e[n_old] */
	uint32_t *slots; /* index into e + 1, 0 free; a power of two */
	uint32_t n_slots;
	uint32_t *pending;
	uint32_t n_pending, pending_cap;
	struct block *blocks;
	size_t memory;
};

struct pool *pool_new(uint64_t seed, uint32_t first)
{
	struct pool *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->seed = seed;
	p->base = first;
	return p;
}

static void contents_free(struct pool *p)
{
	struct block *b, *next;

	for (b = p->blocks; b; b = next) {
		next = b->next;
		free(b);
	}
	free(p->e);
	free(p->old);
	free(p->slots);
	free(p->pending);
}

void pool_free(struct pool *p)
{
	if (!p)
		return;
	contents_free(p);
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

/* Append it, where the hash table has room. */
static struct entry *entry_add(struct pool *p, const struct entry *like, uint32_t slot)
{
	struct entry *e;
	const uint8_t *copy;

	if (p->n == p->cap && !array_grow(p, (void **)&p->e, &p->cap, sizeof(*p->e)))
		return NULL;
	copy = store(p, like->data, like->len);
	if (!copy)
		return NULL;
	e = &p->e[p->n];
	*e = *like;
	e->data = copy;
	p->slots[slot] = ++p->n;
	return e;
}

/* Where the value is or would be. */
static uint32_t slot_find(const struct pool *p, uint32_t hash, const void *data, size_t len)
{
	uint32_t at = hash & (p->n_slots - 1);

	for (; p->slots[at]; at = (at + 1) & (p->n_slots - 1)) {
		const struct entry *e = &p->e[p->slots[at] - 1];

		if (e->hash == hash && e->len == len && !memcmp(e->data, data, len))
			break;
	}
	return at;
}

static uint32_t id_of(const struct pool *p, uint32_t i)
{
	return i < p->n_old ? p->old[i] : p->base + (i - p->n_old);
}

uint32_t pool_intern(struct pool *p, const void *data, size_t len, uint32_t chunk)
{
	struct entry like = {.data = data, .len = (uint32_t)len, .used = chunk};
	uint32_t at;

	if (p->n >= p->n_slots / 2 && !slots_grow(p))
		return 0;
	like.hash = hash_bytes(p->seed, data, len);
	at = slot_find(p, like.hash, data, len);
	if (p->slots[at]) {
		p->e[p->slots[at] - 1].used = chunk;
		return id_of(p, p->slots[at] - 1);
	}
	if (len > UINT32_MAX || p->n - p->n_old >= POOL_MAX_ID - p->base)
		return 0;
	return entry_add(p, &like, at) ? id_of(p, p->n - 1) : 0;
}

static struct entry *find_old(const struct pool *p, uint32_t id)
{
	uint32_t lo = 0, hi = p->n_old;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (p->old[mid] < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < p->n_old && p->old[lo] == id ? &p->e[lo] : NULL;
}

static struct entry *find(const struct pool *p, uint32_t id)
{
	if (id < p->base)
		return find_old(p, id);
	return id - p->base < p->n - p->n_old ? &p->e[p->n_old + (id - p->base)] : NULL;
}

/* ---- forgetting ------------------------------------------------------------------------------ */

size_t pool_droppable(const struct pool *p, uint32_t oldest)
{
	size_t sum = 0;

	for (uint32_t i = 0; i < p->n; i++)
		if (p->e[i].used < oldest)
			sum += sizeof(p->e[i]) + p->e[i].len;
	return sum;
}

/* Copies the entries that are kept into a new pool, since values are freed by the block only. */
static bool keep(struct pool *to, const struct pool *from, uint32_t oldest)
{
	to->old = malloc(from->n * sizeof(*to->old));
	if (!to->old)
		return false;
	for (uint32_t i = 0; i < from->n; i++) {
		const struct entry *e = &from->e[i];

		if (e->used < oldest)
			continue;
		if (to->n >= to->n_slots / 2 && !slots_grow(to))
			return false;
		if (!entry_add(to, e, slot_find(to, e->hash, e->data, e->len)))
			return false;
		to->old[to->n_old++] = id_of(from, i);
	}
	to->memory += from->n * sizeof(*to->old);
	return true;
}

void pool_drop(struct pool *p, uint32_t oldest)
{
	struct pool empty = {.seed = p->seed, .base = p->base + (p->n - p->n_old)}, kept = empty;

	if (!p->n)
		return;
	if (!keep(&kept, p, oldest)) {
		contents_free(&kept);
		kept = empty;
	}
	contents_free(p);
	*p = kept;
}

bool pool_is_worn(const struct pool *p)
{
	return POOL_MAX_ID - p->base - (p->n - p->n_old) < POOL_IDS_LEFT;
}

void pool_restart(struct pool *p)
{
	contents_free(p);
	*p = (struct pool){.seed = p->seed, .base = 1};
}

/* ---- what a chunk needs ---------------------------------------------------------------------- */

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

	if (!e || e->touched == chunk)
		return false;
	if (p->n_pending == p->pending_cap &&
	    !array_grow(p, (void **)&p->pending, &p->pending_cap, sizeof(*p->pending)))
		return false;
	p->pending[p->n_pending++] = id;
	e->touched = e->used = chunk;
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
