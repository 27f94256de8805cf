/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A JVM process as attaching needs it. Everything goes through a descriptor of /proc/PID, which
 * stays bound to that process: a pid used again is noticed, never followed.
 */
#ifndef GNOMON_JVM_JPROC_H
#define GNOMON_JVM_JPROC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "base/error.h"

struct jproc {
	int dir;     /* /proc/PID; also serves as a pidfd */
	int root;    /* its root directory, O_PATH; -1 if it has none (zombie) */
	pid_t pid;   /* as we see it */
	pid_t inner; /* as it sees itself */
	uid_t uid;   /* effective, as we see them */
	gid_t gid;
	char state;	 /* R S D T t Z X, of the main thread */
	uint64_t caught; /* SigCgt */
};

int jproc_open(struct jproc *p, pid_t pid, struct error *e);
void jproc_close(struct jproc *p);

/* Read the status again; -ESRCH when the process has gone. */
int jproc_refresh(struct jproc *p);

/*
 * Open a path inside the target's root, which the target may have laid out to mislead us: nothing
 * outside the root can be reached, no magic links are followed. flags as for openat().
 */
int jproc_openat(const struct jproc *p, const char *path, int flags);

/*
 * A directory in there, O_PATH, whose file system answers: -ETIMEDOUT when it does not in time
 * (broker/broker.h), so that what is done below will not hang for ever.
 */
int jproc_directory(const struct jproc *p, const char *path);

/* Append at most max bytes of /proc/PID/name. -E2BIG when there are more. */
int jproc_read(const struct jproc *p, const char *name, struct buffer *b, size_t max);

int jproc_signal(const struct jproc *p, int sig);

bool jproc_is_jvm(const struct jproc *p); /* libjvm.so is mapped */
bool jproc_frozen(const struct jproc *p); /* by the cgroup freezer, v1 or v2 */

/* The tid in the target's innermost PID namespace; 0 when the thread is gone. */
uint32_t jproc_inner_tid(const struct jproc *p, pid_t tid);

#endif
