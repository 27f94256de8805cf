/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names from a JVM's memory that changes between a sample and its naming. The memory is made here,
 * with a layout like that of JDK 17: two methods, and one piece of compiled code.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "jvm/method.h"
#include "jvm/threads.h"
#include "jvm/unloads.h"
#include "jvm/vm.h"
#include "jvm/vmstructs.h"

#define RAM   0x7f0000100000ULL
#define BYTES 0x10000U

/* Where things lie in it. */
enum {
	METHOD_A = 0x100,
	METHOD_B = 0x200,
	CONST_A = 0x1000,
	CONST_B = 0x1100,
	POOL_A = 0x2000,
	POOL_B = 0x2100,
	KLASS_A = 0x3000,
	KLASS_B = 0x3100,
	SYMBOLS = 0x4000, /* 64 bytes each */
	BLOCK = 0x8000,
	BLOB = BLOCK + 16,
	CODE = BLOB + 344,
	META = BLOB + 0x400,
	SCOPES = META + 8,
	PCS = SCOPES + 8,
	PCS_END = PCS + 16,
	PERF_POINTER = 0xa000,
	ARCHIVE_BASE = 0xa010,
	ARCHIVE_TOP = 0xa018,
	PERF = 0xa100,
	STATICS = 0xb000,
	UNSHARED = 0xc000,
	DESCRIPTORS = 0xd000, /* 2048 bytes each */
	THREADS_LIST = 0xf800,
};

enum { ZOMBIE = 3, UNLOADED = 4, NOT_ENTRANT = 2 };

#include "vmram.h"

static uint64_t symbol(struct jvm *j, unsigned int no, const char *text)
{
	uint64_t at = SYMBOLS + no * 64;

	put(j, at, (uint64_t)strlen(text) << 16 | 1, 4);
	memcpy(j->ram + at + 6, text, strlen(text));
	return RAM + at;
}

/* A method `name` of `klass` at these places; each has a block of three symbols. */
static void method_put(struct jvm *j, uint64_t method, uint64_t cm, uint64_t pool, uint64_t holder,
		       unsigned int symbols, const char *klass, const char *name)
{
	put(j, method + 8, RAM + cm, 8);
	put(j, cm, RAM + pool, 8);
	put(j, cm + 8, 1, 2);
	put(j, cm + 10, 2, 2);
	put(j, pool, RAM + holder, 8);
	put(j, pool + 8, 3, 4);
	put(j, pool + 16 + 8, symbol(j, symbols, name), 8);
	put(j, pool + 16 + 16, symbol(j, symbols + 1, "()V"), 8);
	put(j, holder, symbol(j, symbols + 2, klass), 8);
}

/* Compiled from method A, with A as its only scope (line table none, bci 4). */
static void nmethod_put(struct jvm *j, uint32_t id)
{
	static const uint8_t scope[] = {0, 0, 1, 5}; /* at 1: no sender, method 1, bci 5 - 1 */

	put(j, BLOCK + 8, 1, 1);
	put(j, BLOB + 16, 344, 4);
	put(j, BLOB + 32, RAM + CODE, 8);
	put(j, BLOB + 112, RAM + METHOD_A, 8);
	put(j, BLOB + 120, RAM + SCOPES, 8);
	put(j, BLOB + 268, PCS - BLOB, 4);
	put(j, BLOB + 272, PCS_END - BLOB, 4);
	put(j, BLOB + 260, META - BLOB, 4);
	put(j, BLOB + 304, id, 4);
	put(j, BLOB + 308, 4, 1);
	put(j, BLOB + 315, 0, 1);
	put(j, META, RAM + METHOD_A, 8);
	memcpy(j->ram + SCOPES, scope, sizeof(scope));
	put(j, PCS, 32, 4);
	put(j, PCS + 4, 1, 4);
}

static void perf_entry(struct jvm *j, uint64_t at, const char *name)
{
	put(j, at, 64, 4);
	put(j, at + 4, 20, 4);
	put(j, at + 12, 'J', 1);
	put(j, at + 16, 56, 4);
	memcpy(j->ram + at + 20, name, strlen(name) + 1);
}

static void perf_put(struct jvm *j)
{
	put(j, PERF_POINTER, RAM + PERF, 8);
	put(j, PERF, 0xc0c0feca, 4);
	put(j, PERF + 4, 0x01000201, 4); /* little-endian, 2.0, accessible */
	put(j, PERF + 8, 32 + 5 * 64, 4);
	put(j, PERF + 24, 32, 4);
	put(j, PERF + 28, 5, 4);
	perf_entry(j, PERF + 32, "java.cls.loadedClasses");
	perf_entry(j, PERF + 96, "java.cls.unloadedClasses");
	perf_entry(j, PERF + 160, "java.cls.sharedUnloadedClasses");
	perf_entry(j, PERF + 224, "java.cls.sharedLoadedClasses");
	perf_entry(j, PERF + 288, "java.threads.started");
}

