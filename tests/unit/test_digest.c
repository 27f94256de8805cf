/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <endian.h>
#include <string.h>

#include "base/digest.h"

/* vectors.h of the reference implementation: bytes 0, 1, 2 ... under the key 0, 1 ... 15 */
static const struct {
	size_t len;
	uint8_t want[16];
} vectors[] = {
	{0,
	 {0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6, 0x6d, 0xf6, 0x72, 0x14, 0xc7, 0x55, 0x02,
	  0x93}},
	{1,
	 {0xda, 0x87, 0xc1, 0xd8, 0x6b, 0x99, 0xaf, 0x44, 0x34, 0x76, 0x59, 0x11, 0x9b, 0x22, 0xfc,
	  0x45}},
	{2,
	 {0x81, 0x77, 0x22, 0x8d, 0xa4, 0xa4, 0x5d, 0xc7, 0xfc, 0xa3, 0x8b, 0xde, 0xf6, 0x0a, 0xff,
	  0xe4}},
};

static void test_vectors(void **state)
{
	struct digest_key key = {{htole64(0x0706050403020100), htole64(0x0f0e0d0c0b0a0908)}};
	uint8_t bytes[64];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)i;
	for (size_t i = 0; i < sizeof(vectors) / sizeof(*vectors); i++) {
		struct digest d = digest_of(&key, bytes, vectors[i].len);

		assert_memory_equal(&d, vectors[i].want, sizeof(d));
	}
}

/* Every bit and the length count, wherever the bytes lie. */
static void test_differs(void **state)
{
	struct digest_key key, other;
	uint8_t bytes[33] = {0};
	struct digest first, d;

	(void)state;
	assert_int_equal(digest_key_make(&key), 0);
	assert_int_equal(digest_key_make(&other), 0);
	first = digest_of(&key, bytes, 32);
	d = digest_of(&key, bytes + 1, 32);
	assert_memory_equal(&first, &d, sizeof(d));
	d = digest_of(&other, bytes, 32);
	assert_memory_not_equal(&first, &d, sizeof(d));
	for (size_t i = 0; i < 32; i++) {
		bytes[i] = 1;
		d = digest_of(&key, bytes, 32);
		assert_memory_not_equal(&first, &d, sizeof(d));
		bytes[i] = 0;
		d = digest_of(&key, bytes, i);
		assert_memory_not_equal(&first, &d, sizeof(d));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_differs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
