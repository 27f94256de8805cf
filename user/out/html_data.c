/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data of the page: unsigned LEB128 numbers (bytes where it says so), in columns, as what is
 * alike compresses best side by side. "n of X" is a column of n such values.
 *
 *	frames   n; n types (bytes), n names
 *	nodes    n; of all but the first, where what is below a node follows it at once: how many
 *	         levels up from below the node before to its parent; frames
 *	tiers    0, or 1 and of each node whose frame is Java's (byte): the one tier that it ran in,
 *	         TIERS if that is not known, or TIERS + 1 and the percent of each tier (bytes)
 *	groups   n; n names
 *	threads  n; n names; groups; selves, the same number for all names of one thread; flags
 *	         (bytes): 1 virtual, 2 Java
 *	states   n; n names
 *	cells    n, by node, which is below a lock its owner's; node less the previous one's;
 *	         thread; state; flags (bytes): dims | side << 3 | source << 4; samples; 0 if its
 *	         time is samples x period of its source, else us + 1
 *	times    0, or 1 and of each thread how many; then by thread and start: which of the
 *	         cells of its thread; start less the previous one's of the thread; ticks; 0 if it
 *	         spans (ticks - 1) x period, else span + 1; 0, or 1 and prof_time.request. Times
 *	         are in units of html_time_unit_us().
 *
 * n names are n lengths and then their bytes, UTF-8.
 */
#include "out/html_data.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void put(struct buffer *b, uint64_t v)
{
	uint8_t bytes[10];
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		bytes[n++] = (uint8_t)(v | 0x80);
	bytes[n++] = (uint8_t)v;
	buffer_add(b, bytes, n);
}

/* Where parts of the profile stand in the page. */
struct places {
	const struct profile *p;
	uint64_t unit_us;
	uint32_t *node;	  /* by node */
	uint32_t *local;  /* by cell: its number among those of its thread */
	uint32_t *group;  /* by name, + 1 */
	uint32_t *groups; /* names */
	uint32_t *thread; /* scratch, one longer than there are threads */
	uint32_t *order;  /* scratch, as long as the longest of all */
	uint32_t ngroups;
};

uint64_t html_time_unit_us(const struct profile *p)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < JFR_SOURCES; i++)
		if (p->samples[i] && p->period_ns[i] && p->period_ns[i] < least)
			least = p->period_ns[i];
	least /= 20 * 1000ull;
	if (least == UINT64_MAX / (20 * 1000ull) || !least)
		return 1;
	return least < 1000 ? least : 1000;
}

/* ---- names ---- */

typedef const char *(*name_fn)(const struct places *w, uint32_t i);

static void put_names(struct buffer *b, const struct places *w, uint32_t n, name_fn name)
{
	for (uint32_t i = 0; i < n; i++)
		put(b, strlen(name(w, i)));
	for (uint32_t i = 0; i < n; i++)
		buffer_add(b, name(w, i), strlen(name(w, i)));
}

static const char *frame_name(const struct places *w, uint32_t i)
{
	return profile_frame_name(w->p, i);
}

static const char *group_name(const struct places *w, uint32_t i)
{
	return names_get(&w->p->names, w->groups[i]);
}

static const char *thread_name(const struct places *w, uint32_t i)
{
	return names_get(&w->p->names, w->p->threads[i].name);
}

static const char *state_name(const struct places *w, uint32_t i)
{
	return names_get(&w->p->names, w->p->states[i].name);
}

/* ---- nodes ---- */

/*
 * A node's number in the order in which what is below it follows it. Parents come before their
 * children in a profile: one pass backwards counts what is below each, one forwards gives each the
 * next place that its parent has left.
 */
static void nodes_place(struct places *w)
{
	const struct profile *p = w->p;
	uint32_t *next = w->order, *size = w->node;

	for (uint32_t i = 0; i < p->nnodes; i++)
		size[i] = 1;
	for (uint32_t i = p->nnodes; --i > 0;)
		size[p->nodes[i].parent] += size[i];
	w->node[0] = 0;
	next[0] = 1;
	for (uint32_t i = 1; i < p->nnodes; i++) {
		uint32_t parent = p->nodes[i].parent, at = next[parent];

		next[parent] += size[i];
		w->node[i] = at;
		next[i] = at + 1;
	}
	for (uint32_t i = 0; i < p->nnodes; i++)
		w->order[w->node[i]] = i;
}

static void put_nodes(struct buffer *b, const struct places *w)
{
	const struct profile *p = w->p;
	uint32_t before = NODE_ROOT;

	put(b, p->nnodes);
	for (uint32_t k = 1; k < p->nnodes; k++) {
		uint32_t up = 0, parent = p->nodes[w->order[k]].parent;

		for (; before != parent; up++)
			before = p->nodes[before].parent;
		before = w->order[k];
		put(b, up);
	}
	for (uint32_t k = 1; k < p->nnodes; k++)
		put(b, p->nodes[w->order[k]].frame);
}

