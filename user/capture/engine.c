/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/engine.h"

#define SWITCH_NS 65.0	  /* wall_switch without the reading of two clocks that measures it */
#define TICK_NS	  20000.0 /* an iterator made, run and closed */
#define THREAD_NS 500.0	  /* a thread looked at by wall_scan */
#define STACK_NS  6000.0
#define CLOCK_NS  650.0 /* stopping and starting a clock bound to a thread, at each switch */
#define SECOND	  1e9

#define WALL_WORTH (0.005 * SECOND) /* saved by a change: half a percent of a core */
#define CPU_BUDGET (0.02 * SECOND)

double engine_switch_cost(const struct engine_load *l)
{
	return l->switches * SWITCH_NS;
}

/* Every thread at every tick, and a stack of each that ran since the tick before. */
double engine_scan_cost(const struct engine_load *l)
{
	double threads = (double)l->threads, ran;

	if (l->ticks <= 0)
		return 0;
	ran = l->switches / l->ticks;
	if (ran > threads)
		ran = threads;
	return l->ticks * (TICK_NS + threads * THREAD_NS + ran * STACK_NS);
}

enum wall_engine engine_wall(enum wall_engine now, const struct engine_load *l)
{
	double by_switch = engine_switch_cost(l), by_scan = engine_scan_cost(l);

	if (now == WALL_ENGINE_SWITCH && by_scan * 2 < by_switch &&
	    by_switch - by_scan > WALL_WORTH)
		return WALL_ENGINE_SCAN;
	if (now == WALL_ENGINE_SCAN && by_switch < by_scan)
		return WALL_ENGINE_SWITCH;
	return now;
}

enum cpu_engine engine_cpu(enum cpu_engine now, double switches)
{
	double cost = switches * CLOCK_NS;

	if (cost > CPU_BUDGET)
		return CPU_ENGINE_CPU;
	return cost < CPU_BUDGET / 2 ? CPU_ENGINE_THREAD : now;
}

const char *engine_wall_name(enum wall_engine e)
{
	static const char *const names[] = {"auto", "switch", "scan"};

	return names[e];
}
