/* SPDX-License-Identifier: Apache-2.0 */
/* gnomon status: what the daemon records, and what that costs. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "cli/cmds.h"
#include "cli/jvmlist.h"
#include "cli/table.h"
#include "out/format.h"
#include "run/control.h"
#include "run/metrics.h"

static struct {
	const char *socket;
	bool json, metrics, jvms, wide;
} o = {.socket = CONTROL_PATH};

static const struct opt opts[] = {
	{OPT_FLAG, 0, "json", NULL, "print JSON", &o.json},
	{OPT_FLAG, 0, "metrics", NULL, "print metrics as Prometheus reads them", &o.metrics},
	{OPT_FLAG, 0, "jvms", NULL, "the JVMs alone", &o.jvms},
	{OPT_FLAG, 'w', "wide", NULL, "do not cut columns to the width of the terminal", &o.wide},
	SOCKET_OPT(o.socket),
	{OPT_END},
};

static double percent(uint64_t part, uint64_t of)
{
	return of ? 100 * (double)part / (double)of : 0;
}

/* ---- for people ------------------------------------------------------------------------------ */

static void losses_print(const struct totals *t)
{
	uint64_t all = totals_lost(t);
	const char *sep = ":";

	printf("lost     %s", all ? format_count(all).s : "nothing");
	for (unsigned int i = 0; i < LOSS_MAX; i++) {
		if (!t->lost[i])
			continue;
		printf("%s %s %s", sep, format_count(t->lost[i]).s, loss_name(i));
		sep = ",";
	}
	printf("\n");
}

static void delivery_print(const struct delivery *d)
{
	for (uint64_t i = 0; i < d->n; i++) {
		const struct delivery_to *to = &d->to[i];
		const char *sep = "; refused:";

		printf("push     '%s': %s profiles, %s sent", to->to, format_count(to->sent).s,
		       format_bytes(to->bytes).s);
		if (to->sent)
			printf(", %s each", format_ns(to->request_ns / to->sent).s);
		if (to->spooled)
			printf("; %s of %s wait", format_count(to->spooled).s,
			       format_bytes(to->spooled_bytes).s);
		for (unsigned int r = 0; r < REFUSALS; r++) {
			if (!to->refused[r])
				continue;
			printf("%s %s %s", sep, format_count(to->refused[r]).s, refusal_name(r));
			sep = ",";
		}
		printf("\n");
	}
	if (d->unreadable + d->untold)
		printf("push     %s windows could not be read, or were not told\n",
		       format_count(d->unreadable + d->untold).s);
}

static void triggers_print(const struct control_state *s)
{
	for (uint32_t i = 0; i < s->ntriggers; i++) {
		const struct control_trigger *t = &s->triggers[i];

		printf("trigger  '%s': fired %s times", t->name, format_count(t->fired).s);
		if (t->failed)
			printf(", %s of them not all was done", format_count(t->failed).s);
		if (t->held_back)
			printf("; held back %s times", format_count(t->held_back).s);
		printf("\n");
	}
}

static void head_print(const struct control_state *s)
{
	const struct overhead_cost *c = &s->cost;
	uint64_t host = c->wall_ns * (s->cpus ? s->cpus : 1);

	printf("daemon   process %d, gnomon %s, for %s: %u JVM%s", s->pid, s->version,
	       format_ns(s->elapsed_ns).s, s->njvms, s->njvms == 1 ? "" : "s");
	if (s->cpu_ns)
		printf(", a CPU sample each %s", format_ns(s->cpu_ns).s);
	if (s->wall_ns)
		printf(", a wall sample each %s", format_ns(s->wall_ns).s);
	printf("\nsamples  %s of CPU time, %s of wall time\n",
	       format_count(s->totals.cpu_samples).s, format_count(s->totals.wall_samples).s);
	losses_print(&s->totals);
	printf("cost     %.2f%% of %u CPU%s: collector %.2f%% of one, BPF %.2f%%; memory %s\n",
	       percent(c->cpu_ns + c->bpf_ns, host), s->cpus, s->cpus == 1 ? "" : "s",
	       percent(c->cpu_ns, c->wall_ns), percent(c->bpf_ns, c->wall_ns),
	       format_bytes(c->memory).s);
	if (s->budget > 0)
		printf("budget   %.2f%% of the CPUs: the last second took %.2f%%\n",
		       100 * s->budget, 100 * s->cost_share);
	printf("disk     '%s': %s in %s file%s, %s free%s\n", s->directory,
	       format_bytes(s->disk.bytes).s, format_count(s->disk.files).s,
	       s->disk.files == 1 ? "" : "s", format_bytes(s->disk.free_bytes).s,
	       s->disk_failed ? "; IT CANNOT BE LOOKED AT, see the daemon's log" : "");
	if (s->totals.held_bytes)
		printf("         IT TAKES NOTHING: %s of the last are held in memory, what is "
		       "older is lost\n",
		       format_bytes(s->totals.held_bytes).s);
	delivery_print(&s->delivery);
	triggers_print(s);
}

