/* SPDX-License-Identifier: Apache-2.0 */
#include "out/text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "out/format.h"
#include "out/tree.h"

static const char *const type_names[PROF_TYPES] = {
	[FRAME_INTERPRETED] = "interpreted",
	[FRAME_JIT] = "",
	[FRAME_INLINED] = "inlined",
	[FRAME_NATIVE] = "native",
	[FRAME_CPP] = "native",
	[FRAME_KERNEL] = "kernel",
	[FRAME_C1] = "C1",
	[PROF_JAVA] = "",
	[PROF_CAUSE] = "cause",
};

static const char *const source_names[JFR_SOURCES] = {
	[JFR_SOURCE_EXECUTION] = "CPU",
	[JFR_SOURCE_NATIVE] = "native",
	[JFR_SOURCE_CPU_TIME] = "CPU",
	[JFR_SOURCE_WALL] = "wall",
};

/* ---- head ---- */

void text_reservoir(const struct profile *p, const char *indent, FILE *f)
{
	char share[80];

	if (profile_sampled_threads(p, share, sizeof(share)))
		fprintf(f,
			"%swall times are estimates: %s were sampled at a time, chosen at random, "
			"and scaled up\n",
			indent, share);
}

static void text_idle(const struct profile *p, FILE *f)
{
	uint64_t idle = p->idle_ns[0];

	if (idle)
		fprintf(f,
			"left out: %s (%.0f%% of all) of threads that wait for work; --idle "
			"counts them\n",
			format_ns(idle).s,
			100.0 * (double)idle / (double)(idle + p->total_ns[0][DIM_WALL]));
}

void text_dropped(const struct profile *p, int side, const char *before, FILE *f)
{
	if (p->execution_dropped[side])
		fprintf(f,
			"%sCPU is from jdk.CPUTimeSample; jdk.ExecutionSample left out, as it "
			"counts the same time\n",
			before);
}

void text_head(const struct profile *p, FILE *f)
{
	const char *sep = "";

	fprintf(f, "%s recorded, %s threads: ", format_ns(p->side_ns[0]).s,
		format_count(p->nselves).s);
	for (int i = 0; i < JFR_SOURCES; i++) {
		if (!p->samples[i])
			continue;
		fprintf(f, "%s%s %s samples at %s%s", sep, format_count(p->samples[i]).s,
			source_names[i], format_ns(p->period_ns[i]).s,
			p->period_assumed[i] ? " (assumed)" : "");
		sep = ", ";
	}
	fprintf(f, "%s\n", *sep ? "" : "no samples");
	fprintf(f, "CPU %s, off CPU %s, wall %s\n", format_ns(p->total_ns[0][DIM_CPU]).s,
		format_ns(p->total_ns[0][DIM_OFF]).s, format_ns(p->total_ns[0][DIM_WALL]).s);
	text_idle(p, f);
	text_reservoir(p, "", f);
	text_dropped(p, 0, "", f);
}

/* ---- what all tables need ---- */

struct weights {
	struct tree tree;
	uint64_t *node_self, *node_total; /* by node */
	uint64_t *self, *total;		  /* by name */
};

static void weights_free(struct weights *w)
{
	tree_free(&w->tree);
	free(w->node_self);
	free(w->node_total);
	free(w->self);
	free(w->total);
}

static int weights_new(struct weights *w, const struct profile *p, struct error *e)
{
	*w = (struct weights){0};
	w->node_self = malloc(sizeof(uint64_t) * p->nnodes);
	w->node_total = malloc(sizeof(uint64_t) * p->nnodes);
	w->self = malloc(sizeof(uint64_t) * p->names.n);
	w->total = malloc(sizeof(uint64_t) * p->names.n);
	if (w->node_self && w->node_total && w->self && w->total)
		return tree_new(&w->tree, p, e);
	weights_free(w);
	return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
}

static int weights_fill(struct weights *w, const struct profile *p, enum dim dim, int side,
			struct error *e)
{
	profile_weigh(p, dim, side, w->node_self, w->node_total);
	memset(w->self, 0, sizeof(uint64_t) * p->names.n);
	memset(w->total, 0, sizeof(uint64_t) * p->names.n);
	return tree_by_name(&w->tree, w->node_self, w->node_total, w->self, w->total, e);
}

static int largest_first(const void *a, const void *b, void *arg)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const uint64_t *v = arg;

	if (v[x] != v[y])
		return v[x] > v[y] ? -1 : 1;
	return (x > y) - (x < y);
}

/* The numbers of the values above 0, in descending order, go to `out`; how many these are. */
static uint32_t largest(uint64_t *v, uint32_t len, uint32_t *out)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < len; i++)
		if (v[i])
			out[n++] = i;
	qsort_r(out, n, sizeof(*out), largest_first, v);
	return n;
}

/* ---- top ---- */

