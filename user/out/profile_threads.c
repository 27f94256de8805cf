/* SPDX-License-Identifier: Apache-2.0 */
/* How many threads there were: some had several names. */
#include "out/profile_int.h"

#include <errno.h>
#include <stdlib.h>

static int64_t order(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

/* Whether ids that Java gives may be of several JVMs. */
static bool is_several(const struct profile *p)
{
	return p->lanes.recordings > 1;
}

/* By the kernel's id, then by Java's, those without one behind; by name where that tells, too. */
static int thread_order(const void *x, const void *y, void *arg)
{
	const struct profile *p = arg;
	const struct prof_thread *a = &p->threads[*(const uint32_t *)x],
				 *b = &p->threads[*(const uint32_t *)y];
	int64_t d = order(a->os_id, b->os_id);

	if (!d)
		d = order(a->java_id == 0, b->java_id == 0);
	if (!d)
		d = order(a->java_id, b->java_id);
	if (!d && is_several(p))
		d = order(a->name, b->name);
	return (int)(d ? d : order(*(const uint32_t *)x, *(const uint32_t *)y));
}

/*
 * `b` comes behind `a` in that order. What has no id at all is told by its name alone; virtual
 * threads have no kernel's id.
 */
static bool is_same(const struct profile *p, const struct prof_thread *a,
		    const struct prof_thread *b)
{
	if (a->os_id != b->os_id)
		return false;
	if (!a->os_id && is_several(p) && a->name != b->name)
		return false;
	return b->java_id ? a->java_id == b->java_id : b->os_id != 0;
}

int profile_selves(struct profile *p)
{
	uint32_t *v = malloc(sizeof(*v) * ((size_t)p->nthreads + 1));

	if (!v)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->nthreads; i++)
		v[i] = i;
	qsort_r(v, p->nthreads, sizeof(*v), thread_order, p);
	p->nselves = 0;
	for (uint32_t i = 0; i < p->nthreads; i++) {
		struct prof_thread *t = &p->threads[v[i]];

		if (!i || !is_same(p, &p->threads[v[i - 1]], t))
			p->nselves++;
		t->self = p->nselves - 1;
	}
	free(v);
	return 0;
}
