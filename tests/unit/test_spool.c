/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "spool/destination.h"
#include "spool/spool.h"

static char dir[64];

static struct spool *opened(uint64_t cap)
{
	struct spool *s = NULL;

	strcpy(dir, "/tmp/gnomon-spool.XXXXXX");
	assert_non_null(mkdtemp(dir));
	assert_int_equal(spool_open(&s, dir, cap, (uid_t)-1, NULL), 0);
	return s;
}

static void closed(struct spool *s)
{
	spool_destroy(s);
	spool_close(s);
	assert_int_equal(access(dir, F_OK), -1);
}

static struct payload payload(const char *about)
{
	struct payload p = {.path = "/a/B",
			    .type = "application/proto",
			    .time_ns = 1700000000000000000,
			    .raw = 12345,
			    .samples = 7};

	snprintf(p.about, sizeof(p.about), "%s", about);
	return p;
}

/* The `about` of all, in their order. */
static void order_is(struct spool *s, const char *want)
{
	struct buffer text = BUFFER_INIT;
	struct spool_entry *v;
	size_t n;

	assert_int_equal(spool_list(s, &v, &n), 0);
	for (size_t i = 0; i < n; i++) {
		struct buffer body = BUFFER_INIT;
		struct payload p;

		assert_int_equal(spool_get(s, v[i].name, &p, &body), 0);
		buffer_printf(&text, "%s ", p.about);
		buffer_free(&body);
	}
	buffer_byte(&text, 0);
	assert_string_equal((char *)text.data, want);
	buffer_free(&text);
	free(v);
}

