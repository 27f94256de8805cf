/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call frame information: hand-made entries whose rows follow from the DWARF standard, and whole
 * files against binutils' readelf, an independent interpreter.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <glob.h>
#include <sys/wait.h>
#include <time.h>

#include "uwmem.h"

/* ---- a small assembler ---- */

#define BASE  0x1000ULL /* of code */
#define VADDR 0x9000ULL /* of the section */

struct asmb {
	uint8_t b[8192];
	size_t n;
	size_t cie;
	struct ehframe_section sec;
};

static void put(struct asmb *a, uint64_t v, size_t n)
{
	assert_true(a->n + n <= sizeof(a->b));
	memcpy(a->b + a->n, &v, n);
	a->n += n;
}

static void put_bytes(struct asmb *a, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		put(a, (uint8_t)s[i], 1);
}

static size_t entry_start(struct asmb *a)
{
	put(a, 0, 4);
	return a->n;
}

static void entry_end(struct asmb *a, size_t start)
{
	uint32_t len;

	while (a->n % 8)
		put(a, 0, 1); /* DW_CFA_nop */
	len = a->n - start;
	memcpy(a->b + start - 4, &len, 4);
}

/* aug e.g. "zR"; its data follow; the usual x86_64 first row: CFA = rsp + 8, ra at CFA - 8 */
static void cie_full(struct asmb *a, const char *aug, const char *data, size_t ndata)
{
	size_t s = entry_start(a);

	a->cie = s - 4;
	put(a, 0, 4);
	put(a, 1, 1);
	put_bytes(a, aug, strlen(aug) + 1);
	put(a, 1, 1);	 /* code alignment */
	put(a, 0x78, 1); /* data alignment -8 */
	put(a, 16, 1);	 /* return address column */
	if (*aug == 'z')
		put(a, ndata, 1);
	put_bytes(a, data, ndata);
	put_bytes(a, "\x0c\x07\x08\x90\x01", 5);
	entry_end(a, s);
}

#define ENC_PCREL_SDATA4 "\x1b"

static void cie(struct asmb *a)
{
	cie_full(a, "zR", ENC_PCREL_SDATA4, 1);
}

static void fde(struct asmb *a, uint64_t start, uint32_t len, const char *insn, size_t n)
{
	size_t s = entry_start(a);

	put(a, s - a->cie, 4);
	put(a, start - (VADDR + a->n), 4);
	put(a, len, 4);
	put(a, 0, 1);
	put_bytes(a, insn, n);
	entry_end(a, s);
}
#define FDE(a, start, len, s) fde(a, start, len, s, sizeof(s) - 1)

static struct unwind_table compiled(struct asmb *a)
{
	struct unwind_table t;

	a->sec = (struct ehframe_section){.data = a->b, .len = a->n, .vaddr = VADDR};
	assert_int_equal(ehframe_compile(&a->sec, BASE, &t), 0);
	return t;
}

static const struct uw_rule *at(const struct unwind_table *t, uint64_t addr)
{
	return ehframe_rule(t, addr - BASE);
}

static void expect_cfa(const struct uw_rule *r, int kind, int reg, int off)
{
	assert_int_equal(r->cfa, kind);
	assert_int_equal(r->cfa_reg, reg);
	assert_int_equal(r->cfa_off, off);
}

