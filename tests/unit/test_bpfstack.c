/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stack of the BPF programs, added up along every chain of calls as the oldest kernel that they
 * are for adds it up (check_max_stack_depth(), kernel/bpf/verifier.c of Linux 6.1): each function's
 * rounded up to 32 bytes (to 16 since 6.9, round_up_stack_depth(): for programs that find tasks by
 * pid, which take 6.10), 512 in all, at most eight functions deep, and at most 256 above one that
 * is called and itself calls another program. And the flow of each function, as that kernel follows
 * it (check_cfg()): a loop's first instruction may be reached again by jumps alone, and not by
 * running into it. Newer kernels allow more, so that what is refused there loads here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <gelf.h>
#include <linux/bpf.h>

#include "gnomon.skel.h"

#define STACK_MAX     512
#define TAIL_CALL_MAX 256
#define DEPTH_MAX     8
#define FUNCTIONS_MAX 1024
#define CALLS_MAX     64
#define ROUND(n, to)  (((n) + (to)-1) / (to) * (to))

#ifndef R_BPF_64_64
#define R_BPF_64_64 1
#endif
#ifndef R_BPF_64_32
#define R_BPF_64_32 10
#endif

struct function {
	const char *name;
	size_t section;
	uint64_t at; /* in bytes, in its section */
	const struct bpf_insn *insns;
	size_t n;
	int stack; /* bytes */
	bool tail_calls;
	bool is_program;
	struct function *calls[CALLS_MAX];
	size_t ncalls;
};

static struct function functions[FUNCTIONS_MAX];
static size_t nfunctions;
static Elf *elf;

static struct function *function_at(size_t section, uint64_t at)
{
	for (size_t i = 0; i < nfunctions; i++) {
		if (functions[i].section == section && at >= functions[i].at &&
		    at < functions[i].at + functions[i].n * sizeof(struct bpf_insn))
			return &functions[i];
	}
	return NULL;
}

static void call_add(struct function *f, struct function *to)
{
	for (size_t i = 0; i < f->ncalls; i++) {
		if (f->calls[i] == to)
			return;
	}
	assert_true(f->ncalls < CALLS_MAX);
	f->calls[f->ncalls++] = to;
}

/* ---- one function ---- */

static bool is_access(const struct bpf_insn *in)
{
	__u8 class = BPF_CLASS(in->code);

	return class == BPF_LDX || class == BPF_ST || class == BPF_STX;
}

static void stack_reaches(struct function *f, int offset)
{
	if (-offset > f->stack)
		f->stack = -offset;
}

/* How far below the frame pointer it reaches: by loads and stores, and by addresses made of it. */
static void stack_measure(struct function *f)
{
	bool is_frame[16] = {[BPF_REG_10] = true};

	for (size_t i = 0; i < f->n; i++) {
		const struct bpf_insn *in = &f->insns[i];
		__u8 base = BPF_CLASS(in->code) == BPF_LDX ? in->src_reg : in->dst_reg;

		if (is_access(in) && base == BPF_REG_10)
			stack_reaches(f, in->off);
		if (in->code == (BPF_ALU64 | BPF_MOV | BPF_X))
			is_frame[in->dst_reg] = in->src_reg == BPF_REG_10;
		else if (in->code == (BPF_ALU64 | BPF_ADD | BPF_K) && is_frame[in->dst_reg])
			stack_reaches(f, in->imm);
		if (in->code == (BPF_JMP | BPF_CALL) && !in->src_reg &&
		    in->imm == BPF_FUNC_tail_call)
			f->tail_calls = true;
	}
}

/* Calls within a section have no relocation. */
static void calls_near(struct function *f)
{
	for (size_t i = 0; i < f->n; i++) {
		const struct bpf_insn *in = &f->insns[i];
		struct function *to;

		if (in->code != (BPF_JMP | BPF_CALL) || in->src_reg != BPF_PSEUDO_CALL ||
		    in->imm == -1)
			continue;
		to = function_at(f->section, f->at + (i + 1 + in->imm) * sizeof(*in));
		if (to)
			call_add(f, to);
	}
}

/* ---- the object ---- */

