/* SPDX-License-Identifier: Apache-2.0 */
#include "out/summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "out/findings.h"
#include "out/format.h"
#include "out/text.h"

#define COLUMNS	   6  /* states with a column of their own; the others share one */
#define NAME_WIDTH 32 /* of a thread group */

/* ---- head ---- */

static void samples_line(const struct profile *p, FILE *f)
{
	static const char *const names[JFR_SOURCES] = {"CPU", "in native code", "CPU", "wall"};
	const char *sep = "  samples   ";

	for (int i = 0; i < JFR_SOURCES; i++) {
		if (!p->samples[i])
			continue;
		fprintf(f, "%s%s %s every %s%s", sep, format_count(p->samples[i]).s, names[i],
			format_ns(p->period_ns[i]).s,
			p->period_assumed[i] ? " (assumed: the recording does not say)" : "");
		sep = ", ";
	}
	fprintf(f, "%s\n", *sep == ',' ? "" : "  samples   none");
}

/* Time that the host of a virtual machine took is in no sample. */
static void stolen_line(const struct profile_facts *x, FILE *f)
{
	uint64_t machine = x->overhead_period_ns * (x->hw_threads ? x->hw_threads : 1);

	if (findings_says_stolen(x->stolen_ns, machine))
		fprintf(f, "  stolen    %s of the machine's CPU time by others on its host (%s)\n",
			format_share(x->stolen_ns, machine).s, format_ns(x->stolen_ns).s);
}

void summary_head(const struct profile *p, const struct jfr_report *r, const char *path, FILE *f)
{
	const struct profile_facts *x = &p->facts;
	time_t t = (time_t)(p->start_ns / 1000000000);
	char when[40] = "?";
	struct tm tm;

	if (gmtime_r(&t, &tm))
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S UTC", &tm);
	fprintf(f, "%s\n", path);
	fprintf(f, "  recorded  %s, %s\n", when, format_ns(profile_recorded_ns(p)).s);
	fprintf(f, "  file      %s, %llu chunk%s%s, %s events of %u kinds\n",
		format_bytes(r->file_size).s, (unsigned long long)r->chunks,
		r->chunks == 1 ? "" : "s", r->chunks_unfinished ? " (the last unfinished)" : "",
		format_count(r->events).s, p->ncounts);
	if (*x->jvm_version)
		fprintf(f, "  jvm       pid %lld, %s\n", (long long)x->pid, x->jvm_version);
	if (*x->java_args)
		fprintf(f, "  java      %s\n", x->java_args);
	if (x->hw_threads)
		fprintf(f, "  machine   %llu CPUs\n", (unsigned long long)x->hw_threads);
	samples_line(p, f);
	fprintf(f, "  time      CPU %s, off CPU %s, wall %s in %s threads\n",
		format_ns(p->total_ns[0][DIM_CPU]).s, format_ns(p->total_ns[0][DIM_OFF]).s,
		format_ns(p->total_ns[0][DIM_WALL]).s, format_count(p->nselves).s);
	text_reservoir(p, "            ", f);
	if (x->overhead_period_ns)
		fprintf(f, "  overhead  %s of one CPU in gnomon (%s collector, %s BPF)\n",
			format_share(x->collector_ns + x->bpf_ns, x->overhead_period_ns).s,
			format_ns(x->collector_ns).s, format_ns(x->bpf_ns).s);
	stolen_line(x, f);
	vitals_print(&p->vitals[0], profile_recorded_ns(p), f);
}

/* ---- quality ---- */

static void share_line(uint64_t n, uint64_t of, const char *what, FILE *f)
{
	if (n)
		fprintf(f, "  %s  %12s  %s\n", format_share(n, of).s, format_count(n).s, what);
}

static void kind_quality(const struct prof_quality *q, const char *kind, FILE *f)
{
	uint64_t of = q->samples;

	if (!of)
		return;
	fprintf(f, "  %s samples\n", kind);
	share_line(q->complete, of, "stacks complete", f);
	share_line(q->guessed, of, "with guessed frames", f);
	share_line(q->in_heap, of, "of virtual threads, cut where their callers lie in the heap",
		   f);
	share_line(q->truncated, of, "cut at the depth limit (record --depth: up to 1024)", f);
	share_line(q->bad_address, of, "ended at unreadable memory", f);
	share_line(q->no_rule, of, "ended where no unwind rule was known", f);
	share_line(q->failed, of, "without a stack", f);
	share_line(q->unnamed, of, "with methods unloaded before they had a name", f);
}

/* What can be told of any recorder's samples. */
static void source_quality(const struct profile *p, int i, FILE *f)
{
	static const char *const names[JFR_SOURCES] = {"CPU", "native code's", "CPU", "wall"};
	uint64_t all = p->samples[i], cut = p->facts.truncated_samples[i],
		 none = p->facts.no_stack_samples[i];

	if (!all)
		return;
	fprintf(f, "  %s samples\n", names[i]);
	share_line(all - cut - none, all, "with a stack that is not cut", f);
	share_line(cut, all, "cut at the depth limit", f);
	share_line(none, all, "without a stack", f);
}

