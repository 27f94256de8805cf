/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "jfr/read.h"
#include "jfr/read_sample.h"
#include "jfr/read_text.h"
#include "jfrbuild.h"

struct seen {
	int events, exec, wall, misc;
	struct jfr_report rep;
	int rc;
};

static struct seen read_all(const void *data, size_t len)
{
	struct seen s = {0};
	struct jfr_reader *r;
	struct jfr_event ev;

	s.rc = jfr_reader_open_memory(&r, data, len, NULL, NULL);
	if (s.rc)
		return s;
	while ((s.rc = jfr_reader_next(r, &ev)) > 0) {
		s.events++;
		s.exec += !strcmp(ev.cls->name, "jdk.ExecutionSample");
		s.wall += !strcmp(ev.cls->name, "profiler.WallClockSample");
		s.misc += !strcmp(ev.cls->name, "test.Misc");
	}
	s.rep = *jfr_reader_report(r);
	jfr_reader_close(r);
	return s;
}

static void test_counts(void **state)
{
	struct jb j = {0};
	struct seen s;

	jb_sample_chunk(&j);
	s = read_all(j.f.data, j.f.len);
	assert_int_equal(s.rc, 0);
	assert_int_equal(s.events, 7);
	assert_int_equal(s.exec, 4);
	assert_int_equal(s.wall, 1);
	assert_int_equal(s.rep.chunks, 1);
	assert_int_equal(s.rep.problems, 0);
	assert_int_equal(s.rep.bytes_lost, 0);
	assert_true(s.rep.start_ns == 1700000000000000000LL);
	assert_true(s.rep.end_ns == 1700000010000000000LL);
	jb_free(&j);
}

