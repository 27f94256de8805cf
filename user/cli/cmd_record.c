/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "cli/cmds.h"
#include "cli/recording.h"

#define REC_INIT                                                                                   \
	{                                                                                          \
		.format = -1, .render = RENDERING_INIT, .ship = SHIPPING_INIT,                     \
		.cfg = {.cpu_ns = RECORDING_CPU_NS}, /* wall_ns: intervals_read() */               \
	}
#define PROCESSES_MAX 256 /* of one user in one container */

static struct recording rec = REC_INIT;
static bool no_wall, no_cpu, no_vitals, no_waits, no_causes, no_unmounted, only_context;
static uint64_t reservoir, depth, max_processes = PROCESSES_MAX;
static int engine = CPU_ENGINE_AUTO, wall_engine = WALL_ENGINE_AUTO, jvm = RESOLVE_AUTO;
static int cpu_event = JFRW_EXECUTION;

static const struct opt opts[] = {
	{OPT_PID, 'p', "pid", "PID", "the JVM to record ('gnomon jvms' lists them)",
	 &rec.select.pid, .once = true},
	{OPT_STRING, 0, "name", "GLOB", "the JVM whose main class or jar is so named",
	 &rec.select.name, .once = true},
	{OPT_STRING, 0, "container", "ID|NAME", "the JVM in this container", &rec.select.container,
	 .once = true},
	{OPT_STRING, 0, "cgroup", "PATH", "the JVM in this control group or below it",
	 &rec.select.cgroup, .once = true},
	{OPT_FLAG, 0, "all-jvms", NULL, "every JVM of the host, also those that start later",
	 &rec.select.all},
	RECORDING_OPTS(rec, "until interrupted or the target ends", "FILE",
		       "the recording (default NAME-PID-TIME.jfr here); .html and others are "
		       "rendered from it"),
	{OPT_ENUM, 'f', "format", "FORMAT",
	 "jfr, html, collapsed, pprof, svg, speedscope, firefox, csv, xml, tree, text "
	 "(default: by FILE's name)",
	 &rec.format, .choices = {FORMAT_CHOICES, "jfr"}},
	{OPT_FLAG, 0, "no-cpu", NULL, "no CPU samples", &no_cpu},
	{OPT_FLAG, 0, "no-wall", NULL, "no wall samples", &no_wall},
	{OPT_COUNT, 0, "sample-threads", "N",
	 "wall samples of N threads of a JVM at a time, others each 1/4 s (default: of all)",
	 &reservoir, .min = 1, .max = 1000000},
	{OPT_FLAG, 0, "nobatch", NULL, "an event for each wall tick, not for each time off the CPU",
	 &rec.cfg.one_by_one},
	{OPT_FLAG, 0, "no-vitals", NULL,
	 "no collections, loads, flags and container events beside the samples", &no_vitals},
	{OPT_FLAG, 0, "no-wait-events", NULL,
	 "no jdk.ThreadPark, ThreadSleep, JavaMonitorEnter, JavaMonitorWait of long waits",
	 &no_waits},
	{OPT_FLAG, 0, "no-causes", NULL,
	 "no gnomon.WaitCause: for which peer, file, pipe or lock threads wait", &no_causes},
	{OPT_FLAG, 0, "no-unmounted", NULL,
	 "no gnomon.UnmountedThreads: where unmounted virtual threads wait", &no_unmounted},
	{OPT_FLAG, 0, "only-context", NULL,
	 "wall samples only of threads that work for a request, as a tracer says", &only_context},
	{OPT_FLAG, 0, "environment", NULL,
	 "the JVM's environment variables, too; what looks like a secret is masked",
	 &rec.cfg.environment},
	{OPT_FLAG, 0, "isolate", NULL,
	 "what reads targets is a process without rights (uid nobody, no capability, seccomp)",
	 &rec.cfg.isolate},
	{OPT_COUNT, 0, "depth", "N",
	 "at most N frames besides the kernel's; the rest is cut (default 1024, with the kernel's)",
	 &depth, .min = 8, .max = GN_MAX_FRAMES},
	{OPT_ENUM, 0, "jvm", "HOW", "where Java names come from: auto, agent, vmstructs, none",
	 &jvm, .choices = {"auto", "agent", "vmstructs", "none"}},
	{OPT_ENUM, 0, "cpu-engine", "HOW",
	 "clocks of CPU samples: auto, thread (one per thread), cpu (one per CPU)", &engine,
	 .choices = {"auto", "thread", "cpu"}},
	{OPT_ENUM, 0, "wall-engine", "HOW",
	 "how threads without a CPU are seen: auto, switch (as they leave it), scan (at each tick)",
	 &wall_engine, .choices = {"auto", "switch", "scan"}},
	{OPT_ENUM, 0, "cpu-event", "EVENT",
	 "CPU samples become execution (jdk.ExecutionSample) or cputime (jdk.CPUTimeSample)",
	 &cpu_event, .choices = {"execution", "cputime"}},
	{OPT_FLAG, 0, "plain", NULL,
	 "only events, states and frame types that the JDK has, as IntelliJ IDEA wants",
	 &rec.cfg.form.plain},
	{OPT_SIZE, 0, "ring-size", "SIZE",
	 "room of each CPU for samples not read yet, at first: it grows with losses (default 128k)",
	 &rec.cfg.ring_bytes, .min = 4096, .max = 64 << 20},
	{OPT_SIZE, 0, "queue-size", "SIZE",
	 "room for samples that were read and have no names yet (default 32m)",
	 &rec.cfg.queue_bytes, .min = 64 << 10, .max = 4ull << 30},
	{OPT_SIZE, 0, "chunk-size", "SIZE",
	 "begin another chunk of the file when one has SIZE bytes (default 64m)",
	 &rec.cfg.form.chunk_max_bytes, .min = 64 << 10, .max = JFRW_CHUNK_LIMIT},
	{OPT_DURATION, 0, "chunk-time", "TIME",
	 "begin another chunk when one is TIME old (default: no limit)", &rec.cfg.form.chunk_max_ns,
	 .min = RECORDING_S, .max = RECORDING_LONGEST, .bare = true},
	{OPT_SIZE, 0, "max-size", "SIZE",
	 "a file of SIZE takes no more samples: they are counted as lost (default 4g)",
	 &rec.cfg.form.file_max_bytes, .min = 64 << 10, .max = 1ull << 50},
	{OPT_SIZE, 0, "max-total-size", "SIZE",
	 "no file takes more samples when all of this recording have SIZE (default: no limit)",
	 &rec.cfg.total_max_bytes, .min = 64 << 10, .max = 1ull << 50},
	{OPT_COUNT, 0, "max-processes", "N",
	 "record N processes at most of one user in one container (default 256)", &max_processes,
	 .min = 1, .max = GN_MAX_PROCS},
	SHIPPING_OPTS(rec.ship),
	{OPT_END},
};

