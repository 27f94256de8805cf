// SPDX-License-Identifier: Apache-2.0
/* Process and thread contexts of a process that is made up (ctximage.h), told truly, damaged and
 * changing. */
#include "context/place.h"
#include "context/process.h"
#include "context/record.h"
#include "target/maps.h"
#include "unit/ctximage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

static struct ctximage image;
static const struct ctx_memory memory = {image_read, &image};
static struct ctx_process process;

static int fresh(void **state)
{
	image = (struct ctximage){0};
	image_process(&image);
	image_library(&image, R_X86_64_TLSDESC, false, true, false);
	image_thread(&image);
	process.published = 0;
	return 0;
}

static void text_is(struct ctx_text t, const char *s)
{
	assert_int_equal(t.len, strlen(s));
	assert_memory_equal(t.p, s, t.len);
}

/* ---- the process context ---- */

static int process_read(void)
{
	uint32_t version;

	return ctx_process_read(&process, &memory, CTXIMAGE_AT, &version);
}

static void process_is_read(void **state)
{
	assert_int_equal(process_read(), 0);
	assert_int_equal(process.published, IMAGE_BOOT);
	text_is(process.schema, "tlsdesc_v1_dev");
	assert_int_equal(process.nkeys, 2);
	text_is(process.keys[0], "endpoint");
	text_is(process.keys[1], "operation");
	assert_int_equal(process.nresource, 1);
	text_is(process.resource[0].key, "service.name");
	text_is(process.resource[0].value, "shop");
	assert_int_equal(process.omitted, 0);
}

/* What has not changed costs one read of the header. */
static void process_unchanged(void **state)
{
	unsigned int before;

	assert_int_equal(process_read(), 0);
	before = image.reads;
	assert_int_equal(process_read(), 1);
	assert_int_equal(image.reads - before, 1);
	image_u64(&image, CTXIMAGE_AT + 16, IMAGE_BOOT + 1);
	assert_int_equal(process_read(), 0);
	assert_int_equal(process.published, IMAGE_BOOT + 1);
}

static void process_refused(void **state)
{
	uint32_t version = 1, size = CTX_PROCESS_MAX + 1;

	memcpy(image_at(&image, CTXIMAGE_AT + 8), &version, 4);
	version = 0;
	assert_int_equal(ctx_process_read(&process, &memory, CTXIMAGE_AT, &version), -EPROTO);
	assert_int_equal(version, 1);
	fresh(state);
	memcpy(image_at(&image, CTXIMAGE_AT + 12), &size, 4);
	assert_int_equal(process_read(), -E2BIG);
	fresh(state);
	image_u64(&image, CTXIMAGE_AT + 24, 0x666);
	assert_int_equal(process_read(), -EFAULT);
	fresh(state);
	image.b[3] = 'x';
	assert_int_equal(process_read(), -ENOENT);
	assert_int_equal(process.published, 0);
}

static void publish_anew(struct ctximage *i)
{
	image_u64(i, CTXIMAGE_AT + 16, IMAGE_BOOT + i->reads);
}

static void process_changes(void **state)
{
	image_u64(&image, CTXIMAGE_AT + 16, 0);
	assert_int_equal(process_read(), -EAGAIN);
	assert_int_equal(image.reads, CTX_PROCESS_TRY);
	fresh(state);
	image.meanwhile = publish_anew;
	assert_int_equal(process_read(), -EAGAIN);
	assert_int_equal(image.reads, 3 * CTX_PROCESS_TRY);
	assert_int_equal(process.published, 0);
}

/* Each truncation and each byte changed is told or is another message; nothing points outside of
 * the payload. */
static void texts_inside(void)
{
	const char *from = (const char *)process.payload, *to = from + process.len;

	for (uint32_t i = 0; i < process.nkeys; i++)
		if (process.keys[i].len)
			assert_true(process.keys[i].p >= from &&
				    process.keys[i].p + process.keys[i].len <= to);
	for (uint32_t i = 0; i < process.nresource; i++)
		if (process.resource[i].value.len)
			assert_true(process.resource[i].value.p >= from &&
				    process.resource[i].value.p + process.resource[i].value.len <=
					    to);
}

static void process_damaged(void **state)
{
	uint8_t whole[512];
	uint32_t n;

	assert_int_equal(process_read(), 0);
	n = process.len;
	memcpy(whole, process.payload, n);
	for (process.len = 0; process.len < n; process.len++) {
		ctx_process_parse(&process);
		texts_inside();
	}
	for (uint32_t i = 0; i < n * 256; i++) {
		memcpy(process.payload, whole, n);
		process.payload[i / 256] = (uint8_t)i;
		if (ctx_process_parse(&process))
			assert_int_equal(process.nkeys + process.nresource, 0);
		texts_inside();
	}
}