static void test_stack_and_thread(void **state)
{
	struct jb j = {0};
	struct jfr_reader *r;
	struct jfr_event ev;
	struct jfr_value v[8], frames;
	struct jfr_thread t;
	struct jfr_frame f;
	struct buffer b = BUFFER_INIT;
	bool cut = false, hidden = true;

	jb_sample_chunk(&j);
	assert_int_equal(jfr_reader_open_memory(&r, j.f.data, j.f.len, NULL, NULL), 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(jfr_reader_next(r, &ev), 1);
	assert_int_equal(jfr_event_fields(r, &ev, v, 8), 4);
	assert_true(jfr_ticks_time(r, v[0].i) == 1700000000030000000LL);
	assert_true(jfr_thread_get(r, &v[1], &t));
	assert_int_equal(t.os_id, 102);
	assert_true(jfr_value_string(r, &t.java_name, &b));
	assert_true(jfr_stack_get(r, &v[2], &frames, &cut));
	assert_true(cut);
	assert_int_equal(frames.n, 3);
	while (jfr_stack_next(r, &frames, &f)) {
		buffer_printf(&b, " %d:", f.line);
		assert_true(jfr_method_name(r, &f.method_ref, &b, &hidden));
		assert_false(hidden);
	}
	buffer_byte(&b, ' ');
	assert_true(jfr_value_string(r, &v[3], &b));
	buffer_byte(&b, 0);
	assert_string_equal((const char *)b.data,
			    "worker-7 21:a.B.work 22:a.B.work 10:a.B.run STATE_DEFAULT");
	buffer_free(&b);
	jfr_reader_close(r);
	jb_free(&j);
}

static void misc_event(struct jb *j)
{
	static const uint16_t chars[] = {'h', 0x00e9, 0xd83d, 0xde00, 0xd800, '!'};

	jb_begin(j, T_MISC);
	jb_var(&j->f, 1000);
	buffer_byte(&j->f, 4); /* chars: h, e acute, an emoji's pair, half a pair, ! */
	jb_var(&j->f, 6);
	for (int i = 0; i < 6; i++)
		jb_var(&j->f, chars[i]);
	buffer_byte(&j->f, 1);
	jb_be(&j->f, 0x3fc00000, 4); /* 1.5f */
	jb_var(&j->f, 3);
	jb_var(&j->f, 5);
	jb_var(&j->f, 0xffffffffULL); /* -1 in five bytes */
	jb_var(&j->f, UINT64_MAX);    /* -1 in nine */
	jb_end(j);
}

static void test_kinds_of_values(void **state)
{
	struct jb j = {0};
	struct jfr_reader *r;
	struct jfr_event ev;
	struct jfr_value v[8] = {{0}}, x;
	struct buffer b = BUFFER_INIT;
	int64_t got[3] = {0};

	jb_chunk(&j);
	jb_metadata(&j);
	jb_constants(&j);
	misc_event(&j);
	jb_finish(&j);
	assert_int_equal(jfr_reader_open_memory(&r, j.f.data, j.f.len, NULL, NULL), 0);
	assert_int_equal(jfr_reader_next(r, &ev), 1);
	assert_int_equal(jfr_event_fields(r, &ev, v, 8), 5);
	assert_true(jfr_value_string(r, &v[1], &b));
	buffer_byte(&b, 0);
	assert_string_equal((const char *)b.data, "h\xc3\xa9\xf0\x9f\x98\x80\xef\xbf\xbd!");
	assert_int_equal(v[2].i, 1);
	assert_true(v[3].d == 1.5);
	assert_int_equal(v[4].n, 3);
	for (int i = 0; i < 3; i++) {
		assert_true(jfr_array_next(r, &v[4], &x));
		got[i] = x.i;
	}
	assert_false(jfr_array_next(r, &v[4], &x));
	assert_int_equal(got[0], 5);
	assert_int_equal(got[1], -1);
	assert_int_equal(got[2], -1);
	buffer_free(&b);
	jfr_reader_close(r);
	jb_free(&j);
}

static void test_text(void **state)
{
	struct buffer b = BUFFER_INIT;

	/* good, overlong, cut, lone surrogate, the JVM's pair for U+1F600, Latin-1 */
	text_add_utf8(&b, (const uint8_t *)"a\xc3\xa9", 3);
	text_add_utf8(&b, (const uint8_t *)"\xc0\xaf", 2);
	text_add_utf8(&b, (const uint8_t *)"\xe2\x82", 2);
	text_add_utf8(&b, (const uint8_t *)"\xed\xa0\xbd!", 4);
	text_add_utf8(&b, (const uint8_t *)"\xed\xa0\xbd\xed\xb8\x80", 6);
	text_add_latin1(&b, (const uint8_t *)"\xfc", 1);
	buffer_byte(&b, 0);
#define BAD "\xef\xbf\xbd"
	assert_string_equal((const char *)b.data,
			    "a\xc3\xa9" BAD BAD BAD BAD BAD BAD BAD "!\xf0\x9f\x98\x80\xc3\xbc");
	buffer_free(&b);
}

static void test_concatenated(void **state)
{
	struct jb j = {0};
	struct seen s;

	for (int i = 0; i < 3; i++)
		jb_sample_chunk(&j);
	s = read_all(j.f.data, j.f.len);
	assert_int_equal(s.rep.chunks, 3);
	assert_int_equal(s.events, 21);
	assert_int_equal(s.rep.problems, 0);
	jb_free(&j);
}

/* Whatever is cut off: no crash, and what stands before the cut chunk is all there. */
static void test_truncation(void **state)
{
	struct jb j = {0};
	size_t first;

	jb_sample_chunk(&j);
	first = j.f.len;
	jb_sample_chunk(&j);
	for (size_t n = first; n < j.f.len; n++) {
		void *copy = malloc(n); /* exact, so that a sanitizer sees a byte too far */
		struct seen s;

		memcpy(copy, j.f.data, n);
		s = read_all(copy, n);
		assert_int_equal(s.rc, 0);
		assert_true(s.events >= 7 && s.events <= 14);
		if (n > first)
			assert_true(s.rep.problems > 0 || s.rep.chunks_unfinished == 1);
		free(copy);
	}
	jb_free(&j);
}

/* A header never filled in: metadata and constants are found by walking. */
static void test_unfinished(void **state)
{
	struct jb j = {0};
	struct seen s;

	jb_sample_chunk(&j);
	jb_sample_chunk(&j);
	memset(j.f.data + j.chunk + 16, 0, 16);	 /* no checkpoint, no metadata */
	memset(j.f.data + j.chunk + 8, 0x10, 8); /* a size beyond the file */
	j.f.data[j.chunk + 64] = 0xff;		 /* being updated */
	s = read_all(j.f.data, j.f.len);
	assert_int_equal(s.events, 14);
	assert_int_equal(s.rep.chunks, 2);
	assert_int_equal(s.rep.chunks_unfinished, 1);
	assert_int_equal(s.rep.bytes_lost, 0);
	jb_free(&j);
}

static void test_garbage_between(void **state)
{
	static const char junk[1000] = "FLR"; /* the beginning of a magic, and zeros */
	struct jb j = {0};
	struct seen s;

	jb_sample_chunk(&j);
	buffer_add(&j.f, junk, sizeof(junk));
	jb_sample_chunk(&j);
	buffer_add(&j.f, junk, 10);
	s = read_all(j.f.data, j.f.len);
	assert_int_equal(s.events, 14);
	assert_int_equal(s.rep.bytes_lost, 1010);
	assert_int_equal(s.rep.problems, 2);
	jb_free(&j);
}

static void test_zero_size_event(void **state)
{
	static const uint8_t zero[20];
	struct jb j = {0};
	struct seen s;

	jb_chunk(&j);
	jb_metadata(&j);
	jb_constants(&j);
	jb_exec(&j, 1000, 1, 1);
	buffer_add(&j.f, zero, sizeof(zero));
	jb_finish(&j);
	s = read_all(j.f.data, j.f.len);
	assert_int_equal(s.rc, 0);
	assert_int_equal(s.exec, 1);
	assert_int_equal(s.rep.bytes_lost, 20);
	jb_free(&j);
}

/* Four billion elements that take no bytes are not to be walked one by one. */
static void test_array_of_nothing(void **state)
{
	struct jfr_value v[2], element;
	struct jb j = {0};
	struct jfr_reader *r;
	struct jfr_event ev;

	jb_chunk(&j);
	jb_metadata_begin(&j, 3);
	jb_class(&j, "long", "5", 0, false);
	jb_class(&j, "test.Nothing", "40", 0, false);
	jb_class(&j, "test.Bag", "41", 2, true);
	jb_field(&j, "startTime", "5");
	jb_element(&j, 0, "field", "name", "list", "class", "40", "dimension", "1", NULL);
	jb_metadata_end(&j);
	jb_begin(&j, 41);
	jb_var(&j.f, 1000);
	jb_var(&j.f, UINT32_MAX);
	jb_end(&j);
	jb_finish(&j);
	assert_int_equal(jfr_reader_open_memory(&r, j.f.data, j.f.len, NULL, NULL), 0);
	assert_int_equal(jfr_reader_next(r, &ev), 1);
	assert_int_equal(jfr_event_fields(r, &ev, v, 2), 2);
	assert_int_equal(v[1].kind, JFR_VALUE_ARRAY);
	assert_int_equal(v[1].n, 0);
	assert_false(jfr_array_next(r, &v[1], &element));
	jfr_reader_close(r);
	jb_free(&j);
}

/* The later checkpoint's constant counts, as in the JDK. */
static void test_later_constant_wins(void **state)
{
	struct jb j = {0};
	struct jfr_reader *r;
	struct jfr_event ev;
	struct jfr_value v[4];
	struct buffer b = BUFFER_INIT;

	jb_chunk(&j);
	jb_metadata(&j);
	jb_constants(&j);
	jb_checkpoint(&j, 1);
	jb_pool(&j, T_STATE, 1);
	jb_named(&j, 1, "STATE_NEW");
	jb_end(&j);
	jb_exec(&j, 1000, 1, 1);
	jb_finish(&j);
	assert_int_equal(jfr_reader_open_memory(&r, j.f.data, j.f.len, NULL, NULL), 0);
	assert_int_equal(jfr_reader_next(r, &ev), 1);
	assert_int_equal(jfr_event_fields(r, &ev, v, 4), 4);
	assert_true(jfr_value_string(r, &v[3], &b));
	buffer_byte(&b, 0);
	assert_string_equal((const char *)b.data, "STATE_NEW");
	/* and those of the first are still there */
	assert_true(jfr_pool_get(r, &v[1], &v[0]));
	buffer_free(&b);
	jfr_reader_close(r);
	jb_free(&j);
}

/* The innermost method of the first sample where its class is called so. */
static void first_method(const char *klass, char *out, size_t cap)
{
	struct jb j = {0};
	struct jfr_reader *r;
	struct jfr_event ev;
	struct jfr_value v[4], frames;
	struct jfr_frame f;
	struct buffer b = BUFFER_INIT;
	bool cut;

	jb_chunk(&j);
	jb_metadata(&j);
	jb_constants(&j);
	jb_checkpoint(&j, 1);
	jb_pool(&j, T_SYMBOL, 1);
	jb_named(&j, 1, klass);
	jb_end(&j);
	jb_exec(&j, 1000, 1, 1);
	jb_finish(&j);
	assert_int_equal(jfr_reader_open_memory(&r, j.f.data, j.f.len, NULL, NULL), 0);
	assert_int_equal(jfr_reader_next(r, &ev), 1);
	assert_int_equal(jfr_event_fields(r, &ev, v, 4), 4);
	assert_true(jfr_stack_get(r, &v[2], &frames, &cut));
	assert_true(jfr_stack_next(r, &frames, &f));
	assert_true(jfr_method_name(r, &f.method_ref, &b, NULL));
	assert_true(b.len < cap);
	memcpy(out, b.data, b.len);
	out[b.len] = 0;
	buffer_free(&b);
	jfr_reader_close(r);
	jb_free(&j);
}

/* Classes of code that has none are called alike, whenever the file was written. */
static void test_round_classes(void **state)
{
	static const struct {
		const char *written, *read;
	} c[] = {
		{"[kernel]", "(kernel).work"},
		{"(kernel)", "(kernel).work"},
		{"[Ljava/lang/String;", "[Ljava.lang.String;.work"},
		{"a/B]", "a.B].work"},
	};
	char name[64];

	for (size_t i = 0; i < sizeof(c) / sizeof(*c); i++) {
		first_method(c[i].written, name, sizeof(name));
		assert_string_equal(name, c[i].read);
	}
}

static void test_pool_cap(void **state)
{
	struct jfr_options o = {.pool_cap = 50};
	struct jb j = {0};
	struct jfr_reader *r;
	struct jfr_event ev;
	int n = 0;

	jb_sample_chunk(&j);
	assert_int_equal(jfr_reader_open_memory(&r, j.f.data, j.f.len, &o, NULL), 0);
	while (jfr_reader_next(r, &ev) > 0)
		n++;
	assert_int_equal(n, 7);
	assert_int_equal(jfr_reader_report(r)->pools_dropped, 1);
	assert_int_equal(jfr_reader_report(r)->pool_bytes, 0);
	jfr_reader_close(r);
	jb_free(&j);
}

static void test_refused(void **state)
{
	struct jfr_reader *r;
	struct error e = {0};

	assert_int_equal(jfr_reader_open_memory(&r,
						"\x7f"
						"ELF....",
						8, NULL, &e),
			 -EBADMSG);
	assert_int_equal(e.exit, EXIT_INPUT);
	assert_int_equal(jfr_reader_open_memory(&r, "FLR\0\0\3\0\0", 8, NULL, &e), -EBADMSG);
	assert_non_null(strstr(e.msg, "version 3.0"));
	assert_int_equal(jfr_reader_open_memory(&r, "", 0, NULL, &e), -EBADMSG);
	assert_non_null(strstr(e.msg, "empty"));
	assert_int_equal(jfr_reader_open(&r, "/no/such", NULL, &e), -ENOENT);
	assert_int_equal(jfr_reader_open(&r, "/", NULL, &e), -EINVAL);
}

/* One event of five ticks is five samples, 20 ms apart, unless batches are asked for. */
static void test_sampler(void **state)
{
	struct jb j = {0};
	struct jfr_reader *r;
	struct jfr_sampler *s;
	struct jfr_event ev;
	struct jfr_sample x;
	int wall = 0, cpu = 0;

	jb_sample_chunk(&j);
	for (int batches = 0; batches <= 1; batches++) {
		assert_int_equal(jfr_reader_open_memory(&r, j.f.data, j.f.len, NULL, NULL), 0);
		s = jfr_sampler_new(r, batches);
		wall = cpu = 0;
		while (jfr_sampler_next(s, &ev, &x) > 0) {
			if (x.ticks && x.source == JFR_SOURCE_WALL) {
				assert_int_equal(x.ticks, batches ? 5 : 1);
				assert_int_equal(x.step_ns, 20000000);
				assert_true(x.time_ns == 1700000000040000000LL + wall * 20000000LL);
				wall++;
			}
			cpu += x.ticks && x.source == JFR_SOURCE_EXECUTION;
		}
		assert_int_equal(wall, batches ? 1 : 5);
		assert_int_equal(cpu, 4);
		assert_int_equal(jfr_sampler_period(s, JFR_SOURCE_EXECUTION), 10000000);
		assert_int_equal(jfr_sampler_period(s, JFR_SOURCE_WALL), 20000000);
		jfr_sampler_free(s);
		jfr_reader_close(r);
	}
	jb_free(&j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts),		cmocka_unit_test(test_stack_and_thread),
		cmocka_unit_test(test_kinds_of_values), cmocka_unit_test(test_text),
		cmocka_unit_test(test_concatenated),	cmocka_unit_test(test_truncation),
		cmocka_unit_test(test_unfinished),	cmocka_unit_test(test_garbage_between),
		cmocka_unit_test(test_zero_size_event), cmocka_unit_test(test_later_constant_wins),
		cmocka_unit_test(test_pool_cap),	cmocka_unit_test(test_refused),
		cmocka_unit_test(test_sampler),		cmocka_unit_test(test_array_of_nothing),
		cmocka_unit_test(test_round_classes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
