/* SPDX-License-Identifier: Apache-2.0 */
#include "run/metrics_int.h"

#include <inttypes.h>
#include <string.h>

#include "base/utf8.h"

void metrics_head(FILE *to, const char *name, const char *type, const char *help)
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

void metrics_jvm_open(const char *name, const struct control_jvm *j, FILE *to)
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
	metrics_head(to, "gnomon_samples_total", "counter",
		     "Samples taken since the daemon started, of all JVMs: of CPU time, and wall "
		     "ticks.");
	for (size_t k = 0; k < KINDS; k++)
		fprintf(to, "gnomon_samples_total{kind=\"%s\"} %" PRIu64 "\n", kinds[k].label,
			samples_of(&a->state.totals, k));
	metrics_head(to, "gnomon_jvm_samples_total", "counter",
		     "The same of each JVM that is recorded.");
	for (uint32_t i = 0; i < a->state.njvms; i++)
		for (size_t k = 0; k < KINDS; k++) {
			metrics_jvm_open("gnomon_jvm_samples_total", &a->jvms[i], to);
			fprintf(to, ",kind=\"%s\"} %" PRIu64 "\n", kinds[k].label,
				samples_of(&a->jvms[i].totals, k));
		}
}

static void losses_write(const struct control_answer *a, FILE *to)
{
	metrics_head(to, "gnomon_lost_total", "counter",
		     "What was lost, by reason: samples, and what names or accompanies them.");
	for (unsigned int r = 0; r < LOSS_MAX; r++)
		fprintf(to, "gnomon_lost_total{kind=\"%s\",reason=\"%s\"} %" PRIu64 "\n",
			loss_kind(r), loss_name(r), a->state.totals.lost[r]);
	metrics_head(to, "gnomon_jvm_lost_total", "counter",
		     "The same of each JVM, where there is any of that reason.");
	for (uint32_t i = 0; i < a->state.njvms; i++)
		for (unsigned int r = 0; r < LOSS_MAX; r++) {
			if (!a->jvms[i].totals.lost[r])
				continue;
			metrics_jvm_open("gnomon_jvm_lost_total", &a->jvms[i], to);
			fprintf(to, ",kind=\"%s\",reason=\"%s\"} %" PRIu64 "\n", loss_kind(r),
				loss_name(r), a->jvms[i].totals.lost[r]);
		}
}

static void jvm_stacks_write(const struct control_jvm *j, size_t kind, FILE *to)
{
	const struct walks *w = walks_of(&j->totals, kind);

	for (int q = 0; q <= GN_END_MAX; q++) {
		uint64_t n = q < GN_END_MAX ? w->ends[q] : w->without;

		if (!n)
			continue;
		metrics_jvm_open("gnomon_jvm_stacks_total", j, to);
		fprintf(to, ",kind=\"%s\",quality=\"%s\"} %" PRIu64 "\n", kinds[kind].label,
			q < GN_END_MAX ? qualities[q] : "without", n);
	}
}

static void stacks_write(const struct control_answer *a, FILE *to)
{
	metrics_head(to, "gnomon_stacks_total", "counter",
		     "Samples of all JVMs by how their stack's walk ended.");
	for (size_t k = 0; k < KINDS; k++) {
		const struct walks *w = walks_of(&a->state.totals, k);

		for (int q = 0; q < GN_END_MAX; q++)
			fprintf(to, "gnomon_stacks_total{kind=\"%s\",quality=\"%s\"} %" PRIu64 "\n",
				kinds[k].label, qualities[q], w->ends[q]);
		fprintf(to, "gnomon_stacks_total{kind=\"%s\",quality=\"without\"} %" PRIu64 "\n",
			kinds[k].label, w->without);
	}
	metrics_head(to, "gnomon_jvm_stacks_total", "counter",
		     "The same of each JVM, where there is any of that quality.");
	for (uint32_t i = 0; i < a->state.njvms; i++)
		for (size_t k = 0; k < KINDS; k++)
			jvm_stacks_write(&a->jvms[i], k, to);
	metrics_head(to, "gnomon_stacks_guessed_total", "counter",
		     "Samples with a frame that was found by a heuristic.");
	for (size_t k = 0; k < KINDS; k++)
		fprintf(to, "gnomon_stacks_guessed_total{kind=\"%s\"} %" PRIu64 "\n",
			kinds[k].label, walks_of(&a->state.totals, k)->guessed);
}

/* ---- the daemon ------------------------------------------------------------------------------ */

static void number(FILE *to, const char *name, const char *type, const char *help, double value)
{
	metrics_head(to, name, type, help);
	fprintf(to, "%s %.15g\n", name, value);
}

