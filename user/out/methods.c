/* SPDX-License-Identifier: Apache-2.0 */
#include "out/methods.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "out/csv.h"
#include "out/tree.h"
#include "out/xml.h"

enum { COLUMNS = 2 * DIMS };

static const char *const column_names[COLUMNS] = {
	"cpu_self_ns",	 "cpu_total_ns", "wall_self_ns",
	"wall_total_ns", "off_self_ns",	 "off_total_ns",
};

static int columns_fill(const struct profile *p, struct tree *t, uint64_t *v, struct error *e)
{
	uint64_t *self = malloc(sizeof(*self) * p->nnodes);
	uint64_t *total = malloc(sizeof(*total) * p->nnodes);
	int rc = self && total ? 0 : error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");

	for (int d = 0; d < DIMS && !rc; d++) {
		uint64_t *column = v + (size_t)(2 * d) * p->names.n;

		profile_weigh(p, (enum dim)d, 0, self, total);
		rc = tree_by_name(t, self, total, column, column + p->names.n, e);
	}
	free(self);
	free(total);
	return rc;
}

/* Column after column, each as long as there are names; freed by the caller. */
static uint64_t *columns_new(const struct profile *p, struct error *e)
{
	uint64_t *v = calloc((size_t)COLUMNS * p->names.n, sizeof(*v));
	struct tree t = {0};
	int rc;

	if (!v) {
		error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
		return NULL;
	}
	rc = tree_new(&t, p, e);
	if (!rc)
		rc = columns_fill(p, &t, v, e);
	tree_free(&t);
	if (!rc)
		return v;
	free(v);
	return NULL;
}

static int methods_each(const struct profile *p, FILE *f, struct error *e,
			void (*print)(const char *name, const uint64_t *v, FILE *f))
{
	uint64_t *v = columns_new(p, e), row[COLUMNS];

	if (!v)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->names.n; i++) {
		uint64_t any = 0;

		for (size_t k = 0; k < COLUMNS; k++)
			any |= row[k] = v[k * p->names.n + i];
		if (any)
			print(names_get(&p->names, i), row, f);
	}
	free(v);
	return 0;
}

/* ---- csv ---- */

static void csv_method(const char *name, const uint64_t *v, FILE *f)
{
	csv_text(name, f);
	for (int k = 0; k < COLUMNS; k++)
		fprintf(f, ",%llu", (unsigned long long)v[k]);
	fputc('\n', f);
}

int methods_csv(const struct profile *p, FILE *f, struct error *e)
{
	fprintf(f, "method");
	for (int k = 0; k < COLUMNS; k++)
		fprintf(f, ",%s", column_names[k]);
	fputc('\n', f);
	return methods_each(p, f, e, csv_method);
}

/* ---- xml ---- */

static void xml_method(const char *name, const uint64_t *v, FILE *f)
{
	fprintf(f, "  <method name=\"");
	xml_text(name, strlen(name), f);
	fputc('"', f);
	for (int k = 0; k < COLUMNS; k++)
		fprintf(f, " %s=\"%llu\"", column_names[k], (unsigned long long)v[k]);
	fprintf(f, "/>\n");
}

int methods_xml(const struct profile *p, FILE *f, struct error *e)
{
	int rc;

	fprintf(f,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<profile duration_ns=\"%llu\" "
		"threads=\"%u\"",
		(unsigned long long)profile_recorded_ns(p), p->nselves);
	for (int d = 0; d < DIMS; d++)
		fprintf(f, " %s_ns=\"%llu\"", dim_names[d], (unsigned long long)p->total_ns[0][d]);
	fprintf(f, ">\n");
	rc = methods_each(p, f, e, xml_method);
	fprintf(f, "</profile>\n");
	return rc;
}