static void stacks_quality(const struct profile *p, FILE *f)
{
	static const char *const names[QUALITY_KINDS] = {"CPU", "wall", "other"};
	bool told = false;

	for (int i = 0; i < QUALITY_KINDS; i++) {
		kind_quality(&p->facts.quality[i], names[i], f);
		told |= p->facts.quality[i].samples != 0;
	}
	for (int i = 0; i < JFR_SOURCES && !told; i++)
		source_quality(p, i, f);
}

static bool own_cpu_losses(const struct profile_facts *x)
{
	for (uint32_t i = 0; i < x->nlosses; i++)
		if (!strncmp(x->losses[i].what, "cpu: ", 5))
			return true;
	return false;
}

void summary_remedies(const bool lost[LOSS_MAX], const char *indent, FILE *f)
{
	for (unsigned int i = 0; i < LOSS_MAX; i++) {
		const char *remedy = lost[i] ? loss_remedy(i) : NULL;

		for (unsigned int k = 0; k < i && remedy; k++)
			if (lost[k] && loss_remedy(k) == remedy)
				remedy = NULL; /* told already */
		if (remedy)
			fprintf(f, "%sremedy: %s\n", indent, remedy);
	}
}

static void losses_say(const struct profile_facts *x, FILE *f)
{
	bool lost[LOSS_MAX + 1] = {0}; /* the last: for reasons that we do not know */

	for (uint32_t i = 0; i < x->nlosses; i++) {
		fprintf(f, "  lost    %12s  %s\n", format_count(x->losses[i].count).s,
			x->losses[i].what);
		lost[loss_reason(x->losses[i].what)] = true;
	}
	summary_remedies(lost, "                        ", f);
}

void summary_quality(const struct profile *p, const struct jfr_report *r, FILE *f)
{
	const struct profile_facts *x = &p->facts;

	fprintf(f, "\nQuality\n");
	stacks_quality(p, f);
	losses_say(x, f);
	if (x->cpu_samples_lost &&
	    !own_cpu_losses(x)) /* these are the same losses again, for other readers */
		fprintf(f, "  lost    %12s  CPU samples\n", format_count(x->cpu_samples_lost).s);
	if (x->bytes_lost)
		fprintf(f, "  lost    %12s  of events, as the recorder's buffers were full\n",
			format_bytes(x->bytes_lost).s);
	if (r->bytes_lost)
		fprintf(f, "  lost    %12s  of the file, which is damaged\n",
			format_bytes(r->bytes_lost).s);
	if (p->execution_dropped[0])
		fprintf(f, "  jdk.ExecutionSample is left out: jdk.CPUTimeSample counts the same "
			   "time\n");
}

/* ---- time by group and state ---- */

struct row {
	uint32_t name;
	uint32_t threads;
	uint64_t cpu, wall;
	uint64_t state[COLUMNS + 1];
};

struct table {
	struct row *rows;
	uint32_t n;
	uint32_t *row_of;	 /* by name */
	uint8_t *column_of;	 /* by state */
	uint32_t heads[COLUMNS]; /* states */
	uint32_t nheads;
	bool others;
};

static void columns_choose(struct table *t, const struct profile *p, uint64_t *state_ns)
{
	for (uint32_t i = 0; i < p->ncells; i++)
		if (p->cells[i].dims & 1 << DIM_OFF)
			state_ns[p->cells[i].state] += p->cells[i].ns;
	memset(t->column_of, COLUMNS, p->nstates);
	while (t->nheads < COLUMNS) {
		uint32_t best = p->nstates;

		for (uint32_t i = 0; i < p->nstates; i++)
			if (state_ns[i] && (best == p->nstates || state_ns[i] > state_ns[best]))
				best = i;
		if (best == p->nstates)
			return;
		t->column_of[best] = (uint8_t)t->nheads;
		t->heads[t->nheads++] = best;
		state_ns[best] = 0;
	}
	for (uint32_t i = 0; i < p->nstates; i++)
		t->others |= state_ns[i] != 0;
}

static int pair_order(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* A thread counts once in each group that it had a name of. */
static int threads_count(struct table *t, const struct profile *p)
{
	uint64_t *v = malloc(sizeof(*v) * ((size_t)p->nthreads + 1));

	if (!v)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->nthreads; i++)
		v[i] = (uint64_t)t->row_of[p->threads[i].group] << 32 | p->threads[i].self;
	qsort(v, p->nthreads, sizeof(*v), pair_order);
	for (uint32_t i = 0; i < p->nthreads; i++)
		t->rows[(v[i] >> 32) - 1].threads += !i || v[i] != v[i - 1];
	free(v);
	return 0;
}

