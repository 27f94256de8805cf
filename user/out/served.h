/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The requests of a recording and their endpoints: how long they took, and what their threads did
 * for them meanwhile. A request's wall time is that from its first sample to its last; what it did
 * is the time of its samples, of all its threads.
 */
#ifndef GNOMON_OUT_SERVED_H
#define GNOMON_OUT_SERVED_H

#include <stdio.h>

#include "jfr/stretch.h"
#include "out/contexts.h"

enum did { DID_RUN, DID_QUEUE, DID_BLOCK, DID_WAIT, DIDS };

extern const char *const did_names[DIDS + 1]; /* "running", "queued", ... NULL */

/* What waits of a request waited for, or of an endpoint. */
struct served_cause {
	uint32_t of;   /* the request, or the endpoint */
	uint32_t name; /* in served.names */
	enum did did;
	uint64_t ns;
};

struct served_request {
	uint32_t endpoint; /* CONTEXT_NONE: it is left out */
	uint64_t ns[DIDS];
	uint32_t causes, ncauses; /* in served.causes, most first */
	uint32_t thread;	  /* in served.names: one of them */
	uint32_t nthreads;
};

struct served_endpoint {
	uint32_t name;	   /* in contexts->names */
	uint32_t first, n; /* its requests in served.order, the shortest first */
	uint64_t ns[DIDS];
	uint32_t causes, ncauses; /* in served.endpoint_causes */
};

struct served {
	struct contexts *contexts;
	struct served_request *requests; /* as in contexts */
	struct served_endpoint *endpoints;
	uint32_t *order;   /* requests that are not left out, by endpoint and wall time */
	uint32_t *slowest; /* the same, the slowest first */
	struct served_cause *causes, *endpoint_causes;
	struct names names;
	uint32_t n, nendpoints;
	uint64_t samples, nameless; /* of these requests; with a context without ids */
	uint64_t wall_ns;	    /* the interval */
};

struct served_options {
	struct context_filter filter;
	struct pattern_list threads;
	struct pattern_list rules; /* for endpoints; none: requests are those that are told */
};

/*
 * EXIT_INPUT where the recording tells of no requests. Memory grows with their number. Where a time
 * is wanted of it, these are the requests that took some of that time, each with all that it took,
 * and what they did in it.
 */
int served_read(struct served **out, const struct stretch *s, const struct served_options *o,
		struct error *e);
void served_free(struct served *v);

static inline uint64_t did_all(const uint64_t ns[DIDS])
{
	return ns[DID_RUN] + ns[DID_QUEUE] + ns[DID_BLOCK] + ns[DID_WAIT];
}

/* With one interval, in which it began before its first sample and ended behind its last one. */
uint64_t served_wall(const struct served *v, uint32_t request);

/* The wall time below which so many percent of the endpoint's requests are. */
uint64_t served_percentile(const struct served *v, const struct served_endpoint *e,
			   unsigned int percent);

#endif