static void unloaded(struct jvm *j, uint64_t classes)
{
	put(j, PERF + 96 + 56, classes, 8);
}

static void loaded(struct jvm *j, uint64_t classes)
{
	put(j, PERF + 32 + 56, classes, 8);
}

static void layout_put(struct vm_layout *at)
{
	memset(at, 0xff, sizeof(*at));
	at->method_const = 8;
	at->cm_constants = 0;
	at->cm_name = 8;
	at->cm_sig = 10;
	at->cp_holder = 0;
	at->cp_length = 8;
	at->cp_size = 16;
	at->klass_name = 0;
	at->sym_length_ref = 0;
	at->sym_body = 6;
	at->hb_size = 16;
	at->hb_used = 8;
	at->cb_header_size = 16;
	at->cb_header_bytes = 4;
	at->cb_code_begin = 32;
	at->nm_sizeof = 344;
	at->nm_method = 112;
	at->nm_scopes = 120;
	at->nm_pcs = 268;
	at->nm_deps = 272;
	at->nm_metadata = 260;
	at->nm_id = 304;
	at->nm_level = 308;
	at->nm_state = 315;
	at->pd_size = 16;
	at->pd_pc = 0;
	at->pd_scope = 4;
	at->perf_start = RAM + PERF_POINTER;
	at->archive_base = RAM + ARCHIVE_BASE;
	at->archive_top = RAM + ARCHIVE_TOP;
}

static int setup(void **state)
{
	struct jvm *j = calloc(1, sizeof(*j));

	j->vm = calloc(1, sizeof(*j->vm));
	j->vm->mem = mem_new(ram_read, j);
	j->vm->release = 17;
	j->vm->has = 1U << VM_NAMES | 1U << VM_CODE | 1U << VM_NMETHOD | 1U << VM_SCOPES;
	layout_put(&j->vm->at);
	method_put(j, METHOD_A, CONST_A, POOL_A, KLASS_A, 0, "tree/A", "first");
	method_put(j, METHOD_B, CONST_B, POOL_B, KLASS_B, 3, "tree/B", "second");
	nmethod_put(j, 7);
	perf_put(j);
	*state = j;
	return 0;
}

static int teardown(void **state)
{
	struct jvm *j = *state;

	vm_close(j->vm);
	free(j);
	return 0;
}

/* Another class where A was: its memory was freed and used again. */
static void replace_a(struct jvm *j)
{
	method_put(j, METHOD_A, CONST_A, POOL_A, KLASS_A, 6, "tree/Other", "wrong");
}

static const char *interpreted(struct jvm *j, uint64_t time, uint64_t cm)
{
	struct gn_frame f = {GN_FRAME(RAM + METHOD_A, GN_FRAME_INTERP, 0), cm << 16 | 4};
	static struct frame_name name[VM_INLINE_MAX];

	vm_at(j->vm, time);
	assert_int_equal(vm_name(j->vm, &f, name, VM_INLINE_MAX), 1);
	return name[0].method;
}

static const char *compiled(struct jvm *j, uint64_t time, uint32_t id)
{
	struct gn_frame f = {GN_FRAME(RAM + CODE + 16, GN_FRAME_NMETHOD, 0),
			     (uint64_t)id << 32 | (CODE + 16 - BLOB)};
	static struct frame_name name[VM_INLINE_MAX];

	vm_at(j->vm, time);
	assert_int_equal(vm_name(j->vm, &f, name, VM_INLINE_MAX), 1);
	return name[0].method;
}

#define GONE_CODE   "[unloaded compiled code]"
#define GONE_METHOD "[unloaded method]"

/* ---- */

static void test_names(void **state)
{
	struct jvm *j = *state;

	assert_string_equal(compiled(j, now_ns(), 7), "first");
	assert_string_equal(interpreted(j, now_ns(), RAM + CONST_A), "first");
	assert_string_equal(interpreted(j, now_ns(), 0), "first");
}

