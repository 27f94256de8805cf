/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stream between the JVMTI agent (writer, inside the JVM) and the collector (reader): one
 * memfd named GNA_MEMFD, found by the collector under /proc/PID/fd.
 *
 *   0            struct gna_header, padded to GNA_DATA
 *   GNA_DATA     ring of `ring_size` bytes (a power of two), addressed by positions that only grow
 *
 * The writer never waits for a reader: it overwrites the oldest bytes. Before it writes beyond
 * `reserve` it moves `reserve`; when a record is whole it moves `wpos`. A reader copies
 * [its position, wpos) and then reads `reserve` again: what lies below reserve - ring_size may have
 * been overwritten meanwhile and must be dropped. So any number of readers can follow one ring, and
 * one that dies leaves nothing behind.
 *
 * A reader is a *session*: it asks for a slot by attaching with "session=NONCE" and keeps the slot
 * alive by moving `lease` forward. When no lease is valid the agent switches its events off at the
 * next one that arrives.
 *
 * All numbers are in native byte order; both sides are the same machine. Times are CLOCK_MONOTONIC
 * nanoseconds as the target sees it (a time namespace may shift it).
 */
#ifndef GNOMON_AGENT_STREAM_H
#define GNOMON_AGENT_STREAM_H

#include <stdint.h>

#define GNA_MEMFD   "gnomon-agent"
#define GNA_MAGIC   0x31544e4741464e47ULL
#define GNA_VERSION 1
#define GNA_DATA    65536 /* a multiple of every page size */

#define GNA_RING_MIN	 (64u << 10)
#define GNA_RING_DEFAULT (4u << 20)
#define GNA_RING_MAX	 (64u << 20)

#define GNA_SLOTS    8
#define GNA_LEASE_NS 30000000000ULL
#define GNA_PATH_MAX 512

enum gna_state {
	GNA_OFF = 0, /* events are disabled */
	GNA_ON = 1,
};

struct gna_slot {
	uint64_t nonce; /* 0 = free; written by the agent */
	uint64_t lease; /* valid until then; moved by the reader, 0 = left */
	uint64_t rpos;	/* how far the reader has come; a hint, so that the first burst is paced */
	uint64_t pad;
};

struct gna_header {
	uint64_t magic;
	uint32_t version; /* records of a higher version cannot be read */
	uint32_t data_offset;
	uint64_t ring_size;
	uint32_t pid; /* as the target sees itself */
	uint32_t state;
	uint32_t generation; /* one more at every emission of everything there is */
	uint32_t seq;	     /* of the next record */
	uint64_t wpos;
	uint64_t reserve;
	uint64_t dropped; /* records not written: too long, or the lock was not had */
	struct gna_slot slot[GNA_SLOTS];
	char path[GNA_PATH_MAX]; /* where the library was loaded from, inside the target */
};

enum gna_type {
	GNA_METHOD = 1,
	GNA_LOAD = 2,
	GNA_UNLOAD = 3,
	GNA_CODE = 4,
	GNA_THREAD = 5,
	GNA_THREAD_END = 6,
	GNA_MARK = 7,
};

#define GNA_F_EXISTING 1 /* was there before: `time` is when it was reported, not when it began */

/* Every record begins at a multiple of 8 and is `size` bytes long, this header included. */
struct gna_record {
	uint32_t size; /* multiple of 8 */
	uint16_t type;
	uint16_t flags;
	uint32_t seq;
	uint32_t pad;
	uint64_t time;
};

/*
 * Names of a method, sent before the first record that refers to `id`. Behind it: class signature,
 * name, descriptor (no terminators, modified UTF-8), then nlines pairs of varints: bci difference
 * to the previous pair, zigzag line difference.
 */
struct gna_method {
	struct gna_record r;
	uint64_t id;
	uint32_t modifiers;
	uint16_t klass_len, name_len;
	uint16_t sig_len, pad;
	uint32_t nlines;
};

enum gna_table {
	GNA_TABLE_NONE = 0,
	GNA_TABLE_INLINE = 1, /* every logical frame, innermost first */
	GNA_TABLE_BCI = 2,    /* bci of the outermost method only */
};

/*
 * Compiled code. Behind it: nmethods x u64 method ids (0 = unknown), then npcs entries of varints:
 * pc difference to the previous entry (first: to addr), depth, then depth x (index into the ids,
 * bci + 1). An entry holds for pcs up to and including its pc: the debug info of a call lies at the
 * return address.
 */
struct gna_load {
	struct gna_record r;
	uint64_t addr;
	uint64_t method;
	uint32_t code_size;
	uint32_t npcs;
	uint16_t nmethods;
	uint8_t table;
	uint8_t pad[5];
};

struct gna_unload {
	struct gna_record r;
	uint64_t addr;
	uint64_t method;
};

/* Code that is no Java method: interpreter, stubs, adapters. The name follows. */
struct gna_code {
	struct gna_record r;
	uint64_t addr;
	uint32_t code_size;
	uint32_t name_len;
};

/* The name follows (modified UTF-8). tid is 0 where it is not known (threads found at attach). */
struct gna_thread {
	struct gna_record r;
	uint64_t javathread; /* JavaThread*, 0 if unknown */
	uint32_t tid;	     /* in the target's PID namespace */
	uint32_t name_len;
};

struct gna_thread_end {
	struct gna_record r;
	uint32_t tid;
	uint32_t pad;
};

/* Everything that existed when session `nonce` attached has been written. */
struct gna_mark {
	struct gna_record r;
	uint64_t nonce;
	uint32_t generation;
	uint32_t pad;
};

#endif
