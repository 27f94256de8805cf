/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JFR writer and repair, seen through a small parser of its own: it knows the format from the
 * specification and the metadata in the file, and shares no code with the writer.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jfr/repair.h"
#include "jfr/vitals.h"
#include "jfr/write.h"
#include "jfr/write_enc.h"
#include "jfr/write_pool.h"

#define START 5000000000ull
#define MS    1000000ull

static char dir[64], path[128];

/* ---- a parser -----------------------------------------------------------------------------------
 */

static uint8_t *file;
static size_t file_len;

struct reader {
	const uint8_t *p, *end;
};

static uint64_t be(const uint8_t *p, int n)
{
	uint64_t v = 0;

	while (n--)
		v = v * 256 + *p++;
	return v;
}

static uint64_t leb(struct reader *r)
{
	uint64_t v = 0;

	for (int i = 0; i < 9; i++) {
		assert_true(r->p < r->end);
		if (i == 8)
			return v + ((uint64_t)*r->p++ << 56);
		v += (uint64_t)(*r->p & 127) << (7 * i);
		if (!(*r->p++ & 128))
			break;
	}
	return v;
}

/* NULL for a null string; otherwise allocated. */
static char *string(struct reader *r)
{
	uint8_t enc = *r->p++;
	uint64_t n;
	char *s;

	if (enc == 0)
		return NULL;
	if (enc == 1)
		return strdup("");
	assert_int_equal(enc, 3);
	n = leb(r);
	assert_true(n <= (uint64_t)(r->end - r->p));
	s = strndup((const char *)r->p, n);
	r->p += n;
	return s;
}

static void load(void)
{
	FILE *f = fopen(path, "rb");

	free(file);
	assert_non_null(f);
	file = malloc(64 << 20);
	file_len = fread(file, 1, 64 << 20, f);
	fclose(f);
}

/* The strings of a chunk's metadata, and the id of a class by name. */
struct metadata {
	char *s[2048];
	uint64_t n;
	struct reader root;
};

static void metadata_parse(const uint8_t *chunk, struct metadata *m)
{
	uint64_t at = be(chunk + 24, 8);
	struct reader r = {chunk + at, chunk + be(chunk + 8, 8)};

	r.end = r.p + leb(&r);
	r.p = chunk + at;
	leb(&r);
	assert_int_equal(leb(&r), 0);
	leb(&r);
	leb(&r);
	leb(&r);
	m->n = leb(&r);
	assert_true(m->n < 2048);
	for (uint64_t i = 0; i < m->n; i++)
		m->s[i] = string(&r);
	m->root = r;
}

static void metadata_free(struct metadata *m)
{
	for (uint64_t i = 0; i < m->n; i++)
		free(m->s[i]);
}

/* Depth first; the id of the <class name=...>, 0 if there is none. Consumes the element. */
static uint64_t class_in(struct metadata *m, struct reader *r, const char *name)
{
	const char *element = m->s[leb(r)];
	uint64_t id = 0, found = 0, n = leb(r);
	bool match = false;

	while (n--) {
		const char *key = m->s[leb(r)], *value = m->s[leb(r)];

		if (!strcmp(key, "id"))
			id = strtoull(value, NULL, 10);
		match |= !strcmp(key, "name") && !strcmp(value, name);
	}
	if (match && !strcmp(element, "class"))
		found = id;
	for (n = leb(r); n--;) {
		uint64_t inner = class_in(m, r, name);

		found = inner ? inner : found;
	}
	return found;
}

static uint64_t class_id(const uint8_t *chunk, const char *name)
{
	struct metadata m;
	uint64_t id;

	metadata_parse(chunk, &m);
	id = class_in(&m, &m.root, name);
	assert_ptr_equal(m.root.p, m.root.end); /* the event's size is exact */
	metadata_free(&m);
	assert_true(id > 1 && id < 1u << 31);
	return id;
}

/* Chunk number i, checked for a plausible header. */
static const uint8_t *chunk_at(unsigned int i)
{
	size_t at = 0;

	for (;;) {
		uint64_t size;

		if (at == file_len)
			return NULL;
		assert_true(file_len - at >= 68);
		assert_memory_equal(file + at, "FLR\0\0\2\0\1", 8);
		size = be(file + at + 8, 8);
		assert_true(size >= 68 && size <= file_len - at);
		assert_int_equal(be(file + at + 56, 8), 1000000000);
		assert_int_equal(file[at + 64], 0);
		assert_int_equal(be(file + at + 66, 2) & 1, 1);
		if (!i--)
			return file + at;
		at += size;
	}
}

/* The events of a type; the n-th one's fields in *fields (after the start time in *ticks). */
static unsigned int events(const uint8_t *chunk, uint64_t type, unsigned int n, uint64_t *ticks,
			   struct reader *fields)
{
	const uint8_t *p = chunk + 68, *end = chunk + be(chunk + 8, 8);
	unsigned int count = 0;

