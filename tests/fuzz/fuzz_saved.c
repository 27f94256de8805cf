/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks saved from live JVMs (tests/data/stacks), with bytes changed, moved or missing: of the
 * stack, the code heap, the layout, the rules, the registers. The walk must end, with a reason,
 * within its cap, with sp rising.
 */
// FUZZ-LINK:
#include <stdint.h>

#include "kern/hotspot.h"
#include "kern/unwind_walk.h"
#include "tests/savedjvm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct saved_walk walk;

	if (!saved_walk_open(&walk, data, size))
		saved_walk_run(&walk);
	return 0;
}