/* push rbp; mov rsp,rbp; ...; pop: the prologue every compiler writes */
static void test_prologue(void **state)
{
	struct asmb a = {.n = 0};
	struct unwind_table t;

	cie(&a);
	FDE(&a, 0x1100, 0x40,
	    "\x41\x0e\x10\x86\x02" /* +1 def_cfa_offset 16, rbp at cfa-16 */
	    "\x43\x0d\x06"	   /* +3 def_cfa_register rbp */
	    "\x02\x38\x0c\x07\x08" /* +0x38 def_cfa rsp+8 */);
	t = compiled(&a);
	assert_int_equal(t.nfdes, 1);
	assert_int_equal(t.skipped, 0);
	assert_false(t.damaged);
	assert_int_equal(at(&t, 0x10ff)->cfa, UW_CFA_NONE);
	expect_cfa(at(&t, 0x1100), UW_CFA_REG, UW_RSP, 8);
	assert_int_equal(at(&t, 0x1100)->fp, UW_SAME);
	assert_int_equal(at(&t, 0x1100)->ra, UW_CFA);
	assert_int_equal(at(&t, 0x1100)->ra_off, -8);
	expect_cfa(at(&t, 0x1101), UW_CFA_REG, UW_RSP, 16);
	assert_int_equal(at(&t, 0x1101)->fp, UW_CFA);
	assert_int_equal(at(&t, 0x1101)->fp_off, -16);
	expect_cfa(at(&t, 0x1103), UW_CFA_REG, UW_RSP, 16);
	expect_cfa(at(&t, 0x1104), UW_CFA_REG, UW_RBP, 16);
	expect_cfa(at(&t, 0x113b), UW_CFA_REG, UW_RBP, 16);
	expect_cfa(at(&t, 0x113c), UW_CFA_REG, UW_RSP, 8);
	assert_int_equal(at(&t, 0x113c)->fp, UW_CFA); /* never restored above */
	assert_int_equal(at(&t, 0x1140)->cfa, UW_CFA_NONE);
	ehframe_free(&t);
}

static void test_remember_restore(void **state)
{
	struct asmb a = {.n = 0};
	struct unwind_table t;

	cie(&a);
	FDE(&a, 0x1100, 0x40,
	    "\x41\x0e\x20\x86\x03\x0a" /* +1 cfa 32, rbp at -24, remember */
	    "\x44\x0e\x08\xc6"	       /* +4 cfa 8, restore rbp */
	    "\x41\x0b" /* +1 restore state */);
	t = compiled(&a);
	expect_cfa(at(&t, 0x1102), UW_CFA_REG, UW_RSP, 32);
	expect_cfa(at(&t, 0x1105), UW_CFA_REG, UW_RSP, 8);
	assert_int_equal(at(&t, 0x1105)->fp, UW_SAME);
	expect_cfa(at(&t, 0x1106), UW_CFA_REG, UW_RSP, 32);
	assert_int_equal(at(&t, 0x1106)->fp, UW_CFA);
	assert_int_equal(at(&t, 0x1106)->fp_off, -24);
	ehframe_free(&t);
}

static void test_expressions(void **state)
{
	struct asmb a = {.n = 0};
	struct unwind_table t;

	cie(&a);
	/* the lazy PLT's: rsp + 8 + ((rip & 15) >= 11 ? 8 : 0) */
	FDE(&a, 0x1100, 0x10, "\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22");
	/* gcc's realigned stack: *(rbp - 8); rbp itself at rbp + 0 */
	FDE(&a, 0x1110, 0x10, "\x0f\x03\x76\x78\x06\x10\x06\x02\x76\x00");
	/* OpenSSL's: *(rsp + 40) + 8 */
	FDE(&a, 0x1120, 0x10, "\x0f\x05\x77\x28\x06\x23\x08");
	/* something else: rsp * rsp */
	FDE(&a, 0x1130, 0x10, "\x0f\x05\x77\x00\x77\x00\x1e");
	/* rbp at rsp + 8 while the CFA is rsp + 32: at CFA - 24 */
	FDE(&a, 0x1140, 0x10, "\x0e\x20\x10\x06\x02\x77\x08");
	t = compiled(&a);
	expect_cfa(at(&t, 0x1100), UW_CFA_PLT, UW_RSP, 11);
	expect_cfa(at(&t, 0x1110), UW_CFA_DEREF, UW_RBP, -8);
	assert_int_equal(at(&t, 0x1110)->cfa_add, 0);
	assert_int_equal(at(&t, 0x1110)->fp, UW_AT);
	assert_int_equal(at(&t, 0x1110)->fp_off, 0);
	expect_cfa(at(&t, 0x1120), UW_CFA_DEREF, UW_RSP, 40);
	assert_int_equal(at(&t, 0x1120)->cfa_add, 8);
	assert_int_equal(at(&t, 0x1130)->cfa, UW_CFA_NONE);
	assert_int_equal(at(&t, 0x1140)->fp, UW_CFA);
	assert_int_equal(at(&t, 0x1140)->fp_off, -24);
	ehframe_free(&t);
}

