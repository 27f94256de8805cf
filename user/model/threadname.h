/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread's name says of it. Names of the JVM's own threads: JDK 8 to 25. */
#ifndef GNOMON_MODEL_THREADNAME_H
#define GNOMON_MODEL_THREADNAME_H

#include <stdbool.h>

#include "base/buffer.h"

/*
 * Appends what it has in common with others of its pool: "http-nio-8080-exec-12" is one of
 * "http-nio-#-exec-#".
 */
void threadname_group(const char *name, struct buffer *out);

/*
 * Is it of a thread that collects garbage and does nothing else? Of a Java thread it may be
 * anybody's name.
 */
bool threadname_is_collector(const char *name);

/* Likewise, of one that compiles. Also as the kernel has it, cut to 15 bytes. */
bool threadname_is_compiler(const char *name);

#endif
