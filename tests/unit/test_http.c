/* SPDX-License-Identifier: Apache-2.0 */
/* What gnomon-http decides without a network: who may ask, and what is run for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "http/access.h"
#include "http/address.h"
#include "http/route.h"

#define SOCKET "/run/x.sock"

/* ---- what is run ----------------------------------------------------------------------------- */

static int param(struct route_call *c, const char *name, const char *value, struct error *e)
{
	*e = (struct error){0};
	return route_param(c, name, strlen(name), value, strlen(value), e);
}

/* All arguments, with spaces between. */
static const char *line_of(const struct route_call *c)
{
	static char text[4096];

	text[0] = '\0';
	for (int i = 0; c->argv[i]; i++) {
		if (i)
			strcat(text, " ");
		strcat(text, c->argv[i]);
	}
	return text;
}

static void begin(struct route_call *c, const char *method, const char *path)
{
	const struct route *r = NULL;

	assert_int_equal(route_find(method, path, &r), 0);
	route_begin(c, r, SOCKET);
}

static void test_commands(void **state)
{
	struct route_call c;
	struct error e = {0};

	begin(&c, "GET", "/metrics");
	assert_int_equal(route_end(&c, &e), 0);
	assert_string_equal(line_of(&c), "gnomon status --metrics --socket " SOCKET);
	begin(&c, "HEAD", "/dump");
	assert_int_equal(param(&c, "last", "5m", &e), 0);
	assert_int_equal(param(&c, "jvm", "-f", &e), 0);
	assert_int_equal(route_end(&c, &e), 0);
	assert_string_equal(line_of(&c), "gnomon dump --output=- --format=jfr --socket " SOCKET
					 " --last=5m -- -f");
	begin(&c, "GET", "/flame");
	assert_int_equal(param(&c, "to", "--socket=/evil x", &e), 0);
	assert_int_equal(route_end(&c, &e), 0);
	assert_string_equal(c.argv[c.argc - 1], "--to=--socket=/evil x");
	assert_null(c.argv[c.argc]);
	begin(&c, "POST", "/stop");
	assert_int_equal(param(&c, "jvm", "4711", &e), 0);
	assert_int_equal(route_end(&c, &e), 0);
	assert_string_equal(line_of(&c), "gnomon stop --socket " SOCKET " -- 4711");
	begin(&c, "POST", "/set");
	assert_int_equal(param(&c, "jvm", "shop", &e), 0);
	assert_int_equal(param(&c, "cpu", "1ms", &e), 0);
	assert_int_equal(param(&c, "no-wall", "yes", &e), 0);
	assert_int_equal(param(&c, "no-cpu", "no", &e), 0);
	assert_int_equal(param(&c, "usual", "--help", &e), -EINVAL);
	assert_string_equal(e.msg, "'usual' is yes or no");
	assert_int_equal(route_end(&c, &e), 0);
	assert_string_equal(line_of(&c),
			    "gnomon set --socket " SOCKET " --cpu=1ms --no-wall -- shop");
}

static void test_no_such(void **state)
{
	const struct route *r = NULL;

	assert_int_equal(route_find("GET", "/", &r), 404);
	assert_int_equal(route_find("GET", "/status/", &r), 404);
	assert_int_equal(route_find("POST", "/status", &r), 405);
	assert_int_equal(route_find("GET", "/start", &r), 405);
	assert_int_equal(route_find("HEAD", "/stop", &r), 405);
	assert_int_equal(route_find("get", "/status", &r), 405);
	assert_null(r);
}

