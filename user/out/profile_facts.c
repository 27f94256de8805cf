/* SPDX-License-Identifier: Apache-2.0 */
/* What a recording says about the machine, the JVM and its own losses. */
#include "out/profile_int.h"

#include <stdio.h>
#include <string.h>

#include "out/fields.h"
#include "out/format.h"

#define TEXT(f, name, to) field_text(f, name, to, sizeof(to))

static void jvm_read(struct profile_facts *x, const struct fields *f)
{
	TEXT(f, "jvmVersion", x->jvm_version);
	TEXT(f, "javaArguments", x->java_args);
	x->pid = (int64_t)field_number(f, "pid");
}

static void os_read(struct profile_facts *x, const struct fields *f)
{
	TEXT(f, "osVersion", x->os);
}

static void cpu_read(struct profile_facts *x, const struct fields *f)
{
	TEXT(f, "cpu", x->cpu);
	x->hw_threads = field_number(f, "hwThreads");
}

static void cpu_lost_read(struct profile_facts *x, const struct fields *f)
{
	x->cpu_samples_lost += field_number(f, "lostSamples");
}

static void data_loss_read(struct profile_facts *x, const struct fields *f)
{
	x->bytes_lost += field_number(f, "amount");
}

static void throttling_read(struct profile_facts *x, const struct fields *f)
{
	x->slices = field_number(f, "cpuElapsedSlices");
	x->throttled_slices = field_number(f, "cpuThrottledSlices");
	x->throttled_ns = field_number(f, "cpuThrottledTime");
}

static void quality_read(struct profile_facts *x, const struct fields *f)
{
	char kind[8] = "";
	struct prof_quality *q;

	TEXT(f, "kind", kind);
	q = &x->quality[!strcmp(kind, "cpu")	? QUALITY_CPU
			: !strcmp(kind, "wall") ? QUALITY_WALL
						: QUALITY_OTHER];
	q->samples += field_number(f, "samples");
	q->complete += field_number(f, "complete");
	q->guessed += field_number(f, "guessed");
	q->truncated += field_number(f, "truncated");
	q->bad_address += field_number(f, "badAddress");
	q->no_rule += field_number(f, "noRule");
	q->failed += field_number(f, "failed");
	q->unnamed += field_number(f, "unnamed");
	q->in_heap += field_number(f, "inHeap");
}

static void lost_read(struct profile_facts *x, const struct fields *f)
{
	const uint32_t max = sizeof(x->losses) / sizeof(x->losses[0]);
	char kind[32] = "", reason[64] = "", what[96];
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
	x->losses[i].count += field_number(f, "lostSamples");
}

static void cpu_user_read(struct prof_cpus *c, const struct fields *f)
{
	struct prof_cpu_user *u = &c->others[c->nothers];

	if (c->nothers == sizeof(c->others) / sizeof(c->others[0]))
		return;
	TEXT(f, "processName", u->name);
	u->pid = (int64_t)field_number(f, "pid");
	u->count = field_number(f, "processes");
	u->ns = field_number(f, "cpuTime");
	c->nothers++;
}

/* The machine's comes first. */
static void cpu_use_read(struct profile_facts *x, const struct fields *f)
{
	char whose[16] = "";

	TEXT(f, "whose", whose);
	if (!strcmp(whose, "machine"))
		x->cpus = (struct prof_cpus){.period_ns = field_number(f, "period"),
					     .machine_ns = field_number(f, "cpuTime")};
	else if (!strcmp(whose, "recorded"))
		x->cpus.own_ns = field_number(f, "cpuTime");
	else
		cpu_user_read(&x->cpus, f);
}

static void overhead_read(struct profile_facts *x, const struct fields *f)
{
	x->collector_ns += field_number(f, "collectorTime");
	x->bpf_ns += field_number(f, "bpfTime");
	x->stolen_ns += field_number(f, "stolenTime");
	x->overhead_period_ns += field_number(f, "period");
}

/* A chunk repeats the choice in force: it counts once. */
static void reservoir_read(struct profile_facts *x, const struct fields *f)
{
	uint64_t eligible = field_number(f, "eligible"), sampled = field_number(f, "sampled");
	uint64_t draw = field_number(f, "epoch");

	if (!sampled || eligible <= sampled || (x->reservoir.n && x->reservoir.last == draw))
		return;
	x->reservoir.n++;
	x->reservoir.last = draw;
	x->reservoir.live += field_number(f, "live");
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
	uint64_t period = field_span(f, "period");
	double ns = (double)period;

	x->unmounted.looks++;
	x->unmounted.period_ns += period;
	x->unmounted.places += field_number(f, "places");
	x->unmounted.drawn += field_number(f, "drawn");
	x->unmounted.left_out += field_number(f, "leftOut");
	x->unmounted.cpu_ns += field_number(f, "cpuTime");
	x->unmounted.threads_ns += field_real(f, "threads") * ns;
	x->unmounted.mounted_ns += field_real(f, "mounted") * ns;
	x->unmounted.unsettled_ns += field_real(f, "unsettled") * ns;
	x->unmounted.unknown_ns += field_real(f, "unknown") * ns;
	x->unmounted.strange_ns += field_real(f, "strange") * ns;
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
		{"gnomon.StackQuality", quality_read},
		{"gnomon.SamplesLost", lost_read},
		{"gnomon.Overhead", overhead_read},
		{"gnomon.CPUUse", cpu_use_read},
		{"gnomon.ThreadReservoir", reservoir_read},
		{"gnomon.UnmountedLook", unmounted_read},
	};

	for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++) {
		struct fields f;

		if (strcmp(ev->cls->name, readers[i].name))
			continue;
		if (fields_event(&f, r, ev))
			readers[i].read(x, &f);
		return;
	}
}
