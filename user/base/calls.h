/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which system calls this process has from now on, for good: a seccomp(2) filter, made call by
 * call. What is said of a call first holds. A process with one thread, and without new privileges
 * (base/rights.h).
 */
#ifndef GNOMON_BASE_CALLS_H
#define GNOMON_BASE_CALLS_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CALLS_MAX 384 /* steps of a filter: two for a call */

struct calls {
	struct sock_filter v[CALLS_MAX];
	unsigned short n;
};

/* A call of another kind of machine ends the process; one of x32 is refused. */
void calls_begin(struct calls *c);

void calls_allow(struct calls *c, const uint32_t *nrs, size_t n);
void calls_refuse(struct calls *c, const uint32_t *nrs, size_t n, int error);

/* Allowed where that argument, as far as `mask` (32 bits) goes, is `value`, refused otherwise. */
void calls_allow_if(struct calls *c, uint32_t nr, unsigned int arg, uint32_t mask, uint32_t value);

/*
 * Threads may be made, and no processes: the C library takes clone() where there is no clone3(),
 * whose arguments are in memory.
 */
void calls_allow_threads(struct calls *c);

/* All others are allowed, or refused. It is in force when this returns 0; or -errno. */
int calls_end(struct calls *c, bool others);

#endif
