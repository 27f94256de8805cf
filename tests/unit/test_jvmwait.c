/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread that runs Java code waits for within the JVM. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model/jvmwait.h"
#include "model/state.h"
#include "model/vmop.h"

#define K(m)                                                                                       \
	{                                                                                          \
		.klass = "(kernel)", .method = m, .sig = "", .type = FRAME_KERNEL                  \
	}
#define N(m)                                                                                       \
	{                                                                                          \
		.klass = "libjvm.so", .method = m, .sig = "", .type = FRAME_CPP                    \
	}
#define S(m)                                                                                       \
	{                                                                                          \
		.klass = "(jvm)", .method = m, .sig = "", .type = FRAME_C1                         \
	}
#define J(k, m)                                                                                    \
	{                                                                                          \
		.klass = k, .method = m, .sig = "()V", .type = FRAME_JIT                           \
	}

static void is(const struct frame_name *f, size_t n, const char *want, const char *want_of)
{
	const char *of, *words;
	uint8_t w = jvmwait_of(f, n);

	assert_int_equal(state_of(GN_ST_SLEEP, f, n), w ? STATE_BLOCKED : STATE_IDLE);
	if (!want) {
		assert_int_equal(w, 0);
		return;
	}
	assert_int_not_equal(w, 0);
	words = jvmwait_words(w, &of);
	assert_string_equal(words, want);
	if (want_of)
		assert_string_equal(of, want_of);
	else
		assert_null(of);
}

#define IS(f, want, of) is(f, sizeof(f) / sizeof((f)[0]), want, of)

static void held_up(void **state)
{
	const struct frame_name stall[] = {K("futex_wait"), N("ZPageAllocator::alloc_page_stall"),
					   N("ZHeap::alloc_page"), S("fast_new_array"),
					   J("java.nio.ByteBuffer", "allocate")};
	const struct frame_name single[] = {N("XPageAllocator::alloc_page_stall"), J("A", "a")};
	const struct frame_name operation[] = {N("Monitor::wait"), N("VMThread::execute"),
					       N("G1CollectedHeap::do_collection_pause"),
					       J("A", "a")};
	const struct frame_name point[] = {N("SafepointSynchronize::block"),
					   N("G1CollectedHeap::attempt_allocation"), J("A", "a")};
	const struct frame_name lock[] = {N("Mutex::lock_contended"), N("Mutex::lock"),
					  J("A", "a")};

	IS(stall, "ZGC allocation stall", NULL);
	IS(single, "ZGC allocation stall", NULL);
	IS(operation, "VM operation", "G1 heap");
	IS(point, "safepoint", NULL);
	IS(lock, "lock of the JVM", NULL);
}

/* Who initializes a class waits for what its code does; the JVM's own threads do nothing for Java.
 */
static void not_held_up(void **state)
{
	const struct frame_name runs[] = {N("os::sleep"), J("A", "<clinit>"),
					  N("InstanceKlass::initialize_impl"), J("A", "a")};
	const struct frame_name own[] = {N("Mutex::lock_contended"), N("WorkerThread::run")};

	IS(runs, NULL, NULL);
	IS(own, NULL, NULL);
	is(NULL, 0, NULL, NULL);
}

static void any_number(void **state)
{
	const char *of;

	for (unsigned int w = 0; w < JVMWAIT_MAX; w++)
		assert_non_null(jvmwait_words((uint8_t)w, &of));
}

static void operations(void **state)
{
	const struct frame_name pause[] = {K("futex_wait"),
					   N("WorkerThreads::run_task"),
					   N("G1CollectedHeap::do_collection_pause_at_safepoint"),
					   N("VM_G1CollectForAllocation::doit"),
					   N("VM_Operation::evaluate"),
					   N("VMThread::run")};
	const struct frame_name stop[] = {K("hrtimer_nanosleep"), N("back_off"),
					  N("SafepointSynchronize::synchronize_threads"),
					  N("SafepointSynchronize::begin"),
					  N("VMThread::inner_execute")};
	const struct frame_name later[] = {N("VM_OfTomorrow::doit"), N("VM_Operation::evaluate")};
	const struct frame_name asks[] = {N("VM_GC_Operation::doit_prologue"),
					  N("VMThread::execute"), J("A", "a")};
	const struct frame_name rests[] = {K("futex_wait"), N("Monitor::wait"),
					   N("VMThread::wait_for_operation"), N("VMThread::run")};
	const struct frame_name java[] = {J("A", "VM_G1CollectFull::doit")};

	assert_string_equal(vmop_words(vmop_of(pause, 6)), "G1CollectForAllocation");
	assert_int_equal(vmop_of(stop, 5), VMOP_STOPPING);
	assert_string_equal(vmop_words(VMOP_STOPPING), "until all threads have stopped");
	assert_string_equal(vmop_words(vmop_of(later, 2)), "another operation");
	assert_int_equal(vmop_of(asks, 3), 0);
	assert_int_equal(vmop_of(rests, 4), 0);
	assert_int_equal(vmop_of(java, 1), 0);
	const struct frame_name loop[] = {K("irqentry_exit_to_user_mode"), J("A", "loop")};
	const struct frame_name within[] = {N("Method::line_number_from_bci"), J("A", "a")};
	const struct frame_name beside[] = {
		{.klass = "libzip.so", .method = "deflate", .sig = "", .type = FRAME_NATIVE},
		J("A", "a")};

	assert_true(vmop_delays(loop, 2));
	assert_true(vmop_delays(within, 2));
	assert_false(vmop_delays(beside, 2));
	assert_false(vmop_delays(loop, 1));
	for (int op = 0; op < 256; op++)
		assert_non_null(vmop_words((uint8_t)op));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(held_up),
		cmocka_unit_test(not_held_up),
		cmocka_unit_test(any_number),
		cmocka_unit_test(operations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
