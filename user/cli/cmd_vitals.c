/* SPDX-License-Identifier: Apache-2.0 */
/* gnomon vitals: a JVM's pulse, a line a second, from outside. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "cli/cmds.h"
#include "cli/table.h"
#include "cli/units.h"
#include "jvm/collections.h"
#include "jvm/vmstructs.h"
#include "out/csv.h"
#include "target/select.h"
#include "target/usage.h"

#define S	   1000000000ull
#define LOOK_NS	   100000000ull /* for collections */
#define HEAD_EVERY 20		/* lines under one heading */

static uint64_t interval_ns = S, count, duration_ns;
static bool as_json, as_csv;

static const struct opt options[] = {
	{OPT_DURATION, 'i', "interval", "TIME", "time between two lines (default 1s)", &interval_ns,
	 .min = LOOK_NS, .max = 3600 * S, .bare = true},
	{OPT_COUNT, 'n', "count", "N", "print N lines (default: until interrupted or the JVM ends)",
	 &count, .min = 1, .max = 1000000000},
	{OPT_DURATION, 'd', "duration", "TIME", "stop after TIME, 30 is 30s", &duration_ns,
	 .min = LOOK_NS, .max = 365ull * 24 * 3600 * S, .bare = true},
	{OPT_FLAG, 0, "json", NULL, "an object of JSON a line, in bytes and nanoseconds", &as_json},
	{OPT_FLAG, 0, "csv", NULL, "comma separated values, the same figures", &as_csv},
	{OPT_END},
};

/* ---- what is looked at ------------------------------------------------------------------------
 */

/* Sums as they were at a line. */
struct sums {
	uint64_t time_ns;
	struct host_usage host;
	struct proc_usage proc;
	struct group_usage group;
	uint64_t safepoints, safepoint_ns, sync_ns;
};

/* Collections since the last line. */
struct gcs {
	uint64_t n, ns, longest_ns;
	char cause[COLLECTION_WORDS]; /* of the longest that was seen */
};

struct vitals {
	pid_t pid;
	struct proc_id id;
	struct counters *counters; /* NULL: there are none */
	struct collections all;
	struct gcs gc;
	struct group group;
	struct sums was, is;
	uint64_t start_ns;
};

static void on_one(void *ctx, const struct collection *c)
{
	struct gcs *gc = ctx;

	gc->n++;
	gc->ns += c->duration_ns;
	if (c->duration_ns < gc->longest_ns)
		return;
	gc->longest_ns = c->duration_ns;
	memcpy(gc->cause, c->cause, sizeof(gc->cause));
}

static void on_gap(void *ctx, const struct collections_gap *g)
{
	struct gcs *gc = ctx;

	gc->n += g->count;
	gc->ns += g->sum_ns;
}

/* -ESRCH: the JVM has gone. What its counters say then is the last that they said. */
static int collections_take(struct vitals *v)
{
	const struct collections_fns fns = {.one = on_one, .gap = on_gap, .ctx = &v->gc};

	/* counters that make no sense now are not the end of their process */
	if (v->counters)
		collections_look(&v->all, v->counters, &fns);
	return proc_id_alive(&v->id) ? 0 : -ESRCH;
}

static uint64_t span(const struct vitals *v, enum counter id)
{
	return v->counters ? vmclock_span(&v->all.clock, counter_value(v->counters, id)) : 0;
}

static int sums_take(struct vitals *v, struct sums *s)
{
	int rc = proc_usage_read(v->pid, &s->proc);

	if (rc)
		return -ESRCH;
	proc_memory_read(v->pid, &s->proc);
	s->time_ns = now_ns();
	host_usage_read(&s->host);
	group_usage_read(&v->group, &s->group);
	if (v->counters)
		s->safepoints = counter_value(v->counters, CTR_SAFEPOINTS);
	s->safepoint_ns = span(v, CTR_SAFEPOINT_TIME);
	s->sync_ns = span(v, CTR_SAFEPOINT_SYNC);
	return 0;
}

/* ---- figures: one table for all forms ---------------------------------------------------------
 */

static uint64_t since(uint64_t now, uint64_t was)
{
	return now > was ? now - was : 0;
}

#define SINCE(member) since(v->is.member, v->was.member)

