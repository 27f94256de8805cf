/* SPDX-License-Identifier: Apache-2.0 */
#include "jvm/statics.h"

#define PAGE  4096u
#define WORDS (PAGE / 8)

enum outcome { GO_ON, UNREADABLE, ENOUGH };

static enum outcome page_take(struct mem *mem, uint64_t addr, statics_fn fn, void *ctx)
{
	uint64_t words[WORDS + STATICS_BEYOND];
	struct statics_piece p = {.addr = addr, .words = words, .n = WORDS, .all = WORDS};

	if (mem_read_now(mem, addr, words, PAGE))
		return UNREADABLE;
	if (!mem_read_now(mem, addr + PAGE, words + WORDS, STATICS_BEYOND * sizeof(*words)))
		p.all += STATICS_BEYOND;
	return fn(ctx, &p) ? GO_ON : ENOUGH;
}

void statics_each(struct mem *mem, uint64_t one, statics_fn fn, void *ctx)
{
	uint64_t from = one & ~(uint64_t)(PAGE - 1);
	enum outcome o = GO_ON;

	for (uint64_t at = from; o == GO_ON && at - from < STATICS_BYTES; at += PAGE)
		o = page_take(mem, at, fn, ctx);
	if (o == ENOUGH)
		return;
	o = GO_ON;
	for (uint64_t at = from - PAGE; o == GO_ON && from - at < STATICS_BYTES; at -= PAGE)
		o = page_take(mem, at, fn, ctx);
}
