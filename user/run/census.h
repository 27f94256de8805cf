/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a daemon knows of the JVMs that it records, for whoever asks (run/control.h). Each function
 * may be called from any thread, and none waits for the disk.
 */
#ifndef GNOMON_RUN_CENSUS_H
#define GNOMON_RUN_CENSUS_H

#include "run/control.h"
#include "target/jvmproc.h"

struct census;

struct census *census_new(void); /* NULL: no memory */
void census_free(struct census *c);

/* A JVM is about to be recorded, into `dir`. */
void census_jvm(struct census *c, const struct jvm_proc *j, const char *dir);

/*
 * Once a second: census_target() for each that is recorded, then census_second() with what is known
 * of all; who was not among them has ended. `now_ns`: CLOCK_MONOTONIC.
 */
void census_target(struct census *c, pid_t pid, const struct totals *t, uint64_t now_ns);
void census_second(struct census *c, const struct control_state *s, uint64_t now_ns);

/*
 * Takes note of what the files of a JVM take, by the name of its directory. After all of them comes
 * census_disk_end(): a JVM that was not among them has no files.
 */
void census_disk(struct census *c, const char *name, uint64_t bytes);
void census_disk_end(struct census *c);

/* All of it; what is not told by census_second() is left to the caller. 0 or -ENOMEM. */
int census_take(struct census *c, struct control_answer *a);

#endif
