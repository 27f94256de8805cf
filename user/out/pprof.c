/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Field numbers are those of github.com/google/pprof/proto/profile.proto. Every method is a
 * function with one location; strings beyond the methods' names follow behind these.
 */
#include "out/pprof.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "out/gzip.h"

enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
};

static void varint(struct buffer *b, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		buffer_byte(b, (uint8_t)(v | 0x80));
	buffer_byte(b, (uint8_t)v);
}

static void field_int(struct buffer *b, int field, uint64_t v)
{
	if (!v)
		return;
	varint(b, (uint64_t)field << 3);
	varint(b, v);
}

static void field_bytes(struct buffer *b, int field, const void *p, size_t n)
{
	varint(b, (uint64_t)field << 3 | 2);
	varint(b, n);
	buffer_add(b, p, n);
}

/* ---- strings ---- */

/* String 0 is "", name i of the profile is i + 1, the fixed ones come behind. */
enum fixed_string {
	STR_COUNT,
	STR_NS,
	STR_SAMPLES,
	STR_CPU,
	STR_WALL,
	STR_CPU_SAMPLES,
	STR_CPU_TIME,
	STR_WALL_SAMPLES,
	STR_WALL_TIME,
	STR_THREAD,
	STR_THREAD_ID,
	STR_STATE,
	STR_OFF,
	STR_FIXED,
};

static const char *const fixed_text[STR_FIXED] = {
	[STR_COUNT] = "count",	       [STR_NS] = "nanoseconds",
	[STR_SAMPLES] = "samples",     [STR_CPU] = "cpu",
	[STR_WALL] = "wall",	       [STR_CPU_SAMPLES] = "cpu-samples",
	[STR_CPU_TIME] = "cpu-time",   [STR_WALL_SAMPLES] = "wall-samples",
	[STR_WALL_TIME] = "wall-time", [STR_THREAD] = "thread",
	[STR_THREAD_ID] = "thread id", [STR_STATE] = "state",
	[STR_OFF] = "off_cpu",
};

static uint64_t fixed(const struct profile *p, enum fixed_string s)
{
	return (uint64_t)p->names.n + 1 + s;
}

static uint64_t name(uint32_t id)
{
	return (uint64_t)id + 1;
}

static void strings(const struct profile *p, struct buffer *b)
{
	field_bytes(b, PROFILE_STRING, "", 0);
	for (uint32_t i = 0; i < p->names.n; i++)
		field_bytes(b, PROFILE_STRING, names_get(&p->names, i),
			    strlen(names_get(&p->names, i)));
	for (int i = 0; i < STR_FIXED; i++)
		field_bytes(b, PROFILE_STRING, fixed_text[i], strlen(fixed_text[i]));
}

/* ---- messages ---- */

static void value_type(struct buffer *b, struct buffer *m, int field, uint64_t type, uint64_t unit)
{
	buffer_clear(m);
	field_int(m, 1, type);
	field_int(m, 2, unit);
	field_bytes(b, field, m->data, m->len);
}

static void sample_types(const struct profile *p, int dim, struct buffer *b, struct buffer *m)
{
	static const enum fixed_string one[DIMS] = {STR_CPU, STR_WALL, STR_OFF};
	uint64_t count = fixed(p, STR_COUNT), ns = fixed(p, STR_NS);

	if (dim >= 0) {
		value_type(b, m, PROFILE_SAMPLE_TYPE, fixed(p, STR_SAMPLES), count);
		value_type(b, m, PROFILE_SAMPLE_TYPE, fixed(p, one[dim]), ns);
		return;
	}
	value_type(b, m, PROFILE_SAMPLE_TYPE, fixed(p, STR_CPU_SAMPLES), count);
	value_type(b, m, PROFILE_SAMPLE_TYPE, fixed(p, STR_CPU_TIME), ns);
	value_type(b, m, PROFILE_SAMPLE_TYPE, fixed(p, STR_WALL_SAMPLES), count);
	value_type(b, m, PROFILE_SAMPLE_TYPE, fixed(p, STR_WALL_TIME), ns);
}

