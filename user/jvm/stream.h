/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HotSpot's compressed streams: UNSIGNED5 integers and what is written in them (line number
 * tables, the scopes of compiled code). Pure functions over bounded bytes.
 *
 * UNSIGNED5 (JDK utilities/unsigned5.hpp; before 20 code/compressedStream.hpp): up to five bytes,
 * least significant first, each worth its value times 64^i; a byte of 192 or more says that
 * another follows. Since JDK 20 a byte's value is one less than the byte, so that 0 never occurs.
 */
#ifndef GNOMON_JVM_STREAM_H
#define GNOMON_JVM_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stream {
	const uint8_t *data;
	size_t len, pos;
	uint8_t excluded; /* 0 before JDK 20, 1 since */
	bool failed;	  /* the end was passed, or a byte that cannot be */
};

static inline struct stream stream_of(const void *data, size_t len, int release)
{
	return (struct stream){.data = data, .len = len, .excluded = release >= 20};
}

uint8_t stream_byte(struct stream *s);
uint32_t stream_unsigned(struct stream *s); /* 0 once failed */
int32_t stream_signed(struct stream *s);    /* sign in bit 0 */

/*
 * The line of `bci` in a compressed line number table (JDK code/compressedStream, Method::
 * line_number_from_bci): the entry at bci, else the nearest before it. -1: none. bci < 0 means the
 * method's entry.
 */
int32_t line_find(const void *table, size_t len, int release, int32_t bci);

/* Returns the length of the table that starts at `data`, with its terminator; `len` when it has
 * none. */
size_t line_table_len(const void *data, size_t len, int release);

/* One scope of compiled code (JDK code/scopeDesc.cpp): who inlined it, and where in which method.
 */
struct scope {
	uint32_t sender; /* offset of the inlining scope, 0 none; always less than its own */
	uint32_t method; /* index into the nmethod's metadata, from 1; 0 none */
	int32_t bci;	 /* -1: the method's entry */
	bool locked;	 /* it holds monitors there */
};

/* 0, or -EINVAL when there is no well-formed scope at `offset`. */
int scope_decode(const void *data, size_t len, int release, uint32_t offset, struct scope *out);

#endif