static void process_many_keys(void **state)
{
	/* {attribute: key map, array of 300 empty strings}: lengths above 127 take two bytes */
	uint8_t *p = process.payload;
	size_t key = pb_string(p, 1, "threadlocal.attribute_key_map"), n = 300 * 4, head;
	const uint8_t heads[] = {2 << 3 | 2, (uint8_t)((n + 3) | 0x80), (uint8_t)((n + 3) >> 7),
				 5 << 3 | 2, (uint8_t)(n | 0x80),	(uint8_t)(n >> 7)};

	head = key;
	memcpy(p + head, heads, sizeof(heads));
	for (size_t i = 0; i < 300; i++)
		memcpy(p + head + sizeof(heads) + 4 * i, "\x0a\x02\x0a\x00", 4);
	n += head + sizeof(heads);
	memmove(p + 3, p, n);
	p[0] = 2 << 3 | 2;
	p[1] = (uint8_t)(n | 0x80);
	p[2] = (uint8_t)(n >> 7);
	process.len = (uint32_t)n + 3;
	assert_int_equal(ctx_process_parse(&process), 0);
	assert_int_equal(process.nkeys, CTX_KEYS_MAX);
	assert_int_equal(process.omitted, 300 - CTX_KEYS_MAX);
}

static uint64_t found_in(const char *text)
{
	struct maps *maps = maps_new();
	uint64_t addr;

	assert_non_null(maps);
	assert_int_equal(maps_parse(maps, text, strlen(text)), 0);
	addr = ctx_process_find(maps);
	maps_free(maps);
	return addr;
}

static void process_found(void **state)
{
	assert_int_equal(found_in("1000-2000 rw-p 00000000 00:01 5 /memfd:OTEL_CTX (deleted)\n"),
			 0x1000);
	assert_int_equal(found_in("1000-2000 rw-p 00000000 00:00 0 \n"
				  "3000-4000 rw-p 00000000 00:00 0 [anon:OTEL_CTX]\n"),
			 0x3000);
	assert_int_equal(found_in("5000-6000 rw-p 00000000 00:01 5 [anon_shmem:OTEL_CTX]\n"),
			 0x5000);
	assert_int_equal(found_in("5000-6000 rw-p 00000000 00:01 5 /tmp/OTEL_CTX\n"), 0);
}

/* ---- the place ---- */

static int place_of(struct ctx_place *p)
{
	return ctx_place_of(&memory, IMAGE_LIBRARY, CTX_GLIBC, EM_X86_64, p);
}

static void slot_is(const struct ctx_place *p, uint64_t expected)
{
	uint64_t addr = 0;

	assert_int_equal(ctx_place_slot(p, &memory, IMAGE_THREAD, &addr), 0);
	assert_int_equal(addr, expected);
}

/* With each hash table, with either C library's dynamic section, bound at link time or not. */
static void place_descriptor(void **state)
{
	struct ctx_place p;

	for (int i = 0; i < 8; i++) {
		fresh(state);
		image_library(&image, R_X86_64_TLSDESC, i & 1, i & 2, i & 4);
		image_u64(&image, IMAGE_SLOTS, 0x4444);
		image_u64(&image, IMAGE_SLOTS + 8, (uint64_t)-0x58);
		assert_int_equal(place_of(&p), 0);
		assert_int_equal(p.kind, CTX_PLACE_STATIC);
		slot_is(&p, IMAGE_THREAD - 0x58);
		image_u64(&image, IMAGE_SLOTS + 8, IMAGE_DESC);
		assert_int_equal(place_of(&p), 0);
		assert_int_equal(p.kind, CTX_PLACE_DYNAMIC);
		assert_int_equal(p.generation, 7);
		slot_is(&p, IMAGE_BLOCK + IMAGE_VALUE);
		image_u64(&image, IMAGE_SLOTS, 0);
		assert_int_equal(place_of(&p), -EAGAIN);
	}
}

static void place_module(void **state)
{
	struct ctx_place p;

	for (int bound = 0; bound < 2; bound++) {
		fresh(state);
		image_library(&image, R_X86_64_DTPMOD64, bound, true, false);
		assert_int_equal(place_of(&p), -EAGAIN);
		image_u64(&image, IMAGE_SLOTS, IMAGE_MODULE);
		assert_int_equal(place_of(&p), 0);
		assert_int_equal(p.generation, 0);
		slot_is(&p, IMAGE_BLOCK + IMAGE_VALUE);
	}
}

static void place_distance(void **state)
{
	struct ctx_place p;

	image_library(&image, R_X86_64_TPOFF64, false, false, false);
	image_u64(&image, IMAGE_SLOTS, (uint64_t)-0x30);
	assert_int_equal(place_of(&p), 0);
	slot_is(&p, IMAGE_THREAD - 0x30);
}