/* A's descriptor is one of 2,000 bytes, the last of which is `type`. */
static void long_descriptor(struct jvm *j, unsigned int no, char type)
{
	uint64_t at = DESCRIPTORS + no * 2048;
	char *text = (char *)j->ram + at + 6;

	memset(text, '[', 2000);
	memcpy(text, "(I", 2);
	memcpy(text + 2000, (char[]){type, ')', 'V'}, 3);
	put(j, at, 2003ULL << 16 | 1, 4);
	put(j, POOL_A + 16 + 16, RAM + at, 8);
}

/* Two overloads stay two, though their descriptors are longer than what is kept of them. */
static void test_long_descriptors(void **state)
{
	struct gn_frame f = {GN_FRAME(RAM + METHOD_A, GN_FRAME_INTERP, 0), (RAM + CONST_A) << 16};
	struct jvm *j = *state;
	struct frame_name name[VM_INLINE_MAX];
	char first[FRAME_NAME_MAX];

	long_descriptor(j, 0, 'J');
	vm_at(j->vm, now_ns());
	assert_int_equal(vm_name(j->vm, &f, name, VM_INLINE_MAX), 1);
	assert_true(descriptor_valid(name[0].sig));
	assert_memory_equal(name[0].sig, "(ILcut_", 7);
	snprintf(first, sizeof(first), "%s", name[0].sig);
	long_descriptor(j, 1, 'D');
	unloaded(j, 1);
	vm_refresh(j->vm);
	vm_at(j->vm, now_ns());
	assert_int_equal(vm_name(j->vm, &f, name, VM_INLINE_MAX), 1);
	assert_true(descriptor_valid(name[0].sig));
	assert_string_not_equal(name[0].sig, first);
}

/*
 * Of method A, into which B is inlined at bci 4 and again at bci 8, where it has B inlined once
 * more: notes at 16 (A), 32 (B), 48 (the other B), 64 (B in B), 80 (A). `locked`: which of the five
 * scopes hold a monitor.
 */
static void inlined_put(struct jvm *j, unsigned int locked)
{
	uint64_t meta = BLOB + 0x600, scopes_at = meta + 16, pcs_at = scopes_at + 48;
	uint8_t scopes[] = {
		0,		   /* JDK 17: zeros are numbers */
		0,  1, 5, 0, 0, 0, /* at 1: A, bci 4 */
		1,  2, 3, 0, 0, 0, /* 7: B, bci 2, in it */
		0,  1, 9, 0, 0, 0, /* 13: A, bci 8 */
		13, 2, 3, 0, 0, 0, /* 19: B in it */
		19, 2, 8, 0, 0, 0, /* 25: B in that, bci 7 */
	};
	static const uint32_t order[] = {1, 7, 19, 25, 13};

	for (unsigned int i = 0; i < 5; i++) {
		scopes[6 + 6 * i] = locked >> i & 1;
		put(j, pcs_at + 16 * i, 16 + 16 * i, 4);
		put(j, pcs_at + 16 * i + 4, order[i], 4);
	}
	put(j, BLOB + 120, RAM + scopes_at, 8);
	put(j, BLOB + 260, 0x600, 4);
	put(j, BLOB + 268, pcs_at - BLOB, 4);
	put(j, BLOB + 272, pcs_at + 16 * 5 - BLOB, 4);
	put(j, meta, RAM + METHOD_A, 8);
	put(j, meta + 8, RAM + METHOD_B, 8);
	memcpy(j->ram + scopes_at, scopes, sizeof(scopes));
}

enum { A_OUT = 1, B_OUT = 2, A_TWO = 4, B_TWO = 8, B_IN_B = 16 };

/* The frames of one that unlocks, with its return address `pc` bytes into the code: "second first".
 */
static const char *unlocker(struct jvm *j, unsigned int locked, uint32_t id, uint32_t pc)
{
	struct gn_frame f = {GN_FRAME(RAM + CODE + pc, GN_FRAME_NMETHOD, GN_FF_RETADDR),
			     (uint64_t)id << 32 | (CODE + pc - BLOB)};
	static struct frame_name name[VM_INLINE_MAX];
	static char text[64];
	int n;

	nmethod_put(j, id);
	inlined_put(j, locked);
	vm_at(j->vm, now_ns());
	n = vm_name_unlocker(j->vm, &f, name, VM_INLINE_MAX);
	*text = 0;
	for (int i = 0; i < n; i++) {
		strcat(text, i ? " " : "");
		strcat(text, name[i].method);
	}
	return text;
}

