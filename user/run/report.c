/* SPDX-License-Identifier: Apache-2.0 */
#include "run/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *report_count(uint64_t n, char *buf)
{
	char digits[21];
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, n), o = 0;

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			buf[o++] = ',';
		buf[o++] = digits[i];
	}
	buf[o] = '\0';
	return buf;
}

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

const char *report_bytes(uint64_t n, char *buf)
{
	static const char *const unit[] = {"B", "kB", "MB", "GB", "TB"};
	double v = (double)n;
	int i = 0;

	while (v >= 1000 && i < 4) {
		v /= 1000;
		i++;
	}
	snprintf(buf, 24, i && v < 100 ? "%.1f %s" : "%.0f %s", v, unit[i]);
	return buf;
}

static uint64_t lost_total(const struct totals *t)
{
	uint64_t n = 0;

	for (int i = 0; i < LOSS_MAX; i++)
		n += t->lost[i];
	return n;
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

void report_progress(uint64_t elapsed_ns, const struct totals *t, const struct overhead_cost *c)
{
	char a[32], b[32], l[32], line[200];
	int n;

	n = snprintf(line, sizeof(line),
		     "\r\033[K%5.0fs  CPU samples %s  wall samples %s  lost %s  own CPU %.2f%%",
		     (double)elapsed_ns / 1e9, report_count(t->cpu_samples, a),
		     report_count(t->wall_samples, b), report_count(lost_total(t), l),
		     percent(c->cpu_ns + c->bpf_ns, c->wall_ns));
	if (write(STDERR_FILENO, line, (size_t)n) < 0)
		return;
}

static void print_stacks(const struct totals *t)
{
	static const char *const names[GN_END_MAX] = {
		[GN_END_NONE] = "kernel only",	   [GN_END_COMPLETE] = "complete",
		[GN_END_DEPTH] = "depth cap",	   [GN_END_BADADDR] = "unreadable",
		[GN_END_NORULE] = "no rule",	   [GN_END_CONT] = "at a virtual thread's base",
		[GN_END_FP] = "by frame pointers",
	};
	uint64_t all = 0;
	char a[32];
	bool first = true;

	for (int i = 0; i < GN_END_MAX; i++)
		all += t->ends[i];
	fprintf(stderr, "  stacks        %s distinct;", report_count(t->stacks, a));
	for (int i = 0; i < GN_END_MAX; i++) {
		if (!t->ends[i])
			continue;
		fprintf(stderr, "%s %.1f%% %s", first ? "" : ",", percent(t->ends[i], all),
			names[i]);
		first = false;
	}
	if (t->guessed)
		fprintf(stderr, ", %.2f%% with a guessed frame", percent(t->guessed, all));
	if (t->unnamed)
		fprintf(stderr, ", %.2f%% with a method unloaded before it had a name",
			percent(t->unnamed, all));
	fprintf(stderr, "%s\n", first ? " none" : " (of samples)");
}

static void print_losses(const struct totals *t)
{
	uint64_t all = lost_total(t);
	char a[32];

	if (!all) {
		fprintf(stderr, "  lost          nothing\n");
		return;
	}
	fprintf(stderr, "  lost          %s:", report_count(all, a));
	for (unsigned int i = 0, n = 0; i < LOSS_MAX; i++)
		if (t->lost[i])
			fprintf(stderr, "%s %s %s", n++ ? "," : "", report_count(t->lost[i], a),
				loss_name(i));
	fprintf(stderr, "\n");
}

/* A line per file, and with several of them one for all. */
static void print_files(const struct report_summary *r, const struct totals *t)
{
	char a[32], b[32], d[32];

	if (!r->several && r->nfiles) {
		fprintf(stderr, "recorded %.1f s of process %d into '%s' (%s)%s\n",
			(double)r->elapsed_ns / 1e9, r->files[0].tgid, r->files[0].path,
			report_bytes(t->file_bytes, a),
			r->target_gone ? "; the process ended" : "");
		return;
	}
	fprintf(stderr, "recorded %.1f s of %zu process%s (%s)\n", (double)r->elapsed_ns / 1e9,
		r->nfiles, r->nfiles == 1 ? "" : "es", report_bytes(t->file_bytes, a));
	for (size_t i = 0; i < r->nfiles; i++)
		fprintf(stderr, "  '%s': %s CPU and %s wall samples, %s; names: %s\n",
			r->files[i].path, report_count(r->files[i].totals.cpu_samples, a),
			report_count(r->files[i].totals.wall_samples, b),
			report_bytes(r->files[i].totals.file_bytes, d), r->files[i].names);
}

/* From a thousandth of the machine's CPU time on. */
static void print_stolen(uint64_t stolen_ns, uint64_t wall_ns)
{
	uint64_t machine = wall_ns * (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);

	if (stolen_ns && stolen_ns >= machine / 1000)
		fprintf(stderr,
			"  stolen        %.1f%% of this machine's CPU time, by others on its host: "
			"in no sample\n",
			percent(stolen_ns, machine));
}

void report_summary(const struct report_summary *r, const struct totals *t,
		    const struct overhead_cost *c)
{
	char a[32], b[32], d[32];

	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K");
	print_files(r, t);
	if (r->cpu_ns)
		fprintf(stderr, "  CPU samples   %s, one per %s of CPU time (%s clocks)\n",
			report_count(t->cpu_samples, a), report_time(r->cpu_ns, b),
			r->cpu_clocks ? "per-CPU" : "per-thread");
	if (r->wall_ns)
		fprintf(stderr, "  wall samples  %s, one per %s without a CPU, in %s records\n",
			report_count(t->wall_samples, a), report_time(r->wall_ns, b),
			report_count(t->wall_records, d));
	fprintf(stderr, "  threads       %s seen\n", report_count(t->threads, a));
	print_stacks(t);
	if (r->nfiles && !r->several)
		fprintf(stderr, "  names         %s\n", r->files[0].names);
	print_losses(t);
	print_stolen(c->stolen_ns, c->wall_ns);
	fprintf(stderr, "  own cost      collector %.2f%% of a core, BPF %.2f%% (%s ns a run), ",
		percent(c->cpu_ns, c->wall_ns), percent(c->bpf_ns, c->wall_ns),
		report_count(c->bpf_run_ns, a));
	fprintf(stderr, "memory %s + %s of rings\n", report_bytes(c->memory_peak, a),
		report_bytes(r->ring_bytes, b));
	if (r->wall_ns)
		fprintf(stderr,
			"                %s switches seen, %.1f%% with a stack taken; %s stacks of "
			"threads at rest\n",
			report_count(r->switches, a), percent(r->captures, r->switches),
			report_count(r->remote, b));
}
