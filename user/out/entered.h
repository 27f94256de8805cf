/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests by rule, of recordings that tell of none: a request is what a thread does below a
 * method, as it is seen by its samples. A rule is
 *
 *	FRAME		what is done below the outermost such frame, which is its endpoint
 *	FRAME > CALLEE	likewise; its endpoint is the outermost such CALLEE below it
 *
 * where both are patterns of a method's name (pattern_match()). One request ends, and the next one
 * may begin, where a sample of the thread has no such frame or has another endpoint, or where the
 * thread was not seen for longer than its intervals allow. Those of one endpoint that follow on
 * each other with no sample between them are one.
 */
#ifndef GNOMON_OUT_ENTERED_H
#define GNOMON_OUT_ENTERED_H

#include "base/error.h"
#include "jfr/read.h"
#include "out/names.h"
#include "base/pattern.h"

/* What of one chunk belongs to one request. */
struct entered {
	uint64_t chunk;
	int64_t thread;	  /* its key in that chunk */
	uint32_t request; /* counted from 0 */
	uint32_t endpoint;
	int64_t from_ns, to_ns; /* since 1970, of its first and last sample */
	uint64_t samples;
};

/*
 * Reads all samples; memory grows with their number. The requests' endpoints are put into *names,
 * and *v is in the order of requests, to be freed. -EINVAL, EXIT_USAGE: not a rule.
 */
int entered_read(struct jfr_reader *r, const struct pattern_list *rules, struct names *names,
		 struct entered **v, size_t *n, struct error *e);

#endif
