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
	struct engine_load pingpong = {
		.switches = 300000, .ticks = 100, .moved = 10, .threads = 22, .wakers = true};
	struct engine_load idle = {.switches = 200, .ticks = 100, .moved = 2, .threads = 10000};
	struct engine_load server = {.switches = 20000, .ticks = 50, .moved = 90, .threads = 200};
	struct engine_load database = {
		.switches = 120000, .ticks = 100, .moved = 64, .threads = 70, .wakers = true};

	assert_int_equal(engine_wall(WALL_ENGINE_SWITCH, &pingpong), WALL_ENGINE_SCAN);
	assert_int_equal(engine_wall(WALL_ENGINE_SCAN, &pingpong), WALL_ENGINE_SCAN);
	assert_int_equal(engine_wall(WALL_ENGINE_SWITCH, &idle), WALL_ENGINE_SWITCH);
	assert_int_equal(engine_wall(WALL_ENGINE_SCAN, &idle), WALL_ENGINE_SWITCH);
	assert_int_equal(engine_wall(WALL_ENGINE_SWITCH, &server), WALL_ENGINE_SWITCH);
	assert_int_equal(engine_wall(WALL_ENGINE_SWITCH, &database), WALL_ENGINE_SWITCH);
	assert_int_equal(engine_wall(WALL_ENGINE_SCAN, &database), WALL_ENGINE_SWITCH);
}

/* Two percent of a core have to be saved where wakers are told, half a percent elsewhere. */
static void test_wall_wakers(void **state)
{
	struct engine_load l = {.switches = 150000, .ticks = 100, .moved = 4, .threads = 22};

	assert_int_equal(engine_wall(WALL_ENGINE_SWITCH, &l), WALL_ENGINE_SCAN);
	l.wakers = true;
	assert_true(engine_scan_cost(&l) * 2 < engine_switch_cost(&l));
	assert_int_equal(engine_wall(WALL_ENGINE_SWITCH, &l), WALL_ENGINE_SWITCH);
	assert_int_equal(engine_wall(WALL_ENGINE_SCAN, &l), WALL_ENGINE_SCAN);
}

/* No more threads can have moved than there are, or than switches were seen. */
static void test_wall_moved(void **state)
{
	struct engine_load few = {.switches = 200, .ticks = 100, .moved = 2, .threads = 5};
	struct engine_load more = few;

	more.moved = 1000;
	assert_true(engine_scan_cost(&few) == engine_scan_cost(&more));
	few.switches = more.switches = 100000;
	few.moved = 5;
	assert_true(engine_scan_cost(&few) == engine_scan_cost(&more));
}

/* Between the two thresholds nothing changes, whichever is on. */
static void test_wall_hysteresis(void **state)
{
	struct engine_load l = {.switches = 500000, .ticks = 100, .moved = 40, .threads = 40};

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
		cmocka_unit_test(test_wall),	   cmocka_unit_test(test_wall_wakers),
		cmocka_unit_test(test_wall_moved), cmocka_unit_test(test_wall_hysteresis),
		cmocka_unit_test(test_cpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
