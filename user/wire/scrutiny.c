/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/scrutiny.h"

#include <errno.h>
#include <string.h>

#define REGISTERS 32 /* of either machine, with the stack pointer */
#define JVM_FLAGS                                                                                  \
	(GN_JVM_KIND | GN_JVM_ABSOLUTE | GN_JVM_SHORTS | GN_JVM_DEOPT | GN_JVM_DEOPT_MH |          \
	 GN_JVM_ANCHOR | GN_JVM_INTERP | GN_JVM_SPILLS | GN_JVM_SPILLING | GN_JVM_CODERS)

static bool rule_fits(const struct uw_rule *r)
{
	return r->cfa <= UW_CFA_SIGNAL && r->cfa_reg < REGISTERS && r->ra <= UW_LOST &&
	       r->fp <= UW_LOST && (r->ra != UW_INREG || (r->ra_off >= 0 && r->ra_off < REGISTERS));
}

/* The first two have fixed meanings. */
static bool rules_fit(const struct rule_set *rs)
{
	if (rs->n < 2 || rs->n > UW_MAX_RULES || rs->rules[UW_RULE_NONE].cfa != UW_CFA_NONE ||
	    rs->rules[UW_RULE_STOP].cfa != UW_CFA_STOP)
		return false;
	for (uint32_t i = 0; i < rs->n; i++)
		if (!rule_fits(&rs->rules[i]))
			return false;
	return true;
}

int scrutiny_table(const struct unwind_table *t)
{
	if (t->n > UNWIND_MAX_ROWS || !rules_fit(&t->rules) || (t->n && t->rows[0].key))
		return -EINVAL;
	for (size_t i = 0; i < t->n; i++)
		if (t->rows[i].rule >= t->rules.n || (i && t->rows[i].key <= t->rows[i - 1].key))
			return -EINVAL;
	return 0;
}

int scrutiny_mappings(const struct unwind_mapping *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (v[i].kind != UW_MAP_FILE && v[i].kind != UW_MAP_HOTSPOT &&
		    v[i].kind != UW_MAP_FP)
			return -EINVAL;
		if (v[i].kind == UW_MAP_HOTSPOT && v[i].arg >= GN_JVM_HEAPS)
			return -EINVAL;
	}
	return 0;
}

static bool range_fits(uint64_t low, uint64_t high)
{
	return low <= high && high <= UW_ADDR_MAX;
}

static bool header_fits(const struct gn_jvm *j)
{
	const uint16_t at[] = {j->used,	   j->name,	j->kind,    j->size, j->header,
			       j->frame,   j->complete, j->code,    j->id,   j->level,
			       j->orig_pc, j->deopt,	j->deopt_mh};

	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++)
		if (at[i] > GN_JVM_HEADER - sizeof(uint64_t))
			return false;
	return true;
}

int scrutiny_jvm(const struct gn_jvm *jvm, pid_t tgid)
{
	if (jvm->tgid != (uint32_t)tgid || jvm->nheaps > GN_JVM_HEAPS || jvm->flags & ~JVM_FLAGS ||
	    !range_fits(jvm->low, jvm->high) || !range_fits(jvm->interp_low, jvm->interp_high) ||
	    !range_fits(jvm->cont_low, jvm->cont_high) || !header_fits(jvm))
		return -EINVAL;
	for (uint32_t i = 0; i < jvm->nheaps; i++) {
		const struct gn_code_heap *h = &jvm->heap[i];

		if (!range_fits(h->low, h->high) || h->segmap > UW_ADDR_MAX ||
		    h->log2_segment > 31 || h->low < jvm->low || h->high > jvm->high)
			return -EINVAL;
	}
	return 0;
}

static bool heap_fits(const struct gn_heap *h)
{
	return h->oop_shift < 32 &&
	       !(h->flags & ~(GN_OOP_NARROW | GN_OOP_ZGC | GN_OOP_ZMARKS | GN_OOP_FORWARDED));
}

int scrutiny_layout(const struct gn_vthreads *l)
{
	bool fits = (l->klass_bytes == 4 || l->klass_bytes == 8) && l->klass_shift < 64 &&
		    heap_fits(&l->heap);

	return fits ? 0 : -EINVAL;
}

int scrutiny_places(const struct gn_ctx_places *p)
{
	if (p->n > CTX_PLACE_MAX)
		return -EINVAL;
	for (uint32_t i = 0; i < p->n; i++) {
		const struct ctx_place *at = &p->at[i];

		if ((at->kind != CTX_PLACE_STATIC && at->kind != CTX_PLACE_DYNAMIC) ||
		    at->format >= CTX_FORMATS || at->dtv_shift > 7)
			return -EINVAL;
	}
	return 0;
}

int scrutiny_locks(const struct gn_locks *l)
{
	bool fits = (l->klass_bytes == 4 || l->klass_bytes == 8) && l->mark_shift < 64 &&
		    l->klass_shift < 64 && l->hash_shift < 64 && heap_fits(&l->heap) &&
		    !(l->flags & ~(GN_LOCK_IDS | GN_LOCK_HELD | GN_LOCK_HASH));

	return fits ? 0 : -EINVAL;
}