static void test_unlocker(void **state)
{
	struct jvm *j = *state;

	/* one holds a monitor: it is that, wherever the call lies */
	assert_string_equal(unlocker(j, B_OUT, 20, 90), "second first");
	assert_string_equal(unlocker(j, A_TWO, 21, 70), "first");
	assert_string_equal(unlocker(j, B_IN_B, 22, 24), "second second first");
	/* several: what they have in common */
	assert_string_equal(unlocker(j, B_TWO | B_IN_B, 23, 24), "second first");
	assert_string_equal(unlocker(j, B_OUT | B_TWO, 24, 24), "first");
	assert_string_equal(unlocker(j, A_OUT | B_OUT | B_IN_B, 25, 40), "first");
	/* none, or a note of the call itself: as any other */
	assert_string_equal(unlocker(j, 0, 26, 24), "second first");
	assert_string_equal(unlocker(j, B_OUT, 27, 64), "second second first");
}

/* JDK 23 and 24: scopes and pcs out of the code cache, metadata behind the oops (code/nmethod.hpp).
 */
static void test_code_of_jdk24(void **state)
{
	struct jvm *j = *state;
	struct vm_layout *at = &j->vm->at;
	static const uint8_t scope[] = {0, 1, 2, 6}; /* numbers have no zero bytes since 20 */
	const uint64_t fixed = 0xb000;

	j->vm->release = 24;
	at->nm_scopes = at->nm_deps = VM_NONE;
	at->nm_immutable = 120;
	at->nm_immutable_size = 128;
	at->nm_scopes_off = 272;
	at->cb_size = 12;
	at->cb_data_offset = 24;
	at->nm_metadata_bytes = 2;
	put(j, BLOB + 120, RAM + fixed, 8);
	put(j, BLOB + 128, 40, 4);
	put(j, BLOB + 268, 8, 4); /* pcs */
	put(j, BLOB + 272, 24, 4);
	put(j, BLOB + 24, META - 16 - BLOB, 4);
	put(j, BLOB + 260, 0xffff0010, 4); /* 16 in two bytes; another field follows */
	put(j, BLOB + 12, META + 8 - BLOB, 4);
	memcpy(j->ram + fixed + 8, j->ram + PCS, 16);
	memcpy(j->ram + fixed + 24, scope, sizeof(scope));
	put(j, META, RAM + METHOD_B, 8); /* what was inlined there */
	assert_string_equal(compiled(j, now_ns(), 7), "second");
}

/* JDK 8 has all of it at offsets from the blob. */
static void test_code_of_jdk8(void **state)
{
	struct jvm *j = *state;

	j->vm->release = 8;
	j->vm->at.nm_scopes = VM_NONE;
	j->vm->at.nm_scopes_off = 264;
	put(j, BLOB + 264, SCOPES - BLOB, 4);
	put(j, META, RAM + METHOD_B, 8);
	assert_string_equal(compiled(j, now_ns(), 7), "second");
}

static void test_other_code_at_the_place(void **state)
{
	struct jvm *j = *state;

	assert_string_equal(compiled(j, now_ns(), 6), GONE_CODE);
}

/* The header stays as it was when the block is freed. */
static void test_freed_code(void **state)
{
	struct jvm *j = *state;
	uint64_t time = now_ns();

	put(j, BLOCK + 8, 0, 1);
	replace_a(j);
	assert_string_equal(compiled(j, time, 7), GONE_CODE);
}

static void test_dead_code(void **state)
{
	struct jvm *j = *state;
	uint64_t time = now_ns();

	replace_a(j);
	put(j, BLOB + 315, UNLOADED, 1);
	assert_string_equal(compiled(j, time, 7), GONE_CODE);
	put(j, BLOB + 315, ZOMBIE, 1);
	assert_string_equal(compiled(j, time, 7), GONE_CODE);
}

/* As an nmethod of a class just unloaded looks: no method, but its scopes still point to it. */
static void test_code_without_method(void **state)
{
	struct jvm *j = *state;

	put(j, BLOB + 112, 0, 8);
	assert_string_equal(compiled(j, now_ns(), 7), GONE_CODE);
}

static void test_code_not_entrant(void **state)
{
	struct jvm *j = *state;

	put(j, BLOB + 315, NOT_ENTRANT, 1);
	assert_string_equal(compiled(j, now_ns(), 7), "first");
}

/* Code once named keeps its name whatever becomes of it. */
static void test_code_kept(void **state)
{
	struct jvm *j = *state;

	assert_string_equal(compiled(j, now_ns(), 7), "first");
	replace_a(j);
	unloaded(j, 1);
	put(j, BLOCK + 8, 0, 1);
	assert_string_equal(compiled(j, now_ns(), 7), "first");
}

