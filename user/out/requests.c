// SPDX-License-Identifier: Apache-2.0
#include "out/requests.h"

#include <string.h>
#include <time.h>

#include "base/json.h"
#include "out/format.h"
#include "out/served.h"

#define CAUSES_TOLD 3

static const char *name_or(const struct names *t, uint32_t name, const char *other)
{
	const char *s = names_get(t, name);

	return *s ? s : other;
}

/* ---- in words ---- */

/* The most of what was waited for, with its share of all of the time. */
static void causes_print(const struct served *v, const struct served_cause *c, uint32_t n,
			 uint64_t all, FILE *out)
{
	for (uint32_t i = 0; i < n && i < CAUSES_TOLD; i++) {
		struct text32 share = format_share(c[i].ns, all);

		fprintf(out, "%s%s %s", i ? ", " : "  ", names_get(&v->names, c[i].name),
			share.s + strspn(share.s, " "));
	}
}

static void shares_print(const uint64_t ns[DIDS], FILE *out)
{
	for (int i = 0; i < DIDS; i++)
		fprintf(out, " %8s", format_share(ns[i], did_all(ns)).s);
}

static void endpoints_print(const struct served *v, FILE *out)
{
	fprintf(out, "\n%8s %9s %9s %9s %9s %8s %8s %8s %8s  %s\n", "REQUESTS", "P50", "P95", "P99",
		"CPU", "RUNNING", "QUEUED", "BLOCKED", "WAITING", "ENDPOINT, WHAT IT WAITS FOR");
	for (uint32_t i = 0; i < v->nendpoints; i++) {
		const struct served_endpoint *e = &v->endpoints[i];

		fprintf(out, "%8s %9s %9s %9s %9s", format_count(e->n).s,
			format_ns(served_percentile(v, e, 50)).s,
			format_ns(served_percentile(v, e, 95)).s,
			format_ns(served_percentile(v, e, 99)).s, format_ns(e->ns[DID_RUN]).s);
		shares_print(e->ns, out);
		fprintf(out, "  %s", name_or(&v->contexts->names, e->name, "(no name)"));
		causes_print(v, &v->endpoint_causes[e->causes], e->ncauses, did_all(e->ns), out);
		putc('\n', out);
	}
}

static void clock_print(int64_t ns, char to[32])
{
	time_t seconds = (time_t)(ns / 1000000000);
	struct tm tm = {0};
	size_t n;

	localtime_r(&seconds, &tm);
	n = strftime(to, 24, "%H:%M:%S", &tm);
	snprintf(to + n, 32 - n, ".%03d", (int)(ns % 1000000000 / 1000000));
}

static void request_print(const struct served *v, uint32_t number, FILE *out)
{
	const struct served_request *d = &v->requests[number];
	const struct request *r = &v->contexts->requests[number];
	const struct names *t = &v->contexts->names;
	char began[32];

	clock_print(r->from_ns, began);
	fprintf(out, "%9s %12s", format_ns(served_wall(v, number)).s, began);
	shares_print(d->ns, out);
	fprintf(out, "  %-32s %-16s  ", name_or(t, r->trace, "-"), name_or(t, r->root, "-"));
	if (d->nthreads)
		fprintf(out, "%s", name_or(&v->names, d->thread, "-"));
	if (d->nthreads > 1)
		fprintf(out, " and %u more", d->nthreads - 1);
	fprintf(out, "  %s", name_or(t, r->endpoint, "(no name)"));
	causes_print(v, &v->causes[d->causes], d->ncauses, did_all(d->ns), out);
	putc('\n', out);
}

static void slowest_print(const struct served *v, uint32_t n, FILE *out)
{
	if (!n)
		return;
	fprintf(out, "\nThe slowest:\n%9s %12s %8s %8s %8s %8s  %-32s %-16s  %s\n", "WALL", "BEGAN",
		"RUNNING", "QUEUED", "BLOCKED", "WAITING", "TRACE", "LOCAL ROOT SPAN",
		"THREAD, ENDPOINT, WHAT IT WAITED FOR");
	for (uint32_t i = 0; i < n; i++)
		request_print(v, v->slowest[i], out);
}

