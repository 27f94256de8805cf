/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Field numbers are those of github.com/google/pprof/proto/profile.proto. Every method is a
 * function with one location of the same number. Strings, functions and locations get their
 * numbers when the first sample needs them, and are written behind the samples.
 */
#include "out/pprof.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/protobuf.h"
#include "out/gzip.h"

enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
};

struct encoder {
	const struct profile *p;
	const struct pprof_message *m;
	struct buffer *out;
	struct buffer table;	     /* locations and functions */
	struct buffer sample, inner; /* scratch */
	struct names strings;	     /* number i is string i; "" is the first */
	struct idmap frames;	     /* of the profile, to numbers of functions */
};

/* ---- tables ---- */

static uint64_t string(struct encoder *x, const char *s)
{
	uint32_t id = names_add(&x->strings, s, strlen(s), NULL);

	x->out->failed |= id == NAME_NONE;
	return id;
}

static uint64_t name(struct encoder *x, uint32_t id)
{
	return string(x, names_get(&x->p->names, id));
}

static void function_add(struct encoder *x, uint64_t id, uint32_t frame)
{
	uint64_t s = name(x, x->p->frames[frame].name);

	buffer_clear(&x->inner);
	protobuf_int(&x->inner, 1, id);
	protobuf_int(&x->inner, 2, s);
	protobuf_int(&x->inner, 3, s);
	protobuf_message(&x->table, PROFILE_FUNCTION, &x->inner);
}

static void location_add(struct encoder *x, uint64_t id)
{
	struct buffer line = BUFFER_INIT;

	protobuf_int(&line, 1, id);
	buffer_clear(&x->inner);
	protobuf_int(&x->inner, 1, id);
	protobuf_message(&x->inner, 4, &line);
	protobuf_message(&x->table, PROFILE_LOCATION, &x->inner);
	buffer_free(&line);
}

static uint64_t location(struct encoder *x, uint32_t frame)
{
	bool fresh;
	uint64_t *id = idmap_put(&x->frames, frame, x->frames.n + 1, &fresh), v;

	if (!id) {
		x->out->failed = true;
		return 0;
	}
	v = *id;
	if (fresh) {
		function_add(x, v, frame);
		location_add(x, v);
	}
	return v;
}

static void strings_write(struct encoder *x)
{
	for (uint32_t i = 0; i < x->strings.n; i++) {
		const char *s = names_get(&x->strings, i);

		protobuf_bytes(x->out, PROFILE_STRING, s, strlen(s));
	}
}

/* ---- messages ---- */

static void value_type(struct encoder *x, int field, const struct pprof_type *t)
{
	buffer_clear(&x->inner);
	protobuf_int(&x->inner, 1, string(x, t->type));
	protobuf_int(&x->inner, 2, string(x, t->unit));
	protobuf_message(x->out, field, &x->inner);
}

static void label(struct encoder *x, const char *key, uint64_t str, uint64_t num)
{
	buffer_clear(&x->inner);
	protobuf_int(&x->inner, 1, string(x, key));
	protobuf_int(&x->inner, 2, str);
	protobuf_int(&x->inner, 3, num);
	protobuf_message(&x->sample, 3, &x->inner);
}

static void link_label(struct encoder *x, const char *key, uint32_t id)
{
	if (*names_get(&x->p->names, id))
		label(x, key, name(x, id), 0);
}

static void labels(struct encoder *x, const struct pprof_sample *s)
{
	const struct prof_thread *t = &x->p->threads[s->thread];
	unsigned int which = x->m->labels;

	if (which & PPROF_GROUP)
		label(x, "thread_group", name(x, t->group), 0);
	if (which & PPROF_THREAD)
		label(x, "thread", name(x, t->name), 0);
	if (which & PPROF_THREAD_ID && t->os_id > 0)
		label(x, "thread id", 0, (uint64_t)t->os_id);
	if (which & PPROF_STATE)
		label(x, "state", name(x, x->p->states[s->state].name), 0);
	if (which & PPROF_LINK && s->link) {
		link_label(x, "trace_id", x->p->links[s->link].trace);
		link_label(x, "span_id", x->p->links[s->link].span);
	}
}

/* A stack's locations are gathered before they go into the scratch that new ones are made in. */
static void stack(struct encoder *x, uint32_t node)
{
	struct buffer ids = BUFFER_INIT;

	for (uint32_t n = node; n != NODE_ROOT; n = x->p->nodes[n].parent)
		protobuf_varint(&ids, location(x, x->p->nodes[n].frame));
	protobuf_message(&x->sample, 1, &ids);
	buffer_free(&ids);
}

