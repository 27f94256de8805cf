/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where nothing happens the tick thread leaves out the visits of ticks (capture/ticks.h), and
 * whoever needs the next one rings for it. What it is rung with is a ring buffer to which nothing
 * is ever sent: the kernel wakes who waits for it from an interrupt, so that programs that hold the
 * run queue's lock may ring.
 */
#ifndef GNOMON_BELL_BPF_H
#define GNOMON_BELL_BPF_H

#include "maps.bpf.h"

/* User space makes it a page large. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} bell SEC(".maps") __weak;

/* Not 0: the tick thread waits to be rung for. */
extern __u32 gn_tick_dozes;

/* Ticks of queued threads of which it is not known who had the CPU. */
extern __u64 gn_unseen;

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

static __always_inline void tick_needed(void)
{
	if (UNLIKELY(gn_tick_dozes))
		bell_ring();
}

#endif
