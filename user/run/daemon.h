/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session without an end, for all JVMs that its rules want: each has a directory in which a file
 * follows another (jfr/segment.h), of which the oldest go (run/retention.h). Beside the session's
 * threads it has one that may wait for the disk: it reads the configuration again at SIGHUP, keeps
 * the directory within its bounds, and tells who started it that it lives (run/notify.h); and one
 * that answers whoever asks (run/control.h), as well it can: recording does not depend on it.
 * Commands are run by a process beside it (run/runner.h).
 */
#ifndef GNOMON_RUN_DAEMON_H
#define GNOMON_RUN_DAEMON_H

#include "base/error.h"
#include "model/delivery.h"
#include "run/budget.h"
#include "run/retention.h"
#include "run/rules.h"
#include "run/session.h"
#include "run/trigger.h"

/* What may change while it records. */
struct daemon_orders {
	struct rules rules;
	struct triggers triggers; /* the daemon's, once they are handed over */
	struct retention_policy keep;
	struct budget_limits budget;
};

struct daemon_config {
	struct session_config record; /* how; targets and hooks are not looked at */
	const char *dir;	      /* made where it is missing */
	const char *socket;	      /* where it is asked; "none": nowhere */
	uint32_t gid;	     /* whose members may ask it and read `dir`; (uint32_t)-1: nobody */
	const char *metrics; /* a file of metrics, written anew every 10 s; NULL: none */
	const char *version;
	fleet_name_fn name; /* of a JVM's directory in it */
	void *name_ctx;
	/*
	 * Other orders, for which `*orders` are given in exchange. Not 0, with *e: they stay as
	 * they are.
	 */
	int (*reload)(void *ctx, struct daemon_orders *orders, struct error *e);
	/* The triggers alone, and as whom they run what; in the process that does (run/runner.h) */
	int (*triggers)(void *ctx, struct triggers *out, struct error *e);
	/* What was sent so far; on any thread. NULL: nothing is. */
	void (*delivery)(void *ctx, struct delivery *d);
	void *ctx;
};

/*
 * Until SIGINT or SIGTERM. EXIT_OUTPUT: the directory cannot be had, or another daemon has it.
 * `orders` are the first ones, and at the end the last.
 */
int daemon_run(const struct daemon_config *cfg, struct daemon_orders *orders, struct error *e);

#endif
