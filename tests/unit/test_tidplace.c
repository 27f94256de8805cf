/* SPDX-License-Identifier: Apache-2.0 */
/* The search for where a JVM keeps its threads' tids, in memory made for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "jvm/tidplace.h"

#define BASE	 0x10000
#define THREADS	 40
#define JT_SIZE	 1024 /* of a JavaThread */
#define OS_SIZE	 256
#define OSTHREAD 616
#define TID	 44
#define FIRST	 5000

struct jvm {
	uint8_t mem[THREADS * (JT_SIZE + OS_SIZE)];
	struct tidplace_thread threads[THREADS];
	uint32_t tids[THREADS];
	struct tidplace_census c;
	uint64_t reads;
	bool hall_of_mirrors; /* every word points to a page full of the first thread's tid */
};

static int jvm_read(void *ctx, uint64_t addr, void *to, size_t n)
{
	struct jvm *j = ctx;

	j->reads++;
	if (j->hall_of_mirrors) {
		for (size_t i = 0; i + 4 <= n; i += 4)
			memcpy((char *)to + i, &(uint32_t){FIRST}, 4);
		for (size_t i = 0; n > OS_SIZE && i + 8 <= n; i += 8)
			memcpy((char *)to + i, &(uint64_t){BASE}, 8);
		return 0;
	}
	if (addr < BASE || addr - BASE > sizeof(j->mem) || n > sizeof(j->mem) - (addr - BASE))
		return -EFAULT;
	memcpy(to, j->mem + (addr - BASE), n);
	return 0;
}

static void put(struct jvm *j, uint64_t addr, const void *v, size_t n)
{
	memcpy(j->mem + (addr - BASE), v, n);
}

static uint64_t osthread_at(uint32_t i)
{
	return BASE + THREADS * JT_SIZE + i * OS_SIZE;
}

/* Every thread with its tid in place; of the first two the collector knows it. */
static void jvm_make(struct jvm *j)
{
	memset(j, 0, sizeof(*j));
	for (uint32_t i = 0; i < THREADS; i++) {
		uint64_t os = osthread_at(i);

		j->tids[i] = FIRST + i;
		j->threads[i].javathread = BASE + i * JT_SIZE;
		j->threads[i].tid = i < 2 ? FIRST + i : 0;
		put(j, j->threads[i].javathread + OSTHREAD, &os, sizeof(os));
		put(j, os + TID, &j->tids[i], sizeof(j->tids[i]));
	}
	j->c = (struct tidplace_census){
		.read = jvm_read,
		.ctx = j,
		.threads = j->threads,
		.nthreads = THREADS,
		.tids = j->tids,
		.ntids = THREADS,
	};
}

static void found(void **state)
{
	static struct jvm j;
	struct tidplace at;

	jvm_make(&j);
	assert_int_equal(tidplace_find(&j.c, &at), 0);
	assert_int_equal(at.osthread, OSTHREAD);
	assert_int_equal(at.thread_id, TID);
	assert_int_equal(tidplace_tid(&j.c, &at, j.threads[7].javathread), FIRST + 7);
	assert_int_equal(tidplace_tid(&j.c, &at, 8), 0);
}

/* The known tid lies in other places, too, at which the other threads have nothing. */
static void not_the_first(void **state)
{
	static struct jvm j;
	struct tidplace at;
	uint64_t os;

	jvm_make(&j);
	os = osthread_at(0);
	put(&j, j.threads[0].javathread + 64, &os, sizeof(os));
	put(&j, os + 8, &j.tids[0], sizeof(j.tids[0]));
	assert_int_equal(tidplace_find(&j.c, &at), 0);
	assert_int_equal(at.osthread, OSTHREAD);
	assert_int_equal(at.thread_id, TID);
}

/* Five of 40 may have ended (an eighth), and one more; not seven. */
static void some_ended(void **state)
{
	static struct jvm j;
	struct tidplace at;

	jvm_make(&j);
	j.c.ntids = THREADS - 6;
	assert_int_equal(tidplace_find(&j.c, &at), 0);
	j.c.ntids = THREADS - 7;
	assert_int_equal(tidplace_find(&j.c, &at), -ENOENT);
}

static void two_alike(void **state)
{
	static struct jvm j;
	struct tidplace at;

	jvm_make(&j);
	put(&j, osthread_at(9) + TID, &j.tids[8], sizeof(j.tids[8]));
	assert_int_equal(tidplace_find(&j.c, &at), -ENOENT);
}

static void none_known(void **state)
{
	static struct jvm j;
	struct tidplace at;

	jvm_make(&j);
	j.threads[0].tid = 1; /* no task of the process */
	j.threads[1].tid = 0;
	assert_int_equal(tidplace_find(&j.c, &at), -ENOENT);
	assert_int_equal(j.reads, 0);
}

/* What nearly fits at each of 16,384 places, for 10,000 threads. */
static void given_up(void **state)
{
	static struct tidplace_thread many[10000];
	static struct jvm j;
	struct tidplace at;

	jvm_make(&j);
	j.hall_of_mirrors = true;
	many[0].tid = FIRST;
	j.c.threads = many;
	j.c.nthreads = 10000;
	assert_int_equal(tidplace_find(&j.c, &at), -ENOENT);
	assert_true(j.reads <= TIDPLACE_READS + 2 * 10000 + 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(found),      cmocka_unit_test(not_the_first),
		cmocka_unit_test(some_ended), cmocka_unit_test(two_alike),
		cmocka_unit_test(none_known), cmocka_unit_test(given_up),
	};

	return cmocka_run_group_tests_name("tidplace", tests, NULL, NULL);
}
