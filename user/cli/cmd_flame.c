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

static struct recording rec = {
	.format = FMT_HTML,
	.render = RENDERING_INIT,
	.cfg = {.duration_ns = 10 * RECORDING_S,
		.cpu_ns = RECORDING_CPU_NS,
		.wall_ns = RECORDING_WALL_NS},
};
static bool no_open;

static const struct opt opts[] = {
	RECORDING_OPTS(rec, "10s", "FILE.html", "the page (default NAME-PID-TIME.html here)"),
	{OPT_FLAG, 0, "no-open", NULL, "do not open it in a browser", &no_open},
	{OPT_END},
};

/*
 * Opens the page on a desktop; others have its path. Under sudo nothing is opened, since it would
 * run as root.
 */
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
		_exit(0); /* there is no such program: the path was printed */
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
	if (format_page(rec.output, e) || recording_target(&rec, argv[0], e))
		return (int)e->exit;
	rc = recording_run(&rec, e);
	if (rc)
		return rc;
	printf("%s\n", rec.made);
	page_open(rec.made);
	return EXIT_OK;
}

const struct command cmd_flame = {
	.name = "flame",
	.summary =
		"record a JVM for 10 s and show its page: findings, threads over time, flame graph",
	.usage = "flame PID|NAME [-d TIME] [-o FILE.html]",
	.examples = "  gnomon flame 4711\n"
		    "  gnomon flame Bootstrap -d 30 -o tomcat.html\n",
	.notes = "Prints the page's path, and on a desktop opens it. The page says in words what "
		 "stands "
		 "out,\nand has CPU and wall time of threads and methods; '?' lists its keys. "
		 "'gnomon "
		 "record' does\nthe same with more choices and keeps the recording.\n",
	.opts = opts,
	.takes = TAKES_PID,
	.run = run,
	.looks = true,
};
