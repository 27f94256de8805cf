/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables as the kernel side sees them: look-ups in pages of every height against the rows they
 * were made from, the life of files, and which mapping an address is found in.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "uwmem.h"

#define S (1000000000ULL) /* ns */

/* Rows at 0, 3, 6 ... with rules that follow from the row's number. */
static void rows_make(struct unwind_table *t, size_t n)
{
	memset(t, 0, sizeof(*t));
	assert_int_equal(rule_set_init(&t->rules), 0);
	t->rows = calloc(n, sizeof(*t->rows));
	t->n = n;
	for (int i = 0; i < 5; i++) {
		struct uw_rule r = {.cfa = UW_CFA_REG, .cfa_reg = UW_REG_SP, .cfa_off = 8 * i};

		assert_int_equal(rule_set_add(&t->rules, &r), 2 + i);
	}
	for (size_t i = 0; i < n; i++)
		t->rows[i] = (struct unwind_row){3 * i, 2 + i % 5};
}

static int off_at(struct uwmem *m, uint32_t file, uint32_t key)
{
	return m->rules[uw_rule_find(&m->env, file, key)].cfa_off;
}

static void check_pages(size_t n, uint32_t height)
{
	struct uwmem *m = uwmem_new(1);
	struct unwind_table t;
	uint32_t file;

	rows_make(&t, n);
	assert_int_equal(utable_file_add(m->u, "key", 3, &t, &file), 0);
	assert_int_equal(m->pages[UW_FILE_SLOT(file)][0].height, height);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(off_at(m, file, 3 * i), 8 * (i % 5));
		assert_int_equal(off_at(m, file, 3 * i + 2), 8 * (i % 5));
	}
	assert_int_equal(off_at(m, file, 0xfffffffe), 8 * ((n - 1) % 5));
	ehframe_free(&t);
	uwmem_free(m);
}

static void test_pages(void **state)
{
	check_pages(1, 0);
	check_pages(UW_PAGE_ROWS, 0);
	check_pages(UW_PAGE_ROWS + 1, 1);
	check_pages(UW_PAGE_ROWS * UW_PAGE_ROWS, 1);
	check_pages(UW_PAGE_ROWS * UW_PAGE_ROWS + 1, 2);
}

static void test_life_of_a_file(void **state)
{
	struct unwind_mapping v = {.start = 0x1000, .end = 0x2000, .kind = UW_MAP_FILE};
	struct uwmem *m = uwmem_new(1);
	struct unwind_table t;
	uint32_t a, b;

	rows_make(&t, 3);
	assert_int_equal(utable_file_add(m->u, "a", 1, &t, &a), 0);
	assert_int_equal(utable_file_add(m->u, "a", 1, &t, &b), -EINVAL);
	assert_int_equal(utable_file_add(m->u, "", 0, &t, &b), -EINVAL);
	assert_int_equal(utable_file_find(m->u, "a", 1), a);
	assert_int_equal(utable_file_find(m->u, "aa", 2), UNWIND_NO_FILE);
	v.arg = a;
	assert_int_equal(utable_proc_set(m->u, 7, &v, 1, S), 0);
	assert_int_equal(utable_proc_set(m->u, 8, &v, 1, S), 0);
	assert_int_equal(utable_stats(m->u).procs, 2);
	assert_int_equal(utable_proc_drop(m->u, 7, 2 * S), 0);
	assert_int_equal(utable_proc_drop(m->u, 7, 2 * S), -ENOENT);
	assert_int_equal(utable_reap(m->u, 100 * S), 0);
	assert_false(utable_has_idle(m->u));
	assert_int_equal(utable_file_find(m->u, "a", 1), a); /* 8 has it */
	assert_int_equal(utable_proc_set(m->u, 8, &v, 0, 100 * S), 0);
	assert_int_equal(utable_reap(m->u, 101 * S), 0);
	assert_non_null(m->pages[UW_FILE_SLOT(a)]); /* within the grace */
	assert_true(utable_has_idle(m->u));
	assert_int_equal(utable_reap(m->u, 102 * S), 0);
	assert_false(utable_has_idle(m->u));
	assert_null(m->pages[UW_FILE_SLOT(a)]);
	assert_int_equal(utable_file_find(m->u, "a", 1), UNWIND_NO_FILE);
	assert_int_equal(utable_stats(m->u).pages, 0);

	/* the same file again is another number, and the old one is good for nothing */
	assert_int_equal(utable_file_add(m->u, "a", 1, &t, &b), 0);
	assert_int_not_equal(a, b);
	assert_int_equal(utable_proc_set(m->u, 8, &v, 1, 103 * S), 0);
	assert_int_equal(m->proc.n, 0);
	assert_int_equal(utable_stats(m->u).maps_refused, 1);
	ehframe_free(&t);
	uwmem_free(m);
}