static void label(struct buffer *b, struct buffer *m, uint64_t key, uint64_t str, uint64_t num)
{
	buffer_clear(m);
	field_int(m, 1, key);
	field_int(m, 2, str);
	field_int(m, 3, num);
	field_bytes(b, 3, m->data, m->len);
}

static void values(struct buffer *s, struct buffer *m, const struct prof_cell *c, int dim)
{
	uint64_t v[4] = {c->samples, c->ns, 0, 0};
	int n = 2;

	if (dim < 0) {
		bool cpu = c->dims & 1 << DIM_CPU, wall = c->dims & 1 << DIM_WALL;

		v[0] = cpu ? c->samples : 0;
		v[1] = cpu ? c->ns : 0;
		v[2] = wall ? c->samples : 0;
		v[3] = wall ? c->ns : 0;
		n = 4;
	}
	buffer_clear(m);
	for (int i = 0; i < n; i++)
		varint(m, v[i]);
	field_bytes(s, 2, m->data, m->len);
}

static void sample(const struct profile *p, const struct prof_cell *c, int dim, struct buffer *b,
		   struct buffer *s, struct buffer *m)
{
	const struct prof_thread *t = &p->threads[c->thread];

	buffer_clear(s);
	buffer_clear(m);
	for (uint32_t n = c->node; n != NODE_ROOT; n = p->nodes[n].parent)
		varint(m, (uint64_t)p->nodes[n].frame + 1);
	field_bytes(s, 1, m->data, m->len);
	values(s, m, c, dim);
	label(s, m, fixed(p, STR_THREAD), name(t->name), 0);
	if (t->os_id > 0)
		label(s, m, fixed(p, STR_THREAD_ID), 0, (uint64_t)t->os_id);
	label(s, m, fixed(p, STR_STATE), name(p->states[c->state].name), 0);
	field_bytes(b, PROFILE_SAMPLE, s->data, s->len);
}

/* Frame i is location i + 1 and function i + 1. */
static void locations(const struct profile *p, struct buffer *b, struct buffer *s, struct buffer *m)
{
	for (uint32_t i = 0; i < p->nframes; i++) {
		buffer_clear(m);
		field_int(m, 1, (uint64_t)i + 1);
		buffer_clear(s);
		field_int(s, 1, (uint64_t)i + 1);
		field_bytes(s, 4, m->data, m->len);
		field_bytes(b, PROFILE_LOCATION, s->data, s->len);
		buffer_clear(s);
		field_int(s, 1, (uint64_t)i + 1);
		field_int(s, 2, name(p->frames[i].name));
		field_int(s, 3, name(p->frames[i].name));
		field_bytes(b, PROFILE_FUNCTION, s->data, s->len);
	}
}

int pprof_encode(const struct profile *p, int dim, struct buffer *b)
{
	enum jfr_source src = dim == DIM_CPU || (dim < 0 && p->total_ns[0][DIM_CPU])
				      ? p->samples[JFR_SOURCE_CPU_TIME] ? JFR_SOURCE_CPU_TIME
									: JFR_SOURCE_EXECUTION
				      : JFR_SOURCE_WALL;
	struct buffer s = BUFFER_INIT, m = BUFFER_INIT;
	bool failed;

	sample_types(p, dim, b, &m);
	for (uint32_t i = 0; i < p->ncells; i++)
		if (!p->cells[i].side && p->cells[i].dims & (dim < 0 ? 7 : 1 << dim))
			sample(p, &p->cells[i], dim, b, &s, &m);
	locations(p, b, &s, &m);
	strings(p, b);
	field_int(b, PROFILE_TIME_NANOS, (uint64_t)p->start_ns);
	field_int(b, PROFILE_DURATION_NANOS, profile_recorded_ns(p));
	value_type(b, &m, PROFILE_PERIOD_TYPE,
		   fixed(p, src == JFR_SOURCE_WALL ? STR_WALL : STR_CPU), fixed(p, STR_NS));
	field_int(b, PROFILE_PERIOD, p->period_ns[src]);
	failed = b->failed || s.failed || m.failed;
	buffer_free(&s);
	buffer_free(&m);
	return failed ? -ENOMEM : 0;
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
