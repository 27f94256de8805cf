/* SPDX-License-Identifier: Apache-2.0 */
#include "push/pyroscope.h"

#include <errno.h>
#include <stdio.h>
#include <sys/random.h>

#include "base/protobuf.h"
#include "push/limits.h"

static const struct pprof_type types[DIMS] = {
	[DIM_CPU] = {"cpu", "nanoseconds"},
	[DIM_WALL] = {"wall", "nanoseconds"},
	[DIM_OFF] = {"off_cpu", "nanoseconds"},
};

/* PushRequest and what is in it */
enum { REQUEST_SERIES = 1, SERIES_LABELS = 1, SERIES_SAMPLES = 2, LABEL_NAME = 1, LABEL_VALUE = 2 };
enum { RAW_PROFILE = 1, RAW_ID = 2 };

static void label_add(struct buffer *series, const char *name, const char *value)
{
	struct buffer l = BUFFER_INIT;

	protobuf_text(&l, LABEL_NAME, name);
	protobuf_text(&l, LABEL_VALUE, value);
	protobuf_message(series, SERIES_LABELS, &l);
	buffer_free(&l);
}

/* A random UUID. */
static void id_make(char to[static 40])
{
	uint8_t b[16] = {0};

	if (getrandom(b, sizeof(b), 0) != sizeof(b))
		b[0] = 1;
	b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
	b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
	snprintf(to, 40, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
		 b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12],
		 b[13], b[14], b[15]);
}

static int message_encode(const struct parts *u, const struct series *s, struct buffer *raw)
{
	struct pprof_message m = {
		.types = {types[s->dim]},
		.period_type = types[s->dim],
		.period = pprof_period(u->p, s->dim),
		.labels = PPROF_GROUP | PPROF_STATE | PPROF_LINK |
			  (u->protocol->apart == SERIES_NAMES ? PPROF_THREAD : 0),
		.start_ns = s->start_ns,
		.duration_ns = s->duration_ns,
		.samples = s->samples,
		.n = s->n,
	};

	return pprof_message(u->p, &m, raw);
}

static int request_pack(const struct parts *u, const struct series *s, const struct buffer *raw,
			struct buffer *to)
{
	struct buffer series = BUFFER_INIT, sample = BUFFER_INIT, packed = BUFFER_INIT;
	const struct labels *l = u->labels;
	int rc = parts_gzip(raw, &packed);
	char id[40];

	id_make(id);
	label_add(&series, "__name__", u->protocol->names[s->dim]);
	for (size_t i = 0; i < l->n; i++)
		if (!l->v[i].run)
			label_add(&series, l->v[i].name, l->v[i].value);
	protobuf_message(&sample, RAW_PROFILE, &packed);
	protobuf_text(&sample, RAW_ID, id);
	protobuf_message(&series, SERIES_SAMPLES, &sample);
	protobuf_message(to, REQUEST_SERIES, &series);
	buffer_free(&series);
	buffer_free(&sample);
	buffer_free(&packed);
	return rc ? rc : to->failed ? -ENOMEM : 0;
}

#define PROTOCOL(a)                                                                                \
	{                                                                                          \
		.path = "/push.v1.PusherService/Push", .type = "application/proto",                \
		.encoding = "", .names = {"process_cpu", "wall", "off_cpu"},                       \
		.bytes = PYROSCOPE_BYTES, .samples = PYROSCOPE_SAMPLES, .apart = (a),              \
		.encode = message_encode, .pack = request_pack,                                    \
	}

const struct protocol pyroscope = PROTOCOL(SERIES_GROUPS);
const struct protocol pyroscope_threads = PROTOCOL(SERIES_NAMES);
