/* SPDX-License-Identifier: Apache-2.0 */
/* What naming tells the session, one message each over a socket that keeps them apart. */
#ifndef GNOMON_NAMING_REPLY_H
#define GNOMON_NAMING_REPLY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "model/totals.h"

#define REPLY_NAMES_MAX 512

enum reply_kind {
	REPLY_ADDED = 1, /* a target is there, or `error` has kept it from that */
	REPLY_READY,	 /* what was asked for is done: tables, the start */
	REPLY_FILE,	 /* a target has ended, and its file */
	REPLY_FAILED,	 /* files cannot be written: `error` */
	REPLY_DONE,	 /* all files are finished */
	REPLY_KINDS,
};

struct reply {
	uint32_t kind;
	uint32_t serial; /* of the target */
	int32_t rc;
	uint32_t pad;
	struct error error;	     /* where rc is one */
	char names[REPLY_NAMES_MAX]; /* where Java names came from, in words */
	struct totals totals;
};

/* Waits until there is room. */
void reply_send(int fd, const struct reply *r);

/*
 * The next one, made printable: 1; 0: there is none yet; -EPIPE: none will come; -EBADMSG: that is
 * no reply.
 */
int reply_take(int fd, struct reply *r);

/* A descriptor that goes with a message of the queue, the other way, told by a number. */
int gift_send(int fd, uint32_t serial, int gift); /* 0 or -errno; it does not wait */
int gift_take(int fd,
	      uint32_t serial); /* waits; it, close-on-exec, or -errno. Older ones are lost */

#endif
