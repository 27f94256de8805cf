/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/board.h"

#include <stddef.h>
#include <sys/mman.h>

#define TRIES 1000

struct board *board_new(void)
{
	void *p = mmap(NULL, sizeof(struct board), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

void board_free(struct board *b)
{
	if (b)
		munmap(b, sizeof(*b));
}

void board_totals_set(struct board *b, const struct totals *t)
{
	b->changes++;
	atomic_thread_fence(memory_order_seq_cst);
	b->totals = *t;
	atomic_thread_fence(memory_order_seq_cst);
	b->changes++;
}

/* Who writes may have ended in the middle: nobody waits for it. */
bool board_totals_get(const struct board *b, struct totals *out)
{
	for (int i = 0; i < TRIES; i++) {
		uint32_t before = b->changes;
		struct totals t;

		atomic_thread_fence(memory_order_seq_cst);
		t = b->totals;
		atomic_thread_fence(memory_order_seq_cst);
		if (!(before & 1) && b->changes == before) {
			*out = t;
			return true;
		}
	}
	return false;
}
