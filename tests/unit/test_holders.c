/* SPDX-License-Identifier: Apache-2.0 */
/* Who had the CPU for which a thread queued, in words; names of threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model/threadname.h"
#include "naming/causes.h"
#include "naming/holders.h"

static struct gn_cause_rec held_by(enum gn_cause_kind kind, const char *comm)
{
	struct gn_cause_rec r = {.id = 1, .of.kind = (uint8_t)kind, .of.op = GN_OP_RUN, .whole = 1};

	memcpy(r.fs, comm, strnlen(comm, sizeof(r.fs)));
	return r;
}

static void group_set(struct gn_cause_rec *r, const char *names, size_t len)
{
	memcpy(r->path, names, len);
	r->len = (uint32_t)len;
}

static void says(const struct gn_cause_rec *r, const char *kind, const char *cause,
		 const char *detail)
{
	struct cause_words w;

	cause_words(r, &w);
	assert_string_equal(w.kind, kind);
	assert_string_equal(w.operation, "run");
	assert_string_equal(w.cause, cause);
	assert_string_equal(w.detail, detail);
}

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void processes(void **state)
{
	struct gn_cause_rec r = held_by(GN_CAUSE_PROCESS, "stress-ng-cpu-ab"); /* no terminator */

	r.of.dev = 4711;
	says(&r, "CPU", "stress-ng-cpu-ab", "pid 4711, group /");
	group_set(&r, "x.service\0system.slice", 23);
	says(&r, "CPU", "stress-ng-cpu-ab", "pid 4711, group /system.slice/x.service");
	group_set(&r, ID "\0docker", 72);
	says(&r, "CPU", "stress-ng-cpu-ab of docker container 0123456789ab",
	     "pid 4711, group /docker/" ID);
	r.of.dev = 0; /* in none of our PID namespaces */
	says(&r, "CPU", "stress-ng-cpu-ab of docker container 0123456789ab", "group /docker/" ID);
}

static void limits(void **state)
{
	struct gn_cause_rec r = held_by(GN_CAUSE_LIMIT, "");

	group_set(&r, "x.service\0system.slice", 23);
	says(&r, "CPU limit", "/system.slice/x.service", "group /system.slice/x.service");
	group_set(&r, ID "\0docker", 72);
	says(&r, "CPU limit", "docker container 0123456789ab", "group /docker/" ID);
}

static void own_threads(void **state)
{
	struct gn_cause_rec r = held_by(GN_CAUSE_THREAD, "");

	r.of.ino = 17;
	says(&r, "CPU", "another thread of its own", "thread 17, not known any more");
	holders_name(&r, "http-nio-8080-exec-12", true);
	says(&r, "CPU", "its own http-nio-#-exec-#", "thread 17, http-nio-8080-exec-12");
	holders_name(&r, "GC Thread#3", false);
	says(&r, "CPU", "its own collector", "thread 17, GC Thread#3");
	holders_name(&r, "GC Thread#3", true); /* anybody may call his thread so */
	says(&r, "CPU", "its own GC Thread#", "thread 17, GC Thread#3");
	holders_name(&r, "C2 CompilerThre", false);
	says(&r, "CPU", "its own compiler", "thread 17, C2 CompilerThre");
	holders_name(&r, "C1 CompilerThread0", true);
	says(&r, "CPU", "its own compiler", "thread 17, C1 CompilerThread0");
	holders_name(&r, "VM Thread", false);
	says(&r, "CPU", "its own VM Thread", "thread 17, VM Thread");
}

static void nobody(void **state)
{
	struct gn_cause_rec r = held_by(GN_CAUSE_KERNEL, "kworker");

	says(&r, "CPU", "the kernel's kworker", "");
	r = held_by(GN_CAUSE_IRQ, "");
	says(&r, "CPU", "interrupts", "");
	r = held_by(GN_CAUSE_STOLEN, "");
	says(&r, "CPU", "the host of this virtual machine", "");
	r = held_by(GN_CAUSE_AT_ONCE, "");
	says(&r, "CPU", "nobody, just about to run", "");
	r = held_by(GN_CAUSE_UNSEEN, "");
	says(&r, "CPU", "not seen", "");
	assert_true(holders_are(&r));
	r.of.kind = GN_CAUSE_POLL;
	assert_false(holders_are(&r));
	r.of.kind = GN_CAUSE_KINDS;
	assert_false(holders_are(&r));
}

static void wakers(void **state)
{
	struct gn_cause_rec r = held_by(GN_CAUSE_WAKER, "");

	assert_false(holders_are(&r));
	r.of.family = GN_WAKER_THREAD;
	r.of.ino = 17;
	r.of.count = 4711; /* where it was: that is told elsewhere */
	says(&r, "wake-up", "by another thread of its own", "thread 17, not known any more");
	holders_name(&r, "pool-3-worker-12", true);
	says(&r, "wake-up", "by its own pool-#-worker-#", "thread 17, pool-3-worker-12");
	holders_name(&r, "GC Thread#3", false);
	says(&r, "wake-up", "by its own collector", "thread 17, GC Thread#3");
	r = held_by(GN_CAUSE_WAKER, "postgres");
	r.of.family = GN_WAKER_PROCESS;
	r.of.dev = 99;
	says(&r, "wake-up", "by postgres", "pid 99");
	r.of.dev = 0; /* not of our PID namespace */
	says(&r, "wake-up", "by postgres", "");
	r = held_by(GN_CAUSE_WAKER, "kworker/0:1\033[2J"); /* no terminator */
	r.of.family = GN_WAKER_KERNEL;
	says(&r, "wake-up", "by the kernel's kworker/0:1?[2J", "");
}

static void group_is(const char *name, const char *want)
{
	struct buffer b = BUFFER_INIT;

	threadname_group(name, &b);
	buffer_byte(&b, 0);
	assert_string_equal((const char *)b.data, want);
	buffer_free(&b);
}

static void groups_of_names(void **state)
{
	group_is("", "");
	group_is("pool-1-thread-27", "pool-#-thread-#");
	group_is("G1 Conc#0", "G1 Conc#");
	group_is("C2 CompilerThread0", "C2 CompilerThread#");
	group_is("C2x", "C#x");
	group_is("4711", "#");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processes),   cmocka_unit_test(limits),
		cmocka_unit_test(own_threads), cmocka_unit_test(nobody),
		cmocka_unit_test(wakers),      cmocka_unit_test(groups_of_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
