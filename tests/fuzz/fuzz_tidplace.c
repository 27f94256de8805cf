/* SPDX-License-Identifier: Apache-2.0 */
// FUZZ-LINK: user/jvm/tidplace.c
/*
 * The search for where a JVM keeps its threads' tids, in any memory: it ends after so many reads,
 * and what it finds is what it says.
 *
 * Input: how many threads and tasks, for each thread (16 bits) where it lies and (8 bits) its tid,
 * and the memory, which every address leads into, but for those with an odd number of megabytes.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "jvm/tidplace.h"
#include "tests/fuzz/repeated.h"

#define THREADS 64

struct memory {
	const uint8_t *data;
	size_t len;
	uint64_t reads;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int memory_read(void *ctx, uint64_t addr, void *dst, size_t len)
{
	struct memory *m = ctx;

	m->reads++;
	if (!m->len || addr >> 20 & 1)
		return -EFAULT;
	repeated_copy(m->data, m->len, addr, dst, len);
	return 0;
}

static void result_check(const struct tidplace_census *c, const struct tidplace *at)
{
	size_t bound = 0;

	if (at->osthread % 8 || at->osthread >= 2048 || at->thread_id % 4 || at->thread_id >= 256)
		abort();
	for (size_t i = 0; i < c->nthreads; i++) {
		uint32_t tid = tidplace_tid(c, at, c->threads[i].javathread);

		if (c->threads[i].tid && tid != c->threads[i].tid)
			abort();
		bound += tid != 0;
	}
	if (!bound || bound > c->ntids)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tidplace_thread threads[THREADS];
	uint32_t tids[256];
	struct memory m;
	struct tidplace_census c = {
		.read = memory_read, .ctx = &m, .threads = threads, .tids = tids};
	struct tidplace at;

	if (size < 2 || size < 2 + 3 * (size_t)(data[0] % THREADS))
		return 0;
	c.nthreads = data[0] % THREADS;
	c.ntids = data[1];
	for (uint32_t i = 0; i < c.ntids; i++)
		tids[i] = i + 1;
	for (size_t i = 0; i < c.nthreads; i++) {
		uint16_t where;

		memcpy(&where, data + 2 + 3 * i, sizeof(where));
		threads[i] = (struct tidplace_thread){where * 8U, data[4 + 3 * i]};
	}
	m = (struct memory){data + 2 + 3 * c.nthreads, size - 2 - 3 * c.nthreads, 0};
	if (!tidplace_find(&c, &at))
		result_check(&c, &at);
	else if (m.reads > TIDPLACE_READS + 2 * c.nthreads + 16)
		abort();
	return 0;
}
