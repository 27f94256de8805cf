/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which bytes of which file are whole now, told to another process through a pipe: that of a
 * follower, who reads recordings while they are made. Who tells never waits: what finds no room in
 * the pipe is counted.
 *
 * A process that names has no end of the pipe, since what it records may have taken it over: it
 * asks the session to tell (naming/filer.h), of its own files. A message is written at once, begins
 * with a line feed and ends with a zero, so that it is told apart from whatever was written before
 * it.
 */
#ifndef GNOMON_JFR_FINISHED_H
#define GNOMON_JFR_FINISHED_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define FINISHED_MOST 4096 /* bytes of one message, which the kernel writes whole or not at all */

struct finished_to {
	int fd; /* the pipe's end, which does not block; 0: nobody is told */
	_Atomic uint64_t *untold;
	/* not NULL: by this, in place of the pipe */
	void (*tell)(const char *path, uint64_t from, uint64_t end);
};

/* Chunks from `from` to before `end`. */
struct finished {
	uint64_t from, end;
	char path[FINISHED_MOST];
};

void finished_tell(const struct finished_to *to, const char *path, uint64_t from, uint64_t end);

/*
 * Takes a message off the front of what was read from the pipe, with what lies before it. The bytes
 * that it had; 0: more must come, which is so for FINISHED_MOST bytes at most. What is none has an
 * empty path.
 */
size_t finished_take(const void *bytes, size_t n, struct finished *m);

#endif
