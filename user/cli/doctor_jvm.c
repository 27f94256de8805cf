/* SPDX-License-Identifier: Apache-2.0 */
/* What will work with each JVM of this host. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/doctor.h"
#include "jvm/attach.h"
#include "jvm/vmstructs.h"
#include "run/cpuclocks.h"
#include "sym/debugfile.h"
#include "sym/elf.h"
#include "sym/mapfile.h"
#include "target/jvmproc.h"

static void check_machine(struct doctor *d, const struct jvm_proc *j)
{
	struct check *c;

	if (!j->machine)
		return;
	if (j->machine == jvm_own_machine() && j->elf_class == ELFCLASS64) {
		doctor_add(d, CHECK_OK, EXIT_OK, "architecture", "as gnomon's");
		return;
	}
	c = doctor_add(d, CHECK_MISSING, EXIT_OK, "architecture",
		       j->elf_class == ELFCLASS32 ? "32 bits (ELF machine %u)"
						  : "another one (ELF machine %u)",
		       j->machine);
	doctor_remedy(c, "only 64-bit JVMs of this machine's own architecture can be unwound");
}

/* By the module that would do it. */
static void check_attach(struct doctor *d, const struct jvm_proc *j)
{
	struct attach_status st;
	struct check *c;

	if (attach_judge(j, &st) != ATTACH_OK) {
		c = doctor_add(d, CHECK_DEGRADED, EXIT_OK, "attach", "%s", st.reason);
		doctor_remedy(c, "%s", st.hint[0] ? st.hint : "--jvm vmstructs needs no attach");
	} else {
		doctor_add(d, CHECK_OK, EXIT_OK, "attach", "%s%s",
			   st.listening ? "possible, listening already" : "possible",
			   st.agents == JAVA_AGENTS_DEFAULT && j->release.major >= 21
				   ? "; the JVM will warn of the agent on its stderr"
				   : "");
	}
}

/* What this JVM's tables lack, and what that costs: a list for one line. */
struct field_list {
	char text[160];
	size_t len;
};

static void on_missing(void *arg, const char *name, enum vm_feature f)
{
	struct field_list *l = arg;
	int n = snprintf(l->text + l->len, sizeof(l->text) - l->len, "%s%s (%s)",
			 l->len ? ", " : "", name, vm_feature_name(f));

	if (n > 0 && (size_t)n < sizeof(l->text) - l->len)
		l->len += (size_t)n;
	else
		l->text[l->len] = '\0';
}

static void check_vmstructs(struct doctor *d, const struct jvm_proc *j)
{
	struct error e = {0};
	struct field_list lacks = {0};
	struct check *c;
	struct vm *vm;
	int rc;

	rc = vm_open(j->id.pid, &vm, &e);
	if (rc) {
		c = doctor_add(d, rc == -EACCES || rc == -EPERM ? CHECK_UNKNOWN : CHECK_DEGRADED,
			       EXIT_OK, "vmstructs", "%s", e.msg);
		doctor_remedy(c, "%s", e.hint);
		return;
	}
	vm_missing(vm, on_missing, &lacks);
	vm_close(vm);
	c = doctor_add(d, lacks.len ? CHECK_DEGRADED : CHECK_OK, EXIT_OK, "vmstructs", "%s%s",
		       lacks.len ? "no " : "all that is needed can be read", lacks.text);
	if (lacks.len)
		doctor_remedy(c, "this JDK is not known well enough: please report it");
}

/* The file of libjvm's executable mapping. */
static int library_fd(const struct jvm_proc *j, struct maps *maps, int proc)
{
	const struct mapping *m;
	int rc = maps_read(maps, proc);

	if (rc)
		return rc;
	m = maps_find(maps, j->image.start);
	return m ? mapfile_open(j->id.pid, proc, m, maps_path(maps, m), NULL) : -ENOENT;
}

static int library_open(const struct jvm_proc *j, struct elf_file **f)
{
	struct maps *maps = maps_new();
	char path[32];
	int proc, fd;

	snprintf(path, sizeof(path), "/proc/%d", j->id.pid);
	proc = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fd = !maps ? -ENOMEM : proc < 0 ? -errno : library_fd(j, maps, proc);
	maps_free(maps);
	if (proc >= 0)
		close(proc);
	return fd < 0 ? fd : elf_file_open(f, fd);
}

