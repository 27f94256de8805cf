/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules for HotSpot frames (kern/hotspot.h), each on a code heap, a stack and registers made
 * for it. Instructions are as JDK 17 and 25 emit them (-XX:+PrintAssembly).
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "kern/hotspot.h"
#include "kern/unwind_walk.h"
#include "tests/uwwalk.h"

#define HEAP	    0x7f1000000000ULL
#define SEGMAP	    0x7f2000000000ULL
#define STACK	    0x7f3000000000ULL
#define META	    0x7f4000000000ULL
#define NATIVE	    0x7f5000000000ULL /* code of which the table says that threads start there */
#define HEAP_BYTES  0x10000U
#define STACK_BYTES 0x4000U
#define META_BYTES  0x1000U
#define SEGMENT	    128U

/* Offsets of the header, from the block; those of JDK 17. */
enum {
	H_BLOB = 16,
	H_USED = 8,
	H_SIZE = 16 + 12,
	H_HEADER = 16 + 16,
	H_COMPLETE = 16 + 20,
	H_FRAME = 16 + 28,
	H_CODE = 16 + 32,
	H_NAME = 16 + 96,
	H_DEOPT = 16 + 128,
	H_ORIG = 16 + 300,
	H_ID = 16 + 304,
	H_LEVEL = 16 + 308,
	NMETHOD = 344,
	CODE = 512, /* of every blob here, from the block */
};

#define NAME_VTABLE  0x1000
#define NAME_ADAPTER 0x2000
#define NAME_OTHER   0x3000

struct world {
	uint8_t heap[HEAP_BYTES], segmap[HEAP_BYTES / SEGMENT], stack[STACK_BYTES],
		meta[META_BYTES];
	struct gn_jvm jvm;
	struct uw_proc proc;
	struct uw_env env;
	struct uw_state s;
	uint64_t next;	 /* free from here, offset in the heap */
	uint32_t looked; /* reads of the segment map */
	uint64_t block;	 /* in the heap, and how often its header was read */
	uint32_t headers;
	uint32_t tgid_2; /* whose the JVM is from the first read on, 0 as before */
};

static int world_read(void *ctx, __u64 addr, void *dst, __u32 len)
{
	struct world *w = ctx;
	const struct {
		uint64_t start, len;
		uint8_t *mem;
	} parts[] = {{HEAP, HEAP_BYTES, w->heap},
		     {SEGMAP, sizeof(w->segmap), w->segmap},
		     {STACK, STACK_BYTES, w->stack},
		     {META, META_BYTES, w->meta}};

	if (w->tgid_2)
		w->jvm.tgid = w->tgid_2;
	w->looked += addr - SEGMAP < sizeof(w->segmap);
	w->headers += addr == HEAP + w->block;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		uint64_t off = addr - parts[i].start;

		if (off < parts[i].len && len <= parts[i].len - off) {
			memcpy(dst, parts[i].mem + off, len);
			return 0;
		}
	}
	return -EFAULT;
}

static const struct uw_page *start_page(void *ctx, __u32 file, __u32 page)
{
	static struct uw_page all;

	memset(all.key, 0xff, sizeof(all.key));
	all.key[0] = 0;
	all.val[0] = UW_RULE_STOP;
	return file == 1 && !page ? &all : NULL;
}

static const struct uw_rule *start_rule(void *ctx, __u32 rule)
{
	static const struct uw_rule stop = {.cfa = UW_CFA_STOP};

	return rule == UW_RULE_STOP ? &stop : NULL;
}

static void heap_put(struct world *w, uint64_t at, uint64_t val, size_t width)
{
	memcpy(w->heap + at, &val, width);
}

struct spec {
	uint64_t name; /* of a blob, 0: an nmethod */
	uint32_t id, level;
	int32_t frame;	  /* bytes, -8: none known */
	int32_t complete; /* where the frame is set up, from the code */
	const uint8_t *code;
	size_t len;
	size_t bytes; /* of code; 0: len */
};

/* The address of its code. */
static uint64_t blob(struct world *w, const struct spec *p)
{
	uint64_t b = w->next, len = CODE + (p->bytes ? p->bytes : p->len);
	uint64_t segments = (len + SEGMENT - 1) / SEGMENT;

	heap_put(w, b, segments, 8);
	heap_put(w, b + H_USED, 1, 1);
	heap_put(w, b + H_SIZE, len - H_BLOB, 4);
	heap_put(w, b + H_HEADER, p->name ? 100 : NMETHOD, 4);
	heap_put(w, b + H_NAME, p->name, 8);
	heap_put(w, b + H_COMPLETE, (uint32_t)p->complete, 4);
	heap_put(w, b + H_FRAME, (uint32_t)(p->frame / 8), 4);
	heap_put(w, b + H_CODE, HEAP + b + CODE, 8);
	heap_put(w, b + H_ID, p->id, 4);
	heap_put(w, b + H_LEVEL, p->level, 1);
	memset(w->heap + b + CODE, 0x90, p->bytes);
	memcpy(w->heap + b + CODE, p->code, p->len);
	for (uint64_t i = 0; i < segments; i++)
		w->segmap[b / SEGMENT + i] = (uint8_t)i;
	w->next += segments * SEGMENT;
	return HEAP + b + CODE;
}

static uint64_t method(struct world *w, uint32_t id, const uint8_t *code, size_t len, int32_t frame,
		       int32_t complete)
{
	return blob(w, &(struct spec){.id = id,
				      .level = 4,
				      .frame = frame,
				      .complete = complete,
				      .code = code,
				      .len = len});
}

/* The call stub: a frame pointer; below it the thread's start. */
static uint64_t bottom(struct world *w)
{
	static const uint8_t code[] = {0x55, 0x48, 0x8b, 0xec, 0x90, 0x90, 0x90, 0x90};

	return blob(w,
		    &(struct spec){
			    .name = NAME_OTHER, .frame = 0, .code = code, .len = sizeof(code)}) +
	       6;
}

static void word(struct world *w, uint64_t addr, uint64_t val)
{
	memcpy(w->stack + (addr - STACK), &val, 8);
}

/* Return into the call stub at `slot`, whose own frame is above: a thread's start has called it. */
static void caller_is_bottom(struct world *w, uint64_t slot, uint64_t fp)
{
	word(w, slot, bottom(w));
	word(w, fp, 0);
	word(w, fp + 8, NATIVE + 0x10);
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct gn_jvm *j = &w->jvm;

	memset(w->segmap, 0xff, sizeof(w->segmap));
	*j = (struct gn_jvm){
		.flags = GN_JVM_ABSOLUTE | GN_JVM_DEOPT,
		.nheaps = 1,
		.low = HEAP,
		.high = HEAP + HEAP_BYTES,
		.heap[0] = {.low = HEAP,
			    .high = HEAP + HEAP_BYTES,
			    .segmap = SEGMAP,
			    .log2_segment = 7},
		.name_vtable = NAME_VTABLE,
		.name_adapter = NAME_ADAPTER,
		.blob = H_BLOB,
		.used = H_USED,
		.name = H_NAME,
		.size = H_SIZE,
		.header = H_HEADER,
		.frame = H_FRAME,
		.complete = H_COMPLETE,
		.code = H_CODE,
		.id = H_ID,
		.level = H_LEVEL,
		.orig_pc = H_ORIG,
		.deopt = H_DEOPT,
		.nmethod_header = NMETHOD,
	};
	uwwalk_proc(&w->proc, HEAP,
		    (struct uw_mapping){.end = HEAP + HEAP_BYTES, .kind = UW_MAP_HOTSPOT});
	w->proc.n = 2;
	w->proc.start[1] = NATIVE;
	w->proc.map[1] = (struct uw_mapping){
		.end = NATIVE + 0x1000, .bias = NATIVE, .arg = 1, .kind = UW_MAP_FILE};
	w->env = (struct uw_env){w, world_read, &w->proc, start_page, start_rule, j};
	uw_begin(&w->s, 1, 64);
	w->s.leaf = 1;
	w->next = 0x1000;
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

static void walk_once(struct world *w, uint64_t pc, uint64_t sp, uint64_t fp)
{
	w->s.pc = pc;
	w->s.sp = sp;
	w->s.fp = fp;
	uw_walk(&w->s, &w->env);
}

/* Twice, and with memos: what it has learnt must not change what it finds. */
static void walk(struct world *w, uint64_t pc, uint64_t sp, uint64_t fp)
{
	static struct uw_state begun, found;
	uint32_t looked, headers;

	begun = w->s;
	walk_once(w, pc, sp, fp);
	found = w->s;
	uwwalk_rewind(&w->s, &begun);
	walk_once(w, pc, sp, fp);
	assert_true(uwwalk_equal(&w->s, &found));
	found = w->s;
	looked = w->looked;
	headers = w->headers;
	begun.pc = pc;
	begun.sp = sp;
	begun.fp = fp;
	uwwalk_memo(&w->s, &begun, 0x10001, &w->env);
	w->s = found;
	w->looked = looked;
	w->headers = headers;
}

/* By what was learnt before. */
static void walk_again(struct world *w, uint64_t pc, uint64_t sp, uint64_t fp)
{
	uw_begin(&w->s, w->s.tgid, 64);
	w->s.leaf = 1;
	walk(w, pc, sp, fp);
}

/* The whole stack: nmethods `ids`, the call stub, its caller. */
static void assert_stack(const struct world *w, const uint32_t *ids, uint32_t n)
{
	assert_int_equal(w->s.end, GN_END_COMPLETE);
	assert_int_equal(w->s.n, n + 2);
	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(gn_frame_kind(&w->s.frames[i]), GN_FRAME_NMETHOD);
		assert_int_equal(w->s.frames[i].data >> 32, ids[i]);
		assert_int_equal(gn_frame_flags(&w->s.frames[i]) & GN_FF_GUESSED, 0);
	}
	assert_int_equal(gn_frame_kind(&w->s.frames[n]), GN_FRAME_STUB);
	assert_int_equal(gn_frame_kind(&w->s.frames[n + 1]), GN_FRAME_USER);
}

#define SP (STACK + 0x1000)
#define FP (STACK + 0x2000) /* of the call stub */

/* ---- compiled code ---- */

/* mov [rsp-x],eax; push rbp; sub rsp,0x30; ... add rsp,0x30; pop rbp; cmp; ja; ret */
static const uint8_t plain[] = {0x89, 0x84, 0x24, 0x00, 0xc0, 0xfe, 0xff, 0x55, 0x48, 0x83, 0xec,
				0x30, 0x90, 0x90, 0x90, 0x90, 0x48, 0x83, 0xc4, 0x30, 0x5d, 0x49,
				0x3b, 0x67, 0x28, 0x0f, 0x87, 0x00, 0x00, 0x00, 0x00, 0xc3};
#define PLAIN_FRAME 0x40 /* 0x30, fp, return address */

/* Where the return address is, from sp, with the leaf at each instruction. */
static void test_every_instruction(void **state)
{
	static const struct {
		uint8_t pc, slot;
		bool saved; /* fp, below it */
	} at[] = {{0, 0, false}, {7, 0, false},	 {8, 8, true},	 {12, 0x38, true}, {16, 0x38, true},
		  {20, 8, true}, {21, 0, false}, {25, 0, false}, {31, 0, false}};

	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		struct world *w = *state;
		uint64_t code = method(w, 7, plain, sizeof(plain), PLAIN_FRAME, 12);

		caller_is_bottom(w, SP + at[i].slot, FP);
		if (at[i].saved)
			word(w, SP + at[i].slot - 8, FP);
		walk(w, code + at[i].pc, SP, at[i].saved ? 1 : FP);
		assert_stack(w, (uint32_t[]){7}, 1);
		teardown(state);
		setup(state);
	}
}

