/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is rendered for other viewers: SVG, speedscope, the Firefox Profiler. Whole readers hold
 * the same files in tests/peers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <cmocka.h>

#include "jfrmade.h"
#include "out/firefox.h"
#include "out/profile.h"
#include "out/speedscope.h"
#include "out/svg.h"
#include "profileload.h"

static char path[] = "/tmp/gnomon-viewers.XXXXXX";

/* A name that no format may let out as it is. */
#define HOSTILE "a\"<b>&]]></script>\\\x01\xff"

static uint32_t stack_write(struct jfrw *w, const char *leaf, enum frame_type type)
{
	struct frame_name frames[] = {
		{.klass = "a.B", .method = leaf, .sig = "()V", .type = (uint8_t)type},
		{.klass = "a.B", .method = "main", .sig = "()V", .type = FRAME_JIT},
	};

	return jfrw_stack(w, frames, 2, false);
}

/*
 * "main": 30 ms on the CPU in work, 60 ms parked in it, 20 ms of the wall without a stack; another
 * thread 10 ms on the CPU in something hostile.
 */
static int setup(void **state)
{
	struct jfrw_thread other = {.os_name = "x", .os_tid = 12, .java_name = HOSTILE};
	uint32_t main, work, odd;
	struct jfrw *w;

	w = jm_temp(path);
	if (!w)
		return -1;
	main = jm_main(w);
	work = stack_write(w, "work", FRAME_INTERPRETED);
	odd = stack_write(w, HOSTILE, FRAME_JIT);
	for (uint64_t i = 0; i < 3; i++)
		jfrw_cpu_sample(w, START + i * 10 * MS, main, work);
	jfrw_wall_sample(w, START + 40 * MS, main, work, JFR_STATE_PARKED, 3, 60 * MS);
	jfrw_wall_sample(w, START + 200 * MS, main, 0, JFR_STATE_SLEEPING, 1, 20 * MS);
	jfrw_cpu_sample(w, START + 15 * MS, jfrw_thread(w, &other), odd);
	return jfrw_close(w, NULL);
}

static int teardown(void **state)
{
	return unlink(path);
}

static struct profile *profile_read(void)
{
	struct profile_options o = {.keep_times = true};

	return profile_of(path, &o);
}

static void has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no '%s' in\n%s", part, text);
}

static int count(const char *text, const char *part)
{
	int n = 0;

	for (; (text = strstr(text, part)); text += strlen(part))
		n++;
	return n;
}

/* Neither a control character nor a byte that is no UTF-8; quotes of strings pair up. */
static void json_is_clean(const char *text)
{
	bool string = false;

	for (const char *s = text; *s; s++) {
		assert_true((unsigned char)*s >= ' ' || (*s == '\n' && !s[1]));
		assert_true((unsigned char)*s != 0xff);
		if (*s == '\\')
			s++;
		else if (*s == '"')
			string = !string;
	}
	assert_false(string);
	assert_int_equal(count(text, "{"), count(text, "}"));
}

static void test_speedscope(void **state)
{
	struct profile *p = profile_read();
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	assert_int_equal(speedscope_write(p, &(struct speedscope_options){"a \"title\"", -1, false},
					  f, NULL),
			 0);
	fclose(f);
	json_is_clean(text);
	has(text, "\"name\":\"a \\\"title\\\"\"");
	assert_int_equal(count(text, "\"type\":\"sampled\""), 3);
	has(text, "\"name\":\"CPU time\",\"unit\":\"nanoseconds\",\"startValue\":0,"
		  "\"endValue\":40000000,\"samples\":[[");
	has(text, "\"weights\":[30000000,10000000]");	       /* CPU: work, then the other */
	has(text, "\"weights\":[90000000,10000000,20000000]"); /* wall, the last without a stack */
	has(text, "\"weights\":[60000000,20000000]");
	has(text, "{\"name\":\"[no stack]\"}");
	free(text);

	f = open_memstream(&text, &len);
	assert_int_equal(
		speedscope_write(p, &(struct speedscope_options){"t", DIM_WALL, true}, f, NULL), 0);
	fclose(f);
	json_is_clean(text);
	assert_int_equal(count(text, "\"type\":\"sampled\""), 2);
	/* in the order of time, each event by itself */
	has(text, "\"name\":\"main (4711)\",\"unit\":\"nanoseconds\",\"startValue\":0,"
		  "\"endValue\":110000000");
	has(text, "\"weights\":[10000000,10000000,10000000,60000000,20000000]");
	free(text);
	profile_free(p);
}

