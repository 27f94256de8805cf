/* SPDX-License-Identifier: Apache-2.0 */
#include "jvm/tidplace.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define OSTHREAD_MAX  2048 /* bytes of a JavaThread looked through for the OSThread* */
#define THREAD_ID_MAX 256  /* bytes of an OSThread looked through for the tid */

struct search {
	const struct tidplace_census *c;
	/*
	 * reads that may still be made, since a target may show places that nearly fit everywhere
	 */
	uint64_t reads;
	uint32_t *found; /* tids by the place under test */
};

static bool is_task(const struct tidplace_census *c, uint32_t tid)
{
	size_t low = 0, high = c->ntids;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (c->tids[mid] == tid)
			return true;
		if (c->tids[mid] < tid)
			low = mid + 1;
		else
			high = mid;
	}
	return false;
}

uint32_t tidplace_tid(const struct tidplace_census *c, const struct tidplace *at,
		      uint64_t javathread)
{
	uint64_t os;
	uint32_t tid;

	if (c->read(c->ctx, javathread + at->osthread, &os, sizeof(os)) || !os ||
	    c->read(c->ctx, os + at->thread_id, &tid, sizeof(tid)))
		return 0;
	return is_task(c, tid) ? tid : 0;
}

static int compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static bool all_differ(uint32_t *v, size_t n)
{
	qsort(v, n, sizeof(*v), compare_u32);
	for (size_t i = 1; i < n; i++)
		if (v[i] == v[i - 1])
			return false;
	return true;
}

static bool place_fits(struct search *s, const struct tidplace *at)
{
	const struct tidplace_census *c = s->c;
	size_t n = 0, missing = 0;

	for (size_t i = 0; i < c->nthreads; i++) {
		uint32_t tid;

		if (s->reads < 2)
			return false;
		s->reads -= 2;
		tid = tidplace_tid(c, at, c->threads[i].javathread);
		if (c->threads[i].tid && tid != c->threads[i].tid)
			return false;
		if (tid)
			s->found[n++] = tid;
		else if (++missing > c->nthreads / 8 + 1)
			return false; /* more tids are missing than threads may have ended since */
	}
	return n && all_differ(s->found, n);
}

/* Tries all places in what may be an OSThread for the tid. */
static bool osthread_try(struct search *s, uint32_t tid, uint64_t os, struct tidplace *at)
{
	uint8_t bytes[THREAD_ID_MAX];

	if (os % 8 || os < 4096 || !s->reads)
		return false;
	s->reads--;
	if (s->c->read(s->c->ctx, os, bytes, sizeof(bytes)))
		return false;
	for (at->thread_id = 0; at->thread_id < THREAD_ID_MAX; at->thread_id += 4)
		if (!memcmp(bytes + at->thread_id, &tid, sizeof(tid)) && place_fits(s, at))
			return true;
	return false;
}

static const struct tidplace_thread *known_thread(const struct tidplace_census *c)
{
	for (size_t i = 0; i < c->nthreads; i++)
		if (c->threads[i].tid && is_task(c, c->threads[i].tid))
			return &c->threads[i];
	return NULL;
}

static int places_try(struct search *s, const struct tidplace_thread *known, struct tidplace *at)
{
	uint64_t words[OSTHREAD_MAX / 8];
	size_t n = OSTHREAD_MAX / 8;

	/* a JavaThread is smaller than that, but mostly there is more malloc'ed memory behind it */
	while (n && s->c->read(s->c->ctx, known->javathread, words, n * 8))
		n /= 2;
	for (size_t i = 0; i < n; i++) {
		at->osthread = (uint32_t)i * 8;
		if (osthread_try(s, known->tid, words[i], at))
			return 0;
	}
	return -ENOENT;
}

int tidplace_find(const struct tidplace_census *c, struct tidplace *out)
{
	const struct tidplace_thread *known = known_thread(c);
	struct search s = {.c = c, .reads = TIDPLACE_READS + 2 * (uint64_t)c->nthreads};
	int rc;

	if (!known)
		return -ENOENT;
	s.found = calloc(c->nthreads, sizeof(*s.found));
	if (!s.found)
		return -ENOMEM;
	rc = places_try(&s, known, out);
	free(s.found);
	return rc;
}
