/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HotSpot's performance counters as bytes: the memory that `jstat` reads, whether it was copied
 * from a hsperfdata file or from the JVM. Format 2.0: PerfMemory's prologue and entries
 * (perfMemory.hpp, perfData.hpp), unchanged from JDK 1.5 to 25. All of this is pure, and the bytes
 * may be anything.
 */
#ifndef GNOMON_JVM_PERFDATA_H
#define GNOMON_JVM_PERFDATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PERFDATA_PROLOGUE    32
#define PERFDATA_MAX	     (1u << 20) /* bytes looked at; a JVM has 32 kB (PerfDataMemorySize) */
#define PERFDATA_ENTRIES_MAX 8192

#define PERFDATA_LONG	'J' /* types, as the JVM writes them */
#define PERFDATA_STRING 'B'

struct perfdata_head {
	uint32_t used;	   /* bytes, the prologue with them */
	uint32_t entries;  /* may grow while the JVM runs */
	bool accessible;   /* false: the JVM is still making them */
	uint32_t overflow; /* bytes of counters that found no room, and are in the JVM alone */
};

struct perfdata_entry {
	const char *name; /* with a terminator, in the bytes given */
	char type;	  /* PERFDATA_LONG, PERFDATA_STRING, or another */
	uint32_t at;	  /* where the value is, from the start of the memory: within it, and for a
			   * number all 8 bytes of it */
	uint32_t bytes;	  /* of the value: 8 of a number, the room of a string */
};

/* 0, or -EBADMSG: no such memory, of another byte order, or with lying numbers. */
int perfdata_head(const uint8_t *p, size_t len, struct perfdata_head *out);

/*
 * Calls fn for each entry until it returns false. 0, or -EBADMSG when the entries end before their
 * number: those before were told.
 */
typedef bool (*perfdata_fn)(void *ctx, const struct perfdata_entry *e);
int perfdata_each(const uint8_t *p, size_t len, perfdata_fn fn, void *ctx);

/*
 * sun.rt.jvmCapabilities, which tells whether the JVM can be attached to, also where an options
 * file says so. 1 yes, 0 no, -1 not found or damaged.
 */
int perfdata_can_attach(const uint8_t *p, size_t len);

#endif
