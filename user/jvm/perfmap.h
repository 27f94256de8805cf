/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Perf maps: "START SIZE NAME\n", numbers in hexadecimal with or without 0x (Linux,
 * tools/perf/Documentation/jit-interface.txt). Written by JITs of other runtimes, by the JDK's own
 * `jcmd Compiler.perfmap` and by our agent. Hostile: bounded, and lines that make no sense are
 * counted and skipped.
 */
#ifndef GNOMON_JVM_PERFMAP_H
#define GNOMON_JVM_PERFMAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/frame.h"

struct jproc;
struct perfmap;

struct perfmap_stats {
	uint64_t entries, bad, refused; /* refused: beyond the limits */
	uint64_t bytes;
};

struct perfmap *perfmap_new(void);
void perfmap_free(struct perfmap *m);

/* Take in text; a last line without newline is taken as well. 0 or -ENOMEM. Pure. */
int perfmap_parse(struct perfmap *m, const char *text, size_t len);

/*
 * Read what has been added to /tmp/perf-PID.map inside the target since the last call (everything
 * when the file is another or shorter). At most 256 MiB. Returns the number of bytes taken, or a
 * negative errno; -EPERM when the file is not the target user's own regular file.
 */
int64_t perfmap_read(struct perfmap *m, const struct jproc *p);

/*
 * The newest entry around pc. The JDK's names are split into class, method and argument types;
 * others are the method alone. 0 if there is none, else 1; strings live until the next parse.
 */
int perfmap_lookup(struct perfmap *m, uint64_t pc, struct frame_name *out);

void perfmap_stats(const struct perfmap *m, struct perfmap_stats *s);

#endif