/* Where the names of the VM's own functions (GC, compilers) would come from. */
static const char *symbols_source(const struct elf_file *f, const struct jvm_proc *j)
{
	struct elf_section s;
	struct elf_file *debug;
	struct debugfile_place place = {.pid = j->id.pid, .path = j->image.path};
	char path[32];
	bool theirs;
	int rc;

	if (!elf_file_section(f, ".symtab", &s))
		return ".symtab";
	if (!elf_file_section(f, ".gnu_debugdata", &s))
		return ".gnu_debugdata";
	snprintf(path, sizeof(path), "/proc/%d", j->id.pid);
	place.proc_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	rc = debugfile_open(&debug, f, &place, &theirs);
	if (place.proc_fd >= 0)
		close(place.proc_fd);
	if (rc)
		return NULL;
	elf_file_close(debug);
	return "separate debug file";
}

static void check_symbols(struct doctor *d, const struct jvm_proc *j)
{
	const char *source;
	struct elf_file *f;
	struct check *c;
	int rc = library_open(j, &f);

	if (rc) {
		c = doctor_add(d, CHECK_DEGRADED, EXIT_OK, "symbols of libjvm", "%s: %s",
			       j->image.path, strerror(-rc));
		doctor_remedy(c, "needs CAP_CHECKPOINT_RESTORE where the file was replaced");
		return;
	}
	source = symbols_source(f, j);
	elf_file_close(f);
	if (source) {
		doctor_add(d, CHECK_OK, EXIT_OK, "symbols of libjvm", "%s", source);
		return;
	}
	c = doctor_add(d, CHECK_DEGRADED, EXIT_OK, "symbols of libjvm",
		       "exported ones only: GC and compiler functions have no names");
	doctor_remedy(c, "install the JDK's debug symbols (Debian: openjdk-%d-dbg)",
		      j->release.major);
}

static void check_library(struct doctor *d, const struct jvm_proc *j)
{
	struct check *c;

	if (!j->image.deleted) {
		doctor_add(d, CHECK_OK, EXIT_OK, "libjvm", "%s", j->image.path);
		return;
	}
	c = doctor_add(d, CHECK_DEGRADED, EXIT_OK, "libjvm", "%s was replaced on disk",
		       j->image.path);
	doctor_remedy(c, "symbols come from the mapped file (CAP_CHECKPOINT_RESTORE); debug "
			 "symbols of the old build may be gone: restart it");
}

static void check_threads(struct doctor *d, const struct jvm_proc *j)
{
	struct rlimit files;

	getrlimit(RLIMIT_NOFILE, &files);
	if (j->threads + 64ULL <= files.rlim_max)
		doctor_add(d, CHECK_OK, EXIT_OK, "threads", "%u%s", j->threads,
			   j->threads > CPUCLOCKS_OWN_MOST
				   ? ": per-CPU clocks, as for all of more than 1,000"
				   : "");
	else
		doctor_remedy(doctor_add(d, CHECK_DEGRADED, EXIT_OK, "threads",
					 "%u, more than the open-files limit: per-CPU clocks",
					 j->threads),
			      "raise it: ulimit -Hn %u", j->threads * 2);
}

static void check_throttling(struct doctor *d, const struct jvm_proc *j)
{
	const struct cgroup_limits *l = &j->limits;

	if (l->quota_us == CGROUP_NO_LIMIT)
		return;
	doctor_add(d, CHECK_OK, EXIT_OK, "CPU limit",
		   "%.2f CPUs; throttled in %llu of %llu periods",
		   (double)l->quota_us / (double)l->period_us, (unsigned long long)l->nr_throttled,
		   (unsigned long long)l->nr_periods);
}

static int check_jvm(const struct jvm_proc *j, void *arg)
{
	struct doctor *d = arg;
	char version[96];

	jvm_version_text(j, version, sizeof(version));
	doctor_group(d, "JVM %d: %s, JDK %s", j->id.pid, j->cmd.main[0] ? j->cmd.main : j->comm,
		     version);
	check_machine(d, j);
	check_attach(d, j);
	check_vmstructs(d, j);
	check_library(d, j);
	check_symbols(d, j);
	check_threads(d, j);
	check_throttling(d, j);
	return 0;
}

void doctor_jvms(struct doctor *d)
{
	struct jvm_skipped skipped = {0};
	size_t before = d->n;

	jvm_list(check_jvm, d, &skipped);
	if (d->n == before || skipped.denied)
		doctor_group(d, "JVMs");
	if (d->n == before)
		doctor_add(d, CHECK_OK, EXIT_OK, "running", "none found");
	if (skipped.denied)
		doctor_remedy(doctor_add(d, CHECK_UNKNOWN, EXIT_OK, "not looked into",
					 "%zu process%s", skipped.denied,
					 skipped.denied == 1 ? "" : "es"),
			      "%s", geteuid() ? "run as root" : "a security policy forbids it");
}
