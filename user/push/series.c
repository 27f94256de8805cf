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
	int64_t at_ns; /* of the first one, from the first window on */
	uint64_t step_ns;
};

struct cutter {
	const struct profile *p;
	const struct series_form *f;
	int64_t first_ns; /* since 1970: where the first window begins */
	uint64_t window_ns;
	uint32_t windows;
	struct piece *v;
	size_t n, cap;
	uint64_t *ticks; /* by cell: of all its pieces, then of those before the one at hand */
	uint64_t *done;
	struct pprof_sample *samples;
	struct series_tick *marks;
	size_t nmarks, marks_cap;
};

/* ---- pieces ---- */

static int piece_add(struct cutter *c, const struct piece *p)
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
	c->v[c->n++] = *p;
	c->ticks[p->cell] += p->ticks;
	return 0;
}

/* What a damaged file places outside of the recording is in its first or last window. */
static uint32_t window_at(const struct cutter *c, __int128 ns)
{
	__int128 w = (ns - c->first_ns) / (__int128)c->window_ns;

	if (ns < c->first_ns)
		return 0;
	return w < c->windows ? (uint32_t)w : c->windows - 1;
}

static int64_t within(__int128 ns)
{
	return ns < 0 ? 0 : ns > INT64_MAX ? INT64_MAX : (int64_t)ns;
}

