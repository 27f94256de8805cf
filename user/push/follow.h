/* SPDX-License-Identifier: Apache-2.0 */
/* What a follower does in its process. */
#ifndef GNOMON_PUSH_FOLLOW_H
#define GNOMON_PUSH_FOLLOW_H

#include "push/podwatch.h"
#include "push/sender.h"
#include "push/window.h"

struct follower_to {
	const struct protocol *protocol;
	struct spool *spool;
	const struct destination *destination;
};

/* It and what it points to are to live as long as the follower. */
struct follower_config {
	const char *dir; /* of the recordings, as push/source.h has it */
	struct follower_to to[DELIVERY_MOST];
	size_t n;
	uint64_t window_ns; /* as in the form of the files */
	int (*label)(void *ctx, const char *service, struct labels *l); /* struct window_form */
	void *ctx;
	bool links;			/* likewise */
	const struct pods_source *pods; /* NULL: what pods are called is not asked */
};

/*
 * Until `in` ends and all is sent, or given up; what it does is published in `shared`. 0 or -errno:
 * it could not begin.
 */
int follow(const struct follower_config *cfg, int in, struct delivery *shared);

#endif
