/* SPDX-License-Identifier: Apache-2.0 */
#include "out/names.h"

#include <string.h>

static uint64_t bytes_hash(const uint8_t *p, size_t n)
{
	uint64_t h = 0x9e3779b97f4a7c15ULL ^ n, w;

	for (; n >= 8; p += 8, n -= 8) {
		memcpy(&w, p, 8);
		h = idmap_mix(h ^ w) + 0x9e3779b97f4a7c15ULL;
	}
	w = 0;
	memcpy(&w, p, n);
	return idmap_mix(h ^ w);
}

const char *names_get(const struct names *t, uint32_t i)
{
	return (const char *)t->text.data + ((const size_t *)t->offs.data)[i];
}

static bool names_equal(const struct names *t, uint32_t i, const void *s, size_t len)
{
	const size_t *off = (const size_t *)t->offs.data + i;
	size_t end = i + 1 < t->n ? off[1] : t->text.len;

	return end - off[0] - 1 == len && !memcmp(t->text.data + off[0], s, len);
}

uint32_t names_add(struct names *t, const void *s, size_t len, bool *fresh)
{
	uint64_t h = bytes_hash(s, len), *slot;
	size_t at = t->text.len;
	bool added;

	for (;; h = idmap_mix(h + 1)) { /* another string of that hash: the next in its series */
		slot = idmap_put(&t->by_hash, h, t->n, &added);
		if (!slot)
			return NAME_NONE;
		if (added)
			break;
		if (names_equal(t, (uint32_t)*slot, s, len)) {
			if (fresh)
				*fresh = false;
			return (uint32_t)*slot;
		}
	}
	buffer_add(&t->text, s, len);
	buffer_byte(&t->text, 0);
	buffer_add(&t->offs, &at, sizeof(at));
	if (fresh)
		*fresh = true;
	return t->text.failed || t->offs.failed ? NAME_NONE : t->n++;
}

void names_free(struct names *t)
{
	buffer_free(&t->text);
	buffer_free(&t->offs);
	idmap_free(&t->by_hash);
}
