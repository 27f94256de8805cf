/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps through native code (kern/native.h, native_tail.h) where the table of its file does not say
 * all: each on code, a stack, registers and rows made for it. x86_64. What tables do say is
 * compared with live processes in test_unwind.c.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kern/unwind_walk.h"
#include "tests/uwwalk.h"

#define CODE  0x7f1000000000ULL
#define STACK 0x7f3000000000ULL
#define BYTES 0x4000U
#define SP    (STACK + 0x1000)
#define ROWS  8

/* Where the functions lie in CODE. */
enum { LEAF = 0x100, CALLER = 0x200, START = 0x300 };
#define RETURNS (CODE + CALLER + 0x10) /* of the leaf, into its caller */
#define STARTS	(CODE + START + 0x10)  /* of that, to where the thread started */

struct world {
	uint8_t code[BYTES], stack[BYTES];
	struct uw_page rows;
	struct uw_rule rules[ROWS];
	struct uw_proc proc;
	struct uw_env env;
	struct uw_state s;
	uint32_t n;	/* rows */
	uint64_t moved; /* the stack is so much higher */
	bool changing;	/* the tables do while memory is read */
};

static int world_read(void *ctx, __u64 addr, void *dst, __u32 len)
{
	struct world *w = ctx;
	uint8_t *mem = addr - CODE < BYTES ? w->code : w->stack;
	uint64_t off = addr - (mem == w->code ? CODE : STACK + w->moved);

	w->env.changes += w->changing ? 2 : 0;
	if (off >= BYTES || len > BYTES - off)
		return -EFAULT;
	memcpy(dst, mem + off, len);
	return 0;
}

static const struct uw_page *world_page(void *ctx, __u32 file, __u32 page)
{
	return page ? NULL : &((struct world *)ctx)->rows;
}

static const struct uw_rule *world_rule(void *ctx, __u32 rule)
{
	return rule < ROWS ? &((struct world *)ctx)->rules[rule] : NULL;
}

static void row(struct world *w, uint32_t off, struct uw_rule rule)
{
	w->rows.key[w->n] = off;
	w->rows.val[w->n] = (uint16_t)w->n;
	w->rules[w->n++] = rule;
}

static void code(struct world *w, uint64_t off, const void *bytes, size_t n)
{
	memcpy(w->code + off, bytes, n);
}

static void word(struct world *w, uint64_t addr, uint64_t val)
{
	memcpy(w->stack + (addr - STACK), &val, 8);
}

static const struct uw_rule by_sp = {
	.cfa = UW_CFA_REG, .cfa_reg = UW_RSP, .cfa_off = 8, .ra = UW_CFA, .ra_off = -8};
static const struct uw_rule by_fp = {.cfa = UW_CFA_REG,
				     .cfa_reg = UW_RBP,
				     .cfa_off = 16,
				     .ra = UW_CFA,
				     .ra_off = -8,
				     .fp = UW_CFA,
				     .fp_off = -16};

