/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The aarch64 rules, on any machine: the same sources with UW_ARM64, over a stack made by hand.
 */
#define UW_ARM64
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "user/sym/ehframe.c"
#include "user/sym/utable.c"
#include "user/sym/utable_rules.c"

#include "uwmem.h"

#define VADDR 0x9000ULL
#define STACK 0x7fff80000000ULL
#define CODE  0x400000ULL

struct world {
	uint64_t stack[256];
	struct uwmem *m; /* the tables */
};

static int world_read(void *ctx, __u64 addr, void *dst, __u32 len)
{
	const struct world *w = ctx;
	uint64_t off = addr - STACK;

	/* past the end there is nothing: the last page reads as zeros, as a thread's stack top */
	if (off >= UW_WINDOW || off + len > 2 * UW_WINDOW)
		return -EFAULT;
	memset(dst, 0, len);
	if (off < sizeof(w->stack))
		memcpy(dst, (const char *)w->stack + off,
		       len < sizeof(w->stack) - off ? len : sizeof(w->stack) - off);
	return 0;
}

static const struct uw_page *world_page(void *ctx, __u32 file, __u32 page)
{
	return uwmem_get_page(((struct world *)ctx)->m, file, page);
}

static const struct uw_rule *world_rule(void *ctx, __u32 rule)
{
	return uwmem_get_rule(((struct world *)ctx)->m, rule);
}

/* CIEs and FDEs with absolute addresses: code alignment 4, data alignment -8, x30, CFA = sp */
static size_t entry(uint8_t *to, uint32_t id, const char *bytes, size_t n)
{
	uint32_t len = (4 + n + 3) & ~3u;

	memset(to, 0, 4 + len);
	memcpy(to, &len, 4);
	memcpy(to + 4, &id, 4);
	memcpy(to + 8, bytes, n);
	return 4 + len;
}

static size_t fde(uint8_t *sec, size_t at, size_t cie, uint32_t start, const char *insn, size_t n)
{
	char b[64];
	uint32_t len = 0x100;

	memcpy(b, &start, 4);
	memcpy(b + 4, &len, 4);
	b[8] = 0;
	memcpy(b + 9, insn, n);
	return at + entry(sec + at, at + 4 - cie, b, 9 + n);
}
#define FDE(at, cie, start, insn) fde(sec, at, cie, start, insn, sizeof(insn) - 1)

static void tables_make(struct uwmem *m)
{
	struct utable_mapping v = {CODE, CODE + 0x10000, CODE, UW_MAP_FILE, 0};
	uint8_t sec[1024];
	struct ehframe_section s = {.data = sec, .vaddr = VADDR};
	struct ehframe_table t;
	size_t n, sig;

	/* "zR", udata4, absolute */
	n = entry(sec, 0, "\x01zR\0\x04\x78\x1e\x01\x03\x0c\x1f\x00", 12);
	n = FDE(n, 0, 0x1000, "");				   /* a leaf without a frame */
	n = FDE(n, 0, 0x2000, "\x2d\x41\x0e\x20\x9d\x04\x9e\x03"); /* signs; at +4: sp + 32 */
	n = FDE(n, 0, 0x3000, "\x0c\x1d\x10\x9d\x02\x9e\x01");	   /* by x29 */
	n = FDE(n, 0, 0x4000, "\x07\x1e");			   /* the start */
	sig = n;
	n += entry(sec + n, 0, "\x01zRS\0\x04\x78\x1e\x01\x03", 10);
	n = FDE(n, sig, 0x5000, "");
	s.len = n;
	assert_int_equal(ehframe_compile(&s, 0, &t), 0);
	assert_int_equal(t.nfdes, 5);
	assert_int_equal(utable_file_add(m->u, "k", 1, &t, &v.arg), 0);
	assert_int_equal(utable_proc_set(m->u, 1, &v, 1, 1), 0);
	ehframe_free(&t);
}

static void expect_frame(const struct uw_state *s, uint32_t i, uint64_t off, uint32_t flags)
{
	assert_true(i < s->n);
	assert_int_equal(gn_frame_addr(&s->frames[i]), CODE + off);
	assert_int_equal(gn_frame_flags(&s->frames[i]), flags);
}