static struct vm_cache_use kept_at(struct jvm *j, uint64_t time)
{
	struct vm_cache_use k;

	vm_names_age(j->vm, time);
	vm_cache_use(j->vm, &k);
	return k;
}

/* Names that no stack has had for long go, and those that stay keep what they refer to. */
static void test_aged(void **state)
{
	uint64_t minute = 60000000000ull, time = now_ns();
	struct jvm *j = *state;
	struct vm_cache_use k;

	assert_string_equal(compiled(j, now_ns(), 7), "first");
	k = kept_at(j, time);
	assert_int_equal(k.methods, 1);
	assert_int_equal(k.nmethods, 1);
	for (int i = 1; i < 10; i++) {
		assert_string_equal(compiled(j, now_ns(), 7), "first");
		replace_a(j);
		unloaded(j, 1);
		put(j, BLOCK + 8, 0, 1);
		k = kept_at(j, time + (unsigned int)i * 2 * minute);
		assert_int_equal(k.nmethods, 1);
	}
	k = kept_at(j, time + 20 * minute);
	k = kept_at(j, time + 22 * minute);
	assert_int_equal(k.methods, 0);
	assert_int_equal(k.nmethods, 0);
	assert_int_equal(k.bytes, 0);
	assert_string_equal(compiled(j, now_ns(), 7), GONE_CODE);
}

/* The same of an interpreted one, which nothing else keeps. */
static void test_aged_interpreted(void **state)
{
	uint64_t minute = 60000000000ull, time = now_ns();
	struct jvm *j = *state;

	for (unsigned int i = 0; i < 10; i++) {
		assert_string_equal(interpreted(j, now_ns(), RAM + CONST_A), "first");
		assert_int_equal(kept_at(j, time + i * 2 * minute).methods, 1);
	}
	kept_at(j, time + 20 * minute);
	assert_int_equal(kept_at(j, time + 22 * minute).methods, 0);
}

/* A page held from before the sample shows what was there before. */
static void test_old_pages(void **state)
{
	struct jvm *j = *state;

	assert_string_equal(compiled(j, now_ns(), 7), "first");
	unloaded(j, 1);
	replace_a(j);
	nmethod_put(j, 8);
	assert_string_equal(compiled(j, now_ns(), 8), "wrong");
}

/* The same without the JVM's count of unloaded classes. */
static void test_old_pages_uncounted(void **state)
{
	struct jvm *j = *state;

	put(j, PERF, 0, 4);
	assert_string_equal(compiled(j, now_ns(), 7), "first");
	replace_a(j);
	nmethod_put(j, 8);
	assert_string_equal(compiled(j, now_ns(), 8), "wrong");
	assert_false(unloads_known(j->vm));
}

/* The same addresses everywhere, but the symbols are new ones. */
static void test_symbols_replaced(void **state)
{
	struct jvm *j = *state;

	assert_string_equal(interpreted(j, now_ns(), RAM + CONST_A), "first");
	symbol(j, 0, "other");
	unloaded(j, 1);
	vm_refresh(j->vm);
	assert_string_equal(interpreted(j, now_ns(), RAM + CONST_A), "other");
}

static void test_method_unloaded_since(void **state)
{
	struct jvm *j = *state;
	uint64_t time;

	vm_at(j->vm, now_ns());
	time = now_ns();
	unloaded(j, 3);
	replace_a(j);
	assert_string_equal(interpreted(j, time, RAM + CONST_A), GONE_METHOD);
	/* one that runs now is certain */
	assert_string_equal(interpreted(j, now_ns(), RAM + CONST_A), "wrong");
	/* and the older sample still is not */
	assert_string_equal(interpreted(j, time, RAM + CONST_A), GONE_METHOD);
}

/*
 * What has a name keeps it when the process has ended, since nothing comes to its place then; and
 * what has none was not unloaded.
 */
static void test_ended(void **state)
{
	struct jvm *j = *state;

	assert_string_equal(interpreted(j, now_ns(), RAM + CONST_A), "first");
	assert_string_equal(compiled(j, now_ns(), 7), "first");
	j->ended = true;
	mem_flush(j->vm->mem);
	vm_refresh(j->vm);
	assert_true(mem_is_gone(j->vm->mem));
	assert_string_equal(interpreted(j, now_ns(), RAM + CONST_A), "first");
	assert_string_equal(compiled(j, now_ns(), 7), "first");
	assert_string_equal(interpreted(j, now_ns(), RAM + CONST_B),
			    "[unnamed when its process ended]");
	assert_string_equal(compiled(j, now_ns(), 8), "[unnamed when its process ended]");
}