	while (p < end) {
		struct reader r = {p, end};
		uint64_t size = leb(&r);

		assert_true(size > 1 && size <= (uint64_t)(end - p));
		r.end = p + size;
		if (leb(&r) == type) {
			uint64_t t = leb(&r);

			if (count++ == n) {
				if (ticks)
					*ticks = t;
				if (fields)
					*fields = r;
			}
		}
		p += size;
	}
	assert_ptr_equal(p, end);
	return count;
}

/*
 * Find a constant: walks the checkpoints from the last to the first. Only pools whose values are
 * of the given shape can be stepped over, so all shapes are listed.
 */
struct shape {
	const char *type, *fields; /* s string, v varint, b byte, F frames */
};

static const struct shape shapes[] = {
	{"java.lang.Thread", "svsvvb"}, {"jdk.types.ThreadGroup", "vs"},
	{"java.lang.Class", "vvvvb"},	{"jdk.types.Package", "v"},
	{"jdk.types.Method", "vvvvb"},	{"jdk.types.Symbol", "s"},
	{"jdk.types.StackTrace", "bF"}, {"jdk.types.FrameType", "s"},
	{"jdk.types.ThreadState", "s"},
};

static void step_over(struct reader *r, const char *fields)
{
	for (; *fields; fields++) {
		if (*fields == 's')
			free(string(r));
		else if (*fields == 'v')
			leb(r);
		else if (*fields == 'b')
			r->p++;
		else
			for (uint64_t n = leb(r) * 4; n--;)
				leb(r);
	}
}

static bool pool_find(struct reader *r, const char *fields, uint64_t id, struct reader *out)
{
	bool found = false;
	uint64_t n = leb(r);

	assert_true(n > 0); /* an empty pool stops the JDK's parser */
	while (n--) {
		bool hit = leb(r) == id;

		if (hit)
			*out = *r;
		found |= hit;
		step_over(r, fields);
	}
	return found;
}

static bool constant(const uint8_t *chunk, const char *type, uint64_t id, struct reader *out)
{
	uint64_t at = be(chunk + 16, 8), wanted = class_id(chunk, type), ids[9];
	bool found = false;

	for (int i = 0; i < 9; i++)
		ids[i] = class_id(chunk, shapes[i].type);
	for (;;) {
		struct reader r = {chunk + at, chunk + be(chunk + 8, 8)};
		uint64_t size = leb(&r), delta, pools;

		r.end = chunk + at + size;
		assert_int_equal(leb(&r), 1);
		leb(&r);
		leb(&r);
		delta = leb(&r);
		r.p++;
		for (pools = leb(&r); pools--;) {
			uint64_t t = leb(&r);
			int i = 0;

			while (i < 9 && ids[i] != t)
				i++;
			assert_true(i < 9);
			if (pool_find(&r, shapes[i].fields, t == wanted ? id : 0 - 1ull, out))
				found = true;
		}
		assert_ptr_equal(r.p, r.end);
		if (!delta)
			return found;
		at += delta;
		assert_true(at >= 68);
	}
}

static char *symbol(const uint8_t *chunk, uint64_t id)
{
	struct reader r;

	assert_true(constant(chunk, "jdk.types.Symbol", id, &r));
	return string(&r);
}

/* "class.method descriptor" of a frame, freed by the caller. */
static char *frame_text(const uint8_t *chunk, uint64_t stack, unsigned int i, int64_t field[4])
{
	struct reader r, method, klass;
	char *text = malloc(4096), *c, *m, *d;
	uint64_t v[3];

	assert_true(constant(chunk, "jdk.types.StackTrace", stack, &r));
	field[3] = *r.p++;
	assert_true(leb(&r) > i);
	for (unsigned int k = 0; k < 4 * i; k++)
		leb(&r);
	v[0] = leb(&r);
	for (int k = 0; k < 3; k++)
		field[k] = (int64_t)leb(&r);
	assert_true(constant(chunk, "jdk.types.Method", v[0], &method));
	for (int k = 0; k < 3; k++)
		v[k] = leb(&method);
	assert_true(constant(chunk, "java.lang.Class", v[0], &klass));
	leb(&klass);
	c = symbol(chunk, leb(&klass));
	m = symbol(chunk, v[1]);
	d = symbol(chunk, v[2]);
	snprintf(text, 4096, "%s.%s %s", c, m, d);
	free(c);
	free(m);
	free(d);
	return text;
}

/* ---- writing ------------------------------------------------------------------------------------
 */

static struct jfrw *writer(uint64_t chunk_max, uint64_t constants_max)
{
	struct jfrw_config cfg = {.path = path,
				  .overwrite = true,
				  .start_unix_ns = 1700000000ull * 1000 * MS,
				  .start_mono_ns = START,
				  .form.chunk_max_bytes = chunk_max,
				  .constants_max = constants_max};
	struct jfrw *w;
	struct error e = {0};

	assert_int_equal(jfrw_open(&w, &cfg, &e), 0);
	return w;
}

static void flush_now(struct jfrw *w, uint64_t t)
{
	struct jfrw_stats a, b;

	jfrw_stats(w, &a);
	for (int i = 0; i < 5000; i++) {
		assert_int_equal(jfrw_flush(w, t, NULL), 0);
		jfrw_stats(w, &b);
		if (a.bytes != b.bytes)
			return;
		usleep(1000);
	}
	fail_msg("the flush never came");
}

