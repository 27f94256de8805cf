/* SPDX-License-Identifier: Apache-2.0 */
#include "target/select.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"
#include "target/pidns.h"

#define SELECT_SHOWN 5 /* JVMs named in a hint */

int select_check(const struct select_spec *s, struct error *e)
{
	int n = !!s->pid + !!s->name + !!s->container + !!s->cgroup + s->all;

	if (n == 1)
		return 0;
	error_set(e, -EINVAL, EXIT_USAGE,
		  n ? "more than one way to select JVMs given" : "no JVM selected");
	return error_hint(e, "give one of -p PID, --name GLOB, --container ID|NAME, --cgroup PATH, "
			     "--all-jvms; `gnomon jvms` lists what there is");
}

/* ---- matching -------------------------------------------------------------------------------- */

/* What follows the last '/' or, for a class, the last '.': "Main" of "mod/org.example.Main". */
static const char *last_part(const char *s, char sep)
{
	const char *at = strrchr(s, sep);

	return at ? at + 1 : s;
}

static bool name_match(const char *glob, const struct java_cmd *c)
{
	const char *base = last_part(c->main, '/');

	if (!c->main[0])
		return false;
	if (!fnmatch(glob, c->main, 0) || !fnmatch(glob, base, 0))
		return true;
	return (c->kind == JAVA_MAIN_CLASS || c->kind == JAVA_MAIN_MODULE) &&
	       !fnmatch(glob, last_part(base, '.'), 0);
}

bool select_match(const struct select_spec *s, const struct cgroup_mounts *mounts,
		  const struct jvm_proc *j)
{
	if (s->pid)
		return j->id.pid == s->pid;
	if (s->name)
		return name_match(s->name, &j->cmd);
	if (s->container)
		return container_match(&j->container, s->container);
	if (s->cgroup)
		return cgroup_within(mounts, &j->cgroup, s->cgroup);
	return s->all;
}

/* ---- what there is --------------------------------------------------------------------------- */

struct jvm_names {
	char text[200];
	size_t n;
	size_t more;
};

static void shown_add(struct jvm_names *s, const struct jvm_proc *j)
{
	size_t at = strlen(s->text);
	char one[80];

	if (s->n++ >= SELECT_SHOWN) {
		s->more++;
		return;
	}
	snprintf(one, sizeof(one), "%s%d %.32s", at ? ", " : "", j->id.pid,
		 j->cmd.main[0] ? last_part(j->cmd.main, '/') : j->comm);
	if (at + strlen(one) < sizeof(s->text) - 16)
		memcpy(s->text + at, one, strlen(one) + 1);
	else
		s->more++;
}

static int shown_cb(const struct jvm_proc *j, void *arg)
{
	shown_add(arg, j);
	return 0;
}

/* The hint of every "no match": the JVMs there are. */
static void hint_jvms(struct error *e)
{
	struct jvm_names s = {0};
	struct jvm_skipped skipped = {0};

	jvm_list(shown_cb, &s, &skipped);
	if (!s.n && pidns_is_private())
		error_hint(e, "no JVM in gnomon's own PID namespace, which is all it sees; for "
			      "those of the host start it with --pid=host (Kubernetes: hostPID: "
			      "true)");
	else if (!s.n)
		error_hint(e, skipped.denied && geteuid()
				      ? "no JVM is visible to this user; try as root"
				      : "no JVM is running here; start one with: gnomon record -- "
					"java ...");
	else if (s.more)
		error_hint(e, "JVMs here: %s and %zu more (gnomon jvms)", s.text, s.more);
	else
		error_hint(e, "JVMs here: %s", s.text);
}

/* ---- by pid ---------------------------------------------------------------------------------- */

static int denied(pid_t pid, struct error *e)
{
	struct proc_status st;
	char of[32] = "";

	if (!proc_status_read(pid, 0, &st))
		snprintf(of, sizeof(of), " of user %u", st.uid[1]);
	error_set(e, -EACCES, EXIT_PERMISSION, "not permitted to look into process '%d'%s", pid,
		  of);
	return error_hint(e, geteuid() ? "run as root, or with CAP_SYS_PTRACE (see: gnomon doctor)"
				       : "CAP_SYS_PTRACE is missing, or a security policy forbids "
					 "it (see: gnomon doctor)");
}

static int no_such(pid_t pid, struct error *e)
{
	error_set(e, -ESRCH, EXIT_TARGET, "no such process: '%d'", pid);
	hint_jvms(e);
	return -ESRCH;
}

/* Of a process whose main thread has ended the kernel shows no memory, though its others run. */
static int main_thread_ended(pid_t pid, const char *comm, struct error *e)
{
	error_set(e, -ESRCH, EXIT_TARGET,
		  "the main thread of process '%d' (%s) has ended: /proc shows no memory of the "
		  "others",
		  pid, comm);
	return error_hint(e, "let its main thread wait for the others, as that of java does");
}

