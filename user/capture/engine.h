/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the cheaper way of sampling for what a target does. Each has its price per switch, or per
 * thread and tick. The choice changes only if that clearly pays.
 */
#ifndef GNOMON_CAPTURE_ENGINE_H
#define GNOMON_CAPTURE_ENGINE_H

#include <stdint.h>

/* As an option: AUTO lets the engine change while recording. */
enum wall_engine { WALL_ENGINE_AUTO, WALL_ENGINE_SWITCH, WALL_ENGINE_SCAN };
enum cpu_engine { CPU_ENGINE_AUTO, CPU_ENGINE_THREAD, CPU_ENGINE_CPU };

struct engine_load {
	double switches; /* of target threads, per second */
	double ticks;	 /* per second */
	uint64_t threads;
};

/* Cost in ns per second. */
double engine_switch_cost(const struct engine_load *l);
double engine_scan_cost(const struct engine_load *l);

/* What to use from now on. `now` is what is used: SWITCH or SCAN. */
enum wall_engine engine_wall(enum wall_engine now, const struct engine_load *l);

/*
 * CPU samples: THREAD until clocks bound to threads cost more than 2% of a core at this rate of
 * switches, then CPU until it has fallen to half of that.
 */
enum cpu_engine engine_cpu(enum cpu_engine now, double switches);

const char *engine_wall_name(enum wall_engine e);

#endif
