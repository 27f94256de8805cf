/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process that sends what is recorded while it is recorded. It is told of chunks that are whole
 * through a pipe (jfr/finished.h), has payloads made of them once in a window (push/maker.h), and
 * has each destination's sent by a process of its own (push/sender.h), so that one that is gone or
 * slow is nothing to the others. Nobody who records waits for it. Where it is lost, another one
 * takes over, which knows what the one before has sent, but not what was to be read.
 *
 *	rc = follower_start(&f, &cfg, &err);	// while there is one thread
 *	session.finished = follower_to(&f);
 *	...
 *	follower_finish(&f, &counts);
 */
#ifndef GNOMON_PUSH_FOLLOWER_H
#define GNOMON_PUSH_FOLLOWER_H

#include "base/error.h"
#include "jfr/finished.h"
#include "push/follow.h"

struct follower {
	pid_t pid; /* of whoever makes another one; 0: none */
	int in;
	struct delivery *delivery; /* in memory of both processes */
	_Atomic uint64_t untold;   /* what this one could not tell */
};

int follower_start(struct follower *f, const struct follower_config *cfg, struct error *e);

/* Valid until follower_finish(). */
struct finished_to follower_to(struct follower *f);

/* Reads what the follower has done so far. On any thread. */
void follower_read(const struct follower *f, struct delivery *d);

/*
 * Nothing more comes: waits until all is sent, or each destination's time for that is over, and
 * says what it did. False: it ended in disorder.
 */
bool follower_finish(struct follower *f, struct delivery *d);

#endif
