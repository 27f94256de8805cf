/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Field numbers are those of opentelemetry/proto/profiles/v1development/profiles.proto, 1.11. What
 * samples refer to stands in tables of the request's dictionary, each entry once; entry 0 of each
 * is the zero value.
 */
#include "push/otlp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/protobuf.h"
#include "push/limits.h"

enum { REQUEST_PROFILES = 1, REQUEST_DICTIONARY = 2 };
enum { RESOURCE_PROFILES_RESOURCE = 1, RESOURCE_PROFILES_SCOPES = 2 };
enum { SCOPE_PROFILES_SCOPE = 1, SCOPE_PROFILES_PROFILES = 2, SCOPE_NAME = 1 };
enum { RESOURCE_ATTRIBUTES = 1, KEY_VALUE_KEY = 1, KEY_VALUE_VALUE = 2 };
enum { ANY_STRING = 1, ANY_INT = 3 };
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLES = 2,
	PROFILE_TIME = 3,
	PROFILE_DURATION = 4,
	PROFILE_PERIOD_TYPE = 5,
	PROFILE_PERIOD = 6,
	PROFILE_ID = 7,
};
enum {
	SAMPLE_STACK = 1,
	SAMPLE_ATTRIBUTES = 2,
	SAMPLE_LINK = 3,
	SAMPLE_VALUES = 4,
	SAMPLE_TIMES = 5,
};
enum { LINK_TRACE = 1, LINK_SPAN = 2 };
enum { STACK_LOCATIONS = 1, LINE_FUNCTION = 1, FUNCTION_NAME = 1 };
enum { LOCATION_MAPPING = 1, LOCATION_LINES = 3, LOCATION_ATTRIBUTES = 4 };
enum {
	MAPPING_START = 1,
	MAPPING_LIMIT = 2,
	MAPPING_OFFSET = 3,
	MAPPING_FILE = 4,
	MAPPING_ATTRIBUTES = 5,
};
enum { ATTRIBUTE_KEY = 1, ATTRIBUTE_VALUE = 2, ATTRIBUTE_UNIT = 3 };

/* In the order of the dictionary's fields, which are numbered from 1. */
enum table { MAPPINGS, LOCATIONS, FUNCTIONS, LINKS, STRINGS, ATTRIBUTES, STACKS, TABLES };

#define FRAME_TYPE   "profile.frame.type"
#define THREAD_ID    "thread.id"
#define THREAD_NAME  "thread.name"
#define THREAD_STATE "thread.state"
#define QUEUED_TIME                                                                                \
	"thread.queued_time" /* of a sample's time: waiting for a CPU, as a number of ns */
#define BUILD_ID "process.executable.build_id.gnu"

/* Entries are their own encodings: equal ones are one. Entry 0 is the empty one. */
struct encoder {
	const struct profile *p;
	struct names tables[TABLES];
	struct idmap locations; /* of frames, so that most are encoded once */
	struct buffer entry, inner;
	bool failed;
};

/* ---- tables ---- */

static uint64_t entry_add(struct encoder *x, enum table t, const void *bytes, size_t n)
{
	uint32_t id = names_add(&x->tables[t], bytes, n, NULL);

	x->failed |= id == NAME_NONE;
	return id;
}

static uint64_t string(struct encoder *x, const char *s)
{
	return entry_add(x, STRINGS, s, strlen(s));
}

static uint64_t name(struct encoder *x, uint32_t id)
{
	return string(x, names_get(&x->p->names, id));
}

static uint64_t entry_done(struct encoder *x, enum table t)
{
	x->failed |= x->entry.failed || x->inner.failed;
	/* an empty one may have no memory yet */
	return entry_add(x, t, x->entry.len ? (const void *)x->entry.data : "", x->entry.len);
}

/* A text, or a number where `s` is NULL; `unit` NULL: it has none. */
static uint64_t attribute_unit(struct encoder *x, const char *key, const char *s, int64_t number,
			       const char *unit)
{
	uint64_t k = string(x, key), u = unit ? string(x, unit) : 0;

	buffer_clear(&x->inner);
	if (s)
		protobuf_text(&x->inner, ANY_STRING, s);
	else
		protobuf_int(&x->inner, ANY_INT, (uint64_t)number);
	buffer_clear(&x->entry);
	protobuf_int(&x->entry, ATTRIBUTE_KEY, k);
	protobuf_message(&x->entry, ATTRIBUTE_VALUE, &x->inner);
	protobuf_int(&x->entry, ATTRIBUTE_UNIT, u);
	return entry_done(x, ATTRIBUTES);
}