static char *firefox(const struct profile *p, int dim)
{
	struct firefox_options o = {.title = "t", .dim = dim};
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	assert_int_equal(firefox_write(p, &o, f, NULL), 0);
	fclose(f);
	json_is_clean(text);
	return text;
}

static void test_firefox(void **state)
{
	struct profile *p = profile_read();
	char *text = firefox(p, -1);

	has(text, "\"preprocessedProfileVersion\":57,");
	has(text, "\"interval\":10.000,\"startTime\":1700000000000.000,");
	/* main, then the other: rows main, work, work parked, and no stack */
	has(text, "\"name\":\"main\",\"processName\":\"t\",\"isMainThread\":true,");
	has(text, "\"samples\":{\"stack\":[1,1,1,2,3],"
		  "\"time\":[0.000,10.000,20.000,40.000,200.000],"
		  "\"weight\":[10.000,10.000,10.000,60.000,20.000],\"weightType\":\"tracing-ms\","
		  "\"threadCPUDelta\":[10000000,10000000,10000000,0,0],\"length\":5}");
	has(text, "\"stackTable\":{\"frame\":[0,1,2,3],\"prefix\":[null,0,0,null],\"length\":4}");
	/* two of Java, and two that wait, whatever numbers their states have */
	has(text,
	    "\"frameTable\":{\"func\":[0,1,1,2],\"category\":[1,1,4,4],\"subcategory\":[0,0,");
	assert_int_equal(count(text, "\"isMainThread\":true"), 1);
	assert_int_equal(count(text, "\"isMainThread\":false"), 1);
	free(text);
	text = firefox(p, DIM_CPU);
	has(text, "\"stackTable\":{\"frame\":[0,1],\"prefix\":[null,0],\"length\":2}");
	assert_null(strstr(text, "\"weight\":[60"));
	free(text);
	profile_free(p);
}

static void test_firefox_gzip(void **state)
{
	struct firefox_options o = {.title = "t", .dim = -1, .gzip = true};
	struct profile *p = profile_read();
	char *packed = NULL, *text = firefox(p, -1), *back = calloc(1, strlen(text) + 1);
	z_stream z = {0};
	size_t len = 0;
	FILE *f = open_memstream(&packed, &len);

	assert_int_equal(firefox_write(p, &o, f, NULL), 0);
	fclose(f);
	assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
	z.next_in = (uint8_t *)packed;
	z.avail_in = (uInt)len;
	z.next_out = (uint8_t *)back;
	z.avail_out = (uInt)strlen(text);
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	inflateEnd(&z);
	assert_string_equal(back, text);
	free(packed);
	free(text);
	free(back);
	profile_free(p);
}

static void test_svg(void **state)
{
	struct profile *p = profile_read();
	char *text = NULL, *end;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	assert_int_equal(svg_write(p, "<title> & \"all\"", DIM_CPU, f, NULL), 0);
	fclose(f);
	has(text,
	    "<text id=\"title\" x=\"10\" y=\"24\">&#60;title&#62; &#38; &#34;all&#34;</text>");
	has(text, "CPU time: 40 ms");
	has(text, "<title>all\n40 ms, 100.0% of all</title>");
	has(text, "<title>a.B.work\n30 ms, 75.0% of all, itself 30 ms</title><rect class=\"java\"");
	has(text, "<title>a.B.a&#34;&#60;b&#62;&#38;]]&#62;&#60;/script&#62;\\?");
	has(text, "data-s=\"0.750000000\" data-w=\"0.250000000\"");
	assert_int_equal(count(text, "<g class=\"f\""), 4);
	/* the script is the only CDATA, and nothing in it ends it */
	assert_int_equal(count(text, "]]>"), 1);
	end = strstr(text, "]]></script>\n</svg>\n");
	assert_non_null(end);
	assert_int_equal(strlen(end), strlen("]]></script>\n</svg>\n"));
	free(text);

	/* what waited is told where it is left out or in */
	f = open_memstream(&text, &len);
	assert_int_equal(svg_write(p, "t", DIM_OFF, f, NULL), 0);
	fclose(f);
	has(text, "Time off the CPU: 80 ms");
	has(text, "<title>[no stack]\n20 ms, 25.0% of all, itself 20 ms</title>");
	free(text);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_speedscope),
		cmocka_unit_test(test_firefox),
		cmocka_unit_test(test_firefox_gzip),
		cmocka_unit_test(test_svg),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
