/* SPDX-License-Identifier: Apache-2.0 */
#include "jvm/stream.h"

#include <errno.h>

#define MORE	  192 /* smallest byte that another one follows */
#define MAX_BYTES 5

uint8_t stream_byte(struct stream *s)
{
	if (s->failed || s->pos >= s->len) {
		s->failed = true;
		return 0;
	}
	return s->data[s->pos++];
}

uint32_t stream_unsigned(struct stream *s)
{
	uint32_t sum = 0;

	for (unsigned int i = 0; i < MAX_BYTES; i++) {
		uint8_t b = stream_byte(s);

		if (s->failed || b < s->excluded) {
			s->failed = true;
			return 0;
		}
		sum += (uint32_t)(b - s->excluded) << (6 * i);
		if (b < MORE)
			break;
	}
	return sum;
}

int32_t stream_signed(struct stream *s)
{
	uint32_t v = stream_unsigned(s);

	return (int32_t)(v >> 1 ^ (0 - (v & 1)));
}

/*
 * The next entry of a line number table: one byte with the steps of bci (5 bits) and line (3 bits),
 * or 0xff and both as signed integers. False at the end, which a zero byte marks.
 */
static bool line_next(struct stream *s, int64_t *bci, int64_t *line)
{
	uint8_t b = stream_byte(s);

	if (s->failed || !b)
		return false;
	if (b == 0xff) {
		*bci += stream_signed(s);
		*line += stream_signed(s);
	} else {
		*bci += b >> 3;
		*line += b & 7;
	}
	return !s->failed;
}

int32_t line_find(const void *table, size_t len, int release, int32_t bci)
{
	struct stream s = stream_of(table, len, release);
	int64_t at = 0, line = 0, best_at = 0, best = -1;

	if (bci < 0)
		bci = 0;
	while (line_next(&s, &at, &line)) {
		if (at == bci)
			return line > 0 && line <= UINT16_MAX ? (int32_t)line : -1;
		if (at < bci && at >= best_at) {
			best_at = at;
			best = line;
		}
	}
	return best > 0 && best <= UINT16_MAX ? (int32_t)best : -1;
}

size_t line_table_len(const void *data, size_t len, int release)
{
	struct stream s = stream_of(data, len, release);
	int64_t at = 0, line = 0;

	while (line_next(&s, &at, &line))
		;
	return s.pos;
}

int scope_decode(const void *data, size_t len, int release, uint32_t offset, struct scope *out)
{
	struct stream s = stream_of(data, len, release);

	if (!offset || offset >= len)
		return -EINVAL;
	s.pos = offset;
	out->sender = stream_unsigned(&s);
	out->method = stream_unsigned(&s);
	out->bci = (int32_t)(stream_unsigned(&s) - 1);
	if (s.failed || out->sender >= offset)
		return -EINVAL;
	stream_unsigned(&s); /* locals */
	stream_unsigned(&s); /* expressions */
	out->locked = stream_unsigned(&s) != 0;
	return 0;
}
