/* SPDX-License-Identifier: Apache-2.0 */
/* What a user may choose of a file that is written. */
#ifndef GNOMON_JFR_FORM_H
#define GNOMON_JFR_FORM_H

#include <stdbool.h>
#include <stdint.h>

/* Readers: JMC takes chunks below 2^31 bytes. */
#define JFRW_CHUNK_LIMIT (1ull << 30)

/* Which event CPU samples become. Never both in one file: converters add them up. */
enum jfrw_cpu_event { JFRW_EXECUTION, JFRW_CPUTIME };

struct jfrw_form {
	enum jfrw_cpu_event cpu_event;
	uint64_t chunk_max_bytes; /* 0: 64 MiB; at most JFRW_CHUNK_LIMIT */
	uint64_t chunk_max_ns;	  /* 0: no limit */
	/*
	 * Chunks also end where the clock, since 1970, is a multiple of it, and each of them says
	 * what the first one says of the JVM: what reads it alone knows whose it is. 0: they do
	 * not.
	 */
	uint64_t window_ns;
	/*
	 * So large a file takes no more samples, and when it is a megabyte larger no other event;
	 * both are counted. It is whole all the same, and by what a flush hands over it may be
	 * larger. 0: no limit.
	 */
	uint64_t file_max_bytes;
	/*
	 * The path is a directory, and each chunk a file of its own in it (jfr/segment.h). What
	 * goes wrong with the disk does not stick then: it is tried again each second, and until it
	 * works so many bytes at most are held in memory (0: 64 MiB), by halves: where there is no
	 * more room the older one is counted as lost.
	 */
	bool segments;
	uint64_t held_max_bytes;
	bool vitals; /* the types of jfr/vitals.h are declared, and may be written */
	/*
	 * Only what the JDK has names for, for readers that refuse all else: jdk.* events, of which
	 * jdk.ExecutionSample has the wall samples, too, one for each tick; states and frame types
	 * become the JDK's next to them (jfr_state_plain(), jfr_frame_type_plain()). Events that
	 * are not the JDK's are left out.
	 */
	bool plain;
};

#endif