static void methods_print(const struct profile *p, const struct weights *w, enum dim dim,
			  uint64_t *key, uint32_t *order, unsigned int top, FILE *f)
{
	uint64_t all = p->total_ns[0][dim];
	uint32_t n = largest(key, p->names.n, order);

	for (uint32_t i = 0; i < n && i < top; i++)
		fprintf(f, "  %s %9s  %s %9s  %s\n", format_share(w->self[order[i]], all).s,
			format_ns(w->self[order[i]]).s, format_share(w->total[order[i]], all).s,
			format_ns(w->total[order[i]]).s, names_get(&p->names, order[i]));
}

/* Off-CPU stacks are weighed without regard to the thread, but with their state. */
struct stack_line {
	uint32_t node;
	uint16_t state;
	uint64_t ns;
};

static int by_place(const void *a, const void *b)
{
	const struct stack_line *x = a, *y = b;

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return (int)x->state - (int)y->state;
}

static int by_weight(const void *a, const void *b)
{
	const struct stack_line *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return by_place(a, b);
}

static size_t stacks_gather(const struct profile *p, enum dim dim, struct stack_line *v)
{
	size_t n = 0, k = 0;

	for (uint32_t i = 0; i < p->ncells; i++)
		if (p->cells[i].dims & 1 << dim && !p->cells[i].side)
			v[n++] = (struct stack_line){p->cells[i].node, p->cells[i].state,
						     p->cells[i].ns};
	qsort(v, n, sizeof(*v), by_place);
	for (size_t i = 0; i < n; i++) {
		if (k && v[k - 1].node == v[i].node && v[k - 1].state == v[i].state)
			v[k - 1].ns += v[i].ns;
		else
			v[k++] = v[i];
	}
	qsort(v, k, sizeof(*v), by_weight);
	return k;
}

#define STACK_SHOWN 8 /* frames of a stack in the table, from where Java begins */

/*
 * What a stack waits in is told by its Java frames; the kernel and the VM below them are the same
 * for all. They are folded into one line, unless there is no Java frame.
 */
static void stack_print(const struct profile *p, uint32_t node, FILE *f)
{
	uint32_t java = profile_node_java(p, node);
	int depth = 0, folded = 0;

	for (uint32_t n = node; java != NODE_ROOT && n != java; n = p->nodes[n].parent)
		folded++;
	if (folded) {
		fprintf(f, "                     %s (%d native frames)\n",
			profile_frame_name(p, p->nodes[node].frame), folded);
		node = java;
	}
	for (; node != NODE_ROOT && depth < STACK_SHOWN; node = p->nodes[node].parent, depth++)
		fprintf(f, "                     %s\n",
			profile_frame_name(p, p->nodes[node].frame));
	for (depth = 0; node != NODE_ROOT; node = p->nodes[node].parent)
		depth++;
	if (depth)
		fprintf(f, "                     ... %d more\n", depth);
}

static int stacks_print(const struct profile *p, unsigned int top, FILE *f, struct error *e)
{
	struct stack_line *v = malloc(sizeof(*v) * ((size_t)p->ncells + 1));
	unsigned int shown = 0;
	size_t n;

	if (!v)
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	n = stacks_gather(p, DIM_OFF, v);
	for (size_t i = 0; i < n && shown < top; i++) {
		shown++;
		fprintf(f, "  %s %9s  %s\n", format_share(v[i].ns, p->total_ns[0][DIM_OFF]).s,
			format_ns(v[i].ns).s, names_get(&p->names, p->states[v[i].state].name));
		stack_print(p, v[i].node, f);
	}
	free(v);
	return 0;
}

static int wall_table(const struct profile *p, struct weights *w, uint32_t *order, unsigned int top,
		      FILE *f, struct error *e)
{
	int rc;

	profile_weigh_java(p, DIM_WALL, 0, PROF_ANY_STATE, false, w->node_self, w->node_total);
	memset(w->self, 0, sizeof(uint64_t) * p->names.n);
	memset(w->total, 0, sizeof(uint64_t) * p->names.n);
	rc = tree_by_name(&w->tree, w->node_self, w->node_total, w->self, w->total, e);
	if (rc)
		return rc;
	fprintf(f, "\nMost wall time, by Java method with what it calls natively\n"
		   "     self              total\n");
	methods_print(p, w, DIM_WALL, w->self, order, top, f);
	return 0;
}

static int top_tables(const struct profile *p, struct weights *w, uint32_t *order, unsigned int top,
		      FILE *f, struct error *e)
{
	int rc = 0;

	if (p->total_ns[0][DIM_CPU]) {
		rc = weights_fill(w, p, DIM_CPU, 0, e);
		if (rc)
			return rc;
		fprintf(f, "\nHottest on CPU\n     self              total\n");
		methods_print(p, w, DIM_CPU, w->self, order, top, f);
	}
	if (p->total_ns[0][DIM_WALL]) {
		rc = wall_table(p, w, order, top, f, e);
		if (rc)
			return rc;
	}
	if (p->total_ns[0][DIM_OFF]) {
		fprintf(f, "\nMost time off CPU, by stack\n");
		rc = stacks_print(p, top, f, e);
	}
	return rc;
}