/*
 * What is left of a class that was unloaded looks as before until another one is loaded there,
 * which unloads none.
 */
static void test_left_behind(void **state)
{
	struct jvm *j = *state;

	loaded(j, 5);
	assert_string_equal(interpreted(j, now_ns(), RAM + CONST_A), "first");
	unloaded(j, 1);
	assert_string_equal(interpreted(j, now_ns(), RAM + CONST_A), "first");
	loaded(j, 6);
	replace_a(j);
	assert_string_equal(interpreted(j, now_ns(), RAM + CONST_A), "wrong");
}

/*
 * Its record waits in the queue while others are named, and classes are unloaded: one that was
 * looked at when it came is certain in all samples since, and the earlier ones are not.
 */
static void test_noticed_in_time(void **state)
{
	struct jvm *j = *state;
	struct gn_frame f = {GN_FRAME(RAM + METHOD_A, GN_FRAME_INTERP, 0), (uint64_t)(RAM + CONST_A)
										   << 16};
	uint64_t before, time;

	before = now_ns();
	vm_at(j->vm, now_ns());
	vm_notice(j->vm, &f);
	time = now_ns();
	unloaded(j, 3);
	loaded(j, 6);
	assert_string_not_equal(interpreted(j, time, RAM + CONST_A), GONE_METHOD);
	assert_string_equal(interpreted(j, before, RAM + CONST_A), GONE_METHOD);
}

/* First seen only after it was unloaded, by a sample from before, whose time this is; then
 * replaced. */
static uint64_t left_behind(struct jvm *j)
{
	uint64_t time;

	vm_at(j->vm, now_ns());
	time = now_ns();
	unloaded(j, 1);
	assert_string_equal(interpreted(j, time, RAM + CONST_A), GONE_METHOD);
	loaded(j, 6);
	replace_a(j);
	return time;
}

static void test_seen_when_left_behind(void **state)
{
	struct jvm *j = *state;

	left_behind(j);
	assert_string_equal(interpreted(j, now_ns(), RAM + CONST_A), "wrong");
}

/* What was read for an old sample, before the other was loaded, is not what lies there after. */
static void test_pages_left_behind(void **state)
{
	struct jvm *j = *state;
	uint64_t time = left_behind(j);

	assert_string_equal(interpreted(j, time, RAM + CONST_A), GONE_METHOD);
	assert_string_equal(interpreted(j, now_ns(), RAM + CONST_A), "wrong");
}

/* From one unloading to the next. */
static void test_spans(void **state)
{
	struct jvm *j = *state;
	struct unloads_span first, second;
	uint64_t time = now_ns();

	vm_at(j->vm, time);
	first = unloads_span(j->vm);
	assert_true(unloads_spans(j->vm, &first, time));
	assert_true(unloads_spans(j->vm, &first, now_ns()));
	time = now_ns();
	unloaded(j, 1);
	assert_false(unloads_spans(j->vm, &first, now_ns()));
	second = unloads_span(j->vm);
	assert_true(unloads_spans(j->vm, &second, now_ns()));
	assert_false(unloads_spans(j->vm, &second, time));
}

/* Without a count of the loaded the address is looked at each time. */
static void test_loads_uncounted(void **state)
{
	struct jvm *j = *state;

	put(j, PERF + 224 + 12, 'I', 1);
	assert_string_equal(interpreted(j, now_ns(), RAM + CONST_A), "first");
	unloaded(j, 1);
	assert_string_equal(interpreted(j, now_ns(), RAM + CONST_A), "first");
	replace_a(j);
	assert_string_equal(interpreted(j, now_ns(), RAM + CONST_A), "wrong");
}

/* An inlined method that cannot be read has a frame all the same. */
static void test_inlined_unreadable(void **state)
{
	struct jvm *j = *state;

	put(j, META, 0x123450, 8);
	assert_string_equal(compiled(j, now_ns(), 7), GONE_METHOD);
}

static void test_method_known_before(void **state)
{
	struct jvm *j = *state;
	uint64_t time;

	assert_string_equal(interpreted(j, now_ns(), RAM + CONST_A), "first");
	time = now_ns();
	unloaded(j, 3);
	assert_string_equal(interpreted(j, time, RAM + CONST_A), "first");
}

/* What A is called by a sample from before an unloading, if the JVM's archive is from here to
 * there. */
