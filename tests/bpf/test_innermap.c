/* SPDX-License-Identifier: Apache-2.0 */
/* Maps within maps: put in place together, forgotten, and more than wait at a time. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include <bpf/bpf.h>

#include "capture/innermap.h"

#define OUTER_ENTRIES 256

static int outer_open(uint32_t type)
{
	int inner = innermap_array(&(uint64_t){0}, sizeof(uint64_t), 1, 0), fd;
	LIBBPF_OPTS(bpf_map_create_opts, opts, .inner_map_fd = (uint32_t)inner);

	assert_true(inner >= 0);
	fd = bpf_map_create(type, "test_outer", 4, 4, OUTER_ENTRIES, &opts);
	assert_true(fd >= 0);
	close(inner);
	return fd;
}

/* The first value of the map under a key; 0 if there is none. */
static uint64_t value_at(int outer, uint32_t key)
{
	uint32_t id, zero = 0;
	uint64_t value;
	int fd;

	if (bpf_map_lookup_elem(outer, &key, &id))
		return 0;
	fd = bpf_map_get_fd_by_id(id);
	assert_true(fd >= 0);
	assert_int_equal(bpf_map_lookup_elem(fd, &zero, &value), 0);
	close(fd);
	return value;
}

static int map_of(uint64_t value)
{
	int fd = innermap_array(&value, sizeof(value), 1, 0);

	assert_true(fd >= 0);
	return fd;
}

static void test_values(void **state)
{
	uint64_t values[1000], value;
	int fd;

	for (uint32_t i = 0; i < 1000; i++)
		values[i] = 7 * i;
	fd = innermap_array(values, sizeof(*values), 1000, 0);
	assert_true(fd >= 0);
	for (uint32_t i = 0; i < 1000; i++) {
		assert_int_equal(bpf_map_lookup_elem(fd, &i, &value), 0);
		assert_int_equal(value, 7 * i);
	}
	close(fd);
}

/* Nothing is in place before the flush, all of it after, but for what was forgotten. */
static void waiting_check(uint32_t type)
{
	struct innermap_waiting w = {.outer = outer_open(type)};

	for (uint32_t key = 1; key <= 3; key++)
		assert_int_equal(innermap_wait(&w, key, map_of(100 + key)), 0);
	assert_int_equal(value_at(w.outer, 1), 0);
	innermap_forget(&w, 2);
	assert_int_equal(innermap_flush(&w), 0);
	assert_int_equal(value_at(w.outer, 1), 101);
	assert_int_equal(value_at(w.outer, 2), 0);
	assert_int_equal(value_at(w.outer, 3), 103);
	/* another in the place of one */
	assert_int_equal(innermap_wait(&w, 3, map_of(203)), 0);
	assert_int_equal(innermap_flush(&w), 0);
	assert_int_equal(value_at(w.outer, 3), 203);
	assert_int_equal(innermap_flush(&w), 0);
	close(w.outer);
}

static void test_waiting(void **state)
{
	waiting_check(BPF_MAP_TYPE_ARRAY_OF_MAPS);
	waiting_check(BPF_MAP_TYPE_HASH_OF_MAPS);
}

/* Those before it are put in place when there is no room for one more. */
static void test_many(void **state)
{
	struct innermap_waiting w = {.outer = outer_open(BPF_MAP_TYPE_ARRAY_OF_MAPS)};

	for (uint32_t key = 0; key < OUTER_ENTRIES; key++)
		assert_int_equal(innermap_wait(&w, key, map_of(key + 1)), 0);
	assert_true(w.n <= INNERMAP_WAITING_MAX);
	assert_int_equal(innermap_flush(&w), 0);
	assert_int_equal(w.n, 0);
	for (uint32_t key = 0; key < OUTER_ENTRIES; key++)
		assert_int_equal(value_at(w.outer, key), key + 1);
	close(w.outer);
}

/* What cannot be put waits on, and is told of each time. */
static void test_failure(void **state)
{
	struct innermap_waiting w = {.outer = outer_open(BPF_MAP_TYPE_ARRAY_OF_MAPS)};

	assert_int_equal(innermap_wait(&w, 5, map_of(5)), 0);
	assert_int_equal(innermap_wait(&w, OUTER_ENTRIES, map_of(6)), 0);
	assert_int_equal(innermap_flush(&w), -E2BIG);
	assert_int_equal(w.n, 2);
	innermap_forget(&w, OUTER_ENTRIES);
	assert_int_equal(innermap_flush(&w), 0);
	assert_int_equal(value_at(w.outer, 5), 5);
	assert_int_equal(innermap_wait(&w, 6, map_of(6)), 0);
	innermap_drop(&w);
	assert_int_equal(w.n, 0);
	assert_int_equal(value_at(w.outer, 6), 0);
	close(w.outer);
}

/* An argument names the tests to run, with * and ? for what is not said. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_waiting),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_failure),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
