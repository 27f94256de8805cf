/* SPDX-License-Identifier: Apache-2.0 */
#include "run/metrics.h"

#include <inttypes.h>
#include <string.h>

#include "base/utf8.h"

static void head(FILE *to, const char *name, const char *type, const char *help)
{
	fprintf(to, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static double seconds(uint64_t ns)
{
	return (double)ns / 1e9;
}

/* A label's value, of what a target calls itself. */
static void text_write(const char *s, FILE *to)
{
	char clean[512];

	utf8_printable(s, clean, sizeof(clean));
	for (const char *p = clean; *p; p++) {
		if (*p == '\\' || *p == '"')
			fputc('\\', to);
		fputc(*p, to);
	}
}

/* "name{pid="1",jvm="Main",container="host",user="root"", to be closed. */
static void jvm_open(const char *name, const struct control_jvm *j, FILE *to)
{
	fprintf(to, "%s{pid=\"%d\",jvm=\"", name, j->pid);
	text_write(j->name, to);
	fputs("\",container=\"", to);
	text_write(j->container, to);
	fputs("\",user=\"", to);
	text_write(j->user, to);
	fputc('"', to);
}

/* ---- samples --------------------------------------------------------------------------------- */

static const char *const qualities[GN_END_MAX] = {
	[GN_END_NONE] = "kernel_only", [GN_END_COMPLETE] = "complete",
	[GN_END_DEPTH] = "truncated",  [GN_END_BADADDR] = "bad_address",
	[GN_END_NORULE] = "no_rule",   [GN_END_CONT] = "virtual_thread_base",
	[GN_END_FP] = "frame_pointer", [GN_END_HEAP] = "in_heap",
};

static const struct {
	const char *label;
	size_t samples, walks;
} kinds[] = {
	{"cpu", offsetof(struct totals, cpu_samples), offsetof(struct totals, cpu)},
	{"wall", offsetof(struct totals, wall_samples), offsetof(struct totals, wall)},
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static uint64_t samples_of(const struct totals *t, size_t kind)
{
	return *(const uint64_t *)((const char *)t + kinds[kind].samples);
}

static const struct walks *walks_of(const struct totals *t, size_t kind)
{
	return (const struct walks *)((const char *)t + kinds[kind].walks);
}

static void samples_write(const struct control_answer *a, FILE *to)
{
	head(to, "gnomon_samples_total", "counter",
	     "Samples taken since the daemon started, of all JVMs: of CPU time, and wall ticks.");
	for (size_t k = 0; k < KINDS; k++)
		fprintf(to, "gnomon_samples_total{kind=\"%s\"} %" PRIu64 "\n", kinds[k].label,
			samples_of(&a->state.totals, k));
	head(to, "gnomon_jvm_samples_total", "counter", "The same of each JVM that is recorded.");
	for (uint32_t i = 0; i < a->state.njvms; i++)
		for (size_t k = 0; k < KINDS; k++) {
			jvm_open("gnomon_jvm_samples_total", &a->jvms[i], to);
			fprintf(to, ",kind=\"%s\"} %" PRIu64 "\n", kinds[k].label,
				samples_of(&a->jvms[i].totals, k));
		}
}

static void losses_write(const struct control_answer *a, FILE *to)
{
	head(to, "gnomon_lost_total", "counter",
	     "What was lost, by reason: samples, and what names or accompanies them.");
	for (unsigned int r = 0; r < LOSS_MAX; r++)
		fprintf(to, "gnomon_lost_total{kind=\"%s\",reason=\"%s\"} %" PRIu64 "\n",
			loss_kind(r), loss_name(r), a->state.totals.lost[r]);
	head(to, "gnomon_jvm_lost_total", "counter",
	     "The same of each JVM, where there is any of that reason.");
	for (uint32_t i = 0; i < a->state.njvms; i++)
		for (unsigned int r = 0; r < LOSS_MAX; r++) {
			if (!a->jvms[i].totals.lost[r])
				continue;
			jvm_open("gnomon_jvm_lost_total", &a->jvms[i], to);
			fprintf(to, ",kind=\"%s\",reason=\"%s\"} %" PRIu64 "\n", loss_kind(r),
				loss_name(r), a->jvms[i].totals.lost[r]);
		}
}

static void stacks_write(const struct control_answer *a, FILE *to)
{
	head(to, "gnomon_stacks_total", "counter",
	     "Samples of all JVMs by how their stack's walk ended.");
	for (size_t k = 0; k < KINDS; k++) {
		const struct walks *w = walks_of(&a->state.totals, k);

		for (int q = 0; q < GN_END_MAX; q++)
			fprintf(to, "gnomon_stacks_total{kind=\"%s\",quality=\"%s\"} %" PRIu64 "\n",
				kinds[k].label, qualities[q], w->ends[q]);
		fprintf(to, "gnomon_stacks_total{kind=\"%s\",quality=\"without\"} %" PRIu64 "\n",
			kinds[k].label, w->without);
	}
	head(to, "gnomon_stacks_guessed_total", "counter",
	     "Samples with a frame that was found by a heuristic.");
	for (size_t k = 0; k < KINDS; k++)
		fprintf(to, "gnomon_stacks_guessed_total{kind=\"%s\"} %" PRIu64 "\n",
			kinds[k].label, walks_of(&a->state.totals, k)->guessed);
}

/* ---- the daemon ------------------------------------------------------------------------------ */

static void number(FILE *to, const char *name, const char *type, const char *help, double value)
{
	head(to, name, type, help);
	fprintf(to, "%s %.15g\n", name, value);
}

static void state_write(const struct control_state *s, FILE *to)
{
	head(to, "gnomon_build_info", "gauge", "The version that runs; always 1.");
	fputs("gnomon_build_info{version=\"", to);
	text_write(s->version, to);
	fputs("\"} 1\n", to);
	number(to, "gnomon_uptime_seconds", "gauge", "Since sampling began.",
	       seconds(s->elapsed_ns));
	number(to, "gnomon_cpus", "gauge", "CPUs of the host.", s->cpus);
	number(to, "gnomon_jvms", "gauge", "JVMs that are recorded.", s->njvms);
	head(to, "gnomon_interval_seconds", "gauge",
	     "CPU time, and wall time, between two samples of a thread; 0: no such samples.");
	fprintf(to, "gnomon_interval_seconds{kind=\"cpu\"} %.9g\n", seconds(s->cpu_ns));
	fprintf(to, "gnomon_interval_seconds{kind=\"wall\"} %.9g\n", seconds(s->wall_ns));
}

static void cost_write(const struct overhead_cost *c, FILE *to)
{
	head(to, "gnomon_cost_seconds_total", "counter",
	     "CPU time that gnomon took: its processes, and its BPF programs (an estimate).");
	fprintf(to, "gnomon_cost_seconds_total{part=\"collector\"} %.9g\n", seconds(c->cpu_ns));
	fprintf(to, "gnomon_cost_seconds_total{part=\"bpf\"} %.9g\n", seconds(c->bpf_ns));
	number(to, "gnomon_memory_bytes", "gauge", "Resident memory of its processes.",
	       (double)c->memory);
}

static void disk_write(const struct control_state *s, FILE *to)
{
	number(to, "gnomon_disk_bytes", "gauge", "What its recordings take.",
	       (double)s->disk.bytes);
	number(to, "gnomon_disk_files", "gauge", "How many files that are.", (double)s->disk.files);
	number(to, "gnomon_disk_limit_bytes", "gauge", "What they may take; 0: any.",
	       (double)s->keep.total_max_bytes);
	number(to, "gnomon_disk_free_bytes", "gauge", "What their file system has left.",
	       (double)s->disk.free_bytes);
	number(to, "gnomon_disk_failed", "gauge",
	       "1 where the directory could not be looked at last time.", s->disk_failed);
	number(to, "gnomon_written_bytes_total", "counter",
	       "What was written into recordings since the daemon started.",
	       (double)s->totals.file_bytes);
}

/* ---- the JVMs -------------------------------------------------------------------------------- */

static void jvm_numbers(const struct control_answer *a, FILE *to, const char *name,
			const char *type, const char *help,
			double (*value)(const struct control_jvm *j))
{
	head(to, name, type, help);
	for (uint32_t i = 0; i < a->state.njvms; i++) {
		jvm_open(name, &a->jvms[i], to);
		fprintf(to, "} %.15g\n", value(&a->jvms[i]));
	}
}

static double jvm_start(const struct control_jvm *j)
{
	return seconds(j->start_ns);
}

static double jvm_written(const struct control_jvm *j)
{
	return (double)j->totals.file_bytes;
}

static double jvm_threads(const struct control_jvm *j)
{
	return (double)j->totals.threads;
}

void metrics_write(const struct control_answer *a, FILE *to)
{
	state_write(&a->state, to);
	cost_write(&a->state.cost, to);
	disk_write(&a->state, to);
	samples_write(a, to);
	losses_write(a, to);
	stacks_write(a, to);
	jvm_numbers(a, to, "gnomon_jvm_start_time_seconds", "gauge",
		    "When the JVM started, since 1970.", jvm_start);
	jvm_numbers(a, to, "gnomon_jvm_written_bytes_total", "counter",
		    "What was written into its recording.", jvm_written);
	jvm_numbers(a, to, "gnomon_jvm_threads_seen_total", "counter",
		    "Threads that were in its samples.", jvm_threads);
}
