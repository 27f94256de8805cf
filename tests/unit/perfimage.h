/* SPDX-License-Identifier: Apache-2.0 */
/* A JVM's performance counters, made up: for tests. */
#ifndef TESTS_UNIT_PERFIMAGE_H
#define TESTS_UNIT_PERFIMAGE_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define PERFIMAGE_BYTES 32768
#define PERFIMAGE_BASE	0x7f0000000000ull

struct perfimage {
	uint8_t b[PERFIMAGE_BYTES];
	uint32_t used, n;
	unsigned int reads;
	void (*on_read)(struct perfimage *m); /* the JVM goes on meanwhile */
};

static inline void perfimage_put(struct perfimage *m, uint32_t at, int32_t v)
{
	memcpy(m->b + at, &v, sizeof(v));
}

static inline void perfimage_head(struct perfimage *m)
{
	memcpy(m->b, "\xca\xfe\xc0\xc0\x01\x02\x00\x01", 8);
	perfimage_put(m, 8, (int32_t)m->used);
	perfimage_put(m, 24, 32);
	perfimage_put(m, 28, (int32_t)m->n);
}

static inline void perfimage_init(struct perfimage *m)
{
	memset(m, 0, sizeof(*m));
	m->used = 32;
	perfimage_head(m);
}

/* Returns where its value is. `bytes` of a text, 0 of a number. */
static inline uint32_t perfimage_add(struct perfimage *m, const char *name, uint32_t bytes)
{
	uint32_t at = m->used, name_len = (uint32_t)strlen(name) + 1;
	uint32_t data = (20 + name_len + 7) / 8 * 8;

	perfimage_put(m, at, (int32_t)(data + (bytes ? (bytes + 7) / 8 * 8 : 8)));
	perfimage_put(m, at + 4, 20);
	perfimage_put(m, at + 8, (int32_t)bytes);
	m->b[at + 12] = bytes ? 'B' : 'J';
	perfimage_put(m, at + 16, (int32_t)data);
	memcpy(m->b + at + 20, name, name_len);
	m->used += data + (bytes ? (bytes + 7) / 8 * 8 : 8);
	m->n++;
	perfimage_head(m);
	return at + data;
}

static inline void perfimage_set(struct perfimage *m, uint32_t at, uint64_t v)
{
	memcpy(m->b + at, &v, sizeof(v));
}

static inline int perfimage_read(void *ctx, uint64_t addr, void *dst, size_t len)
{
	struct perfimage *m = ctx;

	m->reads++;
	if (m->on_read)
		m->on_read(m);
	if (addr < PERFIMAGE_BASE || addr - PERFIMAGE_BASE > PERFIMAGE_BYTES ||
	    len > PERFIMAGE_BYTES - (addr - PERFIMAGE_BASE))
		return -14;
	memcpy(dst, m->b + (addr - PERFIMAGE_BASE), len);
	return 0;
}

#endif