static void test_return_address(void **state)
{
	struct asmb a = {.n = 0};
	struct unwind_table t;

	cie(&a);
	FDE(&a, 0x1100, 0x10, "\x07\x10");	       /* undefined: the thread's start */
	FDE(&a, 0x1110, 0x10, "\x0e\x00\x09\x10\x05"); /* vfork: in rdi, CFA = rsp */
	FDE(&a, 0x1120, 0x10, "\x08\x10");	       /* unchanged: impossible on x86 */
	FDE(&a, 0x1130, 0x10, "\x2f\x06\x03");	       /* GNU: rbp at CFA + 24 */
	FDE(&a, 0x1140, 0x10, "\x11\x06\x7d");	       /* rbp at CFA + (-3 * -8) */
	FDE(&a, 0x1150, 0x10, "\x2e\x10\x0e\x18");     /* args_size is nothing to us */
	cie_full(&a, "zRS", ENC_PCREL_SDATA4, 1);
	FDE(&a, 0x1160, 0x10, "");
	t = compiled(&a);
	assert_int_equal(t.rows[0].key, 0);
	assert_int_equal(at(&t, 0x1100)->cfa, UW_CFA_STOP);
	assert_int_equal(at(&t, 0x1110)->ra, UW_INREG);
	assert_int_equal(at(&t, 0x1110)->ra_off, UW_RDI);
	assert_int_equal(at(&t, 0x1120)->cfa, UW_CFA_NONE);
	assert_int_equal(at(&t, 0x1130)->fp_off, 24);
	assert_int_equal(at(&t, 0x1140)->fp_off, 24);
	expect_cfa(at(&t, 0x1150), UW_CFA_REG, UW_RSP, 24);
	assert_int_equal(at(&t, 0x1160)->cfa, UW_CFA_SIGNAL);
	ehframe_free(&t);
}

/* What a file says may be anything: the smallest number there is has no opposite. */
static void test_offset_overflow(void **state)
{
	struct asmb a = {.n = 0};
	struct unwind_table t;

	cie(&a);
	/* rbp at CFA - (2^60 * -8) = CFA + 2^63 */
	FDE(&a, 0x1100, 0x10, "\x2f\x06\x80\x80\x80\x80\x80\x80\x80\x80\x10");
	t = compiled(&a);
	assert_int_not_equal(at(&t, 0x1100)->fp, UW_CFA);
	ehframe_free(&t);
}

/* Gaps of alignment belong to the function before, larger ones have no rule, overlaps are cut. */
static void test_layout(void **state)
{
	struct asmb a = {.n = 0};
	struct unwind_table t;

	cie(&a);
	FDE(&a, 0x1200, 0x20, "\x0e\x18"); /* not in order */
	FDE(&a, 0x1100, 0x08, "\x0e\x10");
	FDE(&a, 0x1110, 0x08, "\x0e\x10"); /* 8 bytes on */
	FDE(&a, 0x1210, 0x20, "\x0e\x28"); /* starts inside the first */
	FDE(&a, 0x0800, 0x10, "\x0e\x28"); /* below the base */
	t = compiled(&a);
	assert_int_equal(t.skipped, 1);
	/* none | 16 (merged over the padding) | none | 24 | 40 | none */
	assert_int_equal(t.n, 6);
	expect_cfa(at(&t, 0x110a), UW_CFA_REG, UW_RSP, 16);
	assert_int_equal(at(&t, 0x1118)->cfa, UW_CFA_NONE);
	expect_cfa(at(&t, 0x120f), UW_CFA_REG, UW_RSP, 24);
	expect_cfa(at(&t, 0x1210), UW_CFA_REG, UW_RSP, 40);
	assert_int_equal(at(&t, 0x1230)->cfa, UW_CFA_NONE);
	ehframe_free(&t);
}