static void expect_map(struct uw_state *s, const struct uw_proc *p, uint64_t pc, uint32_t arg)
{
	s->pc = pc;
	uw_map_find(s, p);
	assert_int_equal(s->map.kind, arg ? UW_MAP_HOTSPOT : UW_MAP_NONE);
	if (arg)
		assert_int_equal(s->map.arg, arg);
}

static void test_mappings(void **state)
{
	struct unwind_mapping v[] = {
		{.start = 0x5000, .end = 0x6000, .kind = UW_MAP_HOTSPOT, .arg = 2},
		{.start = 0x1000, .end = 0x3000, .kind = UW_MAP_HOTSPOT, .arg = 1},
		{.start = 0x2000, .end = 0x4000, .kind = UW_MAP_HOTSPOT, .arg = 9}, /* overlaps */
		{.start = 0x6000, .end = 0x7000, .kind = UW_MAP_HOTSPOT, .arg = 3},
		{.start = 0x8000, .end = 0x8000, .kind = UW_MAP_HOTSPOT, .arg = 9}, /* empty */
		{.start = 0x9000, .end = 1ULL << 48, .kind = UW_MAP_HOTSPOT, .arg = 9},
	};
	struct uw_state *s = calloc(1, sizeof(*s));
	struct uwmem *m = uwmem_new(1);

	assert_int_equal(utable_proc_set(m->u, 1, v, 6, S), 0);
	assert_int_equal(m->proc.n, 3);
	assert_int_equal(utable_stats(m->u).maps_refused, 3);
	uw_begin(s, 1, GN_MAX_FRAMES);
	expect_map(s, &m->proc, 0, 0);
	expect_map(s, &m->proc, 0xfff, 0);
	expect_map(s, &m->proc, 0x1000, 1);
	expect_map(s, &m->proc, 0x2fff, 1);
	expect_map(s, &m->proc, 0x3000, 0);
	expect_map(s, &m->proc, 0x5fff, 2);
	expect_map(s, &m->proc, 0x6000, 3);
	expect_map(s, &m->proc, 0x7000, 0);
	expect_map(s, &m->proc, UW_ADDR_MAX - 1, 0);
	s->flags = GN_FF_RETADDR; /* behind a call that ends its mapping */
	expect_map(s, &m->proc, 0x6000, 2);
	expect_map(s, &m->proc, 0x7000, 3);
	free(s);
	uwmem_free(m);
}

static void test_too_many_mappings(void **state)
{
	struct unwind_mapping *v = calloc(UW_MAX_MAPS + 10, sizeof(*v));
	struct uw_state *s = calloc(1, sizeof(*s));
	struct uwmem *m = uwmem_new(1);

	for (uint32_t i = 0; i < UW_MAX_MAPS + 10; i++)
		v[i] = (struct unwind_mapping){.start = 0x1000ULL * (i + 1),
					       .end = 0x1000ULL * (i + 2),
					       .kind = UW_MAP_HOTSPOT,
					       .arg = i + 1};
	assert_int_equal(utable_proc_set(m->u, 1, v, UW_MAX_MAPS + 10, S), 0);
	assert_int_equal(m->proc.n, UW_MAX_MAPS);
	assert_int_equal(utable_stats(m->u).maps_refused, 10);
	uw_begin(s, 1, GN_MAX_FRAMES);
	for (uint32_t i = 0; i < UW_MAX_MAPS; i++)
		expect_map(s, &m->proc, 0x1000ULL * (i + 1) + 5, i + 1);
	expect_map(s, &m->proc, 0x1000ULL * (UW_MAX_MAPS + 1), 0);
	free(s);
	free(v);
	uwmem_free(m);
}

