/* SPDX-License-Identifier: Apache-2.0 */
/* What a VM thread did at each tick, and who ran last. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "naming/vmline.h"

static const struct vmline_wait ever = {0, UINT64_MAX};

static uint8_t op_at(const struct vmline *v, uint64_t tick)
{
	pid_t tid;

	return vmline_at(v, &ever, tick, &tid);
}

static void ticks(void **state)
{
	struct vmline *v = vmline_new();
	pid_t tid;

	assert_non_null(v);
	assert_int_equal(op_at(v, 0), 0);
	vmline_near(v, 7, 12, 5);
	vmline_note(v, 7, 10, 2, 3);
	assert_int_equal(op_at(v, 9), 0);
	assert_int_equal(op_at(v, 10), 3);
	assert_int_equal(vmline_at(v, &ever, 10, &tid), 3);
	assert_int_equal(tid, 7);
	assert_int_equal(op_at(v, 11), 3);
	assert_int_equal(op_at(v, 12), 5);
	/* what is known stays, whichever comes first */
	vmline_near(v, 7, 11, 5);
	assert_int_equal(op_at(v, 11), 3);
	vmline_note(v, 7, 12, 1, 4);
	assert_int_equal(op_at(v, 12), 4);
	/* a long rest takes the place of all before it, and of no later one */
	vmline_note(v, 7, 100, UINT32_MAX, 0);
	assert_int_equal(op_at(v, 10), 0);
	assert_int_equal(op_at(v, (uint64_t)100 + UINT32_MAX), 0);
	vmline_free(v);
}

/* Between two CPU samples of a VM thread that runs nothing is known of a tick. */
static void gaps(void **state)
{
	struct vmline *v = vmline_new();

	assert_non_null(v);
	vmline_note(v, 7, 100, 3, 1);
	vmline_note(v, 7, 104, 1, 1);
	vmline_note(v, 7, 107, 1, 1);
	vmline_note(v, 7, 111, 1, 1);
	vmline_note(v, 7, 113, 1, 2);
	assert_int_equal(op_at(v, 99), 0);
	assert_int_equal(op_at(v, 103), 1);
	assert_int_equal(op_at(v, 105), 1);
	assert_int_equal(op_at(v, 106), 1);
	/* three are too many, and two operations are not one */
	for (uint64_t t = 108; t <= 110; t++)
		assert_int_equal(op_at(v, t), 0);
	assert_int_equal(op_at(v, 112), 0);
	/* of another wait nothing is taken */
	assert_int_equal(vmline_at(v, &(struct vmline_wait){100, 106}, 105, &(pid_t){0}), 0);
	assert_int_equal(vmline_at(v, &(struct vmline_wait){105, 110}, 106, &(pid_t){0}), 0);
	vmline_free(v);
}

static void span_is(const struct vmline *v, uint64_t tick, uint64_t n, uint64_t first,
		    uint64_t last)
{
	struct vmline_wait span;

	assert_true(vmline_span(v, &ever, tick, n, &span));
	assert_int_equal(span.first, first);
	assert_int_equal(span.last, last);
}

static void spans(void **state)
{
	struct vmline *v = vmline_new();
	struct vmline_wait span;

	assert_non_null(v);
	vmline_note(v, 7, 99, 1, 0);
	vmline_note(v, 7, 100, 3, 1);
	vmline_note(v, 7, 104, 4, 1);
	vmline_note(v, 7, 108, 1, 2);
	span_is(v, 104, 64, 100, 107);
	span_is(v, 106, 4, 102, 107);
	span_is(v, 108, 64, 108, 108);
	assert_true(vmline_span(v, &(struct vmline_wait){101, 105}, 104, 64, &span));
	assert_int_equal(span.first, 101);
	assert_int_equal(span.last, 105);
	/* what is known close to a tick alone bounds nothing */
	vmline_note(v, 7, 201, 2, 1);
	vmline_near(v, 7, 200, 1);
	vmline_near(v, 7, 203, 1);
	span_is(v, 200, 64, 201, 202);
	span_is(v, 203, 64, 201, 202);
	vmline_near(v, 7, 300, 1);
	assert_false(vmline_span(v, &ever, 300, 64, &span));
	/* at the beginning of time */
	vmline_note(v, 7, 0, 1, 3);
	vmline_note(v, 7, 2, 1, 3);
	span_is(v, 1, 64, 0, 2);
	vmline_free(v);
}

static void last(void **state)
{
	struct vmline *v = vmline_new();

	assert_non_null(v);
	assert_int_equal(vmline_last(v, 0, UINT64_MAX), 0);
	vmline_ran(v, 2, 200);
	vmline_ran(v, 1, 100); /* its ring was read later */
	assert_int_equal(vmline_last(v, 50, 250), 2);
	assert_int_equal(vmline_last(v, 50, 199), 1);
	assert_int_equal(vmline_last(v, 201, 250), 0);
	for (int i = 0; i < 5000; i++)
		vmline_ran(v, 3, 1000);
	assert_int_equal(vmline_last(v, 50, 250), 0);
	assert_int_equal(vmline_last(v, 50, 1000), 3);
	vmline_free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ticks),
		cmocka_unit_test(gaps),
		cmocka_unit_test(spans),
		cmocka_unit_test(last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
