/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encodings of JFR 2.1 with compressed integers: LEB128 of at most nine bytes, the ninth holding
 * eight bits; floats and the chunk header big-endian; strings as an encoding byte and UTF-8.
 * A failed allocation leaves buffer.failed set.
 */
#ifndef GNOMON_JFR_WRITE_ENC_H
#define GNOMON_JFR_WRITE_ENC_H

#include "base/buffer.h"

#define JFR_LEB_MAX 9

/* Longest string of an event kept, bytes: a command line may be long, a hostile one endless. */
#define JFR_STRING_MAX 65536

/* Returns the bytes used. */
size_t leb_encode(uint8_t out[JFR_LEB_MAX], uint64_t v);
size_t leb_size(uint64_t v);
/* Returns the bytes read, 0 if they do not end within n. */
size_t leb_decode(const uint8_t *p, size_t n, uint64_t *v);

void put_leb(struct buffer *b, uint64_t v);
void put_be(struct buffer *b, uint64_t v, unsigned int bytes);
void put_float(struct buffer *b, float v);

/* NULL is encoding 0, "" encoding 1, others 3; cleaned as by text_clean(). */
void put_string(struct buffer *b, const char *s);
/* Always encoding 3, which is all that converters understand in the symbol pool. */
void put_symbol(struct buffer *b, const char *s, size_t len);

/* An event of two parts (the second may be empty) behind its size, which counts itself. */
void put_sized(struct buffer *b, const void *head, size_t head_len, const void *body,
	       size_t body_len);

/*
 * Append s as valid UTF-8, at most `max` bytes of it: what is not UTF-8 becomes U+FFFD, and the
 * JVM's surrogate pairs (JVMS 4.4.7) become the character they stand for.
 */
void text_clean(struct buffer *b, const char *s, size_t len, size_t max);

#endif
