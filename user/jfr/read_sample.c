/* SPDX-License-Identifier: Apache-2.0 */
#include "jfr/read_sample.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "jfr/read_rates.h"
#include "jfr/read_reservoir.h"

#define FIELDS_MAX 16

/* async-profiler's defaults */
#define ASYNC_CPU_NS  10000000u
#define ASYNC_WALL_NS 50000000u

/* Where the fields of one kind of event lie in this chunk; cls NULL when there is none. */
struct binding {
	const struct jfr_class *cls;
	int thread, stack, state, samples, span, period, failed;
};

struct jfr_sampler {
	struct jfr_reader *r;
	bool batches;
	uint64_t chunk;
	struct binding bind[JFR_SOURCES];
	const struct jfr_class *setting;
	int set_id, set_name, set_value;
	const struct jfr_class *choice; /* gnomon.ThreadReservoir */
	int choice_eligible, choice_sampled;
	bool choice_seen; /* in this chunk */
	struct reservoir reservoir;
	const struct jfr_class *rate; /* gnomon.RateChange */
	int rate_cpu;
	struct jfr_rates rates; /* of this chunk */
	enum jfr_unmounted unmounted;
	struct binding others; /* gnomon.UnmountedThreads */
	int others_threads;
	uint64_t period[JFR_SOURCES];
	bool event_cpu, event_wall; /* what async-profiler's "interval" is of */
	struct jfr_event ev;	    /* being handed out in parts */
	struct jfr_sample left;
};

static const char *const event_names[JFR_SOURCES] = {
	[JFR_SOURCE_EXECUTION] = "jdk.ExecutionSample",
	[JFR_SOURCE_NATIVE] = "jdk.NativeMethodSample",
	[JFR_SOURCE_CPU_TIME] = "jdk.CPUTimeSample",
	[JFR_SOURCE_WALL] = "profiler.WallClockSample",
};

struct jfr_sampler *jfr_sampler_new(struct jfr_reader *r, bool batches)
{
	struct jfr_sampler *s = calloc(1, sizeof(*s));

	if (s) {
		s->r = r;
		s->batches = batches;
	}
	return s;
}

void jfr_sampler_free(struct jfr_sampler *s)
{
	if (s)
		reservoir_free(&s->reservoir);
	if (s)
		rate_changes_free(&s->rates);
	free(s);
}

void jfr_sampler_unmounted(struct jfr_sampler *s, enum jfr_unmounted which)
{
	s->unmounted = which;
}

static int field_at(const struct jfr_class *c, const char *a, const char *b)
{
	int i = jfr_class_field(c, a);

	if (i < 0 && b)
		i = jfr_class_field(c, b);
	return i < FIELDS_MAX ? i : -1;
}

static void unmounted_bind(struct jfr_sampler *s)
{
	const struct jfr_class *c = jfr_class_find(s->r, "gnomon.UnmountedThreads");

	s->others = (struct binding){
		.cls = c,
		.thread = -1,
		.stack = field_at(c, "stackTrace", NULL),
		.state = field_at(c, "state", NULL),
		.samples = -1,
		.span = -1,
		.period = field_at(c, "period", NULL),
		.failed = -1,
	};
	s->others_threads = field_at(c, "threads", NULL);
}

static void chunk_bind(struct jfr_sampler *s)
{
	for (int i = 0; i < JFR_SOURCES; i++) {
		const struct jfr_class *c = jfr_class_find(s->r, event_names[i]);

		s->bind[i] = (struct binding){
			.cls = c,
			.thread = field_at(c, "sampledThread", "eventThread"),
			.stack = field_at(c, "stackTrace", NULL),
			.state = field_at(c, "state", NULL),
			.samples = field_at(c, "samples", NULL),
			.span = field_at(c, "timeSpan", NULL),
			.period = field_at(c, "samplingPeriod", NULL),
			.failed = field_at(c, "failed", NULL),
		};
	}
	s->setting = jfr_class_find(s->r, "jdk.ActiveSetting");
	s->set_id = field_at(s->setting, "id", NULL);
	s->set_name = field_at(s->setting, "name", NULL);
	s->set_value = field_at(s->setting, "value", NULL);
	s->choice = jfr_class_find(s->r, "gnomon.ThreadReservoir");
	s->choice_eligible = field_at(s->choice, "eligible", NULL);
	s->choice_sampled = field_at(s->choice, "sampled", NULL);
	s->choice_seen = false;
	s->rate = jfr_class_find(s->r, "gnomon.RateChange");
	s->rate_cpu = field_at(s->rate, "cpuInterval", NULL);
	rate_changes_begin(&s->rates);
	unmounted_bind(s);
}

