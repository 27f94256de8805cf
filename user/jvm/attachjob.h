/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What there is to do in a JVM by attaching to it, which takes rights and may take long, and what
 * comes of it: messages, so that it can be done in a process that has these rights for who has
 * none (jvm/attacher.h).
 */
#ifndef GNOMON_JVM_ATTACHJOB_H
#define GNOMON_JVM_ATTACHJOB_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "jvm/agentstream.h"

enum attachjob_kind {
	ATTACHJOB_LOAD = 1, /* load the agent, or wake the one that is there */
	ATTACHJOB_STOP,	    /* have it fall silent */
};

struct attachjob {
	uint32_t kind;
	int32_t pid;
	uint64_t nonce, ring_bytes; /* 0: as it is by default */
	uint32_t perfmap;
	int32_t timeout_ms; /* 0: as it is by default */
};

enum attachjob_answer_kind {
	ATTACHJOB_STREAM = 1, /* it is there: the descriptor comes with it */
	ATTACHJOB_DONE,
};

struct attachjob_answer {
	uint32_t kind;
	int32_t rc; /* of ATTACHJOB_DONE: 0 or -errno, and `error` */
	uint32_t reused;
	int32_t slot; /* struct agentstream's */
	uint64_t ring_size, rpos;
	char path[GNA_PATH_MAX];
	struct error error;
};

/*
 * How long it may take in all. Then whatever does it is killed (jvm/attacher.h), and whoever waits
 * for it gives it up a little later.
 */
int attachjob_limit_ms(const struct attachjob *job);

/* Does it, and answers: ATTACHJOB_STREAM as soon as there is one, and ATTACHJOB_DONE at the end. */
void attachjob_do(const struct attachjob *job, int answers);

/*
 * An answer: 1; 0: none yet; -EPIPE: none will come; -EBADMSG. A stream takes the place of *s,
 * whose own is closed.
 */
int attachjob_take(int from, struct attachjob_answer *a, struct agentstream *s);

#endif
