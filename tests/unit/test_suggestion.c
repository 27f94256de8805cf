/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "cli/suggestion.h"

static const char *const words[] = {"record", "render", "repair", "summary",	"jvms",
				    "diff",   "doctor", "wall",	  "wall-engine"};

static const char *near(const char *word)
{
	struct suggestion n = {.word = word, .len = strlen(word)};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		suggestion_offer(&n, words[i]);
	return n.best;
}

static void expect(const char *word, const char *want)
{
	const char *got = near(word);

	assert_non_null(got);
	assert_string_equal(got, want);
}

static void test_suggestion(void **state)
{
	expect("recrod", "record");  /* swapped */
	expect("rcord", "record");   /* left out */
	expect("recorrd", "record"); /* put in */
	expect("redord", "record");  /* replaced */
	expect("jvm", "jvms");
	expect("summ", "summary"); /* its beginning */
	expect("wal", "wall");	   /* the nearer of two */
	expect("doktor", "doctor");
}

static void test_far(void **state)
{
	char longest[200];

	memset(longest, 'r', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = 0;
	assert_null(near("frobnicate"));
	assert_null(near(""));
	assert_null(near("xy"));
	assert_null(near(longest));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_suggestion),
		cmocka_unit_test(test_far),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