/* A map's element may be another JVM's at any time: before a walk it is seen, after it, too. */
static void test_another_jvm(void **state)
{
	struct world *w = *state;
	uint64_t code = method(w, 7, plain, sizeof(plain), PLAIN_FRAME, 12);

	caller_is_bottom(w, SP, FP);
	w->jvm.tgid = 1;
	walk_once(w, code, SP, FP);
	assert_stack(w, (uint32_t[]){7}, 1);
	w->tgid_2 = 2;
	uw_begin(&w->s, 1, 64);
	w->s.leaf = 1;
	walk_once(w, code, SP, FP);
	assert_int_equal(w->s.end, GN_END_NORULE);
	w->tgid_2 = 0;
	assert_null(uw_get_jvm(&w->env, 1));
}

/* add rsp,0x40; pop rbp; cmp rsp,[r15+x] (of the reserved zone); jb; ...: the return address is on
 * top. */
static void test_reserved_zone(void **state)
{
	static const uint8_t code[] = {0x55, 0x48, 0x83, 0xec, 0x30, 0x90, 0x48, 0x83, 0xc4,
				       0x30, 0x5d, 0x49, 0x3b, 0xa7, 0xb8, 5,	 0,    0,
				       0x0f, 0x82, 0x3d, 0,    0,    0,	   0x49, 0x8b, 0xff};
	struct world *w = *state;
	uint64_t a = method(w, 7, code, sizeof(code), PLAIN_FRAME, 5);
	uint64_t stale = method(w, 9, plain, sizeof(plain), PLAIN_FRAME, 12) + 14;

	word(w, SP + PLAIN_FRAME - 8, stale);
	caller_is_bottom(w, SP, FP);
	walk(w, a + 18, SP, FP);
	assert_stack(w, (uint32_t[]){7}, 1);
}

/* A native method's wrapper in JDK 25, from `leave` on, with the slow path of its poll. */
static void test_native_epilogue(void **state)
{
	static const uint8_t code[] = {0x55, 0x48, 0x83, 0xec, 0x30, 0x90, 0xc9, 0x41, 0xf6, 0x47,
				       0x28, 1,	   0x74, 0x16, 0x49, 0xba, 1,	 2,    3,    4,
				       5,    6,	   7,	 8,    0x4d, 0x89, 0x97, 0x38, 5,    0,
				       0,    0xe9, 1,	 2,    3,    4,	   0x49, 0x83, 0x7f, 8,
				       0,    0x0f, 0x85, 1,    0,    0,	   0,	 0xc3};
	const uint8_t at[] = {7, 12, 14, 24, 31, 36, 41, 47};

	for (size_t i = 0; i < sizeof(at); i++) {
		struct world *w = *state;
		uint64_t a = blob(w, &(struct spec){.id = 7,
						    .frame = PLAIN_FRAME,
						    .complete = 5,
						    .code = code,
						    .len = sizeof(code)});
		uint64_t stale = method(w, 9, plain, sizeof(plain), PLAIN_FRAME, 12) + 14;

		word(w, SP + PLAIN_FRAME - 8, stale);
		caller_is_bottom(w, SP, FP);
		walk(w, a + at[i], SP, FP);
		assert_stack(w, (uint32_t[]){7}, 1);
		teardown(state);
		setup(state);
	}
}

/* A native wrapper notes where it calls from: no poll's slow path, though it looks like one. */
static void test_native_last_pc(void **state)
{
	static const uint8_t code[] = {
		0x55, 0x48, 0x8b, 0xec, 0x48, 0x83, 0xec, 0x40, 0xc5, 0xf8, 0x77, /* vzeroupper */
		0x49, 0xba, 1,	  2,	3,    4,    5,	  6,	0,    0,	  /* mov r10,pc */
		0x4d, 0x89, 0x97, 0x98, 2,    0,    0, /* mov [r15+0x298],r10 */
		0x49, 0x89, 0xa7, 0x90, 2,    0,    0, /* mov [r15+0x290],rsp */
		0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90};
	static const uint32_t at[] = {8, 11, 21, 28, 35};

	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		struct world *w = *state;
		uint64_t a = method(w, 7, plain, sizeof(plain), PLAIN_FRAME, 12);
		uint64_t pc = blob(w, &(struct spec){.id = 8,
						     .frame = 0x50,
						     .complete = 8,
						     .code = code,
						     .len = sizeof(code)});

		word(w, SP, a + 14); /* of an older call */
		word(w, SP + 0x40, SP + 0x100);
		word(w, SP + 0x48, a + 14);
		word(w, SP + 0x50 + 0x30, FP);
		caller_is_bottom(w, SP + 0x50 + 0x38, FP);
		walk(w, pc + at[i], SP, SP + 0x40);
		assert_stack(w, (const uint32_t[]){8, 7}, 2);
		teardown(state);
		setup(state);
	}
}

/* Behind the code a call's stub for interpreted callees, `mov rbx,method; jmp`: its frame is not
 * the method's. */
static void test_call_stub(void **state)
{
	static const uint8_t code[] = {0x55, 0x48, 0x83, 0xec, 0x30, 0x90, 0xe8, 0, 0, 0,
				       0,    0x90, 0xf4, 0x48, 0xbb, 1,	   2,	 3, 4, 5,
				       6,    7,	   8,	 0xe9, 0,    0,	   0,	 0};
	const uint8_t at[] = {13, 23};

	for (size_t i = 0; i < sizeof(at); i++) {
		struct world *w = *state;
		uint64_t a = method(w, 7, code, sizeof(code), PLAIN_FRAME, 5);

		w->jvm.flags |= GN_JVM_SPILLS | GN_JVM_SPILLING; /* of ZGC: exact there, too */
		word(w, SP, a + 11);
		word(w, SP + 8 + 0x30, FP);
		caller_is_bottom(w, SP + 8 + 0x38, FP);
		walk(w, a + at[i], SP, FP);
		assert_int_equal(w->s.end, GN_END_COMPLETE);
		assert_int_equal(w->s.n, 4);
		assert_int_equal(gn_frame_kind(&w->s.frames[0]), GN_FRAME_STUB);
		assert_int_equal(w->s.frames[1].data >> 32, 7);
		assert_int_equal(gn_frame_flags(&w->s.frames[1]), GN_FF_RETADDR);
		teardown(state);
		setup(state);
	}
}

/* C2's stub for exceptions without a handler: add rsp,0x30; pop rbp; pop rdx; jmp rax. */
static void test_popped(void **state)
{
	static const uint8_t code[] = {0x55, 0x48, 0x83, 0xec, 0x30, 0x90, 0x90, 0x90,
				       0x48, 0x83, 0xc4, 0x30, 0x5d, 0x5a, 0xff, 0xe0};
	struct world *w = *state;
	uint64_t pc = method(w, 7, code, sizeof(code), PLAIN_FRAME, 5);

	caller_is_bottom(w, SP - 8, FP);
	walk(w, pc + 14, SP, FP);
	assert_stack(w, (uint32_t[]){7}, 1);
}

static void test_callers(void **state)
{
	struct world *w = *state;
	uint64_t a = method(w, 7, plain, sizeof(plain), PLAIN_FRAME, 12);
	uint64_t b = method(w, 8, plain, sizeof(plain), PLAIN_FRAME, 12);

	word(w, SP + 0x38, b + 14);
	word(w, SP + 0x30, 5);
	caller_is_bottom(w, SP + 0x78, FP);
	word(w, SP + 0x70, FP);
	walk(w, a + 14, SP, 1);
	assert_stack(w, (uint32_t[]){7, 8}, 2);
}

/*
 * Where no rule knows that the frame is gone, what is taken for its return address is the caller's
 * fp: no caller is left out unmarked.
 */
static void test_no_rule(void **state)
{
	static const uint8_t code[] = {0x55, 0x48, 0x83, 0xec, 0x30, 0x90, 0x90, 0x90, 0x90, 0x90};
	struct world *w = *state;
	uint64_t a = method(w, 7, code, sizeof(code), PLAIN_FRAME, 5);
	uint64_t b = method(w, 8, plain, sizeof(plain), PLAIN_FRAME, 12);
	uint64_t c = method(w, 9, plain, sizeof(plain), PLAIN_FRAME, 12);

	word(w, SP, b + 14);
	word(w, SP + 8 + 0x30, SP + 0x100);
	word(w, SP + 8 + 0x38, c + 14);
	word(w, SP + 0x48 + 0x30, FP);
	caller_is_bottom(w, SP + 0x48 + 0x38, FP);
	walk(w, a + 8, SP, 1);
	assert_int_equal(w->s.frames[1].data >> 32, 8);
	assert_int_not_equal(gn_frame_flags(&w->s.frames[1]) & GN_FF_GUESSED, 0);
}

/* ---- where sp moves within a frame ---- */

/* At pc, the frame of 0x30 bytes that begins at `frame` is the only one. Then all anew. */
static void one_frame(void **state, uint64_t pc, uint64_t frame)
{
	struct world *w = *state;

	word(w, frame + 0x30, FP);
	caller_is_bottom(w, frame + 0x38, FP);
	walk(w, pc, SP, 1);
	assert_stack(w, (uint32_t[]){7}, 1);
	teardown(state);
	setup(state);
}

/* mov eax,ecx; sub ecx,edx; push rcx; cmovle edx,eax; ...; pop rax: String.compareTo(). */
static const uint8_t compare[] = {0x55, 0x48, 0x83, 0xec, 0x30, 0x90, 0x8b, 0xc1, 0x2b,
				  0xca, 0x51, 0x0f, 0x4e, 0xd0, 0x90, 0x90, 0x58, 0x90};

static void test_length_pushed(void **state)
{
	static const uint8_t at[] = {11, 14, 16};

	for (size_t i = 0; i < sizeof(at); i++) {
		struct world *w = *state;
		uint64_t a = method(w, 7, compare, sizeof(compare), PLAIN_FRAME, 5);

		word(w, SP, (uint32_t)-3); /* the difference, and what is no address */
		one_frame(state, a + at[i], SP + 8);
	}
}

/*
 * String.indexOf(): on top is sp as it was, below copies of 16 bytes each and, if what is looked
 * for is no short constant, its length and two addresses.
 */
static void test_sp_pushed(void **state)
{
	static const uint8_t at[] = {8, 24, 32, 48, 64};

	for (size_t i = 0; i < sizeof(at); i++) {
		struct world *w = *state;
		uint64_t a = method(w, 7, plain, sizeof(plain), PLAIN_FRAME, 12);
		uint64_t old = SP + at[i];

		word(w, SP, old);
		one_frame(state, a + 14, old);
	}
}

/*
 * The same where a deeper frame has left a return address in the place of this one's: code that
 * searches strings is told by its pcmpestri, of SSE or AVX.
 */
static void test_sp_pushed_over(void **state)
{
	static const uint8_t sse[] = {0x55, 0x48, 0x83, 0xec, 0x30, 0x90, 0x90, 0x90, 0x66,
				      0x0f, 0x3a, 0x61, 0x03, 0x0d, 0x72, 0x20, 0x90};
	static const uint8_t avx[] = {0x55, 0x48, 0x83, 0xec, 0x30, 0x90, 0x90, 0x90, 0xc4,
				      0x63, 0x79, 0x61, 0x03, 0x0d, 0x72, 0x20, 0x90};
	static const uint8_t at[] = {32, 48, 64};

	for (size_t i = 0; i < 2 * sizeof(at); i++) {
		struct world *w = *state;
		uint64_t a = method(w, 7, i & 1 ? sse : avx, sizeof(sse), PLAIN_FRAME, 5);
		uint64_t b = method(w, 9, plain, sizeof(plain), PLAIN_FRAME, 12);
		uint64_t old = SP + at[i / 2];

		word(w, SP, old);
		word(w, SP + 8, META + 16);
		word(w, SP + 16, META + 64);
		word(w, SP + 24, 5);
		word(w, SP + 0x38, b + 14);
		one_frame(state, a + 14, old);
	}
}