static void test_bad_parameters(void **state)
{
	char longest[ROUTE_VALUE_MAX + 2];
	struct route_call c;
	struct error e = {0};

	memset(longest, 'x', sizeof(longest));
	begin(&c, "POST", "/start");
	assert_int_equal(route_end(&c, &e), -EINVAL);
	assert_string_equal(e.msg, "/start wants a parameter 'jvm'");
	assert_int_equal(param(&c, "jvm", "", &e), -EINVAL);
	assert_int_equal(param(&c, "jvm", "a\nb", &e), -EINVAL);
	assert_int_equal(route_param(&c, "jvm", 3, "a\0b", 3, &e), -EINVAL);
	assert_int_equal(route_param(&c, "jvm", 3, longest, ROUTE_VALUE_MAX + 1, &e), -EINVAL);
	assert_int_equal(param(&c, "last", "5m", &e), -EINVAL);
	assert_string_equal(e.hint, "it has: jvm");
	assert_int_equal(param(&c, "j\033vm", "1", &e), -EINVAL);
	assert_string_equal(e.msg, "/start has no parameter 'j?vm'");
	assert_int_equal(route_param(&c, "jvm", 3, longest, ROUTE_VALUE_MAX, &e), 0);
	assert_int_equal(param(&c, "jvm", "1", &e), -EINVAL);
	assert_string_equal(e.msg, "'jvm' is given twice");
	assert_int_equal(route_end(&c, &e), 0);
	assert_int_equal(strlen(c.argv[c.argc - 1]), ROUTE_VALUE_MAX);
}

static void test_statuses(void **state)
{
	const struct route *of_jvm, *of_daemon;

	assert_int_equal(route_find("GET", "/dump", &of_jvm), 0);
	assert_int_equal(route_find("GET", "/status", &of_daemon), 0);
	assert_int_equal(route_status(of_jvm, EXIT_OK), 200);
	assert_int_equal(route_status(of_jvm, EXIT_USAGE), 400);
	assert_int_equal(route_status(of_jvm, EXIT_TARGET), 404);
	assert_int_equal(route_status(of_daemon, EXIT_TARGET), 503);
	assert_int_equal(route_status(of_jvm, EXIT_INPUT), 404);
	assert_int_equal(route_status(of_jvm, EXIT_PERMISSION), 503);
	assert_int_equal(route_status(of_jvm, EXIT_INTERNAL), 500);
	assert_int_equal(route_status(of_jvm, 127), 500);
}

/* ---- who may ask ----------------------------------------------------------------------------- */

static struct sockaddr_storage at(const char *text)
{
	struct sockaddr_storage a;
	struct error e = {0};

	assert_int_equal(address_read(&a, text, &e), 0);
	return a;
}

static int without_token(const char *from, const char *host, const char *origin, bool changes)
{
	const struct access_rule none = {0};
	struct sockaddr_storage a = at(from);
	const struct access_claim c = {.from = (struct sockaddr *)&a,
				       .authorization = "Bearer whatever",
				       .host = host,
				       .origin = origin,
				       .changes = changes};

	return access_check(&none, &c);
}

static void test_without_token(void **state)
{
	static const char *const local[] = {"localhost", "LOCALHOST:9466", "127.0.0.1:1",
					    "127.8.8.8", "[::1]",	   "[::1]:9466",
					    "localhost:"};
	static const char *const foreign[] = {
		"evil.org", "localhost.evil.org", "127.0.0.1.evil", "127.0.0.1:80x",
		"",	    "10.0.0.1",		  "[::1].evil"};

	for (size_t i = 0; i < sizeof(local) / sizeof(local[0]); i++)
		assert_int_equal(without_token("127.0.0.1:1", local[i], NULL, true), 0);
	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
		assert_int_equal(without_token("127.0.0.1:1", foreign[i], NULL, false), 403);
	assert_int_equal(without_token("127.0.0.1:1", NULL, NULL, false), 403);
	assert_int_equal(without_token("10.0.0.1:1", "localhost", NULL, false), 403);
	assert_int_equal(without_token("[2001:db8::1]:1", "localhost", NULL, false), 403);
	assert_int_equal(without_token("[::ffff:10.0.0.1]:1", "localhost", NULL, false), 403);
	assert_int_equal(without_token("[::1]:1", "localhost", NULL, false), 0);
	assert_int_equal(without_token("127.0.0.1:1", "localhost", "null", false), 0);
	assert_int_equal(without_token("127.0.0.1:1", "localhost", "http://evil.org", true), 403);
}

