/* SPDX-License-Identifier: Apache-2.0 */
#include "jvm/perfdata.h"

#include <errno.h>
#include <string.h>

static const uint8_t magic[4] = {0xca, 0xfe, 0xc0, 0xc0};

struct prologue {
	uint8_t magic[4];
	uint8_t byte_order, major, minor, accessible;
	int32_t used, overflow;
	int64_t modified;
	int32_t entry_offset, entries;
};
_Static_assert(sizeof(struct prologue) == PERFDATA_PROLOGUE, "perfMemory.hpp");

struct entry {
	int32_t length, name, vector;
	uint8_t type, flags, units, variability;
	int32_t data;
};

static int prologue_read(const uint8_t *p, size_t len, struct prologue *h)
{
	if (len < sizeof(*h))
		return -EBADMSG;
	memcpy(h, p, sizeof(*h));
	if (memcmp(h->magic, magic, sizeof(magic)) ||
	    h->byte_order != (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) || h->major != 2)
		return -EBADMSG;
	return 0;
}

int perfdata_head(const uint8_t *p, size_t len, struct perfdata_head *out)
{
	struct prologue h;

	if (prologue_read(p, len, &h) || h.used < (int32_t)sizeof(h) ||
	    h.used > (int32_t)PERFDATA_MAX || h.entries < 0 ||
	    h.entries > (int32_t)PERFDATA_ENTRIES_MAX)
		return -EBADMSG;
	*out = (struct perfdata_head){
		.used = (uint32_t)h.used,
		.entries = (uint32_t)h.entries,
		.accessible = h.accessible != 0,
		.overflow = h.overflow > 0 ? (uint32_t)h.overflow : 0,
	};
	return 0;
}

/* Whether an entry lies within `room` bytes, with its terminated name and its value in it. */
static bool entry_take(const uint8_t *p, size_t room, struct entry *e, uint32_t *bytes)
{
	const char *name;

	if (room < sizeof(*e))
		return false;
	memcpy(e, p, sizeof(*e));
	if (e->length < (int32_t)sizeof(*e) || (size_t)e->length > room ||
	    e->name < (int32_t)sizeof(*e) || e->name >= e->length || e->data < 0 ||
	    e->data >= e->length || e->vector < 0)
		return false;
	name = (const char *)p + e->name;
	*bytes = e->vector ? (uint32_t)e->vector : 8;
	if (e->type != PERFDATA_LONG && !e->vector)
		*bytes = 1;
	return *bytes <= (uint32_t)(e->length - e->data) &&
	       memchr(name, 0, (size_t)(e->length - e->name));
}

int perfdata_each(const uint8_t *p, size_t len, perfdata_fn fn, void *ctx)
{
	struct prologue h;
	size_t at;

	if (prologue_read(p, len, &h) || h.entry_offset < (int32_t)sizeof(h))
		return -EBADMSG;
	at = (size_t)h.entry_offset;
	for (int32_t i = 0; i < h.entries && i < (int32_t)PERFDATA_ENTRIES_MAX; i++) {
		struct perfdata_entry out;
		struct entry e;

		if (at >= len || !entry_take(p + at, len - at, &e, &out.bytes))
			return -EBADMSG;
		out.name = (const char *)p + at + e.name;
		out.type = (char)e.type;
		out.at = (uint32_t)at + (uint32_t)e.data;
		if (!fn(ctx, &out))
			return 0;
		at += (size_t)e.length;
	}
	return 0;
}

struct capable {
	const uint8_t *p;
	int answer;
};

static bool on_capability(void *ctx, const struct perfdata_entry *e)
{
	struct capable *c = ctx;

	if (strcmp(e->name, "sun.rt.jvmCapabilities"))
		return true;
	c->answer = c->p[e->at] == '1';
	return false;
}

int perfdata_can_attach(const uint8_t *p, size_t len)
{
	struct capable c = {p, -1};

	perfdata_each(p, len, on_capability, &c);
	return c.answer;
}
