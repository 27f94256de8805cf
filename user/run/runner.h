/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that runs what a daemon's triggers say. It has the rights that the daemon was started
 * with, which the session's process may have given up (run/renounce.h), and takes from that no more
 * than which trigger fired and about whom: programs, arguments and users are those of the
 * configuration, which it reads itself. Where it is lost its parent makes another one.
 *
 *	rc = runner_start(&r, &triggers, &cfg, &err);	// while there is one thread
 *	...
 *	rc = runner_run(r, &order);
 *	...
 *	runner_stop(r);
 */
#ifndef GNOMON_RUN_RUNNER_H
#define GNOMON_RUN_RUNNER_H

#include <sys/types.h>

#include "base/error.h"
#include "run/trigger.h"

struct runner;

struct runner_config {
	/* Reads the triggers again, with their users. In the runner's process. */
	int (*reload)(void *ctx, struct triggers *out, struct error *e);
	void *ctx;
};

/* What a command is told (run/command.h). */
struct runner_order {
	char trigger[64];
	pid_t pid;
	char name[128], container[64], dir[512], words[200], file[640];
};

/* With the triggers of now. EXIT_INTERNAL: it could not be made. */
int runner_start(struct runner **out, const struct triggers *now, const struct runner_config *cfg,
		 struct error *e);

/* It reads the configuration again. What it says of it: not 0, and *e: its triggers stay. */
int runner_reload(struct runner *r, struct error *e);

/*
 * 0 as soon as the command runs, or a negative errno: -EAGAIN, too many do; -ENOENT: it has no such
 * trigger, or no such program; -ETIMEDOUT: there was no answer; -EPIPE: it is not there.
 */
int runner_run(struct runner *r, const struct runner_order *o);

/* What it has run runs on. NULL is fine. */
void runner_stop(struct runner *r);

#endif
