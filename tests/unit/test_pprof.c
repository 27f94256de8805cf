/* SPDX-License-Identifier: Apache-2.0 */
/* The encoded message is taken apart again by the wire format's rules and pprof's field numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>
#include <cmocka.h>

#include "jfrbuild.h"
#include "out/pprof.h"
#include "out/profile.h"

struct msg {
	const uint8_t *p, *end;
	uint64_t field, value; /* of the field at hand */
	struct {
		const uint8_t *p;
		size_t n;
	} bytes;
};

static uint64_t varint(struct msg *m)
{
	uint64_t v = 0;

	for (int shift = 0; m->p < m->end; shift += 7) {
		uint8_t b = *m->p++;

		v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80))
			return v;
	}
	fail_msg("cut number");
	return 0;
}

static bool next(struct msg *m)
{
	uint64_t tag;

	if (m->p >= m->end)
		return false;
	tag = varint(m);
	m->field = tag >> 3;
	if ((tag & 7) == 0) {
		m->value = varint(m);
		return true;
	}
	assert_int_equal(tag & 7, 2);
	m->bytes.n = varint(m);
	m->bytes.p = m->p;
	assert_true(m->bytes.n <= (size_t)(m->end - m->p));
	m->p += m->bytes.n;
	return true;
}

static struct msg inner(const struct msg *m)
{
	return (struct msg){.p = m->bytes.p, .end = m->bytes.p + m->bytes.n};
}

/* String `index` of the message's table. */
static char *string(const struct buffer *b, uint64_t index)
{
	struct msg m = {.p = b->data, .end = b->data + b->len};

	while (next(&m))
		if (m.field == 6 && !index--)
			return strndup((const char *)m.bytes.p, m.bytes.n);
	fail_msg("no such string");
	return NULL;
}

static struct profile *profile_sample(void)
{
	char path[] = "/tmp/gnomon-pprof.XXXXXX";
	struct profile *p = NULL;
	struct jb j = {0};
	int fd = mkstemp(path);

	jb_sample_chunk(&j);
	assert_true(write(fd, j.f.data, j.f.len) == (ssize_t)j.f.len);
	close(fd);
	jb_free(&j);
	assert_int_equal(profile_new(&p, NULL, NULL), 0);
	assert_int_equal(profile_load(p, path, 0, NULL, NULL), 0);
	unlink(path);
	assert_int_equal(profile_finish(p, NULL), 0);
	return p;
}

/* Names of the sample types, joined, and the sum of each value over all samples. */
static void types_and_sums(const struct buffer *b, char *types, size_t size, uint64_t *sums)
{
	struct msg m = {.p = b->data, .end = b->data + b->len};

	*types = '\0';
	while (next(&m)) {
		struct msg in = inner(&m), values;

		if (m.field == 1) {
			while (next(&in)) {
				char *s = string(b, in.value);

				strncat(types, s, size - strlen(types) - 1);
				strncat(types, in.field == 1 ? "/" : " ", size - strlen(types) - 1);
				free(s);
			}
		}
		if (m.field != 2)
			continue;
		while (next(&in)) {
			if (in.field != 2)
				continue;
			values = inner(&in);
			for (int i = 0; values.p < values.end; i++)
				sums[i] += varint(&values);
		}
	}
}

static void test_both(void **state)
{
	struct profile *p = profile_sample();
	struct buffer b = BUFFER_INIT;
	uint64_t sums[4] = {0};
	char types[200], *empty;

	assert_int_equal(pprof_encode(p, -1, &b), 0);
	types_and_sums(&b, types, sizeof(types), sums);
	assert_string_equal(types, "cpu-samples/count cpu-time/nanoseconds wall-samples/count "
				   "wall-time/nanoseconds ");
	assert_int_equal(sums[0], 4);
	assert_int_equal(sums[1], 40000000);
	assert_int_equal(sums[2], 9);
	assert_int_equal(sums[3], 140000000);
	empty = string(&b, 0);
	assert_string_equal(empty, "");
	free(empty);
	buffer_free(&b);
	profile_free(p);
}

static void test_one(void **state)
{
	struct profile *p = profile_sample();
	struct buffer b = BUFFER_INIT;
	uint64_t sums[2] = {0};
	char types[200];

	assert_int_equal(pprof_encode(p, DIM_OFF, &b), 0);
	types_and_sums(&b, types, sizeof(types), sums);
	assert_string_equal(types, "samples/count off_cpu/nanoseconds ");
	assert_int_equal(sums[0], 5);
	assert_int_equal(sums[1], 100000000);
	buffer_free(&b);
	profile_free(p);
}

/* Leaf first, and every location leads to a function with a name. */
static void test_stack(void **state)
{
	struct profile *p = profile_sample();
	struct buffer b = BUFFER_INIT, text = BUFFER_INIT;
	uint64_t location = 0, name = 0;
	struct msg m;

	assert_int_equal(pprof_encode(p, DIM_OFF, &b), 0);
	m = (struct msg){.p = b.data, .end = b.data + b.len};
	while (next(&m) && m.field != 2)
		;
	m = inner(&m);
	assert_true(next(&m));
	assert_int_equal(m.field, 1);
	for (struct msg ids = inner(&m); ids.p < ids.end;) {
		location = varint(&ids);
		for (struct msg f = {.p = b.data, .end = b.data + b.len}; next(&f);) {
			struct msg in = inner(&f);
			uint64_t id = 0;

			if (f.field != 5)
				continue;
			while (next(&in)) {
				id = in.field == 1 ? in.value : id;
				name = in.field == 2 ? in.value : name;
			}
			if (id == location)
				break;
		}
		char *s = string(&b, name);

		buffer_printf(&text, "%s ", s);
		free(s);
	}
	buffer_byte(&text, 0);
	assert_string_equal((const char *)text.data, "a.B.park a.B.run ");
	buffer_free(&b);
	buffer_free(&text);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both),
		cmocka_unit_test(test_one),
		cmocka_unit_test(test_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