/* "20 ms", "10ms" or plain nanoseconds; 0 for anything else, such as "everyChunk". */
static uint64_t period_parse(const char *t)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{"", 1},	   {"ns", 1},	       {"us", 1000},	     {"ms", 1000000},
		{"s", 1000000000}, {"m", 60000000000}, {"h", 3600000000000},
	};
	unsigned long long v;
	uint64_t ns;
	char *end;

	if (*t < '0' || *t > '9')
		return 0;
	v = strtoull(t, &end, 10);
	end += strspn(end, " ");
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(end, units[i].name) && !__builtin_mul_overflow(v, units[i].ns, &ns))
			return ns;
	return 0;
}

/*
 * async-profiler hangs its own settings on one type: the name alone says what is meant. Its
 * "interval" is that of the "event", which is written before it; 0 is what it was given, and means
 * its own default (src/engine.h, src/wallClock.cpp). Of other events it counts no time.
 */
static void event_apply(struct jfr_sampler *s, const char *value)
{
	s->event_wall = !strcmp(value, "wall");
	s->event_cpu =
		!strcmp(value, "cpu") || !strcmp(value, "itimer") || !strcmp(value, "ctimer");
}

static void interval_apply(struct jfr_sampler *s, uint64_t ns)
{
	if (!ns)
		ns = s->event_wall ? ASYNC_WALL_NS : s->event_cpu ? ASYNC_CPU_NS : 0;
	s->period[JFR_SOURCE_EXECUTION] = ns;
	if (s->event_wall)
		s->period[JFR_SOURCE_WALL] = ns;
}

static void setting_apply(struct jfr_sampler *s, int64_t id, const char *name, const char *value)
{
	uint64_t ns = period_parse(value);
	bool zero = !strcmp(value, "0");

	if (!strcmp(name, "event"))
		event_apply(s, value);
	if (!ns && !zero)
		return;
	if (!strcmp(name, "interval"))
		interval_apply(s, ns);
	else if (!strcmp(name, "wall"))
		s->period[JFR_SOURCE_WALL] = ns ? ns : ASYNC_WALL_NS;
	if (!ns || strcmp(name, "period"))
		return;
	for (int i = 0; i < JFR_SOURCES; i++)
		if (s->bind[i].cls && s->bind[i].cls->id == id)
			s->period[i] = ns;
}

static void setting_read(struct jfr_sampler *s, const struct jfr_event *ev)
{
	struct jfr_value v[FIELDS_MAX];
	struct buffer b = BUFFER_INIT;
	int n = jfr_event_fields(s->r, ev, v, FIELDS_MAX);
	size_t value;

	if (s->set_id < 0 || s->set_id >= n || s->set_name < 0 || s->set_name >= n ||
	    s->set_value < 0 || s->set_value >= n)
		return;
	if (!jfr_value_string(s->r, &v[s->set_name], &b))
		goto out;
	buffer_byte(&b, 0);
	value = b.len;
	if (!jfr_value_string(s->r, &v[s->set_value], &b))
		goto out;
	buffer_byte(&b, 0);
	if (!b.failed)
		setting_apply(s, v[s->set_id].i, (char *)b.data, (char *)b.data + value);
out:
	buffer_free(&b);
}

static int choice_read(struct jfr_sampler *s, const struct jfr_event *ev)
{
	struct jfr_value v[FIELDS_MAX];
	int n = jfr_event_fields(s->r, ev, v, FIELDS_MAX);

	if (n < 1 || s->choice_eligible < 0 || s->choice_eligible >= n || s->choice_sampled < 0 ||
	    s->choice_sampled >= n)
		return 0;
	s->choice_seen = true;
	return reservoir_add(&s->reservoir, jfr_ticks_time(s->r, v[0].i), v[s->choice_eligible].i,
			     v[s->choice_sampled].i);
}

static int rate_read(struct jfr_sampler *s, const struct jfr_event *ev)
{
	struct jfr_value v[FIELDS_MAX];
	int n = jfr_event_fields(s->r, ev, v, FIELDS_MAX);

	if (n < 1 || s->rate_cpu < 0 || s->rate_cpu >= n || v[s->rate_cpu].i < 0)
		return 0;
	return rate_changes_add(&s->rates, jfr_ticks_time(s->r, v[0].i),
				(uint64_t)v[s->rate_cpu].i);
}

/*
 * Ticks are an interval apart, where that is known. The span may be shorter than all of them, and
 * longer where it is that of a wait whose earlier ticks stand in events before.
 */
static int64_t step_of(const struct jfr_sampler *s, int64_t span_ns, uint64_t ticks)
{
	int64_t step = span_ns / (int64_t)ticks;
	uint64_t period = s->period[JFR_SOURCE_WALL];

	return period && step > 0 && (uint64_t)step > period ? (int64_t)period : step;
}