static void put_node_tiers(struct buffer *b, const struct prof_tiers *t)
{
	uint8_t tier = TIERS;

	for (uint8_t i = 0; i < TIERS; i++) {
		if (t->percent[i] == 100)
			tier = i;
		else if (t->percent[i])
			tier = TIERS + 1;
	}
	buffer_byte(b, tier);
	if (tier > TIERS)
		buffer_add(b, t->percent, sizeof(t->percent));
}

static void put_tiers(struct buffer *b, const struct places *w)
{
	const struct profile *p = w->p;

	put(b, p->tiers != NULL);
	for (uint32_t k = 1; k < p->nnodes && p->tiers; k++)
		if (p->frames[p->nodes[w->order[k]].frame].type == PROF_JAVA)
			put_node_tiers(b, &p->tiers[w->order[k]]);
}

static void put_tree(struct buffer *b, struct places *w)
{
	const struct profile *p = w->p;

	put(b, p->nframes);
	for (uint32_t i = 0; i < p->nframes; i++)
		buffer_byte(b, p->frames[i].type);
	put_names(b, w, p->nframes, frame_name);
	nodes_place(w);
	put_nodes(b, w);
	put_tiers(b, w);
}

/* ---- threads and states ---- */

static void groups_number(struct places *w)
{
	const struct profile *p = w->p;

	for (uint32_t i = 0; i < p->nthreads; i++) {
		uint32_t name = p->threads[i].group;

		if (w->group[name])
			continue;
		w->groups[w->ngroups] = name;
		w->group[name] = ++w->ngroups;
	}
}

static void put_threads(struct buffer *b, struct places *w)
{
	const struct profile *p = w->p;

	groups_number(w);
	put(b, w->ngroups);
	put_names(b, w, w->ngroups, group_name);
	put(b, p->nthreads);
	put_names(b, w, p->nthreads, thread_name);
	for (uint32_t i = 0; i < p->nthreads; i++)
		put(b, w->group[p->threads[i].group] - 1);
	for (uint32_t i = 0; i < p->nthreads; i++)
		put(b, p->threads[i].self);
	for (uint32_t i = 0; i < p->nthreads; i++)
		buffer_byte(
			b, (uint8_t)(p->threads[i].is_virtual | (p->threads[i].java_id != 0) << 1));
	put(b, p->nstates);
	put_names(b, w, p->nstates, state_name);
}

/* ---- cells ---- */

