/* SPDX-License-Identifier: Apache-2.0 */
/* gnomon perfmap: the names of a JVM's compiled code for perf, bpftrace and other tools. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/cmds.h"
#include "cli/units.h"
#include "jvm/agent.h"
#include "target/jvmproc.h"
#include "target/procfs.h"
#include "target/select.h"

static uint64_t timeout_ns = 10000000000ull;

static const struct opt options[] = {
	{OPT_DURATION, 0, "timeout", "TIME", "how long the JVM may take (default 10s)", &timeout_ns,
	 .min = 100000000ull, .max = 3600000000000ull},
	{OPT_END},
};

/* Says where the map lies: perf wants it in /tmp of the host, named by the pid that perf knows. */
static void tell(const struct jvm_proc *j)
{
	char inside[64], outside[96], path[96];
	struct stat a, b;

	snprintf(inside, sizeof(inside), "/tmp/perf-%d.map", j->inner_pid);
	snprintf(outside, sizeof(outside), "/proc/%d/root%s", j->id.pid, inside);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", j->id.pid);
	if (!stat(path, &a) && !stat(outside, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino) {
		printf("%s\n", path);
		return;
	}
	printf("%s\n", outside);
	log_info("inside its container that is '%s'; tools on the host look for '%s'", inside,
		 path);
}

/* Checks that there is a file of the JVM's, written just now, since the JVM does not tell. */
static int check_written(const struct jvm_proc *j, time_t since, struct error *e)
{
	int tmp = proc_root_dir(j->id.pid, "/tmp"), rc = -ENOENT;
	char name[32];
	struct stat st;

	snprintf(name, sizeof(name), "perf-%d.map", j->inner_pid);
	if (tmp >= 0 && !fstatat(tmp, name, &st, AT_SYMLINK_NOFOLLOW))
		rc = S_ISREG(st.st_mode) && st.st_uid == j->uid && st.st_size &&
				     st.st_mtime >= since
			     ? 0
			     : -EEXIST;
	if (tmp >= 0)
		close(tmp);
	if (!rc)
		return 0;
	error_set(e, rc, EXIT_TARGET, "process %d could not write its '/tmp/%s'", j->id.pid, name);
	return error_hint(e, rc == -EEXIST ? "something else is in its place: remove it"
					   : "its /tmp has to be writable, with room in it");
}

static int run(int argc, char **argv, struct error *e)
{
	time_t since = time(NULL);
	struct jvm_proc j;
	pid_t pid = 0;

	if (argc != 1) {
		if (argc)
			error_set(e, -EINVAL, EXIT_USAGE, "unexpected argument '%s'", argv[1]);
		else
			error_set(e, -EINVAL, EXIT_USAGE, "no process given");
		error_hint(e, "give one PID ('gnomon jvms' lists the JVMs)");
		return EXIT_USAGE;
	}
	if (pid_parse(argv[0], &pid)) {
		error_set(e, -EINVAL, EXIT_USAGE, "'%s' is no process id", argv[0]);
		error_hint(e, "'gnomon jvms' lists the JVMs");
		return EXIT_USAGE;
	}
	if (select_pid(pid, &j, e) || agent_write_perfmap(pid, (int)(timeout_ns / 1000000), e) ||
	    check_written(&j, since, e))
		return (int)e->exit;
	tell(&j);
	return EXIT_OK;
}

const struct command cmd_perfmap = {
	.name = "perfmap",
	.summary = "write a JVM's perf map, for perf and bpftrace",
	.usage = "perfmap [--timeout TIME] PID",
	.opts = options,
	.notes =
		"Names what is compiled now, once: run it again for code compiled later. The file "
		"is\n"
		"written by the JVM itself, as its own user, to /tmp/perf-N.map with N its pid as "
		"it "
		"sees\n"
		"it; the path by which this host reaches it is printed. Attaches to the JVM: JDK "
		"21 "
		"and\n"
		"later then write a warning to its stderr unless -XX:+EnableDynamicAgentLoading is "
		"set.\n",
	.examples = "  gnomon perfmap 4711\n"
		    "  gnomon perfmap 4711 && perf record -g -p 4711 -- sleep 10\n",
	.takes = TAKES_PID,
	.run = run,
	.looks = true,
};
