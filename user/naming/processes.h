/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes beside a JVM, which its recording names. They are read once for all JVMs that begin
 * within a second: a hundred JVMs of a host would each go over all of its processes.
 */
#ifndef GNOMON_NAMING_PROCESSES_H
#define GNOMON_NAMING_PROCESSES_H

#include <stdint.h>
#include <sys/types.h>

struct jfrw;
struct processes;

/* NULL: out of memory. */
struct processes *processes_new(void);
void processes_free(struct processes *p);

/*
 * Writes the processes in the PID namespace of `pid`, by the name of their program: arguments of
 * others are nobody's business. `now_ns`: CLOCK_MONOTONIC.
 */
void processes_write(struct processes *p, struct jfrw *out, uint64_t now_ns, pid_t pid);

/* Gives the memory back where nobody has asked for a while; cheap, call it often. */
void processes_rest(struct processes *p, uint64_t now_ns);

#endif
