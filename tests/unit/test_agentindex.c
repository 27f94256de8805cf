/* SPDX-License-Identifier: Apache-2.0 */
/* Streams written here by hand from the description in agent/stream.h. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/stream.h"
#include "base/buffer.h"
#include "base/descriptor.h"
#include "jvm/agentindex.h"

static uint32_t seq;

static void finish(struct buffer *b, size_t start)
{
	struct gna_record *r;

	while ((b->len - start) % 8)
		buffer_byte(b, 0);
	r = (struct gna_record *)(b->data + start);
	r->size = (uint32_t)(b->len - start);
	r->seq = seq++;
}

static void add_method(struct buffer *b, uint64_t id, const char *klass, const char *name,
		       const char *sig, const uint8_t *lines, uint32_t nlines, size_t lines_len)
{
	size_t start = b->len;
	struct gna_method m = {
		.r = {.type = GNA_METHOD},
		.id = id,
		.modifiers = 9,
		.klass_len = (uint16_t)strlen(klass),
		.name_len = (uint16_t)strlen(name),
		.sig_len = (uint16_t)strlen(sig),
		.nlines = nlines,
	};

	buffer_add(b, &m, sizeof(m));
	buffer_add(b, klass, strlen(klass));
	buffer_add(b, name, strlen(name));
	buffer_add(b, sig, strlen(sig));
	buffer_add(b, lines, lines_len);
	finish(b, start);
}

static void add_load(struct buffer *b, uint64_t addr, uint32_t size, uint64_t method, uint64_t time,
		     uint16_t flags, const uint64_t *ids, uint16_t nids, uint32_t npcs,
		     const uint8_t *table, size_t len)
{
	size_t start = b->len;
	struct gna_load l = {
		.r = {.type = GNA_LOAD, .flags = flags, .time = time},
		.addr = addr,
		.method = method,
		.code_size = size,
		.npcs = npcs,
		.nmethods = nids,
		.table = npcs ? GNA_TABLE_INLINE : GNA_TABLE_NONE,
	};

	buffer_add(b, &l, sizeof(l));
	buffer_add(b, ids, nids * sizeof(*ids));
	buffer_add(b, table, len);
	finish(b, start);
}

static void add_unload(struct buffer *b, uint64_t addr, uint64_t method, uint64_t time)
{
	size_t start = b->len;
	struct gna_unload u = {
		.r = {.type = GNA_UNLOAD, .time = time}, .addr = addr, .method = method};

	buffer_add(b, &u, sizeof(u));
	finish(b, start);
}

static void add_code(struct buffer *b, uint64_t addr, uint32_t size, const char *name)
{
	size_t start = b->len;
	struct gna_code c = {.r = {.type = GNA_CODE, .flags = GNA_F_EXISTING},
			     .addr = addr,
			     .code_size = size,
			     .name_len = (uint32_t)strlen(name)};

	buffer_add(b, &c, sizeof(c));
	buffer_add(b, name, strlen(name));
	finish(b, start);
}

static void add_thread(struct buffer *b, uint64_t jt, uint32_t tid, const char *name)
{
	size_t start = b->len;
	struct gna_thread t = {.r = {.type = GNA_THREAD},
			       .javathread = jt,
			       .tid = tid,
			       .name_len = (uint32_t)strlen(name)};

	buffer_add(b, &t, sizeof(t));
	buffer_add(b, name, strlen(name));
	finish(b, start);
}

static struct agentindex *fed(struct buffer *b)
{
	struct agentindex *ix = agentindex_new(0);

	assert_int_equal(agentindex_feed(ix, b->data, b->len), b->len);
	buffer_free(b);
	return ix;
}

static const char *method_at(struct agentindex *ix, uint64_t pc, uint64_t time)
{
	struct frame_name f;

	return agentindex_lookup(ix, pc, time, &f, 1) ? f.method : NULL;
}

static void method_named(struct buffer *b, uint64_t id, const char *name)
{
	add_method(b, id, "LA;", name, "()V", NULL, 0, 0);
}

/* Descriptors of 2,000 bytes that differ in the last: two methods, which can be told apart. */
static void long_descriptors(void **state)
{
	static char sig[2][2048];
	struct buffer b = BUFFER_INIT;
	struct agentindex *ix;
	struct frame_name f;
	char first[FRAME_NAME_MAX];

	for (int i = 0; i < 2; i++) {
		memset(sig[i], '[', 2000);
		sig[i][0] = '(';
		strcpy(sig[i] + 2000, i ? "I)V" : "J)V");
		add_method(&b, 0x11 + (uint64_t)i, "LA;", "f", sig[i], NULL, 0, 0);
		add_load(&b, 0x10000 + (uint64_t)i * 64, 64, 0x11 + (uint64_t)i, 100, 0, NULL, 0, 0,
			 NULL, 0);
	}
	/* said again: it is still the same */
	add_method(&b, 0x11, "LA;", "f", sig[0], NULL, 0, 0);
	ix = fed(&b);
	assert_int_equal(agentindex_lookup(ix, 0x10000, 200, &f, 1), 1);
	assert_true(descriptor_valid(f.sig));
	snprintf(first, sizeof(first), "%s", f.sig);
	assert_int_equal(agentindex_lookup(ix, 0x10040, 200, &f, 1), 1);
	assert_true(descriptor_valid(f.sig));
	assert_string_not_equal(f.sig, first);
	agentindex_free(ix);
	buffer_free(&b);
}

