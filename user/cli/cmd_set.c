/* SPDX-License-Identifier: Apache-2.0 */
/* gnomon set: how often the daemon samples a JVM. */
#include <errno.h>
#include <stdio.h>

#include "cli/cmds.h"
#include "cli/jvmlist.h"
#include "cli/recording.h"
#include "out/format.h"
#include "run/rates.h"

static struct {
	const char *socket;
	uint64_t cpu_ns, wall_ns, for_ns;
	bool no_cpu, no_wall, usual;
} o = {.socket = CONTROL_PATH};

static const struct opt opts[] = {
	{OPT_DURATION, 0, "cpu", "TIME", "CPU time between two CPU samples of a thread", &o.cpu_ns,
	 .min = RECORDING_TICK_MIN, .max = RECORDING_TICK_MAX},
	{OPT_DURATION, 0, "wall", "TIME", "time between two wall samples of a thread", &o.wall_ns,
	 .min = RECORDING_TICK_MIN, .max = RECORDING_TICK_MAX},
	{OPT_FLAG, 0, "no-cpu", NULL, "no CPU samples", &o.no_cpu},
	{OPT_FLAG, 0, "no-wall", NULL, "no wall samples", &o.no_wall},
	{OPT_DURATION, 0, "for", "TIME",
	 "how long, 60 is 60s; then as before (default: until the JVM ends)", &o.for_ns,
	 .min = RECORDING_S / 10, .max = RECORDING_LONGEST, .bare = true},
	{OPT_FLAG, 0, "usual", NULL, "as the configuration has it again", &o.usual},
	SOCKET_OPT(o.socket),
	{OPT_END},
};

static int bad(struct error *e, const char *what)
{
	error_set(e, -EINVAL, EXIT_USAGE, "%s", what);
	return error_hint(e, "usage: gnomon %s", cmd_set.usage);
}

static int request_make(int argc, struct control_request *r, struct error *e)
{
	*r = (struct control_request){
		.what = CONTROL_SET,
		.has_cpu = o.cpu_ns || o.no_cpu,
		.has_wall = o.wall_ns || o.no_wall,
		.cpu_ns = o.cpu_ns,
		.wall_ns = o.wall_ns,
		.for_ns = o.for_ns,
	};
	if (argc != 1)
		return bad(e, argc ? "one JVM at a time" : "no JVM given");
	if ((o.cpu_ns && o.no_cpu) || (o.wall_ns && o.no_wall))
		return bad(e, "samples are asked for, and none");
	if (!o.usual && !r->has_cpu && !r->has_wall)
		return bad(e, "nothing to set");
	if (o.usual && (r->has_cpu || r->has_wall || o.for_ns))
		return bad(e, "--usual goes alone");
	return 0;
}

static void result_print(const struct control_jvm *j)
{
	printf("process %d: ", j->pid);
	jvmlist_rate(j);
	if (j->by == RATE_COMMAND && j->for_ns)
		printf(", for %s", format_ns(j->for_ns).s);
	if (j->by == RATE_BUDGET)
		printf("; the budget leaves no more: %s", j->reason);
	printf("\n");
}

static int run(int argc, char **argv, struct error *e)
{
	struct control_request r, status = {.what = CONTROL_STATUS};
	struct control_answer a = {0};
	int rc = request_make(argc, &r, e);

	if (!rc)
		rc = control_ask(o.socket, &status, &a, e);
	if (!rc)
		rc = jvmlist_one(&a, argv[0], e);
	if (!rc)
		r.pid = a.jvms[0].pid;
	control_answer_free(&a);
	if (!rc)
		rc = control_ask(o.socket, &r, &a, e);
	for (uint32_t i = 0; !rc && i < a.state.njvms; i++)
		if (a.jvms[i].pid == r.pid)
			result_print(&a.jvms[i]);
	control_answer_free(&a);
	return rc ? (int)e->exit : EXIT_OK;
}

const struct command cmd_set = {
	.name = "set",
	.summary = "have the daemon sample a JVM more or less often, for a time",
	.usage = "set PID|NAME [--cpu TIME] [--wall TIME] [--for TIME] | --usual",
	.opts = opts,
	.notes = "What is not given stays as the configuration has it. Each change is in the "
		 "recording,\nwith its time, and render, summary and the others weigh each sample "
		 "by "
		 "the interval\nin force when it was taken.\n\n"
		 "Wall intervals are the shortest one of the daemon, 5ms with its defaults, "
		 "doubled\n"
		 "some times: the next one that is not shorter than TIME is taken, and said.\n",
	.examples = "  gnomon set 4711 --cpu 1ms --wall 5ms --for 60s\n"
		    "  gnomon set shop --no-wall\n"
		    "  gnomon set shop --usual\n",
	.takes = TAKES_PID,
	.run = run,
};
