/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads' births and ends, as jdk.ThreadStart and jdk.ThreadEnd. The kernel tells of each as it
 * happens; a thread has its name some 100 us after its birth, so the events wait for it. One that
 * has ended when its birth is heard of has the kernel's name, not Java's, and cannot be told from
 * the JVM's own threads: so these have events, too. What never named itself has none.
 */
#ifndef GNOMON_NAMING_LIFESPANS_H
#define GNOMON_NAMING_LIFESPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct jfrw;
struct member;
struct roster;

struct lifespans {
	struct lifespan {
		pid_t tid;
		bool end;
		uint64_t time_ns;
	} * v; /* in the order of their coming */
	size_t n;
};

/* The id of a thread in the file. */
typedef uint32_t (*lifespan_thread_fn)(void *ctx, struct member *m);

/* Out of memory is one event less. */
void lifespans_note(struct lifespans *l, pid_t tid, uint64_t time_ns, bool end);

/* Is there room for no more? Then all are to be written at once. */
bool lifespans_full(const struct lifespans *l);

/* Those that are old enough at `now`, UINT64_MAX: all. */
void lifespans_write(struct lifespans *l, struct jfrw *out, struct roster *threads,
		     lifespan_thread_fn thread, void *ctx, uint64_t now);

void lifespans_free(struct lifespans *l);

#endif
