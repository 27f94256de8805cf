/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing messages in the wire format of protocol buffers
 * (protobuf.dev/programming-guides/encoding). A field whose value is 0 or empty is left out, as
 * proto3 has it; where an empty one means something, protobuf_bytes() writes it.
 */
#ifndef GNOMON_BASE_PROTOBUF_H
#define GNOMON_BASE_PROTOBUF_H

#include "base/buffer.h"

void protobuf_varint(struct buffer *b, uint64_t v);
void protobuf_int(struct buffer *b, int field, uint64_t v);
void protobuf_fixed64(struct buffer *b, int field, uint64_t v);
void protobuf_bytes(struct buffer *b, int field, const void *p, size_t n);
void protobuf_text(struct buffer *b, int field, const char *s);
/* A message within, or packed numbers: what `m` holds. It is written when it is empty, too. */
void protobuf_message(struct buffer *b, int field, const struct buffer *m);

#endif