/* A program's own: 0x40 bytes aligned to 16 end at the thread pointer. */
static void place_program(void **state)
{
	Elf64_Phdr *ph = image_at(&image, IMAGE_LIBRARY + 64);
	Elf64_Ehdr *eh = image_at(&image, IMAGE_LIBRARY);
	struct ctx_place p;

	ph[3] = (Elf64_Phdr){.p_type = PT_INTERP};
	eh->e_phnum = 4;
	assert_int_equal(place_of(&p), 0);
	slot_is(&p, IMAGE_THREAD - 0x40 + IMAGE_VALUE);
	ph[2].p_memsz = 0x39;
	assert_int_equal(place_of(&p), 0);
	slot_is(&p, IMAGE_THREAD - 0x40 + IMAGE_VALUE);
	/* above the two words of aarch64 */
	eh->e_machine = EM_AARCH64;
	assert_int_equal(ctx_place_of(&memory, IMAGE_LIBRARY, CTX_GLIBC, EM_AARCH64, &p), 0);
	slot_is(&p, IMAGE_THREAD + 16 + IMAGE_VALUE);
}

static void place_musl(void **state)
{
	struct ctx_place p;

	image_u64(&image, IMAGE_SLOTS, 0x4444);
	image_u64(&image, IMAGE_SLOTS + 8, IMAGE_DESC);
	assert_int_equal(ctx_place_of(&memory, IMAGE_LIBRARY, CTX_MUSL, EM_X86_64, &p), 0);
	assert_int_equal(p.generation, 0);
	image_u64(&image, IMAGE_DTV, IMAGE_MODULE);
	image_u64(&image, IMAGE_DTV + 8 * IMAGE_MODULE, IMAGE_BLOCK);
	slot_is(&p, IMAGE_BLOCK + IMAGE_VALUE);
	image_u64(&image, IMAGE_DTV, IMAGE_MODULE - 1);
	assert_int_equal(ctx_place_slot(&p, &memory, IMAGE_THREAD, &(uint64_t){0}), -ENOENT);
}

static void place_of_none(void **state)
{
	Elf64_Phdr *ph = image_at(&image, IMAGE_LIBRARY + 64);
	Elf64_Sym *sym = image_at(&image, IMAGE_LIBRARY + 0x300);
	struct ctx_place p;

	image_library(&image, R_X86_64_64, false, true, false);
	assert_int_equal(place_of(&p), -ENOENT);
	sym[2].st_shndx = SHN_UNDEF;
	assert_int_equal(place_of(&p), -ENOENT);
	fresh(state);
	sym[2].st_value = 0x40;
	assert_int_equal(place_of(&p), -EBADMSG);
	fresh(state);
	ph[2].p_type = PT_NULL;
	assert_int_equal(place_of(&p), -ENOENT);
	assert_int_equal(ctx_place_of(&memory, IMAGE_LIBRARY, CTX_GLIBC, EM_AARCH64, &p), -ENOTSUP);
	assert_int_equal(ctx_place_of(&memory, 0x10, CTX_GLIBC, EM_X86_64, &p), -EFAULT);
}

/* A chain that never ends: of names that are not it, and more relocations than anybody has. */
static void place_endless(void **state)
{
	Elf64_Dyn *d = image_at(&image, IMAGE_LIBRARY + 0x200);
	uint32_t *hash = image_at(&image, IMAGE_LIBRARY + 0x500);
	struct ctx_place p;

	d[4].d_un.d_val = UINT64_MAX;
	assert_int_equal(place_of(&p), -E2BIG);
	fresh(state);
	image_library(&image, R_X86_64_TLSDESC, false, true, true);
	hash[4] = 1; /* symbol 1 follows itself */
	image.reads = 0;
	assert_int_equal(place_of(&p), -EBADMSG);
	assert_in_range(image.reads, 4096, 4 * 4096);
}

static void places_found(void **state)
{
	const char *text = "10000-11000 rw-p 00000000 00:00 0 \n"
			   "11000-12000 r--p 00000000 08:01 7 /tmp/a b.so (deleted)\n"
			   "12000-13000 r--p 00001000 08:01 7 /tmp/a b.so (deleted)\n";
	struct maps *maps = maps_new();
	struct ctx_place p[CTX_PLACE_MAX];
	unsigned int omitted;

	image_u64(&image, IMAGE_SLOTS, 0x4444);
	image_u64(&image, IMAGE_SLOTS + 8, (uint64_t)-8);
	assert_int_equal(maps_parse(maps, text, strlen(text)), 0);
	assert_int_equal(ctx_place_libc(maps), CTX_GLIBC);
	assert_int_equal(ctx_places_find(maps, &memory, EM_X86_64, p, &omitted), 1);
	assert_int_equal(omitted, 0);
	assert_int_equal(p[0].offset, -8);
	text = "1000-2000 r--p 00000000 08:01 7 /lib/ld-musl-x86_64.so.1\n";
	assert_int_equal(maps_parse(maps, text, strlen(text)), 0);
	assert_int_equal(ctx_place_libc(maps), CTX_MUSL);
	maps_free(maps);
}

