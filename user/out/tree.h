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

/* Room for the nodes of the deepest stack; the caller frees it. NULL: no memory. */
uint32_t *tree_path_new(const struct profile *p);

/*
 * Every node but the root, parents first, in the order of the tree: a node, then what is below its
 * first child, and so on.
 */
struct tree_walk {
	const struct tree *t;
	uint32_t *next; /* by node: the child to go to */
	uint32_t node;	/* where we are; NODE_ROOT before the first */
	uint32_t depth; /* its callers and itself; the root has 0 */
};

int tree_walk_begin(struct tree_walk *w, const struct tree *t, struct error *e);
/* Leaves out, with all below, what has no `weight` (by node) or less than `least`. */
bool tree_walk_next(struct tree_walk *w, const uint64_t *weight, uint64_t least);
void tree_walk_end(struct tree_walk *w);

/*
 * Self and total time per method name (profile.names.n long, zeroed by the caller), from those per
 * node. A method that calls itself counts once per stack.
 */
int tree_by_name(const struct tree *t, const uint64_t *node_self, const uint64_t *node_total,
		 uint64_t *self, uint64_t *total, struct error *e);

#endif
