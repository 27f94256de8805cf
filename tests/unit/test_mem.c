/* SPDX-License-Identifier: Apache-2.0 */
/* The page cache over a target's memory (user/jvm/mem.h). */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "jvm/mem.h"

#define PAGE  4096u
#define PAGES 100u

/* Each word of its pages holds its address; behind them is nothing. */
struct made {
	unsigned int reads;
	uint64_t bytes;
};

static int made_read(void *ctx, uint64_t addr, void *dst, size_t len)
{
	struct made *m = ctx;

	m->reads++;
	m->bytes += len;
	if (addr + len > PAGES * PAGE)
		return -EFAULT;
	for (size_t i = 0; i < len / 8; i++)
		((uint64_t *)dst)[i] = addr + 8 * i;
	return 0;
}

/* Who looks at objects that lie on two pages has those read. */
static void test_object(void **state)
{
	struct made made = {0};
	struct mem *m = mem_new(made_read, &made);
	uint64_t v;

	(void)state;
	assert_non_null(m);
	for (uint64_t at = PAGE / 2; at < PAGES * PAGE; at += 4 * PAGE) {
		assert_int_equal(mem_u64(m, at, &v), 0);
		assert_int_equal(mem_u64(m, at + PAGE, &v), 0);
	}
	assert_int_equal(made.bytes, PAGES / 4 * 2 * PAGE);
	mem_close(m);
}

/* Who goes through memory has several pages read at once, up to where it ends. */
static void test_ahead(void **state)
{
	struct made made = {0};
	struct mem *m = mem_new(made_read, &made);
	uint64_t v;

	(void)state;
	assert_non_null(m);
	for (uint64_t at = 8; at < PAGES * PAGE; at += PAGE / 2) {
		assert_int_equal(mem_u64(m, at, &v), 0);
		assert_int_equal(v, at);
	}
	assert_in_range(made.reads, PAGES / 8, PAGES / 4);
	assert_int_equal(mem_u64(m, PAGES * PAGE, &v), -EFAULT);
	assert_int_equal(mem_u64(m, PAGES * PAGE - 8, &v), 0);
	mem_close(m);
}

/* What was read ahead for nothing is not gone on with: objects that lie as far apart as that. */
static void test_strides(void **state)
{
	struct made made = {0};
	struct mem *m = mem_new(made_read, &made);
	uint64_t v, at;

	(void)state;
	assert_non_null(m);
	for (at = 0; at < 3; at++) /* the third with the one behind it */
		assert_int_equal(mem_u64(m, at * PAGE, &v), 0);
	for (at = 4; at < PAGES; at += at < 16 ? at : 8)
		assert_int_equal(mem_u64(m, at * PAGE, &v), 0);
	assert_int_equal(made.bytes, (4 + 2 + (PAGES - 16 + 7) / 8) * PAGE);
	mem_close(m);
}

/* Who reads here and there has a page read each time. */
static void test_apart(void **state)
{
	struct made made = {0};
	struct mem *m = mem_new(made_read, &made);
	uint64_t v;

	(void)state;
	assert_non_null(m);
	for (uint64_t i = 0; i < 20; i++)
		assert_int_equal(mem_u64(m, (i * 37 % PAGES) * PAGE, &v), 0);
	assert_int_equal(made.reads, 20);
	for (uint64_t i = 0; i < 20; i++)
		assert_int_equal(mem_u64(m, (i * 37 % PAGES) * PAGE, &v), 0);
	assert_int_equal(made.reads, 20);
	mem_flush(m);
	assert_int_equal(mem_u64(m, 0, &v), 0);
	assert_int_equal(made.reads, 21);
	mem_close(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ahead), cmocka_unit_test(test_object),
		cmocka_unit_test(test_strides), cmocka_unit_test(test_apart)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