/* The same list without its rules: sorted, and what overlaps belongs to the later one. */
static void test_functions(void **state)
{
	struct asmb a = {.n = 0};
	struct ehframe_function *v;
	size_t n;

	cie(&a);
	FDE(&a, 0x1200, 0x20, "\x0e\x18"); /* not in order */
	FDE(&a, 0x1100, 0x08, "\x0e\x10");
	FDE(&a, 0x1210, 0x20, "\x0e\x28"); /* starts inside the first */
	FDE(&a, 0x1100, 0x08, "\x0e\x10"); /* twice */
	FDE(&a, 0x0800, 0x10, "\x0e\x28"); /* below the base */
	FDE(&a, 0x1300, 0, "\x0e\x28");
	a.sec = (struct ehframe_section){.data = a.b, .len = a.n, .vaddr = VADDR};
	assert_int_equal(ehframe_functions(&a.sec, BASE, &v, &n), 0);
	assert_int_equal(n, 3);
	assert_int_equal(v[0].start, 0x100);
	assert_int_equal(v[0].end, 0x108);
	assert_int_equal(v[1].start, 0x200);
	assert_int_equal(v[1].end, 0x210);
	assert_int_equal(v[2].start, 0x210);
	assert_int_equal(v[2].end, 0x230);
	free(v);
	a.sec.len = 0;
	assert_int_equal(ehframe_functions(&a.sec, BASE, &v, &n), 0);
	assert_int_equal(n, 0);
	assert_null(v);
}

/* An FDE with a full-width address, no 'z', and a .debug_frame. */
static void test_encodings(void **state)
{
	struct asmb a = {.n = 0};
	struct unwind_table t;
	size_t s;

	cie_full(&a, "", "", 0);
	s = entry_start(&a);
	put(&a, s - a.cie, 4);
	put(&a, 0x1100, 8);
	put(&a, 0x10, 8);
	put_bytes(&a, "\x0e\x30", 2);
	entry_end(&a, s);
	cie_full(&a, "zPLR", "\x9b\0\0\0\0\x1b\x0b", 7); /* sdata4, absolute */
	s = entry_start(&a);
	put(&a, s - a.cie, 4);
	put(&a, 0x1200, 4);
	put(&a, 0x10, 4);
	put_bytes(&a, "\x04\x01\x02\x03\x04\x0e\x38", 7);
	entry_end(&a, s);
	t = compiled(&a);
	assert_int_equal(t.skipped, 0);
	expect_cfa(at(&t, 0x1100), UW_CFA_REG, UW_RSP, 48);
	expect_cfa(at(&t, 0x1200), UW_CFA_REG, UW_RSP, 56);
	ehframe_free(&t);
}

static void test_debug_frame(void **state)
{
	struct asmb a = {.n = 0};
	struct ehframe_section sec;
	struct unwind_table t;
	size_t s = entry_start(&a);

	put(&a, 0xffffffff, 4);
	put_bytes(&a, "\x04\0\x08\0\x01\x78\x10\x0c\x07\x08\x90\x01", 12);
	entry_end(&a, s);
	s = entry_start(&a);
	put(&a, 0, 4); /* the CIE's offset */
	put(&a, 0x1100, 8);
	put(&a, 0x10, 8);
	put_bytes(&a, "\x42\x0e\x10", 3);
	entry_end(&a, s);
	sec = (struct ehframe_section){a.b, a.n, 0, true};
	assert_int_equal(ehframe_compile(&sec, BASE, &t), 0);
	assert_int_equal(t.nfdes, 1);
	expect_cfa(at(&t, 0x1101), UW_CFA_REG, UW_RSP, 8);
	expect_cfa(at(&t, 0x1102), UW_CFA_REG, UW_RSP, 16);
	ehframe_free(&t);
}

