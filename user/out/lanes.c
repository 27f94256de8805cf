/* SPDX-License-Identifier: Apache-2.0 */
#include "out/lanes.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "out/fields.h"

void lanes_init(struct lanes *l, uint64_t from_ns, uint64_t to_ns)
{
	*l = (struct lanes){.least_ns = -1};
	l->from_ns = from_ns < INT64_MAX ? (int64_t)from_ns : INT64_MAX;
	l->to_ns = to_ns && to_ns < INT64_MAX ? (int64_t)to_ns : INT64_MAX;
}

void lanes_free(struct lanes *l)
{
	for (int i = 0; i < LANE_LINES; i++)
		free(l->lines[i].v);
	for (size_t i = 0; i < l->ncollections; i++)
		free(l->collections[i].text);
	free(l->collections);
	free(l->pauses);
	*l = (struct lanes){0};
}

/* ---- lines ------------------------------------------------------------------------------------
 */

static int by_time(const void *a, const void *b)
{
	const struct lane_point *x = a, *y = b;

	return (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns);
}

#define THIN_PARTS (LANE_POINTS / 4)

/* Of the points from a to b the lowest and the highest, in order, go to `to`; how many these are.
 */
static size_t part_thin(const struct lane_point *a, const struct lane_point *b,
			struct lane_point *to)
{
	const struct lane_point *low = a, *high = a;
	struct lane_point first, second;
	uint64_t stands_for = 0;

	for (const struct lane_point *p = a; p < b; p++) {
		stands_for += p->stands_for;
		low = p->value < low->value ? p : low;
		high = p->value >= high->value ? p : high; /* of equal ones the last */
	}
	first = low < high ? *low : *high;
	second = low < high ? *high : *low;
	to[0] = first;
	to[0].stands_for = stands_for;
	if (low == high)
		return 1;
	to[0].stands_for -= stands_for / 2;
	to[1] = second;
	to[1].stands_for = stands_for / 2;
	return 2;
}

/*
 * As many values as there were in each part, so that no time is thinner than another, however often
 * this was done.
 */
static void points_thin(struct lane_values *s)
{
	uint64_t all = 0, sum = 0;
	size_t n = 0, from = 0;

	qsort(s->v, s->n, sizeof(*s->v), by_time);
	for (size_t i = 0; i < s->n; i++)
		all += s->v[i].stands_for;
	for (size_t i = 0; i < s->n; i++) {
		sum += s->v[i].stands_for;
		if (sum < all / THIN_PARTS && i + 1 < s->n)
			continue;
		n += part_thin(s->v + from, s->v + i + 1, s->v + n); /* n <= from */
		from = i + 1;
		sum = 0;
	}
	s->n = n;
}

static int point_add(struct lanes *l, enum lane_line line, int64_t at, double value)
{
	struct lane_values *s = &l->lines[line];
	struct lane_point p = {.at_ns = at, .value = value, .stands_for = 1};

	if (!isfinite(value) || value < 0)
		return 0;
	if (!s->v) /* with room for those beside */
		s->v = malloc((LANE_POINTS + 2) * sizeof(*s->v));
	if (!s->v)
		return -ENOMEM;
	if (at < l->from_ns) {
		if (!s->has_before || at >= s->before.at_ns)
			s->before = p;
		s->has_before = true;
		return 0;
	}
	if (at > l->to_ns) {
		if (!s->has_after || at < s->after.at_ns)
			s->after = p;
		s->has_after = true;
		return 0;
	}
	if (s->n == LANE_POINTS)
		points_thin(s);
	s->v[s->n++] = p;
	return 0;
}

static void line_finish(struct lane_values *s)
{
	if (s->has_before)
		s->v[s->n++] = s->before;
	if (s->has_after)
		s->v[s->n++] = s->after;
	if (s->n)
		qsort(s->v, s->n, sizeof(*s->v), by_time);
}

/* ---- pauses -----------------------------------------------------------------------------------
 */

static int longest_first(const void *a, const void *b)
{
	const struct lane_pause *x = a, *y = b;
	int64_t m = x->to_ns - x->from_ns, n = y->to_ns - y->from_ns;

	return (m < n) - (m > n);
}

static int by_start(const void *a, const void *b)
{
	const struct lane_pause *x = a, *y = b;

	return (x->from_ns > y->from_ns) - (x->from_ns < y->from_ns);
}

static void pause_leave(struct lanes *l, int64_t ns)
{
	l->short_pauses++;
	l->short_ns += (uint64_t)ns;
}

/* The longer half stays, and of those to come what is longer than the others. */
static void pauses_cut(struct lanes *l)
{
	const size_t keep = LANE_PAUSES / 2;

	qsort(l->pauses, l->npauses, sizeof(*l->pauses), longest_first);
	l->least_ns = l->pauses[keep].to_ns - l->pauses[keep].from_ns;
	for (size_t i = keep; i < l->npauses; i++)
		pause_leave(l, l->pauses[i].to_ns - l->pauses[i].from_ns);
	l->npauses = keep;
}