/* An address on top that lies in the frame, as that of a lock may: sp has not moved, though where
 * the return address would be there is an older caller's. */
static void test_sp_spilled(void **state)
{
	static const uint8_t at[] = {8, 24, 32, 48, 64};

	for (size_t i = 0; i < sizeof(at); i++) {
		struct world *w = *state;
		uint64_t a = method(w, 7, plain, sizeof(plain), PLAIN_FRAME, 12);
		uint64_t b = method(w, 9, plain, sizeof(plain), PLAIN_FRAME, 12);

		word(w, SP, SP + at[i]);
		word(w, SP + 24, 5);
		word(w, SP + at[i] + 0x38, b + 14);
		one_frame(state, a + 14, SP);
	}
}

/* C1's: push rsi; push r8; call; pop rsi; pop r8, around the stub below. */
static const uint8_t c1_check[] = {0x55, 0x48, 0x83, 0xec, 0x30, 0x90, 0x90, 0x90,
				   0x56, 0x41, 0x50, 0xe8, 0,	 0,    0,    0,
				   0x5e, 0x41, 0x58, 0x90, 0x90, 0x90};
#define C1_RETURNS 16

static void test_classes_pushed(void **state)
{
	static const struct {
		uint8_t pc, words;
	} at[] = {{8, 0}, {9, 1}, {11, 2}, {16, 2}, {17, 1}, {19, 0}};

	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		struct world *w = *state;
		uint64_t a = method(w, 7, c1_check, sizeof(c1_check), PLAIN_FRAME, 5);

		word(w, SP, META + 0x100);
		word(w, SP + 8, META + 0x200);
		one_frame(state, a + at[i].pc, SP + at[i].words * 8);
	}
}

/* push rdi, rsi, rcx, rax; [sub rsp,0x20; ... lea rsp,[rsp+0x20];] ...; pop them; ret. */
static const uint8_t subtype[] = {0x57, 0x56, 0x51, 0x50, 0x90, 0x48, 0x83, 0xec, 0x20, 0x90, 0x48,
				  0x8d, 0x64, 0x24, 0x20, 0x90, 0x58, 0x59, 0x5e, 0x5f, 0xc3};

static void test_subtype_stub(void **state)
{
	static const struct {
		uint8_t pc, words;
	} at[] = {{0, 0},  {1, 1},  {2, 2},  {3, 3},  {4, 4},  {5, 4},	{9, 8},
		  {10, 8}, {15, 4}, {16, 4}, {17, 3}, {18, 2}, {19, 1}, {20, 0}};

	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		struct world *w = *state;
		uint64_t a = method(w, 7, c1_check, sizeof(c1_check), PLAIN_FRAME, 5);
		uint64_t sp = SP + at[i].words * 8, stub;
		int32_t rel;

		stub = blob(w, &(struct spec){.name = NAME_OTHER,
					      .frame = -8,
					      .code = subtype,
					      .len = sizeof(subtype)});
		rel = (int32_t)(stub - (a + C1_RETURNS));
		memcpy(w->heap + (a + C1_RETURNS - 4 - HEAP), &rel, sizeof(rel));
		word(w, SP + 64, a + C1_RETURNS); /* of an older call */
		word(w, sp, a + C1_RETURNS);
		word(w, sp + 24 + 0x30, FP);
		caller_is_bottom(w, sp + 24 + 0x38, FP);
		walk(w, stub + at[i].pc, SP, 1);
		assert_int_equal(w->s.end, GN_END_COMPLETE);
		assert_int_equal(w->s.n, 4);
		assert_int_equal(gn_frame_kind(&w->s.frames[0]), GN_FRAME_STUB);
		assert_int_equal(w->s.frames[1].data >> 32, 7);
		assert_int_equal(gn_frame_flags(&w->s.frames[1]), GN_FF_RETADDR);
		teardown(state);
		setup(state);
	}
}

/*
 * push rbx; push rbp; mov rbp,rsp; pushf; ... pop rbp; ret: entered from the signal handler of a
 * poll, with nothing on the stack but the method's frame. What was found at the poll is noted.
 */
static void test_safepoint_stub(void **state)
{
	static const uint8_t code[] = {0x53, 0x55, 0x48, 0x8b, 0xec, 0x9c, 0x90, 0x9d, 0x5d, 0xc3};
	static const struct {
		uint8_t pc;
		int slot, fp; /* from sp in words; fp -1: not saved */
		bool full;    /* the return address is there */
	} at[] = {{0, -1, -1, false}, {1, 0, -1, false}, {2, 1, 0, false}, {5, 1, 0, false},
		  {6, 2, 1, false},   {7, 2, 1, true},	 {8, 1, 0, true},  {9, 0, -1, true}};

	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		struct world *w = *state;
		uint64_t a = method(w, 7, plain, sizeof(plain), PLAIN_FRAME, 12), poll = a + 14;
		uint64_t stale = method(w, 9, plain, sizeof(plain), PLAIN_FRAME, 12) + 14;
		uint64_t slot = SP + at[i].slot * 8, fp = 1;
		uint64_t pc = blob(w, &(struct spec){.name = NAME_OTHER,
						     .frame = 0x200,
						     .code = code,
						     .len = sizeof(code)});

		w->jvm.saved_pc = 0x20;
		w->s.reg[UW_R15] = META + 0x100;
		memcpy(w->meta + 0x120, &poll, 8);
		word(w, SP + 0x1f8, stale); /* where the frame's size would have it */
		word(w, slot, at[i].full ? poll : 0x1234);
		if (at[i].fp >= 0) {
			word(w, SP + at[i].fp * 8, fp);
			fp = SP + at[i].fp * 8;
		}
		word(w, slot + 8 + 0x30, FP);
		caller_is_bottom(w, slot + 8 + 0x38, FP);
		walk(w, pc + at[i].pc, SP, fp);
		assert_int_equal(w->s.end, GN_END_COMPLETE);
		assert_int_equal(w->s.n, 4);
		assert_int_equal(gn_frame_addr(&w->s.frames[1]), poll);
		assert_int_equal(gn_frame_flags(&w->s.frames[1]), GN_FF_RETADDR);
		teardown(state);
		setup(state);
	}
}

/*
 * JNI's GetIntField(): mov r11d,[counter]; mov r9,rsi; ... ret. Native code may have its address in
 * a register; and fp, kept by it, leads to its caller.
 */
static void test_fast_get(void **state)
{
	static const uint8_t code[] = {0x44, 0x8b, 0x1d, 1, 2, 3, 4, 0x4c, 0x8b, 0xce, 0x90, 0xc3};
	static const uint8_t call[] = {0x41, 0xff, 0xd7};
	struct world *w = *state;
	uint64_t pc =
		blob(w, &(struct spec){.name = NAME_OTHER, .code = code, .len = sizeof(code)});

	memcpy(w->meta + 0x100 - sizeof(call), call, sizeof(call));
	memcpy(w->meta + 0x200 - sizeof(call), call, sizeof(call));
	word(w, SP, META + 0x100);
	word(w, SP + 0x40, 0);
	word(w, SP + 0x48, META + 0x200);
	walk(w, pc + 7, SP, SP + 0x40);
	assert_int_equal(gn_frame_addr(&w->s.frames[1]), META + 0x100);
	assert_int_equal(gn_frame_flags(&w->s.frames[1]), GN_FF_RETADDR);
}

/* A return address into a freed block: no rule but the words on top. */
static void test_free_block(void **state)
{
	struct world *w = *state;
	uint64_t a = method(w, 7, plain, sizeof(plain), PLAIN_FRAME, 12);

	w->heap[a - HEAP - CODE + H_USED] = 0;
	walk(w, a + 14, SP, 1);
	assert_int_equal(w->s.end, GN_END_NORULE);
	assert_int_not_equal(gn_frame_flags(&w->s.frames[0]) & GN_FF_GUESSED, 0);
}

static void test_deoptimised(void **state)
{
	struct world *w = *state;
	uint64_t a = method(w, 7, plain, sizeof(plain), PLAIN_FRAME, 12);
	uint64_t b = method(w, 8, plain, sizeof(plain), PLAIN_FRAME, 12), block = b - HEAP - CODE;

	/* the handler is code of the method, too; what it stands for is in the frame, at 0x10 */
	heap_put(w, block + H_DEOPT, b + 20, 8);
	heap_put(w, block + H_ORIG, 0x10, 4);
	word(w, SP + 0x38, b + 20);
	word(w, SP + 0x40 + 0x10, b + 13);
	caller_is_bottom(w, SP + 0x78, FP);
	word(w, SP + 0x70, FP);
	walk(w, a + 14, SP, 1);
	assert_stack(w, (uint32_t[]){7, 8}, 2);
	assert_int_equal(gn_frame_addr(&w->s.frames[1]), b + 13);
}

/* ---- barriers ---- */

/* C2's of ZGC, JDK 17 and 25: `sub rsp,0x30; spills; call; mov r10,rax; reloads; add; jmp`. */
static const uint8_t c2_barrier[] = {
	0x90, 0xc3, /* the end of the method */
	0x48, 0x83, 0xec, 0x30, 0xc5, 0xf9, 0xd6, 0x44, 0x24, 0x28, 0x4c, 0x89, 0x5c, 0x24, 0x20,
	0x48, 0x89, 0x04, 0x24, 0x48, 0x8d, 0x77, 0x10, 0x49, 0x8b, 0xfa, 0xe8, 0xf0, 0x80, 0x09,
	0x15, /* 33: the call returns to here */
	0x4c, 0x8b, 0xd0, 0x48, 0x8b, 0x04, 0x24, 0x4c, 0x8b, 0x5c, 0x24, 0x20, 0xc5, 0xf8, 0x77,
	0xc5, 0xfa, 0x7e, 0x44, 0x24, 0x28, /* 54: */ 0x48, 0x83, 0xc4, 0x30, 0xe9, 0x17, 0xfd,
	0xff, 0xff,
	/* 63: another one */
	0x48, 0x83, 0xec, 0x30, 0xe8, 0, 0, 0, 0, 0x48, 0x83, 0xc4, 0x30, 0xe9, 0, 0, 0, 0};

/* C1's: `push rax; sub rsp,0x10; mov [rsp+8],rsi; mov [rsp],rdi; call; add; mov rdi,rax; pop rax;
 * jmp` */
static const uint8_t c1_barrier[] = {0x90, 0xc3, 0x50, 0x48,	       0x83, 0xec, 0x10, 0x48, 0x89,
				     0x74, 0x24, 0x08, 0x48,	       0x89, 0x3c, 0x24, 0xe8, 0xb8,
				     0xa1, 0x62, 0x07, /* 21: */ 0x48, 0x83, 0xc4, 0x10, 0x48, 0x8b,
				     0xf8, 0x58, 0xe9, 0xac,	       0xfe, 0xff, 0xff};

