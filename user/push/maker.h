/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that makes payloads of some chunks and ends: what recordings hold comes from those who
 * were recorded, so it opens the files and then gives up all rights, and whatever happens to it
 * costs one chunk.
 */
#ifndef GNOMON_PUSH_MAKER_H
#define GNOMON_PUSH_MAKER_H

#include <stdbool.h>
#include <sys/types.h>

#include "jfr/finished.h"
#include "push/window.h"

#define MAKER_MOST  32		    /* chunks at a time */
#define MAKER_CPU_S 60		    /* CPU time of one, after which it is killed */
#define MAKER_BYTES (2048ull << 20) /* address space */

struct maker {
	pid_t pid; /* 0: none */
	int out;   /* its end of a pipe; -1 */
	size_t n, done;
};

/* One chunk is done. */
struct maker_told {
	int32_t rc;
	uint32_t gone; /* the file was not there any more */
	struct window_counts counts;
	char words[160]; /* rc not 0: why; rc 0: what went wrong all the same, or "" */
};

/* Of at most MAKER_MOST chunks, in files as source_open() has them. 0 or -errno. */
int maker_start(struct maker *m, const char *dir, const struct window_form *f,
		const struct finished *const *v, size_t n);

/* Waits for the next one. False: it has ended; where done < n, the next chunk was too much for it.
 */
bool maker_listen(struct maker *m, struct maker_told *t);

/* There is nothing left of it. */
void maker_end(struct maker *m);

#endif
