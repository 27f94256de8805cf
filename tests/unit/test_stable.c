/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "out/stable.h"

static void expect(const char *name, const char *want)
{
	struct buffer b = BUFFER_INIT;

	buffer_add(&b, name, strlen(name));
	stable_name(&b);
	buffer_byte(&b, 0);
	assert_string_equal(b.data ? (char *)b.data : "", want);
	buffer_free(&b);
}

/* As JDK 17, 21 and 25 name them, and as JFR's readers do, to whom a slash is a dot. */
static void test_numbers_go(void **state)
{
	expect("a.B$$Lambda$14/0x0000000800c03000.run", "a.B$$Lambda.run");
	expect("a.B$$Lambda/0x00007f1e3c001000.run", "a.B$$Lambda.run");
	expect("a.B$$Lambda.0x00007f1e3c001000.run", "a.B$$Lambda.run");
	expect("a.B$$Lambda.14.run", "a.B$$Lambda.run");
	expect("java.lang.invoke.LambdaForm$MH/0x0000000800c04400.invoke",
	       "java.lang.invoke.LambdaForm$MH.invoke");
	expect("java.lang.invoke.LambdaForm$DMH.0x7f01.newInvokeSpecial",
	       "java.lang.invoke.LambdaForm$DMH.newInvokeSpecial");
	expect("a.Hidden+0x7f01.call", "a.Hidden.call");
	expect("jdk.internal.reflect.GeneratedMethodAccessor7.invoke",
	       "jdk.internal.reflect.GeneratedMethodAccessor.invoke");
	expect("jdk.internal.reflect.GeneratedSerializationConstructorAccessor12.newInstance",
	       "jdk.internal.reflect.GeneratedSerializationConstructorAccessor.newInstance");
	expect("jdk.proxy2.$Proxy14.get", "jdk.proxy.$Proxy.get");
	expect("com.sun.proxy.$Proxy3.get", "com.sun.proxy.$Proxy.get");
}

/* A number that somebody gave a method or a class is part of its name. */
static void test_names_stay(void **state)
{
	static const char *const names[] = {
		"",
		"0x",
		"a.B.run",
		"a.B0x12.run",
		"a.0x12",
		"libfoo.so.0x1234",
		"a.B$1.run2",
		"a.B$$Lambda",
		"a.MyGeneratedMethodAccessor7.invoke",
		"a.MyConstructorAccessor7.invoke",
		"jdk.proxyless.A.b",
		"$Proxy",
		"a.$Proxy7",
		"libc.so.6.read",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		expect(names[i], names[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers_go),
		cmocka_unit_test(test_names_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