/* The way from `at` in a method of such code, with sp `lower` bytes below its frame. */
static void barrier(void **state, const uint8_t *code, size_t len, uint32_t at, uint32_t lower)
{
	struct world *w = *state;
	struct spec spec = {.id = 9,
			    .level = 4,
			    .frame = PLAIN_FRAME,
			    .complete = 4,
			    .code = code,
			    .len = len,
			    .bytes = 1024};
	uint64_t pc, stale = method(w, 666, plain, sizeof(plain), PLAIN_FRAME, 12) + 14;
	uint8_t room[1024];

	w->jvm.flags |= GN_JVM_SPILLS | GN_JVM_SPILLING;
	/* in the middle of a method */
	memset(room, 0x90, sizeof(room));
	memcpy(room + 512, code, len);
	spec.code = room;
	spec.len = sizeof(room);
	pc = blob(w, &spec) + 512 + at;
	/* return addresses of calls that are over lie everywhere */
	for (uint32_t off = 0; off < 0x200; off += 8)
		word(w, SP + off, stale);
	caller_is_bottom(w, SP + lower + PLAIN_FRAME - 8, FP);
	word(w, SP + lower + PLAIN_FRAME - 16, FP);
	walk(w, pc, SP, 1);
	assert_stack(w, (uint32_t[]){9}, 1);
}

/* As a leaf. As a caller it is the same code, only reached otherwise: next test. */
static void test_barrier_leaf(void **state)
{
	static const struct {
		uint8_t at, lower;
	} c2[] = {{2, 0},     {6, 0x30},  {16, 0x30}, {33, 0x30},
		  {40, 0x30}, {54, 0x30}, {58, 0},    {63, 0}};
	static const struct {
		uint8_t at, lower;
	} c1[] = {{2, 0}, {7, 0x18}, {21, 0x18}, {25, 8}, {28, 8}, {29, 0}, {3, 8}};

	for (size_t i = 0; i < sizeof(c2) / sizeof(c2[0]); i++) {
		barrier(state, c2_barrier, sizeof(c2_barrier), c2[i].at, c2[i].lower);
		teardown(state);
		setup(state);
	}
	for (size_t i = 0; i < sizeof(c1) / sizeof(c1[0]); i++) {
		barrier(state, c1_barrier, sizeof(c1_barrier), c1[i].at, c1[i].lower);
		teardown(state);
		setup(state);
	}
}

/* The runtime's stub calls, from C1's slow path: by a frame pointer. */
static void test_barrier_caller(void **state)
{
	static const uint8_t stub[] = {0x55, 0x48, 0x8b, 0xec, 0x90, 0x90, 0x90, 0x90};
	struct world *w = *state;
	uint64_t stale = method(w, 666, plain, sizeof(plain), PLAIN_FRAME, 12) + 14, code, pc;
	uint8_t room[1024];

	w->jvm.flags |= GN_JVM_SPILLS;
	memset(room, 0x90, sizeof(room));
	memcpy(room + 512, c1_barrier, sizeof(c1_barrier));
	code = method(w, 9, room, sizeof(room), PLAIN_FRAME, 4);
	pc = blob(w, &(struct spec){.name = NAME_OTHER, .code = stub, .len = sizeof(stub)}) + 5;
	for (uint32_t off = 0; off < 0x200; off += 8)
		word(w, SP + off, stale);
	word(w, SP, 0x1234);
	word(w, SP + 8, code + 512 + 21);
	caller_is_bottom(w, SP + 16 + 0x18 + PLAIN_FRAME - 8, FP);
	word(w, SP + 16 + 0x18 + PLAIN_FRAME - 16, FP);
	walk(w, pc, SP, SP);
	assert_int_equal(w->s.end, GN_END_COMPLETE);
	assert_int_equal(w->s.n, 4);
	assert_int_equal(w->s.frames[1].data >> 32, 9);
}

/* A method handle's linker is an nmethod without a frame. */
static void test_linker(void **state)
{
	struct world *w = *state;
	uint64_t a = method(w, 7, plain, sizeof(plain), PLAIN_FRAME, 12);
	uint64_t linker = method(w, 8, plain, sizeof(plain), 0, 0);

	word(w, SP, a + 14);
	word(w, SP + 8 + PLAIN_FRAME - 16, FP);
	caller_is_bottom(w, SP + 8 + PLAIN_FRAME - 8, FP);
	walk(w, linker + 4, SP, 1);
	assert_stack(w, (uint32_t[]){8, 7}, 2);
}

/* Where a call returns to one it was in a barrier's slow path: what that pushed is not known. */
static void test_linker_caller(void **state)
{
	static const uint8_t stub[] = {0x55, 0x48, 0x8b, 0xec, 0x90, 0x90, 0x90, 0x90};
	struct world *w = *state;
	uint64_t a = method(w, 7, plain, sizeof(plain), PLAIN_FRAME, 12);
	uint64_t linker = method(w, 8, plain, sizeof(plain), 0, 0), pc;

	pc = blob(w, &(struct spec){.name = NAME_OTHER, .code = stub, .len = sizeof(stub)}) + 5;
	word(w, SP, 0x1234);
	word(w, SP + 8, linker + 4);
	word(w, SP + 16, a + 14);
	word(w, SP + 24 + PLAIN_FRAME - 16, FP);
	caller_is_bottom(w, SP + 24 + PLAIN_FRAME - 8, FP);
	walk(w, pc, SP, SP);
	assert_int_equal(w->s.end, GN_END_COMPLETE);
	assert_int_equal(w->s.n, 5);
	assert_int_equal(w->s.frames[1].data >> 32, 8);
	assert_int_equal(w->s.frames[2].data >> 32, 7);
	assert_true(gn_frame_flags(&w->s.frames[2]) & GN_FF_GUESSED);
}

/* A call in the method itself just before such a slow path is none of it. */
static void test_no_barrier(void **state)
{
	barrier(state, c2_barrier, sizeof(c2_barrier), 0, 0);
}

/* ---- other blobs ---- */

static void between(void **state, uint64_t name)
{
	static const uint8_t code[] = {0x4c, 0x8b, 0x56, 0x08, 0x90, 0x90};
	struct world *w = *state;
	uint64_t a = method(w, 7, plain, sizeof(plain), PLAIN_FRAME, 12);
	uint64_t pc = blob(w, &(struct spec){.name = name, .code = code, .len = sizeof(code)});

	word(w, SP, a + 14);
	word(w, SP + 8 + 0x30, FP);
	caller_is_bottom(w, SP + 8 + 0x38, FP);
	walk(w, pc + 4, SP, 1);
	assert_int_equal(w->s.end, GN_END_COMPLETE);
	assert_int_equal(w->s.n, 4);
	assert_int_equal(w->s.frames[1].data >> 32, 7);
}

static void test_vtable(void **state)
{
	between(state, NAME_VTABLE);
}

static void test_adapter(void **state)
{
	between(state, NAME_ADAPTER);
}

/* It has taken the return address to rax. */
static void test_adapter_popped(void **state)
{
	static const uint8_t code[] = {0x58, 0x90, 0x90};
	struct world *w = *state;
	uint64_t a = method(w, 7, plain, sizeof(plain), PLAIN_FRAME, 12);
	uint64_t pc = blob(w, &(struct spec){.name = NAME_ADAPTER, .code = code, .len = 3});

	w->s.reg[UW_RAX] = a + 14;
	word(w, SP, 0x77);
	word(w, SP + 8 + 0x30, FP);
	caller_is_bottom(w, SP + 8 + 0x38, FP);
	walk(w, pc + 1, SP, 1);
	assert_int_equal(w->s.end, GN_END_COMPLETE);
	assert_int_equal(w->s.frames[1].data >> 32, 7);
}

/* `pop rax; mov r13,rsp; sub rsp,0x20; mov [rsp],rax; mov [rsp+8],rdx`: the caller's sp is in r13.
 */
static void test_adapter_room(void **state)
{
	static const uint8_t code[] = {0x58, 0x4c, 0x8b, 0xec, 0x48, 0x83, 0xec, 0x20, 0x48,
				       0x89, 0x04, 0x24, 0x48, 0x89, 0x54, 0x24, 0x08, 0x90};
	static const struct {
		uint8_t pc, room;
		bool r13, stored;
	} at[] = {{1, 0, false, false},
		  {4, 0, true, false},
		  {8, 0x20, true, false},
		  {12, 0x20, true, true}};

	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		struct world *w = *state;
		uint64_t a = method(w, 7, plain, sizeof(plain), PLAIN_FRAME, 12),
			 up = SP + at[i].room;
		uint64_t pc = blob(
			w, &(struct spec){.name = NAME_ADAPTER, .code = code, .len = sizeof(code)});

		w->s.reg[UW_RAX] = a + 14;
		w->s.reg[UW_R13] = at[i].r13 ? up : SP + 0x50;
		word(w, SP, at[i].stored ? a + 14 : 0x77);
		word(w, up + 0x30, FP);
		caller_is_bottom(w, up + 0x38, FP);
		walk(w, pc + at[i].pc, SP, 1);
		assert_int_equal(w->s.end, GN_END_COMPLETE);
		assert_int_equal(w->s.n, 4);
		assert_int_equal(w->s.frames[1].data >> 32, 7);
		teardown(state);
		setup(state);
	}
}

/*
 * C2's ExceptionBlob: push rdx; sub rsp,0x10; mov [rsp+8],rbp; ... add rsp,0x10; pop rdx; jmp. It
 * is jumped to with the pc of the exception in rdx, from a method whose frame stays.
 */
static void test_exception_blob(void **state)
{
	/* clang-format off */
	static const uint8_t code[] = {
		0x52, 0x48, 0x83, 0xec, 0x10, 0x48, 0x89, 0x6c, 0x24, 0x08, 0x90, 0x90, 0x48, 0x83, 0xc4, 0x10, 0x5a,
		/* 17: mov r8,rax; reloads */
		0x4c, 0x8b, 0xc0, 0x49, 0x8b, 0x87, 0, 5, 0, 0, 0x49, 0x8b, 0x97, 8, 5, 0, 0,
		/* 34 */
		0x49, 0xc7, 0x87, 0, 5, 0, 0, 0, 0, 0, 0,
		/* 45: jmp r8 */
		0x41, 0xff, 0xe0,
	};
	/* clang-format on */
	static const struct {
		uint8_t pc, frame; /* the method's, above sp */
	} at[] = {{0, 0}, {1, 8}, {10, 0x18}, {16, 8}, {17, 0}, {34, 0}, {45, 0}};

	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		struct world *w = *state;
		uint64_t a = method(w, 7, plain, sizeof(plain), PLAIN_FRAME, 12),
			 up = SP + at[i].frame;
		uint64_t pc = blob(w, &(struct spec){.name = NAME_OTHER,
						     .frame = 0x18,
						     .complete = 10,
						     .code = code,
						     .len = sizeof(code)});

		w->s.reg[UW_RDX] = a + 14;
		word(w, SP - 8, at[i].pc ? a + 14 : a + 13); /* what another call has left there */
		if (at[i].frame)
			word(w, up - 8, a + 14);
		if (at[i].frame == 0x18)
			word(w, SP + 8, 1);
		word(w, up + 0x30, FP);
		caller_is_bottom(w, up + 0x38, FP);
		walk(w, pc + at[i].pc, SP, 1);
		assert_int_equal(w->s.end, GN_END_COMPLETE);
		assert_int_equal(w->s.n, 4);
		assert_int_equal(w->s.frames[1].data, 7ULL << 32 | (a + 14 - (a - CODE + H_BLOB)));
		assert_int_equal(gn_frame_flags(&w->s.frames[1]) & GN_FF_GUESSED, 0);
		teardown(state);
		setup(state);
	}
}

