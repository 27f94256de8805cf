/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel, what we are allowed to do, and where we run. */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cli/doctor.h"
#include "target/cgroup.h"
#include "target/container.h"
#include "target/jvmproc.h"
#include "target/pidns.h"
#include "target/procfs.h"

#define USER_NS_INIT 0xeffffffdUL /* PROC_USER_INIT_INO */

static long sysctl_long(const char *path, long missing)
{
	char buf[32];

	return file_read(path, buf, sizeof(buf)) > 0 ? strtol(buf, NULL, 10) : missing;
}

/* ---- kernel ---------------------------------------------------------------------------------- */

/* The version is for information: what the kernel can do is tried (doctor_bpf.c). */
static void check_version(struct doctor *d)
{
	struct utsname u;

	uname(&u);
	doctor_add(d, CHECK_OK, EXIT_OK, "version", "Linux %s, %s", u.release, u.machine);
}

/*
 * Tells if gnomon was built for a machine for whose compiled Java code the unwinder has no rules
 * (kern/hotspot.h).
 */
static void check_machine(struct doctor *d)
{
	if (jvm_own_machine() == EM_X86_64)
		return;
	doctor_remedy(doctor_add(d, CHECK_DEGRADED, EXIT_OK, "machine",
				 "stacks end where Java code begins"),
		      "record on x86_64: Java frames are known for that machine only");
}

static void check_lockdown(struct doctor *d)
{
	char buf[128];
	struct check *c;

	if (file_read("/sys/kernel/security/lockdown", buf, sizeof(buf)) <= 0) {
		doctor_add(d, CHECK_OK, EXIT_OK, "lockdown", "not there");
	} else if (strstr(buf, "[confidentiality]")) {
		c = doctor_add(d, CHECK_MISSING, EXIT_KERNEL, "lockdown", "confidentiality");
		doctor_remedy(c, "BPF may not read kernel memory: boot with lockdown=integrity");
	} else {
		doctor_add(d, CHECK_OK, EXIT_OK, "lockdown", "%s",
			   strstr(buf, "[integrity]") ? "integrity" : "none");
	}
}

static void check_jit(struct doctor *d)
{
	long v = sysctl_long("/proc/sys/net/core/bpf_jit_enable", -1);
	struct check *c =
		doctor_add(d, v == 0 ? CHECK_DEGRADED : CHECK_OK, EXIT_OK, "BPF JIT",
			   v == 0  ? "off: BPF programs are interpreted, several times slower"
			   : v < 0 ? "cannot be read; assumed on"
				   : "on");

	if (v == 0)
		doctor_remedy(c, "sysctl net.core.bpf_jit_enable=1");
}

/* Checks by its effect whether we may see kernel addresses: whether those in kallsyms are zeros. */
static void check_kallsyms(struct doctor *d)
{
	long v = sysctl_long("/proc/sys/kernel/kptr_restrict", -1);
	char buf[4096];
	ssize_t n = file_read("/proc/kallsyms", buf, sizeof(buf));
	bool seen = false;
	struct check *c;

	/* per-CPU symbols at the very beginning may be at 0: any address will do */
	for (char *p = buf; n > 0 && p && *p; p = strchr(p, '\n'), p = p ? p + 1 : NULL)
		seen |= strtoull(p, NULL, 16) != 0;
	c = doctor_add(d, seen ? CHECK_OK : CHECK_DEGRADED, EXIT_OK, "kernel symbols",
		       seen ? "readable (kptr_restrict %ld)"
			    : "hidden (kptr_restrict %ld): kernel frames have no names",
		       v);
	if (!seen)
		doctor_remedy(c, v >= 2 ? "sysctl kernel.kptr_restrict=1"
					: "run as root, or with CAP_SYSLOG");
}

