/* SPDX-License-Identifier: Apache-2.0 */
/* The children of every node, and totals per method, of a finished profile. */
#ifndef GNOMON_OUT_TREE_H
#define GNOMON_OUT_TREE_H

#include "out/profile.h"

struct tree {
	const struct profile *p;
	uint32_t *first; /* children of n: child[first[n]] .. child[first[n + 1] - 1] */
	uint32_t *child;
};

int tree_new(struct tree *t, const struct profile *p, struct error *e);
void tree_free(struct tree *t);

/* Put the children of every node in descending order of `weight` (by node); ties by number. */
void tree_sort(struct tree *t, const uint64_t *weight);

/*
 * Self and total time per method name (profile.names.n long, zeroed by the caller), from those per
 * node. A method that calls itself counts once per stack.
 */
int tree_by_name(const struct tree *t, const uint64_t *node_self, const uint64_t *node_total,
		 uint64_t *self, uint64_t *total, struct error *e);

#endif
