/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

#include <string.h>

static size_t lead_length(unsigned char c)
{
	return c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
}

/* 0 also where the character ends beyond `max` bytes. */
static size_t char_of(const char *s, size_t max, uint32_t *code)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t n = lead_length((unsigned char)*s);
	uint32_t c;

	if (n <= 1) {
		*code = (unsigned char)*s;
		return n;
	}
	c = (unsigned char)*s & (0x7fu >> n);
	if (n > max)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if (((unsigned char)s[i] & 0xc0) != 0x80) /* stops at the terminator, too */
			return 0;
		c = c << 6 | ((unsigned char)s[i] & 0x3f);
	}
	if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*code = c;
	return n;
}

size_t utf8_char(const char *s, uint32_t *code)
{
	return char_of(s, SIZE_MAX, code);
}

static bool is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0);
}

void utf8_printable(const char *s, char *to, size_t cap)
{
	size_t at = 0;

	while (*s) {
		uint32_t c;
		size_t n = utf8_char(s, &c);
		bool bad = !n || is_control(c);

		if (at + (bad ? 1 : n) >= cap)
			break;
		if (bad)
			to[at++] = '?';
		else
			memcpy(to + at, s, n);
		at += bad ? 0 : n;
		s += n ? n : 1;
	}
	to[at] = '\0';
}

void utf8_clean(char *s, size_t n, bool lines)
{
	while (n) {
		uint32_t c = 0;
		size_t k = char_of(s, n, &c), step = k ? k : 1;

		if (!k || (is_control(c) && !(lines && (c == '\n' || c == '\t'))))
			memset(s, '?', step);
		s += step;
		n -= step;
	}
}

size_t utf8_count(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}
