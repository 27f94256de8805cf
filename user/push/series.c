/* SPDX-License-Identifier: Apache-2.0 */
#include "push/series.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Some times as many as times of samples that a profile keeps: what has more is made to have it. */
#define PIECES_MOST (8u << 20)

/* What of a cell lies in one window. */
struct piece {
	uint32_t window; /* from the recording's first one on */
	uint32_t cell;
	uint64_t ticks;
};

struct cutter {
	const struct profile *p;
	const struct series_form *f;
	int64_t first_ns; /* since 1970: where the first window begins */
	uint32_t windows;
	struct piece *v;
	size_t n, cap;
	uint64_t *ticks; /* by cell: of all its pieces, then of those before the one at hand */
	uint64_t *done;
	struct pprof_sample *samples;
};

/* ---- pieces ---- */

static int piece_add(struct cutter *c, uint32_t window, uint32_t cell, uint64_t ticks)
{
	size_t cap = c->cap ? c->cap * 2 : 1024;

	if (c->n == PIECES_MOST)
		return -E2BIG;
	if (c->n == c->cap) {
		struct piece *v = reallocarray(c->v, cap, sizeof(*v));

		if (!v)
			return -ENOMEM;
		c->v = v;
		c->cap = cap;
	}
	c->v[c->n++] = (struct piece){.window = window, .cell = cell, .ticks = ticks};
	c->ticks[cell] += ticks;
	return 0;
}

/* What a damaged file places outside of the recording is in its first or last window. */
static uint32_t window_at(const struct cutter *c, __int128 ns)
{
	__int128 w = (ns - c->first_ns) / (__int128)c->f->window_ns;

	if (ns < c->first_ns)
		return 0;
	return w < c->windows ? (uint32_t)w : c->windows - 1;
}

/* A batch's ticks are a step apart; those before the end of a window are in it. */
static int batch_cut(struct cutter *c, const struct prof_time *t)
{
	__int128 at = (__int128)c->p->start_ns + t->start_ns;
	uint64_t left = t->ticks, step = t->ticks > 1 ? t->span_ns / (t->ticks - 1) : 0;
	int rc = 0;

	while (left && !rc) {
		uint32_t w = window_at(c, at);
		__int128 end = (__int128)c->first_ns + ((__int128)w + 1) * c->f->window_ns;
		uint64_t n = left;

		if (step && w + 1 < c->windows && (end - at - 1) / step + 1 < left)
			n = (uint64_t)((end - at - 1) / step + 1);
		rc = piece_add(c, w, t->cell, n);
		at += (__int128)n * step;
		left -= n;
	}
	return rc;
}

static int by_window_and_cell(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	if (x->window != y->window)
		return x->window < y->window ? -1 : 1;
	return (x->cell > y->cell) - (x->cell < y->cell);
}

/* ---- samples ---- */

/* The piece's share of its cell's time: what a cell has in all is what its pieces have. */
static uint64_t piece_ns(struct cutter *c, const struct piece *p)
{
	uint64_t ns = c->p->cells[p->cell].ns, all = c->ticks[p->cell];
	uint64_t before = (uint64_t)((unsigned __int128)ns * c->done[p->cell] / all);

	c->done[p->cell] += p->ticks;
	return (uint64_t)((unsigned __int128)ns * c->done[p->cell] / all) - before;
}

/* Threads whose names differ stay apart, or those whose groups' names do. */
static uint32_t thread_name(const struct cutter *c, uint32_t thread)
{
	const struct prof_thread *t = &c->p->threads[thread];

	return c->f->threads ? t->name : t->group;
}

static int by_labels_and_node(const void *a, const void *b, void *ctx)
{
	const struct pprof_sample *x = a, *y = b;
	uint32_t s = thread_name(ctx, x->thread), t = thread_name(ctx, y->thread);

	if (s != t)
		return s < t ? -1 : 1;
	if (x->state != y->state)
		return x->state < y->state ? -1 : 1;
	return (x->node > y->node) - (x->node < y->node);
}