static void check_sysctls(struct doctor *d)
{
	long depth = sysctl_long("/proc/sys/kernel/perf_event_max_stack", -1);
	long yama = sysctl_long("/proc/sys/kernel/yama/ptrace_scope", 0);
	struct check *c;

	doctor_add(d, CHECK_OK, EXIT_OK, "perf_event_paranoid", "%ld",
		   sysctl_long("/proc/sys/kernel/perf_event_paranoid", -1));
	c = doctor_add(d, depth >= 0 && depth < 64 ? CHECK_DEGRADED : CHECK_OK, EXIT_OK,
		       "perf_event_max_stack", "%ld frames", depth);
	if (depth >= 0 && depth < 64)
		doctor_remedy(c, "sysctl kernel.perf_event_max_stack=127");
	doctor_add(d, CHECK_OK, EXIT_OK, "unprivileged_bpf_disabled", "%ld",
		   sysctl_long("/proc/sys/kernel/unprivileged_bpf_disabled", -1));
	if (yama < 3) {
		doctor_add(d, CHECK_OK, EXIT_OK, "yama ptrace_scope", "%ld", yama);
		return;
	}
	c = doctor_add(d, CHECK_DEGRADED, EXIT_OK, "yama ptrace_scope",
		       "3: nobody may read another process's memory");
	doctor_remedy(c, "reboot with kernel.yama.ptrace_scope below 3, or use --jvm agent");
}

void doctor_kernel(struct doctor *d)
{
	doctor_group(d, "kernel");
	check_version(d);
	check_machine(d);
	check_lockdown(d);
	check_jit(d);
	check_kallsyms(d);
	check_sysctls(d);
}

/* ---- privileges ------------------------------------------------------------------------------ */

#define CAP_BIT(n) (1ULL << (n))

/* Numbers of linux/capability.h; `instead` is a capability that includes it. */
static const struct {
	int bit, instead;
	const char *name, *purpose;
	enum exit_code fatal;
} caps[] = {
	{39, 21, "CAP_BPF", "load BPF programs", EXIT_PERMISSION},
	{38, 21, "CAP_PERFMON", "trace the scheduler, open clocks", EXIT_PERMISSION},
	{19, 19, "CAP_SYS_PTRACE", "look into other users' processes", EXIT_PERMISSION},
	{2, 1, "CAP_DAC_READ_SEARCH", "read other users' memory, for names", EXIT_OK},
	{21, 21, "CAP_SYS_ADMIN", "enter a container to attach to its JVM", EXIT_OK},
	{34, 34, "CAP_SYSLOG", "names of kernel frames", EXIT_OK},
	{40, 21, "CAP_CHECKPOINT_RESTORE", "read libraries that were replaced on disk", EXIT_OK},
	{24, 24, "CAP_SYS_RESOURCE", "raise the open-files limit", EXIT_OK},
	{23, 23, "CAP_SYS_NICE", "a punctual tick thread", EXIT_OK},
};

static void check_caps(struct doctor *d)
{
	struct proc_status st;

	if (proc_status_read(getpid(), 0, &st))
		return;
	for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++) {
		bool own = st.cap_eff & CAP_BIT(caps[i].bit);
		bool has = own || st.cap_eff & CAP_BIT(caps[i].instead);
		struct check *c = doctor_add(d,
					     has	     ? CHECK_OK
					     : caps[i].fatal ? CHECK_MISSING
							     : CHECK_DEGRADED,
					     caps[i].fatal, caps[i].name, "%s%s", caps[i].purpose,
					     !has || own	    ? ""
					     : caps[i].instead == 1 ? " (by CAP_DAC_OVERRIDE)"
								    : " (by CAP_SYS_ADMIN)");

		if (!has)
			doctor_remedy(c, "%s",
				      geteuid() ? "run as root, or grant it (setcap, --cap-add)"
						: "grant it (--cap-add), or leave the container");
	}
}

static void check_user_ns(struct doctor *d)
{
	struct proc_namespaces ns;
	struct check *c;

	if (proc_namespaces_read(getpid(), &ns) || !ns.user)
		return;
	if (ns.user == USER_NS_INIT) {
		doctor_add(d, CHECK_OK, EXIT_OK, "user namespace", "the host's");
		return;
	}
	c = doctor_add(d, CHECK_MISSING, EXIT_PERMISSION, "user namespace",
		       "not the host's: capabilities here do not count for BPF and perf");
	doctor_remedy(c, "run outside of it (rootless containers cannot profile)");
}

