/* SPDX-License-Identifier: Apache-2.0 */
/* What threads are called, whatever the order in which one hears of them. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "model/roster.h"
#include "model/thread.h"
#include "target/procfs.h"

#define MS  1000000ull
#define TID 999999999 /* above the kernel's largest: /proc knows nothing of it */

/* What the fake JVM calls every thread, or NULL. */
static const char *java;
static int asked;
static bool too_early; /* it cannot tell yet */

static uint64_t asked_since;

static int java_thread(void *ctx, pid_t tid, uint64_t since, struct resolved_thread *out)
{
	asked++;
	asked_since = since;
	if (!java)
		return too_early ? -EAGAIN : -ENOENT;
	snprintf(out->name, sizeof(out->name), "%s", java);
	memcpy(out->groups, "main\0system\0", sizeof("main\0system\0"));
	out->java_id = 7;
	return 0;
}

static int gone;

static void on_gone(void *ctx, struct member *m)
{
	gone++;
}

static int setup(void **state)
{
	java = NULL;
	too_early = false;
	asked = gone = 0;
	*state = roster_new(getpid(), proc_comm_read, java_thread, on_gone, NULL);
	return !*state;
}

static int teardown(void **state)
{
	roster_free(*state);
	return 0;
}

static void in_order(void **state)
{
	struct roster *r = *state;
	struct member *m = roster_born(r, TID, 100 * MS, "java");

	assert_string_equal(m->comm, "java");
	assert_true(roster_learn(r, m, 101 * MS, 0));
	m = roster_named(r, TID, 101 * MS, "worker-1");
	assert_string_equal(m->comm, "worker-1");
	assert_false(roster_learn(r, m, 101 * MS, 0));
	assert_int_equal(roster_count(r), 1);
}

static void name_before_birth(void **state)
{
	struct roster *r = *state;
	struct member *m;

	roster_named(r, TID, 101 * MS, "worker-1");
	m = roster_born(r, TID, 100 * MS, "java");
	/* it was heard of after that birth: it is the same thread */
	assert_ptr_equal(m, roster_find(r, TID));
	m = roster_find(r, TID);
	assert_string_equal(m->comm, "worker-1");
	assert_false(roster_learn(r, m, 102 * MS, 0));
	assert_int_equal(roster_count(r), 1);
}

static void sample_before_birth_and_name(void **state)
{
	struct roster *r = *state;
	struct member *m = roster_get(r, TID, 105 * MS);

	/* it has ended meanwhile: /proc does not know it, the records still will */
	assert_string_equal(m->comm, "");
	assert_true(roster_learn(r, m, 105 * MS, 0));
	roster_ended(r, TID, 110 * MS);
	roster_born(r, TID, 100 * MS, "java");
	m = roster_named(r, TID, 101 * MS, "worker-1");
	assert_string_equal(m->comm, "worker-1");
	assert_false(roster_learn(r, m, 105 * MS, 0));
	assert_int_equal(roster_count(r), 1);
}

/* An end that comes first, by another CPU's ring: what comes then is of that thread, which is
 * forgotten in time. */
static void end_before_birth(void **state)
{
	struct roster *r = *state;
	struct member *m;

	roster_ended(r, TID, 110 * MS);
	m = roster_born(r, TID, 100 * MS, "java");
	assert_ptr_equal(m, roster_get(r, TID, 105 * MS));
	assert_string_equal(m->comm, "java");
	assert_int_equal(roster_count(r), 1);
	roster_expire(r, 11000 * MS);
	assert_null(roster_find(r, TID));
}

/* Who woke another one and has ended since is nobody's thread any more. */
static void ended_and_unknown(void **state)
{
	struct roster *r = *state;

	assert_null(roster_living(r, TID, 100 * MS));
	assert_int_equal(roster_count(r), 0);
	roster_named(r, TID, 100 * MS, "worker-1");
	assert_string_equal(roster_living(r, TID, 200 * MS)->comm, "worker-1");
}

/* What it is called is read when it is asked for, and not then if it has been told by then. */
static void met(void **state)
{
	struct roster *r = *state;
	char self[16] = "";
	struct member *m;

	m = roster_meet(r, getpid(), 100 * MS);
	assert_string_equal(m->comm, "");
	assert_int_equal(prctl(PR_GET_NAME, self), 0);
	assert_string_equal(roster_comm(r, m), self);
	assert_ptr_equal(roster_meet(r, getpid(), 200 * MS), m);
	m = roster_meet(r, TID, 100 * MS);
	roster_found(r, TID, 101 * MS, "worker-1");
	assert_string_equal(roster_comm(r, m), "worker-1");
	assert_ptr_equal(roster_get(r, TID, 102 * MS), m);
	roster_found(r, TID, 103 * MS, "java"); /* once is enough: its names are told in order */
	assert_string_equal(roster_comm(r, m), "worker-1");
}