static uint64_t attribute(struct encoder *x, const char *key, const char *s, int64_t number)
{
	return attribute_unit(x, key, s, number, NULL);
}

static const char *frame_type(const struct profile *p, uint32_t frame)
{
	if (profile_frame_is_java(p, frame))
		return "jvm";
	return p->frames[frame].type == FRAME_KERNEL ? "kernel" : "native";
}

static uint64_t function(struct encoder *x, uint32_t frame)
{
	uint64_t s = name(x, x->p->frames[frame].name);

	buffer_clear(&x->entry);
	protobuf_int(&x->entry, FUNCTION_NAME, s);
	return entry_done(x, FUNCTIONS);
}

static bool is_native(const struct profile *p, uint32_t frame)
{
	return p->frames[frame].type == FRAME_NATIVE || p->frames[frame].type == FRAME_CPP;
}

/* Entry 0 where it is not known which build of which file the frame is of. */
static uint64_t mapping(struct encoder *x, uint32_t frame)
{
	const struct native_files *files = &x->p->files;
	const struct native_file *f = NULL;
	uint64_t id, name;

	if (is_native(x->p, frame))
		f = native_files_of(files, profile_frame_name(x->p, frame));
	if (!f)
		return 0;
	id = attribute(x, BUILD_ID, names_get(&files->names, f->id), 0);
	name = string(x, names_get(&files->names, f->name));
	buffer_clear(&x->inner);
	protobuf_varint(&x->inner, id);
	buffer_clear(&x->entry);
	protobuf_int(&x->entry, MAPPING_START, f->start);
	protobuf_int(&x->entry, MAPPING_LIMIT, f->end);
	protobuf_int(&x->entry, MAPPING_OFFSET, f->offset);
	protobuf_int(&x->entry, MAPPING_FILE, name);
	protobuf_message(&x->entry, MAPPING_ATTRIBUTES, &x->inner);
	return entry_done(x, MAPPINGS);
}

static uint64_t location_make(struct encoder *x, uint32_t frame)
{
	uint64_t f = function(x, frame), m = mapping(x, frame);
	uint64_t type = attribute(x, FRAME_TYPE, frame_type(x->p, frame), 0);

	buffer_clear(&x->inner);
	protobuf_int(&x->inner, LINE_FUNCTION, f);
	buffer_clear(&x->entry);
	protobuf_int(&x->entry, LOCATION_MAPPING, m);
	protobuf_message(&x->entry, LOCATION_LINES, &x->inner);
	buffer_clear(&x->inner);
	protobuf_varint(&x->inner, type);
	protobuf_message(&x->entry, LOCATION_ATTRIBUTES, &x->inner);
	return entry_done(x, LOCATIONS);
}

static uint64_t location(struct encoder *x, uint32_t frame)
{
	bool fresh;
	uint64_t *known = idmap_put(&x->locations, frame, 0, &fresh), made;

	if (known && !fresh)
		return *known;
	made = location_make(x, frame);
	known = idmap_get(&x->locations, frame);
	x->failed |= !known;
	if (known)
		*known = made;
	return made;
}

/* Leaf first. */
static uint64_t stack(struct encoder *x, uint32_t node)
{
	struct buffer ids = BUFFER_INIT;
	uint64_t id;

	for (uint32_t n = node; n != NODE_ROOT; n = x->p->nodes[n].parent)
		protobuf_varint(&ids, location(x, x->p->nodes[n].frame));
	buffer_clear(&x->entry);
	if (ids.len) /* without one it is the empty stack, entry 0 */
		protobuf_message(&x->entry, STACK_LOCATIONS, &ids);
	x->failed |= ids.failed;
	id = entry_done(x, STACKS);
	buffer_free(&ids);
	return id;
}

static void tables_write(struct encoder *x, struct buffer *to)
{
	struct buffer dictionary = BUFFER_INIT;

	for (int t = 0; t < TABLES; t++)
		for (uint32_t i = 0; i < x->tables[t].n; i++) {
			const struct names *v = &x->tables[t];
			const size_t *at = (const size_t *)v->offs.data + i;
			size_t end = i + 1 < v->n ? at[1] : v->text.len;

			protobuf_bytes(&dictionary, t + 1, v->text.data + at[0], end - at[0] - 1);
		}
	protobuf_message(to, REQUEST_DICTIONARY, &dictionary);
	buffer_free(&dictionary);
}

/* ---- a profile ---- */

