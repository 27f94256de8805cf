/* SPDX-License-Identifier: Apache-2.0 */
#include "base/protobuf.h"

#include <string.h>

enum wire { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2 };

static void tag(struct buffer *b, int field, enum wire w)
{
	protobuf_varint(b, (uint64_t)field << 3 | w);
}

void protobuf_varint(struct buffer *b, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		buffer_byte(b, (uint8_t)(v | 0x80));
	buffer_byte(b, (uint8_t)v);
}

void protobuf_int(struct buffer *b, int field, uint64_t v)
{
	if (!v)
		return;
	tag(b, field, WIRE_VARINT);
	protobuf_varint(b, v);
}

void protobuf_fixed64(struct buffer *b, int field, uint64_t v)
{
	if (!v)
		return;
	tag(b, field, WIRE_FIXED64);
	for (int i = 0; i < 8; i++, v >>= 8)
		buffer_byte(b, (uint8_t)v);
}

void protobuf_bytes(struct buffer *b, int field, const void *p, size_t n)
{
	tag(b, field, WIRE_BYTES);
	protobuf_varint(b, n);
	buffer_add(b, p, n);
}

void protobuf_text(struct buffer *b, int field, const char *s)
{
	if (*s)
		protobuf_bytes(b, field, s, strlen(s));
}

void protobuf_message(struct buffer *b, int field, const struct buffer *m)
{
	protobuf_bytes(b, field, m->data, m->len);
	b->failed |= m->failed;
}
