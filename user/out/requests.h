/* SPDX-License-Identifier: Apache-2.0 */
/* The requests of a recording, for people or as JSON: gnomon requests. */
#ifndef GNOMON_OUT_REQUESTS_H
#define GNOMON_OUT_REQUESTS_H

#include <stdio.h>

#include "out/served.h"

struct requests_options {
	struct served_options which;
	unsigned int slowest; /* how many of these are told */
	bool json;
};

/* EXIT_INPUT where the recording tells of no requests. */
int requests_print(const struct stretch *s, const struct requests_options *o, FILE *out,
		   struct error *e);

#endif
