/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "jvm/perfmap.h"

static struct perfmap *parsed(const char *text)
{
	struct perfmap *m = perfmap_new();

	assert_int_equal(perfmap_parse(m, text, strlen(text)), 0);
	return m;
}

static void jdk_lines(void **state)
{
	struct perfmap *m = parsed(
		"0x00007fd4c8ed4c80 0x00000000000002f8 void Waits.burn(int)\n"
		"0x00007fd4c8ed5000 0x10 int java.util.Map$Node.hash(java.lang.Object, int)\n"
		"0x00007fd4c8ed6000 0x10 I2C/C2I adapters\n");
	struct frame_name f;

	assert_int_equal(perfmap_lookup(m, 0x7fd4c8ed4c80, &f), 1);
	assert_string_equal(f.klass, "Waits");
	assert_string_equal(f.method, "burn");
	assert_string_equal(f.sig, "(int)");
	assert_int_equal(f.type, FRAME_JIT);
	assert_int_equal(perfmap_lookup(m, 0x7fd4c8ed4f77, &f), 1);
	assert_int_equal(perfmap_lookup(m, 0x7fd4c8ed4f78, &f), 0);
	assert_int_equal(perfmap_lookup(m, 0x7fd4c8ed5001, &f), 1);
	assert_string_equal(f.klass, "java.util.Map$Node");
	assert_string_equal(f.sig, "(java.lang.Object, int)");
	assert_int_equal(perfmap_lookup(m, 0x7fd4c8ed6001, &f), 1);
	assert_string_equal(f.method, "I2C/C2I adapters");
	assert_int_equal(f.type, FRAME_NATIVE);
	perfmap_free(m);
}

static void other_runtimes(void **state)
{
	struct perfmap *m = parsed("3ef414c0 398 RegExp:[{(]\r\n"
				   "3ef418a0 398 LazyCompile:~f /x y.js:12");
	struct frame_name f;

	assert_int_equal(perfmap_lookup(m, 0x3ef414c0, &f), 1);
	assert_string_equal(f.method, "RegExp:[{(]");
	assert_int_equal(perfmap_lookup(m, 0x3ef418a0 + 0x397, &f), 1);
	assert_string_equal(f.method, "LazyCompile:~f /x y.js:12");
	perfmap_free(m);
}

static void newest_wins(void **state)
{
	struct perfmap *m = parsed("1000 100 old\n1080 10 inner\n1000 200 new\n");
	struct frame_name f;

	perfmap_lookup(m, 0x1085, &f);
	assert_string_equal(f.method, "new");
	assert_int_equal(perfmap_parse(m, "1084 4 newest\n", 14), 0);
	perfmap_lookup(m, 0x1085, &f);
	assert_string_equal(f.method, "newest");
	perfmap_free(m);
}

static void nonsense(void **state)
{
	struct perfmap *m = parsed("\n"
				   "zz 10 a\n"
				   "1000 0 empty\n"
				   "1000 10\n"
				   "1000 10 \n"
				   "10000000000000000 10 seventeen digits\n"
				   "ffffffffffffffff 10 wraps\n"
				   "1000 ffffffffff too long\n"
				   "-1 10 minus\n");
	struct perfmap_stats s;

	perfmap_stats(m, &s);
	assert_int_equal(s.entries, 0);
	assert_int_equal(s.bad, 8);
	perfmap_free(m);
}

static void long_name(void **state)
{
	struct perfmap *m = perfmap_new();
	struct frame_name f;
	char text[5000];

	memset(text, 'x', sizeof(text));
	memcpy(text, "1000 10 ", 8);
	text[sizeof(text) - 1] = '\n';
	assert_int_equal(perfmap_parse(m, text, sizeof(text)), 0);
	assert_int_equal(perfmap_lookup(m, 0x1000, &f), 1);
	assert_int_equal(strlen(f.method), FRAME_NAME_MAX - 1);
	perfmap_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jdk_lines),   cmocka_unit_test(other_runtimes),
		cmocka_unit_test(newest_wins), cmocka_unit_test(nonsense),
		cmocka_unit_test(long_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
