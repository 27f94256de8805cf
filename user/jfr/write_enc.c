/* SPDX-License-Identifier: Apache-2.0 */
#include "jfr/write_enc.h"

#include <string.h>

size_t leb_encode(uint8_t out[JFR_LEB_MAX], uint64_t v)
{
	size_t n = 0;

	while (v > 0x7f && n < JFR_LEB_MAX - 1) {
		out[n++] = (uint8_t)v | 0x80;
		v >>= 7;
	}
	out[n++] = (uint8_t)v;
	return n;
}

size_t leb_size(uint64_t v)
{
	uint8_t scratch[JFR_LEB_MAX];

	return leb_encode(scratch, v);
}

size_t leb_decode(const uint8_t *p, size_t n, uint64_t *v)
{
	*v = 0;
	for (size_t i = 0; i < n && i < JFR_LEB_MAX; i++) {
		if (i == JFR_LEB_MAX - 1) {
			*v |= (uint64_t)p[i] << 56;
			return JFR_LEB_MAX;
		}
		*v |= (uint64_t)(p[i] & 0x7f) << 7 * i;
		if (!(p[i] & 0x80))
			return i + 1;
	}
	return 0;
}

void put_leb(struct buffer *b, uint64_t v)
{
	uint8_t *p = buffer_reserve(b, JFR_LEB_MAX);

	if (p)
		b->len += leb_encode(p, v);
}

void put_be(struct buffer *b, uint64_t v, unsigned int bytes)
{
	while (bytes--)
		buffer_byte(b, (uint8_t)(v >> 8 * bytes));
}

void put_float(struct buffer *b, float v)
{
	uint32_t bits;

	memcpy(&bits, &v, sizeof(bits));
	put_be(b, bits, 4);
}

void put_sized(struct buffer *b, const void *head, size_t head_len, const void *body,
	       size_t body_len)
{
	size_t own = 1;

	while (leb_size(head_len + body_len + own) > own)
		own++;
	if (!buffer_reserve(b, own + head_len + body_len))
		return; /* all or nothing */
	put_leb(b, head_len + body_len + own);
	buffer_add(b, head, head_len);
	buffer_add(b, body, body_len);
}

/* ---- text ------------------------------------------------------------------------------------ */

static bool is_tail(uint8_t c)
{
	return (c & 0xc0) == 0x80;
}

/* Length of the well-formed character at p (Unicode table 3-7), 0 if there is none. */
static size_t utf8_length(const uint8_t *p, size_t n)
{
	uint8_t lo = 0x80, hi = 0xbf;
	size_t len;

	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	len = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	if (p[0] == 0xe0)
		lo = 0xa0; /* shorter forms exist */
	else if (p[0] == 0xed)
		hi = 0x9f; /* surrogates */
	else if (p[0] == 0xf0)
		lo = 0x90;
	else if (p[0] == 0xf4)
		hi = 0x8f; /* above U+10FFFF */
	if (n < len || p[1] < lo || p[1] > hi)
		return 0;
	for (size_t i = 2; i < len; i++)
		if (!is_tail(p[i]))
			return 0;
	return len;
}

/* The JVM writes characters above U+FFFF as two surrogates of three bytes each. */
static bool surrogate_pair(const uint8_t *p, size_t n, uint8_t out[4])
{
	uint32_t hi, lo, c;

	if (n < 6 || p[0] != 0xed || p[3] != 0xed || (p[1] & 0xf0) != 0xa0 ||
	    (p[4] & 0xf0) != 0xb0 || !is_tail(p[2]) || !is_tail(p[5]))
		return false;
	hi = (uint32_t)(p[1] & 0x0f) << 6 | (p[2] & 0x3f);
	lo = (uint32_t)(p[4] & 0x0f) << 6 | (p[5] & 0x3f);
	c = 0x10000 + (hi << 10 | lo);
	out[0] = (uint8_t)(0xf0 | c >> 18);
	out[1] = 0x80 | (c >> 12 & 0x3f);
	out[2] = 0x80 | (c >> 6 & 0x3f);
	out[3] = 0x80 | (c & 0x3f);
	return true;
}

void text_clean(struct buffer *b, const char *s, size_t len, size_t max)
{
	const uint8_t *p = (const uint8_t *)s, *end = p + len;
	size_t start = b->len;

	while (p < end) {
		size_t n = utf8_length(p, (size_t)(end - p)), used = n,
		       room = max - (b->len - start);
		uint8_t pair[4];
		const uint8_t *from = p;

		if (!n && surrogate_pair(p, (size_t)(end - p), pair)) {
			from = pair;
			n = 4;
			used = 6;
		} else if (!n) {
			from = (const uint8_t *)"\xef\xbf\xbd";
			n = 3;
			used = 1;
		}
		if (n > room)
			break;
		buffer_add(b, from, n);
		if (b->failed)
			break;
		p += used;
	}
}

static bool text_is_clean(const char *s, size_t len)
{
	const uint8_t *p = (const uint8_t *)s, *end = p + len;
	size_t n;

	for (; p < end; p += n) {
		n = utf8_length(p, (size_t)(end - p));
		if (!n)
			return false;
	}
	return true;
}

void put_symbol(struct buffer *b, const char *s, size_t len)
{
	struct buffer clean = BUFFER_INIT;

	if (len <= JFR_STRING_MAX && text_is_clean(s, len)) {
		buffer_byte(b, 3);
		put_leb(b, len);
		buffer_add(b, s, len);
		return;
	}
	/* the length is known only afterwards */
	text_clean(&clean, s, len, JFR_STRING_MAX);
	buffer_byte(b, 3);
	put_leb(b, clean.len);
	buffer_add(b, clean.data, clean.len);
	b->failed |= clean.failed;
	buffer_free(&clean);
}

void put_string(struct buffer *b, const char *s)
{
	if (!s)
		buffer_byte(b, 0);
	else if (!*s)
		buffer_byte(b, 1);
	else
		put_symbol(b, s, strnlen(s, JFR_STRING_MAX));
}