/* One that is heard of by its sample first has the name that is read then. */
static void met_and_heard_of(void **state)
{
	struct roster *r = *state;
	char self[16] = "";
	struct member *m = roster_meet(r, getpid(), 100 * MS);

	assert_int_equal(prctl(PR_GET_NAME, self), 0);
	assert_ptr_equal(roster_get(r, getpid(), 101 * MS), m);
	assert_string_equal(m->comm, self);
}

static void keeps_creators_name(void **state)
{
	struct roster *r = *state;
	struct member *m = roster_born(r, TID, 100 * MS, "java");

	/* a native thread that never names itself: what came later need not wait */
	assert_true(roster_learn(r, m, 149 * MS, 0));
	assert_false(roster_learn(r, m, 150 * MS, 0));
}

static void renamed(void **state)
{
	struct roster *r = *state;
	struct member *m;

	java = "the first name, longer than the kernel's";
	m = roster_named(r, TID, 100 * MS, "the first name,");
	assert_string_equal(m->java, java);
	assert_int_equal(m->java_id, 7);
	assert_memory_equal(m->groups, "main\0system\0", sizeof("main\0system\0"));
	m->jfr = 3;
	java = "another";
	m = roster_named(r, TID, 200 * MS, "another");
	assert_string_equal(m->java, "another");
	assert_int_equal(m->jfr, 0);
	assert_int_equal(roster_count(r), 1);
}

/* Records of names that come in time: each name is read when its record is seen ahead. */
static void renamed_behind_a_queue(void **state)
{
	struct roster *r = *state;
	uint64_t first, second;
	struct member *m;

	first = now_ns();
	java = "the first name, longer than the kernel's";
	roster_hear(r, TID, first);
	second = now_ns();
	java = "the second name";
	roster_hear(r, TID, second);
	m = roster_named(r, TID, first, "the first name,");
	assert_string_equal(m->java, "the first name, longer than the kernel's");
	assert_false(roster_learn(r, m, m->asked_ns, 0));
	m = roster_named(r, TID, second, "the second name");
	assert_string_equal(m->java, "the second name");
	assert_int_equal(asked, 2);
}

/* They come too late: what it is called by then is no name of its samples. */
static void renamed_before_it_was_heard(void **state)
{
	struct roster *r = *state;
	uint64_t first = now_ns(), second = first + 1, third = first + 2;
	struct member *m;

	java = "the third name";
	roster_hear(r, TID, first);
	roster_hear(r, TID, second);
	roster_hear(r, TID, third);
	m = roster_named(r, TID, first, "the first name,");
	assert_null(m->java);
	/* and not what is asked now, whoever asks */
	roster_ask(r, m);
	assert_null(m->java);
	assert_string_equal(m->comm, "the first name,");
	assert_false(roster_learn(r, m, first, 0));
	m = roster_named(r, TID, second, "the second name");
	assert_null(m->java);
	m = roster_named(r, TID, third, "the third name");
	assert_string_equal(m->java, "the third name");
}

/* It has a name that was read at a time up to which not everything has been heard of. */
static void renamed_unheard_of(void **state)
{
	struct roster *r = *state;
	uint64_t first = now_ns(), second = first + 1;
	struct member *m;

	java = "the second name";
	roster_hear(r, TID, first);
	m = roster_named(r, TID, first, "the first name,");
	assert_string_equal(m->java, "the second name");
	assert_true(roster_learn(r, m, first, first));
	assert_false(roster_learn(r, m, m->asked_ns, first));
	m->jfr = 3;
	roster_hear(r, TID, second);
	assert_null(m->java);
	assert_int_equal(m->jfr, 0);
	assert_false(roster_learn(r, m, first, second));
	m = roster_named(r, TID, second, "the second name");
	assert_string_equal(m->java, "the second name");
	assert_true(roster_learn(r, m, second, second));
	assert_false(roster_learn(r, m, second, m->asked_ns));
}

/* Records of one thread come by the rings of several CPUs. */
static void older_name_comes_later(void **state)
{
	struct roster *r = *state;
	struct member *m;

	roster_hear(r, TID, 200 * MS);
	roster_hear(r, TID, 100 * MS);
	roster_named(r, TID, 200 * MS, "second");
	m = roster_named(r, TID, 100 * MS, "first");
	assert_string_equal(m->comm, "second");
}