/* The stub of entry barriers has -1 above fp, or the sp of the method's caller if that is not to be
 * entered. */
static void test_entry_barrier(void **state)
{
	static const uint8_t code[] = {0x6a, 0xff, 0x55, 0x48, 0x8b, 0xec, 0x90, 0x90};
	const uint64_t above[] = {~0ULL, SP + 0x60};

	for (size_t i = 0; i < 2; i++) {
		struct world *w = *state;
		uint64_t a = method(w, 7, plain, sizeof(plain), PLAIN_FRAME, 12);
		uint64_t pc = blob(
			w, &(struct spec){.name = NAME_OTHER, .code = code, .len = sizeof(code)});

		word(w, SP + 8, FP);
		word(w, SP + 16, above[i]);
		word(w, SP + 24, a + 14);
		caller_is_bottom(w, SP + 32 + 0x38, FP);
		word(w, SP + 32 + 0x30, FP);
		walk(w, pc + 6, SP, SP + 8);
		assert_int_equal(w->s.end, GN_END_COMPLETE);
		assert_int_equal(w->s.n, 4);
		assert_int_equal(w->s.frames[1].data >> 32, 7);
		teardown(state);
		setup(state);
	}
}

/* ---- the interpreter ---- */

#define METHOD	  (META + 0x100)
#define CM	  (META + 0x200)
#define CM_SIZE	  0x30
#define INTERP	  (HEAP + 0x8000)
#define INTERP_PC (INTERP + 0x10)

static void with_interpreter(struct world *w)
{
	uint64_t cm = CM;

	w->jvm.flags |= GN_JVM_INTERP;
	w->jvm.interp_low = INTERP;
	w->jvm.interp_high = INTERP + 0x1000;
	w->jvm.method_const = 8;
	w->jvm.cm_size = CM_SIZE;
	memcpy(w->meta + (METHOD - META) + 8, &cm, 8);
}

/*
 * A compiled method with frame pointers, 7, calls an interpreted one and has been called by 8. Its
 * frame is of 0x20 bytes: its fp at `fp`, its sp 0x10 below.
 */
static uint64_t small_caller(struct world *w, uint64_t fp)
{
	static const uint8_t small[] = {0x55, 0x48, 0x8b, 0xec, 0x48, 0x83, 0xec,
					0x10, 0x90, 0x90, 0xe8, 0,    0,    0,
					0,    0x48, 0x83, 0xc4, 0x10, 0x5d, 0xc3};
	uint64_t a = method(w, 7, small, sizeof(small), 0x20, 8);
	uint64_t b = method(w, 8, plain, sizeof(plain), PLAIN_FRAME, 12);

	word(w, fp, FP);
	word(w, fp + 8, b + 14);
	word(w, fp + 16 + 0x30, FP);
	caller_is_bottom(w, fp + 16 + 0x38, FP);
	return a + 15;
}

/* The interpreter without a frame: then 7 and 8. */
static void assert_edge(const struct world *w)
{
	assert_int_equal(w->s.end, GN_END_COMPLETE);
	assert_int_equal(w->s.n, 5);
	assert_int_equal(gn_frame_kind(&w->s.frames[0]), GN_FRAME_STUB);
	for (int i = 1; i < 4; i++)
		assert_int_equal(gn_frame_flags(&w->s.frames[i]), GN_FF_RETADDR);
	assert_int_equal(w->s.frames[1].data >> 32, 7);
	assert_int_equal(w->s.frames[2].data >> 32, 8);
}

/*
 * A leaf in a stub that does not touch the stack, while fp is its caller's (7's, called by 8). Of
 * 7's call, `mov r10,address; call r10` or `call rel32`, is known that it goes to the stub; not of
 * one through a register: then the caller is marked.
 */
static void test_stub_leaf(void **state)
{
	static const uint8_t code[] = {0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90};

	for (int how = 0; how < 4; how++) {
		struct world *w = *state;
		uint64_t fp = SP + 0x18, ra = small_caller(w, fp), pc, sp = fp - 0x18;
		uint8_t *call = w->heap + (ra - HEAP);

		pc = blob(w, &(struct spec){.name = NAME_OTHER, .code = code, .len = sizeof(code)});
		if (how == 0) {
			int32_t rel = (int32_t)(pc - ra);

			memcpy(call - 4, &rel, 4);
		} else if (how == 1) {
			memcpy(call - 13, (uint8_t[]){0x49, 0xba}, 2);
			memcpy(call - 11, &pc, 8);
			memcpy(call - 3, (uint8_t[]){0x41, 0xff, 0xd2}, 3);
		} else if (how == 2) {
			memcpy(call - 5, (uint8_t[]){0x90, 0x90, 0x90, 0xff, 0xd0}, 5);
		}
		if (how == 3) { /* JNI's: native code calls it from its table */
			memcpy(w->meta + 0x80, (uint8_t[]){0xff, 0x90, 0x20, 3, 0, 0}, 6);
			word(w, sp, META + 0x86);
			walk(w, pc + 4, sp, 1);
			assert_int_equal(gn_frame_addr(&w->s.frames[1]), META + 0x86);
			assert_int_equal(gn_frame_flags(&w->s.frames[1]), GN_FF_RETADDR);
			return;
		}
		word(w, sp, ra);
		walk(w, pc + 4, sp, fp);
		assert_int_equal(w->s.end, GN_END_COMPLETE);
		if (how < 2)
			assert_edge(w);
		else
			assert_int_not_equal(gn_frame_flags(&w->s.frames[1]) & GN_FF_GUESSED, 0);
		teardown(state);
		setup(state);
	}
}

/* A method is entered: fp is its caller's, near enough to be that of a frame just begun. */
static void test_interp_entry(void **state)
{
	static const struct {
		uint32_t below;	     /* sp, from the caller's */
		bool on_top, in_rax; /* the return address */
	} at[] = {{0x20, true, true},  {0x20, true, false}, {0x18, false, true},
		  {0x28, false, true}, {0x20, true, true},  {0x60, false, true}};

	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		struct world *w = *state;
		uint64_t fp = SP + 0x200, ra = small_caller(w, fp), sp = fp - 0x10 - at[i].below;

		with_interpreter(w);
		w->s.reg[UW_RBX] = METHOD;
		w->s.reg[UW_R13] = fp - 0x10;
		w->s.reg[UW_RAX] = at[i].in_rax ? ra : 3;
		word(w, sp, at[i].on_top ? ra : 0x77);
		walk(w, INTERP_PC, sp, fp);
		assert_edge(w);
		teardown(state);
		setup(state);
	}
}

/* It is left: `leave; pop r13; mov rsp,rbx; jmp r13`. */
static void test_interp_exit(void **state)
{
	for (int step = 0; step < 3; step++) {
		struct world *w = *state;
		uint64_t fp = SP + 0x200, ra = small_caller(w, fp), sp = fp - 0x10 - 0x20;

		with_interpreter(w);
		w->s.reg[UW_RBX] = fp - 0x10;
		w->s.reg[UW_R13] = step ? ra : CM + CM_SIZE + 5;
		w->s.reg[UW_RAX] = 1;
		word(w, sp, step ? 0x77 : ra);
		walk(w, INTERP_PC, step == 2 ? fp - 0x10 : sp, fp);
		assert_edge(w);
		teardown(state);
		setup(state);
	}
}

/* Slots of a compiled frame that look like an interpreter's without a bytecode pointer. */
static void test_interp_not(void **state)
{
	struct world *w = *state;
	uint64_t fp = SP + 0x200, ra = small_caller(w, fp), sp = fp - 0x80;

	with_interpreter(w);
	word(w, fp + HS_SENDER_SP, fp - 0x40);
	word(w, fp + HS_METHOD, METHOD);
	word(w, fp + HS_LOCALS, 0x123456789);
	w->s.reg[UW_RBX] = METHOD;
	w->s.reg[UW_R13] = fp - 0x10;
	w->s.reg[UW_RAX] = ra;
	walk(w, INTERP_PC, sp, fp);
	assert_edge(w);
}

/*
 * An interpreted method, 7's callee, of whose frame at fp so many slots are pushed; the stack of
 * its caller ends at `sender`.
 */
static void interp_pushed(struct world *w, int slots, uint64_t sender, uint64_t locals,
			  uint64_t r13)
{
	uint64_t fp = SP + 0x200, above = sender < fp + 16 ? fp + 16 : sender;
	uint64_t ra = small_caller(w, above + 0x10);
	const uint64_t frame[] = {sender, 0, METHOD, 1, 0, META, locals, CM + CM_SIZE, 9, 9};

	with_interpreter(w);
	word(w, fp, above + 0x10);
	word(w, fp + 8, ra);
	for (int i = 0; i < slots; i++)
		word(w, fp - 8 - 8 * (uint64_t)i, frame[i]);
	w->s.reg[UW_RBX] = METHOD;
	w->s.reg[UW_R13] = r13;
	walk(w, INTERP_PC, fp - 8 * (uint64_t)slots, fp);
	assert_int_equal(w->s.end, GN_END_COMPLETE);
	assert_int_equal(w->s.n, 5);
	assert_int_equal(gn_frame_kind(&w->s.frames[0]), GN_FRAME_INTERP);
	assert_int_equal(gn_frame_addr(&w->s.frames[0]), METHOD);
	assert_int_equal(w->s.frames[0].data, CM << 16);
	for (int i = 1; i < 4; i++)
		assert_int_equal(gn_frame_flags(&w->s.frames[i]), GN_FF_RETADDR);
	assert_int_equal(w->s.frames[1].data >> 32, 7);
	assert_int_equal(w->s.frames[2].data >> 32, 8);
}

/* While its frame is pushed, and when it is there: the locals in words from fp, and as an address.
 */
static void test_interp_frame(void **state)
{
	uint64_t fp = SP + 0x200, sender = fp + 0x20, code = CM + CM_SIZE;

	for (int slots = 0; slots <= 10; slots++) {
		interp_pushed(*state, slots, sender, slots == 9 ? fp + 24 : 3,
			      slots < 2	   ? sender
			      : slots == 2 ? CM
					   : code);
		teardown(state);
		setup(state);
	}
	/* JDK 25 has the bytecode pointer in r13 before it pushes the second slot */
	interp_pushed(*state, 1, sender, 3, code);
}

/*
 * Called through a method handle's linker (linkToStatic() and the like), which has taken the last
 * argument off the stack: the return address is where r13 says that the caller's stack ends.
 */
static void test_interp_linked(void **state)
{
	uint64_t fp = SP + 0x200, sender = fp + 8, code = CM + CM_SIZE;

	for (int slots = 0; slots <= 10; slots++) {
		interp_pushed(*state, slots, sender, 2, slots < 2 ? sender : code);
		teardown(state);
		setup(state);
	}
}

/* A native method's signature handler is called, by `call r11`, and leaves fp and the stack alone.
 */
