/* SPDX-License-Identifier: Apache-2.0 */
/* A code cache seen while its JVM starts: heaps come one after the other, then the interpreter. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "jvm/codecache.h"
#include "jvm/unmounted.h"
#include "jvm/vm.h"
#include "jvm/vmstructs.h"
#include "kern/abi_jvm.h"

#define RAM   0x7f0000100000ULL
#define BYTES 0x4000U
#define CODE  0x7f1000000000ULL

/* Where things lie in it. */
enum {
	HEAPS = 0x100,
	CODE_POINTER = 0x108,
	ARRAY = 0x200,
	DATA = 0x300,
	HEAP = 0x400,
	QUEUE = 0x800
};

#include "vmram.h"

static void layout_put(struct vm_layout *at)
{
	memset(at, 0xff, sizeof(*at));
	at->cc_heaps = RAM + HEAPS;
	at->ga_len = 0;
	at->ga_data = 8;
	at->ch_memory = 0;
	at->vs_low = 0;
	at->vs_end = 8;
	at->ch_segmap = 16;
	at->ch_log2 = 32;
	at->hb_size = 16;
	at->hb_used = 8;
	at->interp_code = RAM + CODE_POINTER;
	at->sq_buffer = 0;
	at->sq_limit = 8;
	at->method_const = 8;
	at->cm_size = 48;
}

/* The `n`th heap, of 1 MB. */
static void heap_put(struct jvm *j, unsigned int n)
{
	uint64_t heap = HEAP + n * 64, low = CODE + n * 0x100000;

	put(j, HEAPS, RAM + ARRAY, 8);
	put(j, ARRAY, n + 1, 4);
	put(j, ARRAY + 8, RAM + DATA, 8);
	put(j, DATA + n * 8, RAM + heap, 8);
	put(j, heap, low, 8);
	put(j, heap + 8, low + 0x100000, 8);
	put(j, heap + 16, RAM, 8);
	put(j, heap + 32, 7, 4);
}

static void interpreter_put(struct jvm *j, uint32_t limit)
{
	put(j, CODE_POINTER, RAM + QUEUE, 8);
	put(j, QUEUE, CODE + 0x1000, 8);
	put(j, QUEUE + 8, limit, 4);
}

static int setup(void **state)
{
	struct jvm *j = calloc(1, sizeof(*j));

	j->vm = calloc(1, sizeof(*j->vm));
	j->vm->mem = mem_new(ram_read, j);
	j->vm->release = 17;
	j->vm->has = 1U << VM_CODE | 1U << VM_INTERP;
	layout_put(&j->vm->at);
	*state = j;
	return 0;
}

static int teardown(void **state)
{
	struct jvm *j = *state;

	vm_close(j->vm);
	free(j);
	return 0;
}

static int fill(struct jvm *j, struct gn_jvm *out)
{
	mem_flush(j->vm->mem);
	return codecache_fill(j->vm, out);
}

static void test_starting(void **state)
{
	struct jvm *j = *state;
	struct gn_jvm out;

	assert_int_equal(fill(j, &out), -EAGAIN);
	heap_put(j, 0);
	assert_int_equal(fill(j, &out), -EAGAIN);
	heap_put(j, 1);
	heap_put(j, 2);
	assert_int_equal(fill(j, &out), -EAGAIN);
	interpreter_put(j, 0x8000);
	assert_int_equal(fill(j, &out), 0);
	assert_int_equal(out.nheaps, 3);
	assert_true(out.low == CODE && out.high == CODE + 0x300000);
	assert_true(out.flags & GN_JVM_INTERP);
	assert_true(out.interp_low == CODE + 0x1000 && out.interp_high == CODE + 0x9000);
}

/* When all of it is generated the interpreter gives back the room it did not need. */
static void test_interpreter_shrinks(void **state)
{
	struct jvm *j = *state;
	struct gn_jvm out;

	heap_put(j, 0);
	interpreter_put(j, 0x8000);
	assert_int_equal(fill(j, &out), 0);
	codecache_refresh(j->vm, &out);
	interpreter_put(j, 0x5000);
	mem_flush(j->vm->mem);
	assert_int_equal(codecache_refresh(j->vm, &out), 1);
	assert_true(out.interp_high == CODE + 0x6000);
	for (int i = 0; i < 100; i++)
		assert_int_equal(codecache_refresh(j->vm, &out), 0);
	/* it has been running for long, and is not asked again */
	interpreter_put(j, 0x4000);
	mem_flush(j->vm->mem);
	assert_int_equal(codecache_refresh(j->vm, &out), 0);
	assert_true(out.interp_high == CODE + 0x6000);
}

