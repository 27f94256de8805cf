/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who attaches to JVMs: a process with the rights for it, which makes another one for each job,
 * that is killed when it takes too long; or, without it, a thread of this process.
 */
#ifndef GNOMON_JVM_ATTACHER_H
#define GNOMON_JVM_ATTACHER_H

#include "jvm/attachjob.h"

/* To be called once, while there is one thread. 0 or -errno. */
int attacher_start(void);
void attacher_stop(void);

/* What a process made of this one has to keep; -1: there is none. */
int attacher_descriptor(void);

struct attacher_run;

/* Begins a job; its answers come from *from, attachjob_take(). 0 or -errno. */
int attacher_run(struct attacher_run **out, const struct attachjob *job, int *from);

/* Waits for a thread's end; a process is left to its deadline. */
void attacher_end(struct attacher_run *run);

/* Gives up a job that has taken longer than it may, without waiting for who does it. */
void attacher_leave(struct attacher_run *run);

#endif
