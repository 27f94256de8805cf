/* SPDX-License-Identifier: Apache-2.0 */
#include "push/parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "out/gzip.h"

int parts_gzip(const struct buffer *b, struct buffer *to)
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

static void about_say(const struct parts *u, const struct series *s, struct payload *head)
{
	const char *service = labels_get(u->labels, "service_name");
	time_t second = (time_t)(s->start_ns / 1000000000);
	char at[32];
	struct tm tm;

	strftime(at, sizeof(at), "%H:%M:%S", localtime_r(&second, &tm));
	snprintf(head->about, sizeof(head->about), "%s of %.100s from %s, %.1f s",
		 u->protocol->names[s->dim], service ? service : "unknown_service", at,
		 (double)s->duration_ns / 1e9);
	utf8_clean(head->about, strlen(head->about), false);
}

static int part_spool(struct parts *u, const struct series *s, const struct buffer *raw)
{
	struct payload head = {
		.time_ns = s->start_ns + (int64_t)s->duration_ns,
		.raw = raw->len,
		.samples = s->n,
	};
	struct buffer body = BUFFER_INIT;
	int rc = u->protocol->pack(u, s, raw, &body);

	snprintf(head.path, sizeof(head.path), "%s", u->protocol->path);
	snprintf(head.type, sizeof(head.type), "%s", u->protocol->type);
	snprintf(head.encoding, sizeof(head.encoding), "%s", u->protocol->encoding);
	about_say(u, s, &head);
	if (!rc)
		rc = spool_put(u->to, &head, body.data, body.len);
	if (!rc) {
		u->payloads++;
		u->samples += s->n;
		u->bytes += body.len;
	}
	buffer_free(&body);
	return rc;
}

int parts_take(void *ctx, const struct series *s)
{
	struct parts *u = ctx;
	struct buffer raw = BUFFER_INIT;
	struct series half = *s;
	bool fits = s->n <= u->protocol->samples;
	int rc = 0;

	if (!u->protocol->names[s->dim])
		return 0;
	if (fits)
		rc = u->protocol->encode(u, s, &raw);
	fits = fits && raw.len <= u->protocol->bytes;
	if (!rc && fits)
		rc = part_spool(u, s, &raw);
	buffer_free(&raw);
	if (rc || fits)
		return rc;
	if (s->n < 2) {
		u->too_large += s->n;
		return 0;
	}
	series_part(s, 0, s->n / 2, &half);
	rc = parts_take(u, &half);
	series_part(s, s->n / 2, s->n, &half);
	return rc ? rc : parts_take(u, &half);
}

int parts_probe(struct parts *u)
{
	struct series s = {
		.start_ns = (int64_t)clock_ns(CLOCK_REALTIME) - 1000000000,
		.duration_ns = 1000000000,
	};
	struct profile *p = NULL;
	int rc = profile_new(&p, NULL, NULL);

	u->p = p;
	if (!rc)
		rc = parts_take(u, &s);
	profile_free(p);
	u->p = NULL;
	return rc;
}