static const struct table_column columns[] = {
	{"PID", .right = true},		 {"NAME", .least = 16, .keep_tail = true},
	{"CONTAINER", .least = 9},	 {"USER", .least = 6},
	{"CPU", .right = true},		 {"CPU SAMPLES", .right = true},
	{"WALL SAMPLES", .right = true}, {"LOST", .right = true},
	{"WRITTEN", .right = true},
};

static int row_add(struct table *t, const struct control_state *s, const struct control_jvm *j)
{
	struct text32 cpu = format_count(j->totals.cpu_samples),
		      wall = format_count(j->totals.wall_samples),
		      lost = format_count(totals_lost(&j->totals)),
		      written = format_bytes(j->totals.file_bytes);
	char pid[16], share[24];
	const char *const cells[] = {pid,   j->name, j->container, j->user,  share,
				     cpu.s, wall.s,  lost.s,	   written.s};

	snprintf(pid, sizeof(pid), "%d", j->pid);
	snprintf(share, sizeof(share), "%.1f%%", percent(j->lately_cpu_ns, j->lately_ns));
	return table_row(t, cells);
}

/* Of one that is not sampled as its configuration says. */
static void rate_print(const struct control_jvm *j)
{
	printf("\nprocess %d: ", j->pid);
	jvmlist_rate(j);
	printf(", by %s", rate_by_name((enum rate_by)j->by));
	if (j->reason[0])
		printf(": %s", j->reason);
	if (j->for_ns)
		printf(", for %s", format_ns(j->for_ns).s);
	printf("\n");
}

static int table_show(const struct control_answer *a)
{
	struct table *t = table_new(columns, sizeof(columns) / sizeof(columns[0]));
	int rc = t ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < a->state.njvms && !rc; i++)
		rc = row_add(t, &a->state, &a->jvms[i]);
	if (!rc && a->state.njvms) {
		printf("\n");
		table_print(t, stdout, o.wide ? 0 : terminal_width(stdout));
	}
	table_free(t);
	for (uint32_t i = 0; i < a->state.njvms && !rc; i++)
		if (a->jvms[i].by != RATE_CONFIGURATION)
			rate_print(&a->jvms[i]);
	return rc;
}

/* ---- for programs ---------------------------------------------------------------------------- */

static void json_totals(struct json *j, const struct totals *t)
{
	json_number(j, "cpu_samples", t->cpu_samples);
	json_number(j, "wall_samples", t->wall_samples);
	json_number(j, "stacks", t->stacks);
	json_number(j, "threads", t->threads);
	json_number(j, "written_bytes", t->file_bytes);
	json_number(j, "held_bytes", t->held_bytes);
	json_open(j, "lost", '{');
	for (unsigned int i = 0; i < LOSS_MAX; i++)
		if (t->lost[i])
			json_number(j, loss_name(i), t->lost[i]);
	json_close(j, '}');
}

static void json_delivery(struct json *j, const struct delivery *d)
{
	json_open(j, "push", '{');
	json_number(j, "windows", d->windows);
	json_number(j, "unread", d->unreadable + d->untold);
	json_open(j, "to", '[');
	for (uint64_t i = 0; i < d->n; i++) {
		const struct delivery_to *to = &d->to[i];

		json_open(j, NULL, '{');
		json_string(j, "url", to->to);
		json_number(j, "made", to->made);
		json_number(j, "sent", to->sent);
		json_number(j, "sent_bytes", to->bytes);
		json_number(j, "request_ns", to->request_ns);
		json_number(j, "spooled", to->spooled);
		json_number(j, "spooled_bytes", to->spooled_bytes);
		json_open(j, "refused", '{');
		for (unsigned int r = 0; r < REFUSALS; r++)
			json_number(j, refusal_name(r), to->refused[r]);
		json_close(j, '}');
		json_close(j, '}');
	}
	json_close(j, ']');
	json_close(j, '}');
}

