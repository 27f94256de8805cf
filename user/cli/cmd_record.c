/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cli/cmds.h"
#include "run/outname.h"
#include "run/session.h"
#include "target/pidns.h"
#include "target/select.h"

#define MS 1000000ull
#define S  1000000000ull

static struct select_spec select_by;
static const char *output;
static bool overwrite, quiet, no_wall, no_cpu, no_batch;
static uint64_t duration, cpu = 10 * MS, wall = 20 * MS, reservoir, depth;
static int engine = CPU_ENGINE_AUTO, wall_engine = WALL_ENGINE_AUTO, jvm = RESOLVE_AUTO;
static struct opt_list threads;
static struct jfrw_form form;
static int cpu_event = JFRW_EXECUTION;

static const struct opt opts[] = {
	{OPT_PID, 'p', "pid", "PID", "the JVM to record ('gnomon jvms' lists them)",
	 &select_by.pid},
	{OPT_STRING, 0, "name", "GLOB", "the JVM whose main class or jar is so named",
	 &select_by.name},
	{OPT_STRING, 0, "container", "ID|NAME", "the JVM in this container", &select_by.container},
	{OPT_STRING, 0, "cgroup", "PATH", "the JVM in this control group or below it",
	 &select_by.cgroup},
	{OPT_FLAG, 0, "all-jvms", NULL, "every JVM of the host, also those that start later",
	 &select_by.all},
	{OPT_DURATION, 'd', "duration", "TIME",
	 "how long (default: until interrupted or the target ends)", &duration, .min = 100 * MS,
	 .max = 365ull * 24 * 3600 * S},
	{OPT_STRING, 'o', "output", "FILE", "the recording, a JFR file; or a directory or pattern",
	 &output},
	{OPT_FLAG, 'f', "force", NULL, "replace files that exist at the start", &overwrite},
	{OPT_DURATION, 0, "cpu", "TIME",
	 "CPU time between two CPU samples of a thread (default 10ms)", &cpu, .min = MS / 10,
	 .max = 4 * S},
	{OPT_DURATION, 0, "wall", "TIME",
	 "time between two wall samples of a thread (default 20ms)", &wall, .min = MS / 10,
	 .max = 4 * S},
	{OPT_FLAG, 0, "no-cpu", NULL, "no CPU samples", &no_cpu},
	{OPT_FLAG, 0, "no-wall", NULL, "no wall samples", &no_wall},
	{OPT_LIST, 't', "thread", "GLOB|TID",
	 "sample only threads so named or numbered (may be repeated)", &threads},
	{OPT_COUNT, 0, "threads", "N",
	 "wall samples of N threads of a JVM at a time, others each 1/4 s (default: of all)",
	 &reservoir, .min = 1, .max = 1000000},
	{OPT_FLAG, 0, "nobatch", NULL, "an event for each wall tick, not for each time off the CPU",
	 &no_batch},
	{OPT_COUNT, 0, "depth", "N",
	 "frames of a stack beside the kernel's; deeper ones are cut (default 1024, the most)",
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
	{OPT_SIZE, 0, "chunk-size", "SIZE",
	 "begin another chunk of the file after so much (default 64m)", &form.chunk_max_bytes,
	 .min = 64 << 10, .max = JFRW_CHUNK_LIMIT},
	{OPT_DURATION, 0, "chunk-time", "TIME", "and after so long (default: no limit)",
	 &form.chunk_max_ns, .min = S, .max = 365ull * 24 * 3600 * S},
	{OPT_FLAG, 'q', "quiet", NULL, "no progress, no summary", &quiet},
	{OPT_END},
};

static int usage_error(struct error *e, const char *msg, const char *hint)
{
	error_set(e, -EINVAL, EXIT_USAGE, "%s", msg);
	error_hint(e, "%s", hint);
	return EXIT_USAGE;
}

static bool selected(void)
{
	return select_by.pid || select_by.name || select_by.container || select_by.cgroup ||
	       select_by.all;
}

static int check_usage(int argc, char **argv, struct error *e)
{
	if (!selected() && !argc)
		return usage_error(e, "nothing to record",
				   "give -p PID ('gnomon jvms' lists the JVMs), or -- COMMAND");
	if (selected() && select_check(&select_by, e))
		return (int)e->exit;
	if (selected() && argc) {
		error_set(e, -EINVAL, EXIT_USAGE, "both a running JVM and a command ('%s')",
			  argv[0]);
		return EXIT_USAGE;
	}
	if (!output)
		return usage_error(e, "no output file", "give -o FILE.jfr");
	if (!strcmp(output, "-"))
		return usage_error(e, "a recording cannot go to stdout: it is written to in place",
				   "give -o FILE.jfr");
	if (no_cpu && no_wall)
		return usage_error(e, "neither CPU nor wall samples",
				   "leave out one of --no-cpu, --no-wall");
	if (no_wall && (reservoir || no_batch))
		return usage_error(e, "--threads and --nobatch are about wall samples",
				   "leave them out, or leave out --no-wall");
	return EXIT_OK;
}

/* ---- the targets and their files ------------------------------------------------------------ */

static struct outname names;

/* One file for one JVM; a directory or a pattern for all that match, now and later. */
static bool following(void)
{
	return select_by.all || (!names.fixed && !select_by.pid);
}

static int check_output(struct error *e)
{
	if (outname_read(&names, output, e))
		return (int)e->exit;
	if (!selected() || !following())
		return EXIT_OK;
	if (!names.fixed && names.unique)
		return EXIT_OK;
	error_set(e, -EINVAL, EXIT_USAGE, "several JVMs would be recorded into the same '%s'",
		  output);
	error_hint(e, "give a directory, or a pattern with %%p, such as -o '%%n-%%p.jfr'");
	return EXIT_USAGE;
}

static int target_name(const struct outname_facts *facts, struct session_target *t, struct error *e)
{
	char path[OUTNAME_LEN];

	if (outname_make(&names, facts, 0, path, sizeof(path)))
		return error_set(e, -ENAMETOOLONG, EXIT_USAGE, "output name too long: '%.100s...'",
				 output);
	t->pid = facts->pid;
	t->path = strdup(path);
	return t->path ? 0 : error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
}

static int target_jvm(const struct jvm_proc *j, struct session_target *t, struct error *e)
{
	char label[CONTAINER_NAME_LEN] = "";

	if (j->container.kind != CONTAINER_NONE)
		container_label(&j->container, label, sizeof(label));
	return target_name(
		&(struct outname_facts){.pid = j->id.pid, .main = j->cmd.main, .container = label},
		t, e);
}

static int targets_find(struct session_target **out, size_t *n, struct error *e)
{
	struct session_target *v = NULL;
	struct select_list l;
	int rc = select_all(&select_by, &l, e);

	if (rc == -ESRCH && select_by.all) {
		log_warn("no JVM yet: waiting for one");
		*e = (struct error){0};
		rc = 0;
	}
	if (!rc && l.n > 1 && !following())
		rc = select_several(&l, e);
	if (!rc && l.n) {
		v = calloc(l.n, sizeof(*v));
		rc = v ? 0 : error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	}
	for (size_t i = 0; i < l.n && !rc; i++)
		rc = target_jvm(&l.v[i], &v[i], e);
	*out = v;
	*n = l.n;
	select_free(&l);
	return rc;
}

static void targets_free(struct session_target *v, size_t n)
{
	for (size_t i = 0; v && i < n; i++)
		free((char *)v[i].path);
	free(v);
}

/* Its pid is not known yet, and may be in no name. */
static int target_launched(char *const *argv, struct session_target **out, size_t *n,
			   struct error *e)
{
	if (names.unique) {
		error_set(e, -EINVAL, EXIT_USAGE, "no %%p in the output of a command: '%s'",
			  output);
		return error_hint(e, "name a file: -o FILE.jfr");
	}
	*out = calloc(1, sizeof(**out));
	*n = 1;
	if (!*out)
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	return target_name(&(struct outname_facts){.main = argv[0], .container = ""}, *out, e);
}

static int run(int argc, char **argv, struct error *e)
{
	struct session_target *targets = NULL;
	struct session_config cfg = {
		.argv = argc ? argv : NULL,
		.overwrite = overwrite,
		.duration_ns = duration,
		.cpu_ns = no_cpu ? 0 : cpu,
		.wall_ns = no_wall ? 0 : wall,
		.clock = (enum cpu_engine)engine,
		.wall_engine = (enum wall_engine)wall_engine,
		.jvm = (enum resolver_mode)jvm,
		.threads = threads.v,
		.nthreads = threads.n,
		.depth = (uint32_t)depth,
		.reservoir = (uint32_t)reservoir,
		.one_by_one = no_batch,
		.form = form,
		.quiet = quiet,
	};
	int rc = check_usage(argc, argv, e), status = EXIT_OK;

	cfg.form.cpu_event = (enum jfrw_cpu_event)cpu_event;
	if (!rc)
		rc = check_output(e);
	if (rc)
		return rc;
	if (pidns_check(e)) /* before anything is looked up by a number */
		return (int)e->exit;
	if (selected() && following()) {
		cfg.follow = &select_by;
		cfg.names = &names;
	}
	if (cfg.follow && engine == CPU_ENGINE_THREAD)
		return usage_error(e, "--cpu-engine=thread is for one JVM",
				   "leave it out: several JVMs are sampled by per-CPU clocks");
	rc = argc ? target_launched(argv, &targets, &cfg.ntargets, e)
		  : targets_find(&targets, &cfg.ntargets, e);
	cfg.targets = targets;
	rc = rc || session_run(&cfg, &status, e) ? (int)e->exit : status;
	targets_free(targets, cfg.ntargets);
	return rc;
}

const struct command cmd_record = {
	.name = "record",
	.summary = "record where a JVM's time goes, on and off the CPU",
	.usage = "record -p PID [-d TIME] [--cpu TIME] [--wall TIME] -o FILE\n"
		 "       gnomon record --all-jvms [-d TIME] ... -o DIRECTORY\n"
		 "       gnomon record [options] -o FILE -- java ...",
	.opts = opts,
	.notes =
		"CPU samples (jdk.ExecutionSample) are taken by CPU clocks, wall samples\n"
		"(profiler.WallClockSample) of threads without a CPU when they are switched out. "
		"The\n"
		"wall time of a thread is CPU samples x --cpu + wall samples x --wall.\n\n"
		"With --threads N, a recording says of how many threads its N are, and what reads "
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
		"%c (container), all JVMs that --name, --container or --cgroup match are recorded, "
		"a\n"
		"file each, also those that start meanwhile. They share one set of BPF programs, "
		"one\n"
		"naming thread and per-CPU clocks.\n",
	.examples = "  gnomon record -p 4711 -d 30s -o app.jfr\n"
		    "  gnomon record -p 4711 -d 1m --cpu 1ms --wall 5ms -t 'http-*' -o http.jfr\n"
		    "  gnomon record -o start.jfr -- java -jar app.jar\n"
		    "  gnomon record --all-jvms -d 10m -o /var/tmp/profiles/\n"
		    "  gnomon record --cgroup /kubepods.slice -o '%c-%n-%p.jfr'\n"
		    "  gnomon record -p 4711 -d 24h --chunk-time 1h -o day.jfr\n"
		    "  gnomon render app.jfr -o app.html\n",
	.run = run,
	.stop_at_arg = true,
};
