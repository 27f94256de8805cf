/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the JVM and its environment were set up: flags, the collector's configuration, system
 * properties, environment; written once a file, as soon as the JVM's memory can be read.
 */
#ifndef GNOMON_NAMING_JVMSETUP_H
#define GNOMON_NAMING_JVMSETUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct counters;
struct jfrw;
struct vm;

/*
 * The -XX flags, and what follows from them of the collector and its heap. Returns how large the
 * heap may become, bytes, and in *live what of it may live on: all, or the old generation where
 * that has a place of its own; 0: not known.
 */
uint64_t jvmsetup_flags(struct jfrw *out, uint64_t time, struct vm *vm, uint64_t *live);

/* Those that the counters hold, and -D of the command line. What looks like a secret is masked. */
void jvmsetup_properties(struct jfrw *out, uint64_t time, pid_t pid, struct counters *k);

/* Masked likewise. */
void jvmsetup_environment(struct jfrw *out, uint64_t time, pid_t pid);

#endif
