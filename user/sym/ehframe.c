/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three passes: the common entries (CIEs) with their initial rules; the list of functions (FDEs)
 * sorted by address; their instructions, in that order, so that rows come out sorted. Each byte of
 * the section is interpreted at most once.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sym/ehframe.h"

#define PADDING	       16 /* a gap between functions of fewer bytes is alignment */
#define REMEMBER_DEPTH 16

/* Pointer encodings, LSB core section 10.5.1 */
enum {
	PE_ABSPTR = 0x00,
	PE_ULEB128 = 0x01,
	PE_UDATA2 = 0x02,
	PE_UDATA4 = 0x03,
	PE_UDATA8 = 0x04,
	PE_SLEB128 = 0x09,
	PE_SDATA2 = 0x0a,
	PE_SDATA4 = 0x0b,
	PE_SDATA8 = 0x0c,
	PE_FORMAT = 0x0f,
	PE_PCREL = 0x10,
	PE_FUNCREL = 0x40,
	PE_ALIGNED = 0x50,
	PE_APPLY = 0x70,
	PE_INDIRECT = 0x80,
	PE_OMIT = 0xff,
};

/* Call frame instructions, DWARF 5 section 7.24, and the GNU and Arm ones. */
enum {
	CFA_ADVANCE_LOC = 0x40, /* high two bits */
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,
	CFA_NOP = 0x00,
	CFA_SET_LOC = 0x01,
	CFA_ADVANCE_LOC1 = 0x02,
	CFA_ADVANCE_LOC2 = 0x03,
	CFA_ADVANCE_LOC4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER_STATE = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_MIPS_ADVANCE_LOC8 = 0x1d,
	CFA_AARCH64_NEGATE_RA_STATE_WITH_PC = 0x2c,
	CFA_AARCH64_NEGATE_RA_STATE = 0x2d,
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

/* The operations that occur in rules of compilers and of hand-written assembly, DWARF 5, 7.7.1. */
enum {
	OP_DEREF = 0x06,
	OP_CONST1U = 0x08,
	OP_CONST1S = 0x09,
	OP_CONST2U = 0x0a,
	OP_CONST2S = 0x0b,
	OP_CONST4U = 0x0c,
	OP_CONST4S = 0x0d,
	OP_CONSTU = 0x10,
	OP_CONSTS = 0x11,
	OP_MINUS = 0x1c,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_LIT0 = 0x30,
	OP_BREG0 = 0x70,
	OP_BREGX = 0x92,
};

/* ---- bytes ---- */

/* Reads past the end give 0 and set bad. */
struct cursor {
	const uint8_t *p, *end;
	bool bad;
};

static uint64_t cur_uint(struct cursor *c, size_t n)
{
	uint64_t v = 0;

	if ((size_t)(c->end - c->p) < n) {
		c->bad = true;
		c->p = c->end;
		return 0;
	}
	memcpy(&v, c->p, n); /* little endian, as every machine we run on */
	c->p += n;
	return v;
}

static int64_t cur_sint(struct cursor *c, size_t n)
{
	unsigned int shift = 64 - 8 * n;

	return (int64_t)(cur_uint(c, n) << shift) >> shift;
}

static uint64_t cur_leb(struct cursor *c, bool is_signed)
{
	unsigned int shift = 0;
	uint64_t v = 0;
	uint8_t b;

	do {
		b = cur_uint(c, 1);
		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		shift += 7;
	} while (b & 0x80 && !c->bad);
	if (is_signed && b & 0x40 && shift < 64)
		v |= ~0ULL << shift;
	return v;
}

static uint64_t cur_uleb(struct cursor *c)
{
	return cur_leb(c, false);
}

static int64_t cur_sleb(struct cursor *c)
{
	return cur_leb(c, true);
}

/* A block of bytes with its length before it. */
static struct cursor cur_block(struct cursor *c)
{
	uint64_t len = cur_uleb(c);
	struct cursor b = {.p = c->p, .end = c->p};

