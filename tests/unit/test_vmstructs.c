/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The VM structures of a made-up libjvm.so: all fields there, and each one missing or out of reach:
 * what needs it is off and says so, nothing else is. With --seed DIR the images are written as
 * seeds of tests/fuzz/fuzz_vmstructs.c.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jvm/codecache.h"
#include "jvm/vm.h"
#include "jvm/vmstructs.h"
#include "jvmimage.h"

#define ALL ((1U << VM_FEATURES) - 1)

static const int releases[JDKS] = {17, 24, 25};

static int image_read(void *ctx, uint64_t addr, void *dst, size_t len)
{
	struct image *m = ctx;

	if (addr < IMAGE_BASE || addr - IMAGE_BASE > IMAGE_BYTES ||
	    len > IMAGE_BYTES - (addr - IMAGE_BASE))
		return -EFAULT;
	memcpy(dst, m->b + (addr - IMAGE_BASE), len);
	return 0;
}

static struct vm *image_open(struct image *m)
{
	struct vm *vm = NULL;

	assert_int_equal(vm_open_mem(mem_new(image_read, m), IMAGE_BASE, &vm, NULL), 0);
	return vm;
}

struct missing {
	char text[1024];
	uint32_t features;
	unsigned int n;
};

static void on_missing(void *arg, const char *name, enum vm_feature f)
{
	struct missing *m = arg;
	size_t len = strlen(m->text);

	snprintf(m->text + len, sizeof(m->text) - len, "%s;", name);
	m->features |= 1U << f;
	m->n++;
}

/* What goes with it. */
static uint32_t lost_with(enum vm_feature f)
{
	switch (f) {
	case VM_NAMES:
		return 1U << VM_NAMES | 1U << VM_LINES | 1U << VM_SCOPES;
	case VM_CODE:
		return 1U << VM_CODE | lost_with(VM_NMETHOD);
	case VM_NMETHOD:
		return 1U << VM_NMETHOD | 1U << VM_SCOPES | 1U << VM_DEOPT;
	case VM_THREADS:
		return 1U << VM_THREADS | 1U << VM_THREAD_NAMES;
	case VM_FEATURES:
		return 0;
	default:
		return 1U << f;
	}
}

static uint32_t lost_without(const struct image_fact *f, enum image_jdk jdk)
{
	uint32_t lost = lost_with(f->loses);

	/* metadata was in the code cache until 24 */
	if (f->field && ((!strcmp(f->field, "_data_offset") && jdk != JDK24) ||
			 (!strcmp(f->field, "_relocation_size") && jdk != JDK25)))
		return 0;
	/* the kernel side finds an interpreted frame's bytecode by these */
	if ((f->field && !strcmp(f->field, "_constMethod")) ||
	    (!f->field && !strcmp(f->type, "ConstMethod")))
		lost |= 1U << VM_INTERP;
	return lost;
}

static void check_without(const struct image_fact *f, enum image_jdk jdk, int64_t moved)
{
	uint32_t lost = lost_without(f, jdk);
	struct image *m = malloc(sizeof(*m));
	struct missing missing = {0};
	char name[128];
	struct vm *vm;

	image_make(m, jdk, f, moved);
	vm = image_open(m);
	vm_missing(vm, on_missing, &missing);
	snprintf(name, sizeof(name), f->field ? "%s.%s" : "sizeof(%s)", f->type, f->field);
	if (vm->has != (ALL & ~lost) || (lost ? !strstr(missing.text, name) : missing.n))
		fail_msg("JDK %d %s %s: has %#x, not %#x; missing '%s'", releases[jdk],
			 moved ? "with far" : "without", name, vm->has, ALL & ~lost, missing.text);
	vm_close(vm);
	free(m);
}

/* What it calls itself, and nothing where that is not to be had whole. */
static void test_info(void **state)
{
	struct image *m = malloc(sizeof(*m));
	char buf[sizeof(IMAGE_INFO)];
	const struct image_fact *f = image_facts;
	struct vm *vm;

	image_make(m, JDK17, NULL, 0);
	vm = image_open(m);
	assert_int_equal(vm_info(vm, buf, sizeof(buf)), 0);
	assert_string_equal(buf, IMAGE_INFO);
	assert_int_equal(vm_info(vm, buf, sizeof(buf) - 1), -ENOENT);
	vm_close(vm);
	while (!f->field || strcmp(f->field, "_s_internal_vm_info_string"))
		f++;
	image_make(m, JDK17, f, 0);
	vm = image_open(m);
	assert_int_equal(vm_info(vm, buf, sizeof(buf)), -ENOENT);
	vm_close(vm);
	free(m);
}

