/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the modules of this folder read a target's memory. The caller decides whether that may hold
 * it up (jvm/memguard.h) and which process it is.
 */
#ifndef GNOMON_CONTEXT_MEMORY_H
#define GNOMON_CONTEXT_MEMORY_H

#include <stddef.h>
#include <stdint.h>

struct ctx_memory {
	/* Reads len bytes at addr: 0, or a negative errno when not all of them can be had. */
	int (*read)(void *arg, uint64_t addr, void *dst, size_t len);
	void *arg;
};

static inline int ctx_memory_read(const struct ctx_memory *m, uint64_t addr, void *dst, size_t len)
{
	return m->read(m->arg, addr, dst, len);
}

static inline int ctx_memory_word(const struct ctx_memory *m, uint64_t addr, uint64_t *v)
{
	return m->read(m->arg, addr, v, sizeof(*v));
}

#endif