static void inlining(void **state)
{
	/* outer() calls inner(): lines 10 from bci 0, 12 from bci 5; inner: line 40 from bci 0 */
	const uint8_t outer_lines[] = {0, 20, 5, 4}, inner_lines[] = {0, 80};
	/* at +16: inner@1 in outer@7 (bci + 1 is written); at +32: outer@2 */
	const uint8_t table[] = {16, 2, 2, 2, 1, 8, 16, 1, 1, 3};
	const uint64_t ids[] = {0, 0x11, 0x22};
	struct buffer b = BUFFER_INIT;
	struct agentindex *ix;
	struct frame_name f[4];

	add_method(&b, 0x11, "Lcom/x/Outer;", "outer", "(I)V", outer_lines, 2, 4);
	add_method(&b, 0x22, "Lcom/x/In$1.0x7f;", "inner", "()V", inner_lines, 1, 2);
	add_load(&b, 0x10000, 64, 0x11, 100, 0, ids, 3, 2, table, sizeof(table));
	ix = fed(&b);
	assert_int_equal(agentindex_lookup(ix, 0x10000, 200, f, 4), 2);
	assert_string_equal(f[0].klass, "com.x.In$1/0x7f");
	assert_string_equal(f[0].method, "inner");
	assert_int_equal(f[0].bci, 1);
	assert_int_equal(f[0].line, 40);
	assert_int_equal(f[0].type, FRAME_INLINED);
	assert_string_equal(f[1].klass, "com.x.Outer");
	assert_string_equal(f[1].sig, "(I)V");
	assert_int_equal(f[1].bci, 7);
	assert_int_equal(f[1].line, 12);
	assert_int_equal(f[1].type, FRAME_JIT);
	assert_int_equal(f[1].modifiers, 9);
	/* an entry holds up to and including its pc */
	assert_int_equal(agentindex_lookup(ix, 0x10010, 200, f, 4), 2);
	assert_int_equal(agentindex_lookup(ix, 0x10011, 200, f, 4), 1);
	assert_int_equal(f[0].line, 10);
	/* behind the last entry: the last */
	assert_int_equal(agentindex_lookup(ix, 0x1003f, 200, f, 4), 1);
	assert_int_equal(agentindex_lookup(ix, 0x10040, 200, f, 4), 0);
	/* max cuts off the outer frames */
	assert_int_equal(agentindex_lookup(ix, 0x10000, 200, f, 1), 1);
	assert_string_equal(f[0].method, "inner");
	agentindex_free(ix);
}

