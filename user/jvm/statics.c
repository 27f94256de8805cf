/* SPDX-License-Identifier: Apache-2.0 */
#include "jvm/statics.h"

#define PAGE  4096u
#define CHUNK (8 * PAGE) /* is read at once where all of it can be */

_Static_assert(STATICS_BYTES % CHUNK == 0, "it is looked at in chunks");

enum outcome { GO_ON, UNREADABLE, ENOUGH };

static enum outcome piece_take(struct mem *mem, uint64_t addr, size_t bytes, statics_fn fn,
			       void *ctx)
{
	uint64_t words[CHUNK / 8 + STATICS_BEYOND];
	struct statics_piece p = {.addr = addr, .words = words, .n = bytes / 8, .all = bytes / 8};

	if (!mem_read_now(mem, addr, words, bytes + STATICS_BEYOND * sizeof(*words)))
		p.all += STATICS_BEYOND;
	else if (mem_read_now(mem, addr, words, bytes))
		return UNREADABLE;
	return fn(ctx, &p) ? GO_ON : ENOUGH;
}

/* Where not all of it can be read, its pages are tried from the first one on, or from the last. */
static enum outcome chunk_take(struct mem *mem, uint64_t addr, bool up, statics_fn fn, void *ctx)
{
	enum outcome o = piece_take(mem, addr, CHUNK, fn, ctx);

	if (o != UNREADABLE)
		return o;
	o = GO_ON;
	for (unsigned int i = 0; o == GO_ON && i < CHUNK; i += PAGE)
		o = piece_take(mem, addr + (up ? i : CHUNK - PAGE - i), PAGE, fn, ctx);
	return o;
}

void statics_each(struct mem *mem, uint64_t one, statics_fn fn, void *ctx)
{
	uint64_t from = one & ~(uint64_t)(PAGE - 1);
	enum outcome o = GO_ON;

	for (uint64_t n = 0; o == GO_ON && n < STATICS_BYTES; n += CHUNK)
		o = chunk_take(mem, from + n, true, fn, ctx);
	if (o == ENOUGH)
		return;
	o = GO_ON;
	for (uint64_t n = CHUNK; o == GO_ON && n <= STATICS_BYTES; n += CHUNK)
		o = chunk_take(mem, from - n, false, fn, ctx);
}