/* Neither gone nor a thread: why it is not a JVM. */
static int not_jvm(pid_t pid, const struct proc_stat *st, struct error *e)
{
	char exe[256], comm[PROC_COMM_LEN];
	const char *p;

	utf8_printable(st->comm, comm, sizeof(comm));
	if (st->state == 'Z' && st->threads > 1)
		return main_thread_ended(pid, comm, e);
	if (st->state == 'Z' || st->state == 'X')
		error_set(e, -ESRCH, EXIT_TARGET, "process '%d' (%s) has ended: it is a zombie",
			  pid, comm);
	else if (st->flags & PROC_PF_KTHREAD)
		error_set(e, -ENOEXEC, EXIT_TARGET, "process '%d' is a kernel thread (%s)", pid,
			  comm);
	else if (proc_link_read(pid, "exe", exe, sizeof(exe)) <= 0)
		error_set(e, -ENOEXEC, EXIT_TARGET, "process '%d' (%s) is not a JVM", pid, comm);
	else {
		utf8_clean(exe, strlen(exe), false);
		p = last_part(exe, '/');
		error_set(e, -ENOEXEC, EXIT_TARGET,
			  "process '%d' is not a JVM: it runs %s and has no libjvm.so mapped", pid,
			  strcmp(p, "java") ? exe : "java");
	}
	hint_jvms(e);
	return e ? e->rc : -ENOEXEC;
}

int select_pid(pid_t pid, struct jvm_proc *out, struct error *e)
{
	struct proc_stat st;
	pid_t tgid;
	int rc;

	/* /proc lists no threads, but opens them: a thread's directory looks like a process's */
	rc = proc_tgid(pid, &tgid);
	if (rc == -ESRCH)
		return no_such(pid, e);
	if (!rc && tgid != pid) {
		error_set(e, -EINVAL, EXIT_TARGET, "'%d' is a thread of process '%d'", pid, tgid);
		return error_hint(e, "use -p %d", tgid);
	}
	if (!rc)
		rc = jvm_proc_read(pid, out);
	if (!rc)
		return 0;
	if (rc == -EACCES || rc == -EPERM)
		return denied(pid, e);
	if (rc != -ENOEXEC && rc != -ESRCH)
		return error_set(e, rc, EXIT_INTERNAL, "cannot read process '%d': %s", pid,
				 strerror(-rc));
	if (proc_leader_read(pid, &st))
		return no_such(pid, e);
	return not_jvm(pid, &st, e);
}

/* ---- by anything else ------------------------------------------------------------------------ */

struct collection {
	const struct select_spec *spec;
	struct cgroup_mounts mounts;
	struct select_list *out;
};

static int collect_cb(const struct jvm_proc *j, void *arg)
{
	struct collection *c = arg;
	struct jvm_proc *v;

	if (!select_match(c->spec, &c->mounts, j))
		return 0;
	v = realloc(c->out->v, (c->out->n + 1) * sizeof(*v));
	if (!v)
		return -ENOMEM;
	c->out->v = v;
	v[c->out->n++] = *j;
	return 0;
}

static int none_found(const struct select_spec *s, const struct jvm_skipped *skipped,
		      struct error *e)
{
	/* where even root may not look there is nothing to be advised */
	bool denied = skipped->denied && geteuid();
	int rc = denied ? -EACCES : -ESRCH;
	enum exit_code code = denied ? EXIT_PERMISSION : EXIT_TARGET;

	if (s->name)
		error_set(e, rc, code, "no JVM whose main class or jar matches '%s'", s->name);
	else if (s->container)
		error_set(e, rc, code, "no JVM in a container '%s'", s->container);
	else if (s->cgroup)
		error_set(e, rc, code, "no JVM in cgroup '%s'", s->cgroup);
	else
		error_set(e, rc, code, "no JVM found");
	if (denied)
		error_hint(e, "%zu processes could not be looked into: try as root",
			   skipped->denied);
	else
		hint_jvms(e);
	return rc;
}

int select_all(const struct select_spec *spec, struct select_list *out, struct error *e)
{
	struct collection c = {.spec = spec, .out = out};
	struct jvm_skipped skipped;
	int rc;

	*out = (struct select_list){0};
	if (spec->pid) {
		out->v = calloc(1, sizeof(*out->v));
		if (!out->v)
			return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
		out->n = 1;
		rc = select_pid(spec->pid, out->v, e);
		if (rc)
			select_free(out);
		return rc;
	}
	cgroup_mounts_read(&c.mounts);
	rc = jvm_list(collect_cb, &c, &skipped);
	if (rc) {
		select_free(out);
		return error_set(e, rc, EXIT_INTERNAL, "cannot list processes: %s", strerror(-rc));
	}
	return out->n ? 0 : none_found(spec, &skipped, e);
}

void select_free(struct select_list *l)
{
	free(l->v);
	*l = (struct select_list){0};
}

int select_several(const struct select_list *l, const char *remedy, struct error *e)
{
	struct jvm_names s = {0};

	for (size_t i = 0; i < l->n; i++)
		shown_add(&s, &l->v[i]);
	error_set(e, -E2BIG, EXIT_TARGET, "%zu JVMs match, one is wanted", l->n);
	return error_hint(e, "%s: %s%s", remedy, s.text, s.more ? ", ..." : "");
}
