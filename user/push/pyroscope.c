/* SPDX-License-Identifier: Apache-2.0 */
#include "push/pyroscope.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/protobuf.h"
#include "base/utf8.h"
#include "out/gzip.h"
#include "push/limits.h"

static const struct {
	const char *name;
	struct pprof_type type;
} kinds[DIMS] = {
	[DIM_CPU] = {"process_cpu", {"cpu", "nanoseconds"}},
	[DIM_WALL] = {"wall", {"wall", "nanoseconds"}},
	[DIM_OFF] = {"off_cpu", {"off_cpu", "nanoseconds"}},
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

static int gzip_all(const struct buffer *b, struct buffer *to)
{
	char *data = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&data, &n), *packed = f ? gzip_open(f) : NULL;
	bool failed = !packed;

	if (packed) {
		failed = fwrite(b->data, 1, b->len, packed) != b->len;
		failed |= fclose(packed) != 0;
	}
	failed |= !f || fclose(f);
	if (!failed)
		buffer_add(to, data, n);
	free(data);
	return failed || to->failed ? -ENOMEM : 0;
}

static int request_make(const struct labels *l, enum dim dim, const struct buffer *pprof,
			struct buffer *to)
{
	struct buffer series = BUFFER_INIT, sample = BUFFER_INIT, packed = BUFFER_INIT;
	int rc = gzip_all(pprof, &packed);
	char id[40];

	id_make(id);
	label_add(&series, "__name__", kinds[dim].name);
	for (size_t i = 0; i < l->n; i++)
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

static int spool_request(struct spool *to, const struct labels *l, enum dim dim,
			 const struct pprof_message *m, const struct buffer *pprof, size_t *bytes)
{
	struct payload head = {
		.path = "/push.v1.PusherService/Push",
		.type = "application/proto",
		.time_ns = m->start_ns + (int64_t)m->duration_ns,
		.raw = pprof->len,
		.samples = m->n,
	};
	const char *service = labels_get(l, "service_name");
	struct buffer body = BUFFER_INIT;
	char at[32];
	time_t s = (time_t)(m->start_ns / 1000000000);
	struct tm tm;
	int rc = request_make(l, dim, pprof, &body);

	strftime(at, sizeof(at), "%H:%M:%S", localtime_r(&s, &tm));
	snprintf(head.about, sizeof(head.about), "%s of %.100s from %s, %.1f s", kinds[dim].name,
		 service ? service : "unknown_service", at, (double)m->duration_ns / 1e9);
	utf8_clean(head.about, strlen(head.about), false);
	if (!rc)
		rc = spool_put(to, &head, body.data, body.len);
	*bytes = body.len;
	buffer_free(&body);
	return rc;
}

static int part_send(struct pyroscope *y, enum dim dim, const struct pprof_message *m,
		     const struct buffer *pprof)
{
	size_t bytes;
	int rc = spool_request(y->to, y->labels, dim, m, pprof, &bytes);

	if (!rc) {
		y->payloads++;
		y->samples += m->n;
		y->bytes += bytes;
	}
	return rc;
}

/* Halves what is too large, until it is not. One sample alone that is, is lost and counted. */
static int part_take(struct pyroscope *y, enum dim dim, struct pprof_message m)
{
	struct buffer b = BUFFER_INIT;
	size_t half = m.n / 2;
	int rc = 0;

	if (m.n <= PYROSCOPE_SAMPLES)
		rc = pprof_message(y->p, &m, &b);
	if (!rc && m.n <= PYROSCOPE_SAMPLES && b.len <= PYROSCOPE_BYTES) {
		rc = part_send(y, dim, &m, &b);
		buffer_free(&b);
		return rc;
	}
	buffer_free(&b);
	if (rc)
		return rc;
	if (m.n < 2) {
		y->too_large += m.n;
		return 0;
	}
	rc = part_take(y, dim,
		       (struct pprof_message){.types = {m.types[0]},
					      .period_type = m.period_type,
					      .period = m.period,
					      .labels = m.labels,
					      .start_ns = m.start_ns,
					      .duration_ns = m.duration_ns,
					      .samples = m.samples,
					      .n = half});
	m.samples += half;
	m.n -= half;
	return rc ? rc : part_take(y, dim, m);
}

int pyroscope_take(void *ctx, const struct series *s)
{
	struct pyroscope *y = ctx;
	struct pprof_message m = {
		.types = {kinds[s->dim].type},
		.period_type = kinds[s->dim].type,
		.period = pprof_period(y->p, s->dim),
		.labels = PPROF_GROUP | PPROF_STATE | (y->threads ? PPROF_THREAD : 0),
		.start_ns = s->start_ns,
		.duration_ns = s->duration_ns,
		.samples = s->samples,
		.n = s->n,
	};

	return part_take(y, s->dim, m);
}

int pyroscope_probe(struct spool *to, const struct labels *labels)
{
	struct pprof_message m = {
		.types = {kinds[DIM_CPU].type},
		.period_type = kinds[DIM_CPU].type,
		.start_ns = (int64_t)clock_ns(CLOCK_REALTIME),
		.duration_ns = 1000000000,
	};
	struct profile *p = NULL;
	struct buffer b = BUFFER_INIT;
	size_t bytes;
	int rc = profile_new(&p, NULL, NULL);

	if (!rc)
		rc = pprof_message(p, &m, &b);
	if (!rc)
		rc = spool_request(to, labels, DIM_CPU, &m, &b, &bytes);
	buffer_free(&b);
	profile_free(p);
	return rc;
}
