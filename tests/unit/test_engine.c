/* SPDX-License-Identifier: Apache-2.0 */
/* The choice between engines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "capture/engine.h"

static void test_wall(void **state)
{
	struct engine_load pingpong = {.switches = 600000, .ticks = 100, .threads = 22};
	struct engine_load idle = {.switches = 200, .ticks = 100, .threads = 10000};
	struct engine_load server = {.switches = 20000, .ticks = 50, .threads = 200};

	assert_int_equal(engine_wall(WALL_ENGINE_SWITCH, &pingpong), WALL_ENGINE_SCAN);
	assert_int_equal(engine_wall(WALL_ENGINE_SCAN, &pingpong), WALL_ENGINE_SCAN);
	assert_int_equal(engine_wall(WALL_ENGINE_SWITCH, &idle), WALL_ENGINE_SWITCH);
	assert_int_equal(engine_wall(WALL_ENGINE_SCAN, &idle), WALL_ENGINE_SWITCH);
	assert_int_equal(engine_wall(WALL_ENGINE_SWITCH, &server), WALL_ENGINE_SWITCH);
}

/* Between the two thresholds nothing changes, whichever is on. */
static void test_wall_hysteresis(void **state)
{
	struct engine_load l = {.switches = 500000, .ticks = 100, .threads = 40};

	assert_true(engine_scan_cost(&l) < engine_switch_cost(&l));
	assert_true(engine_scan_cost(&l) * 2 > engine_switch_cost(&l));
	assert_int_equal(engine_wall(WALL_ENGINE_SWITCH, &l), WALL_ENGINE_SWITCH);
	assert_int_equal(engine_wall(WALL_ENGINE_SCAN, &l), WALL_ENGINE_SCAN);
}

static void test_cpu(void **state)
{
	/* 2% of a core at 650 ns: 30,769 switches per second */
	assert_int_equal(engine_cpu(CPU_ENGINE_THREAD, 30000), CPU_ENGINE_THREAD);
	assert_int_equal(engine_cpu(CPU_ENGINE_THREAD, 31000), CPU_ENGINE_CPU);
	assert_int_equal(engine_cpu(CPU_ENGINE_CPU, 20000), CPU_ENGINE_CPU);
	assert_int_equal(engine_cpu(CPU_ENGINE_CPU, 15000), CPU_ENGINE_THREAD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wall),
		cmocka_unit_test(test_wall_hysteresis),
		cmocka_unit_test(test_cpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