static int usage_error(struct error *e, const char *msg, const char *hint)
{
	error_set(e, -EINVAL, EXIT_USAGE, "%s", msg);
	return error_hint(e, "%s", hint);
}

/* Which JVMs: an argument, options, or a program behind "--". */
static int targets_read(int argc, char **argv, struct error *e)
{
	int before = 0, rc = 0;

	while (before < argc && strcmp(argv[before], "--"))
		before++;
	if (before > 1) {
		error_set(e, -EINVAL, EXIT_USAGE, "two JVMs: '%s' and '%s'", argv[0], argv[1]);
		return error_hint(e, "several are chosen by --name, --cgroup or --all-jvms; a "
				     "program to start follows '--'");
	}
	if (before)
		rc = recording_target(&rec, argv[0], e);
	if (!rc && before < argc)
		rec.argv = argv + before + 1;
	if (!rc && rec.argv && !rec.argv[0])
		rc = usage_error(e, "no program after '--'",
				 "such as: gnomon record -- java -jar app.jar");
	return rc;
}

static int check_usage(struct error *e)
{
	const struct select_spec *by = &rec.select;
	bool selected = select_given(by);

	if (!selected && !rec.argv)
		return usage_error(e, "nothing to record",
				   "give a PID or a name ('gnomon jvms' lists the JVMs), or -- "
				   "COMMAND");
	if (selected && select_check(by, e))
		return -EINVAL;
	if (selected && rec.argv)
		return error_set(e, -EINVAL, EXIT_USAGE, "both a running JVM and a command ('%s')",
				 rec.argv[0]);
	if (rec.output && !strcmp(rec.output, "-"))
		return usage_error(e, "a recording cannot go to stdout: it is written to in place",
				   "give -o FILE.jfr");
	return 0;
}