static uint32_t stack_of(struct jfrw *w, const char *klass, const char *method, int line)
{
	struct frame_name f = {klass, method, "(I)V", line, 7, FRAME_JIT, 0, 1};

	return jfrw_stack(w, &f, 1, false);
}

static const struct jfrw_thread main_thread = {"java", 4711, "main", 1, "main\0system\0", false};

/* ---- encodings ----------------------------------------------------------------------------------
 */

static void test_leb(void **state)
{
	static const struct {
		uint64_t v;
		size_t n;
		uint8_t bytes[9];
	} cases[] = {
		{0, 1, {0}},
		{127, 1, {0x7f}},
		{128, 2, {0x80, 0x01}},
		{300, 2, {0xac, 0x02}},
		{0xffffffff, 5, {0xff, 0xff, 0xff, 0xff, 0x0f}},
		{UINT64_MAX, 9, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}},
		{1ull << 63, 9, {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80}},
		{(1ull << 56) - 1, 8, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}},
	};
	uint8_t out[9];
	uint64_t v;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(leb_encode(out, cases[i].v), cases[i].n);
		assert_memory_equal(out, cases[i].bytes, cases[i].n);
		assert_int_equal(leb_decode(out, cases[i].n, &v), cases[i].n);
		assert_true(v == cases[i].v);
		assert_int_equal(leb_decode(out, cases[i].n - 1, &v), 0);
	}
}

static void test_text(void **state)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{"plain", "plain"},
		{"\xc3\xbc", "\xc3\xbc"},
		{"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
		{"\xed\xa0\xbd\xed\xb8\x80", "\xf0\x9f\x98\x80"}, /* U+1F600 as the JVM has it */
		{"\xed\xa0\xbd", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
		{"a\xff"
		 "b",
		 "a\xef\xbf\xbd"
		 "b"},
		{"\xc0\x80", "\xef\xbf\xbd\xef\xbf\xbd"}, /* overlong */
		{"x\xe2\x82", "x\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
	};
	struct buffer b = BUFFER_INIT;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		buffer_clear(&b);
		text_clean(&b, cases[i].in, strlen(cases[i].in), 100);
		assert_int_equal(b.len, strlen(cases[i].out));
		assert_memory_equal(b.data, cases[i].out, b.len);
	}
	buffer_clear(&b);
	text_clean(&b, "\xc3\xbc\xc3\xbc", 4, 3); /* never half a character */
	assert_int_equal(b.len, 2);
	buffer_clear(&b);
	put_string(&b, NULL);
	put_string(&b, "");
	put_string(&b, "hi");
	assert_int_equal(b.len, 6);
	assert_memory_equal(b.data, "\0\1\3\2hi", 6);
	buffer_free(&b);
}

static unsigned int field_bytes(unsigned int type)
{
	switch (type) {
	case JFR_BOOLEAN:
	case JFR_BYTE:
		return 1;
	case JFR_LONG:
	case JFR_DOUBLE:
		return 8;
	case JFR_STRING:
		return sizeof(char *);
	case JFR_VIRTUAL_SPACE:
		return sizeof(struct jfr_virtual_space);
	case JFR_METASPACE_SIZES:
		return sizeof(struct jfr_metaspace_sizes);
	default:
		return 4;
	}
}

/* The members' sizes are those the encoder reads. */
static void test_table(void **state)
{
	for (unsigned int t = JFR_EVENT_FIRST; t < JFR_EVENT_END; t++) {
		const struct jfr_type_info *info = jfr_type_info(t);

		assert_non_null(info);
		assert_non_null(info->label);
		for (unsigned int i = 0; i < info->n_fields; i++) {
			const struct jfr_field *f = &info->fields[i];
			unsigned int want = field_bytes(f->type);

			assert_int_equal(f->size, want);
			assert_true(strcmp(f->name, "duration") || i == 0);
		}
	}
	assert_int_not_equal(jfr_type_number(JFR_SYMBOL, 1), jfr_type_number(JFR_SYMBOL, 2));
	assert_true(jfr_type_number(JFR_SYMBOL, UINT32_MAX) < 1u << 31);
}

/* ---- recordings ---------------------------------------------------------------------------------
 */

static void test_empty(void **state)
{
	struct jfrw *w = writer(0, 0);
	struct reader r;
	char *s;

	load(); /* already readable */
	assert_int_equal(
		events(chunk_at(0), class_id(chunk_at(0), "jdk.ExecutionSample"), 0, NULL, NULL),
		0);
	assert_int_equal(jfrw_close(w, NULL), 0);
	load();
	assert_null(chunk_at(1));
	assert_true(be(file + 32, 8) == 1700000000ull * 1000 * MS);
	assert_true(constant(file, "jdk.types.ThreadState", 1, &r));
	s = string(&r);
	assert_string_equal(s, "STATE_DEFAULT");
	free(s);
	assert_true(constant(file, "jdk.types.FrameType", 6, &r));
	s = string(&r);
	assert_string_equal(s, "C1 compiled");
	free(s);
}