	if (len > (uint64_t)(c->end - c->p)) {
		c->bad = b.bad = true;
		c->p = c->end;
		return b;
	}
	c->p += len;
	b.end = c->p;
	return b;
}

/* ---- entries ---- */

/* Where a register's value is found; the fields of struct uw_rule are made of it at the end. */
enum loc_kind { LOC_UNSPECIFIED, LOC_SAME, LOC_CFA, LOC_REG, LOC_AT, LOC_UNDEFINED, LOC_OTHER };

struct loc {
	enum loc_kind kind;
	uint32_t reg; /* LOC_REG; LOC_AT: base */
	int64_t off;
};

struct state {
	uint8_t cfa; /* enum uw_cfa_kind */
	uint32_t cfa_reg;
	int64_t cfa_off, cfa_add;
	struct loc ra, fp, kept;
};

struct cie {
	uint64_t off; /* of its length field in the section: what FDEs refer to */
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra_reg;
	uint8_t enc; /* of FDE addresses */
	bool usable, z, signal;
	struct state init;
};

struct fde {
	uint64_t start, end;
	size_t insn, insn_end; /* in the section */
	uint32_t cie;
};

struct compiler {
	const struct ehframe_section *sec;
	uint64_t base;
	struct unwind_table *t;
	struct cie *cies;
	size_t ncies, cies_cap;
	struct fde *fdes;
	size_t nfdes, fdes_cap;
	size_t rows_cap;
	uint64_t covered; /* rows have been made up to here */
};

/* One entry of the section: its fields after the id, and the id. */
struct entry {
	uint64_t off;
	bool is_cie;
	uint64_t cie_off; /* FDE: its CIE */
	struct cursor c;
};

/* Next entry at *pos. 1, or 0 at the end or where the bytes make no sense (t->damaged). */
static int entry_next(struct compiler *k, size_t *pos, struct entry *e)
{
	const struct ehframe_section *sec = k->sec;
	struct cursor c = {.p = sec->data + *pos, .end = sec->data + sec->len};
	size_t idlen = 4, id_at;
	uint64_t len, id;

	e->off = *pos;
	len = cur_uint(&c, 4);
	if (len == 0xffffffff) {
		len = cur_uint(&c, 8);
		idlen = sec->debug_frame ? 8 : 4;
	}
	if (c.bad || len > (uint64_t)(c.end - c.p) || (len && len < idlen)) {
		k->t->damaged |= *pos != sec->len;
		return 0;
	}
	id_at = c.p - sec->data;
	*pos = id_at + len;
	c.end = c.p + len;
	e->c = c;
	if (!len) { /* a terminator; a linker may have left one between inputs */
		e->is_cie = false;
		e->cie_off = ~0ULL;
		return 1;
	}
	id = cur_uint(&e->c, idlen);
	if (sec->debug_frame) {
		e->is_cie = id == (idlen == 8 ? ~0ULL : 0xffffffff);
		e->cie_off = id;
	} else {
		e->is_cie = id == 0;
		e->cie_off = id_at - id;
	}
	return 1;
}

/* An encoded pointer; *ok is cleared for encodings that mean nothing here. */
static uint64_t cur_pointer(struct cursor *c, const struct ehframe_section *sec, uint8_t enc,
			    uint64_t func, bool *ok)
{
	uint64_t at, v = 0;

	if ((enc & PE_APPLY) == PE_ALIGNED) {
		at = sec->vaddr + (c->p - sec->data);
		cur_uint(c, -at & 7);
		return cur_uint(c, 8);
	}
	at = sec->vaddr + (c->p - sec->data);
	switch (enc & PE_FORMAT) {
	case PE_ABSPTR:
	case PE_UDATA8:
	case PE_SDATA8:
		v = cur_uint(c, 8);
		break;
	case PE_ULEB128:
		v = cur_uleb(c);
		break;
	case PE_SLEB128:
		v = cur_sleb(c);
		break;
	case PE_UDATA2:
		v = cur_uint(c, 2);
		break;
	case PE_SDATA2:
		v = cur_sint(c, 2);
		break;
	case PE_UDATA4:
		v = cur_uint(c, 4);
		break;
	case PE_SDATA4:
		v = cur_sint(c, 4);
		break;
	default:
		*ok = false;
	}
	if ((enc & PE_APPLY) == PE_PCREL)
		v += at;
	else if ((enc & PE_APPLY) == PE_FUNCREL)
		v += func;
	else if (enc & PE_APPLY)
		*ok = false; /* relative to text or data: no compiler for our machines does that */
	if (enc & PE_INDIRECT)
		*ok = false;
	return v;
}

static int array_grow(void **v, size_t *cap, size_t n, size_t size)
{
	size_t want = *cap ? 2 * *cap : 256;
	void *p;

	if (n < *cap)
		return 0;
	p = reallocarray(*v, want, size);
	if (!p)
		return -ENOMEM;
	*v = p;
	*cap = want;
	return 0;
}

/* ---- instructions ---- */

/* A constant operand; false when the operation is no constant. */
static bool expr_const(struct cursor *c, uint8_t op, int64_t *v)
{
	switch (op) {
	case OP_CONST1U:
		*v = cur_uint(c, 1);
		return true;
	case OP_CONST1S:
		*v = cur_sint(c, 1);
		return true;
	case OP_CONST2U:
		*v = cur_uint(c, 2);
		return true;
	case OP_CONST2S:
		*v = cur_sint(c, 2);
		return true;
	case OP_CONST4U:
		*v = cur_uint(c, 4);
		return true;
	case OP_CONST4S:
		*v = cur_sint(c, 4);
		return true;
	case OP_CONSTU:
		*v = cur_uleb(c);
		return true;
	case OP_CONSTS:
		*v = cur_sleb(c);
		return true;
	default:
		*v = op - OP_LIT0;
		return op >= OP_LIT0 && op < OP_LIT0 + 32;
	}
}

static int64_t wrap_add(int64_t a, int64_t b)
{
	return (uint64_t)a + (uint64_t)b;
}

/*
 * An expression of the forms register + constants, and *(register + constants) + constants, into a
 * CFA rule. UW_CFA_NONE for others.
 */
static void expr_address(struct cursor c, struct state *st)
{
	int64_t *sum = &st->cfa_off, v;
	uint8_t op = cur_uint(&c, 1);

	st->cfa = UW_CFA_REG;
	st->cfa_add = 0;
	if (op == OP_BREGX)
		st->cfa_reg = cur_uleb(&c);
	else if (op >= OP_BREG0 && op < OP_BREG0 + 32)
		st->cfa_reg = op - OP_BREG0;
	else
		c.bad = true;
	*sum = cur_sleb(&c);
	while (!c.bad && c.p < c.end) {
		op = cur_uint(&c, 1);
		if (op == OP_PLUS_UCONST) {
			*sum = wrap_add(*sum, cur_uleb(&c));
		} else if (op == OP_DEREF && st->cfa == UW_CFA_REG) {
			st->cfa = UW_CFA_DEREF;
			sum = &st->cfa_add;
		} else if (expr_const(&c, op, &v)) {
			op = cur_uint(&c, 1);
			if (op == OP_MINUS)
				*sum = wrap_add(*sum, -(uint64_t)v);
			else if (op == OP_PLUS)
				*sum = wrap_add(*sum, v);
			else
				c.bad = true;
		} else {
			c.bad = true;
		}
	}
	if (c.bad)
		st->cfa = UW_CFA_NONE;
}

/*
 * The linker's expression for lazy PLT entries: sp + 8 + ((pc & 15) >= N ? 8 : 0), N after the
 * push. Returns N, or -1.
 */
static int expr_plt(struct cursor c)
{
	static const uint8_t form[] = {0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a,
				       0,    0x2a, 0x33, 0x24, 0x22};

	if ((size_t)(c.end - c.p) != sizeof(form) || memcmp(c.p, form, 6) ||
	    memcmp(c.p + 7, form + 7, 4))
		return -1;
	return c.p[6] >= OP_LIT0 && c.p[6] < OP_LIT0 + 16 ? c.p[6] - OP_LIT0 : -1;
}

static void state_cfa_expression(struct state *st, struct cursor block)
{
	int n = expr_plt(block);

	expr_address(block, st);
	if (n >= 0 && UW_REG_SP == 7) {
		st->cfa = UW_CFA_PLT;
		st->cfa_off = n;
	}
}

/* Where a register of interest is described, NULL for all others. */
static struct loc *state_loc(struct state *st, const struct cie *cie, uint64_t reg)
{
	if (reg == cie->ra_reg)
		return &st->ra;
	if (reg == UW_REG_KEPT)
		return &st->kept;
	return reg == UW_REG_FP ? &st->fp : NULL;
}

static void state_set(struct state *st, const struct cie *cie, uint64_t reg, struct loc loc)
{
	struct loc *l = state_loc(st, cie, reg);

	if (l)
		*l = loc;
}

/* The register is saved at the address an expression gives. */
static void state_expression(struct state *st, const struct cie *cie, uint64_t reg,
			     struct cursor block)
{
	struct state a = {0};
	struct loc loc = {.kind = LOC_OTHER};

