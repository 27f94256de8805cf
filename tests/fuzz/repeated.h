/* SPDX-License-Identifier: Apache-2.0 */
/* A fuzzer's input as memory without an end: the same bytes again and again. */
#ifndef GNOMON_FUZZ_REPEATED_H
#define GNOMON_FUZZ_REPEATED_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* n bytes from `addr` on of data[len], len not 0. */
static inline void repeated_copy(const uint8_t *data, size_t len, uint64_t addr, void *dst,
				 size_t n)
{
	uint8_t *to = dst;

	while (n) {
		size_t at = addr % len, piece = len - at < n ? len - at : n;

		memcpy(to, data + at, piece);
		to += piece;
		addr += piece;
		n -= piece;
	}
}

#endif
