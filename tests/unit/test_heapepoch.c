/* SPDX-License-Identifier: Apache-2.0 */
/* Epochs of a heap whose objects move in pauses: which reads are one with which. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "jvm/heap.h"
#include "jvm/heapepoch.h"
#include "jvm/vm.h"

#define RAM   0x100000ull
#define BYTES 0x10000
#include "vmram.h"

#define HEAP	    0x100 /* where the CollectedHeap's address is, and what is at it */
#define COLLECTED   0x1000
#define ACTIVE	    8
#define COLLECTIONS 16
#define OBJECT	    0x8000 /* a page of its own */

static int reads; /* of that page */

static int counted_read(void *ctx, uint64_t addr, void *dst, size_t len)
{
	reads += addr <= RAM + OBJECT && RAM + OBJECT < addr + len;
	return ram_read(ctx, addr, dst, len);
}

struct fixture {
	struct jvm jvm;
	struct vm vm;
	struct heap_epoch e;
};

static int setup(void **state)
{
	static struct fixture f;

	f = (struct fixture){.e = {.pauses = true, .still = true}};
	f.vm.mem = mem_new(counted_read, &f.jvm);
	f.vm.at.heap = RAM + HEAP;
	f.vm.at.heap_active = ACTIVE;
	f.vm.at.heap_collections = COLLECTIONS;
	put(&f.jvm, HEAP, RAM + COLLECTED, 8);
	put(&f.jvm, OBJECT, 1, 8);
	reads = 0;
	*state = &f;
	return !f.vm.mem;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	mem_close(f->vm.mem);
	return 0;
}

static uint64_t object(struct fixture *f)
{
	uint64_t v = 0;

	assert_int_equal(mem_u64(f->vm.mem, RAM + OBJECT, &v), 0);
	return v;
}

static void collect(struct fixture *f, uint64_t n)
{
	put(&f->jvm, COLLECTED + COLLECTIONS, n, 4);
}

/* Reads the object within an epoch, which lasts. */
static uint64_t object_since(struct fixture *f, uint64_t since)
{
	uint64_t v;

	assert_true(heap_epoch_go_on(&f->vm, &f->e, since));
	v = object(f);
	assert_true(heap_epoch_end(&f->vm, &f->e));
	return v;
}

/* Within one epoch memory is read once, for all that may be as old as that. */
static void goes_on(void **state)
{
	struct fixture *f = *state;
	uint64_t before = now_ns();

	for (int i = 0; i < 10; i++)
		assert_int_equal(object_since(f, before), 1);
	assert_int_equal(reads, 1);
}

static void newer_is_read_anew(void **state)
{
	struct fixture *f = *state;
	uint64_t before = now_ns();

	assert_int_equal(object_since(f, before), 1);
	put(&f->jvm, OBJECT, 2, 8);
	assert_int_equal(object_since(f, now_ns()), 2);
	assert_int_equal(reads, 2);
}

/* What was read before a collection is of no epoch that ends after it. */
static void collected_meanwhile(void **state)
{
	struct fixture *f = *state;
	uint64_t before = now_ns();

	assert_int_equal(object_since(f, before), 1);
	put(&f->jvm, OBJECT, 2, 8);
	collect(f, 1);
	assert_true(heap_epoch_go_on(&f->vm, &f->e, before));
	object(f);
	assert_false(heap_epoch_end(&f->vm, &f->e));
	assert_int_equal(object_since(f, before), 2);
}

static void in_a_pause(void **state)
{
	struct fixture *f = *state;
	uint64_t before = now_ns();

	assert_true(heap_epoch_go_on(&f->vm, &f->e, before));
	put(&f->jvm, COLLECTED + ACTIVE, 1, 1);
	assert_false(heap_epoch_end(&f->vm, &f->e));
	assert_false(heap_epoch_go_on(&f->vm, &f->e, before));
	put(&f->jvm, COLLECTED + ACTIVE, 0, 1);
	assert_true(heap_epoch_go_on(&f->vm, &f->e, before));
}

#define THREAD_CLASS 0x200
#define OOPS_BASE    0x208
#define OOPS_SHIFT   0x210
#define KLASS_BASE   0x218
#define KLASS_SHIFT  0x220

/* Of a JVM that starts nothing is kept that it will have otherwise in a moment. */
static void starting(void **state)
{
	struct fixture *f = *state;
	const struct oops *o;

	f->vm.at.flag_list = VM_NONE;
	f->vm.at.class_thread = RAM + THREAD_CLASS;
	f->vm.at.oops_base = RAM + OOPS_BASE;
	f->vm.at.oops_shift = RAM + OOPS_SHIFT;
	f->vm.at.klass_base = RAM + KLASS_BASE;
	f->vm.at.klass_shift = RAM + KLASS_SHIFT;
	assert_null(oops_of(&f->vm));
	assert_null(heap_epoch_of(&f->vm));
	put(&f->jvm, KLASS_BASE, 0x800000000, 8);
	put(&f->jvm, KLASS_SHIFT, 3, 4);
	put(&f->jvm, THREAD_CLASS, 0x800001000, 8);
	mem_flush(f->vm.mem);
	o = oops_of(&f->vm);
	assert_non_null(o);
	assert_true(o->klass_base == 0x800000000 && o->klass_shift == 3);
	oops_free(&f->vm);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(goes_on, setup, teardown),
		cmocka_unit_test_setup_teardown(newer_is_read_anew, setup, teardown),
		cmocka_unit_test_setup_teardown(collected_meanwhile, setup, teardown),
		cmocka_unit_test_setup_teardown(in_a_pause, setup, teardown),
		cmocka_unit_test_setup_teardown(starting, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