/* The leaf's rule, and that of its caller; both are called as compilers call. */
static void rows(struct world *w, struct uw_rule leaf, struct uw_rule caller)
{
	static const uint8_t call[] = {0xe8, 0xeb, 0xfe, 0xff, 0xff}, indirect[] = {0xff, 0xd0};

	row(w, 0, (struct uw_rule){.cfa = UW_CFA_NONE});
	row(w, LEAF, leaf);
	row(w, CALLER, caller);
	row(w, START, (struct uw_rule){.cfa = UW_CFA_STOP});
	code(w, CALLER + 0x10 - sizeof(call), call, sizeof(call));
	code(w, START + 0x10 - sizeof(indirect), indirect, sizeof(indirect));
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	memset(w->rows.key, 0xff, sizeof(w->rows.key));
	memset(w->code, 0x90, sizeof(w->code));
	uwwalk_proc(&w->proc, CODE,
		    (struct uw_mapping){
			    .end = CODE + BYTES, .bias = CODE, .arg = 1, .kind = UW_MAP_FILE});
	w->env = (struct uw_env){w, world_read, &w->proc, world_page, world_rule, NULL};
	uw_begin(&w->s, 1, 64);
	w->s.leaf = 1;
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

static void walk(struct world *w, uint64_t pc, uint64_t sp, uint64_t fp)
{
	w->s.pc = pc;
	w->s.sp = sp;
	w->s.fp = fp;
	w->s.reg[UW_RBP] = fp;
	w->s.reg[UW_RSP] = sp;
	uwwalk_run(&w->s, &w->env);
}

/* The leaf, its caller, the start; nothing is guessed. */
static void assert_three(const struct world *w, uint32_t flags)
{
	assert_int_equal(w->s.end, GN_END_COMPLETE);
	assert_int_equal(w->s.n, 3);
	assert_int_equal(gn_frame_addr(&w->s.frames[1]), RETURNS);
	assert_int_equal(gn_frame_flags(&w->s.frames[1]), GN_FF_RETADDR | flags);
	assert_int_equal(gn_frame_addr(&w->s.frames[2]), STARTS);
}

/* ---- ends of functions that the table leaves out ---- */

/* pop rbx; pop r14; pop rbp; ret: to the table rbp is the frame's to the last. */
static void test_end_by_fp(void **state)
{
	static const uint8_t end[] = {0x5b, 0x41, 0x5e, 0x5d, 0xc3};
	static const struct {
		uint8_t pc, words;
	} at[] = {{0, 3}, {1, 2}, {3, 1}, {4, 0}};

	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		struct world *w = *state;
		uint64_t caller = SP + at[i].words * 8 + 0x40; /* its frame's base */

		rows(w, by_fp, by_fp);
		code(w, LEAF, end, sizeof(end));
		if (at[i].words)
			word(w, SP + at[i].words * 8 - 8, caller);
		word(w, SP + at[i].words * 8, RETURNS);
		word(w, caller, 0);
		word(w, caller + 8, STARTS);
		walk(w, CODE + LEAF + at[i].pc, SP,
		     at[i].words ? SP + at[i].words * 8 - 8 : caller);
		assert_three(w, 0);
		teardown(state);
		setup(state);
	}
}

/* add rsp,24; pop rbx; pop r15; ret, and what the table says of sp holds before it alone. */
static void test_end_by_sp(void **state)
{
	static const uint8_t end[] = {0x48, 0x83, 0xc4, 24, 0x5b, 0x41, 0x5f, 0xc3};
	struct uw_rule leaf = by_sp, caller = by_sp;

	leaf.cfa_off = 8 + 24 + 16;
	caller.cfa_off = 0x40;
	for (uint32_t pc = 4; pc < sizeof(end); pc += pc == 5 ? 2 : 1) {
		struct world *w = *state;
		uint64_t slot = SP + (pc == 4 ? 16 : pc == 5 ? 8 : 0);

		rows(w, leaf, caller);
		code(w, LEAF, end, sizeof(end));
		word(w, slot, RETURNS);
		word(w, slot + 8 + 0x38, STARTS);
		walk(w, CODE + LEAF + pc, SP, 1);
		assert_three(w, 0);
		teardown(state);
		setup(state);
	}
}

/* A ret that is no return: to what no call returns to. The table knows. */
static void test_ret_is_jump(void **state)
{
	static const uint8_t ret = 0xc3;
	struct uw_rule leaf = by_sp;
	struct world *w = *state;

	leaf.cfa_off = 16;
	rows(w, leaf, by_sp);
	code(w, LEAF, &ret, 1);
	word(w, SP, CODE + 0x400);
	word(w, SP + 8, RETURNS);
	word(w, SP + 16, STARTS);
	walk(w, CODE + LEAF, SP, 1);
	assert_three(w, 0);
}

/* pop rbp; jmp: the frame is gone. But the byte before the jump may be of something else: marked.
 */
static void test_tail_call(void **state)
{
	static const uint8_t end[] = {0x5d, 0xe9, 1, 2, 3, 4};
	struct world *w = *state;

	rows(w, by_fp, by_fp);
	code(w, LEAF, end, sizeof(end));
	word(w, SP, RETURNS);
	word(w, SP + 0x40, 0);
	word(w, SP + 0x48, STARTS);
	walk(w, CODE + LEAF + 1, SP, SP + 0x40);
	assert_three(w, GN_FF_GUESSED);
}

/* The same bytes, but what is on top was not called from: the frame is still there. */
static void test_no_tail_call(void **state)
{
	static const uint8_t body[] = {0x5d, 0xe9, 1, 2, 3, 4};
	struct world *w = *state;

	rows(w, by_fp, by_sp);
	code(w, LEAF, body, sizeof(body));
	word(w, SP, CODE + 0x400);
	word(w, SP + 0x40, 0);
	word(w, SP + 0x48, RETURNS);
	word(w, SP + 0x50, STARTS);
	walk(w, CODE + LEAF + 1, SP, SP + 0x40);
	assert_three(w, 0);
}

/* ---- a frame's base in a register that calls need not preserve ---- */

