/* SPDX-License-Identifier: Apache-2.0 */
/* gnomon flame: the shortest way from a JVM to a flame graph. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cmds.h"
#include "cli/recording.h"

#define MS 1000000ull
#define S  1000000000ull

static struct recording rec = {
	.format = FMT_HTML,
	.render = RENDERING_INIT,
	.cfg = {.duration_ns = 10 * S, .cpu_ns = 10 * MS, .wall_ns = 20 * MS},
};
static struct opt_list threads;
static bool no_open;

static const struct opt opts[] = {
	{OPT_DURATION, 'd', "duration", "TIME", "how long, 30 is 30s (default 10s)",
	 &rec.cfg.duration_ns, .min = 100 * MS, .max = 24 * 3600 * S, .bare = true},
	{OPT_STRING, 'o', "output", "FILE.html", "the page (default NAME-PID-TIME.html here)",
	 &rec.output},
	{OPT_FLAG, 0, "force", NULL, "replace a file that exists", &rec.cfg.overwrite},
	{OPT_FLAG, 0, "keep", NULL, "keep the recording beside it", &rec.keep},
	{OPT_DURATION, 0, "cpu", "TIME", "CPU time between two CPU samples of a thread (10ms)",
	 &rec.cfg.cpu_ns, .min = MS / 10, .max = 4 * S},
	{OPT_DURATION, 0, "wall", "TIME", "time between two wall samples of a thread (20ms)",
	 &rec.cfg.wall_ns, .min = MS / 10, .max = 4 * S},
	{OPT_LIST, 't', "thread", "GLOB|TID", "only threads so named or numbered", &threads},
	{OPT_FLAG, 0, "no-open", NULL, "do not open it in a browser", &no_open},
	{OPT_FLAG, 'q', "quiet", NULL, "no progress, no summary", &rec.cfg.quiet},
	{OPT_END},
};

/* Whoever sits at a desktop sees it at once; others have its path. Not as root by sudo. */
static void page_open(const char *path)
{
	pid_t child;

	if (no_open || !isatty(STDOUT_FILENO) || getenv("SUDO_UID") ||
	    !(getenv("DISPLAY") || getenv("WAYLAND_DISPLAY")))
		return;
	fflush(stdout);
	child = fork();
	if (!child) {
		execlp("xdg-open", "xdg-open", path, (char *)NULL);
		_exit(0); /* there is none: the path was printed */
	}
	if (child > 0)
		waitpid(child, NULL, 0);
}

static int run(int argc, char **argv, struct error *e)
{
	int rc;

	if (argc != 1) {
		error_set(e, -EINVAL, EXIT_USAGE, argc ? "one JVM at a time" : "no JVM given");
		error_hint(e, "usage: gnomon flame PID|NAME; 'gnomon jvms' lists the JVMs");
		return EXIT_USAGE;
	}
	if (recording_target(&rec, argv[0], e))
		return (int)e->exit;
	rec.cfg.threads = threads.v;
	rec.cfg.nthreads = threads.n;
	rc = recording_run(&rec, e);
	if (rc)
		return rc;
	printf("%s\n", rec.made);
	page_open(rec.made);
	return EXIT_OK;
}

const struct command cmd_flame = {
	.name = "flame",
	.summary = "record a JVM for 10 s and show its flame graph",
	.usage = "flame PID|NAME [-d TIME] [-o FILE.html]",
	.examples = "  gnomon flame 4711\n"
		    "  gnomon flame Bootstrap -d 30 -o tomcat.html\n",
	.notes =
		"Prints the page's path, and on a desktop opens it. The page has CPU and wall "
		"time; 'gnomon\nrecord' does the same with more choices and keeps the recording.\n",
	.opts = opts,
	.takes = TAKES_PID,
	.run = run,
};
