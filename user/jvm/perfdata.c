/* SPDX-License-Identifier: Apache-2.0 */
#include "jvm/perfdata.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct perf_prologue {
	unsigned char magic[4];
	uint8_t byte_order, major, minor, accessible;
	int32_t used, overflow;
	int64_t modified;
	int32_t entry_offset, entries;
};

struct perf_entry {
	int32_t length, name_offset, vector_length;
	uint8_t type, flags, units, variability;
	int32_t data_offset;
};

static bool entry_ok(const struct perf_entry *e, size_t room)
{
	return e->length >= (int32_t)sizeof(*e) && (size_t)e->length <= room &&
	       e->name_offset >= 0 && e->name_offset < e->length && e->data_offset >= 0 &&
	       e->data_offset < e->length;
}

int perfdata_can_attach(const unsigned char *p, size_t len)
{
	static const char name[] = "sun.rt.jvmCapabilities";
	static const unsigned char magic[4] = {0xca, 0xfe, 0xc0, 0xc0};
	struct perf_prologue h;
	size_t at;
	int32_t i;

	if (len < sizeof(h))
		return -1;
	memcpy(&h, p, sizeof(h));
	if (memcmp(h.magic, magic, 4) ||
	    h.byte_order != (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__))
		return -1;
	at = (size_t)(uint32_t)h.entry_offset;
	for (i = 0; i < h.entries && i < 65536; i++) {
		struct perf_entry e;

		if (at >= len || len - at < sizeof(e))
			return -1;
		memcpy(&e, p + at, sizeof(e));
		if (!entry_ok(&e, len - at))
			return -1;
		if ((size_t)(e.length - e.name_offset) >= sizeof(name) &&
		    !memcmp(p + at + e.name_offset, name, sizeof(name)))
			return p[at + (size_t)e.data_offset] == '1';
		at += (size_t)e.length;
	}
	return -1;
}