/* What cannot be asked for together. */
static int contradictions(struct error *e)
{
	if (no_cpu && no_wall)
		return usage_error(e, "neither CPU nor wall samples",
				   "leave out one of --no-cpu, --no-wall");
	if (no_vitals && rec.cfg.environment)
		return usage_error(e, "--environment is one of the vitals",
				   "leave it out, or leave out --no-vitals");
	if (no_wall && (reservoir || rec.cfg.one_by_one))
		return usage_error(e, "--sample-threads and --nobatch are about wall samples",
				   "leave them out, or leave out --no-wall");
	return 0;
}

/*
 * In a plain recording one event has CPU and wall samples, so that they have one interval; a tick
 * is an event by itself.
 */
static int intervals_read(struct error *e)
{
	struct session_config *cfg = &rec.cfg;
	bool given = cfg->wall_ns != 0;

	if (no_cpu)
		cfg->cpu_ns = 0;
	if (!given)
		cfg->wall_ns = cfg->form.plain && cfg->cpu_ns ? cfg->cpu_ns : RECORDING_WALL_NS;
	if (no_wall)
		cfg->wall_ns = 0;
	if (!cfg->form.plain)
		return 0;
	cfg->one_by_one = true;
	if (reservoir || cpu_event == JFRW_CPUTIME)
		return usage_error(e, "--plain has no --sample-threads and no --cpu-event=cputime",
				   "leave them out: its samples are jdk.ExecutionSample alone");
	if (cfg->cpu_ns && cfg->wall_ns && cfg->cpu_ns != cfg->wall_ns)
		return usage_error(e, "--plain has one interval for CPU and wall samples",
				   "give --cpu alone, or the same to both");
	return 0;
}

static int config_take(struct error *e)
{
	struct session_config *cfg = &rec.cfg;

	cfg->clock = (enum cpu_engine)engine;
	cfg->wall_engine = (enum wall_engine)wall_engine;
	cfg->jvm = (enum resolver_mode)jvm;
	cfg->depth = (uint32_t)depth;
	cfg->owner_max = (size_t)max_processes;
	cfg->reservoir = (uint32_t)reservoir;
	cfg->form.vitals = !no_vitals;
	cfg->waits = !no_vitals && !no_waits;
	cfg->causes = !no_causes && !cfg->form.plain;
	cfg->unmounted = !no_unmounted && !no_wall && !only_context && !cfg->form.plain;
	cfg->only_context = only_context;
	cfg->form.cpu_event = (enum jfrw_cpu_event)cpu_event;
	return contradictions(e) ? (int)e->exit : intervals_read(e);
}

static int run(int argc, char **argv, struct error *e)
{
	if (targets_read(argc, argv, e) || check_usage(e) || config_take(e))
		return (int)e->exit;
	return recording_run(&rec, e);
}

