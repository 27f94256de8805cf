/* SPDX-License-Identifier: Apache-2.0 */
#include "jfr/read_text.h"

#include <string.h>

void text_add_code(struct buffer *to, uint32_t c)
{
	if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		c = 0xfffd;
	if (c < 0x80) {
		buffer_byte(to, (uint8_t)c);
	} else if (c < 0x800) {
		buffer_byte(to, (uint8_t)(0xc0 | c >> 6));
		buffer_byte(to, (uint8_t)(0x80 | (c & 0x3f)));
	} else if (c < 0x10000) {
		buffer_byte(to, (uint8_t)(0xe0 | c >> 12));
		buffer_byte(to, (uint8_t)(0x80 | (c >> 6 & 0x3f)));
		buffer_byte(to, (uint8_t)(0x80 | (c & 0x3f)));
	} else {
		buffer_byte(to, (uint8_t)(0xf0 | c >> 18));
		buffer_byte(to, (uint8_t)(0x80 | (c >> 12 & 0x3f)));
		buffer_byte(to, (uint8_t)(0x80 | (c >> 6 & 0x3f)));
		buffer_byte(to, (uint8_t)(0x80 | (c & 0x3f)));
	}
}

/* The length of the well-formed sequence at p, or 0 (Unicode 15, table 3-7). */
static size_t sequence_length(const uint8_t *p, size_t n, uint32_t *code)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t len = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;

	if (!len || len > n || p[0] > 0xf4)
		return 0;
	*code = len == 1 ? p[0] : p[0] & (0x7fu >> len);
	for (size_t i = 1; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (p[i] & 0x3f);
	}
	if (*code < least[len] || *code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000))
		return 0;
	return len;
}

/*
 * The JVM writes names of threads in its own dialect: what is beyond U+FFFF as two surrogates of
 * three bytes each.
 */
static bool surrogate_pair(const uint8_t *p, size_t n, uint32_t *code)
{
	uint32_t high, low;

	if (n < 6 || p[0] != 0xed || (p[1] & 0xf0) != 0xa0 || (p[2] & 0xc0) != 0x80 ||
	    p[3] != 0xed || (p[4] & 0xf0) != 0xb0 || (p[5] & 0xc0) != 0x80)
		return false;
	high = (p[1] & 0x0fu) << 6 | (p[2] & 0x3fu);
	low = (p[4] & 0x0fu) << 6 | (p[5] & 0x3fu);
	*code = 0x10000 + (high << 10 | low);
	return true;
}

void text_add_utf8(struct buffer *to, const uint8_t *p, size_t n)
{
	uint32_t code = 0;

	while (n) {
		size_t run = 0, len;

		while (run < n && p[run] < 0x80)
			run++;
		buffer_add(to, p, run);
		p += run;
		n -= run;
		if (!n)
			return;
		len = surrogate_pair(p, n, &code) ? 6 : sequence_length(p, n, &code);
		text_add_code(to, len ? code : 0xfffd);
		p += len ? len : 1;
		n -= len ? len : 1;
	}
}

void text_add_latin1(struct buffer *to, const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		text_add_code(to, p[i]);
}
