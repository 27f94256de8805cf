/* SPDX-License-Identifier: Apache-2.0 */
#include "out/diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "out/format.h"
#include "out/text.h"
#include "out/tree.h"

#define SAME 0.0005 /* a smaller difference is shown as 0.0% */

/* A method, and off the CPU the state that it waited in. */
struct change {
	uint32_t name;
	uint32_t state;		  /* PROF_ANY_STATE: of all */
	double self[2], total[2]; /* shares of their side, 0..1 */
};

static int largest_first(const void *a, const void *b)
{
	const struct change *x = a, *y = b;
	double dx = fabs(x->self[1] - x->self[0]), dy = fabs(y->self[1] - y->self[0]);

	if (dx < dy || dx > dy)
		return dx < dy ? 1 : -1;
	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	return x->state < y->state ? -1 : x->state > y->state;
}

static int side_fill(const struct profile *p, struct tree *t, enum dim dim, uint32_t state,
		     int side, struct change *v, struct error *e)
{
	uint64_t *buf = calloc(2 * ((size_t)p->nnodes + p->names.n), sizeof(*buf));
	uint64_t *node_self = buf, *node_total = buf + p->nnodes;
	uint64_t *self = node_total + p->nnodes, *total = self + p->names.n;
	double all = (double)p->total_ns[side][dim];
	int rc;

	if (!buf)
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	if (state == PROF_ANY_STATE)
		profile_weigh(p, dim, side, node_self, node_total);
	else
		profile_weigh_java(p, dim, side, state, true, node_self, node_total);
	rc = tree_by_name(t, node_self, node_total, self, total, e);
	for (uint32_t i = 0; i < p->names.n && !rc; i++) {
		v[i].name = i;
		v[i].state = state;
		v[i].self[side] = all > 0 ? (double)self[i] / all : 0;
		v[i].total[side] = all > 0 ? (double)total[i] / all : 0;
	}
	free(buf);
	return rc;
}

struct rows {
	struct change *v;
	size_t n, cap;
	double samples[2]; /* of the CPU, by side; 0 where chance is not judged */
};

/*
 * Whether two recordings of the same program often differ as much: by less than two standard
 * errors of the two shares. Ticks of one long wait are not independent of each other, so this is
 * said of CPU samples only.
 */
static bool change_is_chance(const struct rows *r, const struct change *c)
{
	double var = 0, by = c->self[1] - c->self[0];

	for (int side = 0; side < 2; side++) {
		if (!(r->samples[side] > 0))
			return false;
		var += c->self[side] * (1 - c->self[side]) / r->samples[side];
	}
	return by * by < 4 * var;
}

static void samples_count(struct rows *r, const struct profile *p)
{
	for (uint32_t i = 0; i < p->ncells; i++)
		if (p->cells[i].dims & 1 << DIM_CPU)
			r->samples[p->cells[i].side] += (double)p->cells[i].samples;
}

static bool change_any(const struct change *c)
{
	return c->total[0] > 0 || c->total[1] > 0;
}

/* Adds the rows of `all`, one for each name, that have time on either side. */
static int rows_add(struct rows *r, const struct change *all, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (!change_any(&all[i]))
			continue;
		if (r->n == r->cap) {
			size_t cap = r->cap ? 2 * r->cap : 256;
			struct change *v = reallocarray(r->v, cap, sizeof(*v));

			if (!v)
				return -ENOMEM;
			r->v = v;
			r->cap = cap;
		}
		r->v[r->n++] = all[i];
	}
	return 0;
}

static int rows_fill(struct rows *r, const struct profile *p, enum dim dim, struct error *e)
{
	uint32_t states = dim == DIM_CPU ? 1 : p->nstates;
	struct change *all = calloc((size_t)p->names.n + 1, sizeof(*all));
	struct tree t = {0};
	int rc = all ? tree_new(&t, p, e) : error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");

	for (uint32_t s = 0; s < states && !rc; s++) {
		for (int side = 0; side < 2 && !rc; side++)
			rc = side_fill(p, &t, dim, dim == DIM_CPU ? PROF_ANY_STATE : s, side, all,
				       e);
		if (!rc && rows_add(r, all, p->names.n))
			rc = error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	}
	tree_free(&t);
	free(all);
	return rc;
}

static void row_print(const struct profile *p, const struct change *c, bool chance, FILE *f)
{
	fprintf(f, "  %5.1f%%  %5.1f%%  %+5.1f%%%c  %5.1f%%  %5.1f%%  ", 100 * c->self[0],
		100 * c->self[1], 100 * (c->self[1] - c->self[0]), chance ? '~' : ' ',
		100 * c->total[0], 100 * c->total[1]);
	if (c->state != PROF_ANY_STATE)
		fprintf(f, "%-9s ", names_get(&p->names, p->states[c->state].name));
	fprintf(f, "%s\n", names_get(&p->names, c->name));
}

static void table_print(const struct profile *p, enum dim dim, const struct rows *r,
			unsigned int top, FILE *f)
{
	bool any_chance = false;
	size_t i = 0;

	fprintf(f, "%s time: A %s, B %s\n", dim_names[dim], format_ns(p->total_ns[0][dim]).s,
		format_ns(p->total_ns[1][dim]).s);
	text_dropped(p, 0, "A: ", f);
	text_dropped(p, 1, "B: ", f);
	if (dim != DIM_CPU)
		text_reservoir(p, "", f);
	if (dim != DIM_CPU && (p->idle_ns[0] || p->idle_ns[1]))
		fprintf(f,
			"left out: A %s, B %s of threads that wait for work; --idle counts them\n",
			format_ns(p->idle_ns[0]).s, format_ns(p->idle_ns[1]).s);
	fprintf(f, "\n          self                     total\n"
		   "       A       B  change        A       B\n");
	for (; i < r->n && i < top && fabs(r->v[i].self[1] - r->v[i].self[0]) >= SAME; i++) {
		bool chance = change_is_chance(r, &r->v[i]);

		row_print(p, &r->v[i], chance, f);
		any_chance |= chance;
	}
	if (any_chance)
		fprintf(f, "  ~ may be chance: so few samples often differ by as much\n");
	if (!i)
		fprintf(f, "  no method's own share differs\n");
}

int diff_table(const struct profile *p, enum dim dim, unsigned int top, FILE *f, struct error *e)
{
	struct rows r = {0};
	int rc = rows_fill(&r, p, dim, e);

	if (dim == DIM_CPU)
		samples_count(&r, p);
	if (!rc) {
		if (r.n)
			qsort(r.v, r.n, sizeof(*r.v), largest_first);
		table_print(p, dim, &r, top, f);
		vitals_compare(p->vitals, p->side_ns, f);
	}
	free(r.v);
	return rc;
}
