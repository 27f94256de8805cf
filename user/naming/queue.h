/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bounded queue from the draining thread to naming: records copied whole, in order. One
 * producer, one consumer, which may be another process: each has a queue of its own, and what is
 * shared is in memory that both see. The producer never waits: what does not fit is refused and
 * counted by the caller.
 */
#ifndef GNOMON_NAMING_QUEUE_H
#define GNOMON_NAMING_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

#include "kern/abi.h"

struct queue;

struct queue *queue_new(size_t bytes); /* a power of two; NULL: no memory */

/* For another process, which has it by the descriptor: that, or -errno. */
int queue_new_shared(size_t bytes, struct queue **out);
struct queue *queue_of(int fd, size_t bytes); /* there; NULL: no memory */
void queue_free(struct queue *q);

bool queue_push(struct queue *q, const struct gn_rec *rec); /* false: full */
void queue_wake(struct queue *q);			    /* after a batch of pushes */
void queue_end(struct queue *q);			    /* no more will come */

/*
 * The next record, which stays valid until the following call; NULL when there is none. Waits up to
 * timeout_ms for one. *ended is set when there is none and none will come.
 */
const struct gn_rec *queue_pop(struct queue *q, int timeout_ms, bool *ended);

/*
 * The consumer's look at what queue_pop() handed out last and will hand out later: each record
 * once, in order, valid until the next call of queue_pop(). NULL: there is no further one yet.
 */
const struct gn_rec *queue_peek(struct queue *q);

size_t queue_used(const struct queue *q); /* bytes */

#endif