/* A batch's ticks are a step apart; those before the end of a window are in it. */
static int batch_cut(struct cutter *c, const struct prof_time *t)
{
	__int128 at = (__int128)c->p->start_ns + t->start_ns;
	uint64_t left = t->ticks, step = t->ticks > 1 ? t->span_ns / (t->ticks - 1) : 0;
	int rc = 0;

	while (left && !rc) {
		uint32_t w = window_at(c, at);
		__int128 end = (__int128)c->first_ns + ((__int128)w + 1) * c->window_ns;
		uint64_t n = left;

		if (step && w + 1 < c->windows && (end - at - 1) / step + 1 < left)
			n = (uint64_t)((end - at - 1) / step + 1);
		rc = piece_add(c, &(struct piece){.window = w,
						  .cell = t->cell,
						  .ticks = n,
						  .at_ns = within(at - c->first_ns),
						  .step_ns = step});
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

static int numbers_order(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* 0: they are not told apart. */
static int threads_order(const struct cutter *c, uint32_t a, uint32_t b)
{
	const struct prof_thread *s = &c->p->threads[a], *t = &c->p->threads[b];
	int order;

	if (c->f->apart == SERIES_GROUPS)
		return numbers_order(s->group, t->group);
	order = numbers_order(s->name, t->name);
	if (order || c->f->apart == SERIES_NAMES)
		return order;
	return numbers_order((uint64_t)series_thread_id(s), (uint64_t)series_thread_id(t));
}

static int by_labels_and_node(const void *a, const void *b, void *ctx)
{
	const struct pprof_sample *x = a, *y = b;
	int order = threads_order(ctx, x->thread, y->thread);

	if (order)
		return order;
	order = numbers_order(x->state, y->state);
	if (order)
		return order;
	order = numbers_order(x->link, y->link);
	return order ? order : numbers_order(x->node, y->node);
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

/* ---- times ---- */

static struct pprof_sample piece_sample(const struct cutter *c, const struct piece *p, uint64_t ns)
{
	const struct prof_cell *cell = &c->p->cells[p->cell];

	return (struct pprof_sample){
		.node = cell->node,
		.thread = cell->thread,
		.state = cell->state,
		.link = cell->link,
		.v = {ns},
	};
}

/* The place of a sample that is there, by its labels and stack. */
static uint32_t sample_place(struct cutter *c, size_t n, const struct pprof_sample *like)
{
	size_t low = 0;

	while (n > 1) {
		size_t half = n / 2;

		if (by_labels_and_node(&c->samples[low + half], like, c) <= 0)
			low += half;
		n -= half;
	}
	return (uint32_t)low;
}

static bool mark_add(struct cutter *c, uint32_t sample, __int128 at, const struct series *s)
{
	size_t cap = c->marks_cap ? c->marks_cap * 2 : 1024;
	__int128 last = (__int128)s->start_ns + s->duration_ns - 1;

	if (c->nmarks == c->marks_cap) {
		struct series_tick *v = reallocarray(c->marks, cap, sizeof(*v));

		if (!v)
			return false;
		c->marks = v;
		c->marks_cap = cap;
	}
	if (at > last)
		at = last;
	if (at < s->start_ns)
		at = s->start_ns;
	c->marks[c->nmarks++] = (struct series_tick){.sample = sample, .time_ns = (int64_t)at};
	return true;
}

static int by_sample_and_time(const void *a, const void *b)
{
	const struct series_tick *x = a, *y = b;

	if (x->sample != y->sample)
		return x->sample < y->sample ? -1 : 1;
	return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

/* What a damaged file claims to be so many CPU samples is not written down one by one. */
#define MARKS_MOST (4u << 20)

/*
 * Each mark stands for the shortest interval that there was: a sample of a longer one has several,
 * as many as come nearest to it.
 */
static uint64_t marks_each(const struct cutter *c, const struct prof_cell *cell)
{
	uint64_t least = c->p->period_ns[cell->source], n = 1;

	if (cell->period_ns && least)
		n = cell->period_ns / least + (cell->period_ns % least > least / 2);
	return n < 1 ? 1 : n < MARKS_MOST ? n : MARKS_MOST;
}

static int marks_make(struct cutter *c, struct series *s, const struct piece *p, size_t n)
{
	c->nmarks = 0;
	for (size_t i = 0; i < n; i++) {
		struct pprof_sample like = piece_sample(c, &p[i], 0);
		uint32_t place = sample_place(c, s->n, &like);
		uint64_t each;

		if (!(c->p->cells[p[i].cell].dims & 1 << s->dim) ||
		    by_labels_and_node(&c->samples[place], &like, c) != 0)
			continue;
		each = marks_each(c, &c->p->cells[p[i].cell]);
		if (p[i].ticks > (MARKS_MOST - c->nmarks) / each)
			return -E2BIG;
		for (uint64_t k = 0; k < p[i].ticks * each; k++)
			if (!mark_add(c, place,
				      (__int128)c->first_ns + p[i].at_ns +
					      (__int128)(k / each) * p[i].step_ns,
				      s))
				return -ENOMEM;
	}
	if (c->nmarks)
		qsort(c->marks, c->nmarks, sizeof(*c->marks), by_sample_and_time);
	s->ticks = c->marks;
	s->nticks = c->nmarks;
	return 0;
}

/* Where the ticks of samples from `sample` on begin. */
static size_t ticks_from(const struct series *s, uint64_t sample)
{
	size_t low = 0, high = s->nticks;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->ticks[middle].sample < sample)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void series_part(const struct series *s, size_t from, size_t to, struct series *part)
{
	size_t first = ticks_from(s, s->base + from), last = ticks_from(s, s->base + to);

	*part = *s;
	part->samples = s->samples + from;
	part->n = to - from;
	part->ticks = s->ticks ? s->ticks + first : NULL;
	part->nticks = last - first;
	part->base = s->base + (uint32_t)from;
}

/* ---- windows ---- */

static int series_hand(struct cutter *c, const struct piece *p, const uint64_t *ns, size_t n,
		       enum dim dim, series_fn take, void *ctx)
{
	__int128 start = (__int128)c->first_ns + (__int128)p->window * c->window_ns;
	__int128 end = start + c->window_ns;
	struct series s = {.dim = dim, .samples = c->samples};
	size_t k = 0;
	int rc = 0;

	for (size_t i = 0; i < n; i++)
		if (c->p->cells[p[i].cell].dims & 1 << dim && ns[i])
			c->samples[k++] = piece_sample(c, &p[i], ns[i]);
	s.n = samples_merge(c, k);
	if (start < c->p->start_ns)
		start = c->p->start_ns;
	if (end > c->p->end_ns && c->p->end_ns > start)
		end = c->p->end_ns;
	s.start_ns = (int64_t)start;
	s.duration_ns = (uint64_t)(end - start);
	if (s.n && c->f->ticks && dim == DIM_CPU)
		rc = marks_make(c, &s, p, n);
	return s.n && !rc ? take(ctx, &s) : rc;
}

static int window_hand(struct cutter *c, const struct piece *p, size_t n, series_fn take, void *ctx)
{
	uint64_t *ns = calloc(n, sizeof(*ns));
	struct pprof_sample *samples = reallocarray(c->samples, n, sizeof(*samples));
	int rc = ns && samples ? 0 : -ENOMEM;

	if (samples)
		c->samples = samples;
	for (size_t i = 0; i < n && !rc; i++)
		ns[i] = piece_ns(c, &p[i]);
	for (int d = 0; d < DIMS && !rc; d++)
		if (c->f->dims[d])
			rc = series_hand(c, p, ns, n, (enum dim)d, take, ctx);
	free(ns);
	return rc;
}

static int windows_lay(struct cutter *c)
{
	const struct profile *p = c->p;
	uint64_t recorded = profile_recorded_ns(p), n;

	c->first_ns = p->start_ns;
	c->window_ns = recorded ? recorded : 1;
	c->windows = 1;
	if (!c->f->window_ns)
		return 0;
	c->window_ns = c->f->window_ns;
	c->first_ns -= p->start_ns % (int64_t)c->window_ns;
	n = (recorded + (uint64_t)(p->start_ns - c->first_ns)) / c->window_ns + 1;
	c->windows = (uint32_t)n;
	return n > SERIES_WINDOWS_MOST ? -E2BIG : 0;
}

static int cutter_begin(struct cutter *c)
{
	const struct profile *p = c->p;

	if (p->start_ns < 0 || windows_lay(c))
		return -E2BIG;
	c->ticks = calloc(p->ncells + 1, sizeof(*c->ticks));
	c->done = calloc(p->ncells + 1, sizeof(*c->done));
	return c->ticks && c->done ? 0 : -ENOMEM;
}

/* Pieces of one cell in one window become one, unless their times are asked for. */
static void pieces_merge(struct cutter *c)
{
	size_t k = 0;

	if (c->n)
		qsort(c->v, c->n, sizeof(*c->v), by_window_and_cell);
	for (size_t i = 1; i < c->n; i++) {
		if (!c->f->ticks && !by_window_and_cell(&c->v[k], &c->v[i]))
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
	free(c.marks);
	return rc;
}