static int by_node(const void *a, const void *b, void *arg)
{
	const struct places *w = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct prof_cell *c = &w->p->cells[x], *d = &w->p->cells[y];
	uint32_t nx = w->node[c->below], ny = w->node[d->below];

	if (nx != ny)
		return nx < ny ? -1 : 1;
	if (c->thread != d->thread)
		return c->thread < d->thread ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* As the page has it, in whole microseconds. */
static uint64_t page_period_ns(const struct profile *p, const struct prof_cell *c)
{
	return p->period_ns[c->source] / 1000 * 1000;
}

/* 0: what follows from its samples; else the time in us, + 1. */
static uint64_t cell_us(const struct profile *p, const struct prof_cell *c)
{
	return c->ns == c->samples * page_period_ns(p, c) ? 0 : c->ns / 1000 + 1;
}

static void put_cells(struct buffer *b, struct places *w)
{
	const struct profile *p = w->p;
	const uint32_t *v = w->order;
	uint32_t n = 0, node = 0;

	for (uint32_t i = 0; i < p->ncells; i++)
		if (p->cells[i].dims)
			w->order[n++] = i;
	qsort_r(w->order, n, sizeof(*w->order), by_node, w);
	put(b, n);
	for (uint32_t i = 0; i < n; i++) {
		w->local[v[i]] = w->thread[p->cells[v[i]].thread]++;
		put(b, w->node[p->cells[v[i]].below] - node);
		node = w->node[p->cells[v[i]].below];
	}
	for (uint32_t i = 0; i < n; i++)
		put(b, p->cells[v[i]].thread);
	for (uint32_t i = 0; i < n; i++)
		put(b, p->cells[v[i]].state);
	for (uint32_t i = 0; i < n; i++) {
		const struct prof_cell *c = &p->cells[v[i]];

		buffer_byte(b, (uint8_t)(c->dims | c->side << 3 | c->source << 4));
	}
	for (uint32_t i = 0; i < n; i++)
		put(b, p->cells[v[i]].samples);
	for (uint32_t i = 0; i < n; i++)
		put(b, cell_us(p, &p->cells[v[i]]));
}

/* ---- times ---- */

static int by_start(const void *a, const void *b, void *arg)
{
	const struct prof_time *times = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (times[x].start_ns != times[y].start_ns)
		return times[x].start_ns < times[y].start_ns ? -1 : 1;
	return x < y ? -1 : x > y;
}

/*
 * Numbers of the times, by thread and start, to `order`; where each thread's end, to w->thread.
 * They come in nearly their order: most threads need no sorting.
 */
static size_t times_order(struct places *w, uint32_t *order)
{
	const struct profile *p = w->p;
	uint32_t *next = w->thread;
	size_t n = 0, from = 0;

	memset(next, 0, sizeof(*next) * ((size_t)p->nthreads + 1));
	for (size_t i = 0; i < p->ntimes; i++)
		if (p->cells[p->times[i].cell].dims)
			next[p->cells[p->times[i].cell].thread + 1]++;
	for (uint32_t i = 0; i < p->nthreads; i++)
		next[i + 1] += next[i];
	for (size_t i = 0; i < p->ntimes; i++) {
		const struct prof_cell *c = &p->cells[p->times[i].cell];

		if (c->dims)
			order[next[c->thread]++] = (uint32_t)i;
		n += c->dims != 0;
	}
	for (uint32_t t = 0; t < p->nthreads; from = next[t++])
		for (size_t i = from + 1; i < next[t]; i++)
			if (p->times[order[i]].start_ns < p->times[order[i - 1]].start_ns) {
				qsort_r(order + from, next[t] - from, sizeof(*order), by_start,
					p->times);
				break;
			}
	return n;
}

/* In the page's units. */
static uint64_t time_start(const struct places *w, const struct prof_time *t)
{
	return t->start_ns > 0 ? (uint64_t)t->start_ns / 1000 / w->unit_us : 0;
}

static uint64_t time_span(const struct places *w, const struct prof_time *t)
{
	uint64_t usual = (t->ticks - 1) * page_period_ns(w->p, &w->p->cells[t->cell]);
	uint64_t unit = w->unit_us * 1000;

	if (t->span_ns + unit >= usual && t->span_ns <= usual + unit)
		return 0;
	return t->span_ns / unit + 1;
}

static void put_times(struct buffer *b, struct places *w, const uint32_t *v, size_t n)
{
	const struct profile *p = w->p;
	size_t k = 0;

	for (uint32_t t = 0; t < p->nthreads; t++)
		put(b, w->thread[t] - (t ? w->thread[t - 1] : 0));
	for (size_t i = 0; i < n; i++)
		put(b, w->local[p->times[v[i]].cell]);
	for (uint32_t t = 0; t < p->nthreads; t++) {
		uint64_t last = 0;

		for (; k < w->thread[t]; k++) {
			uint64_t start = time_start(w, &p->times[v[k]]);

			put(b, start - last);
			last = start;
		}
	}
	for (size_t i = 0; i < n; i++)
		put(b, p->times[v[i]].ticks);
	for (size_t i = 0; i < n; i++)
		put(b, time_span(w, &p->times[v[i]]));
	put(b, p->opt.told != NULL);
	for (size_t i = 0; i < n && p->opt.told; i++)
		put(b, p->times[v[i]].request);
}

static int times_add(struct buffer *b, struct places *w)
{
	uint32_t *order;

	put(b, w->p->ntimes != 0);
	if (!w->p->ntimes)
		return 0;
	order = malloc(sizeof(*order) * w->p->ntimes);
	if (!order)
		return -ENOMEM;
	put_times(b, w, order, times_order(w, order));
	free(order);
	return 0;
}

/* ---- all ---- */

static bool places_new(struct places *w, const struct profile *p)
{
	size_t longest = p->ncells > p->nnodes ? p->ncells : p->nnodes;

	*w = (struct places){.p = p, .unit_us = html_time_unit_us(p)};
	w->node = malloc(sizeof(*w->node) * p->nnodes);
	w->local = malloc(sizeof(*w->local) * ((size_t)p->ncells + 1));
	w->group = calloc((size_t)p->names.n + 1, sizeof(*w->group));
	w->groups = malloc(sizeof(*w->groups) * ((size_t)p->nthreads + 1));
	w->thread = calloc((size_t)p->nthreads + 1, sizeof(*w->thread));
	w->order = malloc(sizeof(*w->order) * (longest + 1));
	return w->node && w->local && w->group && w->groups && w->thread && w->order;
}

static void places_free(struct places *w)
{
	free(w->node);
	free(w->local);
	free(w->group);
	free(w->groups);
	free(w->thread);
	free(w->order);
}

int html_data(const struct profile *p, struct buffer *b)
{
	struct places w;
	int rc = -ENOMEM;

	if (places_new(&w, p)) {
		put_tree(b, &w);
		put_threads(b, &w);
		put_cells(b, &w);
		rc = times_add(b, &w);
	}
	places_free(&w);
	return rc || b->failed ? -ENOMEM : 0;
}
