/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts the agent library where the target can load it: a directory of its own mount namespace that
 * is writable for its user and not mounted noexec (its /tmp, else what else it has). The name is
 * the same at every attach, so a dynamic linker that has it loaded finds it by name. While a gnomon
 * has the file it holds a lock on it: another one waits, and neither removes what the other's JVM
 * is about to load.
 */
#ifndef GNOMON_JVM_AGENTFILE_H
#define GNOMON_JVM_AGENTFILE_H

#include <stdint.h>

#include "base/error.h"
#include "jvm/jproc.h"

/*
 * So long another gnomon's attach to the same JVM is waited for; then the next directory has to do.
 * The whole job has a time limit (attachjob_limit_ms()).
 */
#define AGENTFILE_BUSY_MS 5000

struct agentfile {
	int dir;	      /* -1: nothing to remove */
	int file;	      /* open and locked, with `dir` */
	uint64_t patience_ns; /* till when another gnomon is waited for */
	char name[64];
	char path[512]; /* inside the target */
};

int agentfile_place(struct agentfile *f, const struct jproc *p, struct error *e);
void agentfile_remove(struct agentfile *f, const struct jproc *p);

/* Remove the file at `path` (the target's own word for it) if a gnomon that was killed left it. */
void agentfile_sweep(const struct jproc *p, const char *path);

#endif