static int table_fill(struct table *t, const struct profile *p)
{
	for (uint32_t i = 0; i < p->nthreads; i++) {
		uint32_t g = p->threads[i].group;

		if (!t->row_of[g]) {
			t->rows[t->n].name = g;
			t->row_of[g] = ++t->n;
		}
	}
	for (uint32_t i = 0; i < p->ncells; i++) {
		const struct prof_cell *c = &p->cells[i];
		struct row *r = &t->rows[t->row_of[p->threads[c->thread].group] - 1];

		if (c->dims & 1 << DIM_CPU)
			r->cpu += c->ns;
		if (c->dims & 1 << DIM_WALL)
			r->wall += c->ns;
		if (c->dims & 1 << DIM_OFF)
			r->state[t->column_of[c->state]] += c->ns;
	}
	return threads_count(t, p);
}

static int row_order(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? 1 : -1;
	if (x->wall != y->wall)
		return x->wall < y->wall ? 1 : -1;
	return x->name < y->name ? -1 : x->name > y->name;
}

static void row_print(const struct table *t, const char *name, const struct row *r, FILE *f)
{
	/* widths are of characters: count those that continue one */
	int extra = 0, shown = 0;

	for (const char *s = name; *s && shown < NAME_WIDTH; s++) {
		extra += (*s & 0xc0) == 0x80;
		shown += (*s & 0xc0) != 0x80;
	}
	fprintf(f, "  %-*.*s %7u %9s %9s", NAME_WIDTH + extra, NAME_WIDTH + extra, name, r->threads,
		format_ns(r->cpu).s, format_ns(r->wall).s);
	for (uint32_t i = 0; i < t->nheads; i++)
		fprintf(f, " %10s", r->state[i] ? format_ns(r->state[i]).s : "-");
	if (t->others)
		fprintf(f, " %10s", r->state[COLUMNS] ? format_ns(r->state[COLUMNS]).s : "-");
	fputc('\n', f);
}

static void table_print(const struct table *t, const struct profile *p, unsigned int rows, FILE *f)
{
	struct row rest = {0};

	fprintf(f, "\n  %-*s %7s %9s %9s", NAME_WIDTH, "Thread group", "threads", "CPU", "wall");
	for (uint32_t i = 0; i < t->nheads; i++)
		fprintf(f, " %10.10s", names_get(&p->names, p->states[t->heads[i]].name));
	fprintf(f, "%s\n", t->others ? "      other" : "");
	for (uint32_t i = 0; i < t->n; i++) {
		if (i < rows) {
			row_print(t, names_get(&p->names, t->rows[i].name), &t->rows[i], f);
			continue;
		}
		rest.threads += t->rows[i].threads;
		rest.cpu += t->rows[i].cpu;
		rest.wall += t->rows[i].wall;
		for (int k = 0; k <= COLUMNS; k++)
			rest.state[k] += t->rows[i].state[k];
	}
	if (t->n > rows)
		row_print(t, "(all others)", &rest, f);
}

int summary_groups(const struct profile *p, unsigned int rows, FILE *f, struct error *e)
{
	struct table t = {0};
	uint64_t *state_ns = calloc((size_t)p->nstates + 1, sizeof(*state_ns));
	int rc = -ENOMEM;

	t.rows = calloc((size_t)p->nthreads + 1, sizeof(*t.rows));
	t.row_of = calloc((size_t)p->names.n + 1, sizeof(*t.row_of));
	t.column_of = calloc((size_t)p->nstates + 1, 1);
	if (state_ns && t.rows && t.row_of && t.column_of) {
		columns_choose(&t, p, state_ns);
		rc = table_fill(&t, p);
	}
	if (rc) {
		error_set(e, rc, EXIT_INTERNAL, "out of memory");
	} else {
		qsort(t.rows, t.n, sizeof(*t.rows), row_order);
		table_print(&t, p, rows, f);
	}
	free(state_ns);
	free(t.rows);
	free(t.row_of);
	free(t.column_of);
	return rc;
}

/* ---- events ---- */

static int count_order(const void *a, const void *b)
{
	const struct prof_count *x = a, *y = b;

	if (x->events != y->events)
		return x->events < y->events ? 1 : -1;
	return x->name < y->name ? -1 : x->name > y->name;
}

int summary_events(const struct profile *p, FILE *f, struct error *e)
{
	struct prof_count *v = malloc(sizeof(*v) * ((size_t)p->ncounts + 1));

	if (!v)
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	if (p->ncounts)
		memcpy(v, p->counts, sizeof(*v) * p->ncounts);
	qsort(v, p->ncounts, sizeof(*v), count_order);
	fprintf(f, "\n  %12s %12s  Event\n", "Count", "Bytes");
	for (uint32_t i = 0; i < p->ncounts; i++)
		fprintf(f, "  %12llu %12llu  %s\n", (unsigned long long)v[i].events,
			(unsigned long long)v[i].bytes, names_get(&p->names, v[i].name));
	free(v);
	return 0;
}
