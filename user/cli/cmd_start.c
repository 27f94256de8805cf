/* SPDX-License-Identifier: Apache-2.0 */
/* gnomon start and stop: which JVMs the daemon records, against its rules. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmds.h"
#include "cli/jvmlist.h"
#include "cli/recording.h"
#include "target/select.h"

static const char *socket_path = CONTROL_PATH;

static const struct opt opts[] = {
	SOCKET_OPT(socket_path),
	{OPT_END},
};

static int argument_check(int argc, const char *command, struct error *e)
{
	if (argc == 1)
		return 0;
	error_set(e, -EINVAL, EXIT_USAGE, argc ? "one JVM at a time" : "no JVM given");
	return error_hint(e, "usage: gnomon %s PID|NAME", command);
}

static int ask(enum control_what what, pid_t pid, struct error *e)
{
	const struct control_request r = {.what = what, .pid = pid};
	struct control_answer a;
	int rc = control_ask(socket_path, &r, &a, e);

	if (rc)
		return rc;
	control_answer_free(&a);
	printf("process %d: %s\n", pid,
	       what == CONTROL_START ? "is recorded within a second" : "is not recorded any more");
	return 0;
}

/*
 * Any JVM of the host: what is not recorded the daemon does not know. Who may not look into a
 * process leaves it to the daemon to say what it is.
 */
static int jvm_find(const char *arg, pid_t *pid, struct error *e)
{
	struct recording by = {0};
	struct select_list l;
	int rc = recording_target(&by, arg, e);

	if (!rc)
		rc = select_all(&by.select, &l, e);
	if (rc && by.select.pid && e->exit == EXIT_PERMISSION) {
		*pid = by.select.pid;
		*e = (struct error){0};
		return 0;
	}
	if (rc)
		return rc;
	if (l.n > 1)
		rc = select_several(&l, "say which by its process id", e);
	else
		*pid = l.v[0].id.pid;
	select_free(&l);
	return rc;
}

static int start(int argc, char **argv, struct error *e)
{
	pid_t pid = 0;
	int rc = argument_check(argc, "start", e);

	if (!rc)
		rc = jvm_find(argv[0], &pid, e);
	if (!rc)
		rc = ask(CONTROL_START, pid, e);
	return rc ? (int)e->exit : EXIT_OK;
}

static int stop(int argc, char **argv, struct error *e)
{
	const struct control_request r = {.what = CONTROL_STATUS};
	struct control_answer a = {0};
	int rc = argument_check(argc, "stop", e);

	if (!rc)
		rc = control_ask(socket_path, &r, &a, e);
	if (!rc)
		rc = jvmlist_one(&a, argv[0], e);
	if (!rc)
		rc = ask(CONTROL_STOP, a.jvms[0].pid, e);
	control_answer_free(&a);
	return rc ? (int)e->exit : EXIT_OK;
}

const struct command cmd_start = {
	.name = "start",
	.summary = "have the daemon record a JVM that its rules leave out",
	.usage = "start PID|NAME [--socket PATH]",
	.opts = opts,
	.notes = "It is recorded until it ends, until 'gnomon stop', or until the daemon is "
		 "restarted.\n",
	.examples = "  gnomon start 4711\n",
	.takes = TAKES_PID,
	.run = start,
	.looks = true,
};

const struct command cmd_stop = {
	.name = "stop",
	.summary = "have the daemon record a JVM no longer",
	.usage = "stop PID|NAME [--socket PATH]",
	.opts = opts,
	.notes = "What was recorded stays. It is recorded again after 'gnomon start', or when the "
		 "daemon is\nrestarted.\n",
	.examples = "  gnomon stop 4711\n",
	.takes = TAKES_PID,
	.run = stop,
};
