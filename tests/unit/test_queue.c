/* SPDX-License-Identifier: Apache-2.0 */
/* The queue keeps records whole and in order over many wraps, refuses what does not fit, ends. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "naming/queue.h"

#define CAP 4096

struct big {
	struct gn_rec h;
	uint8_t fill[1000];
};

/* A record whose size and bytes follow from its number. */
static void make(struct big *b, uint32_t i)
{
	size_t extra = (i * 37) % sizeof(b->fill);

	b->h = (struct gn_rec){.type = 1, .tid = i, .size = (__u32)(sizeof(b->h) + extra)};
	memset(b->fill, (int)(i & 0xff), extra);
}

static void check(const struct gn_rec *r, uint32_t i)
{
	struct big want;

	make(&want, i);
	assert_non_null(r);
	assert_int_equal(r->tid, i);
	assert_int_equal(r->size, want.h.size);
	assert_memory_equal(r, &want, want.h.size);
}

static void test_order_over_wraps(void **state)
{
	struct queue *q = queue_new(CAP);
	uint32_t in = 0, out = 0;
	struct big b;
	bool ended;

	while (out < 10000) {
		for (make(&b, in); queue_push(q, &b.h); make(&b, in))
			in++;
		assert_true(in > out);
		/* leave some behind, so that the ends meet at every offset */
		while (in - out > out % 2)
			check(queue_pop(q, 0, &ended), out++);
	}
	queue_free(q);
}

/* Looked at ahead, from the record at hand as far as there is any, each once and in order. */
static void test_peek(void **state)
{
	struct queue *q = queue_new(CAP);
	uint32_t in = 0, out = 0, seen = 0;
	const struct gn_rec *r;
	struct big b;
	bool ended;

	assert_null(queue_peek(q));
	while (out < 10000) {
		for (make(&b, in); queue_push(q, &b.h); make(&b, in))
			in++;
		if (in % 3) { /* else some are popped that were not looked at */
			for (; (r = queue_peek(q)); seen++)
				check(r, seen);
			assert_int_equal(seen, in);
		}
		while (in - out > out % 2)
			check(queue_pop(q, 0, &ended), out++);
		if (seen < out - 1)
			seen = out - 1;
	}
	queue_free(q);
}

static void test_full_and_end(void **state)
{
	struct queue *q = queue_new(CAP);
	struct big b;
	bool ended = true;
	uint32_t n = 0;

	assert_null(queue_pop(q, 0, &ended));
	assert_false(ended);
	for (make(&b, n); queue_push(q, &b.h); make(&b, n))
		n++;
	assert_true(queue_used(q) <= CAP);
	queue_end(q);
	for (uint32_t i = 0; i < n; i++)
		check(queue_pop(q, 1000, &ended), i);
	assert_null(queue_pop(q, 1000, &ended));
	assert_true(ended);
	queue_free(q);
}

/* What is read as fast as it is written takes little memory, however large the queue may become. */
static void test_stays_small(void **state)
{
	struct queue *q = queue_new(1 << 20);
	const struct gn_rec *first = NULL, *r;
	struct big b;
	bool ended;

	for (uint32_t i = 0; i < 5000; i++) {
		make(&b, i);
		assert_true(queue_push(q, &b.h));
		r = queue_pop(q, 0, &ended);
		check(r, i);
		assert_null(queue_pop(q, 0, &ended));
		first = i ? first : r;
		assert_in_range((const char *)r - (const char *)first, 0, 1 << 17);
	}
	queue_free(q);
}

/* Wherever it stands, an empty queue takes as much as it says. */
static void test_room_when_empty(void **state)
{
	struct queue *q = queue_new(1 << 20);
	struct gn_rec r = {.type = 1, .size = sizeof(r)};
	size_t room = (1 << 20) / sizeof(r);
	bool ended;

	for (size_t before = 0; before < room; before += 1111) {
		for (size_t i = 0; i < before; i++) {
			assert_true(queue_push(q, &r));
			assert_non_null(queue_pop(q, 0, &ended));
		}
		assert_null(queue_pop(q, 0, &ended));
		for (size_t i = 0; i < room; i++)
			assert_true(queue_push(q, &r));
		for (size_t i = 0; i < room; i++)
			assert_non_null(queue_pop(q, 0, &ended));
		assert_null(queue_pop(q, 0, &ended));
	}
	queue_free(q);
}

static size_t resident(void)
{
	size_t all, pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%zu %zu", &all, &pages), 2);
	fclose(f);
	return pages * 4096;
}

/* What a jam filled is given back when it is over. */
static void test_memory_comes_back(void **state)
{
	struct queue *q = queue_new(16 << 20);
	size_t before = resident();
	uint32_t in = 0, out = 0;
	struct big b;
	bool ended;

	for (make(&b, in); queue_push(q, &b.h); make(&b, in))
		in++;
	assert_true(resident() > before + (12 << 20));
	while (out < in)
		check(queue_pop(q, 0, &ended), out++);
	assert_null(queue_pop(q, 0, &ended));
	for (int i = 0; i < 1000; i++) {
		make(&b, in++);
		assert_true(queue_push(q, &b.h));
		check(queue_pop(q, 0, &ended), out++);
		assert_null(queue_pop(q, 0, &ended));
	}
	assert_true(resident() < before + (3 << 20));
	queue_free(q);
}

static void *produce(void *arg)
{
	struct queue *q = arg;
	struct big b;

	for (uint32_t i = 0; i < 50000; i++) {
		make(&b, i);
		while (!queue_push(q, &b.h))
			queue_wake(q);
		if (i % 7 == 0)
			queue_wake(q);
	}
	queue_end(q);
	return NULL;
}

static void test_two_threads(void **state)
{
	struct queue *q = queue_new(CAP);
	const struct gn_rec *r;
	bool ended = false;
	uint32_t n = 0;
	pthread_t th;

	pthread_create(&th, NULL, produce, q);
	while (!ended) {
		r = queue_pop(q, 100, &ended);
		if (r)
			check(r, n++);
	}
	pthread_join(th, NULL);
	assert_int_equal(n, 50000);
	queue_free(q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order_over_wraps),  cmocka_unit_test(test_peek),
		cmocka_unit_test(test_full_and_end),	  cmocka_unit_test(test_stays_small),
		cmocka_unit_test(test_memory_comes_back), cmocka_unit_test(test_two_threads),
		cmocka_unit_test(test_room_when_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
