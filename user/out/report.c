/* SPDX-License-Identifier: Apache-2.0 */
#include "out/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "out/format.h"
#include "out/summary.h"
#include "out/findings.h"

const char *report_time(uint64_t ns, char *buf)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {{"s", 1000000000}, {"ms", 1000000}, {"us", 1000}, {"ns", 1}};

	for (int i = 0; i < 4; i++) {
		if (ns < units[i].ns && i < 3)
			continue;
		if (ns % units[i].ns == 0)
			snprintf(buf, 24, "%" PRIu64 "%s", ns / units[i].ns, units[i].name);
		else
			snprintf(buf, 24, "%.1f%s", (double)ns / (double)units[i].ns,
				 units[i].name);
		break;
	}
	return buf;
}

void report_waiting(const char *name, pid_t pid)
{
	fprintf(stderr,
		"gnomon: the recording is finished; '%s' runs on as process %d: waiting "
		"for its end\n",
		name, pid);
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

void report_progress(uint64_t elapsed_ns, const struct totals *t, const struct overhead_cost *c)
{
	char line[200];
	int n;

	n = snprintf(line, sizeof(line),
		     "\r\033[K%5.0fs  CPU samples %s  wall samples %s  lost %s  own CPU %.2f%%",
		     (double)elapsed_ns / 1e9, format_count(t->cpu_samples).s,
		     format_count(t->wall_samples).s, format_count(totals_lost(t)).s,
		     percent(c->cpu_ns + c->bpf_ns, c->wall_ns));
	if (write(STDERR_FILENO, line, (size_t)n) < 0)
		return;
}

/* How whole the stacks of one kind of sample are; nothing if there were none. */
static void print_walks(const char *kind, const struct walks *w)
{
	static const char *const names[GN_END_MAX] = {
		[GN_END_NONE] = "kernel only",
		[GN_END_COMPLETE] = "complete",
		[GN_END_DEPTH] = "depth cap",
		[GN_END_BADADDR] = "unreadable",
		[GN_END_NORULE] = "no rule",
		[GN_END_CONT] = "at a virtual thread's base",
		[GN_END_FP] = "by frame pointers",
		[GN_END_HEAP] = "cut where a virtual thread's callers lie in the heap",
	};
	uint64_t all = walks_total(w);
	const char *sep = "";

	if (!all)
		return;
	fprintf(stderr, "    %-12s", kind);
	for (int i = 0; i < GN_END_MAX; i++) {
		if (!w->ends[i])
			continue;
		fprintf(stderr, "%s%.1f%% %s", sep, percent(w->ends[i], all), names[i]);
		sep = ", ";
	}
	if (w->without) {
		fprintf(stderr, "%s%.2f%% without a stack", sep, percent(w->without, all));
		sep = ", ";
	}
	if (w->guessed)
		fprintf(stderr, "%s%.2f%% with a guessed frame", sep, percent(w->guessed, all));
	if (w->unnamed)
		fprintf(stderr, "%s%.2f%% with a method unloaded before it had a name", sep,
			percent(w->unnamed, all));
	fprintf(stderr, "\n");
}

#define INDENT "                "

static void print_stacks(const struct totals *t, uint32_t depth)
{
	bool any = walks_total(&t->cpu) || walks_total(&t->wall);

	fprintf(stderr, "  stacks        %s distinct%s\n", format_count(t->stacks).s,
		any ? "; of the samples" : "");
	print_walks("CPU", &t->cpu);
	print_walks("wall", &t->wall);
	if (depth && depth < GN_MAX_FRAMES &&
	    t->cpu.ends[GN_END_DEPTH] + t->wall.ends[GN_END_DEPTH])
		fprintf(stderr, INDENT "remedy: deeper stacks: --depth %d\n", GN_MAX_FRAMES);
}

static void print_losses(const struct totals *t)
{
	uint64_t all = totals_lost(t);
	bool lost[LOSS_MAX];

	if (!all) {
		fprintf(stderr, "  lost          nothing\n");
		return;
	}
	fprintf(stderr, "  lost          %s:", format_count(all).s);
	for (unsigned int i = 0, n = 0; i < LOSS_MAX; i++)
		if (t->lost[i])
			fprintf(stderr, "%s %s %s", n++ ? "," : "", format_count(t->lost[i]).s,
				loss_name(i));
	fprintf(stderr, "\n");
	for (unsigned int i = 0; i < LOSS_MAX; i++)
		lost[i] = t->lost[i];
	summary_remedies(lost, INDENT, stderr);
}

/* A line per file, and with several of them one for all. */
static void print_files(const struct report_summary *r, const struct totals *t)
{
	if (!r->several && r->nfiles) {
		fprintf(stderr, "recorded %.1f s of process %d %s '%s' (%s)%s\n",
			(double)r->elapsed_ns / 1e9, r->files[0].tgid, r->becomes ? "for" : "into",
			r->becomes ? r->becomes : r->files[0].path, format_bytes(t->file_bytes).s,
			r->target_gone ? "; the process ended" : "");
		return;
	}
	fprintf(stderr, "recorded %.1f s of %zu process%s (%s)\n", (double)r->elapsed_ns / 1e9,
		r->nfiles, r->nfiles == 1 ? "" : "es", format_bytes(t->file_bytes).s);
	for (size_t i = 0; i < r->nfiles; i++)
		fprintf(stderr, "  '%s': %s CPU and %s wall samples, %s; names: %s\n",
			r->files[i].path, format_count(r->files[i].totals.cpu_samples).s,
			format_count(r->files[i].totals.wall_samples).s,
			format_bytes(r->files[i].totals.file_bytes).s, r->files[i].names);
}

static void print_stolen(uint64_t stolen_ns, uint64_t wall_ns)
{
	uint64_t machine = wall_ns * (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);

	if (findings_says_stolen(stolen_ns, machine))
		fprintf(stderr,
			"  stolen        %.1f%% of this machine's CPU time, by others on its host: "
			"in no sample\n",
			percent(stolen_ns, machine));
}

void report_summary(const struct report_summary *r, const struct totals *t,
		    const struct overhead_cost *c)
{
	char b[32];

	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K");
	print_files(r, t);
	if (r->cpu_ns)
		fprintf(stderr, "  CPU samples   %s, one per %s of CPU time (%s clocks)\n",
			format_count(t->cpu_samples).s, report_time(r->cpu_ns, b),
			r->cpu_clocks ? "per-CPU" : "per-thread");
	if (r->wall_ns)
		fprintf(stderr, "  wall samples  %s, one per %s without a CPU, in %s records\n",
			format_count(t->wall_samples).s, report_time(r->wall_ns, b),
			format_count(t->wall_records).s);
	fprintf(stderr, "  threads       %s seen\n", format_count(t->threads).s);
	print_stacks(t, r->depth);
	if (r->nfiles && !r->several)
		fprintf(stderr, "  names         %s\n", r->files[0].names);
	print_losses(t);
	print_stolen(c->stolen_ns, c->wall_ns);
	fprintf(stderr, "  own cost      collector %.2f%% of a core, BPF %.2f%% (%s ns a run), ",
		percent(c->cpu_ns, c->wall_ns), percent(c->bpf_ns, c->wall_ns),
		format_count(c->bpf_run_ns).s);
	fprintf(stderr, "memory %s + %s of rings\n", format_bytes(c->memory_peak).s,
		format_bytes(r->ring_bytes).s);
	if (r->wall_ns)
		fprintf(stderr,
			"                %s switches seen, %.1f%% with a stack taken; %s stacks of "
			"threads at rest\n",
			format_count(r->switches).s, percent(r->captures, r->switches),
			format_count(r->remote).s);
}
