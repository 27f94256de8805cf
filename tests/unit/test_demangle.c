/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "sym/demangle.h"

static void check(const char *name, const char *brief, const char *full)
{
	char out[512];

	assert_true(demangle(name, false, out, sizeof(out)));
	assert_string_equal(out, brief);
	assert_true(demangle(name, true, out, sizeof(out)));
	assert_string_equal(out, full);
}

/* Expected values by the rules of the Itanium ABI, section 5.1, and Rust RFC 2603. */
static void known(void **state)
{
	check("_ZN2os13javaTimeNanosEv", "os::javaTimeNanos", "os::javaTimeNanos()");
	check("_ZN5Probe4spinEi", "Probe::spin", "Probe::spin(int)");
	check("_ZNK3Foo3getEv", "Foo::get", "Foo::get() const");
	check("_ZN3FooclEi", "Foo::operator()", "Foo::operator()(int)");
	check("_ZN12_GLOBAL__N_13fooEv", "(anonymous namespace)::foo",
	      "(anonymous namespace)::foo()");
	check("_Z3maxIiET_S0_S0_", "max<int>", "int max<int>(int, int)");
	check("_Z3fooi@plt", "foo@plt", "foo(int)@plt");
	check("_RNvC6_123foo3bar", "123foo::bar", "123foo::bar");
	check("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad",
	      "core::fmt::Formatter::pad");
}

static void clones(void **state)
{
	char out[128];

	assert_true(demangle("_ZN5Probe4spinEi.part.0", false, out, sizeof(out)));
	assert_string_equal(out, "Probe::spin");
}

static void not_mangled(void **state)
{
	static const char *const names[] = {
		"",    "_",	 "_Z",		"malloc", "_start", "_R",
		"_ZN", "Z3foov", "__cxa_throw", "_Z@plt", "@plt",   "_ZN9999999999x"};
	char out[64];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (demangle(names[i], false, out, sizeof(out)))
			fail_msg("'%s' became '%s'", names[i], out);
}

static void bounds(void **state)
{
	char name[8192], out[64];

	/* does not fit: stays mangled, and nothing behind cap is touched */
	memset(out, '#', sizeof(out));
	assert_false(demangle("_ZN5Probe4spinEi", false, out, 11));
	assert_int_equal(out[11], '#');
	assert_true(demangle("_ZN5Probe4spinEi", false, out, 12));
	assert_string_equal(out, "Probe::spin");
	assert_false(demangle("_Z3fooi@plt", false, out, 7));
	assert_true(demangle("_Z3fooi@plt", false, out, 8));
	/* nested deeper than anything real */
	memset(name, 'P', sizeof(name));
	memcpy(name, "_Z1f", 4);
	memcpy(name + sizeof(name) - 2, "i", 2);
	assert_false(demangle(name, true, out, sizeof(out)));
	name[1000] = 'i';
	name[1001] = 0;
	demangle(name, true, out, sizeof(out)); /* must return */
}

/*
 * Each level names the level before twice, and the demangler looks for a pack in all of it, 2^60
 * steps, before it writes a byte: it must return, and the names after it are as good as ever.
 */
static void packs(void **state)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char name[1024] = "_Z1fIDp1BI1AIiiE", out[1024];
	uint64_t wasted = demangle_wasted_ns();

	for (int i = 0; i < 30; i++) {
		char level[32];

		/* S_ is f, S0_ B, S1_ A, S2_ the first level */
		snprintf(level, sizeof(level), "S1_IS%c_S%c_E", digits[i + 2], digits[i + 2]);
		strcat(name, level);
	}
	strcat(name, "EEvv");
	for (int i = 0; i < 2; i++)
		assert_false(demangle(name, i, out, sizeof(out)));
	assert_true(demangle_wasted_ns() - wasted > 0);
	check("_ZN5Probe4spinEi", "Probe::spin", "Probe::spin(int)");
}

/* Each level names the level before twice: 2^60 characters if it were printed. */
static void doubling(void **state)
{
	char name[1024] = "_Z1f1AIiiE", out[1024];
	struct timespec t0, t1;
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	strcpy(name, "_Z1f1AIiiE");
	for (int i = 0; i < 35; i++) {
		char sub[32];

		snprintf(sub, sizeof(sub), "S_IS%c_S%c_E", digits[i], digits[i]);
		strcat(name, sub);
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t0);
	demangle(name, true, out, sizeof(out));
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t1);
	assert_true(t1.tv_sec - t0.tv_sec < 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known),  cmocka_unit_test(clones),   cmocka_unit_test(not_mangled),
		cmocka_unit_test(bounds), cmocka_unit_test(doubling), cmocka_unit_test(packs),
	};

	return cmocka_run_group_tests_name("demangle", tests, NULL, NULL);
}
