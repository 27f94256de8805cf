/* SPDX-License-Identifier: Apache-2.0 */
#include "out/diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "out/format.h"
#include "out/text.h"
#include "out/tree.h"

#define SAME 0.0005 /* less is shown as 0.0% */

struct change {
	uint32_t name;
	double self[2], total[2]; /* shares of their side, 0..1 */
};

static int largest_first(const void *a, const void *b)
{
	const struct change *x = a, *y = b;
	double dx = fabs(x->self[1] - x->self[0]), dy = fabs(y->self[1] - y->self[0]);

	if (dx < dy || dx > dy)
		return dx < dy ? 1 : -1;
	return x->name < y->name ? -1 : x->name > y->name;
}

static int side_fill(const struct profile *p, struct tree *t, enum dim dim, int side,
		     struct change *v, struct error *e)
{
	uint64_t *buf = calloc(2 * ((size_t)p->nnodes + p->names.n), sizeof(*buf));
	uint64_t *node_self = buf, *node_total = buf + p->nnodes;
	uint64_t *self = node_total + p->nnodes, *total = self + p->names.n;
	double all = (double)p->total_ns[side][dim];
	int rc;

	if (!buf)
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	profile_weigh(p, dim, side, node_self, node_total);
	rc = tree_by_name(t, node_self, node_total, self, total, e);
	for (uint32_t i = 0; i < p->names.n && !rc && all > 0; i++) {
		v[i].name = i;
		v[i].self[side] = (double)self[i] / all;
		v[i].total[side] = (double)total[i] / all;
	}
	free(buf);
	return rc;
}

static void table_print(const struct profile *p, enum dim dim, const struct change *v,
			unsigned int top, FILE *f)
{
	fprintf(f, "%s time: A %s, B %s\n", dim_names[dim], format_ns(p->total_ns[0][dim]).s,
		format_ns(p->total_ns[1][dim]).s);
	if (dim != DIM_CPU)
		text_reservoir(p, "", f);
	fprintf(f, "\n          self                     total\n"
		   "       A       B  change        A       B\n");
	if (!p->names.n || fabs(v[0].self[1] - v[0].self[0]) < SAME)
		fprintf(f, "  no method's own share differs\n");
	for (uint32_t i = 0; i < p->names.n && i < top; i++) {
		if (fabs(v[i].self[1] - v[i].self[0]) < SAME)
			break;
		fprintf(f, "  %5.1f%%  %5.1f%%  %+5.1f%%   %5.1f%%  %5.1f%%  %s\n",
			100 * v[i].self[0], 100 * v[i].self[1], 100 * (v[i].self[1] - v[i].self[0]),
			100 * v[i].total[0], 100 * v[i].total[1], names_get(&p->names, v[i].name));
	}
}

int diff_table(const struct profile *p, enum dim dim, unsigned int top, FILE *f, struct error *e)
{
	struct change *v = calloc((size_t)p->names.n + 1, sizeof(*v));
	struct tree t;
	int rc;

	if (!v)
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	rc = tree_new(&t, p, e);
	for (int side = 0; side < 2 && !rc; side++)
		rc = side_fill(p, &t, dim, side, v, e);
	if (!rc) {
		qsort(v, p->names.n, sizeof(*v), largest_first);
		table_print(p, dim, v, top, f);
	}
	tree_free(&t);
	free(v);
	return rc;
}