	expr_address(block, &a);
	if (a.cfa == UW_CFA_REG)
		loc = (struct loc){.kind = LOC_AT, .reg = a.cfa_reg, .off = a.cfa_off};
	state_set(st, cie, reg, loc);
}

static void state_restore(struct state *st, const struct cie *cie, uint64_t reg)
{
	struct state init = cie->init;
	struct loc *from = state_loc(&init, cie, reg);

	if (from)
		state_set(st, cie, reg, *from);
}

/* A factor of the file times another: a product that does not fit wraps, as unsigned numbers do. */
static int64_t scaled(const struct cie *cie, uint64_t n)
{
	return (int64_t)(n * (uint64_t)cie->data_align);
}

static int64_t scaled_down(const struct cie *cie, uint64_t n)
{
	return (int64_t)(0 - n * (uint64_t)cie->data_align);
}

/* Instructions about the CFA. False when it is none. */
static bool insn_cfa(uint8_t op, struct cursor *c, const struct cie *cie, struct state *st)
{
	switch (op) {
	case CFA_DEF_CFA:
	case CFA_DEF_CFA_SF:
		st->cfa = UW_CFA_REG;
		st->cfa_reg = cur_uleb(c);
		st->cfa_off = op == CFA_DEF_CFA ? (int64_t)cur_uleb(c) : scaled(cie, cur_sleb(c));
		return true;
	case CFA_DEF_CFA_REGISTER:
		/* after an expression this has no meaning (DWARF 5, 6.4.2.2) */
		c->bad |= st->cfa != UW_CFA_REG;
		st->cfa_reg = cur_uleb(c);
		return true;
	case CFA_DEF_CFA_OFFSET:
	case CFA_DEF_CFA_OFFSET_SF:
		c->bad |= st->cfa != UW_CFA_REG;
		st->cfa_off =
			op == CFA_DEF_CFA_OFFSET ? (int64_t)cur_uleb(c) : scaled(cie, cur_sleb(c));
		return true;
	case CFA_DEF_CFA_EXPRESSION:
		state_cfa_expression(st, cur_block(c));
		return true;
	default:
		return false;
	}
}

/* Instructions about a register. False when it is none. */
static bool insn_reg(uint8_t op, struct cursor *c, const struct cie *cie, struct state *st)
{
	uint64_t reg;

	if (op < CFA_OFFSET_EXTENDED || op > CFA_GNU_NEGATIVE_OFFSET_EXTENDED)
		return false;
	reg = cur_uleb(c);
	switch (op) {
	case CFA_OFFSET_EXTENDED:
		state_set(st, cie, reg, (struct loc){LOC_CFA, 0, scaled(cie, cur_uleb(c))});
		return true;
	case CFA_OFFSET_EXTENDED_SF:
		state_set(st, cie, reg, (struct loc){LOC_CFA, 0, scaled(cie, cur_sleb(c))});
		return true;
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		state_set(st, cie, reg, (struct loc){LOC_CFA, 0, scaled_down(cie, cur_uleb(c))});
		return true;
	case CFA_RESTORE_EXTENDED:
		state_restore(st, cie, reg);
		return true;
	case CFA_UNDEFINED:
		state_set(st, cie, reg, (struct loc){.kind = LOC_UNDEFINED});
		return true;
	case CFA_SAME_VALUE:
		state_set(st, cie, reg, (struct loc){.kind = LOC_SAME});
		return true;
	case CFA_REGISTER:
		state_set(st, cie, reg, (struct loc){LOC_REG, cur_uleb(c), 0});
		return true;
	case CFA_EXPRESSION:
		state_expression(st, cie, reg, cur_block(c));
		return true;
	case CFA_VAL_EXPRESSION:
		cur_block(c);
		state_set(st, cie, reg, (struct loc){.kind = LOC_OTHER});
		return true;
	case CFA_VAL_OFFSET:
	case CFA_VAL_OFFSET_SF:
		cur_uleb(c);
		state_set(st, cie, reg, (struct loc){.kind = LOC_OTHER});
		return true;
	default:
		return false;
	}
}

/* How far an instruction advances, in bytes of code; -1 when it does not. */
static int64_t insn_advance(uint8_t op, struct cursor *c, const struct cie *cie)
{
	uint64_t n;

	if ((op & 0xc0) == CFA_ADVANCE_LOC)
		n = op & 0x3f;
	else if (op == CFA_ADVANCE_LOC1)
		n = cur_uint(c, 1);
	else if (op == CFA_ADVANCE_LOC2)
		n = cur_uint(c, 2);
	else if (op == CFA_ADVANCE_LOC4)
		n = cur_uint(c, 4);
	else if (op == CFA_MIPS_ADVANCE_LOC8)
		n = cur_uint(c, 8);
	else
		return -1;
	n *= cie->code_align;
	return n > UINT32_MAX ? UINT32_MAX : (int64_t)n;
}

struct state_stack {
	struct state st[REMEMBER_DEPTH];
	unsigned int n;
};

/* One instruction that does not advance. Errors are left in c->bad. */
static void insn_other(uint8_t op, struct cursor *c, const struct cie *cie, struct state *st,
		       struct state_stack *mem)
{
	if ((op & 0xc0) == CFA_OFFSET) {
		state_set(st, cie, op & 0x3f, (struct loc){LOC_CFA, 0, scaled(cie, cur_uleb(c))});
	} else if ((op & 0xc0) == CFA_RESTORE) {
		state_restore(st, cie, op & 0x3f);
	} else if (op == CFA_REMEMBER_STATE) {
		if (mem->n == REMEMBER_DEPTH)
			c->bad = true;
		else
			mem->st[mem->n++] = *st;
	} else if (op == CFA_RESTORE_STATE) {
		if (!mem->n)
			c->bad = true;
		else
			*st = mem->st[--mem->n];
	} else if (op == CFA_GNU_ARGS_SIZE) {
		cur_uleb(c);
	} else if (op != CFA_NOP && op != CFA_AARCH64_NEGATE_RA_STATE &&
		   op != CFA_AARCH64_NEGATE_RA_STATE_WITH_PC && !insn_cfa(op, c, cie, st) &&
		   !insn_reg(op, c, cie, st)) {
		c->bad = true;
	}
}

/* ---- rows ---- */

static bool fits(int64_t v)
{
	return v >= INT32_MIN && v <= INT32_MAX;
}

/* The offset from the CFA at which a register is saved; false when it is not saved there. */
static bool loc_from_cfa(const struct loc *l, const struct state *st, int32_t *off)
{
	int64_t v = l->off;

	if (l->kind == LOC_AT && st->cfa == UW_CFA_REG && st->cfa_reg == l->reg)
		v = wrap_add(v, -(uint64_t)st->cfa_off);
	else if (l->kind != LOC_CFA)
		return false;
	*off = v;
	return fits(v);
}

static bool loc_unchanged(const struct loc *l)
{
	return l->kind == LOC_UNSPECIFIED || l->kind == LOC_SAME;
}

/* Frame pointer part of a rule. */
static void rule_set_fp(struct uw_rule *r, const struct state *st)
{
	r->fp = UW_LOST;
	if (loc_unchanged(&st->fp)) {
		r->fp = UW_SAME;
	} else if (st->fp.kind == LOC_AT && st->fp.reg == UW_REG_FP && fits(st->fp.off)) {
		r->fp = UW_AT;
		r->fp_off = st->fp.off;
	} else if (loc_from_cfa(&st->fp, st, &r->fp_off)) {
		r->fp = UW_CFA;
	} else {
		r->fp_off = 0;
	}
}

static void rule_set_kept(struct uw_rule *r, const struct state *st)
{
	if (loc_unchanged(&st->kept))
		r->kept_off = 0;
	else if (!loc_from_cfa(&st->kept, st, &r->kept_off) || !r->kept_off || r->kept_off & 7)
		r->kept_off = UW_KEPT_LOST;
}

/* Return address part. False when it cannot be told. */
static bool rule_set_ra(struct uw_rule *r, const struct state *st)
{
	if (loc_unchanged(&st->ra)) {
		r->ra = UW_SAME;
		/* where there is no link register, an unchanged return address is nowhere */
		return UW_REG_RA < UW_NREG;
	}
	if (st->ra.kind == LOC_REG) {
		r->ra = UW_INREG;
		r->ra_off = st->ra.reg;
		return st->ra.reg < UW_NREG;
	}
	r->ra = UW_CFA;
	return loc_from_cfa(&st->ra, st, &r->ra_off);
}

static struct uw_rule rule_make(const struct cie *cie, const struct state *st)
{
	const struct uw_rule none = {.cfa = UW_CFA_NONE};
	struct uw_rule r = {.cfa = st->cfa};

