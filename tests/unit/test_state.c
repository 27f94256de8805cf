/* SPDX-License-Identifier: Apache-2.0 */
/* Thread states from stacks as jstack and the kernel show them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/state.h"

#define K(m)                                                                                       \
	{                                                                                          \
		"(kernel)", m, "", -1, -1, FRAME_KERNEL, 0, 0                                      \
	}
#define L(m)                                                                                       \
	{                                                                                          \
		"libjvm.so", m, "", -1, -1, FRAME_CPP, 0, 0                                        \
	}
#define C(m)                                                                                       \
	{                                                                                          \
		"libc.so.6", m, "", -1, -1, FRAME_NATIVE, 0, 0                                     \
	}
#define J(c, m, s)                                                                                 \
	{                                                                                          \
		c, m, s, -1, -1, FRAME_JIT, 0, 0                                                   \
	}
#define LEN(a) (sizeof(a) / sizeof((a)[0]))

static void test_kernel_facts(void **state)
{
	assert_int_equal(state_of(GN_ST_RUNNING, NULL, 0), STATE_DEFAULT);
	assert_int_equal(state_of(GN_ST_QUEUED, NULL, 0), STATE_QUEUED);
	assert_int_equal(state_of(GN_ST_STOPPED, NULL, 0), STATE_STOPPED);
	assert_int_equal(state_of(GN_ST_DISK, NULL, 0), STATE_IO);
	assert_int_equal(state_of(GN_ST_SLEEP, NULL, 0), STATE_IDLE);
}

static void test_sleep(void **state)
{
	const struct frame_name jdk17[] = {K("__schedule"),
					   K("futex_do_wait"),
					   C("pthread_cond_timedwait"),
					   L("os::PlatformMonitor::wait"),
					   L("JavaThread::sleep"),
					   L("JVM_Sleep"),
					   J("java.lang.Thread", "sleep", "(J)V"),
					   J("app.Main", "run", "()V")};
	const struct frame_name jdk25[] = {K("__schedule"), K("futex_do_wait"),
					   J("java.lang.Thread", "sleepNanos0", "(J)V")};

	assert_int_equal(state_of(GN_ST_SLEEP, jdk17, LEN(jdk17)), STATE_SLEEPING);
	assert_int_equal(state_of(GN_ST_SLEEP, jdk25, LEN(jdk25)), STATE_SLEEPING);
}

static void test_park(void **state)
{
	const struct frame_name park[] = {
		K("__schedule"),
		C("pthread_cond_wait"),
		L("Parker::park"),
		J("jdk.internal.misc.Unsafe", "park", "(ZJ)V"),
		J("java.util.concurrent.locks.LockSupport", "park", "(Ljava/lang/Object;)V"),
		J("app.Pool", "take", "()V")};
	const struct frame_name nanos[] = {
		J("jdk.internal.misc.Unsafe", "park", "(ZJ)V"),
		J("java.util.concurrent.locks.LockSupport", "parkNanos", "(J)V")};

	assert_int_equal(state_of(GN_ST_SLEEP, park, LEN(park)), STATE_PARKED);
	assert_int_equal(state_of(GN_ST_SLEEP, nanos, LEN(nanos)), STATE_PARKED_TIMED);
}

static void test_wait_and_block(void **state)
{
	const struct frame_name untimed[] = {J("java.lang.Object", "wait", "(J)V"),
					     J("java.lang.Object", "wait", "()V"),
					     J("app.Q", "take", "()V")};
	const struct frame_name timed[] = {J("java.lang.Object", "wait0", "(J)V"),
					   J("java.lang.Object", "wait", "(J)V"),
					   J("app.Q", "poll", "()V")};
	/* a monitor's entry inside a method called from code that once waits further down */
	const struct frame_name enter[] = {K("__schedule"), C("__lll_lock_wait"),
					   L("ObjectMonitor::enter_internal"),
					   J("java.lang.Object", "wait", "()V")};

	assert_int_equal(state_of(GN_ST_SLEEP, untimed, LEN(untimed)), STATE_WAITING);
	assert_int_equal(state_of(GN_ST_SLEEP, timed, LEN(timed)), STATE_WAITING_TIMED);
	assert_int_equal(state_of(GN_ST_SLEEP, enter, LEN(enter)), STATE_BLOCKED);
}

static void test_io(void **state)
{
	const struct frame_name epoll[] = {K("schedule"), K("ep_poll"), C("epoll_wait"),
					   J("sun.nio.ch.EPoll", "wait", "(IJII)I")};
	const struct frame_name read[] = {K("schedule"), K("anon_pipe_read"), C("read")};
	/* interruptible, and of no device */
	const struct frame_name fuse[] = {K("schedule"),    K("request_wait_answer"),
					  K("fuse_lookup"), K("path_openat"),
					  C("open64"),	    J("app.Main", "open", "()V")};
	const struct frame_name other[] = {K("schedule"), K("some_file_system_waits"),
					   K("vfs_read"), K("ksys_read"), C("read")};
	const struct frame_name gc[] = {K("schedule"), K("futex_wait"), C("pthread_cond_wait"),
					L("Monitor::wait_without_safepoint_check")};

	assert_int_equal(state_of(GN_ST_SLEEP, epoll, LEN(epoll)), STATE_IO);
	assert_int_equal(state_of(GN_ST_SLEEP, read, LEN(read)), STATE_IO);
	assert_int_equal(state_of(GN_ST_SLEEP, fuse, LEN(fuse)), STATE_IO);
	assert_int_equal(state_of(GN_ST_SLEEP, other, LEN(other)), STATE_IO);
	assert_int_equal(state_of(GN_ST_SLEEP, gc, LEN(gc)), STATE_IDLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernel_facts), cmocka_unit_test(test_sleep),
		cmocka_unit_test(test_park),	     cmocka_unit_test(test_wait_and_block),
		cmocka_unit_test(test_io),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