static void test_whole(void **state)
{
	struct spool *s = opened(0);
	struct payload p = payload("the first"), got;
	struct buffer body = BUFFER_INIT;
	struct spool_entry *v;
	size_t n;

	assert_int_equal(spool_put(s, &p, "\0\n\nx", 4), 0);
	assert_int_equal(spool_list(s, &v, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(spool_get(s, v[0].name, &got, &body), 0);
	assert_string_equal(got.path, p.path);
	assert_string_equal(got.type, p.type);
	assert_string_equal(got.encoding, "");
	assert_string_equal(got.about, p.about);
	assert_int_equal(got.time_ns, p.time_ns);
	assert_int_equal(got.raw, p.raw);
	assert_int_equal(got.samples, p.samples);
	assert_int_equal(body.len, 4);
	assert_memory_equal(body.data, "\0\n\nx", 4);
	spool_remove(s, v[0].name);
	assert_int_equal(spool_get(s, v[0].name, &got, &body), -ENOENT);
	buffer_free(&body);
	free(v);
	closed(s);
}

/* The oldest make room, and are counted; what was there before the spool was opened counts, too. */
static void test_cap(void **state)
{
	struct spool *s = opened(0), *again = NULL;
	uint8_t *body = calloc(1, 4000);
	struct payload p;

	p = payload("a");
	assert_int_equal(spool_put(s, &p, body, 4000), 0);
	p = payload("b");
	assert_int_equal(spool_put(s, &p, body, 4000), 0);
	assert_int_equal(spool_open(&again, dir, 10000, (uid_t)-1, NULL), 0);
	p = payload("c");
	assert_int_equal(spool_put(again, &p, body, 4000), 0);
	order_is(again, "b c ");
	p = payload("d");
	assert_int_equal(spool_put(again, &p, body, 4000), 0);
	order_is(again, "c d ");
	assert_int_equal(spool_lost(again).payloads, 2);
	assert_int_equal(spool_lost(again).samples, 14);
	assert_true(spool_lost(again).bytes > 8000);
	p = payload("e");
	assert_int_equal(spool_put(again, &p, body, 100), 0);
	order_is(again, "c d e ");
	p = payload("too large for it");
	free(body);
	body = calloc(1, 10000);
	assert_int_equal(spool_put(again, &p, body, 10000), -EFBIG);
	order_is(again, "c d e ");
	free(body);
	spool_close(again);
	closed(s);
}

static void file_put(const char *name, const char *bytes, size_t n)
{
	char path[200];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fwrite(bytes, 1, n, f);
	fclose(f);
}

/* What is not a payload is said to be none, or is not seen. */
static void test_odd(void **state)
{
	static const char *const heads[] = {
		"",
		"gnomon 2\npath /a\ntype b\n\n",
		"gnomon 1\npath /a\ntype b\n",
		"gnomon 1\npath a\ntype b\n\n",
		"gnomon 1\npath /a\n\n",
		"gnomon 1\npath\n\n",
		"gnomon 1\n\n",
		"\n\n",
	};
	struct spool *s = opened(0);
	struct buffer body = BUFFER_INIT;
	struct spool_entry *v;
	char path[200], longer[1400];
	struct payload p;
	size_t n;

	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		file_put("x.payload", heads[i], strlen(heads[i]));
		assert_int_equal(spool_get(s, "x.payload", &p, &body), -EBADMSG);
	}
	n = (size_t)snprintf(longer, sizeof(longer), "gnomon 1\npath /%0300d\ntype b\n\n", 1);
	file_put("x.payload", longer, n);
	assert_int_equal(spool_get(s, "x.payload", &p, &body), -EBADMSG);
	snprintf(path, sizeof(path), "%s/y.payload", dir);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(spool_get(s, "y.payload", &p, &body), -EBADMSG);
	assert_int_equal(body.len, 0);
	spool_remove(s, "y.payload");
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(spool_get(s, "y.payload", &p, &body), -EBADMSG);
	file_put(".z.payload", "gnomon 1\npath /a\ntype b\n\n", 25);
	file_put("z", "gnomon 1\npath /a\ntype b\n\n", 25);
	assert_int_equal(spool_list(s, &v, &n), 0);
	assert_int_equal(n, 2);
	free(v);
	snprintf(path, sizeof(path), "%s/.z.payload", dir);
	unlink(path);
	snprintf(path, sizeof(path), "%s/z", dir);
	unlink(path);
	closed(s);
}

/* What somebody left who was killed goes, unless he may be at it just now. */
static void test_left(void **state)
{
	static const struct timespec old[2] = {{.tv_sec = 1700000000}, {.tv_sec = 1700000000}};
	struct spool *s = opened(0), *again = NULL;
	char path[200];

	file_put(".x.payload", "abc", 3);
	file_put(".y.payload", "abc", 3);
	snprintf(path, sizeof(path), "%s/.x.payload", dir);
	assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
	assert_int_equal(spool_open(&again, dir, 0, (uid_t)-1, NULL), 0);
	assert_int_equal(access(path, F_OK), -1);
	snprintf(path, sizeof(path), "%s/.y.payload", dir);
	assert_int_equal(access(path, F_OK), 0);
	spool_close(again);
	closed(s);
}

/* Their order is that in which they came, also where the clock was set back meanwhile. */
static void test_clock(void **state)
{
	static const char head[] = "gnomon 1\npath /a\ntype b\nabout %s\n\n";
	struct spool *s = opened(0);
	struct payload p = payload("c");
	char text[100];

	file_put("09000000000000000000-000001.payload", text,
		 (size_t)snprintf(text, sizeof(text), head, "a"));
	file_put("09000000000000000001-000001.payload", text,
		 (size_t)snprintf(text, sizeof(text), head, "b"));
	assert_int_equal(spool_put(s, &p, "x", 1), 0);
	p = payload("d");
	assert_int_equal(spool_put(s, &p, "x", 1), 0);
	order_is(s, "a b c d ");
	/* nobody's name */
	file_put("99999999999999999999-000001.payload", text,
		 (size_t)snprintf(text, sizeof(text), head, "z"));
	p = payload("e");
	assert_int_equal(spool_put(s, &p, "x", 1), 0);
	order_is(s, "a b c d e z ");
	closed(s);
}

static void test_foreign(void **state)
{
	struct error e = {0};
	struct spool *s = NULL;

	assert_int_equal(spool_open(&s, "/", 0, (uid_t)54321, &e), -EPERM);
	assert_int_equal(e.exit, EXIT_OUTPUT);
	assert_true(e.hint[0]);
	assert_int_equal(spool_open(&s, "/nowhere/at/all", 0, (uid_t)-1, &e), -ENOENT);
}

/* ---- the pipe ---- */

static void same(const char *a, const char *b)
{
	assert_true(!a == !b);
	if (a)
		assert_string_equal(a, b);
}

static void test_destination(void **state)
{
	struct destination d = {.url = "http://a:1/b",
				.tenant = "t",
				.bearer = "x 5\ny",
				.ca = "-----BEGIN\nend 0\n\n",
				.headers = {"A: b", "C: d"},
				.nheaders = 2,
				.insecure = true,
				.timeout_ns = 1,
				.max_age_ns = UINT64_MAX,
				.finish_ns = 3,
				.bytes_second = 4},
			   got;
	struct buffer b = BUFFER_INIT;
	size_t used = 0;

	destination_write(&d, &b);
	for (size_t n = 0; n < b.len; n++) { /* any part of it is too little */
		got = (struct destination){0};
		assert_int_equal(destination_read(&got, b.data, n, &used), 0);
		destination_free(&got);
	}
	buffer_add(&b, "..", 2);
	got = (struct destination){0};
	assert_int_equal(destination_read(&got, b.data, b.len, &used), 1);
	assert_int_equal(used, b.len - 2);
	same(got.url, d.url);
	same(got.tenant, d.tenant);
	same(got.bearer, d.bearer);
	same(got.basic, d.basic);
	same(got.ca, d.ca);
	assert_int_equal(got.nheaders, 2);
	same(got.headers[1], d.headers[1]);
	assert_true(got.insecure);
	assert_int_equal(got.timeout_ns, 1);
	assert_true(got.max_age_ns == UINT64_MAX);
	assert_int_equal(got.finish_ns, 3);
	assert_int_equal(got.bytes_second, 4);
	destination_free(&got);
	buffer_free(&b);
}

static void test_destination_odd(void **state)
{
	static const char *const odd[] = {
		"url\n\n",
		"url x\nA\n",
		"url 99999999\n",
		"url -1\n",
		"end 0\n\n",
		"0123456789012345678901234567890123456789012345678901234567890123456789",
	};
	struct destination d = {0};
	size_t used;

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		assert_int_equal(destination_read(&d, odd[i], strlen(odd[i]), &used), -EBADMSG);
		destination_free(&d);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),	    cmocka_unit_test(test_cap),
		cmocka_unit_test(test_odd),	    cmocka_unit_test(test_left),
		cmocka_unit_test(test_clock),	    cmocka_unit_test(test_foreign),
		cmocka_unit_test(test_destination), cmocka_unit_test(test_destination_odd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