static void jvm_tells_later(void **state)
{
	struct roster *r = *state;
	struct member *m;

	too_early = true;
	m = roster_named(r, TID, now_ns(), "worker-1");
	assert_null(m->java);
	assert_true(roster_learn(r, m, m->asked_ns, 0));
	java = "worker-1 of the pool";
	m->asked_ns -= 60 * MS;
	assert_false(roster_learn(r, m, m->asked_ns, 0));
	assert_string_equal(m->java, java);
}

static void number_given_again(void **state)
{
	struct roster *r = *state;
	struct member *m = roster_named(r, TID, 100 * MS, "first");

	m->jfr = 3;
	m = roster_born(r, TID, 500 * MS, "java");
	assert_string_equal(m->comm, "java");
	assert_int_equal(m->jfr, 0);
	assert_int_equal(roster_count(r), 2);
	/* the first one's end, heard of late */
	roster_ended(r, TID, 400 * MS);
	roster_expire(r, 60000 * MS);
	assert_non_null(roster_find(r, TID));
}

static void ended_are_forgotten(void **state)
{
	struct roster *r = *state;

	for (int i = 0; i < 1000; i++) {
		roster_named(r, TID + i, 100 * MS, "short-lived");
		if (i)
			roster_ended(r, TID + i, 200 * MS);
	}
	roster_expire(r, 1300 * MS);
	assert_non_null(roster_find(r, TID + 999)); /* losses of it may still come */
	roster_expire(r, 11000 * MS);
	assert_null(roster_find(r, TID + 999));
	assert_null(roster_find(r, TID + 1));
	assert_non_null(roster_find(r, TID));
	assert_int_equal(roster_count(r), 1000);
	assert_int_equal(gone, 999);
}

static void living_thread_is_read(void **state)
{
	struct roster *r = *state;
	struct member *m = roster_get(r, getpid(), 100 * MS);

	assert_string_equal(m->comm, "test_roster");
	assert_false(roster_learn(r, m, 100 * MS, 0));
}

/* What is told of a thread may have been read before, but not before what is known of it. */
static void asked_for_what_is_recent(void **state)
{
	struct roster *r = *state;
	uint64_t begin = now_ns();
	struct member *m = roster_get(r, TID, MS);

	too_early = true;
	roster_ask(r, m); /* heard of long ago */
	assert_in_range(asked_since, begin - 50 * MS, now_ns() - 50 * MS);
	roster_ask(r, m); /* it was none of what could be told then */
	assert_true(asked_since >= begin);
	begin = now_ns();
	roster_hear(r, TID, begin);
	assert_int_equal(asked_since, begin);
	roster_named(r, TID + 1, begin, "worker");
	assert_int_equal(asked_since, begin);
	m = roster_born(r, TID + 2, begin, "java");
	assert_int_equal(asked_since, begin);
	/* names may have been lost */
	m = roster_get(r, getpid(), MS);
	begin = now_ns();
	roster_reread(r, begin);
	assert_true(asked_since >= begin);
}

static void ids_forgotten(void **state)
{
	struct roster *r = *state;

	roster_get(r, TID, MS)->jfr = 4;
	roster_forget_ids(r);
	assert_int_equal(roster_find(r, TID)->jfr, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(in_order, setup, teardown),
		cmocka_unit_test_setup_teardown(name_before_birth, setup, teardown),
		cmocka_unit_test_setup_teardown(sample_before_birth_and_name, setup, teardown),
		cmocka_unit_test_setup_teardown(end_before_birth, setup, teardown),
		cmocka_unit_test_setup_teardown(ended_and_unknown, setup, teardown),
		cmocka_unit_test_setup_teardown(met, setup, teardown),
		cmocka_unit_test_setup_teardown(met_and_heard_of, setup, teardown),
		cmocka_unit_test_setup_teardown(keeps_creators_name, setup, teardown),
		cmocka_unit_test_setup_teardown(renamed, setup, teardown),
		cmocka_unit_test_setup_teardown(renamed_behind_a_queue, setup, teardown),
		cmocka_unit_test_setup_teardown(renamed_before_it_was_heard, setup, teardown),
		cmocka_unit_test_setup_teardown(renamed_unheard_of, setup, teardown),
		cmocka_unit_test_setup_teardown(older_name_comes_later, setup, teardown),
		cmocka_unit_test_setup_teardown(jvm_tells_later, setup, teardown),
		cmocka_unit_test_setup_teardown(number_given_again, setup, teardown),
		cmocka_unit_test_setup_teardown(ended_are_forgotten, setup, teardown),
		cmocka_unit_test_setup_teardown(living_thread_is_read, setup, teardown),
		cmocka_unit_test_setup_teardown(asked_for_what_is_recent, setup, teardown),
		cmocka_unit_test_setup_teardown(ids_forgotten, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
