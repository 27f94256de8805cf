/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory.h"

#include <malloc.h>

#define LARGE_BYTES                                                                                \
	(128 << 10) /* from here on a block is mapped by itself, and unmapped when freed */
#define HEAPS_MAX 2 /* threads beside the naming one hardly allocate */

void memory_configure(void)
{
	mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
	mallopt(M_ARENA_MAX, HEAPS_MAX);
}

void memory_give_back(void)
{
	malloc_trim(0);
}