enum figure {
	TIME, /* ns since the start */
	USER, /* CPU time, ns */
	SYSTEM,
	MACHINE,     /* of all CPUs, by all */
	MACHINE_ALL, /* of all CPUs, idle, too */
	RSS,
	HEAP,
	COMMITTED,
	OLD,
	META,
	GCS,
	GC_TIME,
	LONGEST,
	SAFEPOINTS,
	SAFEPOINT_TIME,
	SYNC_TIME,
	STOPPED, /* both together */
	THREADS,
	CLASSES,
	THROTTLED,
	GROUP_MEMORY_NOW,
	MAJOR_FAULTS,
	CPU_PRESSURE,
	PERIOD,
	FIGURES
};

static const char *const names[FIGURES] = {
	"time",	     "user",	      "system",	       "machine",	  "machineAll",	 "rss",
	"heap",	     "heapCommitted", "old",	       "metaspace",	  "collections", "gcTime",
	"gcLongest", "safepoints",    "safepointTime", "timeToSafepoint", "stopped",	 "threads",
	"classes",   "throttled",     "groupMemory",   "majorFaults",	  "cpuPressure", "period",
};

static uint64_t jvm(const struct vitals *v, enum counter id)
{
	return v->counters ? counter_value(v->counters, id) : 0;
}

static void figures_fill(const struct vitals *v, uint64_t f[FIGURES])
{
	const struct heap_use *h = &v->all.heap;

	f[TIME] = since(v->is.time_ns, v->start_ns);
	f[USER] = SINCE(proc.user_ns);
	f[SYSTEM] = SINCE(proc.system_ns);
	f[MACHINE] = SINCE(host.busy_ns);
	f[MACHINE_ALL] = SINCE(host.all_ns);
	f[RSS] = v->is.proc.rss;
	f[HEAP] = h->used;
	f[COMMITTED] = h->committed;
	f[OLD] = h->old;
	f[META] = h->meta_used;
	f[GCS] = v->gc.n;
	f[GC_TIME] = v->gc.ns;
	f[LONGEST] = v->gc.longest_ns;
	f[SAFEPOINTS] = SINCE(safepoints);
	f[SAFEPOINT_TIME] = SINCE(safepoint_ns);
	f[SYNC_TIME] = SINCE(sync_ns);
	f[STOPPED] = f[SAFEPOINT_TIME] + f[SYNC_TIME];
	f[THREADS] = jvm(v, CTR_THREADS_LIVE);
	f[CLASSES] = since(jvm(v, CTR_LOADED) + jvm(v, CTR_LOADED_SHARED),
			   jvm(v, CTR_UNLOADED) + jvm(v, CTR_UNLOADED_SHARED));
	f[THROTTLED] = SINCE(group.throttled_ns);
	f[GROUP_MEMORY_NOW] = v->is.group.memory;
	f[MAJOR_FAULTS] = SINCE(proc.major_faults);
	f[CPU_PRESSURE] = SINCE(group.cpu_some_ns);
	f[PERIOD] = SINCE(time_ns);
}

/* Without counters nobody knows: null, nothing or "-", and no 0. */
static bool known(const struct vitals *v, int figure)
{
	return v->counters || figure < HEAP || figure > CLASSES;
}

static void json_print(const struct vitals *v, const uint64_t f[FIGURES])
{
	struct json j;

	json_begin_dense(&j, stdout);
	json_open(&j, NULL, '{');
	json_integer(&j, "pid", v->pid);
	for (int i = 0; i < FIGURES; i++) {
		if (known(v, i))
			json_number(&j, names[i], f[i]);
		else
			json_null(&j, names[i]);
	}
	json_string(&j, "gcCause", v->gc.cause);
	json_close(&j, '}');
	json_end(&j);
}

static void csv_print(const struct vitals *v, const uint64_t f[FIGURES], uint64_t line)
{
	for (int i = 0; i < FIGURES && !line; i++)
		printf("%s,", names[i]);
	if (!line)
		printf("gcCause\n");
	for (int i = 0; i < FIGURES; i++) {
		if (known(v, i))
			printf("%" PRIu64, f[i]);
		printf(",");
	}
	csv_text(v->gc.cause, stdout);
	printf("\n");
}

/*
 * One column of the text: a figure in a unit, or as a share. A terminal that is too narrow has
 * those of the lowest ranks.
 */
