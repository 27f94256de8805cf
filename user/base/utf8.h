/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 in text that others chose. */
#ifndef GNOMON_BASE_UTF8_H
#define GNOMON_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Length in bytes of the well-formed character (RFC 3629: shortest form, no surrogates, at most
 * U+10FFFF) at the start of the NUL terminated s, and its code point; 0 when it is not well-formed.
 */
size_t utf8_char(const char *s, uint32_t *code);

/*
 * Copy for a person's eyes: control characters (C0, DEL, C1) and bytes that are not UTF-8 become
 * '?', so that no text can steer a terminal. Cut at a character boundary to fit.
 */
void utf8_printable(const char *s, char *to, size_t cap);

/*
 * The same in place, of n bytes, so that none is more or less: each byte of what a person should
 * not see becomes '?'. '\n' and '\t' stay with `lines`, for text of our own that others' names are
 * in.
 */
void utf8_clean(char *s, size_t n, bool lines);

/* Characters in s: its width in columns as long as none is wide or combining. */
size_t utf8_count(const char *s);

#endif
