/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collector's end of the agent's ring (agent/stream.h). The memfd belongs to the target, so it
 * is read with pread() only: nothing the target does to it can fault us.
 */
#ifndef GNOMON_JVM_AGENTSTREAM_H
#define GNOMON_JVM_AGENTSTREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/stream.h"
#include "base/buffer.h"
#include "jvm/jproc.h"

struct agentstream {
	int fd; /* -1: closed */
	int slot;
	uint64_t ring_size;
	uint64_t rpos;
	char path[GNA_PATH_MAX]; /* what the library was loaded as; printable */
};

/*
 * Find the agent's memfd among the target's descriptors: the one with a slot for nonce, or for
 * nonce 0 any one that is valid (slot is then -1). -ENOENT if there is none.
 */
int agentstream_open(struct agentstream *s, const struct jproc *p, uint64_t nonce);

/*
 * Append what is new, at most one ring. Returns the number of bytes; -EOVERFLOW when the writer has
 * overtaken us: reading goes on at its position and what b held before is not continued. -ESTALE
 * when the agent has switched its events off (our lease ran out).
 */
int64_t agentstream_read(struct agentstream *s, struct buffer *b);

int agentstream_renew(struct agentstream *s);  /* move the lease forward */
void agentstream_leave(struct agentstream *s); /* give the slot back; the agent falls silent */
void agentstream_close(struct agentstream *s);

#endif