static void test_sample(void **state)
{
	struct jfrw *w = writer(0, 0);
	uint32_t thread = jfrw_thread(w, &main_thread);
	uint32_t stack = stack_of(w, "java.lang.String", "charAt", 42);
	uint64_t ticks = 0;
	int64_t f[4];
	struct reader r, t;
	char *s;

	jfrw_cpu_sample(w, START + 5 * MS, thread, stack);
	jfrw_wall_sample(w, START + 6 * MS, thread, stack, JFR_STATE_PARKED, 50, 1000 * MS);
	jfrw_cpu_sample(w, START - 1, 0, 0); /* before the start: at the start */
	assert_int_equal(jfrw_close(w, NULL), 0);
	load();
	assert_int_equal(events(file, class_id(file, "jdk.ExecutionSample"), 0, &ticks, &r), 2);
	assert_int_equal(ticks, 5 * MS);
	assert_true(constant(file, "java.lang.Thread", leb(&r), &t));
	s = string(&t);
	assert_string_equal(s, "java");
	free(s);
	assert_int_equal(leb(&t), 4711);
	s = frame_text(file, leb(&r), 0, f);
	assert_string_equal(s, "java/lang/String.charAt (I)V");
	free(s);
	assert_int_equal(f[0], 42);
	assert_int_equal(f[1], 7);
	assert_int_equal(f[2], FRAME_JIT);
	assert_int_equal(f[3], 0);
	assert_int_equal(leb(&r), JFR_STATE_DEFAULT);
	assert_ptr_equal(r.p, r.end);
	assert_int_equal(events(file, class_id(file, "profiler.WallClockSample"), 0, NULL, &r), 1);
	leb(&r);
	leb(&r);
	assert_int_equal(leb(&r), 657);
	assert_int_equal(leb(&r), 50);
	assert_int_equal(leb(&r), 1000 * MS);
	assert_int_equal(events(file, class_id(file, "jdk.ExecutionSample"), 1, &ticks, NULL), 2);
	assert_int_equal(ticks, 0);
}

/* Names a tool would stumble over. */
static void test_fallbacks(void **state)
{
	struct frame_name f[] = {
		{"libc.so.6", "read", "", -1, -1, FRAME_NATIVE, 0, 0},
		{NULL, NULL, "no parenthesis", -1, -1, FRAME_JIT, 0, 0},
		{"a.B$$Lambda/0x7f00", "run", "()V", 3, -1, FRAME_C1, 0, 0},
		{"x\xff", "y", "(Ljava/lang/Object;)Z", 3, 0, 200, 0, 0},
		/* JMC takes what begins with "[" for an array's class, and throws if it is none */
		{"[heap]", "[heap]", "", -1, -1, FRAME_NATIVE, 0, 0},
		{"[x.so", "f", "", -1, -1, FRAME_CPP, 0, 0},
		{"[I", "f", "()V", -1, -1, FRAME_JIT, 0, 0},
	};
	static const char *const want[] = {
		"libc.so.6.read ()L;",
		"(unknown).[unknown] ()L;",
		"a/B$$Lambda/0x7f00.run ()V",
		"x\xef\xbf\xbd.y ()L;",
		"(heap).[heap] ()L;",
		"(x.so.f ()L;",
		"(I.f ()V",
	};
	struct jfrw *w = writer(0, 0);
	const unsigned int n = sizeof(f) / sizeof(*f);
	uint32_t stack = jfrw_stack(w, f, n, true);
	int64_t field[4];

	jfrw_cpu_sample(w, START, jfrw_thread(w, &main_thread), stack);
	assert_int_equal(jfrw_close(w, NULL), 0);
	load();
	for (unsigned int i = 0; i < n; i++) {
		char *s = frame_text(file, stack, i, field);

		assert_string_equal(s, want[i]);
		free(s);
		assert_int_equal(field[3], 1);
		if (i < 2)
			assert_int_equal(field[0], 0xffffffff); /* -1 in 32 bits */
		if (i == 3)
			assert_int_equal(field[2], FRAME_NATIVE);
	}
}

static void test_interning(void **state)
{
	struct jfrw *w = writer(0, 0);
	struct jfrw_thread other = main_thread;
	struct jfrw_stats s;

	assert_int_equal(stack_of(w, "A", "b", 1), stack_of(w, "A", "b", 1));
	assert_int_not_equal(stack_of(w, "A", "b", 1), stack_of(w, "A", "b", 2));
	assert_int_equal(jfrw_thread(w, &main_thread), jfrw_thread(w, &other));
	other.java_name = "renamed";
	assert_int_not_equal(jfrw_thread(w, &main_thread), jfrw_thread(w, &other));
	jfrw_stats(w, &s);
	assert_int_equal(s.stacks, 2);
	assert_int_equal(s.methods, 1);
	assert_int_equal(s.threads, 2);
	jfrw_cpu_sample(w, START, 0, 999);
	jfrw_stats(w, &s);
	assert_int_equal(s.stale_ids, 1);
	assert_int_equal(jfrw_close(w, NULL), 0);
}

