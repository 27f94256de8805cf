/* SPDX-License-Identifier: Apache-2.0 */
// FUZZ-LINK: user/jfr/repair.c user/jfr/write_enc.c user/base/buffer.c user/base/error.c
// FUZZ-LINK: user/base/utf8.c
#include <stdlib.h>
#include <string.h>

#include "jfr/repair.h"

struct memory {
	const uint8_t *p;
	size_t n;
};

static size_t read_memory(void *ctx, uint64_t at, void *buf, size_t n)
{
	const struct memory *m = ctx;

	if (at >= m->n)
		return 0;
	if (n > m->n - at)
		n = m->n - at;
	memcpy(buf, m->p + at, n);
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A chunk that was mended must be in order afterwards. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct memory m = {data, size};
	struct jfr_bytes s = {read_memory, &m, size};
	struct jfr_chunk_check c, again;
	uint64_t at = 0;
	uint8_t *copy;

	while (at < size) {
		jfr_chunk_check(&s, at, &c);
		if (c.health == JFR_CHUNK_LOST)
			return 0;
		if (c.size < sizeof(c.header) || c.size > size - at)
			abort();
		copy = malloc(c.size);
		memcpy(copy, data + at, c.size);
		memcpy(copy, c.header, sizeof(c.header));
		m = (struct memory){copy, c.size};
		s.size = c.size;
		jfr_chunk_check(&s, 0, &again);
		if (again.health != JFR_CHUNK_GOOD || again.size != c.size)
			abort();
		free(copy);
		m = (struct memory){data, size};
		s.size = size;
		at += c.size;
	}
	return 0;
}
