/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is to be sent, on disk: one directory for each destination, one file for each payload, the
 * oldest first by name. Who fills it never waits for who empties it, and neither needs the other to
 * run. A file is there whole or not at all.
 *
 * The directory has a cap: a payload that finds no room takes that of the oldest ones, which are
 * lost and counted. Files have one head of text, and their own bytes behind an empty line:
 *
 *	gnomon 1
 *	path /push.v1.PusherService/Push
 *	type application/proto
 *	...
 */
#ifndef GNOMON_SPOOL_SPOOL_H
#define GNOMON_SPOOL_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "base/error.h"

#define SENDER_UID	   65534 /* nobody: who empties spools when root started it */
#define SENDER_SPOOL	   3	 /* the descriptor that it gets the directory by */
#define SPOOL_NAME_LEN	   48
#define SPOOL_PAYLOAD_MOST (16u << 20) /* bytes; more is no payload of ours */

struct payload {
	char path[128];	   /* behind the destination's URL */
	char type[64];	   /* Content-Type */
	char encoding[16]; /* Content-Encoding, "" none */
	char about[200];   /* for a person: "process_cpu of shop, 15.0 s" */
	int64_t time_ns;   /* since 1970, of its newest sample: what is too old is not sent */
	uint64_t raw;	   /* bytes that the server unpacks and counts, for its rate limit */
	uint64_t samples;
};

struct spool;

/*
 * Makes the directory unless it is there; it is the caller's alone, or `owner`'s (a uid, -1: the
 * caller), whom its files belong to then. One that is there has to be that user's. cap 0: none.
 */
int spool_open(struct spool **s, const char *dir, uint64_t cap, uid_t owner, struct error *e);

/* Of a directory that is open already, which spool_close() closes. NULL: no memory. */
struct spool *spool_of(int dir);

/* The directory: for a process that empties it. */
int spool_fd(const struct spool *s);

void spool_close(struct spool *s);

/* 0 or -errno; -EFBIG: larger than the cap, or than SPOOL_PAYLOAD_MOST. */
int spool_put(struct spool *s, const struct payload *head, const void *body, size_t len);

/* Counts the payloads and bytes in it. 0 or -errno. */
int spool_held(struct spool *s, uint64_t *payloads, uint64_t *bytes);

struct spool_lost {
	uint64_t payloads, samples, bytes;
};

/* What spool_put() has removed for want of room. */
struct spool_lost spool_lost(const struct spool *s);

/* ---- who empties it ---- */

struct spool_entry {
	char name[SPOOL_NAME_LEN];
};

/* All that is whole, oldest first, in memory from malloc. 0 or -errno. */
int spool_list(struct spool *s, struct spool_entry **v, size_t *n);

/*
 * The payload of that name, its bytes appended to *body. -ENOENT: it made room for others;
 * -EBADMSG: it is none.
 */
int spool_get(struct spool *s, const char *name, struct payload *head, struct buffer *body);

void spool_remove(struct spool *s, const char *name);

/* Removes all payloads and the directory, unless there is something else in it. */
void spool_destroy(struct spool *s);

#endif
