/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The aarch64 rules, on any machine: the same sources with UW_ARM64, over stacks made by hand, and
 * over one that a program for aarch64 saved (tools/stacks/arm64.c).
 */
#define UW_ARM64
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "user/sym/ehframe.c"
#include "user/capture/utable.c"
#include "user/wire/rules.c"

#include "savedstack.h"
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
	struct unwind_mapping v = {CODE, CODE + 0x10000, CODE, UW_MAP_FILE, 0};
	uint8_t sec[1024];
	struct ehframe_section s = {.data = sec, .vaddr = VADDR};
	struct unwind_table t;
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
	expect_frame(s, 2, 0x5004, 0); /* nobody has called it */
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
	struct unwind_mapping v = {CODE, CODE + 0x10000, CODE, UW_MAP_HOTSPOT, 0};
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

/* ---- a saved stack ----------------------------------------------------------------------------
 */

struct program {
	struct uwelf elf;
	struct saved saved;
	struct uwmem *m;
	uint8_t *stack;
};

static const struct uw_page *program_page(void *ctx, __u32 file, __u32 page)
{
	return uwmem_get_page(((struct program *)ctx)->m, file, page);
}

static const struct uw_rule *program_rule(void *ctx, __u32 rule)
{
	return uwmem_get_rule(((struct program *)ctx)->m, rule);
}

static int program_read(void *ctx, __u64 addr, void *dst, __u32 len)
{
	return saved_read(&((struct program *)ctx)->saved, addr, dst, len);
}

/* The function that addr is in, "" none. */
static const char *program_function(const struct program *p, uint64_t addr)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(p->elf.elf, scn))) {
		Elf_Data *d = elf_getdata(scn, NULL);
		GElf_Shdr sh;
		GElf_Sym sym;

		gelf_getshdr(scn, &sh);
		for (int i = 0; sh.sh_type == SHT_SYMTAB && gelf_getsym(d, i, &sym); i++)
			if (GELF_ST_TYPE(sym.st_info) == STT_FUNC &&
			    addr - sym.st_value < sym.st_size)
				return elf_strptr(p->elf.elf, sh.sh_link, sym.st_name);
	}
	return "";
}

static void program_open(struct program *p)
{
	struct unwind_mapping v = {.kind = UW_MAP_FILE};
	struct unwind_table t;
	GElf_Phdr ph;
	size_t len, n;

	p->m = uwmem_new(1);
	p->stack = uwelf_slurp("tests/data/stacks/arm64.stack", &len);
	assert_non_null(p->stack);
	assert_int_equal(saved_open(&p->saved, p->stack, len), 0);
	assert_int_equal(p->saved.machine, EM_AARCH64);
	assert_int_equal(uwelf_open(&p->elf, uwelf_slurp("tests/data/stacks/arm64.elf", &len), len),
			 0);
	assert_int_equal(elf_getphdrnum(p->elf.elf, &n), 0);
	while (n-- && gelf_getphdr(p->elf.elf, (int)n, &ph))
		if (ph.p_type == PT_LOAD && ph.p_flags & PF_X) {
			v.start = ph.p_vaddr;
			v.end = ph.p_vaddr + ph.p_memsz;
		}
	assert_int_equal(ehframe_compile(&p->elf.eh, 0, &t), 0);
	assert_int_equal(t.skipped, 0);
	assert_int_equal(utable_file_add(p->m->u, "k", 1, &t, &v.arg), 0);
	assert_int_equal(utable_proc_set(p->m->u, 1, &v, 1, 1), 0);
	ehframe_free(&t);
}

static void program_close(struct program *p)
{
	uwelf_close(&p->elf);
	uwmem_free(p->m);
	free(p->stack);
}

static void program_walk(struct program *p, struct uw_state *s)
{
	struct uw_env env = {p, program_read, &p->m->proc, program_page, program_rule};
	struct saved_section h;
	const uint8_t *regs = saved_find(&p->saved, "REGS", 0, &h);
	uint64_t r[33];

	assert_non_null(regs);
	assert_int_equal(h.len, sizeof(r));
	memcpy(r, regs, sizeof(r));
	uw_begin(s, 1, GN_MAX_FRAMES);
	memcpy(s->reg, r, UW_NREG * sizeof(r[0]));
	s->fp = r[UW_FP];
	s->sp = r[UW_SP];
	s->pc = r[32];
	s->leaf = 1;
	uw_walk(s, &env);
}

/* What the program does, from its text: not what the walk said. */
static void test_arm64_saved(void **state)
{
	static const char *const chain[] = {"dump",  "handler", "", /* the emulator's trampoline */
					    "leaf",  "plain",	"large", "variable",
					    "begin", "_start"};
	struct uw_state *s = calloc(1, sizeof(*s));
	struct program *p = calloc(1, sizeof(*p));
	uint32_t i, n = sizeof(chain) / sizeof(chain[0]);

	program_open(p);
	program_walk(p, s);
	assert_int_equal(s->end, GN_END_COMPLETE);
	for (i = 0; i < n && i < s->n; i++) {
		uint32_t flags = gn_frame_flags(&s->frames[i]);

		/* neither a guess nor a frame pointer; what was interrupted has no return address,
		 * nor has the trampoline
		 */
		assert_int_equal(flags, i == 0 || i == 2 || i == 3 ? 0 : GN_FF_RETADDR);
		assert_string_equal(
			program_function(p, gn_frame_addr(&s->frames[i]) - (flags ? 1 : 0)),
			chain[i]);
	}
	assert_int_equal(s->n, n);
	assert_int_equal(s->signals, 1);
	program_close(p);
	free(p);
	free(s);
}

/* Bytes of it lost: the walk ends with a reason, and what it passed before is right. */
static void test_arm64_saved_cut(void **state)
{
	struct uw_state *whole = calloc(1, sizeof(*whole)), *s = calloc(1, sizeof(*s));
	struct program *p = calloc(1, sizeof(*p));
	uint32_t full;

	program_open(p);
	program_walk(p, whole);
	full = p->saved.mem[0].len;
	assert_true(full > 2 * UW_WINDOW);
	for (uint32_t len = 0; len < full; len += UW_WINDOW) {
		p->saved.mem[0].len = len;
		program_walk(p, s);
		assert_int_equal(s->end, GN_END_BADADDR);
		assert_true(s->n < whole->n);
		assert_memory_equal(s->frames, whole->frames, s->n * sizeof(s->frames[0]));
	}
	program_close(p);
	free(p);
	free(s);
	free(whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arm64_walk),	cmocka_unit_test(test_arm64_no_loop),
		cmocka_unit_test(test_arm64_java),	cmocka_unit_test(test_arm64_saved),
		cmocka_unit_test(test_arm64_saved_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
