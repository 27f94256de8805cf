/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes and bands as the page has them: page/lanes.js tells their form. */
#include "out/html_int.h"

static const struct lane {
	const char *name, *unit, *more;
	double scale; /* of a value in that unit */
	struct {
		const char *name, *kind;
		enum lane_line line;
	} lines[2];
	int n;
} known[] = {
	{"CPU load",
	 "%",
	 ",\"max\":100",
	 1,
	 {{"JVM", "period", LINE_CPU_JVM}, {"machine", "period", LINE_CPU_MACHINE}},
	 2},
	{"heap",
	 "MB",
	 "",
	 1e-6,
	 {{"used", "area", LINE_HEAP_USED}, {"committed", "step", LINE_HEAP_COMMITTED}},
	 2},
	{"Java threads", "threads", "", 1, {{"", "step", LINE_THREADS}}, 1},
	{"throttled", "CPUs", "", 1, {{"", "period", LINE_THROTTLED}}, 1},
};

static void line_write(const struct lane *lane, int i, const struct lane_values *s, FILE *f)
{
	fprintf(f, "{\"name\":\"%s\",\"kind\":\"%s\",\"points\":[", lane->lines[i].name,
		lane->lines[i].kind);
	for (size_t k = 0; k < s->n; k++)
		fprintf(f, "%s[%lld,%.6g]", k ? "," : "", (long long)s->v[k].at_ns / 1000,
			s->v[k].value * lane->scale);
	fprintf(f, "]}");
}

static bool lane_write(const struct lane *lane, const struct lanes *l, bool first, FILE *f)
{
	const char *sep = "";

	if (!l->lines[lane->lines[0].line].n)
		return false;
	fprintf(f, "%s{\"name\":\"%s\",\"unit\":\"%s\"%s,\"lines\":[", first ? "" : ",", lane->name,
		lane->unit, lane->more);
	for (int i = 0; i < lane->n; i++) {
		if (!l->lines[lane->lines[i].line].n)
			continue;
		fprintf(f, "%s", sep);
		line_write(lane, i, &l->lines[lane->lines[i].line], f);
		sep = ",";
	}
	fprintf(f, "]}");
	return true;
}

static void bands_write(const struct lanes *l, FILE *f)
{
	for (size_t i = 0; i < l->npauses; i++) {
		const struct lane_pause *p = &l->pauses[i];

		fprintf(f, "%s{\"name\":\"GC\",\"from_us\":%.3f,\"to_us\":%.3f,", i ? "," : "",
			(double)p->from_ns / 1000, (double)p->to_ns / 1000);
		html_field("text", lanes_collection(l, p->gc_id), f);
		fprintf(f, "}");
	}
}

void html_lanes(const struct lanes *l, uint64_t unseen, FILE *f)
{
	bool first = true;

	fprintf(f, ",\"lanes\":[");
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (lane_write(&known[i], l, first, f))
			first = false;
	fprintf(f, "],\"bands\":[");
	bands_write(l, f);
	fprintf(f, "],\"bands_missing\":%llu", (unsigned long long)(l->short_pauses + unseen));
}
