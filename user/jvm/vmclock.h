/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock of a JVM's counters in ours. Its ticks are those of CLOCK_MONOTONIC since its own start
 * (os::elapsed_counter()), which it does not tell; but
 *
 * - it notes the wall clock's millisecond some us after tick 0 (sun.rt.createVmBeginTime), which is
 *   half a millisecond of doubt where the wall clock was not set since,
 * - it samples its clock each 50 ms (sun.os.hrt.ticks): what we read was written before we read it,
 *   and after we last read another.
 *
 * The second bounds the first, and stands alone where they disagree. Where the JVM's memory can be
 * searched for what it has of tick 0 itself, that is taken, as long as it lies within these bounds.
 * All of it is pure.
 */
#ifndef GNOMON_JVM_VMCLOCK_H
#define GNOMON_JVM_VMCLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct vmclock {
	uint64_t hz;	     /* ticks a second; 0: not known yet */
	int64_t least, most; /* of tick 0 in CLOCK_MONOTONIC, ns: by what was read when */
	int64_t begin;	     /* of the millisecond noted, in CLOCK_MONOTONIC */
	bool has_begin;
	int64_t zero;		 /* tick 0, as the JVM has it; 0 not known */
	uint64_t ticks, read_ns; /* the last sampling, and when the read of it began */
};

/* Before anything was read. */
#define VMCLOCK_INIT                                                                               \
	{                                                                                          \
		.least = INT64_MIN, .most = INT64_MAX                                              \
	}

/*
 * What was read between from_ns and until_ns (CLOCK_MONOTONIC). begin_ms 0: it is not told;
 * wall_ahead_ns: what the wall clock is ahead of CLOCK_MONOTONIC by now.
 */
void vmclock_look(struct vmclock *c, uint64_t hz, uint64_t ticks, uint64_t begin_ms,
		  int64_t wall_ahead_ns, uint64_t from_ns, uint64_t until_ns);

/* Between what moments tick 0 lies. False: not known. */
bool vmclock_bounds(const struct vmclock *c, int64_t *least, int64_t *most);

/* Takes note of what the JVM has of tick 0. */
void vmclock_zero(struct vmclock *c, int64_t zero);

/* A span in ns. */
uint64_t vmclock_span(const struct vmclock *c, uint64_t ticks);

/* The moment in CLOCK_MONOTONIC, 0 while it is not known. */
uint64_t vmclock_time(const struct vmclock *c, uint64_t ticks);

/* It is wrong by so much at most, ns. UINT64_MAX: not known. */
uint64_t vmclock_error(const struct vmclock *c);

#endif
