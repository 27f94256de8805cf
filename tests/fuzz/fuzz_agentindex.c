/* SPDX-License-Identifier: Apache-2.0 */
// FUZZ-LINK: user/jvm/agentindex.c
// FUZZ-LINK: user/base/descriptor.c user/base/digest.c
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/stream.h"
#include "jvm/agentindex.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Give the bytes a record header, so that the parsers of the types are reached at once. */
static void feed_as(struct agentindex *ix, uint16_t type, const uint8_t *data, size_t size)
{
	struct gna_record r = {.type = type, .flags = size & 1, .time = size};
	uint8_t *p;

	size &= ~7UL;
	r.size = (uint32_t)(sizeof(r) + size);
	p = malloc(r.size);
	memcpy(p, &r, sizeof(r));
	memcpy(p + sizeof(r), data, size);
	if (agentindex_feed(ix, p, r.size) != r.size)
		abort();
	free(p);
}

static void ask(struct agentindex *ix, uint64_t pc, uint64_t time)
{
	struct frame_name f[8];
	int i, n = agentindex_lookup(ix, pc, time, f, 8);

	if (n < 0 || n > 8)
		abort();
	for (i = 0; i < n; i++)
		if (strlen(f[i].klass) > 70000 || strlen(f[i].method) > 70000)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct agentindex *ix = agentindex_new(1 << 20);
	struct agentindex_stats s;
	uint64_t pc = 0;

	if (agentindex_feed(ix, data, size) > (int64_t)size)
		abort();
	while (size > 3) {
		size_t n = data[1] | (size_t)(data[2] & 7) << 8;

		if (n > size - 3)
			n = size - 3;
		feed_as(ix, data[0] % 9, data + 3, n);
		if (n >= 8)
			memcpy(&pc, data + 3, 8);
		ask(ix, pc, n);
		data += 3 + n;
		size -= 3 + n;
	}
	agentindex_stats(ix, &s);
	if (s.bytes > 2 << 20)
		abort();
	agentindex_thread_by_tid(ix, 1);
	agentindex_free(ix);
	return 0;
}