static void test_signature_handler(void **state)
{
	static const uint8_t code[] = {0x49, 0x8b, 0x36, 0x49, 0x8b, 0x56, 0xf8, 0xc3};
	struct world *w = *state;
	uint64_t fp = SP + 0x200, sender = fp + 0x20, sp = fp - 0x80;
	uint64_t ra = small_caller(w, sender + 0x10), pc;
	const uint64_t frame[] = {sender, 0, METHOD, 1, 0, META, 3, 0, 9, 9};

	with_interpreter(w);
	memcpy(w->heap + (INTERP_PC - 3 - HEAP), (uint8_t[]){0x41, 0xff, 0xd3}, 3);
	pc = blob(w, &(struct spec){.name = NAME_OTHER, .code = code, .len = sizeof(code)});
	word(w, fp, sender + 0x10);
	word(w, fp + 8, ra);
	for (int i = 0; i < 10; i++)
		word(w, fp - 8 - 8 * (uint64_t)i, frame[i]);
	word(w, sp, INTERP_PC);
	walk(w, pc + 3, sp, fp);
	assert_int_equal(w->s.end, GN_END_COMPLETE);
	assert_int_equal(w->s.n, 6);
	assert_int_equal(gn_frame_addr(&w->s.frames[1]), METHOD);
	for (int i = 1; i < 5; i++)
		assert_int_equal(gn_frame_flags(&w->s.frames[i]) & GN_FF_GUESSED, 0);
	assert_int_equal(w->s.frames[2].data >> 32, 7);
}

/* A method has returned to the one at fp: `mov rsp,last_sp; mov last_sp,0; mov r13,bcp`. */
static void test_interp_return(void **state)
{
	for (int step = 0; step < 3; step++) {
		struct world *w = *state;
		uint64_t fp = SP + 0x200, sender = fp + 0x20, code = CM + CM_SIZE, sp = fp - 0x60;
		uint64_t ra = small_caller(w, sender + 0x10);
		const uint64_t frame[] = {sender, step < 2 ? sp : 0, METHOD, 1, 0, META,
					  3,	  code + 7,	     9,	     9};

		with_interpreter(w);
		word(w, fp, sender + 0x10);
		word(w, fp + 8, ra);
		for (int i = 0; i < 10; i++)
			word(w, fp - 8 - 8 * (uint64_t)i, frame[i]);
		w->s.reg[UW_R13] = sp;
		walk(w, INTERP_PC, step ? sp : sp - 0x30, fp);
		assert_int_equal(w->s.end, GN_END_COMPLETE);
		assert_int_equal(w->s.n, 5);
		assert_int_equal(gn_frame_addr(&w->s.frames[0]), METHOD);
		assert_int_equal(w->s.frames[0].data, CM << 16 | 7);
		teardown(state);
		setup(state);
	}
}

/* ---- native code without rules ---- */

/* Frame pointers lead on; marked where they begin to, since a caller may have been passed over. */
static void test_frame_pointers(void **state)
{
	const uint32_t flags[] = {0, GN_FF_RETADDR | GN_FF_FP | GN_FF_GUESSED,
				  GN_FF_RETADDR | GN_FF_FP};
	struct world *w = *state;

	for (uint64_t i = 0; i < 3; i++) {
		word(w, SP + 0x20 + 0x40 * i, i < 2 ? SP + 0x60 + 0x40 * i : 0);
		word(w, SP + 0x28 + 0x40 * i, i < 2 ? META + 0x900 + i : 0);
	}
	walk(w, META + 0x800, SP, SP + 0x20);
	assert_int_equal(w->s.end, GN_END_COMPLETE);
	assert_int_equal(w->s.n, 3);
	for (int i = 0; i < 3; i++)
		assert_int_equal(gn_frame_flags(&w->s.frames[i]), flags[i]);
}

/* ---- the JVM's note of the last Java frame ---- */

#define THREAD (META + 0x400)
#define ANCHOR 0x40

/* Native code without rules, its fp anything or 0, called by 7; what the JVM has noted. */
static void native_leaf(struct world *w, uint64_t fp, uint64_t noted_sp)
{
	uint64_t a = method(w, 7, plain, sizeof(plain), PLAIN_FRAME, 12);
	const uint64_t anchor[] = {noted_sp, a + 14, 0};

	w->jvm.flags |= GN_JVM_ANCHOR;
	w->jvm.anchor = ANCHOR;
	w->s.hs[HS_THREAD] = THREAD;
	memcpy(w->meta + (THREAD - META) + ANCHOR, anchor, sizeof(anchor));
	word(w, SP + 0x80 + 0x30, FP);
	caller_is_bottom(w, SP + 0x80 + 0x38, FP);
	walk(w, META + 0x800, SP, fp);
}

static void test_anchor(void **state)
{
	static const uint64_t fp[] = {0, 1, 0x7777777777, SP + 0x10};

	for (size_t i = 0; i < sizeof(fp) / sizeof(fp[0]); i++) {
		struct world *w = *state;

		native_leaf(w, fp[i], SP + 0x80);
		assert_int_equal(w->s.end, GN_END_COMPLETE);
		assert_int_equal(w->s.n, 4);
		assert_int_equal(gn_frame_addr(&w->s.frames[0]), META + 0x800);
		/* native frames may be missing before it, not after */
		assert_int_equal(w->s.frames[1].data >> 32, 7);
		assert_int_not_equal(gn_frame_flags(&w->s.frames[1]) & GN_FF_GUESSED, 0);
		assert_int_equal(gn_frame_flags(&w->s.frames[2]) & GN_FF_GUESSED, 0);
		teardown(state);
		setup(state);
	}
}

/* By frame pointer to the very frame that was noted: then it is certain. */
static void test_anchor_agrees(void **state)
{
	struct world *w = *state;

	word(w, SP + 0x70, 0x1234);
	word(w, SP + 0x78, HEAP + 0x1000 + CODE + 14);
	native_leaf(w, SP + 0x70, SP + 0x80);
	assert_int_equal(w->s.end, GN_END_COMPLETE);
	assert_int_equal(w->s.n, 4);
	assert_int_equal(w->s.frames[1].data >> 32, 7);
	assert_int_equal(gn_frame_flags(&w->s.frames[1]) & GN_FF_GUESSED, 0);
}

/* A note that is none (the thread runs Java code), or of a frame that has returned. */
static void test_anchor_none(void **state)
{
	static const uint64_t noted[] = {0, SP - 0x40, SP + 0x84, SP + UW_MAX_FRAME + 8};

	for (size_t i = 0; i < sizeof(noted) / sizeof(noted[0]); i++) {
		struct world *w = *state;

		native_leaf(w, 1, noted[i]);
		assert_int_equal(w->s.end, GN_END_NORULE);
		assert_int_equal(w->s.n, 1);
		teardown(state);
		setup(state);
	}
}

/* ---- the end of virtual threads ---- */

static void test_enter_special(void **state)
{
	struct world *w = *state;
	uint64_t a = method(w, 7, plain, sizeof(plain), PLAIN_FRAME, 12);
	uint64_t b = method(w, 8, plain, sizeof(plain), PLAIN_FRAME, 12);

	w->jvm.enter_special = b - CODE + H_BLOB;
	word(w, SP + 0x38, b + 14);
	walk(w, a + 14, SP, 1);
	assert_int_equal(w->s.end, GN_END_CONT);
	assert_int_equal(w->s.n, 2);
}

/* Frames that have not been copied back from the heap yet: a stub waits for who returns there. */
static void test_return_barrier(void **state)
{
	struct world *w = *state;
	uint64_t a = method(w, 7, plain, sizeof(plain), PLAIN_FRAME, 12);
	uint64_t b = method(w, 8, plain, sizeof(plain), PLAIN_FRAME, 12);

	w->jvm.cont_low = b;
	w->jvm.cont_high = b + sizeof(plain);
	word(w, SP + 0x38, b + 14);
	walk(w, a + 14, SP, 1);
	assert_int_equal(w->s.end, GN_END_HEAP);
	assert_int_equal(w->s.n, 1);
	assert_false(gn_end_is_whole(w->s.end));
	assert_true(uw_is_whole(&w->s)); /* no table will show more */
}

/* ---- what is no thread's start ---- */

/* A frame that is being made has no return address yet. */
static void test_no_return(void **state)
{
	struct world *w = *state;
	uint64_t a = method(w, 7, plain, sizeof(plain), PLAIN_FRAME, 12);

	caller_is_bottom(w, SP + 0x38, FP);
	word(w, SP + 0x30, FP);
	word(w, FP + 8, 0);
	walk(w, a + 14, SP, 1);
	assert_int_equal(w->s.end, GN_END_NORULE);
	assert_int_equal(w->s.n, 2);
}

/* Native code without rules that has called Java code has a caller itself, whatever fp is. */
static void test_no_fp(void **state)
{
	struct world *w = *state;
	uint64_t a = method(w, 7, plain, sizeof(plain), PLAIN_FRAME, 12);

	caller_is_bottom(w, SP + 0x38, FP);
	word(w, SP + 0x30, FP);
	word(w, FP + 8, META + 0x900);
	walk(w, a + 14, SP, 1);
	assert_int_equal(w->s.end, GN_END_NORULE);
	assert_int_equal(w->s.n, 3);
}

/* ---- code met before ---- */

/* Method 8 calls method 7, the leaf. */
struct calling {
	uint64_t leaf;	/* pc in 7 */
	uint64_t block; /* of 8, in the heap */
	uint64_t pc;	/* where the call returns to */
};

static struct calling calling(struct world *w)
{
	uint64_t a = method(w, 7, plain, sizeof(plain), PLAIN_FRAME, 12);
	uint64_t b = method(w, 8, plain, sizeof(plain), PLAIN_FRAME, 12);

	word(w, SP + 0x38, b + 14);
	caller_is_bottom(w, SP + 0x78, FP);
	word(w, SP + 0x70, FP);
	return (struct calling){a + 14, b - HEAP - CODE, b + 14};
}

/* What was found is used: the segment map is looked at for the leaf and the call stub alone. */
static void test_known(void **state)
{
	struct world *w = *state;
	struct calling c = calling(w);

	walk(w, c.leaf, SP, 1);
	assert_int_equal(w->looked, 3 + 2);
	walk_again(w, c.leaf, SP, 1);
	assert_int_equal(w->looked, 3 + 2 + 2 * 2);
	assert_stack(w, (uint32_t[]){7, 8}, 2);
}

/* Calls by the same place: its header is not read again. */
static void test_known_recursion(void **state)
{
	struct world *w = *state;
	struct calling c = calling(w);

	for (int i = 1; i < 10; i++) {
		word(w, SP + i * PLAIN_FRAME + 0x38, c.pc);
		word(w, SP + i * PLAIN_FRAME + 0x30, FP);
	}
	caller_is_bottom(w, SP + 10 * PLAIN_FRAME + 0x38, FP);
	word(w, SP + 10 * PLAIN_FRAME + 0x30, FP);
	walk(w, c.leaf, SP, 1);
	assert_stack(w, (uint32_t[]){7, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8}, 11);
	assert_int_equal(w->looked, 3 + 2);
}

/* Freed, and its place given to a method of the same size: only the number tells. */
static void test_known_replaced(void **state)
{
	struct world *w = *state;
	struct calling c = calling(w);

	walk(w, c.leaf, SP, 1);
	heap_put(w, c.block + H_ID, 9, 4);
	walk_again(w, c.leaf, SP, 1);
	assert_stack(w, (uint32_t[]){7, 9}, 2);
	heap_put(w, c.block + H_ID, 10, 4);
	heap_put(w, c.block + H_FRAME, PLAIN_FRAME / 8 + 1, 4);
	caller_is_bottom(w, SP + 0x80, FP);
	word(w, SP + 0x78, FP);
	walk_again(w, c.leaf, SP, 1);
	assert_stack(w, (uint32_t[]){7, 10}, 2);
}