/* ---- the record ---- */

static const struct ctx_place dynamic = {.kind = CTX_PLACE_DYNAMIC,
					 .dtv_at = 8,
					 .capacity_at = -16,
					 .dtv_shift = 4,
					 .module = IMAGE_MODULE,
					 .generation = 7,
					 .offset = IMAGE_VALUE};

static int record(struct ctx_record *r)
{
	image.reads = 0;
	return ctx_record_read(&dynamic, &memory, IMAGE_THREAD, r);
}

static void record_is_read(void **state)
{
	struct ctx_record r;
	struct ctx_entry e;

	assert_int_equal(record(&r), 0);
	assert_int_equal(r.head.trace_id[15], 16);
	assert_int_equal(r.head.span_id[7], 0x87);
	assert_int_equal(r.head.trace_flags, 1);
	assert_true(ctx_record_attribute(&r, 0, &e)); /* the last one of a key */
	assert_memory_equal(e.value, "cd", 2);
	assert_false(ctx_record_attribute(&r, 1, &e));
}

static void record_of_none(void **state)
{
	struct ctx_record r;

	image.b[IMAGE_RECORD - CTXIMAGE_AT + 24] = 2;
	assert_int_equal(record(&r), -ENOENT);
	fresh(state);
	image_u64(&image, IMAGE_BLOCK + IMAGE_VALUE, 0);
	assert_int_equal(record(&r), -ENOENT);
	image_u64(&image, IMAGE_DTV + 16 * IMAGE_MODULE, UINT64_MAX);
	assert_int_equal(record(&r), -ENOENT);
	image_u64(&image, IMAGE_DTV + 16 * IMAGE_MODULE, 0);
	assert_int_equal(record(&r), -ENOENT);
	image_u64(&image, IMAGE_DTV, 6);
	assert_int_equal(record(&r), -ENOENT);
	image_u64(&image, IMAGE_DTV - 16, IMAGE_MODULE - 1);
	assert_int_equal(record(&r), -ENOENT);
}

/* Pointers to nowhere, and more attributes than there can be. */
static void record_hostile(void **state)
{
	struct ctx_record r;
	struct ctx_entry e;
	uint32_t at = 0, n = 0;

	memcpy(image_at(&image, IMAGE_RECORD + 26), "\xff\xff", 2);
	assert_int_equal(record(&r), 0);
	assert_int_equal(r.head.attrs_size, 0xffff);
	assert_int_equal(r.attrs_len, CTX_ATTRS_MAX);
	while (ctx_record_next(&r, &at, &e))
		n++;
	assert_in_range(n, 2, CTX_ATTRS_MAX / 2);
	assert_in_range(image.reads, 1, 7);
	/* a value that is longer than what is left */
	memcpy(image_at(&image, IMAGE_RECORD + 26), "\x08\x00\x00\x02zz\x00\xff", 8);
	assert_int_equal(record(&r), 0);
	assert_true(ctx_record_attribute(&r, 0, &e));
	assert_memory_equal(e.value, "zz", 2);
	image_u64(&image, IMAGE_BLOCK + IMAGE_VALUE, UINT64_MAX - 3);
	assert_int_equal(record(&r), -EFAULT);
	image_u64(&image, IMAGE_DTV + 16 * IMAGE_MODULE, 1);
	assert_int_equal(record(&r), -EFAULT);
	image_u64(&image, IMAGE_THREAD + 8, 0);
	assert_int_equal(record(&r), -EFAULT);
	assert_in_range(image.reads, 1, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(process_is_read, fresh),
		cmocka_unit_test_setup(process_unchanged, fresh),
		cmocka_unit_test_setup(process_refused, fresh),
		cmocka_unit_test_setup(process_changes, fresh),
		cmocka_unit_test_setup(process_damaged, fresh),
		cmocka_unit_test_setup(process_many_keys, fresh),
		cmocka_unit_test(process_found),
		cmocka_unit_test_setup(place_descriptor, fresh),
		cmocka_unit_test_setup(place_module, fresh),
		cmocka_unit_test_setup(place_distance, fresh),
		cmocka_unit_test_setup(place_program, fresh),
		cmocka_unit_test_setup(place_musl, fresh),
		cmocka_unit_test_setup(place_of_none, fresh),
		cmocka_unit_test_setup(place_endless, fresh),
		cmocka_unit_test_setup(places_found, fresh),
		cmocka_unit_test_setup(record_is_read, fresh),
		cmocka_unit_test_setup(record_of_none, fresh),
		cmocka_unit_test_setup(record_hostile, fresh),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
