/* SPDX-License-Identifier: Apache-2.0 */
#include "out/html.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "out/findings.h"
#include "out/format.h"
#include "out/html_data.h"
#include "out/html_int.h"

extern const char asset_page_html[], asset_page_html_end[];
extern const char asset_page_css[], asset_page_css_end[];
extern const char asset_page_js[], asset_page_js_end[];

/* Multiples of three bytes at a time, so that only the end is padded. */
static void base64(const uint8_t *p, size_t n, FILE *f)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char out[4096];
	size_t k = 0;

	for (size_t i = 0; i < n; i += 3) {
		uint32_t v = (uint32_t)p[i] << 16;

		v |= i + 1 < n ? (uint32_t)p[i + 1] << 8 : 0;
		v |= i + 2 < n ? p[i + 2] : 0;
		out[k++] = digits[v >> 18];
		out[k++] = digits[v >> 12 & 63];
		out[k++] = i + 1 < n ? digits[v >> 6 & 63] : '=';
		out[k++] = i + 2 < n ? digits[v & 63] : '=';
		if (k == sizeof(out)) {
			fwrite(out, 1, k, f);
			k = 0;
		}
	}
	fwrite(out, 1, k, f);
}

static int data_write(const struct profile *p, FILE *f)
{
	struct buffer b = BUFFER_INIT;
	int rc = html_data(p, &b);
	uLongf len = rc ? 0 : compressBound(b.len);
	uint8_t *z = rc ? NULL : malloc(len);

	/* level 1: within 15% of the best on such data, at a fifth of the time */
	if (!z || compress2(z, &len, b.data, b.len, 1) != Z_OK)
		rc = -ENOMEM;
	else
		base64(z, len, f);
	free(z);
	buffer_free(&b);
	return rc;
}

void html_string(const char *s, FILE *f)
{
	fputc('"', f);
	for (; *s; s++) {
		uint8_t c = (uint8_t)*s;

		if (c < ' ' || c == '<' || c == '"' || c == '\\' || c == 0x7f)
			fprintf(f, "\\u%04x", c);
		else
			fputc(c, f);
	}
	fputc('"', f);
}

void html_field(const char *name, const char *s, FILE *f)
{
	fprintf(f, "\"%s\":", name);
	html_string(s, f);
}

static void note_write(const struct profile *p, const struct html_options *o, FILE *f)
{
	struct buffer b = BUFFER_INIT;
	char share[80];
	uint64_t n = 0;

	for (int i = 0; i < JFR_SOURCES; i++)
		n += p->samples[i];
	if (o->diff)
		buffer_printf(&b, "A %s, B %s recorded", format_ns(p->side_ns[0]).s,
			      format_ns(p->side_ns[1]).s);
	else
		buffer_printf(&b, "%s recorded", format_ns(p->side_ns[0]).s);
	buffer_printf(&b, " · %s samples", format_count(n).s);
	buffer_printf(&b, " · %s threads", format_count(p->nselves).s);
	if (profile_sampled_threads(p, share, sizeof(share)))
		buffer_printf(&b, " · wall times estimated from %s", share);
	if (*p->facts.jvm_version && !o->diff)
		buffer_printf(&b, " · pid %lld", (long long)p->facts.pid);
	buffer_byte(&b, 0);
	html_field("note", b.failed ? "" : (char *)b.data, f);
	buffer_free(&b);
}

static void us_write(const uint64_t *ns, int n, FILE *f)
{
	for (int i = 0; i < n; i++)
		fprintf(f, "%s%llu", i ? "," : "[", (unsigned long long)ns[i] / 1000);
	fputc(']', f);
}