static int pause_add(struct lanes *l, int64_t from, uint64_t ns, uint64_t gc_id)
{
	struct lane_pause p = {.from_ns = from < 0 ? 0 : from, .gc_id = gc_id};

	if (__builtin_add_overflow(from, ns, &p.to_ns))
		p.to_ns = INT64_MAX;
	if (p.to_ns < l->from_ns || p.from_ns > l->to_ns || p.to_ns < p.from_ns)
		return 0;
	if (l->npauses == LANE_PAUSES)
		pauses_cut(l);
	if (p.to_ns - p.from_ns <= l->least_ns) {
		pause_leave(l, p.to_ns - p.from_ns);
		return 0;
	}
	if (!l->pauses)
		l->pauses = malloc(LANE_PAUSES * sizeof(*l->pauses));
	if (!l->pauses)
		return -ENOMEM;
	l->pauses[l->npauses++] = p;
	return 0;
}

/* ---- what was collected, and why --------------------------------------------------------------
 */

static int by_id(const void *a, const void *b)
{
	const struct lane_collection *x = a, *y = b;

	return (x->gc_id > y->gc_id) - (x->gc_id < y->gc_id);
}

const char *lanes_collection(const struct lanes *l, uint64_t gc_id)
{
	struct lane_collection key = {.gc_id = gc_id}, *c = NULL;

	if (l->ncollections)
		c = bsearch(&key, l->collections, l->ncollections, sizeof(key), by_id);
	return c ? c->text : "";
}

/* Those behind the first so many stay without a name. */
static int collection_add(struct lanes *l, uint64_t gc_id, const char *name, const char *cause)
{
	struct lane_collection c = {.gc_id = gc_id};

	if (l->ncollections == LANE_COLLECTIONS)
		return 0;
	if (!l->collections)
		l->collections = malloc(LANE_COLLECTIONS * sizeof(*l->collections));
	if (!l->collections ||
	    asprintf(&c.text, "%s%s%s", name, *name && *cause ? ", " : "", cause) < 0)
		return -ENOMEM;
	l->collections[l->ncollections++] = c;
	return 0;
}

/* ---- events -----------------------------------------------------------------------------------
 */

static int load_read(struct lanes *l, const struct fields *f, int64_t at)
{
	double jvm = field_real(f, "jvmUser") + field_real(f, "jvmSystem");
	double machine = field_real(f, "machineTotal");
	int rc = point_add(l, LINE_CPU_JVM, at, 100 * (jvm > 1 ? 1 : jvm));

	return rc ? rc : point_add(l, LINE_CPU_MACHINE, at, 100 * (machine > 1 ? 1 : machine));
}

static int heap_read(struct lanes *l, const struct fields *f, int64_t at)
{
	struct fields space;
	int rc = point_add(l, LINE_HEAP_USED, at, (double)field_number(f, "heapUsed"));

	if (rc || !fields_within(&space, f, "heapSpace"))
		return rc;
	return point_add(l, LINE_HEAP_COMMITTED, at, (double)field_number(&space, "committedSize"));
}

static int threads_read(struct lanes *l, const struct fields *f, int64_t at)
{
	return point_add(l, LINE_THREADS, at, (double)field_number(f, "activeCount"));
}

/* Where a quota is in force: elsewhere there would be a line of zeros. */
static int own_read(struct lanes *l, const struct fields *f, int64_t at)
{
	uint64_t period = field_span(f, "period");
	char has[128];

	field_text(f, "has", has, sizeof(has));
	if (!period || !strstr(has, "throttling"))
		return 0;
	return point_add(l, LINE_THROTTLED, at,
			 (double)field_span(f, "throttledTime") / (double)period);
}

static int pause_read(struct lanes *l, const struct fields *f, int64_t at)
{
	return pause_add(l, at, field_span(f, "duration"), field_number(f, "gcId"));
}

static int collection_read(struct lanes *l, const struct fields *f, int64_t at)
{
	char name[48], cause[64];

	(void)at;
	field_text(f, "name", name, sizeof(name));
	field_text(f, "cause", cause, sizeof(cause));
	return collection_add(l, field_number(f, "gcId"), name, cause);
}

int lanes_event(struct lanes *l, struct jfr_reader *r, const struct jfr_event *ev, int64_t start_ns)
{
	static const struct {
		const char *name;
		int (*read)(struct lanes *l, const struct fields *f, int64_t at);
	} readers[] = {
		{"jdk.CPULoad", load_read},
		{"jdk.GCHeapSummary", heap_read},
		{"jdk.JavaThreadStatistics", threads_read},
		{"jdk.GCPhasePause", pause_read},
		{"jdk.GarbageCollection", collection_read},
		{"gnomon.Vitals", own_read},
	};

	for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++) {
		struct fields f;
		int64_t at;

		if (strcmp(ev->cls->name, readers[i].name))
			continue;
		if (!fields_event(&f, r, ev))
			return 0;
		if (__builtin_sub_overflow((int64_t)field_start(&f), start_ns, &at))
			return 0;
		return readers[i].read(l, &f, at);
	}
	return 0;
}

void lanes_finish(struct lanes *l)
{
	unsigned int recordings = l->recordings;

	if (recordings > 1)
		lanes_free(l);
	l->recordings = recordings;
	for (int i = 0; i < LANE_LINES; i++)
		line_finish(&l->lines[i]);
	if (l->npauses)
		qsort(l->pauses, l->npauses, sizeof(*l->pauses), by_start);
	if (l->ncollections)
		qsort(l->collections, l->ncollections, sizeof(*l->collections), by_id);
}
