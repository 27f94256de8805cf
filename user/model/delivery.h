/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What became of profiles that are sent while recording: to each destination, counted. All of it
 * are 64-bit words, so that one process may publish it in memory that another one reads.
 */
#ifndef GNOMON_MODEL_DELIVERY_H
#define GNOMON_MODEL_DELIVERY_H

#include <stdint.h>

#define DELIVERY_MOST 8 /* destinations */

enum refusal {
	REFUSED_SERVER,	 /* it will never take it */
	REFUSED_OLD,	 /* older than it takes: not sent */
	REFUSED_NO_ROOM, /* removed from a full spool, or there was no room in it at all */
	REFUSED_LARGE,	 /* one sample was larger than a profile may be */
	REFUSALS,
};

/* "server", "old", "no_room", "large". */
const char *refusal_name(unsigned int r);

struct delivery_to {
	char to[128];			 /* its URL, which has no secrets */
	uint64_t made;			 /* profiles, put into the spool */
	uint64_t sent, bytes, samples;	 /* of those that were taken */
	uint64_t request_ns;		 /* their requests' time, added up */
	uint64_t spooled, spooled_bytes; /* what waits in the spool */
	uint64_t refused[REFUSALS];	 /* profiles */
};

struct delivery {
	uint64_t n;
	uint64_t windows;    /* chunks of recordings that were read */
	uint64_t unreadable; /* chunks that could not be */
	uint64_t untold;     /* chunks that who sends did not hear of */
	uint64_t waiting;    /* chunks that are to be read yet */
	struct delivery_to to[DELIVERY_MOST];
};

/*
 * From or to memory that is shared, word by word. What is read can be used whatever stands there:
 * `n` is no more than there may be, and names have an end.
 */
void delivery_publish(struct delivery *shared, const struct delivery *d);
void delivery_read(const struct delivery *shared, struct delivery *d);

#endif