static void json_triggers(struct json *j, const struct control_state *s)
{
	json_open(j, "triggers", '[');
	for (uint32_t i = 0; i < s->ntriggers; i++) {
		const struct control_trigger *t = &s->triggers[i];

		json_open(j, NULL, '{');
		json_string(j, "name", t->name);
		json_string(j, "when", t->when);
		json_number(j, "fired", t->fired);
		json_number(j, "held_back", t->held_back);
		json_number(j, "failed", t->failed);
		json_number(j, "last_ms", t->last_ns / 1000000);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void json_state(struct json *j, const struct control_state *s)
{
	json_number(j, "pid", (uint64_t)s->pid);
	json_string(j, "version", s->version);
	json_number(j, "elapsed_ms", s->elapsed_ns / 1000000);
	json_number(j, "cpus", s->cpus);
	json_number(j, "cpu_interval_ns", s->cpu_ns);
	json_number(j, "wall_interval_ns", s->wall_ns);
	json_number(j, "tick_ns", s->tick_ns);
	json_open(j, "cost", '{');
	json_number(j, "wall_ns", s->cost.wall_ns);
	json_number(j, "collector_cpu_ns", s->cost.cpu_ns);
	json_number(j, "bpf_cpu_ns", s->cost.bpf_ns);
	json_number(j, "memory_bytes", s->cost.memory);
	json_close(j, '}');
	json_open(j, "disk", '{');
	json_string(j, "directory", s->directory);
	json_number(j, "files", s->disk.files);
	json_number(j, "bytes", s->disk.bytes);
	json_number(j, "limit_bytes", s->keep.total_max_bytes);
	json_number(j, "free_bytes", s->disk.free_bytes);
	json_bool(j, "failed", s->disk_failed);
	json_close(j, '}');
	if (s->delivery.n)
		json_delivery(j, &s->delivery);
	json_triggers(j, s);
	json_totals(j, &s->totals);
}

static void json_jvm(struct json *j, const struct control_jvm *v)
{
	json_open(j, NULL, '{');
	json_number(j, "pid", (uint64_t)v->pid);
	json_string(j, "name", v->name);
	json_string(j, "container", v->container);
	json_string(j, "user", v->user);
	json_number(j, "start_ms", v->start_ns / 1000000);
	json_bool(j, "by_command", v->by_command);
	json_string(j, "directory", v->dir);
	json_number(j, "cpu_interval_ns", v->cpu_ns);
	json_number(j, "wall_interval_ns", v->wall_ns);
	json_string(j, "rate_by", rate_by_name((enum rate_by)v->by));
	json_string(j, "rate_reason", v->reason);
	json_number(j, "rate_for_ms", v->for_ns / 1000000);
	json_number(j, "budget_step", v->step);
	json_number(j, "disk_bytes", v->disk_bytes);
	json_totals(j, &v->totals);
	json_close(j, '}');
}

static void json_jvms(struct json *j, const char *name, const struct control_answer *a)
{
	json_open(j, name, '[');
	for (uint32_t i = 0; i < a->state.njvms; i++)
		json_jvm(j, &a->jvms[i]);
	json_close(j, ']');
}

static void json_show(const struct control_answer *a)
{
	struct json j;

	json_begin(&j, stdout);
	if (o.jvms) {
		json_jvms(&j, NULL, a);
	} else {
		json_open(&j, NULL, '{');
		json_state(&j, &a->state);
		json_jvms(&j, "jvms", a);
		json_close(&j, '}');
	}
	json_end(&j);
}

/* ---- the command ----------------------------------------------------------------------------- */

static int show(const struct control_answer *a)
{
	if (o.metrics)
		metrics_write(a, stdout);
	else if (o.json)
		json_show(a);
	else if (!o.jvms)
		head_print(&a->state);
	return o.metrics || o.json ? 0 : table_show(a);
}

static int run(int argc, char **argv, struct error *e)
{
	const struct control_request r = {.what = CONTROL_STATUS};
	struct control_answer a;
	int rc;

	if (argc || (o.metrics && (o.json || o.jvms))) {
		if (argc)
			error_set(e, -EINVAL, EXIT_USAGE, "unexpected argument '%s'", argv[0]);
		else
			error_set(e, -EINVAL, EXIT_USAGE, "--json and --metrics are two formats%s",
				  o.jvms ? ", the latter always of all" : "");
		return EXIT_USAGE;
	}
	if (control_ask(o.socket, &r, &a, e))
		return (int)e->exit;
	rc = show(&a);
	control_answer_free(&a);
	return rc ? (error_set(e, rc, EXIT_INTERNAL, "out of memory"), EXIT_INTERNAL) : EXIT_OK;
}

const struct command cmd_status = {
	.name = "status",
	.summary = "what the daemon records: JVMs, samples, losses, cost, disk",
	.usage = "status [--json|--metrics] [--jvms] [--wide] [--socket PATH]",
	.opts = opts,
	.notes = "CPU is what the JVM used of one CPU in the last ten seconds. Root may ask, the "
		 "daemon's\nown user, and members of the 'group' of its configuration.\n",
	.examples = "  gnomon status\n"
		    "  gnomon status --json | jq '.jvms[].name'\n"
		    "  gnomon status --metrics >/var/lib/node_exporter/gnomon.prom\n",
	.run = run,
};
