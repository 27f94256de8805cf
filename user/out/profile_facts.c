/* SPDX-License-Identifier: Apache-2.0 */
/* What a recording says about the machine, the JVM and its own losses. */
#include "out/profile_int.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

#include "out/format.h"

#define FIELDS_MAX 24

struct fields {
	struct jfr_reader *r;
	const struct jfr_class *cls;
	struct jfr_value v[FIELDS_MAX];
	int n;
};

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

static void text(const struct fields *f, const char *name, char *to, size_t size)
{
	struct buffer b = BUFFER_INIT;

	if (jfr_value_string(f->r, field(f, name), &b) && b.len) {
		size_t n = b.len < size - 1 ? b.len : size - 1;

		while (n < b.len && n && (b.data[n] & 0xc0) == 0x80) /* not within a character */
			n--;
		memcpy(to, b.data, n);
		to[n] = '\0';
		utf8_clean(to, n, false);
	}
	buffer_free(&b);
}

#define TEXT(f, name, to) text(f, name, to, sizeof(to))

static void jvm_read(struct profile_facts *x, const struct fields *f)
{
	TEXT(f, "jvmName", x->jvm);
	TEXT(f, "jvmVersion", x->jvm_version);
	TEXT(f, "javaArguments", x->java_args);
	x->pid = field(f, "pid")->i;
}

static void os_read(struct profile_facts *x, const struct fields *f)
{
	TEXT(f, "osVersion", x->os);
}

static void cpu_read(struct profile_facts *x, const struct fields *f)
{
	TEXT(f, "cpu", x->cpu);
	x->hw_threads = number(f, "hwThreads");
}

static void cpu_lost_read(struct profile_facts *x, const struct fields *f)
{
	x->cpu_samples_lost += number(f, "lostSamples");
}

static void data_loss_read(struct profile_facts *x, const struct fields *f)
{
	x->bytes_lost += number(f, "amount");
}

static void throttling_read(struct profile_facts *x, const struct fields *f)
{
	x->slices = number(f, "cpuElapsedSlices");
	x->throttled_slices = number(f, "cpuThrottledSlices");
	x->throttled_ns = number(f, "cpuThrottledTime");
}

static void load_read(struct profile_facts *x, const struct fields *f)
{
	x->jvm_cpu_sum += field(f, "jvmUser")->d + field(f, "jvmSystem")->d;
	x->jvm_cpu_n++;
}

static void quality_read(struct profile_facts *x, const struct fields *f)
{
	char kind[8] = "";
	struct prof_quality *q;

	TEXT(f, "kind", kind);
	q = &x->quality[!strcmp(kind, "cpu")	? QUALITY_CPU
			: !strcmp(kind, "wall") ? QUALITY_WALL
						: QUALITY_OTHER];
	q->samples += number(f, "samples");
	q->complete += number(f, "complete");
	q->guessed += number(f, "guessed");
	q->truncated += number(f, "truncated");
	q->bad_address += number(f, "badAddress");
	q->no_rule += number(f, "noRule");
	q->failed += number(f, "failed");
	q->unnamed += number(f, "unnamed");
	q->in_heap += number(f, "inHeap");
}

static void lost_read(struct profile_facts *x, const struct fields *f)
{
	const uint32_t max = sizeof(x->losses) / sizeof(x->losses[0]);
	char kind[32] = "", reason[60] = "", what[96];
	uint32_t i = 0;

	TEXT(f, "kind", kind);
	TEXT(f, "reason", reason);
	snprintf(what, sizeof(what), "%s: %s", kind, reason);
	while (i < x->nlosses && strcmp(x->losses[i].what, what))
		i++;
	if (i == max) /* our files have fewer; what is left of another's is added to the last */
		i--;
	if (i == x->nlosses) {
		memcpy(x->losses[i].what, what, sizeof(what));
		x->nlosses++;
	}
	x->losses[i].count += number(f, "lostSamples");
}

static void cpu_user_read(struct prof_cpus *c, const struct fields *f)
{
	struct prof_cpu_user *u = &c->others[c->nothers];

	if (c->nothers == sizeof(c->others) / sizeof(c->others[0]))
		return;
	TEXT(f, "processName", u->name);
	u->pid = field(f, "pid")->i;
	u->count = number(f, "processes");
	u->ns = number(f, "cpuTime");
	c->nothers++;
}

