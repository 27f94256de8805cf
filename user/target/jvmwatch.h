/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JVMs as they appear, from /proc, for less than listing them all each time: one directory read a
 * look, and a closer one only at processes that are new, young, or have become another program.
 */
#ifndef GNOMON_TARGET_JVMWATCH_H
#define GNOMON_TARGET_JVMWATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "target/jvmproc.h"

struct jvmwatch;

/* NULL: no memory. */
struct jvmwatch *jvmwatch_new(void);
void jvmwatch_free(struct jvmwatch *w);

/* False: not now, tell it again. */
typedef bool (*jvmwatch_fn)(const struct jvm_proc *j, void *arg);

/*
 * Look once, about every second. Calls cb for each JVM not told before; a process that becomes a
 * JVM is told within 5 s of an exec and 30 s of loading libjvm.so late in its life, at once while
 * it is young; so is one that cb did not take. 0, or a negative errno when /proc cannot be read.
 */
int jvmwatch_look(struct jvmwatch *w, uint64_t now_ns, jvmwatch_fn cb, void *arg);

/*
 * What was told of could not be taken, for a reason that the key stands for. It is told of again
 * when there is room, one process each time, in the order in which they were first seen; else after
 * a minute, of all such processes one a look: reading one may cost much, and who starts them can
 * have thousands.
 */
void jvmwatch_put_off(struct jvmwatch *w, pid_t pid, uint64_t key);
void jvmwatch_room(struct jvmwatch *w, uint64_t key);

/* Tell of all once more, at the next look. */
void jvmwatch_again_all(struct jvmwatch *w);

struct jvmwatch_stats {
	uint64_t looks, stats, maps; /* directory reads, processes read shallowly and closely */
	size_t known;
};
void jvmwatch_stats(const struct jvmwatch *w, struct jvmwatch_stats *out);

#endif