static const struct column {
	const char *head;
	uint8_t width, places, rank;
	uint8_t figure, of; /* of: the figure of which it is a share, FIGURES: none */
	double unit;
} columns[] = {
	{"time s", 8, 1, 0, TIME, FIGURES, 1e9},     {"user%", 6, 1, 4, USER, PERIOD, 0},
	{"sys%", 6, 1, 5, SYSTEM, PERIOD, 0},	     {"host%", 6, 1, 10, MACHINE, MACHINE_ALL, 0},
	{"RSS MB", 7, 0, 11, RSS, FIGURES, 1e6},     {"heap MB", 8, 1, 1, HEAP, FIGURES, 1e6},
	{"of MB", 8, 1, 7, COMMITTED, FIGURES, 1e6}, {"old MB", 8, 1, 13, OLD, FIGURES, 1e6},
	{"meta MB", 7, 1, 15, META, FIGURES, 1e6},   {"GCs", 5, 0, 2, GCS, FIGURES, 1},
	{"GC ms", 8, 2, 3, GC_TIME, FIGURES, 1e6},   {"most ms", 8, 2, 6, LONGEST, FIGURES, 1e6},
	{"stop ms", 7, 1, 8, STOPPED, FIGURES, 1e6}, {"threads", 7, 0, 9, THREADS, FIGURES, 1},
	{"classes", 7, 0, 14, CLASSES, FIGURES, 1},  {"thr ms", 7, 0, 12, THROTTLED, FIGURES, 1e6},
};

#define COLUMNS	    (sizeof(columns) / sizeof(columns[0]))
#define CAUSE_LEAST 10 /* less of it says nothing */

/* How many fit, and what is left for the cause: 0 nothing. */
struct room {
	unsigned int ranks, cause;
};

static unsigned int rank_width(unsigned int rank)
{
	for (size_t i = 0; i < COLUMNS; i++)
		if (columns[i].rank == rank)
			return columns[i].width;
	return 0;
}

static struct room room_of(size_t terminal)
{
	struct room r = {0};
	size_t used = 0;

	if (!terminal)
		return (struct room){COLUMNS, COLLECTION_WORDS};
	while (r.ranks < COLUMNS && used + rank_width(r.ranks) <= terminal)
		used += rank_width(r.ranks++) + 1;
	if (r.ranks == COLUMNS && used + 1 + CAUSE_LEAST <= terminal)
		r.cause = (unsigned int)(terminal - used - 1);
	return r;
}

static double in_unit(const struct column *c, const uint64_t f[FIGURES])
{
	if (c->of == FIGURES)
		return (double)f[c->figure] / c->unit;
	return f[c->of] ? 100.0 * (double)f[c->figure] / (double)f[c->of] : 0;
}

/* The terminal may change its width. */
static void heading_print(void)
{
	struct room r = room_of(terminal_width(stdout));

	for (size_t i = 0; i < COLUMNS; i++)
		if (columns[i].rank < r.ranks)
			printf("%s%*s", i ? " " : "", columns[i].width, columns[i].head);
	printf("%s%.*s\n", r.cause ? "  " : "", (int)r.cause, "cause of the longest");
}

static void text_print(const struct vitals *v, const uint64_t f[FIGURES], uint64_t line)
{
	struct room r = room_of(terminal_width(stdout));

	if (line && line % HEAD_EVERY == 0)
		heading_print();
	for (size_t i = 0; i < COLUMNS; i++) {
		const struct column *c = &columns[i];

		if (c->rank >= r.ranks)
			continue;
		if (known(v, c->figure))
			printf("%s%*.*f", i ? " " : "", c->width, c->places, in_unit(c, f));
		else
			printf("%s%*s", i ? " " : "", c->width, "-");
	}
	if (r.cause && v->gc.cause[0])
		printf("  %.*s", (int)r.cause, v->gc.cause);
	printf("\n");
}

/* What went wrong is said at the end, where somebody still reads. */
static int output_flush(struct error *e)
{
	if (!fflush(stdout))
		return 0;
	e->exit = EXIT_OUTPUT;
	return -EIO;
}

static int line_print(struct vitals *v, uint64_t line, struct error *e)
{
	uint64_t f[FIGURES];

	figures_fill(v, f);
	if (as_json)
		json_print(v, f);
	else if (as_csv)
		csv_print(v, f, line);
	else
		text_print(v, f, line);
	v->gc = (struct gcs){0};
	return output_flush(e);
}

/* ---- the loop ---------------------------------------------------------------------------------
 */