/* Of all, and of each state: what the page adds up to where nothing is left out. */
static int totals_write(const struct profile *p, FILE *f)
{
	uint64_t(*ns)[DIMS] = calloc((size_t)p->nstates + 1, sizeof(*ns)), all[DIMS];

	if (!ns)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->ncells; i++)
		for (int d = 0; d < DIMS; d++)
			if (p->cells[i].dims & 1 << d)
				ns[p->cells[i].state][d] += p->cells[i].ns;
	for (int d = 0; d < DIMS; d++)
		all[d] = p->total_ns[0][d] + p->total_ns[1][d];
	fprintf(f, ",\"totals_us\":");
	us_write(all, DIMS, f);
	fprintf(f, ",\"states_us\":[");
	for (uint32_t i = 0; i < p->nstates; i++) {
		fprintf(f, "%s", i ? "," : "");
		us_write(ns[i], DIMS, f);
	}
	fprintf(f, "]");
	free(ns);
	return 0;
}

static void findings_write(const struct findings *x, FILE *f)
{
	fprintf(f, ",");
	html_field("overview", x->overview, f);
	fprintf(f, ",");
	html_field("none", x->none, f);
	fprintf(f, ",\"findings\":[");
	for (size_t i = 0; i < x->n; i++) {
		fprintf(f, "%s{", i ? "," : "");
		html_field("kind", x->v[i].kind, f);
		fprintf(f, ",");
		html_field("text", x->v[i].text, f);
		fprintf(f, ",");
		html_field("link", x->v[i].link, f);
		fprintf(f, "}");
	}
	fprintf(f, "]");
}

static int head_write(const struct profile *p, const struct html_options *o, FILE *f)
{
	uint32_t idle = profile_idle_state(p);
	struct findings *found = NULL;
	int rc = 0;

	fprintf(f, "{");
	html_field("title", o->title, f);
	fprintf(f, ",");
	note_write(p, o, f);
	fprintf(f, ",\"dims\":[\"cpu\",\"wall\",\"off\"]");
	rc = totals_write(p, f);
	if (!rc && !o->diff)
		rc = findings_new(&found, p, NULL);
	if (found)
		findings_write(found, f);
	findings_free(found);
	fprintf(f,
		",\"first\":%d,\"duration_us\":%llu,\"from_us\":%llu,\"to_us\":%llu,\"time_unit_"
		"us\":%llu,\"diff\":%s,\"idle\":%d,"
		"\"show_idle\":%s,\"periods_us\":",
		o->first, (unsigned long long)profile_recorded_ns(p) / 1000,
		(unsigned long long)p->from_ns / 1000, (unsigned long long)p->to_ns / 1000,
		(unsigned long long)html_time_unit_us(p), o->diff ? "true" : "false",
		idle == NODE_NONE ? -1 : (int)idle, o->idle ? "true" : "false");
	us_write(p->period_ns, JFR_SOURCES, f);
	html_lanes(&p->lanes, p->lanes.recordings == 1 ? p->vitals[0].unseen : 0, f);
	if (o->served && p->opt.told)
		html_requests(o->served, p->opt.told, p->start_ns, f);
	fprintf(f, "}");
	return rc;
}

static void asset_write(const char *from, const char *end, FILE *f)
{
	fwrite(from, 1, (size_t)(end - from), f);
}

int html_write(const struct profile *p, const struct html_options *o, FILE *f, struct error *e)
{
	const char *at = asset_page_html, *mark;
	int rc = 0;

	/* the template is ours, and ends with a NUL */
	while (!rc && (mark = strstr(at, "@@"))) {
		asset_write(at, mark, f);
		if (!strncmp(mark, "@@CSS@@", 7))
			asset_write(asset_page_css, asset_page_css_end, f);
		else if (!strncmp(mark, "@@JS@@", 6))
			asset_write(asset_page_js, asset_page_js_end, f);
		else if (!strncmp(mark, "@@HEAD@@", 8))
			rc = head_write(p, o, f);
		else
			rc = data_write(p, f);
		at = strstr(mark + 2, "@@") + 2;
	}
	fputs(at, f);
	return rc ? error_set(e, rc, EXIT_INTERNAL, "out of memory") : 0;
}