/* A file as large as it may be takes no more samples, and what is said of that has room. */
static void test_file_max(void **state)
{
	struct jfrw_config cfg = {.path = path,
				  .overwrite = true,
				  .start_unix_ns = 1700000000ull * 1000 * MS,
				  .start_mono_ns = START,
				  .form.file_max_bytes = 100000};
	struct jfr_samples_lost lost = {
		.kind = "any", .reason = "as large as it may be", .count = 1};
	struct jfrw_stats st;
	struct reader r;
	struct jfrw *w;
	uint32_t thread, stack;
	uint64_t n = 0;

	assert_int_equal(jfrw_open(&w, &cfg, NULL), 0);
	thread = jfrw_thread(w, &main_thread);
	stack = stack_of(w, "C", "m", 1);
	do {
		jfrw_cpu_sample(w, START + n++, thread, stack);
		jfrw_stats(w, &st);
	} while (!st.over_events && n < 100000);
	assert_int_equal(st.over_events, 1);
	for (int i = 0; i < 50000; i++)
		jfrw_cpu_sample(w, START + n++, thread, stack);
	jfrw_samples_lost(w, START + n, &lost);
	flush_now(w, START + n);
	jfrw_stats(w, &st);
	assert_int_equal(st.over_events, 50001);
	assert_int_equal(st.dropped_events, 0);
	assert_true(st.bytes > 90000 && st.bytes < 101000);
	for (int i = 0; i < 100000; i++)
		jfrw_samples_lost(w, START + n, &lost);
	jfrw_full(w);
	assert_int_equal(jfrw_close(w, NULL), 0);
	load();
	assert_int_equal(
		events(chunk_at(0), class_id(chunk_at(0), "jdk.ExecutionSample"), 0, NULL, &r),
		n - 50001);
	assert_true(file_len > 1000000 && file_len < 1300000);
}

/* Every chunk has what it refers to; an id keeps its meaning; start times differ. */
static void test_chunks(void **state)
{
	struct jfrw *w = writer(1, 0);
	uint32_t ids[4], thread = jfrw_thread(w, &main_thread);
	int64_t f[4];
	char name[16];

	for (unsigned int i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "C%u", i);
		ids[i] = stack_of(w, name, "m", 1);
		jfrw_cpu_sample(w, START + i, thread, ids[i]);
		jfrw_cpu_sample(w, START + i, thread, ids[0]);
		flush_now(w, START + i);
	}
	assert_int_equal(jfrw_close(w, NULL), 0);
	load();
	for (unsigned int i = 0; i < 4; i++) {
		const uint8_t *c = chunk_at(i);
		struct reader r;
		char *s;

		assert_non_null(c);
		assert_int_equal(events(c, class_id(c, "jdk.ExecutionSample"), 0, NULL, &r), 2);
		assert_true(constant(c, "java.lang.Thread", leb(&r), &(struct reader){0}));
		assert_int_equal(leb(&r), ids[i]);
		s = frame_text(c, ids[i], 0, f);
		assert_int_equal(s[1], '0' + (int)i);
		free(s);
		s = frame_text(c, ids[0], 0, f);
		assert_string_equal(s, "C0.m (I)V");
		free(s);
		if (i)
			assert_false(constant(c, "jdk.types.StackTrace", ids[i - 1 ? i - 1 : 3],
					      &(struct reader){0}));
		if (i)
			assert_true(be(c + 32, 8) > be(chunk_at(i - 1) + 32, 8));
	}
	assert_null(chunk_at(4));
}

/* What part of the threads is sampled stands in every chunk that has events, first. */
static void test_reservoir(void **state)
{
	struct jfr_thread_reservoir v = {.draw = 7, .live = 900, .eligible = 800, .sampled = 64};
	struct jfrw *w = writer(1, 0);
	uint32_t thread = jfrw_thread(w, &main_thread);
	uint64_t type, ticks;
	struct reader r;

	jfrw_thread_reservoir(w, START, &v);
	flush_now(w, START);
	jfrw_cpu_sample(w, START + 5, thread, 0);
	jfrw_cpu_sample(w, START + 6, thread, 0);
	flush_now(w, START + 6);
	v.draw = 8;
	jfrw_thread_reservoir(w, START + 9, &v); /* no need to repeat the former */
	assert_int_equal(jfrw_close(w, NULL), 0);
	load();
	for (unsigned int i = 0; i < 3; i++) {
		type = class_id(chunk_at(i), "gnomon.ThreadReservoir");
		assert_int_equal(events(chunk_at(i), type, 0, &ticks, &r), 1);
		assert_int_equal(leb(&r), i < 2 ? 7 : 8);
		assert_int_equal(leb(&r), 900);
		assert_int_equal(leb(&r), 800);
		assert_int_equal(leb(&r), 64);
		assert_ptr_equal(r.p, r.end);
	}
	assert_int_equal(ticks, 9);
	events(chunk_at(1), class_id(file, "gnomon.ThreadReservoir"), 0, &ticks, NULL);
	assert_true(ticks > 0 && ticks < 5); /* the chunk's start */
	assert_null(chunk_at(3));
}

