/* SPDX-License-Identifier: Apache-2.0 */
/* What the targets of one recording share. */
#ifndef GNOMON_NAMING_ENV_H
#define GNOMON_NAMING_ENV_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "jfr/write.h"
#include "naming/resolver.h"

struct tables;

struct target_config {
	uint64_t cpu_ns, wall_ns; /* 0: not sampled */
	uint64_t duration_ns;	  /* 0: until interrupted */
	bool one_by_one;	  /* an event for each wall tick */
	bool launched;		  /* the target is started by us, and not yet what it will be */
	uint64_t start_ns;	  /* of the ticks, CLOCK_MONOTONIC */
	enum resolver_mode jvm;
	struct jfrw_form form;
	/* told from the naming thread whether a stack id's meaning changed (capture_epoch) */
	void (*on_epoch)(void *ctx);
	/* the unwinder has new tables: what it could not walk may be walked now */
	void (*on_tables)(void *ctx);
	/* what its threads wait for is to be accounted for within 200 ms: a chunk will end */
	void (*on_chunk_end)(void *ctx, pid_t tgid);
	/* may be NULL: asked once per thread name; true lets the thread through the filter */
	bool (*wants_thread)(void *ctx, pid_t tid, const char *name);
	void *ctx;
};

struct target_env {
	struct target_config cfg;
	struct resolver_shared *shared;
	struct tables *tables;	   /* NULL while there is no capture */
	struct frame_name *frames; /* room for TARGET_FRAMES */
	struct error failed;	   /* the first error of a writer */
	_Atomic uint64_t hurry_ns; /* until then names are lost by coming late */
	_Atomic uint64_t stop_ns;  /* the recording's end, 0 not known yet */
	uint64_t expect_ns;	   /* until then a JVM may be about to make its code heaps */
	bool ending;		   /* of all: the tables go with the maps that they are in */
};

#define TARGET_FRAMES 2048 /* of a named stack, inlined ones included */

#endif
