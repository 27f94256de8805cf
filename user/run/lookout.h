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
#include "target/select.h"

struct lookout;

/* `spec` must outlive it. */
int lookout_start(struct lookout **out, const struct select_spec *spec, struct error *e);

/* Ends the thread; one that does not end in time is left behind, with what it has. NULL is fine. */
void lookout_stop(struct lookout *l);

/* The next JVM that matches, each once. False: there is none. Never waits. */
bool lookout_take(struct lookout *l, struct jvm_proc *out);

/* It could not be taken now: is found again. */
void lookout_again(struct lookout *l, pid_t pid);

#endif