static void sample(struct encoder *x, const struct pprof_sample *s)
{
	buffer_clear(&x->sample);
	stack(x, s->node);
	buffer_clear(&x->inner);
	for (int i = 0; i < PPROF_VALUES && x->m->types[i].type; i++)
		protobuf_varint(&x->inner, s->v[i]);
	protobuf_message(&x->sample, 2, &x->inner);
	labels(x, s);
	protobuf_message(x->out, PROFILE_SAMPLE, &x->sample);
}

int pprof_message(const struct profile *p, const struct pprof_message *m, struct buffer *out)
{
	struct encoder x = {.p = p, .m = m, .out = out};

	string(&x, "");
	for (int i = 0; i < PPROF_VALUES && m->types[i].type; i++)
		value_type(&x, PROFILE_SAMPLE_TYPE, &m->types[i]);
	for (size_t i = 0; i < m->n; i++)
		sample(&x, &m->samples[i]);
	buffer_add(out, x.table.data, x.table.len);
	protobuf_int(out, PROFILE_TIME_NANOS, (uint64_t)m->start_ns);
	protobuf_int(out, PROFILE_DURATION_NANOS, m->duration_ns);
	value_type(&x, PROFILE_PERIOD_TYPE, &m->period_type);
	protobuf_int(out, PROFILE_PERIOD, m->period);
	strings_write(&x);
	out->failed |= x.table.failed;
	buffer_free(&x.table);
	buffer_free(&x.sample);
	buffer_free(&x.inner);
	names_free(&x.strings);
	idmap_free(&x.frames);
	return out->failed ? -ENOMEM : 0;
}

/* ---- a whole profile ---- */

static const struct pprof_type count = {"samples", "count"};
static const struct pprof_type one_type[DIMS] = {
	[DIM_CPU] = {"cpu", "nanoseconds"},
	[DIM_WALL] = {"wall", "nanoseconds"},
	[DIM_OFF] = {"off_cpu", "nanoseconds"},
};

static void types_set(struct pprof_message *m, int dim)
{
	static const struct pprof_type both[PPROF_VALUES] = {
		{"cpu-samples", "count"},
		{"cpu-time", "nanoseconds"},
		{"wall-samples", "count"},
		{"wall-time", "nanoseconds"},
	};

	if (dim < 0) {
		memcpy(m->types, both, sizeof(both));
		return;
	}
	m->types[0] = count;
	m->types[1] = one_type[dim];
}

static struct pprof_sample cell_sample(const struct prof_cell *c, int dim)
{
	bool cpu = c->dims & 1 << DIM_CPU, wall = c->dims & 1 << DIM_WALL;
	struct pprof_sample s = {
		.node = c->node, .thread = c->thread, .state = c->state, .v = {c->samples, c->ns}};

	if (dim < 0) {
		s.v[0] = cpu ? c->samples : 0;
		s.v[1] = cpu ? c->ns : 0;
		s.v[2] = wall ? c->samples : 0;
		s.v[3] = wall ? c->ns : 0;
	}
	return s;
}

uint64_t pprof_period(const struct profile *p, int dim)
{
	enum jfr_source src = dim != DIM_CPU			? JFR_SOURCE_WALL
			      : p->samples[JFR_SOURCE_CPU_TIME] ? JFR_SOURCE_CPU_TIME
								: JFR_SOURCE_EXECUTION;

	return p->period_ns[src];
}

int pprof_encode(const struct profile *p, int dim, struct buffer *b)
{
	struct pprof_sample *v = calloc(p->ncells ? p->ncells : 1, sizeof(*v));
	int of = dim == DIM_CPU || (dim < 0 && p->total_ns[0][DIM_CPU]) ? DIM_CPU : DIM_WALL, rc;
	struct pprof_message m = {
		.period_type = one_type[of],
		.period = pprof_period(p, of),
		.labels = PPROF_THREAD | PPROF_THREAD_ID | PPROF_STATE,
		.start_ns = p->start_ns,
		.duration_ns = profile_recorded_ns(p),
		.samples = v,
	};

	if (!v)
		return -ENOMEM;
	types_set(&m, dim);
	for (uint32_t i = 0; i < p->ncells; i++)
		if (!p->cells[i].side && p->cells[i].dims & (dim < 0 ? 7 : 1 << dim))
			v[m.n++] = cell_sample(&p->cells[i], dim);
	rc = pprof_message(p, &m, b);
	free(v);
	return rc;
}

int pprof_write(const struct profile *p, int dim, FILE *f, struct error *e)
{
	struct buffer b = BUFFER_INIT;
	int rc = pprof_encode(p, dim, &b);

	if (!rc) {
		FILE *packed = gzip_open(f);

		if (packed) {
			fwrite(b.data, 1, b.len, packed);
			fclose(packed);
		}
		rc = packed ? 0 : -ENOMEM;
	}
	buffer_free(&b);
	return rc ? error_set(e, rc, EXIT_INTERNAL, "cannot encode the profile: %s", strerror(-rc))
		  : 0;
}
