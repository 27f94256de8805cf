/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which memory of a process may be read where one stands. A page of a file comes from the file's
 * system, when it is not there yet: one that does not answer (FUSE, a network's) holds up who reads
 * for ever. What mappings lie on is asked once for each device.
 */
#ifndef GNOMON_JVM_MEMGUARD_H
#define GNOMON_JVM_MEMGUARD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct memguard;

/* NULL with errno. */
struct memguard *memguard_open(pid_t pid);
void memguard_close(struct memguard *g); /* NULL is fine */

/*
 * 0: it may be read; -EREMOTE: only by somebody who may be lost (broker_memory()); -EFAULT: there
 * is nothing. Before Linux 6.11 the text of all mappings tells, which is up to a second old, or a
 * hundred times as old as reading it takes: what was mapped or unmapped since may be told wrongly.
 */
int memguard_look(struct memguard *g, uint64_t addr, size_t len);

/* As before Linux 6.11: for tests. */
void memguard_by_text(struct memguard *g);

#endif