/* `n` rows, each with a rule of its own: from `first` on. */
static void rules_make(struct unwind_table *t, size_t n, int32_t first)
{
	memset(t, 0, sizeof(*t));
	assert_int_equal(rule_set_init(&t->rules), 0);
	t->rows = calloc(n, sizeof(*t->rows));
	t->n = n;
	for (size_t i = 0; i < n; i++) {
		struct uw_rule r = {
			.cfa = UW_CFA_REG, .cfa_reg = UW_REG_SP, .cfa_off = first + (int32_t)i};

		t->rows[i] = (struct unwind_row){3 * i, rule_set_add(&t->rules, &r)};
	}
}

/* Not what hundreds of files need that come and go, but what those that are there do. */
static void test_rules_go_with_their_file(void **state)
{
	struct uwmem *m = uwmem_new(1);
	struct unwind_table t;
	uint32_t kept, file;
	uint64_t now = S;

	rules_make(&t, 1000, 0);
	assert_int_equal(utable_file_add(m->u, "kept", 4, &t, &kept), 0);
	ehframe_free(&t);
	utable_proc_set(m->u, 1,
			&(struct unwind_mapping){
				.start = 0x1000, .end = 0x2000, .kind = UW_MAP_FILE, .arg = kept},
			1, now);
	for (int i = 1; i <= 100; i++) {
		rules_make(&t, 1000, i % 2 ? 500 : 1000 * i); /* some are the first file's, too */
		assert_int_equal(utable_file_add(m->u, &i, sizeof(i), &t, &file), 0);
		for (uint32_t k = 0; k < 1000; k++)
			assert_int_equal(off_at(m, file, 3 * k),
					 t.rules.rules[t.rows[k].rule].cfa_off);
		ehframe_free(&t);
		utable_reap(m->u, now);
		now += 3 * S;
		utable_reap(m->u, now);
		for (uint32_t k = 0; k < 1000; k++)
			assert_int_equal(off_at(m, kept, 3 * k), k);
	}
	assert_int_equal(utable_stats(m->u).rules, 1002);
	assert_int_equal(utable_stats(m->u).rules_refused, 0);
	uwmem_free(m);
}

/* One file does not leave others without. */
static void test_share_of_rules(void **state)
{
	struct uwmem *m = uwmem_new(1);
	struct unwind_table t;
	uint32_t file;

	rules_make(&t, UW_MAX_RULES - 2, 1);
	assert_int_equal(utable_file_add(m->u, "greedy", 6, &t, &file), 0);
	assert_int_equal(off_at(m, file, 0), 1);
	assert_int_equal(uw_rule_find(&m->env, file, 3 * (UW_MAX_RULES - 3)), UW_RULE_NONE);
	assert_int_equal(utable_stats(m->u).rules, UTABLE_FILE_RULES);
	assert_int_equal(utable_stats(m->u).rules_refused, UW_MAX_RULES - UTABLE_FILE_RULES);
	ehframe_free(&t);
	rules_make(&t, 1200, 1 << 20);
	assert_int_equal(utable_file_add(m->u, "other", 5, &t, &file), 0);
	for (uint32_t k = 0; k < 1200; k++)
		assert_int_equal(off_at(m, file, 3 * k), (1 << 20) + k);
	ehframe_free(&t);
	uwmem_free(m);
}

static void owned_add(struct uwmem *m, uint32_t owner, uint32_t n, uint32_t from, uint32_t *file)
{
	static uint32_t key;
	struct unwind_table t;

	rules_make(&t, n, from);
	utable_owner(m->u, owner);
	key++;
	assert_int_equal(utable_file_add(m->u, &key, sizeof(key), &t, file), 0);
	ehframe_free(&t);
}

/*
 * Nor does one process, however many files it has: a quarter of what others left. What ends with
 * its files is there again, and what others came with first counts to nobody else.
 */
