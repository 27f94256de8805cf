/* SPDX-License-Identifier: Apache-2.0 */
#include "out/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int tree_new(struct tree *t, const struct profile *p, struct error *e)
{
	t->p = p;
	t->first = calloc((size_t)p->nnodes + 2, sizeof(*t->first));
	t->child = calloc((size_t)p->nnodes + 1, sizeof(*t->child));
	if (!t->first || !t->child) {
		tree_free(t);
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	}
	/* counting sort by parent; first[] is shifted by one while it serves as cursor */
	for (uint32_t i = 1; i < p->nnodes; i++)
		t->first[p->nodes[i].parent + 2]++;
	for (uint32_t i = 2; i <= p->nnodes; i++)
		t->first[i] += t->first[i - 1];
	for (uint32_t i = 1; i < p->nnodes; i++)
		t->child[t->first[p->nodes[i].parent + 1]++] = i;
	return 0;
}

void tree_free(struct tree *t)
{
	free(t->first);
	free(t->child);
	t->first = t->child = NULL;
}

static int heavier(const void *a, const void *b, void *weight)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const uint64_t *w = weight;

	if (w[x] != w[y])
		return w[x] < w[y] ? 1 : -1;
	return x < y ? -1 : x > y;
}

void tree_sort(struct tree *t, const uint64_t *weight)
{
	for (uint32_t i = 0; i < t->p->nnodes; i++)
		if (t->first[i + 1] - t->first[i] > 1)
			qsort_r(t->child + t->first[i], t->first[i + 1] - t->first[i],
				sizeof(*t->child), heavier, (void *)weight);
}

uint32_t *tree_path_new(const struct profile *p)
{
	uint32_t *depth = calloc(p->nnodes, sizeof(*depth)), *path, most = 0;

	if (!depth)
		return NULL;
	for (uint32_t i = 1; i < p->nnodes; i++) {
		depth[i] = depth[p->nodes[i].parent] + 1;
		if (depth[i] > most)
			most = depth[i];
	}
	path = calloc((size_t)most + 1, sizeof(*path));
	free(depth);
	return path;
}

int tree_walk_begin(struct tree_walk *w, const struct tree *t, struct error *e)
{
	*w = (struct tree_walk){.t = t, .next = malloc(sizeof(*w->next) * t->p->nnodes)};
	if (!w->next)
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	memcpy(w->next, t->first, sizeof(*w->next) * t->p->nnodes);
	return 0;
}

bool tree_walk_next(struct tree_walk *w, const uint64_t *weight, uint64_t least)
{
	const struct tree *t = w->t;

	for (;;) {
		uint32_t n = w->node, c;

		if (w->next[n] < t->first[n + 1]) {
			c = t->child[w->next[n]++];
			if (!weight[c] || weight[c] < least)
				continue;
			w->node = c;
			w->depth++;
			return true;
		}
		if (n == NODE_ROOT)
			return false;
		w->node = t->p->nodes[n].parent;
		w->depth--;
	}
}

void tree_walk_end(struct tree_walk *w)
{
	free(w->next);
	w->next = NULL;
}

int tree_by_name(const struct tree *t, const uint64_t *node_self, const uint64_t *node_total,
		 uint64_t *self, uint64_t *total, struct error *e)
{
	const struct profile *p = t->p;
	uint32_t *next =
		malloc(sizeof(*next) * p->nnodes); /* child to visit, per node on the path */
	uint32_t *open = calloc(p->names.n, sizeof(*open)); /* how often a name is on the path */
	uint32_t n = NODE_ROOT;

	if (!next || !open) {
		free(next);
		free(open);
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	}
	memcpy(next, t->first, sizeof(*next) * p->nnodes);
	for (;;) {
		uint32_t name;

		if (next[n] < t->first[n + 1]) {
			n = t->child[next[n]++];
			name = p->frames[p->nodes[n].frame].name;
			self[name] += node_self[n];
			if (!open[name]++)
				total[name] += node_total[n];
			continue;
		}
		if (n == NODE_ROOT)
			break;
		open[p->frames[p->nodes[n].frame].name]--;
		n = p->nodes[n].parent;
	}
	free(next);
	free(open);
	return 0;
}
