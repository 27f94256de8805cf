/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers for people. */
#ifndef GNOMON_OUT_FORMAT_H
#define GNOMON_OUT_FORMAT_H

#include <stdint.h>

struct text32 {
	char s[32];
};

struct text32 format_ns(uint64_t ns);			/* "12.3 s", "450 ms", "2 h 03 m" */
struct text32 format_count(uint64_t n);			/* "1,234,567" */
struct text32 format_bytes(uint64_t n);			/* "12.3 MB" */
struct text32 format_share(uint64_t part, uint64_t of); /* " 12.3%" */

#endif
