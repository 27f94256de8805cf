/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as call frame information: rows must be sorted, name rules that exist, be no more than
 * the bytes can say, and make pages in which every lookup agrees with the rows.
 */
// FUZZ-LINK: user/sym/ehframe.c user/capture/utable.c user/wire/rules.c
#include "tests/uwmem.h"

static void check_pages(const struct unwind_table *t)
{
	struct uwmem *m = uwmem_new(1);
	uint32_t id = 0;

	if (utable_file_add(m->u, "k", 1, t, &id))
		abort();
	for (size_t i = 0; i < t->n; i++) {
		uint32_t keys[] = {t->rows[i].key, t->rows[i].key + 1};

		for (int k = 0; k < 2; k++) {
			uint32_t r = uw_rule_find(&m->env, id, keys[k]);

			if (memcmp(&m->rules[r], ehframe_rule(t, keys[k]), sizeof(m->rules[r])))
				abort();
		}
	}
	uwmem_free(m);
}

static void check_rows(const struct unwind_table *t)
{
	if (!t->n || t->rows[0].key)
		abort();
	for (size_t i = 0; i < t->n; i++)
		if ((i && t->rows[i].key <= t->rows[i - 1].key) || t->rows[i].rule >= t->rules.n)
			abort();
}

/* The same bytes as the other kind of section fill the gaps. */
static void check_fill(struct unwind_table *t, struct ehframe_section sec)
{
	struct unwind_table other;

	sec.debug_frame = !sec.debug_frame;
	if (ehframe_compile(&sec, 0x1000, &other))
		return;
	if (!ehframe_fill(t, &other))
		check_rows(t);
	for (size_t i = 0; i < other.n; i++) {
		const struct uw_rule *r = &other.rules.rules[other.rows[i].rule];

		if (r->cfa != UW_CFA_NONE &&
		    ehframe_rule(t, other.rows[i].key)->cfa == UW_CFA_NONE && !t->rules.refused)
			abort();
	}
	ehframe_free(&other);
}

/* Ascending, none empty, none over another. */
static void check_functions(const struct ehframe_section *sec)
{
	struct ehframe_function *v;
	size_t n;

	if (ehframe_functions(sec, 0x1000, &v, &n))
		return;
	for (size_t i = 0; i < n; i++)
		if (v[i].start >= v[i].end || (i && v[i].start < v[i - 1].end))
			abort();
	free(v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ehframe_section sec = {data + 1, size - 1, 0x9000, size && *data & 1};
	struct unwind_table t;

	if (size)
		check_functions(&sec);
	if (!size || ehframe_compile(&sec, 0x1000, &t))
		return 0;
	if (t.n > 2 * size + 2)
		abort();
	check_rows(&t);
	check_fill(&t, sec);
	if (!(*data & 6) && t.rules.n <= UTABLE_FILE_RULES) /* the pages are slow to make */
		check_pages(&t);
	ehframe_free(&t);
	return 0;
}
