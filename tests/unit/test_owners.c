/* SPDX-License-Identifier: Apache-2.0 */
/* Whose locks were, tick by tick, and who that is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "naming/owners.h"

static struct owners_run *note(struct owners *o, uint64_t cause, uint64_t tick, uint64_t owner,
			       uint32_t kind)
{
	const struct gn_owner_rec rec = {
		.cause = cause, .tick = tick, .owner = owner, .kind = kind};

	return owners_note(o, &rec);
}

/* The owner at a tick; 0 where nothing is known. */
static uint64_t at(const struct owners *o, uint64_t cause, uint64_t tick)
{
	uint64_t until;
	const struct owners_run *r = owners_at(o, cause, tick, &until);

	return r ? r->owner : 0;
}

static void runs(void **state)
{
	struct owners *o = owners_new();
	uint64_t until;

	for (uint64_t i = 10; i < 20; i++)
		note(o, 1, i, 7, GN_OWNER_ID)->tid = 70;
	for (uint64_t i = 20; i < 25; i++)
		note(o, 1, i, 8, GN_OWNER_ID);
	note(o, 1, 30, 8, GN_OWNER_ID); /* 25 to 29 were lost */
	assert_null(note(o, 1, 29, 9, GN_OWNER_ID));
	note(o, 2, 12, 9, GN_OWNER_ID);
	assert_int_equal(at(o, 1, 10), 7);
	assert_int_equal(at(o, 1, 19), 7);
	assert_int_equal(at(o, 1, 20), 8);
	assert_int_equal(at(o, 1, 27), 0);
	assert_int_equal(at(o, 1, 31), 0);
	assert_int_equal(at(o, 2, 12), 9);
	assert_int_equal(at(o, 3, 12), 0);
	assert_int_equal(owners_at(o, 1, 15, &until)->tid, 70);
	assert_null(owners_at(o, 1, 26, &until));
	assert_int_equal(until, 30);
	assert_null(owners_at(o, 1, 9, &until));
	assert_int_equal(until, 10);
	assert_null(owners_at(o, 1, 31, &until));
	assert_true(until == UINT64_MAX);
	owners_expire(o, 22);
	assert_int_equal(at(o, 1, 19), 0);
	assert_int_equal(at(o, 1, 22), 8);
	assert_int_equal(at(o, 2, 12), 0);
	owners_free(o);
}

/* However many there are, memory is bounded, and what is left is right. */
static void many(void **state)
{
	struct owners *o = owners_new();

	for (uint64_t i = 0; i < 10 * OWNERS_KEEP_TICKS; i++)
		note(o, 1, i, 1 + i % 2, GN_OWNER_WORD);
	assert_int_equal(at(o, 1, 0), 0);
	for (uint64_t i = 9 * OWNERS_KEEP_TICKS + 1; i < 10 * OWNERS_KEEP_TICKS; i++)
		assert_int_equal(at(o, 1, i), 1 + i % 2);
	for (uint64_t i = 2; i < 100000; i++)
		note(o, i, 5, i, 77 /* of no known kind */);
	assert_int_equal(at(o, 2, 5), 0);
	assert_int_equal(at(o, 99999, 5), 99999);
	owners_free(o);
}

static void threads(void **state)
{
	struct owners *o = owners_new();
	const struct owners_thread a = {
		.tid = 1, .thread = 0x1000, .id = 11, .low = 64, .high = 128};
	const struct owners_thread b = {.tid = 2, .thread = 0x2000, .id = 12, .met_ns = 49};
	const struct owners_thread again = {.tid = 3, .thread = 0x1000, .id = 13, .met_ns = 50};

	owners_meet(o, &a);
	owners_meet(o, &b);
	owners_meet(o, &b);
	assert_int_equal(owners_who(o, GN_OWNER_ID, 11)->tid, 1);
	assert_int_equal(owners_who(o, GN_OWNER_WORD, 0x2000)->tid, 2);
	assert_int_equal(owners_who(o, GN_OWNER_WORD, 127)->tid, 1);
	assert_null(owners_who(o, GN_OWNER_WORD, 128));
	assert_null(owners_who(o, GN_OWNER_ID, 0x2000));
	assert_null(owners_who(o, GN_OWNER_HELD, 0x2000));
	/* another has its JavaThread's memory: the first has ended, unheard */
	owners_meet(o, &again);
	assert_int_equal(owners_who(o, GN_OWNER_WORD, 0x1000)->tid, 3);
	assert_null(owners_who(o, GN_OWNER_ID, 11));
	owners_exec(o, 50);
	assert_null(owners_who(o, GN_OWNER_ID, 12));
	assert_int_equal(owners_who(o, GN_OWNER_WORD, 0x1000)->tid, 3);
	owners_part(o, 3);
	owners_part(o, 3);
	assert_null(owners_who(o, GN_OWNER_WORD, 0x1000));
	owners_free(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs),
		cmocka_unit_test(many),
		cmocka_unit_test(threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
