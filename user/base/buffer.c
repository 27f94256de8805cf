/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *buffer_reserve(struct buffer *b, size_t n)
{
	size_t cap = b->cap ? b->cap : 256;
	uint8_t *p;

	if (n > SIZE_MAX / 2 - b->len)
		goto fail;
	if (b->len + n <= b->cap)
		return b->data + b->len;
	while (cap < b->len + n)
		cap *= 2;
	p = realloc(b->data, cap);
	if (!p)
		goto fail;
	b->data = p;
	b->cap = cap;
	return b->data + b->len;
fail:
	b->failed = true;
	return NULL;
}

void buffer_add(struct buffer *b, const void *p, size_t n)
{
	void *to;

	if (!n)
		return;
	to = buffer_reserve(b, n);
	if (!to)
		return;
	memcpy(to, p, n);
	b->len += n;
}

void buffer_byte(struct buffer *b, uint8_t v)
{
	buffer_add(b, &v, 1);
}

void buffer_printf(struct buffer *b, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0 || !buffer_reserve(b, (size_t)n + 1)) {
		b->failed = true;
		return;
	}
	va_start(ap, fmt);
	vsnprintf((char *)b->data + b->len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->len += (size_t)n;
}

void buffer_clear(struct buffer *b)
{
	b->len = 0;
	b->failed = false;
}

void buffer_free(struct buffer *b)
{
	free(b->data);
	*b = (struct buffer){0};
}
