/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "jvm/stream.h"

/* Before JDK 20: bytes below 192 stand alone; 192 + 1 * 64 = 256 is c0 01. */
static void unsigned_old(void **state)
{
	static const uint8_t b[] = {0x00, 0xbf, 0xc0, 0x00, 0xc0, 0x01,
				    0xff, 0xff, 0xff, 0xff, 0xff};
	struct stream s = stream_of(b, sizeof(b), 17);

	assert_int_equal(stream_unsigned(&s), 0);
	assert_int_equal(stream_unsigned(&s), 191);
	assert_int_equal(stream_unsigned(&s), 192);
	assert_int_equal(stream_unsigned(&s), 256);
	/* five bytes of 255: 255 * (1 + 64 + 64^2 + 64^3 + 64^4) modulo 2^32 */
	assert_int_equal(stream_unsigned(&s), (uint32_t)(255ULL * 17043521ULL));
	assert_false(s.failed);
	assert_int_equal(stream_unsigned(&s), 0);
	assert_true(s.failed);
}

/* Since JDK 20 each byte is one more; 0 does not occur. */
static void unsigned_new(void **state)
{
	static const uint8_t b[] = {0x01, 0xbf, 0xc0, 0x01, 0xc0, 0x02, 0x00};
	struct stream s = stream_of(b, sizeof(b), 21);

	assert_int_equal(stream_unsigned(&s), 0);
	assert_int_equal(stream_unsigned(&s), 190);
	assert_int_equal(stream_unsigned(&s), 191);
	assert_int_equal(stream_unsigned(&s), 255);
	assert_false(s.failed);
	stream_unsigned(&s);
	assert_true(s.failed);
}

static void signed_values(void **state)
{
	static const uint8_t b[] = {0, 1, 2, 3, 0xbf};
	struct stream s = stream_of(b, sizeof(b), 17);

	assert_int_equal(stream_signed(&s), 0);
	assert_int_equal(stream_signed(&s), -1);
	assert_int_equal(stream_signed(&s), 1);
	assert_int_equal(stream_signed(&s), -2);
	assert_int_equal(stream_signed(&s), -96);
}

/* bci 0: line 7; bci 5: line 9; bci 105: line 4 (escaped: +100, -5) */
static void lines(void **state)
{
	static const uint8_t b[] = {0x07, 5 << 3 | 2, 0xff, 0xc8, 0x00, 0x09, 0x00, 0x99};

	assert_int_equal(line_find(b, sizeof(b), 17, 0), 7);
	assert_int_equal(line_find(b, sizeof(b), 17, -1), 7);
	assert_int_equal(line_find(b, sizeof(b), 17, 4), 7);
	assert_int_equal(line_find(b, sizeof(b), 17, 5), 9);
	assert_int_equal(line_find(b, sizeof(b), 17, 104), 9);
	assert_int_equal(line_find(b, sizeof(b), 17, 105), 4);
	assert_int_equal(line_find(b, sizeof(b), 17, 5000), 4);
	assert_int_equal(line_table_len(b, sizeof(b), 17), 7);
	assert_int_equal(line_find(b, 0, 17, 3), -1);
	/* cut in the middle of an entry: what came before counts */
	assert_int_equal(line_find(b, 4, 17, 5000), 9);
}

static void scopes(void **state)
{
	/* at 1: no sender, method 2, bci 3; at 4: inlined into that, method 1, bci -1 */
	static const uint8_t old[] = {0xff, 0, 2, 4, 1, 1, 0};
	static const uint8_t now[] = {0xff, 1, 3, 5, 2, 2, 1};
	struct scope sc;

	for (int i = 0; i < 2; i++) {
		const uint8_t *b = i ? now : old;
		int release = i ? 25 : 17;

		assert_int_equal(scope_decode(b, 7, release, 4, &sc), 0);
		assert_int_equal(sc.sender, 1);
		assert_int_equal(sc.method, 1);
		assert_int_equal(sc.bci, -1);
		assert_int_equal(scope_decode(b, 7, release, sc.sender, &sc), 0);
		assert_int_equal(sc.sender, 0);
		assert_int_equal(sc.method, 2);
		assert_int_equal(sc.bci, 3);
		assert_true(scope_decode(b, 7, release, 0, &sc) < 0);
		assert_true(scope_decode(b, 7, release, 7, &sc) < 0);
		assert_true(scope_decode(b, 6, release, 4, &sc) < 0);
	}
}

/* A sender that does not come before would be a loop. */
static void scope_loop(void **state)
{
	static const uint8_t b[] = {0xff, 1, 1, 1};
	struct scope sc;

	assert_true(scope_decode(b, sizeof(b), 17, 1, &sc) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unsigned_old),	 cmocka_unit_test(unsigned_new),
		cmocka_unit_test(signed_values), cmocka_unit_test(lines),
		cmocka_unit_test(scopes),	 cmocka_unit_test(scope_loop),
	};

	return cmocka_run_group_tests_name("stream", tests, NULL, NULL);
}