static void state_write(const struct control_state *s, FILE *to)
{
	metrics_head(to, "gnomon_build_info", "gauge", "The version that runs; always 1.");
	fputs("gnomon_build_info{version=\"", to);
	text_write(s->version, to);
	fputs("\"} 1\n", to);
	number(to, "gnomon_uptime_seconds", "gauge", "Since sampling began.",
	       seconds(s->elapsed_ns));
	number(to, "gnomon_cpus", "gauge", "CPUs of the host.", s->cpus);
	number(to, "gnomon_jvms", "gauge", "JVMs that are recorded.", s->njvms);
	metrics_head(
		to, "gnomon_interval_seconds", "gauge",
		"CPU time, and wall time, between two samples of a thread; 0: no such samples.");
	fprintf(to, "gnomon_interval_seconds{kind=\"cpu\"} %.9g\n", seconds(s->cpu_ns));
	fprintf(to, "gnomon_interval_seconds{kind=\"wall\"} %.9g\n", seconds(s->wall_ns));
}

static void cost_write(const struct control_state *s, FILE *to)
{
	const struct overhead_cost *c = &s->cost;

	metrics_head(
		to, "gnomon_cost_seconds_total", "counter",
		"CPU time that gnomon took: its processes, and its BPF programs (an estimate).");
	fprintf(to, "gnomon_cost_seconds_total{part=\"collector\"} %.9g\n", seconds(c->cpu_ns));
	fprintf(to, "gnomon_cost_seconds_total{part=\"bpf\"} %.9g\n", seconds(c->bpf_ns));
	number(to, "gnomon_cost_ratio", "gauge",
	       "What the last second took, of all CPUs of the host.", s->cost_share);
	number(to, "gnomon_budget_ratio", "gauge", "What it may take; 0: any.", s->budget);
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
	number(to, "gnomon_held_bytes", "gauge",
	       "What is in memory since the disk takes nothing; 0: it takes all.",
	       (double)s->totals.held_bytes);
	number(to, "gnomon_written_bytes_total", "counter",
	       "What was written into recordings since the daemon started.",
	       (double)s->totals.file_bytes);
}

/* ---- triggers -------------------------------------------------------------------------------- */

static void trigger_numbers(const struct control_state *s, FILE *to, const char *name,
			    const char *help, size_t offset)
{
	metrics_head(to, name, "counter", help);
	for (uint32_t i = 0; i < s->ntriggers; i++) {
		const char *c = (const char *)&s->triggers[i];

		fprintf(to, "%s{trigger=\"", name);
		text_write(s->triggers[i].name, to);
		fprintf(to, "\"} %" PRIu64 "\n", *(const uint64_t *)(c + offset));
	}
}

static void triggers_write(const struct control_state *s, FILE *to)
{
	trigger_numbers(s, to, "gnomon_trigger_fired_total", "How often a trigger fired.",
			offsetof(struct control_trigger, fired));
	trigger_numbers(s, to, "gnomon_trigger_held_back_total",
			"How often it did not, since it had fired so often.",
			offsetof(struct control_trigger, held_back));
	trigger_numbers(s, to, "gnomon_trigger_failed_total",
			"How often not all that it says could be done.",
			offsetof(struct control_trigger, failed));
}

/* ---- what is sent ---------------------------------------------------------------------------- */

static void push_numbers(const struct delivery *d, FILE *to, const char *name, const char *type,
			 const char *help, size_t offset, double unit)
{
	metrics_head(to, name, type, help);
	for (uint64_t i = 0; i < d->n; i++) {
		fprintf(to, "%s{to=\"", name);
		text_write(d->to[i].to, to);
		fprintf(to, "\"} %.15g\n",
			(double)*(const uint64_t *)((const char *)&d->to[i] + offset) / unit);
	}
}

static void push_refused(const struct delivery *d, FILE *to)
{
	metrics_head(to, "gnomon_push_refused_total", "counter",
		     "Profiles that are not sent, and will not be, by reason.");
	for (uint64_t i = 0; i < d->n; i++)
		for (unsigned int r = 0; r < REFUSALS; r++) {
			fputs("gnomon_push_refused_total{to=\"", to);
			text_write(d->to[i].to, to);
			fprintf(to, "\",reason=\"%s\"} %" PRIu64 "\n", refusal_name(r),
				d->to[i].refused[r]);
		}
}