/* Constants are bounded: past the limit they are dropped with the chunk, and ids never come again.
 */
static void test_generation(void **state)
{
	struct jfrw *w = writer(0, 3 << 20);
	uint32_t first = stack_of(w, "First", "m", 1), last = 0;
	struct jfrw_stats s;

	for (int i = 0; i < 200000 && !jfrw_generation(w); i++) {
		last = stack_of(w, "C", "m", i);
		assert_int_not_equal(last, 0);
		jfrw_cpu_sample(w, START + (uint64_t)i, 0, last);
		if (i % 1000 == 999)
			flush_now(w, START + (uint64_t)i);
	}
	assert_int_equal(jfrw_generation(w), 1);
	jfrw_stats(w, &s);
	assert_int_equal(s.stacks, 0);
	assert_true(stack_of(w, "First", "m", 1) > last);
	jfrw_cpu_sample(w, START, 0, first);
	jfrw_stats(w, &s);
	assert_int_equal(s.stale_ids, 1);
	assert_int_equal(jfrw_close(w, NULL), 0);
	load();
	assert_non_null(chunk_at(1));
}

/* Who writes one event after the other may hold ids all the while, however many chunks end
 * meanwhile. */
static void test_held(void **state)
{
	struct jfrw *w = writer(1 << 20, 1);
	uint32_t held = stack_of(w, "Held", "m", 1);
	struct jfrw_stats s;

	for (int i = 0; i < 5000000; i++) {
		jfrw_cpu_sample(w, START + (uint64_t)i, 0, held);
		if (jfrw_chunk(w) > 3)
			break;
	}
	assert_true(jfrw_chunk(w) > 3);
	assert_int_equal(jfrw_generation(w), 0);
	jfrw_stats(w, &s);
	assert_int_equal(s.stale_ids, 0);
	jfrw_cpu_sample(w, START + 5000000, 0, held);
	flush_now(w, START + 5000000);
	assert_int_equal(jfrw_generation(w), 1);
	assert_int_equal(jfrw_close(w, NULL), 0);
}

/* Where few ids are left they begin with 1 again. */
static void test_ids_restart(void **state)
{
	struct pool *p = pool_new(1, 0x7fffffffu - POOL_IDS_LEFT - 1);
	uint32_t first = pool_intern(p, "a", 1, 1);

	assert_int_equal(first, 0x7fffffffu - POOL_IDS_LEFT - 1);
	assert_false(pool_is_worn(p));
	pool_intern(p, "b", 1, 1);
	assert_true(pool_is_worn(p));
	pool_restart(p);
	assert_false(pool_is_worn(p));
	assert_int_equal(pool_count(p), 0);
	assert_int_equal(pool_intern(p, "b", 1, 2), 1);
	assert_int_equal(pool_intern(p, "a", 1, 2), 2);
	pool_free(p);
}

/* Methods known by their keys are what they were, in chunks that have dropped all constants, too.
 */
static void test_method_keys(void **state)
{
	/* the first two are kept at one place */
	static const uint64_t keys[] = {7, 7 + (1u << 20), 9};
	static const char *const klass[] = {"K", "L", "M"};
	struct jfrw *w = writer(1, 1 << 20);
	uint32_t ids[4][3];

	for (unsigned int i = 0; i < 4; i++) {
		for (int k = 0; k < 6; k++) {
			struct frame_name f = {klass[k % 3], "m", "(I)V", (int)i,     7,
					       FRAME_JIT,    0,	  1,	  keys[k % 3]};

			ids[i][k % 3] = jfrw_stack(w, &f, 1, false);
			jfrw_cpu_sample(w, START + i, 0, ids[i][k % 3]);
		}
		flush_now(w, START + i);
	}
	assert_true(jfrw_generation(w) >= 3);
	assert_int_equal(jfrw_close(w, NULL), 0);
	load();
	for (unsigned int i = 0; i < 4; i++) {
		for (int k = 0; k < 3; k++) {
			int64_t field[4];
			char *text = frame_text(chunk_at(i), ids[i][k], 0, field);

			assert_int_equal(text[0], klass[k][0]);
			assert_int_equal(field[0], i);
			free(text);
		}
	}
}

/*
 * A recording of a day, a stack that stays and ones that never come again: what is kept does not
 * grow, what stays keeps its id, what went has none.
 */