static void test_all_there(void **state)
{
	struct image *m = malloc(sizeof(*m));
	struct missing missing = {0};
	struct gn_jvm jvm;
	struct vm *vm;

	for (enum image_jdk jdk = 0; jdk < JDKS; jdk++) {
		image_make(m, jdk, NULL, 0);
		vm = image_open(m);
		vm_missing(vm, on_missing, &missing);
		assert_string_equal(missing.text, "");
		assert_int_equal(vm->has, ALL);
		assert_int_equal(vm_release(vm), releases[jdk]);
		assert_int_equal(codecache_fill(vm, &jvm), 0);
		assert_int_equal(jvm.nheaps, 1);
		assert_true(jvm.flags & GN_JVM_INTERP);
		vm_close(vm);
	}
	free(m);
}

/* The dynamic linker is on its way through a table: the pointers of an entry are still to come. */
static void test_half_linked(void **state)
{
	static const uint32_t entries[] = {IMAGE_STRUCTS + 5 * 48, IMAGE_TYPES + 16, IMAGE_INTS};
	struct image *m = malloc(sizeof(*m));
	struct vm *vm;

	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		struct error e = {0};

		image_make(m, JDK25, NULL, 0);
		memset(m->b + entries[i], 0, 8);
		assert_int_equal(vm_open_mem(mem_new(image_read, m), IMAGE_BASE, &vm, &e), -EAGAIN);
		assert_string_equal(e.msg, "libjvm.so has no readable VM structures");
	}
	free(m);
}

static void test_one_missing(void **state)
{
	for (enum image_jdk jdk = 0; jdk < JDKS; jdk++)
		for (size_t i = 0; i < IMAGE_FACTS; i++)
			if (image_facts[i].at[jdk] != NO)
				check_without(&image_facts[i], jdk, 0);
}

/* The kernel side reads so much of a blob: what is behind it is not read from somewhere else. */
static void test_far(void **state)
{
	static const char *const far[] = {"_name",	  "_size",	    "_frame_size",
					  "_code_offset", "_compile_id",    "_comp_level",
					  "_code_begin",  "_orig_pc_offset"};

	for (enum image_jdk jdk = 0; jdk < JDKS; jdk++)
		for (size_t i = 0; i < IMAGE_FACTS; i++)
			for (size_t k = 0; k < sizeof(far) / sizeof(far[0]); k++) {
				const struct image_fact *f = &image_facts[i];

				if (f->at[jdk] >= 0 && f->field && !strcmp(f->field, far[k]) &&
				    (!strcmp(f->type, "CodeBlob") || !strcmp(f->type, "nmethod")))
					check_without(f, jdk, 400);
			}
}

/* A JVM whose heaps cannot be told is not walked by halves. */
static void test_no_heaps(void **state)
{
	struct image *m = malloc(sizeof(*m));
	struct gn_jvm jvm;
	struct vm *vm;

	for (size_t i = 0; i < IMAGE_FACTS; i++) {
		const struct image_fact *f = &image_facts[i];

		if (f->loses != VM_CODE || f->at[JDK25] == NO)
			continue;
		image_make(m, JDK25, f, 0);
		vm = image_open(m);
		assert_int_equal(codecache_fill(vm, &jvm), -ENOTSUP);
		vm_close(vm);
	}
	free(m);
}

static int seeds_write(const char *dir)
{
	static struct image m;
	char path[512];
	int rc = 0;

	for (enum image_jdk jdk = 0; jdk < JDKS && !rc; jdk++) {
		FILE *f;

		snprintf(path, sizeof(path), "%s/image-jdk%d", dir, releases[jdk]);
		image_make(&m, jdk, NULL, 0);
		f = fopen(path, "w");
		rc = !f || fputc(0, f) == EOF || fwrite(m.b, sizeof(m.b), 1, f) != 1;
		if (f)
			rc |= fclose(f) != 0;
	}
	return rc;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_there),   cmocka_unit_test(test_info),
		cmocka_unit_test(test_half_linked), cmocka_unit_test(test_one_missing),
		cmocka_unit_test(test_far),	    cmocka_unit_test(test_no_heaps),
	};

	if (argc == 3 && !strcmp(argv[1], "--seed"))
		return seeds_write(argv[2]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
