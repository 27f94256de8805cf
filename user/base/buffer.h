/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growable byte buffer. A failed growth sets `failed`, drops the bytes and keeps the rest
 * consistent, so that a sequence of appends is checked once at its end.
 */
#ifndef GNOMON_BASE_BUFFER_H
#define GNOMON_BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer {
	uint8_t *data;
	size_t len;
	size_t cap;
	bool failed;
};

#define BUFFER_INIT                                                                                \
	{                                                                                          \
		0                                                                                  \
	}

/* Make room for n more bytes; returns where they go, or NULL (and sets failed). len is unchanged.
 */
void *buffer_reserve(struct buffer *b, size_t n);
void buffer_add(struct buffer *b, const void *p, size_t n);
void buffer_byte(struct buffer *b, uint8_t v);
void buffer_printf(struct buffer *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buffer_clear(struct buffer *b); /* keeps the memory */
void buffer_free(struct buffer *b);

#endif
