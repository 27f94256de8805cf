/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JVM's static variables as words. Its tables tell where a few of them lie; of the others it is
 * known that they lie near those: some 0.7 MB of writable memory, with 5,600 pointers in it. What
 * is found there is hostile like all of its memory.
 */
#ifndef GNOMON_JVM_STATICS_H
#define GNOMON_JVM_STATICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jvm/mem.h"

#define STATICS_BYTES  (1u << 20) /* so many bytes above and below are looked at */
#define STATICS_BEYOND 8	  /* words */

/* A piece of it: n words, and up to STATICS_BEYOND of the next one behind them, `all` together. */
struct statics_piece {
	uint64_t addr;
	const uint64_t *words;
	size_t n, all;
};

/*
 * Hands all of it to `fn`, piece by piece, around `one`, the address of one of the variables, until
 * it says false.
 */
typedef bool (*statics_fn)(void *ctx, const struct statics_piece *p);
void statics_each(struct mem *mem, uint64_t one, statics_fn fn, void *ctx);

#endif
