/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stddef.h>

#include "run/metrics_int.h"

enum unit { COUNT, SECONDS };

/* One metric of each JVM: a member of its pulse, of those that `has` it. */
static const struct metric {
	const char *name, *type, *help;
	uint32_t has;
	enum unit unit;
	size_t at;
} metrics[] = {
	{"gnomon_jvm_cpu_seconds_total", "counter",
	 "CPU time of the process, by the kernel's own account, since its start.", PULSE_PROCESS,
	 SECONDS, offsetof(struct pulse, cpu_ns)},
	{"gnomon_jvm_resident_bytes", "gauge", "Resident memory of the process.", PULSE_PROCESS,
	 COUNT, offsetof(struct pulse, rss)},
	{"gnomon_jvm_safepoints_total", "counter", "Safepoints since the JVM's start.", PULSE_JVM,
	 COUNT, offsetof(struct pulse, safepoints)},
	{"gnomon_jvm_safepoint_seconds_total", "counter",
	 "Time in which all of its threads stood still.", PULSE_JVM, SECONDS,
	 offsetof(struct pulse, safepoint_ns)},
	{"gnomon_jvm_to_safepoint_seconds_total", "counter",
	 "Time until they did, each time the last one.", PULSE_JVM, SECONDS,
	 offsetof(struct pulse, to_safepoint_ns)},
	{"gnomon_jvm_heap_used_bytes", "gauge", "What is in the heap, garbage too.", PULSE_JVM,
	 COUNT, offsetof(struct pulse, heap_used)},
	{"gnomon_jvm_heap_committed_bytes", "gauge", "What the heap has of the machine's memory.",
	 PULSE_JVM, COUNT, offsetof(struct pulse, heap_committed)},
	{"gnomon_jvm_heap_max_bytes", "gauge", "What it may have; 0: not known.", PULSE_JVM, COUNT,
	 offsetof(struct pulse, heap_max)},
	{"gnomon_jvm_metaspace_used_bytes", "gauge", "What its classes take.", PULSE_JVM, COUNT,
	 offsetof(struct pulse, metaspace)},
	{"gnomon_jvm_classes", "gauge", "Classes that are loaded.", PULSE_JVM, COUNT,
	 offsetof(struct pulse, classes)},
	{"gnomon_jvm_throttling_periods_total", "counter",
	 "Periods in which its control group ran, of the group with the quota.", PULSE_THROTTLING,
	 COUNT, offsetof(struct pulse, slices)},
	{"gnomon_jvm_throttled_periods_total", "counter", "Those in which it was throttled.",
	 PULSE_THROTTLING, COUNT, offsetof(struct pulse, throttled_slices)},
	{"gnomon_jvm_throttled_seconds_total", "counter", "For how long its CPUs were.",
	 PULSE_THROTTLING, SECONDS, offsetof(struct pulse, throttled_ns)},
	{"gnomon_jvm_group_memory_bytes", "gauge",
	 "Memory of its control group, of the one with the limit.", PULSE_MEMORY, COUNT,
	 offsetof(struct pulse, memory)},
	{"gnomon_jvm_group_memory_limit_bytes", "gauge", "The limit of that; 0: none.",
	 PULSE_MEMORY, COUNT, offsetof(struct pulse, memory_limit)},
	{"gnomon_jvm_oom_kills_total", "counter",
	 "Processes of its control group that the kernel killed for their memory.", PULSE_MEMORY,
	 COUNT, offsetof(struct pulse, oom_kills)},
};
#define METRICS (sizeof(metrics) / sizeof(metrics[0]))

static const char *const collectors[PULSE_COLLECTORS] = {"young", "full", "concurrent"};

static void value_write(FILE *to, enum unit unit, uint64_t value)
{
	if (unit == SECONDS)
		fprintf(to, " %.9f\n", (double)value / 1e9);
	else
		fprintf(to, " %" PRIu64 "\n", value);
}

static void metric_write(const struct control_answer *a, const struct metric *m, FILE *to)
{
	metrics_head(to, m->name, m->type, m->help);
	for (uint32_t i = 0; i < a->state.njvms; i++) {
		const struct pulse *p = &a->jvms[i].totals.pulse;

		if ((p->has & m->has) != m->has)
			continue;
		metrics_jvm_open(m->name, &a->jvms[i], to);
		fputc('}', to);
		value_write(to, m->unit, *(const uint64_t *)((const char *)p + m->at));
	}
}

static void collectors_write(const struct control_answer *a, const char *name, const char *help,
			     enum unit unit, size_t at, FILE *to)
{
	metrics_head(to, name, "counter", help);
	for (uint32_t i = 0; i < a->state.njvms; i++) {
		const struct pulse *p = &a->jvms[i].totals.pulse;
		const uint64_t *v = (const uint64_t *)((const char *)p + at);

		for (int k = 0; k < PULSE_COLLECTORS && p->has & PULSE_JVM; k++) {
			metrics_jvm_open(name, &a->jvms[i], to);
			fprintf(to, ",collector=\"%s\"}", collectors[k]);
			value_write(to, unit, v[k]);
		}
	}
}

static void threads_write(const struct control_answer *a, FILE *to)
{
	const char *name = "gnomon_jvm_threads";

	metrics_head(to, name, "gauge", "Java threads that live, without virtual ones.");
	for (uint32_t i = 0; i < a->state.njvms; i++) {
		const struct pulse *p = &a->jvms[i].totals.pulse;

		if (!(p->has & PULSE_JVM))
			continue;
		metrics_jvm_open(name, &a->jvms[i], to);
		fprintf(to, "} %u\n", p->threads);
	}
}

void metrics_vitals_write(const struct control_answer *a, FILE *to)
{
	collectors_write(a, "gnomon_jvm_collections_total",
			 "Garbage collections that have ended since the JVM's start; of concurrent "
			 "ones each pause.",
			 COUNT, offsetof(struct pulse, collections), to);
	collectors_write(a, "gnomon_jvm_collection_pause_seconds_total", "How long these took.",
			 SECONDS, offsetof(struct pulse, pause_ns), to);
	threads_write(a, to);
	for (size_t i = 0; i < METRICS; i++)
		metric_write(a, &metrics[i], to);
}