static bool sample_read(struct jfr_sampler *s, const struct binding *b, const struct jfr_event *ev,
			struct jfr_sample *out)
{
	static const struct jfr_value none;
	struct jfr_value v[FIELDS_MAX];
	int n = jfr_event_fields(s->r, ev, v, FIELDS_MAX);

#define AT(i) ((i) >= 0 && (i) < n ? &v[i] : &none)
	if (n < 1)
		return false;
	out->time_ns = jfr_ticks_time(s->r, v[0].i);
	out->thread = *AT(b->thread);
	out->stack = *AT(b->stack);
	out->state = *AT(b->state);
	out->failed = AT(b->failed)->i != 0;
	out->ticks = 1;
	out->scale = 1;
	if (b->samples >= 0)
		out->ticks = AT(b->samples)->i > 0 ? (uint64_t)AT(b->samples)->i : 0;
	if (b->span >= 0 && out->ticks > 1)
		out->step_ns = step_of(s, jfr_ticks_span(s->r, AT(b->span)->i), out->ticks);
	if (b->period >= 0 && AT(b->period)->i > 0)
		out->period_ns = (uint64_t)jfr_ticks_span(s->r, AT(b->period)->i);
#undef AT
	return true;
}

/* Threads that waited at one place, each for a period. */
static void unmounted_read(struct jfr_sampler *s, const struct jfr_event *ev,
			   struct jfr_sample *out)
{
	struct jfr_value v[FIELDS_MAX];
	int n = jfr_event_fields(s->r, ev, v, FIELDS_MAX), i = s->others_threads;

	out->source = JFR_SOURCE_WALL;
	out->unmounted = true;
	if (!sample_read(s, &s->others, ev, out) || i < 0 || i >= n || !(v[i].d > 0) ||
	    !out->period_ns)
		out->ticks = 0;
	else
		out->scale = v[i].d;
}

/*
 * Takes a part off what is left of an event: one tick or, with batches, those that the same scale
 * applies to. A chunk without gnomon.ThreadReservoir is of a recording of all threads.
 */
static void part_take(struct jfr_sampler *s, struct jfr_event *ev, struct jfr_sample *out)
{
	int64_t span;

	*ev = s->ev;
	*out = s->left;
	if (s->left.source == JFR_SOURCE_WALL && s->choice_seen && !s->left.unmounted)
		out->scale = reservoir_scale(&s->reservoir, out->time_ns, out->step_ns,
					     s->left.ticks, &out->ticks);
	if (!s->batches)
		out->ticks = 1;
	s->left.ticks -= out->ticks;
	if (!s->left.ticks)
		return;
	if (__builtin_mul_overflow(s->left.step_ns, (int64_t)out->ticks, &span) ||
	    __builtin_add_overflow(s->left.time_ns, span, &s->left.time_ns))
		s->left.step_ns =
			0; /* that time would be out of range: all the rest is given this one */
}

static int event_look(struct jfr_sampler *s, const struct jfr_event *ev, struct jfr_sample *out)
{
	if (ev->cls == s->setting)
		setting_read(s, ev);
	if (ev->cls == s->choice)
		return choice_read(s, ev);
	if (ev->cls == s->rate)
		return rate_read(s, ev);
	if (s->unmounted != JFR_UNMOUNTED_NONE && s->others.cls == ev->cls)
		unmounted_read(s, ev, out);
	for (int i = 0; i < JFR_SOURCES && s->unmounted != JFR_UNMOUNTED_ALONE; i++) {
		if (s->bind[i].cls != ev->cls)
			continue;
		out->source = (enum jfr_source)i;
		if (!sample_read(s, &s->bind[i], ev, out))
			out->ticks = 0;
		else if (i == JFR_SOURCE_EXECUTION)
			out->period_ns = rate_changes_at(&s->rates, out->time_ns);
	}
	return 0;
}

int jfr_sampler_next(struct jfr_sampler *s, struct jfr_event *ev, struct jfr_sample *out)
{
	int rc;

	if (s->left.ticks) {
		part_take(s, ev, out);
		return 1;
	}
	rc = jfr_reader_next(s->r, ev);
	if (rc <= 0)
		return rc;
	if (ev->chunk != s->chunk) {
		s->chunk = ev->chunk;
		chunk_bind(s);
	}
	*out = (struct jfr_sample){0};
	rc = event_look(s, ev, out);
	if (rc)
		return rc;
	if (out->ticks) {
		s->ev = *ev;
		s->left = *out;
		part_take(s, ev, out);
	}
	return 1;
}

uint64_t jfr_sampler_period(const struct jfr_sampler *s, enum jfr_source source)
{
	return s->period[source];
}
