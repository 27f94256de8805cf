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
	OPENING_PROC,	 /* the kernel's own file `path` of the process */
	OPENING_TEXT,	 /* what such a file says: bytes, too */
	OPENING_LINK,	 /* where a link there leads, as text: bytes, too */
	OPENING_TEXTS,	 /* the same of each of `pids`, as broker_proc_texts() in broker.h has it */
	OPENING_LINKS,
	OPENING_USER, /* the name of user `flags`, as text: bytes, too; for who is not bound */
};

#define OPENING_BYTES 32768u /* of memory at a time */
#define OPENING_PIDS  128
#define OPENING_SLOT  256 /* bytes of the text of each */

struct opening_ask {
	uint64_t id; /* never 0 */
	uint32_t kind;
	uint32_t look; /* no descriptor is wanted, only the answer whether there would be one */
	int32_t pid;
	int32_t path_only; /* OPENING_MAPPED: not through map_files */
	uint32_t flags;	   /* OPENING_PROC: for open(2) */
	uint32_t room;	   /* of text that is wanted, bytes */
	uint32_t npids;	   /* OPENING_TEXTS, OPENING_LINKS */
	/* Set by the worker, of who asks: he is to have what `pid` itself may read, and no more;
	 * he is not to have anything of it. */
	uint32_t bound, denied;
	uint32_t uid; /* likewise: whose `pid` has to be, or GRANTS_ANY */
	int32_t pids[OPENING_PIDS];
	struct broker_mapping mapping;
	char path[PATH_MAX]; /* "": none */
};

struct opening_answer {
	int32_t rc;   /* 0: a descriptor comes with it, unless it is not wanted */
	uint32_t len; /* of the bytes that follow */
	struct broker_file file;
};

/* Tells whether a descriptor is asked for. */
bool opening_gives(const struct opening_ask *ask);

/* Returns how many bytes are asked for at most; 0: none. */
uint32_t opening_room(const struct opening_ask *ask);

/*
 * Those of OPENING_MEMORY, where `at` is an open /proc/PID/mem, and of texts and links: how many,
 * or -errno.
 */
int opening_bytes(const struct opening_ask *ask, int at, void *bytes);

/* Does the others. `at` is the directory that came with it. A descriptor, 0 with `look`, or -errno.
 */
int opening_do(const struct opening_ask *ask, int at, struct broker_file *file);

#endif