void record_settings_begin(void)
{
	rec = (struct recording)REC_INIT;
	rec.cfg.isolate = true; /* for ever, and beside JVMs that come: nobody looks at each */
	no_wall = no_cpu = no_vitals = no_waits = no_causes = no_unmounted = only_context = false;
	reservoir = depth = 0;
	max_processes = PROCESSES_MAX;
	rec.ship.to.finish_ns = 10 * RECORDING_S; /* what is left the next one sends */
	engine = CPU_ENGINE_AUTO;
	wall_engine = WALL_ENGINE_AUTO;
	jvm = RESOLVE_AUTO;
	cpu_event = JFRW_EXECUTION;
}

int record_setting(const char *name, const char *value, struct error *e)
{
	/* which JVMs, how long and where to is not for who goes on and on */
	static const char *const others[] = {
		"pid",	"name",	 "container", "cgroup", "all-jvms", "duration",	      "output",
		"keep", "force", "format",    "quiet",	"max-size", "max-total-size", NULL};

	for (const char *const *o = others; *o; o++)
		if (!strcmp(name, *o))
			return -ENOENT;
	return opt_assign(opts, name, value, e);
}

int record_settings_end(struct session_config *out, struct shipping_options *ship, struct error *e)
{
	int rc = config_take(e) ? -EINVAL : 0;

	*out = rec.cfg;
	out->threads = rec.threads.v;
	out->nthreads = rec.threads.n;
	*ship = rec.ship;
	return rc;
}

const struct command cmd_record = {
	.name = "record",
	.summary = "record where a JVM's time goes, on and off the CPU",
	.usage = "record PID|NAME [-d TIME] [--cpu TIME] [--wall TIME] [-o FILE]\n"
		 "       gnomon record --all-jvms [-d TIME] ... -o DIRECTORY\n"
		 "       gnomon record [options] -- java ...",
	.opts = opts,
	.notes = "NAME is the main class or jar of a JVM, or a pattern of it with * and ?.\n\n"
		 "CPU samples (jdk.ExecutionSample) are taken by CPU clocks, wall samples\n"
		 "(profiler.WallClockSample) of threads without a CPU when they are switched out. "
		 "The\n"
		 "wall time of a thread is CPU samples x --cpu + wall samples x --wall.\n\n"
		 "With --sample-threads N, a recording says of how many threads its N are, and "
		 "what reads "
		 "it\n"
		 "(render, summary, diff) scales wall times up.\n\n"
		 "--cpu-event=cputime writes the event of JDK 25 instead, which 'jfr view\n"
		 "cpu-time-hot-methods' reads and JDK Mission Control's method page does not.\n\n"
		 "Ctrl-C, SIGTERM and the target's end finish the file. The target is never "
		 "stopped and\n"
		 "its sampled threads get no signal.\n\n"
		 "With a command, gnomon ends with it and with its exit code (128 + N after signal "
		 "N),\n"
		 "also where -d finishes the recording before: the command then runs on, and "
		 "gnomon\n"
		 "waits. Ctrl-C and signals sent to gnomon are for both.\n\n"
		 "Where -o is a directory, or a pattern with %p (pid), %n (main class or jar) and\n"
		 "%c (container), %t (time), all JVMs that --name, --container or --cgroup match "
		 "are recorded, "
		 "a\n"
		 "file each, also those that start meanwhile. They share one set of BPF programs, "
		 "one\n"
		 "naming thread and per-CPU clocks.\n",
	.examples = "  gnomon record 4711 -d 30\n"
		    "  gnomon record Bootstrap -d 1m --cpu 1ms --wall 5ms -t 'http-*' -o http.jfr\n"
		    "  gnomon record 4711 -d 30 -o app.html         # a page, and no JFR file\n"
		    "  gnomon record -o start.jfr -- java -jar app.jar\n"
		    "  gnomon record --all-jvms -d 10m -o /var/tmp/profiles/\n"
		    "  gnomon record --cgroup /kubepods.slice -o '%c-%n-%p.jfr'\n"
		    "  gnomon record 4711 -d 24h --chunk-time 1h -o day.jfr\n"
		    "  gnomon render app.jfr -o app.html\n",
	.run = run,
	.looks = true,
	.takes = TAKES_PID,
	.takes_program = true,
};
