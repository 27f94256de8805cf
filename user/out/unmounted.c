/* SPDX-License-Identifier: Apache-2.0 */
#include "out/unmounted.h"

#include <errno.h>
#include <stdlib.h>

#include "out/format.h"

struct place {
	uint32_t name, state;
	uint64_t ns;
};

static int name_order(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	return (x->state > y->state) - (x->state < y->state);
}

static int time_order(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return name_order(a, b);
}

/* Their number; *total: their time together. */
static uint32_t places_take(const struct profile *p, struct place *v, uint64_t *total)
{
	uint32_t n = 0;

	*total = 0;
	for (uint32_t i = 0; i < p->ncells; i++) {
		const struct prof_cell *c = &p->cells[i];

		v[i] = (struct place){profile_node_place(p, c->node), c->state, c->ns};
		*total += c->ns;
	}
	qsort(v, p->ncells, sizeof(*v), name_order);
	for (uint32_t i = 0; i < p->ncells; i++) {
		if (n && !name_order(&v[n - 1], &v[i]))
			v[n - 1].ns += v[i].ns;
		else
			v[n++] = v[i];
	}
	qsort(v, n, sizeof(*v), time_order);
	return n;
}

static double mean(double ns, const struct profile_facts *x)
{
	return ns / (double)x->unmounted.period_ns;
}

static void mean_line(const struct profile_facts *x, double ns, const char *what, FILE *f)
{
	if (mean(ns, x) >= 0.5)
		fprintf(f, "  %12s  %s\n", format_count((uint64_t)(mean(ns, x) + 0.5)).s, what);
}

static void head_print(const struct profile_facts *x, FILE *f)
{
	uint64_t looks = x->unmounted.looks;

	fprintf(f, "\nVirtual threads that nobody runs: %s on average, by %s look%s",
		format_count((uint64_t)(mean(x->unmounted.threads_ns, x) + 0.5)).s,
		format_count(looks).s, looks == 1 ? "" : "s");
	if (x->unmounted.drawn < x->unmounted.places)
		fprintf(f, " at %s of them",
			format_share(x->unmounted.drawn, x->unmounted.places).s);
	fputc('\n', f);
	mean_line(x, x->unmounted.unsettled_ns, "more changed while they were read", f);
	mean_line(x, x->unmounted.unknown_ns, "more had no stack that could be read", f);
	mean_line(x, x->unmounted.strange_ns, "places of tables could not be followed", f);
	if (x->unmounted.left_out)
		fprintf(f, "  %12s  times a container of threads was left out\n",
			format_count(x->unmounted.left_out).s);
}

int unmounted_print(const struct profile *alone, const struct profile_facts *facts,
		    unsigned int rows, FILE *f, struct error *e)
{
	struct place *v = calloc((size_t)alone->ncells + 1, sizeof(*v));
	uint64_t total;
	uint32_t n;

	if (!alone->ncells) {
		free(v);
		return 0;
	}
	if (!v)
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	head_print(facts, f);
	n = places_take(alone, v, &total);
	for (uint32_t i = 0; i < n && i < rows; i++)
		fprintf(f, "  %s %10s  %-12s  %s\n", format_share(v[i].ns, total).s,
			format_count((uint64_t)(mean((double)v[i].ns, facts) + 0.5)).s,
			names_get(&alone->names, alone->states[v[i].state].name),
			v[i].name == NAME_NONE ? "[not begun yet]"
					       : names_get(&alone->names, v[i].name));
	free(v);
	return 0;
}
