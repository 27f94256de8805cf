/* SPDX-License-Identifier: Apache-2.0 */
#include "out/vitals.h"

#include <string.h>

#include "jfr/read.h"
#include "out/fields.h"
#include "out/format.h"

/* ---- reading ----------------------------------------------------------------------------------
 */

static void collection_read(struct prof_vitals *v, const struct fields *f)
{
	uint64_t pauses = field_span(f, "sumOfPauses");
	uint64_t longest = field_span(f, "longestPause");
	char name[48];

	field_text(f, "name", name, sizeof(name));
	live_collection(&v->live, field_number(f, "gcId"), name);
	v->collections++;
	v->pause_ns += pauses;
	if (longest <= v->longest_ns)
		return;
	v->longest_ns = longest;
	memcpy(v->longest_name, name, sizeof(v->longest_name));
	field_text(f, "cause", v->longest_cause, sizeof(v->longest_cause));
}

/* As many of them, and of their time, as the part of the period that lies in the recording. */
static uint64_t part_within(const struct fields *f, uint64_t of)
{
	uint64_t period = field_span(f, "period"), late = field_span(f, "late");

	if (!late || !period)
		return of;
	return late < period ? (uint64_t)((double)of * (double)(period - late) / (double)period)
			     : 0;
}

static void unseen_read(struct prof_vitals *v, const struct fields *f)
{
	v->unseen += part_within(f, field_number(f, "collections"));
	v->unseen_ns += part_within(f, field_span(f, "sumOfPauses"));
}

static void heap_before(struct prof_vitals *v, const struct fields *f, uint64_t id, uint64_t used)
{
	v->before_id = id;
	v->before = used;
	if (!v->last_ns || id != v->last_id + 1 || field_start(f) <= v->last_ns ||
	    used < v->last_after)
		return;
	v->allocated += used - v->last_after;
	v->allocated_ns += field_start(f) - v->last_ns;
}

static void heap_read(struct prof_vitals *v, const struct fields *f)
{
	uint64_t id = field_number(f, "gcId"), used = field_number(f, "heapUsed");
	char when[16] = "";

	field_text(f, "when", when, sizeof(when));
	if (!strcmp(when, "Before GC")) {
		heap_before(v, f, id, used);
		return;
	}
	v->heap_after = used;
	v->last_after = used;
	v->last_id = id;
	v->last_ns = field_start(f);
	live_after(&v->live, id, field_start(f), used);
}

static void configuration_read(struct prof_vitals *v, const struct fields *f)
{
	v->heap_max = field_number(f, "maxSize");
}

static void young_read(struct prof_vitals *v, const struct fields *f)
{
	v->young_max = field_number(f, "maxSize");
}

static void collectors_read(struct prof_vitals *v, const struct fields *f)
{
	field_text(f, "oldCollector", v->old_collector, sizeof(v->old_collector));
}

static void classes_read(struct prof_vitals *v, const struct fields *f)
{
	v->classes = field_number(f, "loadedClassCount");
	v->unloaded = field_number(f, "unloadedClassCount");
}

static void threads_read(struct prof_vitals *v, const struct fields *f)
{
	v->threads_peak = field_number(f, "peakCount");
}

static void own_read(struct prof_vitals *v, const struct fields *f)
{
	v->period_ns += field_span(f, "period");
	v->safepoints += field_number(f, "safepoints");
	v->safepoint_ns += field_span(f, "safepointTime");
	v->to_safepoint_ns += field_span(f, "timeToSafepoint");
	v->throttled_ns += field_span(f, "throttledTime");
	v->major_faults += field_number(f, "majorFaults");
	v->io_wait_ns += field_span(f, "ioWaitTime");
	v->oom_kills += field_number(f, "oomKills");
	v->limit_hits += field_number(f, "memoryLimitHits");
	v->group_memory = field_number(f, "groupMemory");
	v->group_memory_limit = field_number(f, "groupMemoryLimit");
	v->code_used = field_number(f, "codeCacheUsed");
	v->code_max = field_number(f, "codeCacheMax");
}

void vitals_event(struct prof_vitals *v, struct jfr_reader *r, const struct jfr_event *ev)
{
	static const struct {
		const char *name;
		void (*read)(struct prof_vitals *v, const struct fields *f);
	} readers[] = {
		{"jdk.GarbageCollection", collection_read},
		{"jdk.GCHeapSummary", heap_read},
		{"jdk.GCHeapConfiguration", configuration_read},
		{"jdk.YoungGenerationConfiguration", young_read},
		{"jdk.GCConfiguration", collectors_read},
		{"jdk.ClassLoadingStatistics", classes_read},
		{"jdk.JavaThreadStatistics", threads_read},
		{"gnomon.Vitals", own_read},
		{"gnomon.CollectionsUnseen", unseen_read},
	};

	for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++) {
		struct fields f;

		if (strcmp(ev->cls->name, readers[i].name))
			continue;
		if (fields_event(&f, r, ev))
			readers[i].read(v, &f);
		return;
	}
}

/* ---- in words ---------------------------------------------------------------------------------
 */

/* G1 may use all of the heap for what is old; these two have a place for it. */
uint64_t vitals_live_max(const struct prof_vitals *v)
{
	bool apart =
		!strcmp(v->old_collector, "SerialOld") || !strcmp(v->old_collector, "ParallelOld");

	return apart && v->young_max < v->heap_max ? v->heap_max - v->young_max : v->heap_max;
}