static void test_forgotten(void **state)
{
	struct jfrw_config cfg = {
		.path = path,
		.overwrite = true,
		.start_unix_ns = 1700000000ull * 1000 * MS,
		.start_mono_ns = START,
		.form.chunk_max_ns = 59000 * MS,
		.constants_keep_ns = 120000 * MS,
	};
	size_t most = 0, early = 0;
	uint32_t stays = 0, first = 0;
	struct jfrw_stats s;
	struct jfrw *w;

	assert_int_equal(jfrw_open(&w, &cfg, NULL), 0);
	for (uint64_t minute = 0; minute < 60; minute++) {
		uint64_t t = START + minute * 60000 * MS;
		uint32_t id = 0;

		for (int i = 0; i < 10000; i++) {
			id = stack_of(w, "Gone", "m", (int)minute * 10000 + i);
			jfrw_cpu_sample(w, t, 0, id);
		}
		if (!first)
			first = id;
		id = stack_of(w, "Stays", "m", 1);
		stays = stays ? stays : id;
		assert_int_equal(id, stays);
		jfrw_cpu_sample(w, t, 0, stays);
		flush_now(w, t);
		jfrw_stats(w, &s);
		if (minute < 10 && s.constants_bytes > early)
			early = s.constants_bytes;
		if (s.constants_bytes > most)
			most = s.constants_bytes;
		assert_true(jfrw_has_stack(w, stays));
	}
	assert_int_equal(s.stale_ids, 0);
	assert_true(s.generation > 10);
	assert_true(most < early + early / 10); /* ids have more digits later */
	assert_false(jfrw_has_stack(w, first));
	assert_int_equal(jfrw_close(w, NULL), 0);
	load();
	for (unsigned int n = 1; n < 50; n++) {
		const uint8_t *c = chunk_at(n);
		int64_t field[4];
		char *text;

		assert_non_null(c);
		assert_int_equal(events(c, class_id(file, "jdk.ExecutionSample"), 0, NULL, NULL),
				 10001);
		text = frame_text(c, stays, 0, field);
		assert_string_equal(text, "Stays.m (I)V");
		free(text);
	}
}

static void test_killed(void **state)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		struct jfrw *w = writer(0, 0);

		for (int i = 0; i < 100; i++)
			jfrw_cpu_sample(w, START, jfrw_thread(w, &main_thread),
					stack_of(w, "A", "b", i));
		flush_now(w, START);
		usleep(200000); /* the file's thread */
		jfrw_cpu_sample(w, START, 0, 0);
		kill(getpid(), SIGKILL);
	}
	waitpid(pid, &status, 0);
	assert_true(WIFSIGNALED(status));
	load();
	assert_int_equal(events(file, class_id(file, "jdk.ExecutionSample"), 0, NULL, NULL), 100);
	assert_null(chunk_at(1));
}

/* ---- errors -------------------------------------------------------------------------------------
 */

static int open_rc(const char *p, bool overwrite, struct error *e)
{
	struct jfrw_config cfg = {.path = p, .overwrite = overwrite, .start_mono_ns = START};
	struct jfrw *w;
	int rc = jfrw_open(&w, &cfg, e);

	if (!rc)
		jfrw_close(w, NULL);
	else
		assert_int_equal(e->exit, EXIT_OUTPUT);
	return rc;
}

static void test_open_errors(void **state)
{
	char other[160];
	struct stat st;
	struct error e;

	unlink(path);
	assert_int_equal(open_rc(path, false, &e), 0);
	assert_int_equal(open_rc(path, false, &e), -EEXIST);
	assert_non_null(strstr(e.msg, path));
	assert_true(e.hint[0]);
	assert_int_equal(open_rc(path, true, &e), 0);
	snprintf(other, sizeof(other), "%s/none/x.jfr", dir);
	assert_int_equal(open_rc(other, false, &e), -ENOENT);
	snprintf(other, sizeof(other), "%s/link.jfr", dir);
	assert_int_equal(symlink("/nonexistent/target", other), 0);
	assert_int_equal(open_rc(other, false, &e), -EEXIST);
	assert_int_equal(open_rc(other, true, &e), -EEXIST);
	assert_int_equal(lstat(other, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	unlink(other);
	assert_int_equal(open_rc(dir, true, &e), -EEXIST);
	assert_true(open_rc("/dev/full", true, &e) < 0);
}

/* The writing thread has written something since the file had `size` bytes, or a second has passed.
 */
static off_t written_since(off_t size)
{
	struct stat st = {.st_size = size};

	for (int i = 0; i < 500 && st.st_size == size; i++) {
		usleep(2000);
		stat(path, &st);
	}
	return st.st_size;
}

/* A size limit stands in for the full disk. */
static void test_disk_full(void **state)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		struct jfrw *w = writer(0, 0);
		struct rlimit limit = {64 << 10, 64 << 10};
		struct error e = {0};
		off_t size = 0;
		int rc = 0;

		setrlimit(RLIMIT_FSIZE, &limit);
		for (int i = 0; i < 100000 && !rc; i++) {
			jfrw_cpu_sample(w, START, 0, stack_of(w, "A", "b", i));
			if (i % 100 < 99)
				continue;
			rc = jfrw_flush(w, START, &e);
			size = rc ? size : written_since(size);
		}
		if (rc != -EFBIG || e.exit != EXIT_OUTPUT || !e.msg[0])
			_exit(1);
		_exit(jfrw_close(w, NULL) == -EFBIG ? 0 : 2);
	}
	waitpid(pid, &status, 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	load();
	assert_true(events(file, class_id(file, "jdk.ExecutionSample"), 0, NULL, NULL) > 100);
	assert_null(chunk_at(1));
}

/* ---- repair -------------------------------------------------------------------------------------
 */

static void save(const uint8_t *p, size_t n)
{
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(p, 1, n, f), n);
	fclose(f);
}

