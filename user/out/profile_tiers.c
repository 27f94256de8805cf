/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server warms up: what the interpreter ran at first is C1's code a second later and then C2's,
 * inlined here and there as each compilation decides. Told apart, one method is many frames, and a
 * server compared with itself is all differences. So the tree is built anew with one frame a
 * method, and how its time was shared is kept beside each node.
 */
#include "out/profile_int.h"

#include <errno.h>
#include <stdlib.h>

/* The tree as it was loaded, and where its parts are in the new one. */
struct split {
	struct prof_frame *frames;
	struct prof_node *nodes;
	struct prof_cell *cells;
	uint32_t nnodes, ncells;
	uint64_t *total_ns;	    /* of both sides, by node */
	uint32_t *node, *cell;	    /* the new number of each */
	uint64_t (*tier_ns)[TIERS]; /* by new node; as long as there are old ones */
};

static int tier_of(uint8_t type)
{
	switch (type) {
	case FRAME_INTERPRETED:
		return TIER_INTERPRETED;
	case FRAME_C1:
		return TIER_C1;
	case FRAME_JIT:
		return TIER_JIT;
	case FRAME_INLINED:
		return TIER_INLINED;
	default:
		return -1;
	}
}

/* Take frames, nodes and cells out of the profile, which has none of them afterwards. */
static void split_take(struct split *s, struct profile *p)
{
	struct prof_index *x = p->index;

	s->frames = p->frames;
	s->nodes = p->nodes;
	s->cells = p->cells;
	s->nnodes = p->nnodes;
	s->ncells = p->ncells;
	p->frames = NULL;
	p->nodes = NULL;
	p->cells = NULL;
	p->nframes = p->nnodes = p->ncells = 0;
	x->frames_cap = x->nodes_cap = x->cells_cap = 0;
	index32_free(&x->frames);
	index32_free(&x->nodes);
	index32_free(&x->cells);
}

static void split_free(struct split *s)
{
	free(s->frames);
	free(s->nodes);
	free(s->cells);
	free(s->total_ns);
	free(s->node);
	free(s->cell);
	free(s->tier_ns);
}

static int split_new(struct split *s, struct profile *p)
{
	uint64_t *other = malloc(sizeof(*other) * p->nnodes);

	s->total_ns = malloc(sizeof(*s->total_ns) * p->nnodes);
	s->node = malloc(sizeof(*s->node) * p->nnodes);
	s->cell = malloc(sizeof(*s->cell) * ((size_t)p->ncells + 1));
	s->tier_ns = calloc(p->nnodes, sizeof(*s->tier_ns));
	if (!other || !s->total_ns || !s->node || !s->cell || !s->tier_ns) {
		free(other);
		return -ENOMEM;
	}
	profile_weigh(p, DIM_WALL, 0, NULL, s->total_ns);
	profile_weigh(p, DIM_WALL, 1, NULL, other);
	for (uint32_t i = 0; i < p->nnodes; i++)
		s->total_ns[i] += other[i];
	free(other);
	split_take(s, p);
	return 0;
}

static int nodes_merge(struct split *s, struct profile *p)
{
	s->node[NODE_ROOT] = NODE_ROOT;
	for (uint32_t i = 1; i < s->nnodes; i++) {
		const struct prof_frame *f = &s->frames[s->nodes[i].frame];
		int tier = tier_of(f->type);
		uint32_t frame = profile_frame(p, f->name, tier < 0 ? f->type : PROF_JAVA), n;

		n = frame == NODE_NONE ? NODE_NONE
				       : profile_node(p, s->node[s->nodes[i].parent], frame);
		if (n == NODE_NONE)
			return -ENOMEM;
		s->node[i] = n;
		if (tier >= 0)
			s->tier_ns[n][tier] += s->total_ns[i];
	}
	return 0;
}

static int cells_merge(struct split *s, struct profile *p)
{
	for (uint32_t i = 0; i < s->ncells; i++) {
		const struct prof_cell *c = &s->cells[i];
		struct prof_cell merged = *c;
		uint32_t k;

		merged.node = s->node[c->node];
		merged.below = s->node[c->below];
		k = profile_cell(p, &merged);
		if (k == NODE_NONE)
			return -ENOMEM;
		p->cells[k].dims = c->dims; /* which follow from state and source */
		p->cells[k].samples += c->samples;
		p->cells[k].ns += c->ns;
		s->cell[i] = k;
	}
	for (size_t i = 0; i < p->ntimes; i++)
		p->times[i].cell = s->cell[p->times[i].cell];
	return 0;
}

/* Whole percents that add up to 100: what rounding leaves over goes to the largest. */
static struct prof_tiers tiers_share(const uint64_t *ns)
{
	struct prof_tiers t = {0};
	double all = 0;
	int most = 0, left = 100;

	for (int i = 0; i < TIERS; i++) {
		all += (double)ns[i];
		if (ns[i] > ns[most])
			most = i;
	}
	if (!(all > 0))
		return t;
	for (int i = 0; i < TIERS; i++) {
		t.percent[i] = (uint8_t)(100 * (double)ns[i] / all);
		left -= t.percent[i];
	}
	t.percent[most] = (uint8_t)(t.percent[most] + left);
	return t;
}

int profile_merge_tiers(struct profile *p)
{
	struct split s = {0};
	int rc = split_new(&s, p);

	if (!rc)
		rc = profile_root(p);
	if (!rc)
		rc = nodes_merge(&s, p);
	if (!rc)
		rc = cells_merge(&s, p);
	if (!rc) {
		p->tiers = malloc(sizeof(*p->tiers) * p->nnodes);
		rc = p->tiers ? 0 : -ENOMEM;
	}
	for (uint32_t i = 0; i < p->nnodes && !rc; i++)
		p->tiers[i] = tiers_share(s.tier_ns[i]);
	split_free(&s);
	return rc;
}
