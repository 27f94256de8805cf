/* SPDX-License-Identifier: Apache-2.0 */
#include "jfr/read_int.h"

#include <string.h>

/* Seven bits a byte, low first; the ninth byte is taken whole, so 64 bits fit in nine bytes. */
uint64_t cursor_varint_long(struct cursor *c)
{
	uint64_t v = 0;

	for (int i = 0; i < 9; i++) {
		uint8_t b;

		if (c->bad || c->p >= c->end) {
			c->bad = true;
			return 0;
		}
		b = *c->p++;
		if (i == 8)
			return v | (uint64_t)b << 56;
		v |= (uint64_t)(b & 0x7f) << 7 * i;
		if (!(b & 0x80))
			return v;
	}
	return v;
}

uint64_t cursor_be(struct cursor *c, int width)
{
	uint64_t v = 0;

	if (cursor_left(c) < (size_t)width) {
		c->bad = true;
		return 0;
	}
	while (width--)
		v = v << 8 | *c->p++;
	return v;
}

void cursor_skip(struct cursor *c, uint64_t n)
{
	if (cursor_left(c) < n)
		c->bad = true;
	else
		c->p += n;
}

bool cursor_string(struct cursor *c, struct jfr_value *v)
{
	v->kind = JFR_VALUE_STRING;
	v->enc = (uint8_t)cursor_be(c, 1);
	v->n = 0;
	switch (v->enc) {
	case 0:
	case 1:
		break;
	case 2:
		v->i = cursor_int(c, 8);
		break;
	case 3:
	case 5:
		v->n = (uint32_t)cursor_int(c, 4);
		v->p = c->p;
		cursor_skip(c, v->n);
		break;
	case 4:
		v->n = (uint32_t)cursor_int(c, 4);
		v->p = c->p;
		if (v->n > cursor_left(c)) /* a char takes a byte at least */
			c->bad = true;
		for (uint64_t i = 0; i < v->n && !c->bad; i++)
			cursor_int(c, 2);
		break;
	default:
		c->bad = true;
	}
	v->end = c->p;
	return !c->bad;
}
