/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was recorded in one window, as payloads for each destination. It is of one JVM: chunks of
 * its file that end with the window (jfr/form.h).
 */
#ifndef GNOMON_PUSH_WINDOW_H
#define GNOMON_PUSH_WINDOW_H

#include "jfr/stretch.h"
#include "model/delivery.h"
#include "push/labels.h"
#include "push/parts.h"

struct window_to {
	const struct protocol *protocol;
	struct spool *spool;
};

struct window_form {
	const struct window_to *to;
	size_t n; /* at most DELIVERY_MOST */
	/*
	 * Completes the labels of a program that is called `service`, "" not known: what the
	 * recording says else is there. 0 or -ENOMEM.
	 */
	int (*label)(void *ctx, const char *service, struct labels *l);
	void *ctx;
	bool links;		   /* with span and trace ids */
	bool files;		   /* some protocol wants them */
	const struct buffer *pods; /* a table of push/pods.h */
};

/* What came of it, in profiles. */
struct window_counts {
	uint64_t made[DELIVERY_MOST], large[DELIVERY_MOST], no_room[DELIVERY_MOST];
};

/*
 * Adds to the counts. What fails for one destination is nothing to the others: it is 0 then, and *e
 * says what it was.
 */
int window_push(const struct window_form *f, const struct stretch *s, struct window_counts *c,
		struct error *e);

#endif