/* Only where there is no rule, and nowhere else. */
static void test_fill(void **state)
{
	struct asmb a = {.n = 0}, b = {.n = 0};
	struct unwind_table t, more;

	cie(&a);
	FDE(&a, 0x1100, 0x40, "");
	FDE(&a, 0x1200, 0x40, "");
	cie(&b);
	FDE(&b, 0x1080, 0x20, "\x0e\x10");
	FDE(&b, 0x10e0, 0x60, "\x0e\x20");  /* around the first */
	FDE(&b, 0x1180, 0x100, "\x0e\x30"); /* over the second */
	t = compiled(&a);
	more = compiled(&b);
	assert_int_equal(ehframe_fill(&t, &more), 0);
	for (size_t i = 1; i < t.n; i++)
		assert_true(t.rows[i].key > t.rows[i - 1].key);
	expect_cfa(at(&t, 0x107f), UW_CFA_NONE, 0, 0);
	expect_cfa(at(&t, 0x1080), UW_CFA_REG, UW_REG_SP, 16);
	expect_cfa(at(&t, 0x109f), UW_CFA_REG, UW_REG_SP, 16);
	expect_cfa(at(&t, 0x10a0), UW_CFA_NONE, 0, 0);
	expect_cfa(at(&t, 0x10e0), UW_CFA_REG, UW_REG_SP, 32);
	expect_cfa(at(&t, 0x1100), UW_CFA_REG, UW_REG_SP, 8);
	expect_cfa(at(&t, 0x113f), UW_CFA_REG, UW_REG_SP, 8);
	expect_cfa(at(&t, 0x1140), UW_CFA_NONE, 0, 0);
	expect_cfa(at(&t, 0x11ff), UW_CFA_REG, UW_REG_SP, 48);
	expect_cfa(at(&t, 0x1200), UW_CFA_REG, UW_REG_SP, 8);
	expect_cfa(at(&t, 0x1240), UW_CFA_REG, UW_REG_SP, 48);
	expect_cfa(at(&t, 0x127f), UW_CFA_REG, UW_REG_SP, 48);
	expect_cfa(at(&t, 0x1280), UW_CFA_NONE, 0, 0);
	ehframe_free(&t);
	ehframe_free(&more);
}

static void test_damage(void **state)
{
	struct asmb a = {.n = 0};
	struct unwind_table t;
	size_t good;

	cie(&a);
	FDE(&a, 0x1100, 0x10, "\x0e\x10");
	FDE(&a, 0x1120, 0x10, "\x44\x0b"); /* restore without remember: unknown from 0x1124 on */
	FDE(&a, 0x1140, 0x10, "\x0e\x20");
	good = a.n;
	put(&a, 0x7fffffff, 4); /* an entry that is longer than the section */
	t = compiled(&a);
	assert_true(t.damaged);
	assert_int_equal(t.nfdes, 3);
	expect_cfa(at(&t, 0x1123), UW_CFA_REG, UW_RSP, 8);
	assert_int_equal(at(&t, 0x1124)->cfa, UW_CFA_NONE);
	expect_cfa(at(&t, 0x1140), UW_CFA_REG, UW_RSP, 32);
	ehframe_free(&t);
	/* cut anywhere: no crash, no rule that the whole does not have */
	for (size_t n = 0; n < good; n++) {
		struct ehframe_section cut = {a.b, n, VADDR, false};

		assert_int_equal(ehframe_compile(&cut, BASE, &t), 0);
		assert_true(at(&t, 0x1100)->cfa == UW_CFA_NONE || at(&t, 0x1100)->cfa_off == 16);
		ehframe_free(&t);
	}
}

/* ---- readelf as oracle ---- */

/* What a column of readelf's table says, against a rule. */
static bool same_cfa(const struct uw_rule *r, const char *cfa)
{
	const char *name = r->cfa_reg == UW_RSP ? "rsp" : r->cfa_reg == UW_RBP ? "rbp" : NULL;
	char want[32];

	if (!strcmp(cfa, "exp"))
		return r->cfa == UW_CFA_PLT || r->cfa == UW_CFA_DEREF || r->cfa == UW_CFA_NONE ||
		       r->cfa == UW_CFA_REG;
	if (name)
		snprintf(want, sizeof(want), "%s+%d", name, r->cfa_off);
	else
		snprintf(want, sizeof(want), "r%u+%d", r->cfa_reg, r->cfa_off);
	return r->cfa == UW_CFA_REG &&
	       (!strcmp(cfa, want) ||
		(!name && strchr(cfa, '+') && atoi(strchr(cfa, '+')) == r->cfa_off));
}

