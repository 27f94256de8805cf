/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker is asked for and what it answers: one message each, and a descriptor with it. */
#ifndef GNOMON_BROKER_OPENING_H
#define GNOMON_BROKER_OPENING_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "broker/file.h"

enum opening_kind {
	OPENING_BELOW,
	OPENING_ROOTED,
	OPENING_EXE,
	OPENING_MAPPED,
	OPENING_DIRECTORY,
	OPENING_ANSWERS, /* whether the mapping's file does */
	OPENING_MEMORY,	 /* bytes from mapping.start to mapping.end: they follow the answer */
};

#define OPENING_BYTES 32768u /* of memory at a time */

struct opening_ask {
	uint64_t id; /* never 0 */
	uint32_t kind;
	uint32_t look; /* no descriptor is wanted, only the answer whether there would be one */
	int32_t pid;
	int32_t path_only; /* OPENING_MAPPED: not through map_files */
	struct broker_mapping mapping;
	char path[PATH_MAX]; /* "": none */
};

struct opening_answer {
	int32_t rc; /* 0: a descriptor comes with it, unless it is not wanted */
	uint32_t pad;
	struct broker_file file;
};

/* Whether a descriptor is what is asked for. */
bool opening_gives(const struct opening_ask *ask);

/* The memory of OPENING_MEMORY; `at` is an open /proc/PID/mem. 0 or -errno. */
int opening_memory(const struct opening_ask *ask, int at, void *bytes);

/* Does the others. `at` is the directory that came with it. A descriptor, 0 with `look`, or -errno.
 */
int opening_do(const struct opening_ask *ask, int at, struct broker_file *file);

#endif
