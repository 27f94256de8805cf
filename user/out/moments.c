/* SPDX-License-Identifier: Apache-2.0 */
#include "out/moments.h"

#include <errno.h>
#include <stdlib.h>

static int by_thread_and_time(const void *a, const void *b, void *arg)
{
	const struct profile *p = arg;
	const struct moment *x = a, *y = b;
	uint32_t tx = p->threads[p->cells[x->cell].thread].self;
	uint32_t ty = p->threads[p->cells[y->cell].thread].self;

	if (tx != ty)
		return tx < ty ? -1 : 1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->cell < y->cell ? -1 : x->cell > y->cell;
}

static int most_first(const void *a, const void *b)
{
	const struct moments_thread *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return x->first < y->first ? -1 : x->first > y->first;
}

static size_t moments_of(struct moment *v, const struct profile *p, enum dim dim)
{
	size_t n = 0;

	for (size_t i = 0; i < p->ntimes; i++) {
		const struct prof_time *t = &p->times[i];
		const struct prof_cell *c = &p->cells[t->cell];

		if (c->side || !(c->dims & 1 << dim) || !c->samples)
			continue;
		v[n++] = (struct moment){
			.cell = t->cell,
			.start_ns = t->start_ns,
			.ns = (uint64_t)((double)c->ns * t->ticks / (double)c->samples + .5),
		};
	}
	return n;
}

static void threads_part(struct moments *m, const struct profile *p, size_t n)
{
	struct moments_thread *t = NULL;

	for (size_t i = 0; i < n; i++) {
		uint32_t thread = p->cells[m->v[i].cell].thread;

		if (!t || p->threads[t->thread].self != p->threads[thread].self) {
			t = &m->threads[m->nthreads++];
			*t = (struct moments_thread){.first = i};
		}
		t->thread = thread;
		t->ns += m->v[i].ns;
		t->n++;
	}
	if (m->nthreads)
		qsort(m->threads, m->nthreads, sizeof(*m->threads), most_first);
}

int moments_gather(struct moments *m, const struct profile *p, enum dim dim)
{
	size_t n;

	*m = (struct moments){
		.v = calloc(p->ntimes + 1, sizeof(*m->v)),
		.threads = calloc((size_t)p->nthreads + 1, sizeof(*m->threads)),
	};
	if (!m->v || !m->threads) {
		moments_free(m);
		return -ENOMEM;
	}
	n = moments_of(m->v, p, dim);
	if (n)
		qsort_r(m->v, n, sizeof(*m->v), by_thread_and_time, (void *)p);
	threads_part(m, p, n);
	return 0;
}

void moments_free(struct moments *m)
{
	free(m->v);
	free(m->threads);
	*m = (struct moments){0};
}
