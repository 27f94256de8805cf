/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tick thread: wakes just after each wall tick and has the threads that are still off the CPU
 * since before it, and have no stack, read from outside. Its delay is what makes misses (a thread
 * that woke between the tick and the visit), so it runs with raised priority: real time where that
 * is allowed, else nice -20. While little is to be done, or others read who rests, it leaves ticks
 * out: a timer looks at them, and wakes it for one that needs it (kern/ticker.bpf.c). It also
 * chooses between the two wall engines (capture/engine.h).
 */
#ifndef GNOMON_CAPTURE_TICKS_H
#define GNOMON_CAPTURE_TICKS_H

#include <stdint.h>

#include "base/error.h"
#include "capture/engine.h"

struct capture;
struct ticks;

struct ticks_config {
	uint64_t start_ns, wall_ns; /* as in the capture's configuration */
	enum wall_engine engine;    /* AUTO: the cheaper one, reconsidered each second */
};

struct ticks_stats {
	uint64_t ticks; /* ticks visited */
	uint64_t late;	/* of these, visited more than 1 ms after their time, and capture_near() */
	uint64_t pending; /* threads looked at */
	uint64_t taken;	  /* stacks taken */
	uint64_t changes; /* of the engine */
	uint64_t dozes;	  /* times that ticks were left out */
};

/*
 * Starts the thread. The capture must have begun with the engine asked for; with AUTO it begins
 * with switches if the kernel can do that.
 */
int ticks_start(struct ticks **out, struct capture *c, const struct ticks_config *cfg,
		struct error *e);

/* The engine in use: SWITCH or SCAN. From any thread. */
enum wall_engine ticks_engine(const struct ticks *t);

/* Ends the thread. NULL is fine. `out` may be NULL. */
void ticks_stop(struct ticks *t, struct ticks_stats *out);

#endif