static const char *archived(struct jvm *j, uint64_t from, uint64_t to)
{
	uint64_t time;

	vm_names_free(j->vm);
	vm_at(j->vm, now_ns());
	time = now_ns();
	unloaded(j, unloads_count(j->vm) + 1);
	put(j, ARCHIVE_BASE, RAM + from, 8);
	put(j, ARCHIVE_TOP, RAM + to, 8);
	return interpreted(j, time, RAM + CONST_A);
}

/* Of an archive of classes nothing is ever unloaded: but all that names the method has to be in it.
 */
static void test_archived(void **state)
{
	struct jvm *j = *state;

	assert_string_equal(archived(j, 0, 0), GONE_METHOD);
	assert_string_equal(archived(j, METHOD_A + 8, BYTES), GONE_METHOD);
	assert_string_equal(archived(j, METHOD_A, SYMBOLS), GONE_METHOD);
	assert_true(vm_in_doubt(j->vm));
	assert_string_equal(archived(j, METHOD_A, BYTES), "first");
	assert_false(vm_in_doubt(j->vm));
}

static void test_archive_unknown(void **state)
{
	struct jvm *j = *state;

	j->vm->at.archive_top = VM_NONE;
	assert_string_equal(archived(j, METHOD_A, BYTES), GONE_METHOD);
	j->vm->at.archive_top = RAM + ARCHIVE_TOP;
	j->vm->at.archive_base = VM_NONE;
	assert_string_equal(archived(j, METHOD_A, BYTES), GONE_METHOD);
}

static void test_other_constmethod(void **state)
{
	struct jvm *j = *state;

	assert_string_equal(interpreted(j, now_ns(), RAM + CONST_A), "first");
	assert_string_equal(interpreted(j, now_ns(), RAM + CONST_B), GONE_METHOD);
}

/* Redefined: the class stays, but its method is another one. */
static void test_redefined(void **state)
{
	struct jvm *j = *state;

	assert_string_equal(interpreted(j, now_ns(), RAM + CONST_A), "first");
	put(j, METHOD_A + 8, RAM + CONST_B, 8);
	assert_string_equal(interpreted(j, now_ns(), RAM + CONST_B), "second");
}

/*
 * What was left of the old version is freed then, without a class unloaded, and another method
 * comes to its place: what is compiled from that is not the one known there.
 */
static void test_freed_by_redefinition(void **state)
{
	struct jvm *j = *state;

	assert_string_equal(compiled(j, now_ns(), 7), "first");
	put(j, METHOD_A + 8, RAM + CONST_B, 8);
	nmethod_put(j, 8);
	assert_string_equal(compiled(j, now_ns(), 8), "second");
	/* in the memory of its ConstMethod, too */
	put(j, METHOD_A + 8, RAM + CONST_B, 8);
	put(j, CONST_B, RAM + POOL_A, 8);
	nmethod_put(j, 9);
	assert_string_equal(compiled(j, now_ns(), 9), "first");
	/* in all of it: of a class just loaded */
	put(j, CONST_B, RAM + POOL_B, 8);
	put(j, METHOD_A + 8, RAM + CONST_A, 8);
	loaded(j, 1);
	replace_a(j);
	assert_string_equal(interpreted(j, now_ns(), RAM + CONST_A), "wrong");
	nmethod_put(j, 10);
	assert_string_equal(compiled(j, now_ns(), 10), "wrong");
	/* the code that is gone keeps its name */
	assert_string_equal(compiled(j, now_ns(), 7), "first");
}

static void test_refresh_tells(void **state)
{
	struct jvm *j = *state;

	vm_at(j->vm, now_ns());
	assert_false(vm_refresh(j->vm));
	unloaded(j, 2);
	vm_at(j->vm, now_ns());
	assert_true(vm_refresh(j->vm));
	assert_false(vm_refresh(j->vm));
}

/* In doubt for an old sample, and not for one of now. */
static void test_in_doubt(void **state)
{
	struct jvm *j = *state;
	uint64_t before = now_ns();

	vm_at(j->vm, before);
	unloaded(j, 2);
	assert_string_equal(interpreted(j, before, RAM + CONST_A), GONE_METHOD);
	assert_true(vm_in_doubt(j->vm));
	assert_string_equal(interpreted(j, now_ns(), RAM + CONST_A), "first");
	assert_false(vm_in_doubt(j->vm));
}

/* A counter that is not shared, and a static variable that refers to it. */
static void unshared_put(struct jvm *j, unsigned int no, const char *name)
{
	uint64_t object = UNSHARED + no * 128;

	put(j, STATICS + no * 8, RAM + object, 8);
	put(j, object + 8, RAM + object + 64, 8);
	put(j, object + 20, 4, 4);
	put(j, object + 24, 1, 1);
	put(j, object + 40, RAM + object + 112, 8);
	memcpy(j->ram + object + 64, name, strlen(name) + 1);
}

