/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where payloads go, and how: what gnomon tells its sender through a pipe, since a command line
 * can be read by everybody. Files (certificates, passwords) are read by gnomon and told by their
 * contents: the sender opens none.
 */
#ifndef GNOMON_SPOOL_DESTINATION_H
#define GNOMON_SPOOL_DESTINATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

#define DESTINATION_HEADERS 32

/* Texts are NULL where they are not given; all memory from malloc. */
struct destination {
	char *url;	  /* http or https, without a "/" at its end, a user or a password */
	char *tenant;	  /* X-Scope-OrgID */
	char *basic;	  /* "user:password" */
	char *bearer;	  /* a token */
	char *proxy;	  /* its URL */
	char *ca;	  /* PEM: in place of the system's */
	char *cert, *key; /* PEM: the client's */
	char *headers[DESTINATION_HEADERS]; /* "Name: value" */
	size_t nheaders;
	bool get;      /* nothing is sent: the answer to a GET of the URL is told (user/send) */
	bool insecure; /* any certificate will do */
	uint64_t timeout_ns;   /* of one request */
	uint64_t max_age_ns;   /* older payloads are not sent; 0: any */
	uint64_t finish_ns;    /* when nothing new comes: how long to go on without success */
	uint64_t bytes_second; /* of payload.raw; 0: as fast as may be */
};

void destination_free(struct destination *d);

/* Appends all of it, in a form of its own. */
void destination_write(const struct destination *d, struct buffer *b);

/*
 * Takes what destination_write() made from the front of the bytes: 1 all of it is there, and *used
 * how long it was; 0 more must come; -EBADMSG, -ENOMEM.
 */
int destination_read(struct destination *d, const void *bytes, size_t len, size_t *used);

#endif