static void push_write(const struct delivery *d, FILE *to)
{
	number(to, "gnomon_push_windows_total", "counter",
	       "Windows of JVMs of which profiles were made.", (double)d->windows);
	number(to, "gnomon_push_unread_total", "counter",
	       "Windows of JVMs of which none were made: they could not be read, or were not told.",
	       (double)(d->unreadable + d->untold));
	push_numbers(d, to, "gnomon_push_made_total", "counter", "Profiles made, by destination.",
		     offsetof(struct delivery_to, made), 1);
	push_numbers(d, to, "gnomon_push_sent_total", "counter", "Profiles that it took.",
		     offsetof(struct delivery_to, sent), 1);
	push_numbers(d, to, "gnomon_push_sent_bytes_total", "counter", "Their bytes, as sent.",
		     offsetof(struct delivery_to, bytes), 1);
	push_numbers(d, to, "gnomon_push_sent_samples_total", "counter",
		     "Different stacks in them, by thread group and state.",
		     offsetof(struct delivery_to, samples), 1);
	push_numbers(d, to, "gnomon_push_request_seconds_total", "counter",
		     "How long their requests took, added up.",
		     offsetof(struct delivery_to, request_ns), 1e9);
	push_numbers(d, to, "gnomon_push_spooled", "gauge", "Profiles that wait to be sent.",
		     offsetof(struct delivery_to, spooled), 1);
	push_numbers(d, to, "gnomon_push_spooled_bytes", "gauge", "What these take on disk.",
		     offsetof(struct delivery_to, spooled_bytes), 1);
	push_refused(d, to);
}

/* ---- the JVMs -------------------------------------------------------------------------------- */

static void jvm_numbers(const struct control_answer *a, FILE *to, const char *name,
			const char *type, const char *help,
			double (*value)(const struct control_jvm *j))
{
	metrics_head(to, name, type, help);
	for (uint32_t i = 0; i < a->state.njvms; i++) {
		metrics_jvm_open(name, &a->jvms[i], to);
		fprintf(to, "} %.15g\n", value(&a->jvms[i]));
	}
}

static void intervals_write(const struct control_answer *a, FILE *to)
{
	metrics_head(
		to, "gnomon_jvm_interval_seconds", "gauge",
		"CPU time, and wall time, between two samples of a thread of it, now; 0: none.");
	for (uint32_t i = 0; i < a->state.njvms; i++) {
		metrics_jvm_open("gnomon_jvm_interval_seconds", &a->jvms[i], to);
		fprintf(to, ",kind=\"cpu\"} %.9g\n", seconds(a->jvms[i].cpu_ns));
		metrics_jvm_open("gnomon_jvm_interval_seconds", &a->jvms[i], to);
		fprintf(to, ",kind=\"wall\"} %.9g\n", seconds(a->jvms[i].wall_ns));
	}
}

/* What samples stand for: of CPU time each its own interval, of wall time ticks. */
static void sampled_write(const struct control_answer *a, FILE *to)
{
	metrics_head(to, "gnomon_jvm_sampled_seconds_total", "counter",
		     "The time that its samples stand for, whatever the intervals were.");
	for (uint32_t i = 0; i < a->state.njvms; i++) {
		const struct totals *t = &a->jvms[i].totals;

		metrics_jvm_open("gnomon_jvm_sampled_seconds_total", &a->jvms[i], to);
		fprintf(to, ",kind=\"cpu\"} %.15g\n", seconds(t->cpu_ns));
		metrics_jvm_open("gnomon_jvm_sampled_seconds_total", &a->jvms[i], to);
		fprintf(to, ",kind=\"wall\"} %.15g\n", seconds(t->wall_samples * a->state.tick_ns));
	}
}

static double jvm_step(const struct control_jvm *j)
{
	return j->step;
}

static double jvm_start(const struct control_jvm *j)
{
	return seconds(j->start_ns);
}

static double jvm_written(const struct control_jvm *j)
{
	return (double)j->totals.file_bytes;
}

static double jvm_disk(const struct control_jvm *j)
{
	return (double)j->disk_bytes;
}

static double jvm_held(const struct control_jvm *j)
{
	return (double)j->totals.held_bytes;
}

static double jvm_threads(const struct control_jvm *j)
{
	return (double)j->totals.threads;
}

void metrics_write(const struct control_answer *a, FILE *to)
{
	state_write(&a->state, to);
	cost_write(&a->state, to);
	disk_write(&a->state, to);
	samples_write(a, to);
	losses_write(a, to);
	stacks_write(a, to);
	push_write(&a->state.delivery, to);
	triggers_write(&a->state, to);
	intervals_write(a, to);
	sampled_write(a, to);
	jvm_numbers(a, to, "gnomon_jvm_budget_step", "gauge",
		    "How much less the budget leaves of it, as gnomon-daemon(1) numbers the steps.",
		    jvm_step);
	jvm_numbers(a, to, "gnomon_jvm_start_time_seconds", "gauge",
		    "When the JVM started, since 1970.", jvm_start);
	jvm_numbers(a, to, "gnomon_jvm_written_bytes_total", "counter",
		    "What was written into its recording.", jvm_written);
	jvm_numbers(a, to, "gnomon_jvm_disk_bytes", "gauge",
		    "What its recording takes on the disk now.", jvm_disk);
	jvm_numbers(a, to, "gnomon_jvm_held_bytes", "gauge",
		    "What of it is in memory since the disk takes nothing.", jvm_held);
	jvm_numbers(a, to, "gnomon_jvm_threads_seen_total", "counter",
		    "Threads that were in its samples.", jvm_threads);
	metrics_vitals_write(a, to);
}