static void test_with_token(void **state)
{
	static const char *const wrong[] = {"",
					    "Bearer ",
					    "Bearer 0123456789abcdeF",
					    "Bearer 0123456789abcde",
					    "Bearer 0123456789abcdef0",
					    "Basic 0123456789abcdef",
					    "0123456789abcdef"};
	struct sockaddr_storage far = at("10.0.0.1:1");
	const struct access_rule rule = {"0123456789abcdef"};
	struct access_claim c = {.from = (struct sockaddr *)&far, .host = "any", .changes = true};

	assert_int_equal(access_check(&rule, &c), 401);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		c.authorization = wrong[i];
		assert_int_equal(access_check(&rule, &c), 401);
	}
	c.authorization = "bearer  0123456789abcdef";
	assert_int_equal(access_check(&rule, &c), 0);
}

static int token_of(const char *text, mode_t mode, struct error *e)
{
	char path[] = "/tmp/gnomon-token.XXXXXX";
	struct access_rule rule = {0};
	int fd = mkstemp(path), rc;

	*e = (struct error){0};
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
	rc = access_token_read(&rule, path, e);
	unlink(path);
	if (!rc)
		assert_string_equal(rule.token, "0123456789abcdef");
	return rc;
}

static void test_token_file(void **state)
{
	char longest[ACCESS_TOKEN_MAX + 2] = {0};
	struct access_rule rule = {0};
	struct error e;

	memset(longest, 'x', ACCESS_TOKEN_MAX + 1);
	assert_int_equal(token_of("0123456789abcdef\n", 0600, &e), 0);
	assert_int_equal(token_of("0123456789abcdef\r\nmore\n", 0400, &e), 0);
	assert_int_equal(token_of("0123456789abcdef\n", 0640, &e), 0);
	assert_int_equal(token_of("0123456789abcdef\n", 0604, &e), -EPERM);
	assert_int_equal(token_of("0123456789abcdef\n", 0660, &e), -EPERM);
	assert_int_equal(token_of("short\n", 0600, &e), -EINVAL);
	assert_int_equal(token_of("", 0600, &e), -EINVAL);
	assert_int_equal(token_of("with a space in it\n", 0600, &e), -EINVAL);
	assert_int_equal(token_of(longest, 0600, &e), -EINVAL);
	assert_int_equal(access_token_read(&rule, "/nowhere/token", &e), -ENOENT);
	assert_int_equal(e.exit, EXIT_USAGE);
}

static void test_addresses(void **state)
{
	static const char *const bad[] = {"",	       "9466",		 ":9466",
					  "127.0.0.1", "127.0.0.1:",	 "[::1:9466",
					  "[]:1",      "localhost:9466", "127.0.0.1:http",
					  "::1:x"};
	struct sockaddr_storage a;
	char text[ADDRESS_TEXT];
	struct error e;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(address_read(&a, bad[i], &e), -EINVAL);
	a = at("[::1]:0");
	assert_true(access_is_loopback((struct sockaddr *)&a));
	address_text(&a, 80, text);
	assert_string_equal(text, "[::1]:80");
	a = at("0.0.0.0:9466");
	assert_false(access_is_loopback((struct sockaddr *)&a));
	a = at("127.1.2.3:5");
	address_text(&a, 5, text);
	assert_string_equal(text, "127.1.2.3:5");
	assert_true(access_is_loopback((struct sockaddr *)&a));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_commands),       cmocka_unit_test(test_no_such),
		cmocka_unit_test(test_bad_parameters), cmocka_unit_test(test_statuses),
		cmocka_unit_test(test_without_token),  cmocka_unit_test(test_with_token),
		cmocka_unit_test(test_token_file),     cmocka_unit_test(test_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
