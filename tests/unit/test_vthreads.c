/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual threads: their names, and the thread of the file that their samples are written with. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "jfr/read.h"
#include "jvm/threads.h"
#include "naming/vthreads.h"

static const struct member carriers[] = {
	{.tid = 71, .comm = "ForkJoinPool-1-"},
	{.tid = 72, .comm = "ForkJoinPool-1-"},
};

static char path[] = "/tmp/gnomon-vthreads-XXXXXX";

static struct jfrw *file_open(void)
{
	struct jfrw_config cfg = {.path = path, .overwrite = true};
	struct jfrw *w = NULL;
	struct error e = {0};
	int fd;

	strcpy(path + strlen(path) - 6, "XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(jfrw_open(&w, &cfg, &e), 0);
	return w;
}

static void known(void **state)
{
	struct vthreads *v = vthreads_new();

	assert_false(vthreads_has(v, 7));
	assert_false(vthreads_add(v, 7, "", false));
	assert_true(vthreads_has(v, 7));
	assert_false(vthreads_has(v, 8));
	vthreads_free(v);
}

/* They come and go by the million: their names must not stay for ever. */
static void bounded(void **state)
{
	struct vthreads *v = vthreads_new();
	uint64_t forgotten = 0, kept = 0;

	for (uint64_t id = 1; id <= 200000; id++)
		forgotten += vthreads_add(v, id, "request", false);
	for (uint64_t id = 1; id <= 200000; id++)
		kept += vthreads_has(v, id);
	assert_in_range(forgotten, 1, 10);
	assert_in_range(kept, 1, 100000);
	assert_true(vthreads_has(v, 200000));
	vthreads_free(v);
}

static void one_sample(struct jfr_reader *r, struct jfr_event *ev, struct jfr_thread *t)
{
	struct jfr_value v[8];

	while (jfr_reader_next(r, ev) > 0)
		if (!strcmp(ev->cls->name, "jdk.ExecutionSample"))
			break;
	assert_true(jfr_event_fields(r, ev, v, 8) > 1);
	assert_true(jfr_thread_get(r, &v[jfr_class_field(ev->cls, "sampledThread")], t));
}

/* In the file: the carrier's OS thread, the virtual thread's Java thread. */
static void written(void **state)
{
	struct vthreads *v = vthreads_new();
	struct jfrw *w = file_open();
	struct jfr_reader *r = NULL;
	struct buffer b = BUFFER_INIT;
	struct error e = {0};
	struct jfr_thread t;
	struct jfr_event ev;
	uint32_t one, other;

	vthreads_add(v, 31, "order 7", true);
	one = vthreads_jfr(v, w, 31, &carriers[0]);
	other = vthreads_jfr(v, w, 31, &carriers[1]);
	assert_true(one && other && one != other);
	assert_int_equal(vthreads_jfr(v, w, 31, &carriers[0]), one);
	jfrw_cpu_sample(w, 1, one, 0);
	assert_int_equal(jfrw_close(w, &e), 0);

	assert_int_equal(jfr_reader_open(&r, path, NULL, &e), 0);
	one_sample(r, &ev, &t);
	assert_true(t.is_virtual);
	assert_int_equal(t.os_id, 71);
	assert_int_equal(t.java_id, 31);
	assert_true(jfr_value_string(r, &t.java_name, &b));
	assert_int_equal(b.len, 10);
	assert_memory_equal(b.data, "order 7...", 10);
	jfr_reader_close(r);
	buffer_free(&b);
	vthreads_free(v);
	unlink(path);
}

/* As the kernel hands names over: cut anywhere, in the middle of a pair too. */
static void decoded(void **state)
{
	char out[VTHREAD_NAME_LEN];

	java_string_decode((const uint8_t *)"caf\xe9", 4, false, out, sizeof(out));
	assert_string_equal(out, "caf\xc3\xa9");
	java_string_decode((const uint8_t *)"\xb3\x03\x3d\xd8\x00\xde", 6, true, out, sizeof(out));
	assert_string_equal(out, "\xce\xb3\xf0\x9f\x98\x80");
	java_string_decode((const uint8_t *)"\xb3\x03\x3d\xd8", 4, true, out, sizeof(out));
	assert_string_equal(out, "\xce\xb3?");
	java_string_decode((const uint8_t *)"\xb3\x03\x3d", 3, true, out, sizeof(out));
	assert_string_equal(out, "\xce\xb3");
	java_string_decode((const uint8_t *)"", 0, true, out, sizeof(out));
	assert_string_equal(out, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known),
		cmocka_unit_test(bounded),
		cmocka_unit_test(written),
		cmocka_unit_test(decoded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