static void check_limits(struct doctor *d)
{
	struct rlimit files, lock;

	getrlimit(RLIMIT_NOFILE, &files);
	getrlimit(RLIMIT_MEMLOCK, &lock);
	doctor_add(d, CHECK_OK, EXIT_OK, "open files",
		   "%llu: per-CPU clocks for targets with more threads than that",
		   (unsigned long long)files.rlim_max);
	/* BPF memory is charged to the cgroup since Linux 5.11: the limit does not matter */
	if (lock.rlim_cur == RLIM_INFINITY)
		doctor_add(d, CHECK_OK, EXIT_OK, "locked memory", "unlimited");
	else
		doctor_add(d, CHECK_OK, EXIT_OK, "locked memory",
			   "%llu KiB (BPF is not subject to it)",
			   (unsigned long long)lock.rlim_cur / 1024);
}

void doctor_privileges(struct doctor *d)
{
	doctor_group(d, "privileges");
	check_caps(d);
	check_user_ns(d);
	check_limits(d);
}

/* ---- surroundings ---------------------------------------------------------------------------- */

static void check_pid_ns(struct doctor *d)
{
	struct error e = {0};
	struct check *c;

	if (pidns_check(&e)) {
		c = doctor_add(d, CHECK_MISSING, e.exit, "PID namespace", "%s", e.msg);
		doctor_remedy(c, "%s", e.hint);
		return;
	}
	if (!pidns_is_private()) {
		doctor_add(d, CHECK_OK, EXIT_OK, "PID namespace", "the host's");
		return;
	}
	c = doctor_add(d, CHECK_DEGRADED, EXIT_OK, "PID namespace",
		       "a container's: only the JVMs in it are visible");
	doctor_remedy(c, "for all JVMs of the host use its namespace (--pid=host, hostPID: true)");
}

static void check_cgroups(struct doctor *d)
{
	struct cgroup_mounts m;
	struct container own;

	if (cgroup_mounts_read(&m) || (!m.v2.point[0] && !m.cpu.point[0]))
		doctor_remedy(doctor_add(d, CHECK_DEGRADED, EXIT_OK, "control groups",
					 "not mounted: no container limits, no freezer state"),
			      "mount cgroup2 on /sys/fs/cgroup");
	else
		doctor_add(d, CHECK_OK, EXIT_OK, "control groups", "%s",
			   !m.v2.point[0]   ? "version 1"
			   : m.cpu.point[0] ? "hybrid (version 1 controllers)"
					    : "version 2");
	if (!container_read(getpid(), &own) && own.kind != CONTAINER_NONE)
		doctor_add(d, CHECK_OK, EXIT_OK, "this is a container", "%s %.12s",
			   container_kind_name(own.kind), own.id);
}

static int hidepid_find(const struct proc_mount *m, void *arg)
{
	bool *hidden = arg;

	if (!strcmp(m->point, "/proc") && !strcmp(m->fstype, "proc"))
		*hidden = strstr(m->options, "hidepid=") && !strstr(m->options, "hidepid=0") &&
			  !strstr(m->options, "hidepid=off");
	return 0;
}

static void check_proc(struct doctor *d)
{
	bool hidden = false;
	struct check *c;
	char *text;
	size_t len;

	if (proc_read_all(getpid(), "mountinfo", 1u << 20, &text, &len))
		return;
	proc_mountinfo_parse(text, len, hidepid_find, &hidden);
	free(text);
	if (!hidden)
		return;
	c = doctor_add(d, CHECK_DEGRADED, EXIT_OK, "/proc", "hides processes (hidepid)");
	doctor_remedy(c, "run as root with CAP_SYS_PTRACE");
}

void doctor_surroundings(struct doctor *d)
{
	doctor_group(d, "surroundings");
	check_pid_ns(d);
	check_cgroups(d);
	check_proc(d);
}