/* Freed together with what was before it, where a larger method is now: its header is left over. */
static void test_known_merged(void **state)
{
	struct world *w = *state;
	uint64_t before = w->next, pc;
	struct calling c;

	method(w, 6, plain, sizeof(plain), PLAIN_FRAME, 12);
	c = calling(w);
	walk(w, c.leaf, SP, 1);
	assert_stack(w, (uint32_t[]){7, 8}, 2);
	heap_put(w, c.block + H_USED, 0, 1);
	w->next = before;
	pc = blob(w, &(struct spec){.id = 9,
				    .level = 4,
				    .frame = PLAIN_FRAME + 8,
				    .complete = 12,
				    .code = plain,
				    .len = sizeof(plain)});
	heap_put(w, pc - HEAP - CODE + H_SIZE, c.block - before + 0x1000, 4);
	for (uint64_t i = 0; before + i * SEGMENT <= c.pc - HEAP; i++)
		w->segmap[before / SEGMENT + i] = (uint8_t)i;
	/* the leaf is above all that */
	w->next = 0x8000;
	c.leaf = method(w, 11, plain, sizeof(plain), PLAIN_FRAME, 12) + 14;
	caller_is_bottom(w, SP + 0x80, FP);
	word(w, SP + 0x78, FP);
	walk_again(w, c.leaf, SP, 1);
	assert_stack(w, (uint32_t[]){11, 9}, 2);
}

/* While no compiler has run, what is called by Java code is not looked at again. */
static void test_known_generation(void **state)
{
	struct world *w = *state;
	struct calling c = calling(w);

	w->block = c.block;
	w->jvm.flags |= GN_JVM_CODERS;
	w->env.code_gen = 11;
	walk(w, c.leaf, SP, 1);
	assert_int_equal(w->headers, 1);
	walk_again(w, c.leaf, SP, 1);
	assert_int_equal(w->headers, 1);
	assert_stack(w, (uint32_t[]){7, 8}, 2);
	w->env.code_gen = 13;
	heap_put(w, c.block + H_ID, 9, 4);
	walk_again(w, c.leaf, SP, 1);
	assert_stack(w, (uint32_t[]){7, 9}, 2);
	/* one runs now, or there is no telling: in each walk */
	w->env.code_gen = 0;
	heap_put(w, c.block + H_ID, 10, 4);
	walk_again(w, c.leaf, SP, 1);
	assert_stack(w, (uint32_t[]){7, 10}, 2);
	w->jvm.flags &= ~(uint32_t)GN_JVM_CODERS;
	w->env.code_gen = 15;
	heap_put(w, c.block + H_ID, 8, 4);
	walk_again(w, c.leaf, SP, 1);
	assert_stack(w, (uint32_t[]){7, 8}, 2);
	heap_put(w, c.block + H_ID, 9, 4);
	walk_again(w, c.leaf, SP, 1);
	assert_stack(w, (uint32_t[]){7, 9}, 2);
}

/* What calls a stub or native code may be a wrapper by now, which any thread makes. */
static void test_known_generation_outside(void **state)
{
	static const uint8_t code[] = {0x90, 0x90, 0x90};
	struct world *w = *state;
	struct calling c = calling(w);
	uint64_t stub = blob(w, &(struct spec){.name = NAME_VTABLE, .code = code, .len = 3});

	word(w, SP, c.pc);
	caller_is_bottom(w, SP + 8 + 0x38, FP);
	word(w, SP + 8 + 0x30, FP);
	w->jvm.flags |= GN_JVM_CODERS;
	w->env.code_gen = 11;
	walk(w, stub, SP, 1);
	assert_int_equal(gn_frame_kind(&w->s.frames[0]), GN_FRAME_STUB);
	assert_int_equal(w->s.frames[1].data >> 32, 8);
	heap_put(w, c.block + H_ID, 9, 4);
	walk_again(w, stub, SP, 1);
	assert_int_equal(gn_frame_kind(&w->s.frames[0]), GN_FRAME_STUB);
	assert_int_equal(w->s.frames[1].data >> 32, 9);
}

/* A deopt handler stands for another place each time. */
static void test_known_deoptimised(void **state)
{
	struct world *w = *state;
	struct calling c = calling(w);

	heap_put(w, c.block + H_DEOPT, c.pc, 8);
	heap_put(w, c.block + H_ORIG, 0x10, 4);
	for (uint64_t at = c.pc - 2; at < c.pc; at++) {
		word(w, SP + 0x40 + 0x10, at);
		walk_again(w, c.leaf, SP, 1);
		assert_stack(w, (uint32_t[]){7, 8}, 2);
		assert_int_equal(gn_frame_addr(&w->s.frames[1]), at);
	}
	/* what it stands for cannot be told: it is looked at the next time all the same */
	word(w, SP + 0x40 + 0x10, 0);
	walk_again(w, c.leaf, SP, 1);
	assert_int_equal(gn_frame_addr(&w->s.frames[1]), c.pc);
	word(w, SP + 0x40 + 0x10, c.pc - 1);
	walk_again(w, c.leaf, SP, 1);
	assert_int_equal(gn_frame_addr(&w->s.frames[1]), c.pc - 1);
}

/* Where a virtual thread's stack ends may become known late. */
static void test_known_enter_special(void **state)
{
	struct world *w = *state;
	struct calling c = calling(w);

	walk(w, c.leaf, SP, 1);
	assert_stack(w, (uint32_t[]){7, 8}, 2);
	w->jvm.enter_special = HEAP + c.block + H_BLOB;
	walk_again(w, c.leaf, SP, 1);
	assert_int_equal(w->s.end, GN_END_CONT);
}

/* Another program has other code there, and may have the same number for it. */
static void test_known_elsewhere(void **state)
{
	struct world *w = *state;
	struct calling c = calling(w);

	walk(w, c.leaf, SP, 1);
	for (uint32_t i = 1; i < 3; i++) {
		heap_put(w, c.block + H_FRAME, PLAIN_FRAME / 8 + i, 4);
		caller_is_bottom(w, SP + 0x78 + 8 * i, FP);
		word(w, SP + 0x70 + 8 * i, FP);
		w->proc.tgid = w->s.tgid = i; /* after an exec(), or another process */
		walk_again(w, c.leaf, SP, 1);
		assert_stack(w, (uint32_t[]){7, 8}, 2);
	}
}

/* A leaf's frame need not be there, wherever else its pc is met. */
static void test_known_leaf(void **state)
{
	struct world *w = *state;
	struct calling c = calling(w);
	uint64_t pop = c.pc + 6;

	word(w, SP + 0x38, pop);
	walk(w, c.leaf, SP, 1);
	assert_stack(w, (uint32_t[]){7, 8}, 2);
	word(w, SP, FP);
	caller_is_bottom(w, SP + 8, FP);
	walk_again(w, pop, SP, 1);
	assert_stack(w, (uint32_t[]){8}, 1);
}

/* ---- memos of walks before (walk() compares walks with and without; here is what they are for)
 * ----
 */

struct again {
	struct uw_memo o;
	struct uw_trail t;
	struct uw_state begun;
};

/* With the memo of the last such walk, and without, in this generation: both find the same. */
static void walk_both(struct world *w, struct again *g, uint64_t pc, uint64_t sp, uint64_t gen)
{
	uw_begin(&w->s, 1, 64);
	w->s.leaf = 1;
	w->s.hs[HS_THREAD] = THREAD;
	w->s.pc = pc;
	w->s.sp = sp;
	w->s.fp = 1;
	g->begun = w->s;
	uwwalk_both(&w->s, &g->begun, gen, &w->env, &g->o, &g->t);
}

static void test_memo(void **state)
{
	static struct again g;
	struct world *w = *state;
	struct calling c = calling(w);
	uint32_t before;

	memset(&g, 0, sizeof(g));
	walk(w, c.leaf, SP, 1);
	assert_int_equal(uwwalk_told, 1); /* the end: the call stub is not known */
	memcpy(&w->jvm.call_stub, w->stack + (SP + 0x78 - STACK), 8);
	walk_again(w, c.leaf, SP, 1);
	assert_int_equal(uwwalk_told, 3); /* all but the leaf */
	w->block = c.block;
	walk_both(w, &g, c.leaf, SP, 11);
	before = w->headers;
	walk_both(w, &g, c.leaf, SP, 11);
	assert_int_equal(w->headers, before + 1); /* by the walk without a memo */
	assert_stack(w, (uint32_t[]){7, 8}, 2);
}

/* The return address is the same, and the code another, or what was found by other tables. */
static void test_memo_is_old(void **state)
{
	static struct again g;
	struct world *w = *state;
	struct calling c = calling(w);

	memset(&g, 0, sizeof(g));
	walk_both(w, &g, c.leaf, SP, 11);
	heap_put(w, c.block + H_ID, 9, 4);
	walk_both(w, &g, c.leaf, SP, 13);
	assert_stack(w, (uint32_t[]){7, 9}, 2);
	heap_put(w, c.block + H_ID, 10, 4);
	walk_both(w, &g, c.leaf, SP, 0);
	assert_stack(w, (uint32_t[]){7, 10}, 2);
	walk_both(w, &g, c.leaf, SP, 13);
	w->jvm.enter_special = HEAP + c.block + H_BLOB;
	w->env.changes += 2;
	walk_both(w, &g, c.leaf, SP, 13);
	assert_int_equal(w->s.end, GN_END_CONT);
	w->jvm.enter_special = 0;
	w->env.changes++; /* and they go on changing: nothing is kept */
	walk_both(w, &g, c.leaf, SP, 13);
	assert_stack(w, (uint32_t[]){7, 10}, 2);
	w->jvm.enter_special = HEAP + c.block + H_BLOB;
	walk_both(w, &g, c.leaf, SP, 13);
	assert_int_equal(w->s.end, GN_END_CONT);
}

/* A frame that called Java code then has called a stub now: it may be a wrapper by now. */
static void test_memo_outside(void **state)
{
	static const uint8_t code[] = {0x90, 0x90, 0x90};
	static struct again g;
	struct world *w = *state;
	struct calling c = calling(w);
	uint64_t stub = blob(w, &(struct spec){.name = NAME_VTABLE, .code = code, .len = 3});

	memset(&g, 0, sizeof(g));
	walk_both(w, &g, c.leaf, SP, 11);
	heap_put(w, c.block + H_ID, 9, 4);
	walk_both(w, &g, stub, SP + 0x38, 11);
	assert_int_equal(gn_frame_kind(&w->s.frames[0]), GN_FRAME_STUB);
	assert_int_equal(w->s.frames[1].data >> 32, 9);
}

/* A frame that is to be deoptimised since: another address is where its callee returned to. */
static void test_memo_deoptimised(void **state)
{
	static struct again g;
	struct world *w = *state;
	struct calling c = calling(w);

	memset(&g, 0, sizeof(g));
	heap_put(w, c.block + H_DEOPT, c.pc + 6, 8);
	heap_put(w, c.block + H_ORIG, 0x10, 4);
	walk_both(w, &g, c.leaf, SP, 11);
	word(w, SP + 0x40 + 0x10, c.pc - 1);
	for (int i = 0; i < 3; i++) {
		word(w, SP + 0x38, c.pc + (i == 1 ? 0 : 6));
		walk_both(w, &g, c.leaf, SP, 11);
		assert_stack(w, (uint32_t[]){7, 8}, 2);
		assert_int_equal(gn_frame_addr(&w->s.frames[1]), c.pc - (i == 1 ? 0 : 1));
	}
}

/* What was returned to is the leaf now, and so at an instruction: what else it says is looked at.
 */
static void test_memo_leaf(void **state)
{
	static struct again g;
	struct world *w = *state;
	struct calling c = calling(w);
	const uint64_t pop = c.pc + 6;

	memset(&g, 0, sizeof(g));
	word(w, SP + 0x38, pop);
	word(w, SP + 0x48, c.pc);
	walk_both(w, &g, c.leaf, SP, 11);
	g.begun.pc = pop;
	g.begun.sp = SP + 0x40;
	g.begun.flags = GN_FF_RETADDR;
	uwwalk_both(&w->s, &g.begun, 11, &w->env, &g.o, &g.t);
	assert_int_equal(gn_frame_addr(&w->s.frames[1]), c.pc);
}

