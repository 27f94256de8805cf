/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Has an eye on the JVMs of a daemon for its triggers (run/trigger.h), and does what they say:
 * rates for a time, a copy of the last minutes in DIR/triggered, a command. On a thread that may
 * wait for the disk, but sentry_jvm(), sentry_watch() and sentry_tell(), which any may call.
 */
#ifndef GNOMON_RUN_SENTRY_H
#define GNOMON_RUN_SENTRY_H

#include "run/control.h"
#include "run/trigger.h"

struct sentry;

struct runner;

struct sentry_config {
	const char *dir; /* of recordings */
	struct rates *rates;
};

struct sentry *sentry_new(const struct sentry_config *cfg); /* NULL: no memory */
void sentry_free(struct sentry *s);

/* Other triggers, which become the sentry's: what it knew of JVMs is forgotten. */
void sentry_orders(struct sentry *s, struct triggers *t);
bool sentry_is_idle(struct sentry *s); /* it has no triggers */

/* By whom commands are run from now on; NULL: they are not. */
void sentry_runner(struct sentry *s, struct runner *r);

/* A JVM that is recorded, and which of the triggers are about it. */
void sentry_jvm(struct sentry *s, const struct cgroup_mounts *mounts, const struct jvm_proc *j);

/* Once a second, with all that are recorded: who is not among them any more has ended. */
void sentry_second(struct sentry *s, const struct control_answer *a);

/* What naming is to be told of them, if these are others than those of orders->number. */
void sentry_watch(struct sentry *s, struct watch_orders *orders);

/* Tells how often each trigger has fired. */
void sentry_tell(struct sentry *s, struct control_state *to);

#endif