/* The machine's comes first. */
static void cpu_use_read(struct profile_facts *x, const struct fields *f)
{
	char whose[16] = "";

	TEXT(f, "whose", whose);
	if (!strcmp(whose, "machine"))
		x->cpus = (struct prof_cpus){.period_ns = number(f, "period"),
					     .machine_ns = number(f, "cpuTime")};
	else if (!strcmp(whose, "recorded"))
		x->cpus.own_ns = number(f, "cpuTime");
	else
		cpu_user_read(&x->cpus, f);
}

static void overhead_read(struct profile_facts *x, const struct fields *f)
{
	x->collector_ns += number(f, "collectorTime");
	x->bpf_ns += number(f, "bpfTime");
	x->stolen_ns += number(f, "stolenTime");
	x->overhead_period_ns += number(f, "period");
}

/* A chunk repeats the choice in force: it counts once. */
static void reservoir_read(struct profile_facts *x, const struct fields *f)
{
	uint64_t eligible = number(f, "eligible"), sampled = number(f, "sampled");
	uint64_t draw = number(f, "epoch");

	if (!sampled || eligible <= sampled || (x->reservoir.n && x->reservoir.last == draw))
		return;
	x->reservoir.n++;
	x->reservoir.last = draw;
	x->reservoir.live += number(f, "live");
	x->reservoir.eligible += eligible;
	x->reservoir.sampled += sampled;
}

bool profile_sampled_threads(const struct profile *p, char *to, size_t size)
{
	const struct profile_facts *x = &p->facts;
	uint64_t n = x->reservoir.n;

	if (!n)
		return false;
	snprintf(to, size, "%s of %s threads", format_count((x->reservoir.sampled + n / 2) / n).s,
		 format_count((x->reservoir.eligible + n / 2) / n).s);
	return true;
}

static void unmounted_read(struct profile_facts *x, const struct fields *f)
{
	int64_t ticks = field(f, "period")->i;
	double ns = ticks > 0 ? (double)jfr_ticks_span(f->r, ticks) : 0;

	x->unmounted.looks++;
	x->unmounted.period_ns += (uint64_t)ns;
	x->unmounted.places += number(f, "places");
	x->unmounted.drawn += number(f, "drawn");
	x->unmounted.left_out += number(f, "leftOut");
	x->unmounted.cpu_ns += number(f, "cpuTime");
	x->unmounted.threads_ns += field(f, "threads")->d * ns;
	x->unmounted.mounted_ns += field(f, "mounted")->d * ns;
	x->unmounted.unsettled_ns += field(f, "unsettled")->d * ns;
	x->unmounted.unknown_ns += field(f, "unknown")->d * ns;
	x->unmounted.strange_ns += field(f, "strange")->d * ns;
}

void facts_event(struct profile_facts *x, struct jfr_reader *r, const struct jfr_event *ev)
{
	static const struct {
		const char *name;
		void (*read)(struct profile_facts *x, const struct fields *f);
	} readers[] = {
		{"jdk.JVMInformation", jvm_read},
		{"jdk.OSInformation", os_read},
		{"jdk.CPUInformation", cpu_read},
		{"jdk.CPUTimeSamplesLost", cpu_lost_read},
		{"jdk.DataLoss", data_loss_read},
		{"jdk.ContainerCPUThrottling", throttling_read},
		{"jdk.CPULoad", load_read},
		{"gnomon.StackQuality", quality_read},
		{"gnomon.SamplesLost", lost_read},
		{"gnomon.Overhead", overhead_read},
		{"gnomon.CPUUse", cpu_use_read},
		{"gnomon.ThreadReservoir", reservoir_read},
		{"gnomon.UnmountedLook", unmounted_read},
	};

	for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++) {
		struct fields f = {.r = r, .cls = ev->cls};

		if (strcmp(ev->cls->name, readers[i].name))
			continue;
		f.n = jfr_event_fields(r, ev, f.v, FIELDS_MAX);
		if (f.n > 0)
			readers[i].read(x, &f);
		return;
	}
}
