/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the pods of this host are called (push/pods.h), asked for again each half minute: of the
 * kubelet, or of a file. Who asks and who reads the answer are processes without rights that end
 * with it; who waits for them waits in poll(), and for the first answer only.
 */
#ifndef GNOMON_PUSH_PODWATCH_H
#define GNOMON_PUSH_PODWATCH_H

#include <stdbool.h>
#include <sys/types.h>

#include "push/pods.h"
#include "spool/destination.h"

struct pods_source {
	const char *path;	    /* a file; NULL: the kubelet */
	struct destination kubelet; /* its URL with the path; bearer is not looked at */
	const char *token;	    /* a file, read each time, since tokens are renewed; NULL */
	const char *wanted[PODS_WANTED];
	size_t nwanted;
};

struct podwatch {
	const struct pods_source *from; /* NULL: nobody is asked */
	struct buffer table;		/* of the last answer that was one */
	pid_t pid;
	int out; /* -1: nothing is under way */
	struct buffer text;
	uint64_t due_ns;
	bool answered; /* once, or failed to */
	bool troubled; /* the last time: it was said */
};

void podwatch_init(struct podwatch *w, const struct pods_source *from);

/* Asks if it is time. */
void podwatch_look(struct podwatch *w, uint64_t now_ns);

/* `out` has something. */
void podwatch_take(struct podwatch *w);

/* The first answer is there, or none will come. */
bool podwatch_is_ready(const struct podwatch *w);

/* Waits for it. */
void podwatch_await(struct podwatch *w);

void podwatch_free(struct podwatch *w);

#endif