int text_top(const struct profile *p, unsigned int top, FILE *f, struct error *e)
{
	uint32_t *order = malloc(sizeof(*order) * ((size_t)p->names.n + 1));
	struct weights w;
	int rc;

	if (!order)
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	rc = weights_new(&w, p, e);
	if (!rc) {
		text_head(p, f);
		rc = top_tables(p, &w, order, top, f, e);
		weights_free(&w);
	}
	free(order);
	return rc;
}

/* ---- tree ---- */

static void tree_line(const struct profile *p, const struct weights *w, uint32_t n, int depth,
		      uint64_t all, FILE *f)
{
	const struct prof_frame *fr = &p->frames[p->nodes[n].frame];
	const char *type = n ? type_names[fr->type] : "";

	fprintf(f, "%s %9s %9s  %*s%s%s%s%s\n", format_share(w->node_total[n], all).s,
		format_ns(w->node_total[n]).s, format_ns(w->node_self[n]).s, depth, "",
		names_get(&p->names, fr->name), *type ? " [" : "", type, *type ? "]" : "");
}

#define INDENT_MAX 200 /* beyond, the indentation no longer grows */

static int tree_print(const struct profile *p, struct weights *w, enum dim dim, double min_share,
		      FILE *f, struct error *e)
{
	struct tree_walk walk;
	uint64_t all, least;
	int rc;

	profile_weigh(p, dim, 0, w->node_self, w->node_total);
	tree_sort(&w->tree, w->node_total);
	all = w->node_total[NODE_ROOT];
	least = (uint64_t)(min_share * (double)all);
	rc = tree_walk_begin(&walk, &w->tree, e);
	if (rc)
		return rc;
	fprintf(f, " total     time      self\n");
	tree_line(p, w, NODE_ROOT, 0, all, f);
	while (tree_walk_next(&walk, w->node_total, least))
		tree_line(p, w, walk.node, walk.depth < INDENT_MAX ? (int)walk.depth : INDENT_MAX,
			  all, f);
	tree_walk_end(&walk);
	return 0;
}

int text_tree(const struct profile *p, enum dim dim, double min_share, FILE *f, struct error *e)
{
	struct weights w;
	int rc = weights_new(&w, p, e);

	if (rc)
		return rc;
	rc = tree_print(p, &w, dim, min_share, f, e);
	weights_free(&w);
	return rc;
}

/* ---- collapsed ---- */

/* ';' and the last blank are what such a line is split at. */
static void collapsed_name(struct buffer *b, const char *s)
{
	for (; *s; s++)
		buffer_byte(b, *s == ';' ? ':' : (uint8_t)*s);
}

static int collapsed_line(const struct profile *p, const struct prof_cell *c, uint64_t ns,
			  bool threads, uint32_t **path, size_t *cap, struct buffer *b)
{
	size_t n = 0;

	buffer_clear(b);
	for (uint32_t i = c->node; i != NODE_ROOT; i = p->nodes[i].parent) {
		if (n == *cap) {
			uint32_t *v = reallocarray(*path, *cap + 1024, sizeof(*v));

			if (!v)
				return -ENOMEM;
			*path = v;
			*cap += 1024;
		}
		(*path)[n++] = p->nodes[i].frame;
	}
	if (threads) {
		buffer_byte(b, '[');
		collapsed_name(b, names_get(&p->names, p->threads[c->thread].name));
		buffer_byte(b, ']');
	}
	while (n-- > 0) {
		if (b->len)
			buffer_byte(b, ';');
		collapsed_name(b, profile_frame_name(p, (*path)[n]));
	}
	buffer_printf(b, " %llu\n", (unsigned long long)ns);
	return b->failed ? -ENOMEM : 0;
}

/* Order of lines: stacks as first met, cells of one line next to each other. */
static int cell_order(const void *a, const void *b, void *arg)
{
	const struct profile *p = arg;
	const struct prof_cell *x = &p->cells[*(const uint32_t *)a];
	const struct prof_cell *y = &p->cells[*(const uint32_t *)b];

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

int text_collapsed(const struct profile *p, enum dim dim, bool threads, FILE *f, struct error *e)
{
	uint32_t *order = malloc(sizeof(*order) * ((size_t)p->ncells + 1)), *path = NULL, n = 0;
	struct buffer b = BUFFER_INIT;
	size_t cap = 0;
	int rc = order ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < p->ncells && !rc; i++)
		if (p->cells[i].dims & 1 << dim && !p->cells[i].side && p->cells[i].node)
			order[n++] = i;
	if (!rc)
		qsort_r(order, n, sizeof(*order), cell_order, (void *)p);
	for (uint32_t i = 0, j; i < n && !rc; i = j) {
		const struct prof_cell *c = &p->cells[order[i]];
		uint64_t ns = 0;

		for (j = i; j < n; j++) {
			const struct prof_cell *d = &p->cells[order[j]];

			if (d->node != c->node || (threads && d->thread != c->thread))
				break;
			ns += d->ns;
		}
		rc = collapsed_line(p, c, ns, threads, &path, &cap, &b);
		if (!rc)
			fwrite(b.data, 1, b.len, f);
	}
	free(order);
	free(path);
	buffer_free(&b);
	return rc ? error_set(e, rc, EXIT_INTERNAL, "out of memory") : 0;
}
