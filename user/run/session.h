/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One recording, from its start to its summary: of one process, or of several, a file each.
 *
 * States: prepared (file open, BPF loaded) -> sampling -> stopping (clocks closed, open intervals
 * accounted, rings drained) -> finished. An error or a signal in any state leads through the later
 * ones in order, so whatever was recorded is in a complete file.
 */
#ifndef GNOMON_RUN_SESSION_H
#define GNOMON_RUN_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "capture/engine.h"
#include "jfr/finished.h"
#include "jfr/form.h"
#include "model/cost.h"
#include "model/totals.h"
#include "naming/resolver.h"
#include "run/fleet.h"
#include "run/pace.h"
#include "target/jvmproc.h"

struct session_target {
	pid_t pid;	  /* 0 with argv */
	const char *path; /* of its recording */
	struct jvm_owner owner;
};

/* What a session is doing, each second. */
struct session_now {
	uint64_t elapsed_ns; /* since sampling began */
	size_t processes;
	struct totals totals;
	struct overhead_cost cost;
};

/*
 * For who has it go on and on. Called on the session's thread, which drains the rings: none of them
 * waits for anybody. Each may be NULL.
 */
struct session_hooks {
	/*
	 * All other processes are made, and with `isolate` the session's has given up its rights:
	 * the first moment for other threads. Not 0, with *e: it ends.
	 */
	int (*apart)(void *ctx, struct error *e);
	void (*began)(void *ctx);
	/* of each process, before `second`; with `rate`: its switches, capture_switches_of() */
	void (*target)(void *ctx, pid_t pid, const struct totals *t, uint64_t switches);
	void (*second)(void *ctx, const struct session_now *now);
	void (*hangup)(void *ctx); /* SIGHUP, which ends a session otherwise */
	pace_fn rate; /* of a process; NULL: cpu_ns and wall_ns of all. With `follow` */
	/* what triggers want to know: others, once orders->number differs */
	void (*watch)(void *ctx, struct watch_orders *orders);
	bool (*chosen)(void *ctx); /* who is to be recorded has changed since this was last asked */
	bool answers; /* on a socket that it has: `isolate` leaves it what that takes */
	void *ctx;
};

struct session_config {
	const struct session_target *targets; /* exactly one without `follow` */
	size_t ntargets;
	char *const *argv; /* a program to start and record */
	/*
	 * JVMs that match are recorded as they start, each into a file that `name` finds a name
	 * for; the session does not end with its targets then, and CPU samples come from per-CPU
	 * clocks.
	 */
	lookout_fn follow;
	void *follow_ctx;
	size_t owner_max;	  /* then: processes of one user in one container */
	uint64_t total_max_bytes; /* of all files together, 0: no limit */
	fleet_name_fn name;
	void *name_ctx;
	bool overwrite;
	uint64_t duration_ns;	  /* 0: until interrupted or the target ends */
	uint64_t cpu_ns, wall_ns; /* with hooks.rate: what is usual; and the finest that there is */
	enum cpu_engine clock;
	enum wall_engine wall_engine;
	enum resolver_mode jvm;
	const char *const *threads; /* name globs or tids; a thread matching any is sampled */
	size_t nthreads;
	uint32_t depth;	    /* user frames of a stack at most, 0: as there is room for */
	uint32_t reservoir; /* wall samples of so many threads of a process at a time, 0: of all */
	bool one_by_one;    /* an event for each wall tick */
	bool waits;	    /* long waits are events of the JDK's, too; with form.vitals */
	bool causes;	    /* what waits wait for is told */
	bool unmounted;	    /* so are unmounted virtual threads */
	bool only_context;  /* wall samples only of threads that work for a request */
	bool environment;   /* its variables are recorded; with form.vitals */
	struct jfrw_form form;
	struct finished_to finished; /* who is told of chunks that are whole */
	uint64_t ring_bytes;	     /* of each CPU's ring at first, 0: as capture has it */
	uint64_t queue_bytes;	     /* of the queue to the naming thread, 0: as naming has it */
	bool quiet;		     /* no progress, no summary */
	bool isolate;		     /* naming is a process without rights */
	struct session_hooks hooks;
	const char
		*becomes; /* what the one recording is rendered into afterwards; NULL: it stays */
};

/*
 * Blocks SIGINT, SIGTERM and SIGHUP for its duration and takes them as "finish now". A program that
 * it started is waited for when the recording is finished; *status is its exit code, or 128 + the
 * number of the signal that ended it, and 0 without one. After an error it is left running.
 */
int session_run(const struct session_config *cfg, int *status, struct error *e);

#endif
