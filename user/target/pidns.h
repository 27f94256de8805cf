/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the numbers of processes mean the same to BPF, to /proc and to system calls. BPF programs
 * see those of the initial PID namespace; a container mostly has a namespace of its own.
 */
#ifndef GNOMON_TARGET_PIDNS_H
#define GNOMON_TARGET_PIDNS_H

#include <stdbool.h>

#include "base/error.h"

/* 0, or -EXDEV (EXIT_PERMISSION) with the remedy. */
int pidns_check(struct error *e);

/*
 * Pure. `self`: the target of the link /proc/self, NULL where there is none; `own`: getpid();
 * `ns`: the target of /proc/self/ns/pid, NULL where that cannot be read (then it is not judged).
 */
int pidns_judge(const char *self, int own, const char *ns, struct error *e);

#endif