static size_t samples_merge(struct cutter *c, size_t n)
{
	struct pprof_sample *v = c->samples;
	size_t k = 0;

	if (n)
		qsort_r(v, n, sizeof(*v), by_labels_and_node, c);
	for (size_t i = 1; i < n; i++) {
		if (!by_labels_and_node(&v[k], &v[i], c))
			v[k].v[0] += v[i].v[0];
		else
			v[++k] = v[i];
	}
	return n ? k + 1 : 0;
}

static int series_hand(struct cutter *c, const struct piece *p, const uint64_t *ns, size_t n,
		       enum dim dim, series_fn take, void *ctx)
{
	__int128 start = (__int128)c->first_ns + (__int128)p->window * c->f->window_ns;
	__int128 end = start + c->f->window_ns;
	struct series s = {.dim = dim, .samples = c->samples};
	size_t k = 0;

	for (size_t i = 0; i < n; i++) {
		const struct prof_cell *cell = &c->p->cells[p[i].cell];

		if (cell->dims & 1 << dim && ns[i])
			c->samples[k++] = (struct pprof_sample){.node = cell->node,
								.thread = cell->thread,
								.state = cell->state,
								.v = {ns[i]}};
	}
	s.n = samples_merge(c, k);
	if (start < c->p->start_ns)
		start = c->p->start_ns;
	if (end > c->p->end_ns && c->p->end_ns > start)
		end = c->p->end_ns;
	s.start_ns = (int64_t)start;
	s.duration_ns = (uint64_t)(end - start);
	return s.n ? take(ctx, &s) : 0;
}

static int window_hand(struct cutter *c, const struct piece *p, size_t n, series_fn take, void *ctx)
{
	uint64_t *ns = calloc(n, sizeof(*ns));
	int rc = ns ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && !rc; i++)
		ns[i] = piece_ns(c, &p[i]);
	for (int d = 0; d < DIMS && !rc; d++)
		if (c->f->dims[d])
			rc = series_hand(c, p, ns, n, (enum dim)d, take, ctx);
	free(ns);
	return rc;
}

static int cutter_begin(struct cutter *c)
{
	const struct profile *p = c->p;
	int64_t window = (int64_t)c->f->window_ns;
	uint64_t n;

	if (p->start_ns < 0)
		return -E2BIG;
	c->first_ns = p->start_ns - p->start_ns % window;
	n = (profile_recorded_ns(p) + (uint64_t)(p->start_ns - c->first_ns)) / c->f->window_ns + 1;
	if (n > SERIES_WINDOWS_MOST)
		return -E2BIG;
	c->windows = (uint32_t)n;
	c->ticks = calloc(p->ncells + 1, sizeof(*c->ticks));
	c->done = calloc(p->ncells + 1, sizeof(*c->done));
	c->samples = calloc(p->ncells + 1, sizeof(*c->samples));
	return c->ticks && c->done && c->samples ? 0 : -ENOMEM;
}

/* Pieces of one cell in one window become one: a window has no more of them than there are cells.
 */
static void pieces_merge(struct cutter *c)
{
	size_t k = 0;

	if (c->n)
		qsort(c->v, c->n, sizeof(*c->v), by_window_and_cell);
	for (size_t i = 1; i < c->n; i++) {
		if (!by_window_and_cell(&c->v[k], &c->v[i]))
			c->v[k].ticks += c->v[i].ticks;
		else
			c->v[++k] = c->v[i];
	}
	c->n = c->n ? k + 1 : 0;
}

int series_each(const struct profile *p, const struct series_form *f, series_fn take, void *ctx)
{
	struct cutter c = {.p = p, .f = f};
	int rc = cutter_begin(&c);

	for (size_t i = 0; i < p->ntimes && !rc; i++)
		if (p->cells[p->times[i].cell].dims)
			rc = batch_cut(&c, &p->times[i]);
	if (!rc)
		pieces_merge(&c);
	for (size_t i = 0, n; i < c.n && !rc; i += n) {
		for (n = 1; i + n < c.n && c.v[i + n].window == c.v[i].window;)
			n++;
		rc = window_hand(&c, &c.v[i], n, take, ctx);
	}
	free(c.v);
	free(c.ticks);
	free(c.done);
	free(c.samples);
	return rc;
}
