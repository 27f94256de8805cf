/* SPDX-License-Identifier: Apache-2.0 */
#include "base/idmap.h"

#include <stdlib.h>
#include <string.h>

/* The key is stored plus one, so that zeroed memory is an empty map; UINT64_MAX has its own slot.
 */
struct idmap_slot {
	uint64_t key1;
	uint64_t val;
};

/* One slot past the table holds the key whose successor wraps to zero: val, and key1 as a flag. */
static struct idmap_slot *slot_find(const struct idmap *m, uint64_t key)
{
	size_t i = idmap_mix(key) & (m->cap - 1);

	if (key == UINT64_MAX)
		return &m->slots[m->cap];
	while (m->slots[i].key1 && m->slots[i].key1 != key + 1)
		i = (i + 1) & (m->cap - 1);
	return &m->slots[i];
}

uint64_t *idmap_get(const struct idmap *m, uint64_t key)
{
	struct idmap_slot *s;

	if (!m->n)
		return NULL;
	s = slot_find(m, key);
	return s->key1 ? &s->val : NULL;
}

static bool idmap_grow(struct idmap *m)
{
	struct idmap old = *m;
	size_t cap = old.cap ? old.cap * 2 : 16;

	m->slots = calloc(cap + 1, sizeof(*m->slots));
	if (!m->slots) {
		*m = old;
		return false;
	}
	m->cap = cap;
	for (size_t i = 0; i < old.cap; i++)
		if (old.slots[i].key1)
			*slot_find(m, old.slots[i].key1 - 1) = old.slots[i];
	if (old.cap)
		m->slots[cap] = old.slots[old.cap];
	free(old.slots);
	return true;
}

uint64_t *idmap_put(struct idmap *m, uint64_t key, uint64_t init, bool *fresh)
{
	struct idmap_slot *s;

	if (fresh)
		*fresh = false;
	if (m->n + m->n / 2 >= m->cap && !idmap_grow(m))
		return NULL;
	s = slot_find(m, key);
	if (s->key1)
		return &s->val;
	s->key1 = key == UINT64_MAX ? 1 : key + 1;
	s->val = init;
	m->n++;
	if (fresh)
		*fresh = true;
	return &s->val;
}

void idmap_clear(struct idmap *m)
{
	if (m->cap)
		memset(m->slots, 0, (m->cap + 1) * sizeof(*m->slots));
	m->n = 0;
}

void idmap_free(struct idmap *m)
{
	free(m->slots);
	*m = (struct idmap){0};
}