/* Two chunks; the second of two flushes. Returns the bytes, to be freed. */
static uint8_t *recording(size_t *len, size_t *first)
{
	struct jfrw *w = writer(0, 0);
	struct jfrw *second;
	uint8_t *p;

	for (int i = 0; i < 10; i++)
		jfrw_cpu_sample(w, START, 0, stack_of(w, "A", "b", i));
	assert_int_equal(jfrw_close(w, NULL), 0);
	load();
	*first = file_len;
	p = malloc(1 << 20);
	memcpy(p, file, file_len);
	second = writer(0, 0);
	for (int i = 0; i < 20; i++) {
		jfrw_cpu_sample(second, START, 0, stack_of(second, "C", "d", i));
		if (i == 9)
			flush_now(second, START);
	}
	assert_int_equal(jfrw_close(second, NULL), 0);
	load();
	memcpy(p + *first, file, file_len);
	*len = *first + file_len;
	return p;
}

static unsigned int samples(unsigned int chunk)
{
	const uint8_t *c = chunk_at(chunk);

	return c ? events(c, class_id(c, "jdk.ExecutionSample"), 0, NULL, NULL) : 0;
}

static void test_repair_good(void **state)
{
	struct jfr_repair r;
	size_t len, first;
	uint8_t *p = recording(&len, &first);

	save(p, len);
	assert_int_equal(jfr_repair(path, &r, NULL), 0);
	assert_int_equal(r.chunks, 2);
	assert_int_equal(r.mended, 0);
	assert_int_equal(r.bytes_cut, 0);
	load();
	assert_int_equal(file_len, len);
	assert_memory_equal(file, p, len);
	free(p);
}

/* Cut at every byte of the second chunk: the first stays, and whole flushes of the second. */
static void test_repair_cut(void **state)
{
	struct jfr_repair r;
	size_t len, first;
	uint8_t *p = recording(&len, &first);
	unsigned int before = 0;

	for (size_t cut = first; cut < len; cut += cut + 499 < len - 400 ? 499 : 1) {
		unsigned int n;

		save(p, cut);
		assert_int_equal(jfr_repair(path, &r, NULL), 0);
		load();
		assert_int_equal(file_len, r.bytes_kept);
		assert_int_equal(r.bytes_kept + r.bytes_cut, cut);
		assert_int_equal(samples(0), 10);
		n = samples(1);
		assert_true(n == 0 || n == 10);
		assert_true(n >= before);
		before = n;
	}
	assert_int_equal(before, 10);
	free(p);
}

/* Killed between the append and the header: what was appended whole is taken in. */
static void test_repair_header(void **state)
{
	struct jfr_repair r;
	size_t len, first;
	uint8_t *p = recording(&len, &first);

	memset(p + first + 8, 0, 24); /* sizes and offsets */
	p[first + 64] = 0xff;
	save(p, len);
	assert_int_equal(jfr_repair(path, &r, NULL), 0);
	assert_int_equal(r.mended, 1);
	load();
	assert_int_equal(file_len, len);
	assert_int_equal(samples(1), 20);
	p[first] = 'X';
	save(p, len);
	assert_int_equal(jfr_repair(path, &r, NULL), 0);
	assert_int_equal(r.bytes_cut, len - first);
	free(p);
}

static void test_repair_hopeless(void **state)
{
	struct jfr_repair r;
	struct error e;

	save((const uint8_t *)"FLR\0nonsense", 12);
	assert_int_equal(jfr_repair(path, &r, &e), -EINVAL);
	assert_int_equal(e.exit, EXIT_INPUT);
	load();
	assert_int_equal(file_len, 12); /* left as it was */
	unlink(path);
	assert_int_equal(jfr_repair(path, &r, &e), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_leb),	      cmocka_unit_test(test_text),
		cmocka_unit_test(test_table),	      cmocka_unit_test(test_empty),
		cmocka_unit_test(test_sample),	      cmocka_unit_test(test_fallbacks),
		cmocka_unit_test(test_interning),     cmocka_unit_test(test_chunks),
		cmocka_unit_test(test_file_max),      cmocka_unit_test(test_generation),
		cmocka_unit_test(test_held),	      cmocka_unit_test(test_ids_restart),
		cmocka_unit_test(test_forgotten),     cmocka_unit_test(test_method_keys),
		cmocka_unit_test(test_reservoir),     cmocka_unit_test(test_killed),
		cmocka_unit_test(test_open_errors),   cmocka_unit_test(test_disk_full),
		cmocka_unit_test(test_repair_good),   cmocka_unit_test(test_repair_cut),
		cmocka_unit_test(test_repair_header), cmocka_unit_test(test_repair_hopeless),
	};
	int rc;

	strcpy(dir, "/tmp/gnomon-jfrwrite-XXXXXX");
	if (!mkdtemp(dir))
		return 1;
	snprintf(path, sizeof(path), "%s/t.jfr", dir);
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	rmdir(dir);
	free(file);
	return rc;
}