static bool same_slot(int where, int off, const char *col)
{
	char want[32];

	snprintf(want, sizeof(want), "c%+d", off);
	if (!strcmp(col, "u") || !strcmp(col, "s") || !*col)
		return where == UW_SAME;
	if (*col == 'c')
		return where == UW_CFA && !strcmp(col, want);
	return true; /* expressions and registers: printed without their value */
}

struct oracle {
	const struct unwind_table *t;
	bool signal; /* in a FDE of a signal frame */
	int fp_col, ra_col, kept_col;
	uint64_t end;
	size_t rows, wrong, unruled;
};

static void oracle_header(struct oracle *o, char *line)
{
	int i = 0;

	o->fp_col = o->ra_col = o->kept_col = -1;
	for (char *w = strtok(line, " \n"); w; w = strtok(NULL, " \n"), i++) {
		if (!strcmp(w, "rbp"))
			o->fp_col = i;
		if (!strcmp(w, "rbx"))
			o->kept_col = i;
		if (!strcmp(w, "ra"))
			o->ra_col = i;
	}
}

static void oracle_row(struct oracle *o, char *line)
{
	char *col[24] = {0};
	char copy[512];
	const struct uw_rule *r;
	uint64_t addr = strtoull(line, NULL, 16);
	const char *fp, *ra, *kept;
	bool ok;
	int n = 0;

	snprintf(copy, sizeof(copy), "%s", line);
	/* "r3 (rbx)" is one column */
	for (char *w = copy; (w = strstr(w, " (")); w++)
		*w = '_';
	for (char *w = strtok(copy, " \n"); w && n < 24; w = strtok(NULL, " \n"))
		col[n++] = w;
	if (addr >= o->end || n < 2)
		return;
	fp = o->fp_col >= 0 && o->fp_col < n ? col[o->fp_col] : "u";
	ra = o->ra_col >= 0 && o->ra_col < n ? col[o->ra_col] : "u";
	kept = o->kept_col >= 0 && o->kept_col < n ? col[o->kept_col] : "u";
	r = ehframe_rule(o->t, addr);
	o->rows++;
	if (o->signal)
		ok = r->cfa == UW_CFA_SIGNAL;
	else if (!strcmp(ra, "u"))
		ok = r->cfa == UW_CFA_STOP;
	else
		ok = same_cfa(r, col[1]) &&
		     (r->cfa == UW_CFA_NONE ||
		      (same_slot(r->fp, r->fp_off, fp) &&
		       (r->kept_off == UW_KEPT_LOST ||
			same_slot(r->kept_off ? UW_CFA : UW_SAME, r->kept_off, kept)) &&
		       same_slot(r->ra, r->ra_off, ra)));
	o->unruled += r->cfa == UW_CFA_NONE;
	if (!ok && o->wrong++ < 5)
		print_error("%s  has cfa %d r%d%+d fp %d%+d ra %d%+d\n", line, r->cfa, r->cfa_reg,
			    r->cfa_off, r->fp, r->fp_off, r->ra, r->ra_off);
}

/*
 * Lines of `readelf -wF`: "off len id CIE "aug" ...", "off len id FDE cie=X pc=A..B", a header with
 * LOC, rows. Rows after one of the same address (empty ranges) are the last to count, so a row is
 * checked when the next line is known.
 */
