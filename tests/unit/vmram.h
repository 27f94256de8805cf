/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A JVM's memory of BYTES at RAM, for tests that lay out its structures by hand. Define both before
 * including this.
 */
#ifndef GNOMON_TESTS_VMRAM_H
#define GNOMON_TESTS_VMRAM_H

#include <errno.h>
#include <stdint.h>
#include <string.h>

struct vm;

struct jvm {
	struct vm *vm;
	uint8_t ram[BYTES];
	bool ended; /* with all its memory */
};

static int ram_read(void *ctx, uint64_t addr, void *dst, size_t len)
{
	struct jvm *j = ctx;

	if (j->ended)
		return -ESRCH;
	if (addr < RAM || addr - RAM > BYTES || len > BYTES - (addr - RAM))
		return -EFAULT;
	memcpy(dst, j->ram + (addr - RAM), len);
	return 0;
}

static void put(struct jvm *j, uint64_t at, uint64_t val, size_t width)
{
	memcpy(j->ram + at, &val, width);
}

#endif