static void sleep_until(uint64_t ns)
{
	struct timespec ts = {.tv_sec = (time_t)(ns / S), .tv_nsec = (long)(ns % S)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

/* Until the next line's time, with looks for collections in between. */
static int wait_line(struct vitals *v, uint64_t until)
{
	int rc = 0;

	for (uint64_t now = now_ns(); now < until && !rc; now = now_ns()) {
		sleep_until(until - now < LOOK_NS ? until : now + LOOK_NS);
		rc = collections_take(v);
	}
	return rc;
}

/* The last one may be shorter, with --duration. */
static int lines(struct vitals *v, struct error *e)
{
	uint64_t end = duration_ns ? v->start_ns + duration_ns : UINT64_MAX;
	uint64_t until = v->start_ns;
	int rc = 0;

	if (!as_json && !as_csv)
		heading_print();
	rc = output_flush(e);
	for (uint64_t line = 0; (!count || line < count) && until < end && !rc; line++) {
		until = until + interval_ns < end ? until + interval_ns : end;
		if (wait_line(v, until) || sums_take(v, &v->is)) {
			fprintf(stderr, "gnomon: process %d has ended\n", v->pid);
			break;
		}
		rc = line_print(v, line, e);
		v->was = v->is;
	}
	return rc;
}

/* Without counters there is still what the kernel tells. */
static void counters_begin(struct vitals *v)
{
	struct vm *vm = NULL;
	int rc;

	vm_open(v->pid, &vm, NULL);
	rc = counters_open(&v->counters, v->pid, vm);
	vm_close(vm);
	if (rc)
		log_warn("no heap, collections, threads and classes: %s", counters_why(rc));
}

static int target_find(const char *arg, pid_t *pid, struct error *e)
{
	struct select_spec by = {.name = arg};
	struct select_list l = {0};
	pid_t n;
	int rc = pid_parse(arg, &n);

	if (rc == -EINVAL)
		return error_set(e, rc, EXIT_USAGE, "'%s' is no process id", arg);
	if (!rc)
		by = (struct select_spec){.pid = n};
	rc = select_all(&by, &l, e);
	if (!rc && l.n > 1)
		rc = select_several(&l, "give the PID of one", e);
	if (!rc)
		*pid = l.v[0].id.pid;
	select_free(&l);
	return rc;
}

static int usage_check(int argc, char **argv, struct error *e)
{
	if (argc != 1) {
		if (argc)
			error_set(e, -EINVAL, EXIT_USAGE, "two JVMs: '%s' and '%s'", argv[0],
				  argv[1]);
		else
			error_set(e, -EINVAL, EXIT_USAGE, "no process given");
		return error_hint(e, "give one PID or name ('gnomon jvms' lists the JVMs)");
	}
	if (as_json && as_csv)
		return error_set(e, -EINVAL, EXIT_USAGE, "both --json and --csv");
	return 0;
}

static int run(int argc, char **argv, struct error *e)
{
	struct vitals v = {.all = COLLECTIONS_INIT};
	int rc = usage_check(argc, argv, e);

	if (!rc)
		rc = target_find(argv[0], &v.pid, e);
	if (rc)
		return (int)e->exit;
	proc_id_read(v.pid, &v.id); /* of one that is gone: nobody's */
	counters_begin(&v);
	group_find(v.pid, &v.group);
	v.start_ns = now_ns();
	if (collections_take(&v) || sums_take(&v, &v.was))
		rc = error_set(e, -ESRCH, EXIT_TARGET, "process %d has ended", v.pid);
	else
		rc = lines(&v, e);
	counters_close(v.counters);
	return rc ? (int)e->exit : EXIT_OK;
}

const struct command cmd_vitals = {
	.name = "vitals",
	.summary = "a JVM's CPU, heap, collections, threads and container, a line a second",
	.usage = "vitals PID|NAME [-i TIME] [-n N] [-d TIME] [--json | --csv]",
	.opts = options,
	.notes =
		"user% and sys% are the process's, of one CPU; host% is the machine's, of all. "
		"GCs, "
		"GC ms, most ms\n"
		"and stop ms are of the line's time: collections, their pauses together, the "
		"longest that was seen\n"
		"(one shorter than a tenth of a second may come and go unseen: it is counted all "
		"the same), and\n"
		"all time in which the JVM had stopped its threads or was about to. thr ms: held "
		"back by the\n"
		"container's CPU limit. Read from the JVM's memory and the kernel's files: nothing "
		"runs in the\n"
		"JVM for it, and nothing is written. gnomon record has the same in its files.\n",
	.examples = "  gnomon vitals 4711\n"
		    "  gnomon vitals Bootstrap -i 10s --csv >vitals.csv\n"
		    "  gnomon vitals 4711 --json | jq .gcTime\n",
	.takes = TAKES_PID,
	.run = run,
	.looks = true,
};
