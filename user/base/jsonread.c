/* SPDX-License-Identifier: Apache-2.0 */
#include "base/jsonread.h"

#include <stdint.h>
#include <string.h>

#include "base/utf8.h"

static void space_skip(struct json_value *v)
{
	while (v->p < v->end && strchr(" \t\r\n", *v->p) && *v->p)
		v->p++;
}

/* From behind its first quote to behind its last. False: it does not end. */
static bool string_skip(struct json_value *v)
{
	while (v->p < v->end && *v->p != '"')
		v->p += *v->p == '\\' ? 2 : 1;
	if (v->p >= v->end) {
		v->p = v->end;
		return false;
	}
	v->p++;
	return true;
}

/* What brackets there are is counted, whichever they are: nothing is nested by a call. */
static void value_skip(struct json_value *v)
{
	size_t depth = 0;

	while (v->p < v->end) {
		char c = *v->p;

		if (!depth && (c == ',' || c == ']' || c == '}'))
			return;
		v->p++;
		if (c == '"')
			string_skip(v);
		else if (c == '{' || c == '[')
			depth++;
		else if (c == '}' || c == ']')
			depth--;
	}
}

/* True: there is a byte `c`, which is taken. */
static bool take(struct json_value *v, char c)
{
	space_skip(v);
	if (v->p >= v->end || *v->p != c)
		return false;
	v->p++;
	return true;
}

static bool key_take(struct json_value *rest, struct json_value *key)
{
	space_skip(rest);
	*key = *rest;
	return take(rest, '"') && string_skip(rest) && take(rest, ':');
}

bool json_next(struct json_value *rest, struct json_value *key, struct json_value *to)
{
	struct json_value v = *rest;

	if (!take(&v, key ? '{' : '[') && !take(&v, ','))
		return false;
	if ((key && !key_take(&v, key)) || take(&v, ']'))
		return false;
	space_skip(&v);
	*to = v;
	value_skip(&v);
	to->end = v.p;
	*rest = v;
	return to->p < to->end;
}

bool json_member(struct json_value object, const char *key, struct json_value *to)
{
	struct json_value name;
	size_t n = strlen(key);

	space_skip(&object);
	if (object.p >= object.end || *object.p != '{')
		return false;
	while (json_next(&object, &name, to))
		if ((size_t)(name.end - name.p) > n + 1 && !memcmp(name.p + 1, key, n) &&
		    name.p[n + 1] == '"')
			return true;
	return false;
}

/* ---- strings --------------------------------------------------------------------------------- */

/* Four digits. UINT32_MAX: they are none. */
static uint32_t unit_read(struct json_value *v)
{
	static const char digits[] = "0123456789abcdef";
	uint32_t unit = 0;

	if (v->end - v->p < 4)
		return UINT32_MAX;
	for (int i = 0; i < 4; i++) {
		const char *d = *v->p ? strchr(digits, *v->p) : NULL;

		if (!d && *v->p >= 'A' && *v->p <= 'F')
			d = digits + 10 + (*v->p - 'A');
		if (!d)
			return UINT32_MAX;
		unit = unit << 4 | (uint32_t)((d - digits) % 16);
		v->p++;
	}
	return unit;
}

static size_t utf8_put(uint32_t c, char *to)
{
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xc0 | c >> 6);
		to[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		to[0] = (char)(0xe0 | c >> 12);
		to[1] = (char)(0x80 | (c >> 6 & 0x3f));
		to[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | c >> 18);
	to[1] = (char)(0x80 | (c >> 12 & 0x3f));
	to[2] = (char)(0x80 | (c >> 6 & 0x3f));
	to[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

/* A character by its number, of which two units may tell one. */
static uint32_t code_read(struct json_value *v)
{
	uint32_t c = unit_read(v), low;

	if (c >= 0xd800 && c < 0xdc00 && v->end - v->p >= 6 && v->p[0] == '\\' && v->p[1] == 'u') {
		v->p += 2;
		low = unit_read(v);
		return low >= 0xdc00 && low < 0xe000
			       ? 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00)
			       : UINT32_MAX;
	}
	return c >= 0xd800 && c < 0xe000 ? UINT32_MAX : c;
}

/* What a backslash begins; UINT32_MAX: nothing. */
static uint32_t escape_read(struct json_value *v)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *at = v->p < v->end && *v->p ? strchr(from, *v->p) : NULL;

	if (v->p >= v->end)
		return UINT32_MAX;
	if (*v->p++ == 'u')
		return code_read(v);
	return at ? (uint32_t)to[at - from] : UINT32_MAX;
}

bool json_copy(struct json_value v, char *to, size_t size)
{
	size_t n = 0;
	bool good = true;

	to[0] = '\0';
	if (!take(&v, '"'))
		return false;
	while (good && v.p < v.end && *v.p != '"' && n + 5 <= size) {
		uint32_t c = (uint8_t)*v.p++;

		if (c != '\\') {
			to[n++] = (char)c;
			continue;
		}
		c = escape_read(&v);
		good = c && c != UINT32_MAX;
		n += good ? utf8_put(c, to + n) : 0;
	}
	if (!good || v.p >= v.end || *v.p != '"' || n + 5 > size) {
		to[0] = '\0';
		return false;
	}
	to[n] = '\0';
	utf8_clean(to, n, false);
	return true;
}
