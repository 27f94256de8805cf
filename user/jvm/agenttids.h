/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which tid a thread has: between PID namespaces (the agent knows the inner tid, the kernel's
 * records the outer one) and from a JavaThread* to the tid in its OSThread.
 */
#ifndef GNOMON_JVM_AGENTTIDS_H
#define GNOMON_JVM_AGENTTIDS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "jvm/agentindex.h"
#include "jvm/jproc.h"

struct agenttids;

struct agenttids *agenttids_new(const struct jproc *p); /* p must outlive it */
void agenttids_free(struct agenttids *t);

/* As the kernel says it now, or said it of a thread that has ended since. 0 if unknown. */
uint32_t agenttids_inner(struct agenttids *t, pid_t tid);

/* Is there a thread of that number that began after `time` (CLOCK_MONOTONIC, ns)? tid is outer. */
bool agenttids_is_younger(const struct agenttids *t, pid_t tid, uint64_t time);

/* New threads may be there: note their tids while they live (needed in PID namespaces only). */
void agenttids_learn(struct agenttids *t, struct agentindex *ix);

/*
 * Find where OSThread and its thread id lie, from threads of which both JavaThread* and tid are
 * known, check it on all others, and bind those. 0, or -ENOENT when no place fits.
 */
int agenttids_calibrate(struct agenttids *t, struct agentindex *ix);

#endif
