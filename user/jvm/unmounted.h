/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unmounted virtual threads, which no carrier runs: JDK 21 and later. The kernel does not know
 * them. They are found as the JDK itself finds them for a thread dump
 * (jdk.internal.vm.ThreadContainers): each container has a set of its threads, a
 * java.util.concurrent.ConcurrentHashMap: the root container has those that were started with
 * nothing else, and each executor its own, by a registry. What a thread waits for lies in its
 * continuation's StackChunk.
 *
 * There may be a million, so some are sampled. All places of all tables, one behind the other, are
 * cut into as many equal stretches as places are to be sampled. One random place of each stretch is
 * looked at, with all threads that hang there. So each place, and each thread, is sampled with the
 * same probability, however many share its place, and a thread stands for 1 / probability = places
 * / sampled places: sums of that are right on average. (Which place a thread hangs at goes by its
 * identity hash, which has nothing to do with where it waits.)
 *
 * The JVM runs meanwhile. A stack is told only if it was the thread's at one instant: it is read
 * twice, with the thread's state between, and was the same both times. Objects move meanwhile. Of
 * most collectors they do while all threads are stopped: a sample during which that
 * was so does not count. ZGC moves them at any time: references are followed as its load barrier
 * does it (zheap.h), before and behind that instant, and nothing counts of a draw during which one
 * of its phases began. Shenandoah is not known. What cannot be told is counted.
 */
#ifndef GNOMON_JVM_UNMOUNTED_H
#define GNOMON_JVM_UNMOUNTED_H

#include <stdbool.h>
#include <stdint.h>

#include "kern/abi.h"

struct vm;
struct unmounted;

#define UNMOUNTED_NAME 128 /* bytes of a name kept, with the terminator */

enum unmounted_state {
	UNMOUNTED_NONE = 0, /* it is mounted, or has ended, or is about to */
	UNMOUNTED_QUEUED,   /* may run, and waits for a carrier */
	UNMOUNTED_PARKED,
	UNMOUNTED_PARKED_TIMED,
	UNMOUNTED_BLOCKED, /* on a monitor: since JDK 24 */
	UNMOUNTED_WAITING, /* in Object.wait() */
	UNMOUNTED_WAITING_TIMED,
	UNMOUNTED_STATES
};

struct unmounted_thread {
	int64_t id; /* Thread.threadId() */
	enum unmounted_state state;
	const struct gn_frame *frames; /* innermost first; none: it has not begun */
	uint32_t nframes;
	bool cut;      /* there are more */
	uint64_t name; /* for unmounted_name() */
};

/* What was found at places that were looked at, and what not. */
struct unmounted_counts {
	uint64_t threads;   /* virtual ones, whatever they do */
	uint64_t told;	    /* those that are unmounted, and whose place is known */
	uint64_t mounted;   /* carriers run them, or are about to; or they have ended */
	uint64_t unsettled; /* they changed while they were read */
	uint64_t unknown;   /* what was found is no stack */
	uint64_t strange; /* places with something that is no entry of a map, or too many of them */
};

/* NULL: out of memory. */
struct unmounted *unmounted_new(void);
void unmounted_free(struct unmounted *u);

/*
 * Looks which containers there are. 0; -ENOENT: there are no virtual threads so far; -EAGAIN: not
 * now, as a collection is under way; -ENOTSUP: this JVM does not tell.
 */
int unmounted_begin(struct unmounted *u, struct vm *vm);

/* After that: the number of places, and of containers that were too many to be looked at. */
uint64_t unmounted_places(const struct unmounted *u);
uint64_t unmounted_left_out(const struct unmounted *u);

/*
 * Samples n of the places, or takes all of them if there are no more, and tells of each unmounted
 * thread found there. 0: it counts, and each stands for places / min(n, places) of them; -EAGAIN:
 * objects moved, and nothing of it counts; -E2BIG: nor does it where there was far more to read
 * than in any heap that a program makes. `random` is any number.
 */
typedef void (*unmounted_fn)(void *ctx, const struct unmounted_thread *t);
int unmounted_draw(struct unmounted *u, struct vm *vm, uint32_t n, uint64_t random, unmounted_fn fn,
		   void *ctx, struct unmounted_counts *counts);

/* Within fn: what the thread is called, "" for most. */
void unmounted_name(struct vm *vm, uint64_t name, char buf[static UNMOUNTED_NAME]);

#endif
