/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where ticks need no visit the tick thread leaves them out (capture/ticks.h), and is rung for when
 * one does. What it is rung with is a ring buffer to which nothing is ever sent: the kernel wakes
 * who waits for it from an interrupt, so that programs that hold the run queue's lock may ring.
 */
#ifndef GNOMON_BELL_BPF_H
#define GNOMON_BELL_BPF_H

#include "maps.bpf.h"

/* User space makes it a page large. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} bell SEC(".maps") __weak;

/* enum gn_doze; whoever rings makes it GN_DOZE_NOT. */
extern __u32 gn_tick_dozes;

static __noinline __attribute__((unused)) int bell_ring(void)
{
	void *r;

	if (!__sync_lock_test_and_set(&gn_tick_dozes, 0))
		return 0;
	r = bpf_ringbuf_reserve(&bell, 8, 0);
	if (r)
		bpf_ringbuf_discard(r, BPF_RB_FORCE_WAKEUP);
	return 0;
}

/* The next tick is to be visited, whatever is pending then. */
static __always_inline void tick_needed(void)
{
	if (UNLIKELY(gn_tick_dozes))
		bell_ring();
}

/* The next tick is to be visited unless it is over by then what it is to be visited for. */
static __always_inline void tick_wanted(void)
{
	if (UNLIKELY(gn_tick_dozes == GN_DOZE_ALL))
		bell_ring();
}

#endif