static void function_add(const GElf_Sym *sym, const char *name, const char *section)
{
	struct function *f = &functions[nfunctions];
	Elf_Data *d = elf_getdata(elf_getscn(elf, sym->st_shndx), NULL);

	assert_non_null(d);
	assert_true(sym->st_value + sym->st_size <= d->d_size);
	assert_true(nfunctions++ < FUNCTIONS_MAX);
	f->name = name;
	f->section = sym->st_shndx;
	f->at = sym->st_value;
	f->insns = (const void *)((const char *)d->d_buf + sym->st_value);
	f->n = sym->st_size / sizeof(struct bpf_insn);
	f->is_program = strcmp(section, ".text");
	stack_measure(f);
}

static const char *section_name(size_t index)
{
	size_t strings;
	GElf_Shdr h;

	assert_int_equal(elf_getshdrstrndx(elf, &strings), 0);
	assert_non_null(gelf_getshdr(elf_getscn(elf, index), &h));
	return elf_strptr(elf, strings, h.sh_name);
}

static void functions_find(Elf_Data *symbols, const GElf_Shdr *h)
{
	GElf_Sym sym;

	for (int i = 0; gelf_getsym(symbols, i, &sym); i++) {
		if (GELF_ST_TYPE(sym.st_info) == STT_FUNC && sym.st_shndx != SHN_UNDEF)
			function_add(&sym, elf_strptr(elf, h->sh_link, sym.st_name),
				     section_name(sym.st_shndx));
	}
}

/* A call of another section's function, or its address for a helper that calls it back. */
static void relocation_take(const GElf_Rel *r, size_t section, Elf_Data *symbols)
{
	struct function *f = function_at(section, r->r_offset), *to;
	const struct bpf_insn *in;
	uint64_t at;
	GElf_Sym sym;

	if (!f || !gelf_getsym(symbols, GELF_R_SYM(r->r_info), &sym) || sym.st_shndx == SHN_UNDEF ||
	    sym.st_shndx >= SHN_LORESERVE)
		return;
	in = &f->insns[(r->r_offset - f->at) / sizeof(*in)];
	at = sym.st_value;
	if (GELF_ST_TYPE(sym.st_info) == STT_SECTION)
		at += GELF_R_TYPE(r->r_info) == R_BPF_64_32
			      ? (uint64_t)((int64_t)in->imm + 1) * sizeof(*in)
			      : (uint64_t)in->imm;
	to = function_at(sym.st_shndx, at);
	if (to && !to->is_program)
		call_add(f, to);
}

static void object_read(void)
{
	Elf_Data *symbols = NULL, *d;
	Elf_Scn *s = NULL;
	GElf_Shdr h;
	GElf_Rel r;
	size_t size;
	const void *bytes = gnomon__elf_bytes(&size);

	elf_version(EV_CURRENT);
	elf = elf_memory((char *)bytes, size);
	assert_non_null(elf);
	while ((s = elf_nextscn(elf, s)) && gelf_getshdr(s, &h)) {
		if (h.sh_type != SHT_SYMTAB)
			continue;
		symbols = elf_getdata(s, NULL);
		functions_find(symbols, &h);
	}
	assert_non_null(symbols);
	for (s = NULL; (s = elf_nextscn(elf, s)) && gelf_getshdr(s, &h);) {
		if (h.sh_type != SHT_REL)
			continue;
		d = elf_getdata(s, NULL);
		for (int i = 0; gelf_getrel(d, i, &r); i++)
			relocation_take(&r, h.sh_info, symbols);
	}
	for (size_t i = 0; i < nfunctions; i++)
		calls_near(&functions[i]);
}

/* ---- the chains ---- */

struct chain {
	const struct function *at[DEPTH_MAX + 1];
	size_t n;
	int deepest;
	int round; /* to so many bytes */
};

static int rounded(const struct chain *c, const struct function *f)
{
	return ROUND(f->stack || c->round == 16 ? f->stack : 1, c->round);
}

/* Is it loaded in newer kernels alone? kern/remote.bpf.c */
static bool finds_by_pid(const struct function *f)
{
	return !strcmp(f->name, "remote_tick") || !strcmp(f->name, "lock_tick") ||
	       !strcmp(f->name, "switch_visit");
}

static void chain_print(const struct chain *c, const char *what)
{
	print_message("%s:", what);
	for (size_t i = 0; i < c->n; i++)
		print_message(" %s (%d)", c->at[i]->name, c->at[i]->stack);
	print_message("\n");
}

