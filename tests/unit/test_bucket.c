/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/bucket.h"

#define S 1000000000ull

static const struct bucket_size size = {.at_once = 10, .second = 2};

/* All of it at once, then as much as comes. */
static void spent(void **state)
{
	struct bucket b = {0};
	uint64_t now = 1000 * S;
	int n = 0;

	for (; bucket_has(&b, &size, now); n++)
		bucket_take(&b, &size, now, 1);
	assert_int_equal(n, 10);
	for (n = 0; n < 20; n++) {
		now += S / 2;
		assert_true(bucket_has(&b, &size, now));
		bucket_take(&b, &size, now, 1);
		assert_false(bucket_has(&b, &size, now));
	}
	/* never more than all of it, however long nobody took any */
	now += 1000 * S;
	for (n = 0; bucket_has(&b, &size, now); n++)
		bucket_take(&b, &size, now, 1);
	assert_int_equal(n, 10);
}

/* What was too much is paid for later. */
static void debt(void **state)
{
	struct bucket b = {0};
	uint64_t now = S;

	assert_true(bucket_has(&b, &size, now));
	bucket_take(&b, &size, now, 30);
	assert_false(bucket_has(&b, &size, now + 10 * S - 1));
	assert_true(bucket_has(&b, &size, now + 10 * S + 1));
}

/* Bytes and nanoseconds, to their ends. */
static void wide(void **state)
{
	const struct bucket_size ns = {.at_once = S, .second = S / 10};
	struct bucket b = {0};

	bucket_take(&b, &ns, 1, S - 1);
	assert_true(bucket_has(&b, &ns, 1));
	bucket_take(&b, &ns, 1, 2);
	assert_false(bucket_has(&b, &ns, 1));
	assert_true(bucket_has(&b, &ns, UINT64_MAX));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spent),
		cmocka_unit_test(debt),
		cmocka_unit_test(wide),
	};

	return cmocka_run_group_tests_name("bucket", tests, NULL, NULL);
}
