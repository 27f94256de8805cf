/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an agent's stream (agent/stream.h) says, indexed: code addresses in time, names, lines,
 * inlining, threads. Everything fed in is hostile: it is checked, and what is kept is bounded.
 * Not thread safe.
 */
#ifndef GNOMON_JVM_AGENTINDEX_H
#define GNOMON_JVM_AGENTINDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/frame.h"

struct agentindex;

struct agentindex_stats {
	uint64_t records;  /* accepted */
	uint64_t lost;	   /* gaps in the sequence numbers */
	uint64_t bad;	   /* malformed or of a type that is not known */
	uint64_t refused;  /* did not fit into max_bytes */
	uint64_t nameless; /* code whose method's names had not come: lost */
	uint64_t bytes;	   /* held now, about */
	uint32_t methods, codes, threads;
};

/*
 * max_bytes bounds what is held; 0 means 256 MiB: when it is reached, code that is gone and then
 * names that no code needs are forgotten. NULL when out of memory.
 */
struct agentindex *agentindex_new(size_t max_bytes);
void agentindex_free(struct agentindex *ix);

/*
 * Take in whole records. Returns the bytes used: less than len when the last record is not whole.
 * -EBADMSG where a record's size makes no sense: what follows cannot be read.
 */
int64_t agentindex_feed(struct agentindex *ix, const uint8_t *p, size_t len);

/* What is fed next does not follow what was fed last, and nothing is missing between. */
void agentindex_resume(struct agentindex *ix);

void agentindex_stats(const struct agentindex *ix, struct agentindex_stats *s);

/* Nonce of the last session whose emission is complete, 0 if none. */
uint64_t agentindex_marked(const struct agentindex *ix);

/*
 * Logical frames at pc when it was executed at time (CLOCK_MONOTONIC ns), innermost first, at most
 * max. For a return address pass the address minus 1. 0 if no code is known there. The strings live
 * until the next feed.
 */
int agentindex_lookup(struct agentindex *ix, uint64_t pc, uint64_t time, struct frame_name *out,
		      int max);

/* Start and size of the code around pc; false if none is known. */
bool agentindex_range(struct agentindex *ix, uint64_t pc, uint64_t time, uint64_t *start,
		      uint32_t *size);

/* NULL if unknown; valid until the next feed. tid is in the target's own PID namespace. */
const char *agentindex_thread_by_tid(struct agentindex *ix, uint32_t tid);

/* When it ended, as its end was told; 0 while it lives, or is not known. */
uint64_t agentindex_thread_ended(struct agentindex *ix, uint32_t tid);

const char *agentindex_thread_by_address(struct agentindex *ix, uint64_t javathread);

/* Every thread of which the JavaThread* is known; tid is 0 where it is not. */
typedef void (*agentindex_thread_fn)(uint64_t javathread, uint32_t tid, const char *name,
				     void *arg);
void agentindex_threads(struct agentindex *ix, agentindex_thread_fn fn, void *arg);
void agentindex_thread_bind(struct agentindex *ix, uint64_t javathread, uint32_t tid);

#endif