static void address_used_again(void **state)
{
	struct buffer b = BUFFER_INIT;
	struct agentindex *ix;

	method_named(&b, 1, "first");
	method_named(&b, 2, "second");
	method_named(&b, 3, "third");
	add_load(&b, 0x20000, 256, 1, 100, 0, NULL, 0, 0, NULL, 0);
	add_unload(&b, 0x20000, 1, 200);
	add_load(&b, 0x20040, 256, 2, 300, 0, NULL, 0, 0, NULL, 0);
	/* the unload of "second" was lost */
	add_load(&b, 0x20080, 64, 3, 400, 0, NULL, 0, 0, NULL, 0);
	/* and one that comes late, for what is gone already */
	add_unload(&b, 0x20080, 2, 450);
	ix = fed(&b);
	assert_string_equal(method_at(ix, 0x20090, 150), "first");
	assert_string_equal(method_at(ix, 0x20090, 350), "second");
	assert_string_equal(method_at(ix, 0x20090, 400), "third");
	assert_string_equal(method_at(ix, 0x20090, 500), "third");
	/* between two, and before the first: the nearest in time */
	assert_string_equal(method_at(ix, 0x20090, 210), "first");
	assert_string_equal(method_at(ix, 0x20090, 290), "second");
	assert_string_equal(method_at(ix, 0x20010, 10), "first");
	agentindex_free(ix);
}

static void sent_twice(void **state)
{
	struct buffer b = BUFFER_INIT;
	struct agentindex_stats s;
	struct agentindex *ix;

	method_named(&b, 1, "m");
	add_load(&b, 0x30000, 64, 1, 100, 0, NULL, 0, 0, NULL, 0);
	method_named(&b, 1, "m");
	add_load(&b, 0x30000, 64, 1, 900, GNA_F_EXISTING, NULL, 0, 0, NULL, 0);
	add_code(&b, 0x40000, 64, "stub");
	add_code(&b, 0x40000, 64, "stub");
	ix = fed(&b);
	agentindex_stats(ix, &s);
	assert_int_equal(s.codes, 2);
	assert_int_equal(s.methods, 1);
	assert_string_equal(method_at(ix, 0x30000, 150), "m");
	agentindex_free(ix);
}

static void method_id_used_again(void **state)
{
	struct buffer b = BUFFER_INIT;
	struct agentindex *ix;

	method_named(&b, 1, "old");
	add_load(&b, 0x50000, 64, 1, 100, 0, NULL, 0, 0, NULL, 0);
	method_named(&b, 1, "new");
	add_load(&b, 0x60000, 64, 1, 200, 0, NULL, 0, 0, NULL, 0);
	ix = fed(&b);
	assert_string_equal(method_at(ix, 0x50000, 250), "old");
	assert_string_equal(method_at(ix, 0x60000, 250), "new");
	agentindex_free(ix);
}

/* A name that comes after the code (the first was lost) still counts. */
static void name_comes_late(void **state)
{
	struct buffer b = BUFFER_INIT;
	struct agentindex *ix;

	add_load(&b, 0x50000, 64, 5, 100, 0, NULL, 0, 0, NULL, 0);
	ix = fed(&b);
	assert_string_equal(method_at(ix, 0x50000, 100), "[unknown]");
	method_named(&b, 5, "late");
	agentindex_feed(ix, b.data, b.len);
	buffer_free(&b);
	assert_string_equal(method_at(ix, 0x50000, 100), "late");
	agentindex_free(ix);
}

static void stub_in_stub(void **state)
{
	struct buffer b = BUFFER_INIT;
	struct agentindex *ix;

	add_code(&b, 0x70040, 32, "vtable stub");
	add_code(&b, 0x70000, 4096, "chunk");
	ix = fed(&b);
	assert_string_equal(method_at(ix, 0x70050, 1), "vtable stub");
	assert_string_equal(method_at(ix, 0x70000, 1), "chunk");
	agentindex_free(ix);
}

static void threads(void **state)
{
	struct buffer b = BUFFER_INIT;
	struct agentindex *ix;

	add_thread(&b, 0x1000, 0, "main");
	add_thread(&b, 0x2000, 77, "worker");
	ix = fed(&b);
	assert_string_equal(agentindex_thread_by_address(ix, 0x1000), "main");
	assert_string_equal(agentindex_thread_by_tid(ix, 77), "worker");
	assert_null(agentindex_thread_by_tid(ix, 76));
	agentindex_thread_bind(ix, 0x1000, 76);
	assert_string_equal(agentindex_thread_by_tid(ix, 76), "main");
	/* the tid is used again by a thread that is not known to have ended */
	add_thread(&b, 0x3000, 77, "next");
	/* and so is the JavaThread's memory */
	add_thread(&b, 0x1000, 99, "reborn");
	agentindex_feed(ix, b.data, b.len);
	buffer_free(&b);
	assert_string_equal(agentindex_thread_by_tid(ix, 77), "next");
	assert_null(agentindex_thread_by_address(ix, 0x2000));
	assert_string_equal(agentindex_thread_by_tid(ix, 76), "main");
	assert_string_equal(agentindex_thread_by_address(ix, 0x1000), "reborn");
	agentindex_free(ix);
}

