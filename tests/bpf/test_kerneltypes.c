/* SPDX-License-Identifier: Apache-2.0 */
/* The few types of the kernel by which our programs are fitted to it: they are the kernel's, and
 * the programs become the same. */
#include "capture/kerneltypes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture/features.h"
#include "gnomon.skel.h"

/* ---- the types ---- */

static void composite_same(const struct btf *a, const struct btf_type *s, const struct btf *b,
			   const struct btf_type *t)
{
	const struct btf_member *m = btf_members(s), *n = btf_members(t);

	assert_int_equal(s->size, t->size);
	assert_int_equal(btf_vlen(s), btf_vlen(t));
	for (__u32 i = 0; i < btf_vlen(s); i++, m++, n++) {
		assert_string_equal(btf__name_by_offset(a, m->name_off),
				    btf__name_by_offset(b, n->name_off));
		assert_int_equal(btf_member_bit_offset(s, i), btf_member_bit_offset(t, i));
		assert_int_equal(btf_member_bitfield_size(s, i), btf_member_bitfield_size(t, i));
		assert_int_equal(btf__resolve_size(a, m->type), btf__resolve_size(b, n->type));
	}
}

/* Are all members of `s` of `a`, be they in others, at their place in `b`? */
static void test_types(void **state)
{
	static const char *const names[] = {"task_struct", "rq", "sock_common", "file", "upid"};
	struct btf *kernel = btf__load_vmlinux_btf(), *few;
	struct gnomon *skel = gnomon__open();

	(void)state;
	assert_non_null(kernel);
	assert_non_null(skel);
	few = kerneltypes_select(kernel, bpf_object__btf(skel->obj));
	assert_non_null(few);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		int a = btf__find_by_name_kind(kernel, names[i], BTF_KIND_STRUCT);
		int b = btf__find_by_name_kind(few, names[i], BTF_KIND_STRUCT);

		assert_true(a > 0 && b > 0);
		composite_same(kernel, btf__type_by_id(kernel, (__u32)a), few,
			       btf__type_by_id(few, (__u32)b));
	}
	print_message("%u types of %u\n", btf__type_cnt(few), btf__type_cnt(kernel));
	assert_true(btf__type_cnt(few) < btf__type_cnt(kernel) / 10);
	btf__free(few);
	btf__free(kernel);
	gnomon__destroy(skel);
}

/* ---- the programs ---- */

static struct gnomon *loaded_by(const char *types)
{
	static const char *const some[] = {"thread_clock", "wall_switch", "task_born", "task_ends"};
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = types);
	struct gnomon *skel = gnomon__open_opts(&opts);
	struct bpf_program *p;

	assert_non_null(skel);
	bpf_object__for_each_program(p, skel->obj) bpf_program__set_autoload(p, false);
	for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
		p = bpf_object__find_program_by_name(skel->obj, some[i]);
		assert_non_null(p);
		bpf_program__set_autoload(p, true);
	}
	assert_int_equal(gnomon__load(skel), 0);
	return skel;
}

/* Numbers of maps and of what lies in them differ from load to load. */
static bool is_of_a_map(const struct bpf_insn *i)
{
	return i->code == (BPF_LD | BPF_IMM | BPF_DW) && i->src_reg;
}

static size_t insns_same(const struct bpf_program *p, const struct bpf_program *q)
{
	const struct bpf_insn *a = bpf_program__insns(p), *b = bpf_program__insns(q);
	size_t n = bpf_program__insn_cnt(p);

	assert_int_equal(n, bpf_program__insn_cnt(q));
	for (size_t i = 0; i < n; i++) {
		struct bpf_insn x = a[i], y = b[i];

		if (is_of_a_map(&x))
			x.imm = y.imm;
		assert_memory_equal(&x, &y, sizeof(x));
	}
	return n;
}

static void test_programs(void **state)
{
	struct gnomon *by_all, *by_few;
	char path[KERNELTYPES_PATH];
	struct bpf_program *p;
	uint32_t task;
	size_t n = 0;
	int fd;

	(void)state;
	if (!features_can_switch())
		skip();
	fd = kerneltypes_open(path, &task);
	assert_true(fd >= 0);
	assert_true(task > 0);
	by_all = loaded_by(NULL);
	by_few = loaded_by(path);
	bpf_object__for_each_program(p, by_all->obj)
	{
		if (bpf_program__autoload(p))
			n += insns_same(p, bpf_object__find_program_by_name(by_few->obj,
									    bpf_program__name(p)));
	}
	print_message("%zu instructions are the same\n", n);
	assert_true(n > 5000);
	gnomon__destroy(by_all);
	gnomon__destroy(by_few);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
