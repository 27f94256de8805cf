/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/descriptor.h"

static void test_valid(void **state)
{
	static const char *const good[] = {"()V", "(I)Lx;", "([[JLa/b;[Z)[D"};
	static const char *const bad[] = {"",	   "(",	   "()",   "()VV", "(V)V", "(I",
					  "(Lx)V", "()Lx", "I()V", "([)V", "()[",  "(I)LxI;I"};

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		assert_true(descriptor_valid(good[i]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_false(descriptor_valid(bad[i]));
	assert_false(descriptor_valid(NULL));
}

/* "(" + n times a type of 21 bytes + last + ")" + ret */
static char *make(size_t n, const char *last, const char *ret)
{
	static char buf[DESCRIPTOR_MAX + 100];
	char *p = buf;

	*p++ = '(';
	while (n--)
		p = stpcpy(p, "[Lcom/example/Class;I");
	p = stpcpy(p, last);
	*p++ = ')';
	stpcpy(p, ret);
	return buf;
}

static void expect_cut(const char *s, const char *begins, const char *ends)
{
	char out[FRAME_NAME_MAX];

	descriptor_fit(out, s);
	assert_true(descriptor_valid(out));
	assert_true(strlen(out) < sizeof(out));
	assert_memory_equal(out, begins, strlen(begins));
	assert_string_equal(out + strlen(out) - strlen(ends), ends);
	assert_non_null(strstr(out, "Lcut_"));
}

static void test_fits(void **state)
{
	char out[FRAME_NAME_MAX];
	const char *s = make(48, "BBBBBBBBBBBB", "V");

	assert_int_equal(strlen(s), FRAME_NAME_MAX - 1);
	descriptor_fit(out, s);
	assert_string_equal(out, s);
	descriptor_fit(out, "no descriptor");
	assert_string_equal(out, "no descriptor");
	expect_cut(make(48, "BBBBBBBBBBBBB", "V"), "([Lcom/example/Class;I[Lcom", ")V");
}

/* Overloads differ anywhere: behind the cut, in what is returned, in one place of 65,000. */
static void test_overloads(void **state)
{
	static const char *const last[] = {"I", "J", "", "Lx;", "[Lx;"};
	static char out[12][FRAME_NAME_MAX];
	size_t n = 0;

	for (size_t i = 0; i < 5; i++) {
		descriptor_fit(out[n++], make(60, last[i], "V"));
		descriptor_fit(out[n++], make(3000, last[i], "V"));
	}
	descriptor_fit(out[n++], make(60, "I", "Lx;"));
	descriptor_fit(out[n++], make(60, "I", "[[D"));
	for (size_t i = 0; i < n; i++) {
		assert_true(descriptor_valid(out[i]));
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(out[i], out[k]);
	}
	/* the same one is the same in the next recording, which may be compared with this */
	descriptor_fit(out[1], make(60, "I", "V"));
	assert_string_equal(out[0], out[1]);
}

/* One type alone is too long, or it is none at all. */
static void test_odd(void **state)
{
	static char lng[3000], s[4000];
	char a[FRAME_NAME_MAX], b[FRAME_NAME_MAX];

	memset(lng, 'x', sizeof(lng) - 1);
	snprintf(s, sizeof(s), "(L%s;)I", lng);
	expect_cut(s, "(Lcut_", ";)I");
	snprintf(s, sizeof(s), "(IL%s;J)L%s;", lng + 2100, lng + 2500);
	expect_cut(s, "(ILxxx", ";)V"); /* it fits, what is returned does not */
	snprintf(s, sizeof(s), "(I)L%s;", lng);
	expect_cut(s, "(ILcut_", ")V");
	snprintf(s, sizeof(s), "(%s", lng);
	expect_cut(s, "(Lcut_", ")V");
	expect_cut(lng, "(Lcut_", ")V");
	descriptor_fit(a, lng);
	lng[2000] = 'y';
	descriptor_fit(b, lng);
	assert_string_not_equal(a, b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_valid),
		cmocka_unit_test(test_fits),
		cmocka_unit_test(test_overloads),
		cmocka_unit_test(test_odd),
	};

	return cmocka_run_group_tests_name("descriptor", tests, NULL, NULL);
}
