/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks for JVMs that start while recording, on a thread of its own: looking at a process may take
 * as long as its files take to be opened (broker/broker.h), and draining waits for nobody.
 */
#ifndef GNOMON_RUN_LOOKOUT_H
#define GNOMON_RUN_LOOKOUT_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "target/jvmproc.h"

struct lookout;

/* Tells whether a JVM is to be recorded. Called on the lookout's thread. */
typedef bool (*lookout_fn)(void *ctx, const struct cgroup_mounts *mounts, const struct jvm_proc *j);

int lookout_start(struct lookout **out, lookout_fn wants, void *ctx, struct error *e);

/* Ends the thread; one that does not end in time is left behind, with what it has. NULL is fine. */
void lookout_stop(struct lookout *l);

/* Tells it so, and does not wait: its time runs from now on. NULL is fine. */
void lookout_end(struct lookout *l);

/*
 * The next JVM that is meant, each once; after lookout_all() also those that are not. False: there
 * is none. Never waits.
 */
struct lookout_found {
	struct jvm_proc jvm;
	bool wanted;
};
bool lookout_take(struct lookout *l, struct lookout_found *out);

/* Who is meant may have changed: all JVMs there are are told once more. */
void lookout_all(struct lookout *l);

/*
 * What was taken has no place now, for the reason that the key stands for: it is found again when
 * there is room, or after a while (target/jvmwatch.h).
 */
void lookout_put_off(struct lookout *l, pid_t pid, uint64_t key);

/* There is room for one that was put off for this reason. */
void lookout_room(struct lookout *l, uint64_t key);

#endif
