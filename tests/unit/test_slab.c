/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/slab.h"

#define ITEMS 20000

struct item {
	uint64_t no, twice[9];
};

static struct item *items[ITEMS];

static void item_take(struct slab *s, unsigned int i)
{
	static const struct item none;

	items[i] = slab_alloc(s);
	assert_non_null(items[i]);
	assert_int_equal((uintptr_t)items[i] % 8, 0);
	assert_memory_equal(items[i], &none, sizeof(none));
	items[i]->no = i;
	items[i]->twice[8] = 2 * i;
}

static void items_check(unsigned int from, unsigned int step)
{
	for (unsigned int i = from; i < ITEMS; i += step) {
		assert_int_equal(items[i]->no, i);
		assert_int_equal(items[i]->twice[8], 2 * i);
	}
}

/* Each is its own, zero when it is given out, and given out again when it was freed. */
static void own(void **state)
{
	struct slab s = {.item = sizeof(struct item)};
	struct item *freed;

	(void)state;
	for (unsigned int i = 0; i < ITEMS; i++)
		item_take(&s, i);
	items_check(0, 1);
	for (unsigned int i = 0; i < ITEMS; i += 2)
		slab_free(&s, items[i]);
	items_check(1, 2);
	freed = items[ITEMS - 2];
	for (unsigned int i = 0; i < ITEMS; i += 2)
		item_take(&s, i);
	assert_ptr_equal(items[0], freed); /* the newest first */
	items_check(0, 1);
	slab_release(&s);
	assert_null(s.blocks);
	item_take(&s, 0);
	slab_release(&s);
}

/* What is freed is taken again before there is more memory. */
static void reused(void **state)
{
	struct slab s = {.item = sizeof(struct item)};
	struct slab_block *block;

	(void)state;
	item_take(&s, 0);
	block = s.blocks;
	for (unsigned int i = 0; i < ITEMS; i++) {
		item_take(&s, 1);
		slab_free(&s, items[1]);
	}
	assert_ptr_equal(s.blocks, block);
	slab_release(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(own), cmocka_unit_test(reused)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