uint64_t vitals_pause_ns(const struct prof_vitals *v)
{
	return v->pause_ns + v->unseen_ns;
}

static void collections_line(const struct prof_vitals *v, uint64_t recorded_ns, FILE *f)
{
	uint64_t n = v->collections + v->unseen;

	if (!n)
		return;
	fprintf(f, "  GC        %s in %s pause%s of %s in all",
		format_share(vitals_pause_ns(v), recorded_ns).s, format_count(n).s,
		n == 1 ? "" : "s", format_ns(vitals_pause_ns(v)).s);
	if (v->longest_ns)
		fprintf(f, "; longest %s, %s, %s", format_ns(v->longest_ns).s, v->longest_name,
			v->longest_cause);
	fprintf(f, "\n");
	if (v->unseen)
		fprintf(f,
			"            %s of these came between two looks: counted, not timed one by "
			"one\n",
			format_count(v->unseen).s);
}

static uint64_t rate(const struct prof_vitals *v)
{
	return v->allocated_ns ? (uint64_t)((double)v->allocated * 1e9 / (double)v->allocated_ns)
			       : 0;
}

static void heap_line(const struct prof_vitals *v, FILE *f)
{
	const char *sep = "  heap      ";

	if (v->heap_after) {
		fprintf(f, "%s%s after the last collection", sep, format_bytes(v->heap_after).s);
		sep = ", ";
	}
	if (v->live.all) {
		fprintf(f, "%s%s left by the last old one", sep,
			format_bytes(v->live.last.bytes).s);
		sep = ", ";
	}
	if (*sep == ',' && v->heap_max) {
		fprintf(f, "%s%s at most", sep, format_bytes(v->heap_max).s);
	}
	if (rate(v)) {
		fprintf(f, "%s%s allocated a second", sep, format_bytes(rate(v)).s);
		sep = ", ";
	}
	if (*sep == ',')
		fprintf(f, "\n");
}

static void safepoint_line(const struct prof_vitals *v, FILE *f)
{
	if (v->safepoints)
		fprintf(f, "  stopped   %s in %s safepoints (%s), %s more until all had stopped\n",
			format_share(v->safepoint_ns, v->period_ns).s,
			format_count(v->safepoints).s, format_ns(v->safepoint_ns).s,
			format_ns(v->to_safepoint_ns).s);
}

static void process_line(const struct prof_vitals *v, FILE *f)
{
	if (v->classes)
		fprintf(f, "  classes   %s loaded, %s unloaded; %s threads at most\n",
			format_count(v->classes).s, format_count(v->unloaded).s,
			format_count(v->threads_peak).s);
	if (v->code_max)
		fprintf(f, "  code      %s of compiled code, %s at most\n",
			format_bytes(v->code_used).s, format_bytes(v->code_max).s);
	if (v->throttled_ns || v->oom_kills || v->limit_hits)
		fprintf(f,
			"  container throttled for %s, memory limit reached %s times, %s killed\n",
			format_ns(v->throttled_ns).s, format_count(v->limit_hits).s,
			format_count(v->oom_kills).s);
	if (v->major_faults || v->io_wait_ns)
		fprintf(f,
			"  storage   %s page faults read from it, its threads waited %s for it\n",
			format_count(v->major_faults).s, format_ns(v->io_wait_ns).s);
}

void vitals_print(const struct prof_vitals *v, uint64_t recorded_ns, FILE *f)
{
	collections_line(v, recorded_ns, f);
	heap_line(v, f);
	safepoint_line(v, f);
	process_line(v, f);
}

/* ---- two of them ------------------------------------------------------------------------------
 */

static void compare_line(const char *what, struct text32 a, struct text32 b, FILE *f)
{
	fprintf(f, "  %-28s %12s %12s\n", what, a.s, b.s);
}

void vitals_compare(const struct prof_vitals v[2], const uint64_t recorded_ns[2], FILE *f)
{
	if (!v[0].period_ns && !v[1].period_ns && !v[0].collections && !v[1].collections)
		return;
	fprintf(f, "\n  %-28s %12s %12s\n", "", "A", "B");
	compare_line("in collections", format_share(vitals_pause_ns(&v[0]), recorded_ns[0]),
		     format_share(vitals_pause_ns(&v[1]), recorded_ns[1]), f);
	compare_line("collections", format_count(v[0].collections + v[0].unseen),
		     format_count(v[1].collections + v[1].unseen), f);
	compare_line("longest pause", format_ns(v[0].longest_ns), format_ns(v[1].longest_ns), f);
	compare_line("heap after the last one", format_bytes(v[0].heap_after),
		     format_bytes(v[1].heap_after), f);
	compare_line("allocated a second", format_bytes(rate(&v[0])), format_bytes(rate(&v[1])), f);
	compare_line("in safepoints", format_share(v[0].safepoint_ns, v[0].period_ns),
		     format_share(v[1].safepoint_ns, v[1].period_ns), f);
	if (v[0].code_max || v[1].code_max)
		compare_line("compiled code", format_bytes(v[0].code_used),
			     format_bytes(v[1].code_used), f);
	compare_line("throttled", format_ns(v[0].throttled_ns), format_ns(v[1].throttled_ns), f);
}