/* Nor are frames of virtual threads taken for interpreted ones that are behind its end. */
static void test_interpreter_of_chunks(void **state)
{
	struct jvm *j = *state;
	struct unmounted *u = unmounted_new();

	heap_put(j, 0);
	interpreter_put(j, 0x8000);
	assert_true(codecache_may_have(j->vm, CODE));
	assert_true(j->vm->code->interp_high == CODE + 0x9000);
	interpreter_put(j, 0x5000);
	assert_int_equal(unmounted_begin(u, j->vm), -ENOTSUP); /* JDK 17 */
	assert_true(j->vm->code->interp_high == CODE + 0x6000);
	unmounted_free(u);
}

/* A JVM without the fields is not waited for. */
static void test_no_interpreter(void **state)
{
	struct jvm *j = *state;
	struct gn_jvm out;

	j->vm->has = 1U << VM_CODE;
	heap_put(j, 0);
	assert_int_equal(fill(j, &out), 0);
	assert_false(out.flags & GN_JVM_INTERP);
	j->vm->has = 0;
	assert_int_equal(fill(j, &out), -ENOTSUP);
}

/* Where unloaded classes are counted is told once the JVM has made both counters, near each other.
 */
static void test_unloads(void **state)
{
	struct jvm *j = *state;
	uint64_t *at = j->vm->unloads.at;
	struct gn_jvm out;

	heap_put(j, 0);
	interpreter_put(j, 0x8000);
	assert_int_equal(fill(j, &out), 0);
	at[0] = RAM + 0x1040;
	codecache_refresh(j->vm, &out);
	assert_true(!out.unloads);
	at[1] = RAM + 0x1040 + GN_UNLOADS_SPAN;
	codecache_refresh(j->vm, &out);
	assert_true(!out.unloads);
	at[1] = RAM + 0x1000;
	assert_int_equal(codecache_refresh(j->vm, &out), 1);
	assert_true(out.unloads == RAM + 0x1000);
	assert_int_equal(out.unloads_at[0], 0x40);
	assert_int_equal(out.unloads_at[1], 0);
	assert_int_equal(codecache_refresh(j->vm, &out), 0);
}

/* A heap of 1 MB, 512 kB committed, of whose segments of 128 bytes 3,000 were given out and 40
 * given back. */
static void used_put(struct jvm *j)
{
	heap_put(j, 0);
	j->vm->at.vs_high = 24;
	put(j, HEAP + 24, CODE + (512 << 10), 8);
	put(j, HEAP + 40, 3000, 8);
	put(j, HEAP + 64, 40, 8);
}

static int use(struct jvm *j, struct codecache_use *out)
{
	mem_flush(j->vm->mem);
	return codecache_use(j->vm, out);
}

static void test_use(void **state)
{
	struct jvm *j = *state;
	struct codecache_use is;

	assert_int_equal(use(j, &is), -EFAULT);
	used_put(j);
	assert_int_equal(use(j, &is), 0);
	assert_int_equal(is.used, 2960 * 128);
	assert_int_equal(is.committed, 512 << 10);
	assert_int_equal(is.reserved, 1 << 20);
	/* other words lie there in this release */
	put(j, HEAP + 40, 4097, 8); /* more than are committed */
	assert_int_equal(use(j, &is), -EBADMSG);
	assert_int_equal(is.used, 0);
	used_put(j);
	put(j, HEAP + 64, 3001, 8); /* more given back than given out */
	assert_int_equal(use(j, &is), -EBADMSG);
	used_put(j);
	put(j, HEAP + 24, CODE + (3ull << 30), 8);
	assert_int_equal(use(j, &is), -EBADMSG);
	used_put(j);
	j->vm->at.ch_log2 = 600;
	assert_int_equal(use(j, &is), -ENOTSUP);
	j->vm->at.ch_log2 = 32;
	j->vm->at.vs_high = VM_NONE;
	assert_int_equal(use(j, &is), -ENOTSUP);
}

/* A JVM that does not say where its heaps lie, or what is in them, has no figures. */
static void test_use_unknown(void **state)
{
	struct jvm *j = *state;
	struct codecache_use is;

	used_put(j);
	j->vm->has = 0;
	j->vm->at.ch_log2 = VM_NONE;
	assert_int_equal(use(j, &is), -ENOTSUP);
	assert_int_equal(is.reserved, 0);
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_starting),
		TEST(test_interpreter_shrinks),
		TEST(test_interpreter_of_chunks),
		TEST(test_no_interpreter),
		TEST(test_unloads),
		TEST(test_use),
		TEST(test_use_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