static void losses(void **state)
{
	struct buffer b = BUFFER_INIT;
	struct agentindex_stats s;
	struct agentindex *ix;

	method_named(&b, 1, "a");
	seq += 7;
	method_named(&b, 2, "b");
	ix = fed(&b);
	agentindex_stats(ix, &s);
	assert_int_equal(s.lost, 7);
	assert_int_equal(s.records, 2);
	agentindex_free(ix);
}

static void half_a_record(void **state)
{
	struct agentindex *ix = agentindex_new(0);
	struct buffer b = BUFFER_INIT;
	size_t first;

	method_named(&b, 1, "a");
	first = b.len;
	method_named(&b, 2, "b");
	assert_int_equal(agentindex_feed(ix, b.data, b.len - 8), first);
	assert_int_equal(agentindex_feed(ix, b.data, 10), 0);
	memset(b.data, 0, 4);
	assert_int_equal(agentindex_feed(ix, b.data, b.len), -EBADMSG);
	buffer_free(&b);
	agentindex_free(ix);
}

static void lies(void **state)
{
	const uint8_t deep[] = {1, 0xff, 0xff, 0x7f}, outside[] = {1, 1, 5, 1}, cut[] = {1, 2, 0};
	const uint64_t ids[] = {0, 1};
	struct buffer b = BUFFER_INIT;
	struct agentindex_stats s;
	struct agentindex *ix;

	add_load(&b, 0x1000, 64, 1, 1, 0, ids, 2, 1, deep, sizeof(deep));
	add_load(&b, 0x1000, 64, 1, 1, 0, ids, 2, 1, outside, sizeof(outside));
	add_load(&b, 0x1000, 64, 1, 1, 0, ids, 2, 1000000, cut, sizeof(cut));
	add_load(&b, 0x1000, 0xffffffff, 1, 1, 0, NULL, 0, 0, NULL, 0);
	add_load(&b, 0, 64, 1, 1, 0, NULL, 0, 0, NULL, 0);
	add_load(&b, UINT64_MAX - 8, 64, 1, 1, 0, NULL, 0, 0, NULL, 0);
	add_method(&b, 1, "LA;", "m", "()V", cut, 60000, sizeof(cut));
	ix = fed(&b);
	agentindex_stats(ix, &s);
	assert_int_equal(s.bad, 7);
	assert_int_equal(s.records, 0);
	assert_int_equal(s.codes, 0);
	agentindex_free(ix);
}

/* What is gone makes room; what is alive is refused when there is none. */
static void bounded(void **state)
{
	struct agentindex *ix = agentindex_new(200000);
	struct buffer b = BUFFER_INIT;
	struct agentindex_stats s;
	uint64_t i;

	for (i = 1; i <= 5000; i++) {
		buffer_clear(&b);
		add_load(&b, i * 64, 64, 1, i, 0, NULL, 0, 0, NULL, 0);
		add_unload(&b, i * 64, 1, i);
		agentindex_feed(ix, b.data, b.len);
	}
	agentindex_stats(ix, &s);
	assert_int_equal(s.refused, 0);
	assert_true(s.bytes <= 200000);
	for (i = 1; i <= 5000; i++) {
		buffer_clear(&b);
		add_load(&b, i * 64, 64, 1, i, 0, NULL, 0, 0, NULL, 0);
		agentindex_feed(ix, b.data, b.len);
	}
	agentindex_stats(ix, &s);
	assert_true(s.refused > 0);
	assert_true(s.bytes <= 200000 + 4096);
	assert_non_null(method_at(ix, 64, 1));
	buffer_free(&b);
	agentindex_free(ix);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(long_descriptors),
		cmocka_unit_test(inlining),
		cmocka_unit_test(address_used_again),
		cmocka_unit_test(sent_twice),
		cmocka_unit_test(method_id_used_again),
		cmocka_unit_test(name_comes_late),
		cmocka_unit_test(stub_in_stub),
		cmocka_unit_test(threads),
		cmocka_unit_test(losses),
		cmocka_unit_test(half_a_record),
		cmocka_unit_test(lies),
		cmocka_unit_test(bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