/*
 * Interrupted in a leaf, below it a handler with a signed return address, the kernel's signal
 * frame, the leaf it interrupted, a function with a frame record, the thread's start.
 */
static void test_arm64_walk(void **state)
{
	const uint64_t sign = 0x005a000000000000ULL, sigframe = STACK + 32;
	struct uw_state *s = calloc(1, sizeof(*s));
	struct world w = {.m = uwmem_new(1)};
	struct uw_env env = {&w, world_read, &w.m->proc, world_page, world_rule};
	uint64_t *mc;

	tables_make(w.m);
	w.stack[0] = 0x1234;				   /* the handler's x29 */
	w.stack[1] = sign | (CODE + 0x5004);		   /* back to the trampoline */
	mc = w.stack + (sigframe - STACK + 128 + 176) / 8; /* struct sigcontext */
	mc[1 + 29] = STACK + 1024;			   /* x29 of what was interrupted */
	mc[1 + 30] = CODE + 0x3010;			   /* its link register */
	mc[1 + 31] = STACK + 1000 - 1000 % 16;		   /* sp */
	mc[1 + 32] = CODE + 0x1008;			   /* pc: a leaf */
	w.stack[1024 / 8] = 0;
	w.stack[1024 / 8 + 1] = sign | (CODE + 0x4008);

	uw_begin(s, 1, GN_MAX_FRAMES);
	s->pc = CODE + 0x1004;
	s->sp = STACK;
	s->reg[UW_LR] = CODE + 0x2010;
	s->leaf = 1;
	uw_walk(s, &env);
	assert_int_equal(s->end, GN_END_COMPLETE);
	assert_int_equal(s->n, 6);
	assert_int_equal(s->signals, 1);
	expect_frame(s, 0, 0x1004, 0);
	expect_frame(s, 1, 0x2010, GN_FF_RETADDR);
	expect_frame(s, 2, 0x5004, GN_FF_RETADDR);
	expect_frame(s, 3, 0x1008, 0);
	expect_frame(s, 4, 0x3010, GN_FF_RETADDR);
	expect_frame(s, 5, 0x4008, GN_FF_RETADDR);
	free(s);
	uwmem_free(w.m);
}

/* Without a frame and not a leaf: the return address cannot still be in the link register. */
static void test_arm64_no_loop(void **state)
{
	struct uw_state *s = calloc(1, sizeof(*s));
	struct world w = {.m = uwmem_new(1)};
	struct uw_env env = {&w, world_read, &w.m->proc, world_page, world_rule};

	tables_make(w.m);
	uw_begin(s, 1, GN_MAX_FRAMES);
	s->pc = CODE + 0x1004;
	s->sp = STACK;
	s->reg[UW_LR] = CODE + 0x1004; /* into itself */
	s->leaf = 1;
	uw_walk(s, &env);
	assert_int_equal(s->end, GN_END_NORULE);
	assert_int_equal(s->n, 2);
	free(s);
	uwmem_free(w.m);
}

/* What HotSpot compiled has no rules here, and may have anything in x29: the stack ends. */
static void test_arm64_java(void **state)
{
	struct utable_mapping v = {CODE, CODE + 0x10000, CODE, UW_MAP_HOTSPOT, 0};
	struct uw_state *s = calloc(1, sizeof(*s));
	struct world w = {.m = uwmem_new(1)};
	struct uw_env env = {&w, world_read, &w.m->proc, world_page, world_rule};

	assert_int_equal(utable_proc_set(w.m->u, 1, &v, 1, 1), 0);
	w.stack[64 / 8 + 1] = CODE + 0x100; /* a frame record, as it were */
	uw_begin(s, 1, GN_MAX_FRAMES);
	s->pc = CODE + 0x1004;
	s->sp = STACK;
	s->fp = STACK + 64;
	s->leaf = 1;
	uw_walk(s, &env);
	assert_int_equal(s->end, GN_END_NORULE);
	assert_int_equal(s->n, 1);
	expect_frame(s, 0, 0x1004, 0);
	free(s);
	uwmem_free(w.m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arm64_walk),
		cmocka_unit_test(test_arm64_no_loop),
		cmocka_unit_test(test_arm64_java),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
