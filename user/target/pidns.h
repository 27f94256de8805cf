/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gnomon's own PID namespace, a container's perhaps. It uses that namespace's numbers throughout:
 * /proc and system calls speak them, and so do its BPF programs (kern/pidns.bpf.h).
 */
#ifndef GNOMON_TARGET_PIDNS_H
#define GNOMON_TARGET_PIDNS_H

#include <stdbool.h>

#include "base/error.h"

/* 0, or -EXDEV (EXIT_PERMISSION) with the remedy: /proc is another namespace's. */
int pidns_check(struct error *e);

/* Pure. `self`: the target of the link /proc/self, NULL where there is none; `own`: getpid(). */
int pidns_judge(const char *self, int own, struct error *e);

/* Not the initial namespace: processes outside it cannot be seen. */
bool pidns_is_private(void);

#endif
