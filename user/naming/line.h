/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One that names, as the session has it: a process of its own, or a thread of this one, and all
 * that goes to and fro. Where it is lost another one takes over, with nothing that the lost one had
 * in its hands.
 */
#ifndef GNOMON_NAMING_LINE_H
#define GNOMON_NAMING_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "naming/patience.h"

struct board;
struct cell;
struct mould;
struct queue;

/* Two ends: the session's and naming's. */
struct ends {
	int ours, theirs;
};

struct line {
	struct queue *queue;
	struct board *board;
	struct ends replies, gifts, asks,
		files;	   /* naming/reply.h twice, wire/ask.h, naming/filer.h */
	struct cell *cell; /* NULL: naming is a thread */
	pid_t asker;	   /* its process, as long as it is bound by grants; 0 */
	struct patience patience;
	bool gone; /* nothing more will come from it */
};

/* For a thread. 0 or -errno; line_close() in any case. */
int line_open(struct line *l, size_t queue_bytes);

/* With a process, a copy of the mould's. Likewise. */
int line_begin(struct line *l, size_t queue_bytes, struct mould *m, uint64_t now);

/* In that process: the line as it has it, from what it was given. 0 or -errno. */
int line_of(struct line *l, size_t queue_bytes, const int *fds);

void line_close(struct line *l); /* ends its process, too */

/*
 * What its process may ask others about (broker/grants.h): that one too, or not any more. A thread
 * is not bound. 0; -ENOSPC.
 */
int line_give(struct line *l, pid_t tgid, uint32_t uid);
void line_take(struct line *l, pid_t tgid);

/* Looks for signs of life. */
void line_look(struct line *l, uint64_t now);

/* It is to end, and has used so much of its time for that. */
void line_end(struct line *l, uint64_t now, uint64_t spent_ns);

/* Kills it, and waits a moment for its end. False: it hangs even so. */
bool line_kill(struct line *l);

#endif