	if (cie->signal)
		return (struct uw_rule){.cfa = UW_CFA_SIGNAL};
	if (st->ra.kind == LOC_UNDEFINED)
		return (struct uw_rule){.cfa = UW_CFA_STOP};
	if (st->cfa == UW_CFA_NONE || !fits(st->cfa_off) || !fits(st->cfa_add))
		return none;
	if (st->cfa_reg >= UW_NREG && st->cfa_reg != UW_REG_SP)
		return none;
	r.cfa_reg = st->cfa_reg;
	r.cfa_off = st->cfa_off;
	r.cfa_add = st->cfa == UW_CFA_DEREF ? st->cfa_add : 0;
	if (!rule_set_ra(&r, st))
		return none;
	rule_set_fp(&r, st);
	rule_set_kept(&r, st);
	return r;
}

/* Append a row, unless it says what the one before says. */
static int row_push(struct compiler *k, uint64_t addr, uint16_t rule)
{
	struct unwind_table *t = k->t;

	if (t->n && t->rows[t->n - 1].key == addr - k->base)
		t->n--;
	if (t->n && t->rows[t->n - 1].rule == rule)
		return 0;
	if (t->n == UNWIND_MAX_ROWS)
		return -E2BIG;
	if (array_grow((void **)&t->rows, &k->rows_cap, t->n, sizeof(*t->rows)))
		return -ENOMEM;
	t->rows[t->n++] = (struct unwind_row){addr - k->base, rule};
	return 0;
}

/* Rule for [start, end). Calls come with ascending addresses. */
static int row_add(struct compiler *k, uint64_t start, uint64_t end, const struct uw_rule *r)
{
	int err = 0;

	if (start >= end)
		return 0;
	if (start - k->covered >= PADDING)
		err = row_push(k, k->covered, UW_RULE_NONE);
	k->covered = end;
	return err ? err : row_push(k, start, rule_set_add(&k->t->rules, r));
}

/* ---- the passes ---- */

/* The augmentation: how pointers are encoded, and whether this is a signal frame. */
static void cie_augmentation(struct cie *cie, struct cursor *c, const char *aug,
			     const struct ehframe_section *sec)
{
	struct cursor data;
	bool ok = true;

	if (*aug == 'z') {
		cie->z = true;
		data = cur_block(c);
		aug++;
	} else {
		data = (struct cursor){.p = c->p, .end = c->p};
	}
	for (; *aug; aug++) {
		if (*aug == 'S') {
			cie->signal = true;
		} else if (*aug == 'R' && cie->z) {
			cie->enc = cur_uint(&data, 1);
		} else if (*aug == 'L' && cie->z) {
			cur_uint(&data, 1);
		} else if (*aug == 'P' && cie->z) {
			uint8_t enc = cur_uint(&data, 1);

			cur_pointer(&data, sec, enc & ~(PE_INDIRECT | PE_APPLY), 0, &ok);
		} else if (*aug != 'B' && *aug != 'G') {
			/* B, G: Arm's pointer authentication and memory tagging */
			cie->usable = false;
		}
	}
	cie->usable &= !data.bad && ok;
}

static const char *cur_string(struct cursor *c)
{
	const char *s = (const char *)c->p;
	const uint8_t *nul = memchr(c->p, 0, c->end - c->p);

	if (!nul) {
		c->bad = true;
		return "";
	}
	c->p = nul + 1;
	return s;
}

/* The CIE's own instructions give every function's first row. */
static void cie_run(struct cie *cie, struct cursor c)
{
	struct state_stack mem = {.n = 0};

	while (!c.bad && c.p < c.end) {
		uint8_t op = cur_uint(&c, 1);

		if (op == CFA_SET_LOC || insn_advance(op, &c, cie) >= 0)
			c.bad = true;
		else
			insn_other(op, &c, cie, &cie->init, &mem);
	}
	cie->usable &= !c.bad;
}

static int cie_add(struct compiler *k, struct entry *e)
{
	struct cie cie = {.off = e->off, .usable = true, .enc = PE_ABSPTR};
	struct cursor *c = &e->c;
	const char *aug;
	uint8_t version = cur_uint(c, 1);

	aug = cur_string(c);
	if (version == 4 && k->sec->debug_frame)
		cie.usable &= cur_uint(c, 1) == 8 && cur_uint(c, 1) == 0;
	else
		cie.usable &= version == 1 || version == 3;
	cie.code_align = cur_uleb(c);
	cie.data_align = cur_sleb(c);
	cie.ra_reg = version == 1 ? cur_uint(c, 1) : cur_uleb(c);
	cie_augmentation(&cie, c, aug, k->sec);
	cie.usable &= !c->bad && cie.ra_reg == UW_REG_RA;
	if (cie.usable)
		cie_run(&cie, *c);
	if (k->ncies == EHFRAME_MAX_CIES)
		return -E2BIG;
	if (array_grow((void **)&k->cies, &k->cies_cap, k->ncies, sizeof(cie)))
		return -ENOMEM;
	k->cies[k->ncies++] = cie;
	return 0;
}

/* CIEs were added in the order of their offsets. */
static const struct cie *cie_find(const struct compiler *k, uint64_t off)
{
	size_t lo = 0, hi = k->ncies;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (k->cies[mid].off < off)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < k->ncies && k->cies[lo].off == off ? &k->cies[lo] : NULL;
}

static int fde_add(struct compiler *k, struct entry *e)
{
	const struct cie *cie = cie_find(k, e->cie_off);
	struct cursor *c = &e->c;
	struct fde f = {0};
	bool ok = true;

	if (!cie || !cie->usable) {
		k->t->skipped++;
		return 0;
	}
	f.start = cur_pointer(c, k->sec, cie->enc, 0, &ok);
	f.end = f.start + cur_pointer(c, k->sec, cie->enc & PE_FORMAT, 0, &ok);
	if (cie->z)
		cur_block(c);
	if (c->bad || !ok || f.start >= f.end || f.start < k->base ||
	    f.end - k->base >= UINT32_MAX) {
		k->t->skipped++;
		return 0;
	}
	f.cie = cie - k->cies;
	f.insn = c->p - k->sec->data;
	f.insn_end = c->end - k->sec->data;
	if (k->nfdes == EHFRAME_MAX_FDES)
		return -E2BIG;
	if (array_grow((void **)&k->fdes, &k->fdes_cap, k->nfdes, sizeof(f)))
		return -ENOMEM;
	k->fdes[k->nfdes++] = f;
	return 0;
}

static int fde_order(const void *a, const void *b)
{
	const struct fde *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->insn < y->insn ? -1 : x->insn > y->insn;
}

/* The rows of one function, up to `limit` where the next one starts. */
static int fde_run(struct compiler *k, const struct fde *f, uint64_t limit)
{
	const struct cie *cie = &k->cies[f->cie];
	struct cursor c = {.p = k->sec->data + f->insn, .end = k->sec->data + f->insn_end};
	uint64_t loc = f->start, end = f->end < limit ? f->end : limit;
	struct state_stack mem = {.n = 0};
	struct state st = cie->init;
	struct uw_rule r;
	bool ok = true;
	int err = 0;

	while (c.p < c.end && !err && loc < end) {
		uint8_t op = cur_uint(&c, 1);
		uint64_t next = loc;
		int64_t n = insn_advance(op, &c, cie);

		if (n >= 0)
			next = loc + n;
		else if (op == CFA_SET_LOC)
			next = cur_pointer(&c, k->sec, cie->enc, f->start, &ok);
		else
			insn_other(op, &c, cie, &st, &mem);
		ok &= !c.bad && next >= loc;
		if (!ok)
			break;
		if (next == loc)
			continue;
		r = rule_make(cie, &st);
		err = row_add(k, loc, next < end ? next : end, &r);
		loc = next;
	}
	/* after a bad instruction nothing is known of the rest */
	r = ok ? rule_make(cie, &st) : (struct uw_rule){.cfa = UW_CFA_NONE};
	k->t->nfdes++;
	return err ? err : row_add(k, loc, end, &r);
}

static int pass_entries(struct compiler *k, bool cies)
{
	size_t pos = 0;
	struct entry e;
	int err = 0;

	while (!err && pos < k->sec->len && entry_next(k, &pos, &e)) {
		if (e.is_cie && cies)
			err = cie_add(k, &e);
		else if (!e.is_cie && !cies && e.cie_off != ~0ULL)
			err = fde_add(k, &e);
	}
	return err;
}

/* All entries are read, and the functions sorted. */
static int pass_lists(struct compiler *k)
{
	int err = pass_entries(k, true);

	if (!err)
		err = pass_entries(k, false);
	if (!err && k->nfdes)
		qsort(k->fdes, k->nfdes, sizeof(*k->fdes), fde_order);
	return err;
}

static int pass_rows(struct compiler *k)
{
	int err = row_push(k, k->base, UW_RULE_NONE);

	for (size_t i = 0; i < k->nfdes && !err; i++) {
		uint64_t next = i + 1 < k->nfdes ? k->fdes[i + 1].start : ~0ULL;

		err = fde_run(k, &k->fdes[i], next);
	}
	return err ? err : row_push(k, k->covered, UW_RULE_NONE);
}

int ehframe_compile(const struct ehframe_section *sec, uint64_t base, struct unwind_table *out)
{
	struct compiler k = {.sec = sec, .base = base, .t = out, .covered = base};
	int err;

	memset(out, 0, sizeof(*out));
	if (sec->len > EHFRAME_MAX_BYTES)
		return -E2BIG;
	err = rule_set_init(&out->rules);
	if (!err)
		err = pass_lists(&k);
	if (!err)
		err = pass_rows(&k);
	free(k.cies);
	free(k.fdes);
	if (err)
		ehframe_free(out);
	return err;
}

void ehframe_free(struct unwind_table *t)
{
	free(t->rows);
	rule_set_free(&t->rules);
	memset(t, 0, sizeof(*t));
}

/* Cuts each function off where the next one starts. */
static size_t functions_fill(const struct compiler *k, struct ehframe_function *v)
{
	size_t n = 0;

	for (size_t i = 0; i < k->nfdes; i++) {
		const struct fde *f = &k->fdes[i];
		uint64_t end = f->end;

		if (i + 1 < k->nfdes && k->fdes[i + 1].start < end)
			end = k->fdes[i + 1].start;
		if (end > f->start)
			v[n++] = (struct ehframe_function){f->start - k->base, end - k->base};
	}
	return n;
}

int ehframe_functions(const struct ehframe_section *sec, uint64_t base, struct ehframe_function **v,
		      size_t *n)
{
	struct unwind_table unused = {0};
	struct compiler k = {.sec = sec, .base = base, .t = &unused};
	int err = sec->len > EHFRAME_MAX_BYTES ? -E2BIG : pass_lists(&k);

	*v = NULL;
	*n = 0;
	if (!err && k.nfdes) {
		*v = calloc(k.nfdes, sizeof(**v));
		if (*v)
			*n = functions_fill(&k, *v);
		else
			err = -ENOMEM;
	}
	free(k.cies);
	free(k.fdes);
	return err;
}

/* The rule at the merged row that `i` rows of t and `k` of other lead to. */
static uint16_t fill_rule(struct unwind_table *t, const struct unwind_table *other, size_t i,
			  size_t k)
{
	uint16_t rule = t->rows[i - 1].rule;

	if (rule != UW_RULE_NONE || other->rows[k - 1].rule == UW_RULE_NONE)
		return rule;
	return rule_set_add(&t->rules, &other->rules.rules[other->rows[k - 1].rule]);
}

/* Both begin with a row at 0. */
int ehframe_fill(struct unwind_table *t, const struct unwind_table *other)
{
	struct unwind_row *rows;
	size_t i = 0, k = 0, n = 0;

	if (t->n + other->n > UNWIND_MAX_ROWS)
		return -E2BIG;
	rows = calloc(t->n + other->n, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	while (i < t->n || k < other->n) {
		bool mine = i < t->n && (k == other->n || t->rows[i].key <= other->rows[k].key);
		uint32_t key = mine ? t->rows[i].key : other->rows[k].key;
		uint16_t rule;

		i += i < t->n && t->rows[i].key == key;
		k += k < other->n && other->rows[k].key == key;
		rule = fill_rule(t, other, i, k);
		if (!n || rows[n - 1].rule != rule)
			rows[n++] = (struct unwind_row){key, rule};
	}
	free(t->rows);
	t->rows = rows;
	t->n = n;
	return 0;
}

const struct uw_rule *ehframe_rule(const struct unwind_table *t, uint32_t off)
{
	size_t lo = 0, hi = t->n;

	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->rows[mid].key <= off)
			lo = mid;
		else
			hi = mid;
	}
	return &t->rules.rules[t->rows[lo].rule];
}
