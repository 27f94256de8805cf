/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One that names, as the session has it: a process of its own, or a thread of this one, and all
 * that goes to and fro. Several processes are made at the start, of which one works; when it is
 * lost the next one takes over, with nothing that the lost one had in its hands.
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
struct queue;

/* Two ends: the session's and naming's. */
struct ends {
	int ours, theirs;
};

struct line {
	struct queue *queue;
	struct board *board;
	struct ends replies, gifts, asks; /* naming/reply.h twice, wire/ask.h */
	struct cell *cell;		  /* NULL: naming is a thread */
	struct patience patience;
	bool gone; /* nothing more will come from it */
};

/* What is shared. 0 or -errno; line_close() in any case. */
int line_open(struct line *l, size_t queue_bytes);
void line_close(struct line *l); /* ends its process, too */

/*
 * The process, while there is one thread. main(arg) runs in it as soon as it may go; it has this
 * line's descriptors and those of `keep` that are any (> 0), and of `others`, which are open,
 * nothing.
 */
#define LINE_KEEP 2
int line_fork(struct line *l, void (*main)(void *arg), void *arg, const int keep[LINE_KEEP],
	      struct line *others, size_t nothers);
void line_go(struct line *l, uint64_t now);

/* For its process: waits until it may go. False: it never will. */
bool line_await(const struct line *l);

/* Looks for signs of life. */
void line_look(struct line *l, uint64_t now);

/* It is to end, and has used so much of its time for that. */
void line_end(struct line *l, uint64_t now, uint64_t spent_ns);

/* Kills it, and waits a moment for its end. False: it hangs even so. */
bool line_kill(struct line *l);

#endif