static void test_share_of_process(void **state)
{
	struct uwmem *m = uwmem_new(1);
	uint32_t file, refused;

	owned_add(m, 7, 1000, 1, &file);
	for (uint32_t i = 1; i < 16; i++)
		owned_add(m, 7, 1000, 1 + 1000 * i, &file);
	/* 2 are everybody's */
	assert_int_equal(utable_stats(m->u).rules, 2 + (UW_MAX_RULES - 2) / 4);
	refused = utable_stats(m->u).rules_refused;
	assert_int_equal(refused, 16000 - (UW_MAX_RULES - 2) / 4);
	owned_add(m, 8, 1200, 1 << 20, &file);
	for (uint32_t k = 0; k < 1200; k++)
		assert_int_equal(off_at(m, file, 3 * k), (1 << 20) + k);
	owned_add(m, 7, 1200, 1 << 20, &file); /* no rule is new */
	assert_int_equal(utable_stats(m->u).rules_refused, refused);
	utable_reap(m->u, S);
	utable_reap(m->u, 4 * S);
	assert_int_equal(utable_stats(m->u).rules, 2);
	owned_add(m, 7, 1000, 1, &file);
	assert_int_equal(utable_stats(m->u).rules_refused, refused);
	uwmem_free(m);
}

static void test_room(void **state)
{
	struct utable_sink sink;
	struct uwmem *m = uwmem_new(1);
	struct unwind_table t;
	struct utable *u;
	uint32_t file;

	sink = (struct utable_sink){.ctx = m,
				    .max_bytes = 12 * sizeof(struct uw_page),
				    .rule = uwmem_rule,
				    .file = uwmem_file,
				    .file_drop = uwmem_file_drop};
	assert_int_equal(utable_new(&u, &sink), 0);
	rows_make(&t, 5 * UW_PAGE_ROWS); /* and a root */
	assert_int_equal(utable_file_add(u, "a", 1, &t, &file), 0);
	assert_int_equal(utable_file_add(u, "b", 1, &t, &file), 0);
	assert_int_equal(utable_file_add(u, "c", 1, &t, &file), -ENOSPC);
	assert_int_equal(utable_stats(u).files, 2);
	assert_int_equal(utable_stats(u).pages, 12);
	assert_int_equal(utable_stats(u).files_refused, 1);
	utable_reap(u, S);
	utable_reap(u, 4 * S);
	assert_int_equal(utable_file_add(u, "c", 1, &t, &file), 0);
	ehframe_free(&t);
	utable_free(u);
	uwmem_free(m);
}

/* Code without tables takes no place; of files the highest stay, and all of the code heaps. */
static void test_mappings_that_matter(void **state)
{
	struct unwind_mapping *v = calloc(4 * UW_MAX_MAPS, sizeof(*v));
	struct uwmem *m = uwmem_new(1);
	struct unwind_table t;
	uint32_t file;

	rows_make(&t, 3);
	assert_int_equal(utable_file_add(m->u, "a", 1, &t, &file), 0);
	ehframe_free(&t);
	for (uint32_t i = 0; i < 4 * UW_MAX_MAPS; i++)
		v[i] = (struct unwind_mapping){.start = 0x1000ULL * (i + 1),
					       .end = 0x1000ULL * (i + 2),
					       .kind = i % 2 ? UW_MAP_FP : UW_MAP_FILE,
					       .arg = file};
	v[10].kind = UW_MAP_HOTSPOT;
	assert_int_equal(utable_proc_set(m->u, 1, v, 4 * UW_MAX_MAPS, S), 0);
	assert_int_equal(m->proc.n, UW_MAX_MAPS);
	assert_int_equal(m->proc.start[0], 0x1000 * 11);
	assert_int_equal(m->proc.map[0].kind, UW_MAP_HOTSPOT);
	for (uint32_t i = 1; i < UW_MAX_MAPS; i++) {
		assert_int_equal(m->proc.start[i], 0x1000ULL * (2 * UW_MAX_MAPS + 2 * i + 1));
		assert_int_equal(m->proc.map[i].kind, UW_MAP_FILE);
	}
	assert_int_equal(utable_stats(m->u).maps_refused, UW_MAX_MAPS);
	free(v);
	uwmem_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pages),
		cmocka_unit_test(test_life_of_a_file),
		cmocka_unit_test(test_mappings),
		cmocka_unit_test(test_too_many_mappings),
		cmocka_unit_test(test_mappings_that_matter),
		cmocka_unit_test(test_rules_go_with_their_file),
		cmocka_unit_test(test_share_of_rules),
		cmocka_unit_test(test_share_of_process),
		cmocka_unit_test(test_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
