/* SPDX-License-Identifier: Apache-2.0 */
/* What the targets of one recording share. */
#ifndef GNOMON_NAMING_ENV_H
#define GNOMON_NAMING_ENV_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "jfr/write.h"
#include "model/watch.h"
#include "naming/board.h"
#include "naming/resolver.h"

struct tables;
struct vitals_host;

struct target_config {
	uint64_t cpu_ns, wall_ns; /* CPU and wall intervals; 0: not sampled */
	uint64_t duration_ns;	  /* 0: until interrupted */
	bool one_by_one;	  /* an event for each wall tick */
	bool waits;		  /* long waits are events of the JDK's, too; with form.vitals */
	bool causes;		  /* what waits wait for is told */
	bool unmounted;		  /* unmounted virtual threads are told */
	bool environment;	  /* variables of the environment are written; with form.vitals */
	bool launched;		  /* we started the target, and it has not exec'd its program yet */
	uint64_t start_ns;	  /* CLOCK_MONOTONIC, where tick 0's interval begins */
	size_t queue_bytes;	  /* between capture and naming: a power of two, 0 = 32 MiB */
	enum resolver_mode jvm;
	struct jfrw_form form;
	uint64_t total_max_bytes; /* of all files together, 0: no limit */
	struct finished_to finished;
	const struct outfile_maker
		*maker; /* of segments; NULL: they are made where they are written */
	/*
	 * Called on the naming thread when stack ids may mean other code from now on: the kernel is
	 * to send all lists again.
	 */
	void (*on_epoch)(void *ctx);
	/*
	 * On the session's thread: naming was lost, and with it all lists that were sent. May be
	 * NULL.
	 */
	void (*on_lost)(void *ctx);
	/*
	 * Asked on the session's thread, all the time that it waits for naming to be ready: whether
	 * it waits no longer. May be NULL.
	 */
	bool (*interrupted)(void *ctx);
	/* The unwinder has new tables: stacks that it could not walk may be walked now. */
	void (*on_tables)(void *ctx);
	/*
	 * The process's chunk ends soon: what its threads wait for is to be accounted for within
	 * 200 ms.
	 */
	void (*on_chunk_end)(void *ctx, pid_t tgid);
	/* Asked once per thread name; true lets the thread through the filter. May be NULL. */
	bool (*wants_thread)(void *ctx, pid_t tgid, pid_t tid, const char *name);
	void *ctx;
};

struct target_env {
	struct target_config cfg;
	struct resolver_shared *shared;
	struct vitals_host *host;  /* NULL without form.vitals */
	struct tables *tables;	   /* NULL while there is no capture */
	struct frame_name *frames; /* room for TARGET_FRAMES */
	uint64_t file_bytes;	   /* of all files, as their targets told it last */
	struct error failed;	   /* the first error of a writer */
	struct board *board;	   /* what the session is told at once */
	/* the kernel's records of all before have been looked at, if only ahead; 0: not known */
	uint64_t heard_ns;
	uint64_t expect_ns; /* until then a JVM may be about to make its code heaps */
	struct watch_orders watch;
	bool ending; /* the whole recording ends: tables need not be dropped, since their maps go */
};

#define TARGET_FRAMES 2048 /* frames of a named stack, with inlined ones */

#endif
