/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/utf8.h"
#include "out/csv.h"
#include "cli/table.h"

static void characters(void **state)
{
	static const struct {
		const char *s;
		size_t len;
		uint32_t code;
	} t[] = {
		{"a", 1, 'a'},
		{"\xc3\xa9", 2, 0xe9},
		{"\xe2\x82\xac", 3, 0x20ac},
		{"\xf0\x9f\x98\x80", 4, 0x1f600},
		{"\xc0\x80", 0, 0},
		{"\xe0\x80\x80", 0, 0},
		{"\xed\xa0\x80", 0, 0},
		{"\xf4\x90\x80\x80", 0, 0},
		{"\xe2\x82", 0, 0},
		{"\x80", 0, 0},
		{"\xff", 0, 0},
	};
	uint32_t c;

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		assert_int_equal(utf8_char(t[i].s, &c), t[i].len);
		if (t[i].len)
			assert_int_equal(c, t[i].code);
	}
}

static void printable(void **state)
{
	char b[16];

	utf8_printable("a\x1b[2J\xc2\x9b\xff\xc3\xa9\n", b, sizeof(b));
	assert_string_equal(b, "a?[2J??\xc3\xa9?");
	utf8_printable("ab\xc3\xa9", b, 4); /* the last character does not fit */
	assert_string_equal(b, "ab");
	assert_int_equal(utf8_count("ab\xc3\xa9"), 3);
}

static void cleaned(const char *s, size_t n, bool lines, const char *want)
{
	char b[32];

	memcpy(b, s, n);
	utf8_clean(b, n, lines);
	assert_memory_equal(b, want, n);
}

/* As many bytes as before, whatever is at the end. */
static void clean(void **state)
{
	cleaned("a\x1b[2J\xc2\x9b\xff\xc3\xa9\n\t", 12, false, "a?[2J???\xc3\xa9??");
	cleaned("a\n\t\r", 4, true, "a\n\t?");
	cleaned("ab\xe2\x82", 4, false, "ab??");
	cleaned("\0b\xf0\x9f\x98\x80", 6, false, "?b\xf0\x9f\x98\x80");
	cleaned("", 0, false, "");
}

static void stream_open(FILE **f, char **text, size_t *len)
{
	*f = open_memstream(text, len);
	assert_non_null(*f);
}

static void documents(void **state)
{
	char *text;
	size_t len;
	struct json j;
	FILE *f;

	stream_open(&f, &text, &len);
	json_begin(&j, f);
	json_open(&j, NULL, '{');
	json_string(&j, "a\"", "x\\\n\xff\xc3\xa9");
	json_open(&j, "l", '[');
	json_number(&j, NULL, 18446744073709551615ULL);
	json_bool(&j, NULL, true);
	json_close(&j, ']');
	json_open(&j, "e", '[');
	json_close(&j, ']');
	json_string(&j, "n", "");
	json_close(&j, '}');
	json_end(&j);
	fclose(f);
	assert_string_equal(text, "{\n  \"a\\\"\": \"x\\\\\\u000a\\ufffd\xc3\xa9\",\n"
				  "  \"l\": [\n    18446744073709551615,\n    true\n  ],\n"
				  "  \"e\": [],\n  \"n\": null\n}\n");
	free(text);
}

static void dense(void **state)
{
	char *text;
	size_t len;
	struct json j;
	FILE *f;

	stream_open(&f, &text, &len);
	json_begin_dense(&j, f);
	json_open(&j, NULL, '{');
	json_text(&j, "t", "");
	json_open(&j, "l", '[');
	json_integer(&j, NULL, -1);
	json_null(&j, NULL);
	json_double(&j, NULL, 0.0625);
	json_close(&j, ']');
	json_open(&j, "o", '{');
	json_close(&j, '}');
	json_close(&j, '}');
	json_end(&j);
	fclose(f);
	assert_string_equal(text, "{\"t\":\"\",\"l\":[-1,null,0.062],\"o\":{}}\n");
	free(text);
}

static void tables(void **state)
{
	static const struct table_column columns[] = {
		{"N", .right = true},
		{"NAME", .least = 4, .keep_tail = true},
		{"X", .least = 2},
	};
	struct table *t = table_new(columns, 3);
	char *text;
	size_t len;
	FILE *f;

	assert_int_equal(table_row(t, (const char *const[]){"1", "org.Main", "yes"}), 0);
	assert_int_equal(table_row(t, (const char *const[]){"23", "M\xc3\xa9", "no: why"}), 0);
	stream_open(&f, &text, &len);
	table_print(t, f, 0);
	table_print(t, f, 15);
	fclose(f);
	assert_string_equal(text, " N  NAME      X\n"
				  " 1  org.Main  yes\n"
				  "23  M\xc3\xa9        no: why\n"
				  " N  NAME  X\n"
				  " 1  ~ain  yes\n"
				  "23  M\xc3\xa9    no: ~\n");
	free(text);
	table_free(t);
}

static void csv_of(const char *text, const char *want)
{
	char *got;
	size_t len;
	FILE *f;

	stream_open(&f, &got, &len);
	csv_text(text, f);
	fclose(f);
	assert_string_equal(got, want);
	free(got);
}

static void csv(void **state)
{
	csv_of("a.B.c", "\"a.B.c\"");
	csv_of("say \"=1\", x", "\"say \"\"=1\"\", x\"");
	csv_of("=cmd|'/c calc'!A1", "\"'=cmd|'/c calc'!A1\"");
	csv_of("+1", "\"'+1\"");
	csv_of("-1", "\"'-1\"");
	csv_of("@SUM(1)", "\"'@SUM(1)\"");
	csv_of("a\x1b[31m\xc2\x9b\xff\xc3\xa9\r", "\"a?[31m???\xc3\xa9?\"");
	csv_of("", "\"\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(characters), cmocka_unit_test(printable), cmocka_unit_test(clean),
		cmocka_unit_test(csv),	      cmocka_unit_test(documents), cmocka_unit_test(dense),
		cmocka_unit_test(tables),
	};

	return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