static void value_type(struct encoder *x, struct buffer *to, int field, const char *type,
		       const char *unit)
{
	struct buffer m = BUFFER_INIT;

	protobuf_int(&m, 1, string(x, type));
	protobuf_int(&m, 2, string(x, unit));
	protobuf_message(to, field, &m);
	buffer_free(&m);
}

static void sample_attributes(struct encoder *x, enum dim dim, const struct pprof_sample *s,
			      struct buffer *to)
{
	const struct prof_thread *t = &x->p->threads[s->thread];
	const char *state = names_get(&x->p->names, x->p->states[s->state].name);

	if (series_thread_id(t) > 0)
		protobuf_varint(to, attribute(x, THREAD_ID, NULL, series_thread_id(t)));
	protobuf_varint(to, attribute(x, THREAD_NAME, names_get(&x->p->names, t->name), 0));
	protobuf_varint(to, attribute(x, THREAD_STATE, state, 0));
	if (dim == DIM_OFF && !strcmp(state, "QUEUED"))
		protobuf_varint(to, attribute_unit(x, QUEUED_TIME, NULL, (int64_t)s->v[0], "ns"));
}

/* What a CPU sample counts are its times; what a wait is worth is its value. */
static void sample_worth(const struct series *s, size_t i, size_t *tick, struct buffer *m,
			 struct buffer *scratch)
{
	buffer_clear(scratch);
	if (s->dim != DIM_CPU) {
		protobuf_varint(scratch, s->samples[i].v[0]);
		protobuf_message(m, SAMPLE_VALUES, scratch);
		return;
	}
	for (; *tick < s->nticks && s->ticks[*tick].sample == s->base + i; (*tick)++)
		for (int k = 0; k < 64; k += 8)
			buffer_byte(scratch, (uint8_t)((uint64_t)s->ticks[*tick].time_ns >> k));
	protobuf_message(m, SAMPLE_TIMES, scratch);
}

static int hex_value(char c)
{
	return c <= '9' ? c - '0' : c - 'a' + 10;
}

/* An id of 2n digits, as its bytes. */
static void id_write(struct encoder *x, int field, uint32_t name, size_t n)
{
	const char *s = names_get(&x->p->names, name);
	uint8_t id[16];

	for (size_t i = 0; i < n; i++)
		id[i] = (uint8_t)(hex_value(s[2 * i]) << 4 | hex_value(s[2 * i + 1]));
	protobuf_bytes(&x->entry, field, id, n);
}

static uint64_t link_of(struct encoder *x, uint32_t link)
{
	if (!link)
		return 0;
	buffer_clear(&x->entry);
	id_write(x, LINK_TRACE, x->p->links[link].trace, 16);
	id_write(x, LINK_SPAN, x->p->links[link].span, 8);
	return entry_done(x, LINKS);
}

static void samples_write(struct encoder *x, const struct series *s, struct buffer *to)
{
	struct buffer m = BUFFER_INIT, scratch = BUFFER_INIT;
	size_t tick = 0;

	for (size_t i = 0; i < s->n; i++) {
		buffer_clear(&m);
		protobuf_int(&m, SAMPLE_STACK, stack(x, s->samples[i].node));
		buffer_clear(&scratch);
		sample_attributes(x, s->dim, &s->samples[i], &scratch);
		protobuf_message(&m, SAMPLE_ATTRIBUTES, &scratch);
		protobuf_int(&m, SAMPLE_LINK, link_of(x, s->samples[i].link));
		sample_worth(s, i, &tick, &m, &scratch);
		protobuf_message(to, PROFILE_SAMPLES, &m);
	}
	x->failed |= m.failed || scratch.failed;
	buffer_free(&m);
	buffer_free(&scratch);
}

static void profile_write(struct encoder *x, const struct series *s, struct buffer *to)
{
	bool cpu = s->dim == DIM_CPU;
	uint8_t id[16] = {0};

	if (getrandom(id, sizeof(id), 0) != sizeof(id))
		x->failed = true;
	value_type(x, to, PROFILE_SAMPLE_TYPE, cpu ? "samples" : "off_cpu",
		   cpu ? "count" : "nanoseconds");
	samples_write(x, s, to);
	protobuf_fixed64(to, PROFILE_TIME, (uint64_t)s->start_ns);
	protobuf_int(to, PROFILE_DURATION, s->duration_ns);
	if (cpu) {
		value_type(x, to, PROFILE_PERIOD_TYPE, "cpu", "nanoseconds");
		protobuf_int(to, PROFILE_PERIOD, pprof_period(x->p, DIM_CPU));
	}
	protobuf_bytes(to, PROFILE_ID, id, sizeof(id));
}

/* ---- the request ---- */

