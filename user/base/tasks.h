/* SPDX-License-Identifier: Apache-2.0 */
/* The threads of a process, by /proc/PID/task: numbers alone, nothing that the process wrote. */
#ifndef GNOMON_BASE_TASKS_H
#define GNOMON_BASE_TASKS_H

#include <stddef.h>
#include <sys/types.h>

/*
 * All thread ids in ascending order, in memory from malloc. A thread that starts meanwhile may be
 * missing: whoever needs all of them reads again until nothing is new. 0, -ESRCH: the process is
 * gone, -ENOMEM or another negative errno; then *tids is NULL.
 */
int tasks_read(pid_t pid, pid_t **tids, size_t *n);

/* Returns the number of threads of a process, without looking at them; 0 if it is gone. */
size_t tasks_count(pid_t pid);

#endif