static void oracle_run(struct oracle *o, FILE *f)
{
	char line[512], row[512] = "";
	bool in_fde = false;
	struct {
		uint64_t off;
		bool signal;
	} cies[4096];
	size_t ncies = 0;

	while (fgets(line, sizeof(line), f)) {
		uint64_t off, start, end, cie_off;
		char aug[16] = "";
		char next[512] = "";

		if (sscanf(line, "%" SCNx64 " %*x %*x CIE \"%15[^\"]\"", &off, aug) == 2) {
			if (ncies < 4096) {
				cies[ncies].off = off;
				cies[ncies++].signal = strchr(aug, 'S') != NULL;
			}
			in_fde = false;
		} else if (sscanf(line,
				  "%" SCNx64 " %*x %*x FDE cie=%" SCNx64 " pc=%" SCNx64
				  "..%" SCNx64,
				  &off, &cie_off, &start, &end) == 4) {
			if (*row)
				oracle_row(o, row);
			*row = 0;
			in_fde = true;
			o->end = end;
			o->signal = false;
			for (size_t i = 0; i < ncies; i++)
				if (cies[i].off == cie_off)
					o->signal = cies[i].signal;
			continue;
		} else if (in_fde && strstr(line, " LOC ")) {
			oracle_header(o, line);
			continue;
		} else if (in_fde && line[0] != '\n' && line[16] == ' ') {
			snprintf(next, sizeof(next), "%s", line);
		}
		if (*row && strncmp(row, next, 16))
			oracle_row(o, row);
		strcpy(row, next);
	}
	if (*row)
		oracle_row(o, row);
}

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e3 + ts.tv_nsec / 1e6;
}

static void compare_file(const char *path)
{
	struct unwind_table t;
	struct oracle o = {.t = &t};
	char cmd[512];
	struct uwelf x;
	double t0;
	size_t len;
	uint8_t *b = uwelf_slurp(path, &len);
	FILE *f;
	int rc;

	assert_non_null(b);
	assert_int_equal(uwelf_open(&x, b, len), 0);
	if (!x.eh.data) {
		uwelf_close(&x);
		return;
	}
	t0 = now_ms();
	assert_int_equal(ehframe_compile(&x.eh, 0, &t), 0);
	t0 = now_ms() - t0;
	snprintf(cmd, sizeof(cmd),
		 "LC_ALL=C readelf -W --debug-dump=frames-interp '%s' 2>/dev/null", path);
	f = popen(cmd, "r");
	assert_non_null(f);
	oracle_run(&o, f);
	rc = pclose(f); /* 1: debugging information that lies elsewhere is not found */
	assert_true(WIFEXITED(rc));
	assert_in_range(WEXITSTATUS(rc), 0, 1);
	print_message("%s: %zu rows of readelf compared, %zu wrong, %zu without rule; "
		      "%u functions, %u skipped, %zu rows, %u rules, %.1f ms\n",
		      path, o.rows, o.wrong, o.unruled, t.nfdes, t.skipped, t.n, t.rules.n, t0);
	assert_true(o.rows > 0);
	assert_int_equal(o.wrong, 0);
	assert_false(t.damaged);
	ehframe_free(&t);
	uwelf_close(&x);
}

/* The mapped files of this very process: the test, libc, the loader. */
static void test_oracle_self(void **state)
{
	char self[256] = "";

	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	compare_file(self);
	for (int i = 0; i < 2; i++) {
		static const char *const pattern[] = {"/lib/*-linux-gnu/libc.so.6",
						      "/lib/*-linux-gnu/ld-linux*.so.*"};
		glob_t g;

		if (!glob(pattern[i], 0, NULL, &g)) {
			compare_file(g.gl_pathv[0]);
			globfree(&g);
		}
	}
}

/* Set GNOMON_ORACLE to a file (libjvm.so, libcrypto...) to compare it too. */
static void test_oracle_given(void **state)
{
	const char *path = getenv("GNOMON_ORACLE");

	if (!path)
		skip();
	compare_file(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_prologue),
		cmocka_unit_test(test_remember_restore),
		cmocka_unit_test(test_expressions),
		cmocka_unit_test(test_return_address),
		cmocka_unit_test(test_layout),
		cmocka_unit_test(test_encodings),
		cmocka_unit_test(test_debug_frame),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_fill),
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_oracle_self),
		cmocka_unit_test(test_oracle_given),
		cmocka_unit_test(test_offset_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