/* What a label is called as an attribute. */
static const char *attribute_name(const char *label)
{
	static const char *const known[][2] = {
		{"service_name", "service.name"},
		{"service_namespace", "service.namespace"},
		{"service_version", "service.version"},
		{"deployment_environment", "deployment.environment"},
		{"deployment_environment_name", "deployment.environment.name"},
		{"container_id", "container.id"},
		{"container_name", "container.name"},
		{"host_name", "host.name"},
		{"process_pid", "process.pid"},
		{"process_runtime_name", "process.runtime.name"},
		{"process_runtime_version", "process.runtime.version"},
		{"k8s_cluster_name", "k8s.cluster.name"},
		{"k8s_namespace_name", "k8s.namespace.name"},
		{"k8s_node_name", "k8s.node.name"},
		{"k8s_pod_name", "k8s.pod.name"},
		{"k8s_pod_uid", "k8s.pod.uid"},
		{"k8s_container_name", "k8s.container.name"},
		{"k8s_deployment_name", "k8s.deployment.name"},
		{"k8s_statefulset_name", "k8s.statefulset.name"},
		{"k8s_daemonset_name", "k8s.daemonset.name"},
		{"k8s_job_name", "k8s.job.name"},
		{"k8s_cronjob_name", "k8s.cronjob.name"},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(label, known[i][0]))
			return known[i][1];
	return label;
}

/* The conventions have one that is a number. */
static void value_write(struct buffer *to, const char *attribute, const char *text)
{
	char *end;
	unsigned long long n = strtoull(text, &end, 10);

	if (!strcmp(attribute, "process.pid") && *text && !*end)
		protobuf_int(to, ANY_INT, n);
	else
		protobuf_text(to, ANY_STRING, text);
}

static void resource_write(const struct labels *l, struct buffer *to)
{
	struct buffer resource = BUFFER_INIT, pair = BUFFER_INIT, value = BUFFER_INIT;

	for (size_t i = 0; i < l->n; i++) {
		buffer_clear(&pair);
		buffer_clear(&value);
		value_write(&value, attribute_name(l->v[i].name), l->v[i].value);
		protobuf_text(&pair, KEY_VALUE_KEY, attribute_name(l->v[i].name));
		protobuf_message(&pair, KEY_VALUE_VALUE, &value);
		protobuf_message(&resource, RESOURCE_ATTRIBUTES, &pair);
	}
	protobuf_message(to, RESOURCE_PROFILES_RESOURCE, &resource);
	buffer_free(&resource);
	buffer_free(&pair);
	buffer_free(&value);
}

static int request_encode(const struct parts *u, const struct series *s, struct buffer *raw)
{
	struct encoder x = {.p = u->p};
	struct buffer profile = BUFFER_INIT, scopes = BUFFER_INIT, resource = BUFFER_INIT,
		      scope = BUFFER_INIT;

	for (int t = 0; t < TABLES; t++)
		entry_add(&x, (enum table)t, "", 0);
	profile_write(&x, s, &profile);
	protobuf_text(&scope, SCOPE_NAME, "gnomon");
	protobuf_message(&scopes, SCOPE_PROFILES_SCOPE, &scope);
	protobuf_message(&scopes, SCOPE_PROFILES_PROFILES, &profile);
	resource_write(u->labels, &resource);
	protobuf_message(&resource, RESOURCE_PROFILES_SCOPES, &scopes);
	protobuf_message(raw, REQUEST_PROFILES, &resource);
	tables_write(&x, raw);
	for (int t = 0; t < TABLES; t++)
		names_free(&x.tables[t]);
	idmap_free(&x.locations);
	buffer_free(&x.entry);
	buffer_free(&x.inner);
	buffer_free(&profile);
	buffer_free(&scopes);
	buffer_free(&resource);
	buffer_free(&scope);
	return x.failed || raw->failed ? -ENOMEM : 0;
}

static int request_pack(const struct parts *u, const struct series *s, const struct buffer *raw,
			struct buffer *body)
{
	return parts_gzip(raw, body);
}

const struct protocol otlp = {
	.path = "/v1development/profiles",
	.type = "application/x-protobuf",
	.encoding = "gzip",
	.names = {[DIM_CPU] = "cpu", [DIM_OFF] = "off_cpu"},
	.bytes = PYROSCOPE_BYTES, /* which takes this protocol too, and no more of it */
	.samples = PYROSCOPE_SAMPLES,
	.apart = SERIES_THREADS,
	.ticks = true,
	.files = true,
	.encode = request_encode,
	.pack = request_pack,
};
