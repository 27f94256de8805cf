/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a JVM keeps the tid of a Java thread: JavaThread -> OSThread -> thread id, by two offsets
 * that differ from JVM to JVM, and that nobody tells. They are found by looking for tids that are
 * known. The memory is the target's: it may hold anything, and the search is bounded.
 */
#ifndef GNOMON_JVM_TIDPLACE_H
#define GNOMON_JVM_TIDPLACE_H

#include <stddef.h>
#include <stdint.h>

#include "jvm/mem.h"

#define TIDPLACE_READS 200000 /* of one search, beyond two for each thread */

struct tidplace {
	uint32_t osthread;  /* in a JavaThread: the OSThread* */
	uint32_t thread_id; /* in an OSThread: the tid */
};

struct tidplace_thread {
	uint64_t javathread;
	uint32_t tid; /* 0 where it is not known */
};

/* What there is to go by; the reader is the caller's. */
struct tidplace_census {
	mem_read_fn read;
	void *ctx;
	const struct tidplace_thread *threads;
	size_t nthreads;
	const uint32_t *tids; /* of the process's tasks, sorted, none 0 */
	size_t ntids;
};

/*
 * The place by which all threads have tids of the process, no two the same, and the known ones
 * theirs; a few may have ended meanwhile. 0; -ENOENT: there is none, no thread's tid is known, or
 * the search was given up; -ENOMEM.
 */
int tidplace_find(const struct tidplace_census *c, struct tidplace *out);

/* The tid of a JavaThread by that place, 0 where it is none of the process's. */
uint32_t tidplace_tid(const struct tidplace_census *c, const struct tidplace *at,
		      uint64_t javathread);

#endif