#define UNLOADS (META + 0x800) /* so many classes were */

/* METHOD's frame at fp, at bytecode 5, which the call stub has called. */
static void interp_put(struct world *w, uint64_t fp)
{
	word(w, fp - 64, CM + CM_SIZE + 5);
	word(w, fp - 24, METHOD);
	word(w, fp - 16, 0);
	word(w, fp - 8, fp + 0x20);
	word(w, fp, FP);
	caller_is_bottom(w, fp + 8, FP);
	memcpy(&w->jvm.call_stub, w->stack + (fp + 8 - STACK), 8);
}

/* An interpreted frame with another method, another's bytecodes, another bytecode, more locals. */
static void test_memo_interp(void **state)
{
	const uint64_t fp = SP + 0x80;
	static struct again g;
	struct world *w = *state;
	uint64_t a = method(w, 7, plain, sizeof(plain), PLAIN_FRAME, 12), cm = CM, one = 1;

	memset(&g, 0, sizeof(g));
	with_interpreter(w);
	w->jvm.unloads = UNLOADS;
	w->jvm.unloads_at[1] = 8;
	memcpy(w->meta + (METHOD + 0x40 - META) + 8, &cm, 8);
	word(w, SP + 0x30, fp);
	word(w, SP + 0x38, INTERP_PC);
	interp_put(w, fp);
	walk_both(w, &g, a + 14, SP, 11);
	assert_int_equal(w->s.n, 4);
	assert_int_equal(w->s.frames[1].data, CM << 16 | 5);
	walk_both(w, &g, a + 14, SP, 11);
	assert_int_equal(g.t.tail, 2); /* of unloaded classes it was not asked before */
	walk_both(w, &g, a + 14, SP, 11);
	assert_int_equal(g.t.tail, 3); /* from the interpreted frame on */
	word(w, fp - 24, METHOD + 0x40);
	walk_both(w, &g, a + 14, SP, 11);
	assert_int_equal(gn_frame_addr(&w->s.frames[1]), METHOD + 0x40);
	cm = CM - 8; /* it is another one's by now, since its class has gone */
	memcpy(w->meta + (METHOD + 0x40 - META) + 8, &cm, 8);
	memcpy(w->meta + (UNLOADS - META) + 8, &one, 8);
	walk_both(w, &g, a + 14, SP, 11);
	assert_int_equal(w->s.frames[1].data, (CM - 8) << 16 | 13);
	word(w, fp - 64, CM + CM_SIZE + 7);
	walk_both(w, &g, a + 14, SP, 11);
	assert_int_equal(w->s.frames[1].data, (CM - 8) << 16 | 15);
	word(w, fp - 8, fp + 0x28);
	walk_both(w, &g, a + 14, SP, 11);
	assert_int_equal(w->s.n, 4);
	walk_both(w, &g, a + 14, SP, 11);
	assert_int_equal(g.t.tail, 3);
}

/* ---- whole stacks that were met before ---- */

/* Is it known as a whole now, with the memo of the walks before? It is what is found without. */
static bool is_same(struct world *w, struct again *g, uint64_t gen)
{
	static struct uw_state plain;
	struct uw_env env = w->env;

	env.code_gen = gen;
	uwwalk_rewind(&w->s, &g->begun);
	uw_code_begin(&w->s, gen);
	g->t.keep = 1;
	g->t.lists = 1;
	uwwalk_once(&w->s, &env, true, &g->o, &g->t);
	plain = w->s;
	memcpy(&plain, &g->begun, offsetof(struct uw_state, frames));
	uwwalk_once(&plain, &env, false, NULL, NULL);
	assert_true(w->s.same ? uwwalk_alike(&w->s, &plain) : uwwalk_equal(&w->s, &plain));
	return w->s.same && g->t.tail == w->s.n - g->t.first;
}

/*
 * From where interpreted code has called something, by way of the call stub: with all as it was it
 * is known; with a word, the frame pointer, unloaded classes or tables that changed it is walked.
 */
static void test_same(void **state)
{
	const uint64_t fp = SP + 0x80;
	static struct again g;
	struct world *w = *state;
	uint64_t one = 1;

	memset(&g, 0, sizeof(g));
	with_interpreter(w);
	w->jvm.unloads = UNLOADS;
	w->jvm.unloads_at[1] = 8;
	interp_put(w, fp);
	uw_begin(&g.begun, 1, 64);
	g.begun.flags = GN_FF_RETADDR;
	g.begun.pc = INTERP_PC;
	g.begun.sp = SP + 0x40;
	g.begun.fp = fp;
	assert_false(is_same(w, &g, 11));
	assert_false(is_same(w, &g, 11)); /* twice is what it takes */
	assert_int_equal(w->s.n, 3);
	assert_int_equal(w->s.end, GN_END_COMPLETE);
	assert_true(is_same(w, &g, 11));
	word(w, fp - 64, CM + CM_SIZE + 7);
	assert_false(is_same(w, &g, 11));
	assert_true(is_same(w, &g, 11));
	memcpy(w->meta + (UNLOADS - META) + 8, &one, 8);
	assert_false(is_same(w, &g, 11));
	assert_true(is_same(w, &g, 11));
	w->env.changes += 2;
	assert_false(is_same(w, &g, 11)); /* it is of other tables */
	assert_false(is_same(w, &g, 11)); /* of unloaded classes it was not asked then */
	assert_true(is_same(w, &g, 11));
	g.begun.fp = fp + 8;
	assert_false(is_same(w, &g, 11));
	g.begun.fp = fp;
	assert_false(is_same(w, &g, 11));
	assert_false(is_same(w, &g, 11));
	assert_true(is_same(w, &g, 11));
	w->jvm.unloads = 0;
	assert_false(is_same(w, &g, 11));
	assert_false(is_same(w, &g, 11)); /* nobody knows how many there were */
}

/* Compiled code that has called native code, in a generation: its block is looked at each time. */
static void test_same_looks(void **state)
{
	static struct again g;
	struct world *w = *state;
	struct calling c = calling(w);

	memset(&g, 0, sizeof(g));
	memcpy(&w->jvm.call_stub, w->stack + (SP + 0x78 - STACK), 8);
	w->jvm.flags |= GN_JVM_CODERS;
	uw_begin(&w->s, 1, 64);
	uw_push(&w->s, NATIVE + 0x10, GN_FRAME_USER, 0, 0);
	g.begun = w->s;
	g.begun.flags = GN_FF_RETADDR;
	g.begun.pc = c.pc;
	g.begun.sp = SP + 0x40;
	g.begun.fp = FP;
	assert_false(is_same(w, &g, 11));
	assert_false(is_same(w, &g, 11)); /* the first one had to look for the method */
	assert_int_equal(w->s.n, 4);
	assert_true(is_same(w, &g, 11));
	assert_int_not_equal(g.o.look, 0);
	heap_put(w, c.block + H_ID, 9, 4);
	assert_false(is_same(w, &g, 11));
	assert_false(is_same(w, &g, 11));
	assert_true(is_same(w, &g, 11));
	assert_false(is_same(w, &g, 13));
}

/* Where a thread's start was found before any Java code, the JVM may know of some the next time. */
static void test_memo_anchor(void **state)
{
	static struct again g;
	struct world *w = *state;
	uint64_t a = method(w, 7, plain, sizeof(plain), PLAIN_FRAME, 12), anchor[3] = {};

	memset(&g, 0, sizeof(g));
	w->jvm.flags |= GN_JVM_ANCHOR;
	w->jvm.anchor = ANCHOR;
	word(w, SP + 0x80 + 0x30, FP);
	caller_is_bottom(w, SP + 0x80 + 0x38, FP);
	for (int i = 0; i < 2; i++) {
		memcpy(w->meta + (THREAD - META) + ANCHOR, anchor, sizeof(anchor));
		uw_begin(&w->s, 1, 64);
		w->s.hs[HS_THREAD] = THREAD;
		w->s.flags = GN_FF_RETADDR;
		w->s.pc = NATIVE + 0x10;
		w->s.sp = SP;
		g.begun = w->s;
		uwwalk_both(&w->s, &g.begun, 11, &w->env, &g.o, &g.t);
		assert_int_equal(w->s.n, i ? 4 : 1);
		anchor[0] = SP + 0x80;
		anchor[1] = a + 14;
	}
}

/* ---- what may be anything ---- */

/* A segment map that leads nowhere, a size that is negative: an end, in bounded time. */
static void test_hostile_heap(void **state)
{
	struct world *w = *state;
	uint64_t a = method(w, 7, plain, sizeof(plain), PLAIN_FRAME, 12);

	memset(w->segmap, 1, sizeof(w->segmap));
	walk(w, a + 14, SP, 1);
	assert_int_equal(w->s.end, GN_END_NORULE);
	memset(w->segmap, 0, sizeof(w->segmap));
	uw_begin(&w->s, 1, 64);
	w->s.leaf = 1;
	walk(w, a + 14, SP, 1);
	assert_int_not_equal(w->s.end, GN_END_COMPLETE);
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_every_instruction),
		TEST(test_another_jvm),
		TEST(test_callers),
		TEST(test_popped),
		TEST(test_free_block),
		TEST(test_deoptimised),
		TEST(test_barrier_leaf),
		TEST(test_barrier_caller),
		TEST(test_no_barrier),
		TEST(test_linker),
		TEST(test_linker_caller),
		TEST(test_vtable),
		TEST(test_adapter),
		TEST(test_exception_blob),
		TEST(test_adapter_popped),
		TEST(test_frame_pointers),
		TEST(test_anchor),
		TEST(test_anchor_agrees),
		TEST(test_anchor_none),
		TEST(test_enter_special),
		TEST(test_known),
		TEST(test_known_recursion),
		TEST(test_known_replaced),
		TEST(test_known_merged),
		TEST(test_known_generation),
		TEST(test_known_generation_outside),
		TEST(test_known_deoptimised),
		TEST(test_known_enter_special),
		TEST(test_memo),
		TEST(test_memo_is_old),
		TEST(test_memo_outside),
		TEST(test_memo_deoptimised),
		TEST(test_memo_leaf),
		TEST(test_memo_interp),
		TEST(test_same),
		TEST(test_same_looks),
		TEST(test_memo_anchor),
		TEST(test_known_elsewhere),
		TEST(test_known_leaf),
		TEST(test_hostile_heap),
		TEST(test_adapter_room),
		TEST(test_entry_barrier),
		TEST(test_interp_entry),
		TEST(test_interp_exit),
		TEST(test_interp_not),
		TEST(test_interp_frame),
		TEST(test_interp_return),
		TEST(test_signature_handler),
		TEST(test_interp_linked),
		TEST(test_no_rule),
		TEST(test_length_pushed),
		TEST(test_sp_pushed),
		TEST(test_sp_pushed_over),
		TEST(test_sp_spilled),
		TEST(test_classes_pushed),
		TEST(test_subtype_stub),
		TEST(test_safepoint_stub),
		TEST(test_fast_get),
		TEST(test_return_barrier),
		TEST(test_no_return),
		TEST(test_no_fp),
		TEST(test_stub_leaf),
		TEST(test_call_stub),
		TEST(test_reserved_zone),
		TEST(test_native_epilogue),
		TEST(test_native_last_pc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