static void chain_follow(struct chain *c, const struct function *f, int above)
{
	int stack = above + rounded(c, f);

	if (c->n >= DEPTH_MAX) {
		chain_print(c, "more functions than a chain may have");
		fail();
	}
	c->at[c->n++] = f;
	if (stack > STACK_MAX || (c->n > 1 && f->tail_calls && above >= TAIL_CALL_MAX)) {
		chain_print(c, stack > STACK_MAX ? "more stack than there is"
						 : "too much stack above another program's call");
		fail();
	}
	if (stack > c->deepest)
		c->deepest = stack;
	for (size_t i = 0; i < f->ncalls; i++)
		chain_follow(c, f->calls[i], stack);
	c->n--;
}

/* ---- the flow ---- */

#define INSNS_MAX 65536

enum { NEW, ON_PATH, DONE };

/* Edges are followed in the kernel's order, since it depends on that what is on the path. */
struct flow {
	const struct function *of;
	uint8_t state[INSNS_MAX], edges[INSNS_MAX]; /* of each instruction: how many are followed */
	uint32_t path[INSNS_MAX];
	size_t depth;
};

/* Where the instruction's `edge`th edge goes; -1: it has no more. *jump: a loop may end with it. */
static long edge_of(const struct bpf_insn *in, size_t at, int edge, bool *jump)
{
	__u8 class = BPF_CLASS(in->code), op = BPF_OP(in->code);

	*jump = false;
	if (class != BPF_JMP && class != BPF_JMP32)
		return edge ? -1 : (long)at + 1;
	if (op == BPF_EXIT)
		return -1;
	if (op == BPF_CALL)
		return edge ? -1 : (long)at + 1;
	*jump = true;
	if (op == BPF_JA)
		return edge ? -1 : (long)at + 1 + in->off;
	return edge == 0 ? (long)at + 1 : edge == 1 ? (long)at + 1 + in->off : -1;
}

/* 0; 1: there is a loop that an old kernel refuses. */
static int flow_follow(struct flow *f)
{
	memset(f->state, NEW, f->of->n);
	memset(f->edges, 0, f->of->n);
	f->state[0] = ON_PATH;
	f->path[0] = 0;
	f->depth = 1;
	while (f->depth) {
		uint32_t at = f->path[f->depth - 1];
		bool jump;
		long to = edge_of(&f->of->insns[at], at, f->edges[at]++, &jump);

		if (to < 0) {
			f->state[at] = DONE;
			f->depth--;
			continue;
		}
		assert_true((size_t)to < f->of->n);
		if (f->state[to] == NEW) {
			f->state[to] = ON_PATH;
			f->path[f->depth++] = (uint32_t)to;
		} else if (f->state[to] == ON_PATH && !jump) {
			print_message("%s: back-edge from %u to %ld\n", f->of->name, at, to);
			return 1;
		}
	}
	return 0;
}

static void test_flow(void **state)
{
	static struct flow f;
	int refused = 0;

	for (size_t i = 0; i < nfunctions; i++) {
		assert_in_range(functions[i].n, 1, INSNS_MAX);
		f.of = &functions[i];
		refused += flow_follow(&f);
	}
	assert_int_equal(refused, 0);
}

static void test_stack(void **state)
{
	struct chain c = {0};
	unsigned int programs = 0;

	for (size_t i = 0; i < nfunctions; i++) {
		if (!functions[i].is_program)
			continue;
		c.deepest = 0;
		c.round = finds_by_pid(&functions[i]) ? 16 : 32;
		chain_follow(&c, &functions[i], 0);
		print_message("%-24s %3d bytes\n", functions[i].name, c.deepest);
		programs++;
	}
	assert_true(programs >= 10);
}

/* The check sees what there is: functions that are called, and those with a stack of their own. */
static void test_sees(void **state)
{
	unsigned int calls = 0, deep = 0;

	for (size_t i = 0; i < nfunctions; i++) {
		calls += functions[i].ncalls;
		deep += functions[i].stack > 64;
	}
	assert_true(calls > 50);
	assert_true(deep > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sees),
		cmocka_unit_test(test_stack),
		cmocka_unit_test(test_flow),
	};

	object_read();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