static void words_print(const struct served *v, uint32_t slowest, FILE *out)
{
	fprintf(out, "%s requests to %s endpoints were seen, by %s samples.\n",
		format_count(v->n).s, format_count(v->nendpoints).s, format_count(v->samples).s);
	if (v->wall_ns)
		fprintf(out,
			"Wall times are right to %s; of requests that are shorter, some were not "
			"seen.\n",
			format_ns(v->wall_ns).s);
	if (v->nameless)
		fprintf(out,
			"%s samples have a context without ids: of which request is not known.\n",
			format_count(v->nameless).s);
	if (v->contexts->lost)
		fprintf(out, "Of %s samples the context was lost.\n",
			format_count(v->contexts->lost).s);
	if (!v->n)
		return;
	endpoints_print(v, out);
	slowest_print(v, slowest, out);
}

/* ---- as JSON ---- */

static void did_json(struct json *j, const uint64_t ns[DIDS])
{
	char key[16];

	for (int i = 0; i < DIDS; i++) {
		snprintf(key, sizeof(key), "%s_ns", did_names[i]);
		json_number(j, key, ns[i]);
	}
}

static void causes_json(struct json *j, const struct served *v, const struct served_cause *c,
			uint32_t n)
{
	json_open(j, "causes", '[');
	for (uint32_t i = 0; i < n; i++) {
		json_open(j, NULL, '{');
		json_string(j, "cause", names_get(&v->names, c[i].name));
		json_string(j, "while", did_names[c[i].did]);
		json_number(j, "ns", c[i].ns);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void endpoint_json(struct json *j, const struct served *v, const struct served_endpoint *e)
{
	json_open(j, NULL, '{');
	json_string(j, "endpoint", names_get(&v->contexts->names, e->name));
	json_number(j, "requests", e->n);
	json_number(j, "p50_ns", served_percentile(v, e, 50));
	json_number(j, "p95_ns", served_percentile(v, e, 95));
	json_number(j, "p99_ns", served_percentile(v, e, 99));
	did_json(j, e->ns);
	causes_json(j, v, &v->endpoint_causes[e->causes], e->ncauses);
	json_close(j, '}');
}

static void request_json(struct json *j, const struct served *v, uint32_t number)
{
	const struct served_request *d = &v->requests[number];
	const struct request *r = &v->contexts->requests[number];
	const struct names *t = &v->contexts->names;

	json_open(j, NULL, '{');
	json_string(j, "endpoint", names_get(t, r->endpoint));
	json_string(j, "trace_id", names_get(t, r->trace));
	json_string(j, "local_root_span_id", names_get(t, r->root));
	json_integer(j, "began_unix_ns", r->from_ns);
	json_number(j, "wall_ns", served_wall(v, number));
	json_string(j, "thread", d->nthreads ? names_get(&v->names, d->thread) : NULL);
	json_number(j, "threads", d->nthreads);
	did_json(j, d->ns);
	causes_json(j, v, &v->causes[d->causes], d->ncauses);
	json_close(j, '}');
}

static void json_print(const struct served *v, uint32_t slowest, FILE *out)
{
	struct json j;

	json_begin(&j, out);
	json_open(&j, NULL, '{');
	json_number(&j, "requests", v->n);
	json_number(&j, "samples", v->samples);
	json_number(&j, "samples_without_ids", v->nameless);
	json_number(&j, "samples_lost", v->contexts->lost);
	json_number(&j, "wall_interval_ns", v->wall_ns);
	json_open(&j, "endpoints", '[');
	for (uint32_t i = 0; i < v->nendpoints; i++)
		endpoint_json(&j, v, &v->endpoints[i]);
	json_close(&j, ']');
	json_open(&j, "slowest", '[');
	for (uint32_t i = 0; i < slowest; i++)
		request_json(&j, v, v->slowest[i]);
	json_close(&j, ']');
	json_close(&j, '}');
	json_end(&j);
}

int requests_print(const struct stretch *s, const struct requests_options *o, FILE *out,
		   struct error *e)
{
	struct served *v = NULL;
	uint32_t slowest;
	int rc = served_read(&v, s, &o->which, e);

	if (rc)
		return rc;
	slowest = o->slowest < v->n ? o->slowest : v->n;
	if (o->json)
		json_print(v, slowest, out);
	else
		words_print(v, slowest, out);
	served_free(v);
	return 0;
}