/* -XX:-UsePerfData: not shared, and made after we came. */
static void test_unshared(void **state)
{
	struct jvm *j = *state;
	uint64_t time;

	put(j, PERF_POINTER, 0, 8);
	vm_at(j->vm, now_ns());
	assert_false(unloads_known(j->vm));
	unshared_put(j, 0, "java.cls.loadedClasses");
	unshared_put(j, 1, "java.cls.unloadedClassesOrNot");
	unshared_put(j, 2, "java.cls.unloadedClasses");
	unshared_put(j, 3, "java.cls.sharedUnloadedClasses");
	unshared_put(j, 4, "java.cls.sharedLoadedClasses");
	vm_at(j->vm, now_ns());
	assert_false(unloads_known(j->vm)); /* it was looked for just now */
	usleep(110000);
	vm_at(j->vm, now_ns());
	assert_true(unloads_known(j->vm));
	time = now_ns();
	put(j, UNSHARED + 2 * 128 + 112, 3, 8);
	replace_a(j);
	assert_string_equal(interpreted(j, time, RAM + CONST_A), GONE_METHOD);
	assert_string_equal(interpreted(j, now_ns(), RAM + CONST_A), "wrong");
}

/* Whether threads have come: another list, or one at the same place and more that were started. */
static void test_threads_mark(void **state)
{
	struct vm_threads_mark before, now;
	struct jvm *j = *state;

	j->vm->has |= 1U << VM_THREADS;
	j->vm->at.tl_list = RAM + THREADS_LIST;
	put(j, THREADS_LIST, RAM + 0x10, 8);
	put(j, PERF + 288 + 56, 20, 8);
	assert_int_equal(vm_threads_mark(j->vm, &before), -ENOENT); /* nobody has looked yet */
	vm_at(j->vm, now_ns());
	assert_int_equal(vm_threads_mark(j->vm, &before), 0);
	assert_int_equal(vm_threads_mark(j->vm, &now), 0);
	assert_memory_equal(&before, &now, sizeof(now));
	put(j, THREADS_LIST, RAM + 0x20, 8);
	assert_int_equal(vm_threads_mark(j->vm, &now), 0);
	assert_memory_not_equal(&before, &now, sizeof(now));
	put(j, THREADS_LIST, RAM + 0x10, 8);
	put(j, PERF + 288 + 56, 21, 8);
	assert_int_equal(vm_threads_mark(j->vm, &now), 0);
	assert_memory_not_equal(&before, &now, sizeof(now));
	j->vm->at.tl_list = RAM - 8;
	assert_int_equal(vm_threads_mark(j->vm, &now), -EFAULT);
}

/* Counters as no JVM writes them: not believed, nothing read astray. */
static void test_bad_counters(void **state)
{
	struct jvm *j = *state;

	put(j, PERF + 96, 0, 4);
	vm_at(j->vm, now_ns());
	assert_false(unloads_known(j->vm));
	put(j, PERF + 96, 0x7fffffff, 4);
	vm_at(j->vm, now_ns());
	assert_false(unloads_known(j->vm));
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_names),
		TEST(test_long_descriptors),
		TEST(test_unlocker),
		TEST(test_code_of_jdk24),
		TEST(test_code_of_jdk8),
		TEST(test_other_code_at_the_place),
		TEST(test_freed_code),
		TEST(test_dead_code),
		TEST(test_code_without_method),
		TEST(test_code_not_entrant),
		TEST(test_code_kept),
		TEST(test_aged),
		TEST(test_aged_interpreted),
		TEST(test_old_pages),
		TEST(test_old_pages_uncounted),
		TEST(test_symbols_replaced),
		TEST(test_method_unloaded_since),
		TEST(test_ended),
		TEST(test_left_behind),
		TEST(test_seen_when_left_behind),
		TEST(test_pages_left_behind),
		TEST(test_noticed_in_time),
		TEST(test_spans),
		TEST(test_loads_uncounted),
		TEST(test_inlined_unreadable),
		TEST(test_method_known_before),
		TEST(test_archived),
		TEST(test_archive_unknown),
		TEST(test_other_constmethod),
		TEST(test_redefined),
		TEST(test_freed_by_redefinition),
		TEST(test_refresh_tells),
		TEST(test_in_doubt),
		TEST(test_unshared),
		TEST(test_bad_counters),
		TEST(test_threads_mark),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
