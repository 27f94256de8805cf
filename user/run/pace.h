/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Has each process of a session sampled as often as is wished (run/rates.h): the file is told, then
 * the kernel side, and the CPUs' clocks follow the finest. On the session's thread.
 */
#ifndef GNOMON_RUN_PACE_H
#define GNOMON_RUN_PACE_H

#include <stdint.h>
#include <sys/types.h>

#include "run/rates.h"

struct capture;
struct cpuclocks;
struct pace;
struct recorder;

/* What is wished of a process now. It does not wait. */
typedef void (*pace_fn)(void *ctx, pid_t pid, struct rate_now *out);

struct pace_config {
	struct capture *capture; /* opened with `rates` */
	struct recorder *recorder;
	struct cpuclocks *clocks;
	pace_fn wished;
	void *ctx;
};

struct pace *pace_new(const struct pace_config *cfg); /* NULL: no memory */
void pace_free(struct pace *p);			      /* NULL is fine */

/* Ten times a second, and when a process has come. */
void pace_poll(struct pace *p);

#endif
