/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ,"requests":{...}: endpoints, and the requests that the page tells one by one (told.h), as
 * page/requests.js takes them. Times in microseconds.
 */
#include "out/html_int.h"

#define CAUSES_TOLD 8

static void us_field(const char *name, uint64_t ns, FILE *f)
{
	fprintf(f, ",\"%s\":%llu", name, (unsigned long long)ns / 1000);
}

static void did_write(const uint64_t ns[DIDS], FILE *f)
{
	fprintf(f, ",\"did\":[");
	for (int i = 0; i < DIDS; i++)
		fprintf(f, "%s%llu", i ? "," : "", (unsigned long long)ns[i] / 1000);
	fprintf(f, "]");
}

static void causes_write(const struct served *v, const struct served_cause *c, uint32_t n, FILE *f)
{
	fprintf(f, ",\"causes\":[");
	for (uint32_t i = 0; i < n && i < CAUSES_TOLD; i++) {
		fprintf(f, "%s[", i ? "," : "");
		html_string(names_get(&v->names, c[i].name), f);
		fprintf(f, ",%d,%llu]", (int)c[i].did, (unsigned long long)c[i].ns / 1000);
	}
	fprintf(f, "]");
}

static void endpoint_write(const struct served *v, const struct served_endpoint *e, FILE *f)
{
	fprintf(f, "{");
	html_field("name", names_get(&v->contexts->names, e->name), f);
	fprintf(f, ",\"n\":%u,\"fast\":%u,\"slow\":%u", e->n, told_fast(e->n), told_slow(e->n));
	us_field("p50", served_percentile(v, e, 50), f);
	us_field("p95", served_percentile(v, e, 95), f);
	us_field("p99", served_percentile(v, e, 99), f);
	did_write(e->ns, f);
	causes_write(v, &v->endpoint_causes[e->causes], e->ncauses, f);
	fprintf(f, "}");
}

/* Those that are not told apart, as one: of these no percentiles are known. */
static void others_write(const struct served *v, FILE *f)
{
	uint64_t ns[DIDS] = {0};
	uint32_t n = 0;

	for (uint32_t i = TOLD_ENDPOINTS; i < v->nendpoints; i++) {
		n += v->endpoints[i].n;
		for (int k = 0; k < DIDS; k++)
			ns[k] += v->endpoints[i].ns[k];
	}
	fprintf(f, ",{\"name\":\"\",\"others\":%u,\"n\":%u,\"fast\":0,\"slow\":0",
		v->nendpoints - TOLD_ENDPOINTS, n);
	did_write(ns, f);
	fprintf(f, ",\"causes\":[]}");
}

static void one_write(const struct served *v, uint32_t number, int64_t start_ns, FILE *f)
{
	const struct served_request *d = &v->requests[number];
	const struct request *r = &v->contexts->requests[number];
	int64_t from;

	if (__builtin_sub_overflow(r->from_ns, start_ns, &from))
		from = 0;
	fprintf(f, ",\"from\":%lld", (long long)from / 1000);
	us_field("wall", served_wall(v, number), f);
	did_write(d->ns, f);
	fprintf(f, ",");
	html_field("trace", names_get(&v->contexts->names, r->trace), f);
	fprintf(f, ",");
	html_field("root", names_get(&v->contexts->names, r->root), f);
	fprintf(f, ",");
	html_field("thread", d->nthreads ? names_get(&v->names, d->thread) : "", f);
	fprintf(f, ",\"threads\":%u", d->nthreads);
	causes_write(v, &v->causes[d->causes], d->ncauses, f);
}

void html_requests(const struct served *v, const struct told *t, int64_t start_ns, FILE *f)
{
	fprintf(f, ",\"requests\":{\"n\":%u,\"endpoints_n\":%u", v->n, v->nendpoints);
	fprintf(f, ",\"samples\":%llu,\"nameless\":%llu,\"lost\":%llu",
		(unsigned long long)v->samples, (unsigned long long)v->nameless,
		(unsigned long long)v->contexts->lost);
	us_field("interval", v->wall_ns, f);
	fprintf(f, ",\"endpoints\":[");
	for (uint32_t i = 0; i < v->nendpoints && i < TOLD_ENDPOINTS; i++) {
		fprintf(f, "%s", i ? "," : "");
		endpoint_write(v, &v->endpoints[i], f);
	}
	if (v->nendpoints > TOLD_ENDPOINTS)
		others_write(v, f);
	fprintf(f, "],\"told\":[");
	for (uint32_t i = 0; i < t->n; i++) {
		fprintf(f, "%s{\"endpoint\":%u,\"pace\":%d", i ? "," : "", t->v[i].endpoint,
			(int)t->v[i].pace);
		if (t->v[i].request != CONTEXT_NONE)
			one_write(v, t->v[i].request, start_ns, f);
		fprintf(f, "}");
	}
	fprintf(f, "]}");
}