static const struct uw_rule by_rax = {
	.cfa = UW_CFA_REG, .cfa_reg = UW_RAX, .cfa_off = 8, .ra = UW_CFA, .ra_off = -8};

static void test_carried(void **state)
{
	struct world *w = *state;

	rows(w, by_sp, by_rax);
	word(w, SP, RETURNS);
	word(w, SP + 0x200, STARTS);
	w->s.reg[UW_RAX] = SP + 0x200;
	walk(w, CODE + LEAF, SP, 1);
	assert_three(w, 0);
}

/* Who was called had it for something else: no caller rather than a wrong one. */
static void test_carried_not(void **state)
{
	struct world *w = *state;

	rows(w, by_sp, by_rax);
	word(w, SP, RETURNS);
	word(w, SP + 0x200, CODE + 0x400);
	w->s.reg[UW_RAX] = SP + 0x200;
	walk(w, CODE + LEAF, SP, 1);
	assert_int_equal(w->s.end, GN_END_NORULE);
	assert_int_equal(w->s.n, 2);
}

/* Nor where it was not the leaf that was left. */
static void test_carried_far(void **state)
{
	struct world *w = *state;

	rows(w, by_sp, by_rax);
	row(w, 0x400, by_sp);
	word(w, SP, CODE + 0x410);
	word(w, SP + 8, RETURNS);
	word(w, SP + 0x200, STARTS);
	w->s.reg[UW_RAX] = SP + 0x200;
	walk(w, CODE + LEAF, SP, 1);
	assert_int_equal(w->s.end, GN_END_NORULE);
	assert_int_equal(w->s.n, 3);
}

/* ---- a frame's base in a register that calls preserve: where its caller's is, a frame tells ----
 */

static void test_kept(void **state)
{
	struct uw_rule saves = by_sp,
		       by_rbx = {.cfa = UW_CFA_REG, .cfa_reg = UW_RBX, .ra = UW_CFA, .ra_off = -8};
	struct world *w = *state;

	saves.cfa_off = 0x20;
	saves.kept_off = -16;
	rows(w, by_sp, saves);
	row(w, 0x400, by_rbx);
	word(w, SP, RETURNS);
	word(w, SP + 8 + 0x10, SP + 0x200); /* rbx */
	word(w, SP + 8 + 0x18, CODE + 0x410);
	word(w, SP + 0x1f8, STARTS);
	w->s.reg[UW_RBX] = 1;
	walk(w, CODE + LEAF, SP, 1);
	assert_int_equal(w->s.end, GN_END_COMPLETE);
	assert_int_equal(w->s.n, 4);
}

/* ---- with the memo of a walk before (kern/memo.h; uwwalk_run() compares walks with and without)
 * ----
 */

/* In a system call the leaf is not walked again, but what its registers tell of its caller holds.
 */
static void test_memo_carried(void **state)
{
	struct world *w = *state;

	rows(w, by_sp, by_rax);
	word(w, SP, RETURNS);
	word(w, SP + 0x200, STARTS);
	w->s.reg[UW_RAX] = SP + 0x200;
	w->s.flags = GN_FF_RETADDR;
	walk(w, CODE + LEAF + 2, SP, 1);
	assert_three(w, 0);
}

/* And of its caller's caller, where that one leaves them alone. */
static void test_memo_kept(void **state)
{
	struct uw_rule by_rbx = {.cfa = UW_CFA_REG, .cfa_reg = UW_RBX, .ra = UW_CFA, .ra_off = -8};
	struct world *w = *state;

	rows(w, by_sp, by_sp);
	row(w, 0x400, by_rbx);
	word(w, SP, RETURNS);
	word(w, SP + 8, CODE + 0x410);
	word(w, SP + 0x1f8, STARTS);
	w->s.reg[UW_RBX] = SP + 0x200;
	w->s.flags = GN_FF_RETADDR;
	walk(w, CODE + LEAF + 2, SP, 1);
	assert_int_equal(w->s.end, GN_END_COMPLETE);
	assert_int_equal(w->s.n, 4);
}

struct again {
	struct uw_memo o;
	struct uw_trail t;
	struct uw_state begun;
};

/* The leaf, callers that have nothing but a return address on the stack, the start. */
static void deep(struct world *w, uint32_t callers)
{
	rows(w, by_sp, by_sp);
	row(w, 0x400, by_sp);
	for (uint32_t i = 0; i < callers; i++)
		word(w, SP + i * 8, RETURNS);
	word(w, SP + callers * 8, STARTS);
}

