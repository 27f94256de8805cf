/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The requests of a recording, by what its contexts say: how long they took, and what they did
 * meanwhile. A request's wall time is that from its first sample to its last; what it did is the
 * time of its samples, of all its threads.
 */
#ifndef GNOMON_OUT_REQUESTS_H
#define GNOMON_OUT_REQUESTS_H

#include <stdio.h>

#include "jfr/stretch.h"
#include "out/contexts.h"

struct requests_options {
	struct context_filter filter;
	struct pattern_list threads;
	unsigned int slowest; /* how many of these are told */
};

/* EXIT_INPUT where the recording has no contexts. */
int requests_print(const struct stretch *s, const struct requests_options *o, FILE *out,
		   struct error *e);

#endif
