/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "sym/ksyms.h"

static const char sample[] = "0000000000001000 D per_cpu_thing\n"
			     "ffffffff81000000 T _stext\n"
			     "ffffffff81000000 T startup\n"
			     "ffffffff81000100 t helper\n"
			     "ffffffff81000180 D data_here\n"
			     "ffffffff81000200 W weak_one\n"
			     "nonsense\n"
			     "ffffffffc0000000 t mod_a\t[ext4]\n"
			     "ffffffffc0000040 T mod_b\t[ext4]\n"
			     "ffffffffc0201000 t bpf_prog_6deef7357e7b4530_x\t[bpf]\n"
			     "ffffffff81000300 T late\n";

static void check(const struct ksyms *k, uint64_t addr, const char *klass, const char *method)
{
	struct frame_name n;

	assert_int_equal(ksyms_lookup(k, addr, &n), 0);
	assert_string_equal(n.klass, klass);
	assert_string_equal(n.method, method);
	assert_int_equal(n.type, FRAME_KERNEL);
}

static void names(void **state)
{
	struct frame_name n;
	struct ksyms *k;
	uint64_t addr;

	assert_int_equal(ksyms_parse(&k, sample, sizeof(sample) - 1), 0);
	assert_int_equal(ksyms_count(k), 7);
	check(k, 0xffffffff81000000, "(kernel)", "startup");
	check(k, 0xffffffff810000ff, "(kernel)", "startup");
	check(k, 0xffffffff810001ff, "(kernel)", "helper");
	check(k, 0xffffffff81000200, "(kernel)", "weak_one");
	check(k, 0xffffffff81000300, "(kernel)", "late");
	check(k, 0xffffffffc0000041, "(ext4)", "mod_b");
	check(k, 0xffffffffc0201fff, "(bpf)", "bpf_prog_6deef7357e7b4530_x");
	assert_int_equal(ksyms_lookup(k, 0x1000, &n), -ENOENT);
	assert_int_equal(ksyms_lookup(k, 0xffffffff80ffffff, &n), -ENOENT);
	assert_string_equal(n.method, "[unknown]");
	assert_int_equal(ksyms_lookup(k, 0xffffffff81000300 + KSYMS_REACH, &n), -ENOENT);
	assert_int_equal(ksyms_find(k, "mod_b", &addr), 0);
	assert_true(addr == 0xffffffffc0000040);
	assert_int_equal(ksyms_find(k, "data_here", &addr), -ENOENT);
	ksyms_free(k);
}

static void hidden(void **state)
{
	static const char zero[] = "0000000000000000 T _stext\n0000000000000000 t f\n";
	struct ksyms *k;

	assert_int_equal(ksyms_parse(&k, zero, sizeof(zero) - 1), -EPERM);
	assert_int_equal(ksyms_parse(&k, "", 0), -ENODATA);
	assert_int_equal(ksyms_parse(&k, "x\n", 2), -ENODATA);
}

/* NUL bytes within a line: the name ends there. */
static void nul_bytes(void **state)
{
	static const char text[] = "ffffffff81000000 T a\0b\t[m\0xxxxxxxxxxxxxxxxxxxxxxxx]\n"
				   "ffffffff81000010 T c\t[m\0yyyyyyyyyyyyyyyyyyyyyyyyyy]\n";
	struct ksyms *k;

	assert_int_equal(ksyms_parse(&k, text, sizeof(text) - 1), 0);
	check(k, 0xffffffff81000001, "(m", "a");
	check(k, 0xffffffff81000011, "(m", "c");
	ksyms_free(k);
}

/* This kernel: either it shows its addresses, and then known functions are found, or it says no. */
static void this_kernel(void **state)
{
	struct error e = {0};
	struct ksyms *k;
	uint64_t addr;

	if (ksyms_open(&k, &e)) {
		assert_int_equal(e.exit, EXIT_PERMISSION);
		assert_true(e.hint[0]);
		skip();
	}
	assert_true(ksyms_count(k) > 10000);
	assert_int_equal(ksyms_find(k, "schedule", &addr), 0);
	check(k, addr, "(kernel)", "schedule");
	check(k, addr + 1, "(kernel)", "schedule");
	assert_true(ksyms_bytes(k) < 64U * ksyms_count(k));
	ksyms_free(k);
}

struct newest {
	int rc;
	uint32_t program, link;
};

static int newest(void *ctx, uint32_t *program, uint32_t *link)
{
	const struct newest *n = ctx;

	*program = n->program;
	*link = n->link;
	return n->rc;
}

/* Those there were when the symbols were read: of a text, none. */
static void bpf_programs(void **state)
{
	struct newest n = {0};
	struct ksyms *k;

	assert_int_equal(ksyms_parse(&k, sample, sizeof(sample) - 1), 0);
	assert_true(ksyms_bpf_changed(k)); /* nobody tells */
	ksyms_programs_by(newest, &n);
	assert_false(ksyms_bpf_changed(k));
	n.rc = -EPERM;
	assert_true(ksyms_bpf_changed(k));
	n = (struct newest){.program = 1};
	assert_true(ksyms_bpf_changed(k));
	n = (struct newest){.link = 1};
	assert_true(ksyms_bpf_changed(k));
	ksyms_programs_by(NULL, NULL);
	ksyms_free(k);
}

/* And of this kernel those that it has. */
static void bpf_programs_since(void **state)
{
	struct newest n = {.program = 7, .link = 9};
	struct ksyms *k;

	ksyms_programs_by(newest, &n);
	if (ksyms_open(&k, NULL)) {
		ksyms_programs_by(NULL, NULL);
		skip();
	}
	assert_false(ksyms_bpf_changed(k));
	n.program = 8;
	assert_true(ksyms_bpf_changed(k));
	ksyms_programs_by(NULL, NULL);
	ksyms_free(k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),	cmocka_unit_test(hidden),
		cmocka_unit_test(nul_bytes),	cmocka_unit_test(this_kernel),
		cmocka_unit_test(bpf_programs), cmocka_unit_test(bpf_programs_since),
	};

	return cmocka_run_group_tests_name("ksyms", tests, NULL, NULL);
}