/* With and without the memo of the last such walk: how many frames were taken over to the end. */
static uint32_t walk_both(struct world *w, struct again *g)
{
	w->s.pc = CODE + LEAF;
	w->s.sp = SP + w->moved;
	w->s.fp = 1;
	g->begun = w->s;
	uwwalk_both(&w->s, &g->begun, 0, &w->env, &g->o, &g->t);
	assert_int_equal(w->s.end, GN_END_COMPLETE);
	uw_begin(&w->s, 1, 64);
	w->s.leaf = 1;
	return g->t.tail;
}

/*
 * Frames are left in the memo where they are, until one of them is another: then the next walk
 * still has all of them, those before it, too.
 */
static void test_memo_in_place(void **state)
{
	static struct again g;
	struct world *w = *state;

	memset(&g, 0, sizeof(g));
	deep(w, 8);
	assert_int_equal(walk_both(w, &g), 0);
	assert_int_equal(walk_both(w, &g), 9); /* all but the leaf */
	word(w, SP + 5 * 8, CODE + 0x410);
	assert_int_equal(walk_both(w, &g), 3); /* those behind it */
	assert_int_equal(g.o.known[3].mark.pc & UW_HOW_PC, CODE + 0x410);
	assert_int_equal(walk_both(w, &g), 9);
}

/*
 * Inner frames that the memo does not have, of a stack that it has for the most part: they are
 * taken in when a second walk comes by them, unless one with other frames came between.
 */
static void test_memo_beside(void **state)
{
	static struct again g;
	struct world *w = *state;
	uint64_t other = CODE + 0x410;

	memset(&g, 0, sizeof(g));
	deep(w, 8);
	walk_both(w, &g);
	assert_int_equal(walk_both(w, &g), 9);
	word(w, SP + 8, other);
	assert_int_equal(walk_both(w, &g), 7);
	word(w, SP + 8, RETURNS);
	assert_int_equal(walk_both(w, &g), 9); /* it has the first ones still */
	word(w, SP + 8, other);
	assert_int_equal(walk_both(w, &g), 7);
	assert_int_equal(walk_both(w, &g), 9);
	word(w, SP + 8, RETURNS);
	for (int i = 0; i < 2; i++)
		assert_int_equal(walk_both(w, &g), 7);
	assert_int_equal(walk_both(w, &g), 9);
}

/* What is found while tables change may be of both: it is not kept. */
static void test_memo_changing(void **state)
{
	static struct again g;
	struct world *w = *state;

	memset(&g, 0, sizeof(g));
	deep(w, 8);
	w->changing = true;
	walk_both(w, &g);
	assert_int_equal(g.o.n, 0);
	w->changing = false;
	walk_both(w, &g);
	assert_int_equal(g.o.n, 9); /* all but the leaf */
}

/* What a memo has is of its stack: in another one, 4 GiB from there, the same words are walked. */
static void test_memo_elsewhere(void **state)
{
	static struct again g;
	struct world *w = *state;

	memset(&g, 0, sizeof(g));
	deep(w, 8);
	walk_both(w, &g);
	w->moved = 1ULL << 32;
	assert_int_equal(walk_both(w, &g), 0);
	assert_int_equal(walk_both(w, &g), 9);
}

/* ---- what later tables may know ---- */

/* By frame pointer through code that no table has to the thread's start, which is no end for good.
 */
static void test_blind(void **state)
{
	struct world *w = *state;

	rows(w, by_sp, by_fp);
	word(w, SP + 0x40, SP + 0x80);
	word(w, SP + 0x48, STARTS);
	walk(w, STACK + 0x2000, SP, SP + 0x40);
	assert_int_equal(w->s.end, GN_END_COMPLETE);
	assert_false(uw_is_whole(&w->s));
	teardown(state);
	w = (setup(state), *state);
	rows(w, by_sp, by_fp);
	word(w, SP, STARTS);
	walk(w, CODE + LEAF, SP, 1);
	assert_int_equal(w->s.end, GN_END_COMPLETE);
	assert_true(uw_is_whole(&w->s));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_end_by_fp),	  TEST(test_end_by_sp),	     TEST(test_ret_is_jump),
		TEST(test_tail_call),	  TEST(test_no_tail_call),   TEST(test_carried),
		TEST(test_carried_not),	  TEST(test_carried_far),    TEST(test_blind),
		TEST(test_kept),	  TEST(test_memo_carried),   TEST(test_memo_kept),
		TEST(test_memo_in_place), TEST(test_memo_elsewhere), TEST(test_memo_changing),
		TEST(test_memo_beside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
