/* SPDX-License-Identifier: Apache-2.0 */
#include "out/vitals.h"

#include <string.h>

#include "base/buffer.h"
#include "jfr/read.h"
#include "out/format.h"

#define FIELDS_MAX 40

struct fields {
	struct jfr_reader *r;
	const struct jfr_class *cls;
	const struct jfr_event *ev;
	struct jfr_value v[FIELDS_MAX];
	int n;
};

/* ---- reading ----------------------------------------------------------------------------------
 */

static const struct jfr_value *field(const struct fields *f, const char *name)
{
	static const struct jfr_value none;
	int i = jfr_class_field(f->cls, name);

	return i >= 0 && i < f->n ? &f->v[i] : &none;
}

static uint64_t number(const struct fields *f, const char *name)
{
	int64_t v = field(f, name)->i;

	return v > 0 ? (uint64_t)v : 0;
}

/* A span, which the JDK writes in ticks of its own. */
static uint64_t span(const struct fields *f, const char *name)
{
	const struct jfr_value *v = field(f, name);
	int64_t ns = v->i;

	if (v->field && v->field->unit == JFR_UNIT_TICKS)
		ns = jfr_ticks_span(f->r, ns);
	return ns > 0 ? (uint64_t)ns : 0;
}

static uint64_t start(const struct fields *f)
{
	int64_t ns = jfr_ticks_time(f->r, field(f, "startTime")->i);

	return ns > 0 ? (uint64_t)ns : 0;
}

static void text(const struct fields *f, const char *name, char *to, size_t size)
{
	struct buffer b = BUFFER_INIT;
	size_t n = 0;

	if (jfr_value_string(f->r, field(f, name), &b))
		n = b.len < size ? b.len : size - 1;
	while (n && n < b.len && (b.data[n] & 0xc0) == 0x80) /* not within a character */
		n--;
	if (n)
		memcpy(to, b.data, n);
	to[n] = '\0';
	for (size_t i = 0; i < n; i++)
		if ((uint8_t)to[i] < ' ')
			to[i] = ' ';
	buffer_free(&b);
}

static void collection_read(struct prof_vitals *v, const struct fields *f)
{
	uint64_t pauses = span(f, "sumOfPauses");
	uint64_t longest = span(f, "longestPause");

	v->collections++;
	v->pause_ns += pauses;
	if (longest <= v->longest_ns)
		return;
	v->longest_ns = longest;
	text(f, "name", v->longest_name, sizeof(v->longest_name));
	text(f, "cause", v->longest_cause, sizeof(v->longest_cause));
}

static void unseen_read(struct prof_vitals *v, const struct fields *f)
{
	v->unseen += number(f, "collections");
	v->unseen_ns += span(f, "sumOfPauses");
}

/* A full one leaves what lives, a concurrent one's pauses do not. */
static void old_read(struct prof_vitals *v, const struct fields *f)
{
	v->full_id = number(f, "gcId");
}

static void heap_before(struct prof_vitals *v, const struct fields *f, uint64_t id, uint64_t used)
{
	v->before_id = id;
	v->before = used;
	if (!v->last_ns || id != v->last_id + 1 || start(f) <= v->last_ns || used < v->last_after)
		return;
	v->allocated += used - v->last_after;
	v->allocated_ns += start(f) - v->last_ns;
}

static void heap_read(struct prof_vitals *v, const struct fields *f)
{
	uint64_t id = number(f, "gcId"), used = number(f, "heapUsed");
	char when[16] = "";

	text(f, "when", when, sizeof(when));
	if (!strcmp(when, "Before GC")) {
		heap_before(v, f, id, used);
		return;
	}
	v->heap_after = used;
	v->last_after = used;
	v->last_id = id;
	v->last_ns = start(f);
	if (id != v->full_id)
		return;
	v->live_after = used;
	if (!v->live_first)
		v->live_first = used;
}

static void configuration_read(struct prof_vitals *v, const struct fields *f)
{
	v->heap_max = number(f, "maxSize");
}

static void classes_read(struct prof_vitals *v, const struct fields *f)
{
	v->classes = number(f, "loadedClassCount");
	v->unloaded = number(f, "unloadedClassCount");
}

static void threads_read(struct prof_vitals *v, const struct fields *f)
{
	v->threads_peak = number(f, "peakCount");
}

static void own_read(struct prof_vitals *v, const struct fields *f)
{
	v->period_ns += span(f, "period");
	v->safepoints += number(f, "safepoints");
	v->safepoint_ns += span(f, "safepointTime");
	v->to_safepoint_ns += span(f, "timeToSafepoint");
	v->throttled_ns += span(f, "throttledTime");
	v->major_faults += number(f, "majorFaults");
	v->io_wait_ns += span(f, "ioWaitTime");
	v->oom_kills += number(f, "oomKills");
	v->limit_hits += number(f, "memoryLimitHits");
	v->group_memory = number(f, "groupMemory");
	v->group_memory_limit = number(f, "groupMemoryLimit");
}

void vitals_event(struct prof_vitals *v, struct jfr_reader *r, const struct jfr_event *ev)
{
	static const struct {
		const char *name;
		void (*read)(struct prof_vitals *v, const struct fields *f);
	} readers[] = {
		{"jdk.GarbageCollection", collection_read},
		{"jdk.OldGarbageCollection", old_read},
		{"jdk.GCHeapSummary", heap_read},
		{"jdk.GCHeapConfiguration", configuration_read},
		{"jdk.ClassLoadingStatistics", classes_read},
		{"jdk.JavaThreadStatistics", threads_read},
		{"gnomon.Vitals", own_read},
		{"gnomon.CollectionsUnseen", unseen_read},
	};

	for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++) {
		struct fields f = {.r = r, .cls = ev->cls, .ev = ev};

		if (strcmp(ev->cls->name, readers[i].name))
			continue;
		f.n = jfr_event_fields(r, ev, f.v, FIELDS_MAX);
		if (f.n > 0)
			readers[i].read(v, &f);
		return;
	}
}

/* ---- in words ---------------------------------------------------------------------------------
 */

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
	if (v->live_after) {
		fprintf(f, "%s%s after the last full one", sep, format_bytes(v->live_after).s);
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
	compare_line("throttled", format_ns(v[0].throttled_ns), format_ns(v[1].throttled_ns), f);
}
