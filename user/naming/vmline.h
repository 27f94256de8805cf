/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a JVM's VM thread did at the last ticks, and which of its threads ran lately: by that it is
 * told for what its other threads waited, and for whom.
 */
#ifndef GNOMON_NAMING_VMLINE_H
#define GNOMON_NAMING_VMLINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct vmline;

struct vmline *vmline_new(void); /* NULL: no memory */
void vmline_free(struct vmline *v);

/* The VM thread, `tid`, was in `op` (model/vmop.h) at `n` ticks from `tick` on: it was off the CPU.
 */
void vmline_note(struct vmline *v, pid_t tid, uint64_t tick, uint32_t n, uint8_t op);

/* It ran, in `op`, close to that tick: which holds for it unless more is known. */
void vmline_near(struct vmline *v, pid_t tid, uint64_t tick, uint8_t op);

/* A thread of Java ran at that time, or was about to. */
void vmline_ran(struct vmline *v, pid_t tid, uint64_t time_ns);

/* Of a thread that waits for it: from the first to the last tick of one wait. */
struct vmline_wait {
	uint64_t first, last;
};

/*
 * The operation at that tick; 0: none, or it is not known. *tid: the VM thread. Of a tick at which
 * it ran, and nothing is known, it is that of ticks of the wait before and behind it, if these have
 * the same.
 */
uint8_t vmline_at(const struct vmline *v, const struct vmline_wait *w, uint64_t tick, pid_t *tid);

/*
 * Of the wait's ticks around that one, at most `n` to each side, that have its operation: the first
 * and the last that it is known for by vmline_note(). False: there is none.
 */
bool vmline_span(const struct vmline *v, const struct vmline_wait *w, uint64_t tick, uint64_t n,
		 struct vmline_wait *span);

/* The last thread that is known to have run at such a time, both ends included; 0: none. */
pid_t vmline_last(const struct vmline *v, uint64_t from_ns, uint64_t to_ns);

#endif
