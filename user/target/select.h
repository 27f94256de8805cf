/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From what a person asks for (-p, --name, --container, --cgroup, --all-jvms) to JVMs, with an
 * error that says what is there instead when there is no match.
 */
#ifndef GNOMON_TARGET_SELECT_H
#define GNOMON_TARGET_SELECT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "target/jvmproc.h"

/* Exactly one of pid, name, container, cgroup, all; select_check() says so. */
struct select_spec {
	pid_t pid;
	/*
	 * A glob (fnmatch(3)) over the main class or jar as the command line has it, and over its
	 * last part: "*.Bootstrap", "Bootstrap", "app.jar" all match. --name.
	 */
	const char *name;
	const char *container; /* name, id, or the beginning of an id */
	const char *cgroup;    /* the process is in it or below it */
	bool all;
};

struct select_list {
	struct jvm_proc *v; /* ascending pids */
	size_t n;
};

static inline bool select_given(const struct select_spec *s)
{
	return s->pid || s->name || s->container || s->cgroup || s->all;
}

/* EXIT_USAGE unless exactly one way of selecting was given. */
int select_check(const struct select_spec *spec, struct error *e);

/* Pure but for `mounts`. Whether a JVM is meant: for those that start while recording. */
bool select_match(const struct select_spec *spec, const struct cgroup_mounts *mounts,
		  const struct jvm_proc *j);

/*
 * One JVM by pid. Errors, each with its remedy: no such process, a zombie, a thread of another
 * process, not a JVM, not permitted (EXIT_TARGET, the last EXIT_PERMISSION).
 */
int select_pid(pid_t pid, struct jvm_proc *out, struct error *e);

/* All that match, at least one. Free with select_free(). */
int select_all(const struct select_spec *spec, struct select_list *out, struct error *e);
void select_free(struct select_list *l);

/* The error for a list of more than one where one is wanted: it names them behind the remedy.
 * -E2BIG. */
int select_several(const struct select_list *l, const char *remedy, struct error *e);

#endif
