/* SPDX-License-Identifier: Apache-2.0 */
#include "out/speedscope.h"

#include <errno.h>
#include <stdlib.h>

#include "base/json.h"
#include "out/moments.h"
#include "out/tree.h"

struct scope {
	const struct profile *p;
	struct json j;
	uint32_t *path; /* room for the deepest stack */
};

/* Where a filter left no frame there is that of the root. */
static void stack_put(struct scope *s, uint32_t node)
{
	uint32_t n = 0;

	for (uint32_t i = node; i != NODE_ROOT; i = s->p->nodes[i].parent)
		s->path[n++] = s->p->nodes[i].frame;
	json_open(&s->j, NULL, '[');
	if (!n)
		json_number(&s->j, NULL, s->p->nodes[NODE_ROOT].frame);
	while (n)
		json_number(&s->j, NULL, s->path[--n]);
	json_close(&s->j, ']');
}

static void frames_put(struct scope *s)
{
	json_open(&s->j, "shared", '{');
	json_open(&s->j, "frames", '[');
	for (uint32_t i = 0; i < s->p->nframes; i++) {
		json_open(&s->j, NULL, '{');
		json_text(&s->j, "name", profile_frame_name(s->p, i));
		json_close(&s->j, '}');
	}
	json_close(&s->j, ']');
	json_close(&s->j, '}');
}

static void profile_open(struct scope *s, const char *name, uint64_t start, uint64_t ns)
{
	json_open(&s->j, NULL, '{');
	json_text(&s->j, "type", "sampled");
	json_text(&s->j, "name", name);
	json_text(&s->j, "unit", "nanoseconds");
	json_number(&s->j, "startValue", start);
	json_number(&s->j, "endValue", start + ns);
}

/* ---- one for all threads ---- */

static int dim_put(struct scope *s, const struct tree *t, uint64_t *self, uint64_t *total,
		   struct error *e)
{
	struct tree_walk w;
	int rc;

	for (int weights = 0; weights < 2; weights++) {
		rc = tree_walk_begin(&w, t, e);
		if (rc)
			return rc;
		json_open(&s->j, weights ? "weights" : "samples", '[');
		for (bool more = true; more; more = tree_walk_next(&w, total, 0)) {
			if (!self[w.node])
				continue;
			if (weights)
				json_number(&s->j, NULL, self[w.node]);
			else
				stack_put(s, w.node);
		}
		json_close(&s->j, ']');
		tree_walk_end(&w);
	}
	return 0;
}

static int dims_put(struct scope *s, int only, struct error *e)
{
	static const char *const names[DIMS] = {"CPU time", "wall time", "time off the CPU"};
	const struct profile *p = s->p;
	uint64_t *self = malloc(sizeof(*self) * p->nnodes);
	uint64_t *total = malloc(sizeof(*total) * p->nnodes);
	struct tree t = {0};
	int rc = self && total ? tree_new(&t, p, e) : -ENOMEM;

	for (int d = 0; d < DIMS && !rc; d++) {
		if (only >= 0 ? d != only : !p->total_ns[0][d])
			continue;
		profile_weigh(p, (enum dim)d, 0, self, total);
		tree_sort(&t, total);
		profile_open(s, names[d], 0, total[NODE_ROOT]);
		rc = dim_put(s, &t, self, total, e);
		json_close(&s->j, '}');
	}
	tree_free(&t);
	free(self);
	free(total);
	return rc;
}

/* ---- one for each thread ---- */

static void thread_put(struct scope *s, const struct moments *m, const struct moments_thread *t)
{
	const struct profile *p = s->p;
	const struct moment *v = m->v + t->first;
	char name[512];

	snprintf(name, sizeof(name), "%s (%lld)", names_get(&p->names, p->threads[t->thread].name),
		 (long long)p->threads[t->thread].os_id);
	profile_open(s, name, v->start_ns > 0 ? (uint64_t)v->start_ns : 0, t->ns);
	json_open(&s->j, "samples", '[');
	for (size_t i = 0; i < t->n; i++)
		stack_put(s, p->cells[v[i].cell].node);
	json_close(&s->j, ']');
	json_open(&s->j, "weights", '[');
	for (size_t i = 0; i < t->n; i++)
		json_number(&s->j, NULL, v[i].ns);
	json_close(&s->j, ']');
	json_close(&s->j, '}');
}

static int threads_put(struct scope *s, enum dim dim)
{
	struct moments m;
	int rc = moments_gather(&m, s->p, dim);

	if (rc)
		return rc;
	for (size_t i = 0; i < m.nthreads; i++)
		thread_put(s, &m, &m.threads[i]);
	moments_free(&m);
	return 0;
}

int speedscope_write(const struct profile *p, const struct speedscope_options *o, FILE *f,
		     struct error *e)
{
	struct scope s = {.p = p, .path = tree_path_new(p)};
	int rc = s.path ? 0 : -ENOMEM;

	if (!rc) {
		json_begin_dense(&s.j, f);
		json_open(&s.j, NULL, '{');
		json_text(&s.j, "$schema", "https://www.speedscope.app/file-format-schema.json");
		json_text(&s.j, "exporter", "gnomon");
		json_text(&s.j, "name", o->title);
		frames_put(&s);
		json_open(&s.j, "profiles", '[');
		rc = o->threads ? threads_put(&s, o->dim >= 0 ? (enum dim)o->dim : DIM_WALL)
				: dims_put(&s, o->dim, e);
		json_close(&s.j, ']');
		json_close(&s.j, '}');
		json_end(&s.j);
	}
	free(s.path);
	return rc ? error_set(e, rc, EXIT_INTERNAL, "out of memory") : 0;
}
