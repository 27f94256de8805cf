/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that is locked up. It is a copy of this one, made while there is one thread, and has
 * nothing of it but the memory of then, stderr, the descriptors it is given and the broker's. It
 * ends with whoever made it.
 */
#ifndef GNOMON_NAMING_CELL_H
#define GNOMON_NAMING_CELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct cell;

/* A child of this process that is there already (naming/mould.h). 0 or -errno: it is killed. */
int cell_of(struct cell **out, pid_t pid);

/* Runs main(arg) there. 0 or -errno. */
int cell_start(struct cell **out, void (*main)(void *arg), void *arg, const int *fds, size_t n);

pid_t cell_pid(const struct cell *c); /* 0: it has ended */
void cell_kill(struct cell *c);
bool cell_wait(struct cell *c, int ms); /* for its end, so long at most: whether it has ended */
/* Kills it if it has not ended. One that hangs even so is left behind. NULL is fine. */
void cell_free(struct cell *c);

uint64_t cell_cpu_ns(const struct cell *c);
uint64_t cell_delay_ns(const struct cell *c); /* for so long its first thread waited for a CPU */
uint64_t cell_memory(const struct cell *c);   /* bytes of its own that are resident */

#endif
