/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page: flame graph, and with times also the timeline above it. One file that needs nothing
 * else: template, style, script (the files beside this one) and the data, deflated, in base64.
 */
#ifndef GNOMON_OUT_HTML_H
#define GNOMON_OUT_HTML_H

#include <stdio.h>

#include "out/profile.h"

struct html_options {
	const char *title;
	enum dim first; /* shown first, if it has time */
	bool timeline;	/* the profile was loaded with keep_times */
	bool diff;	/* it has two sides */
	bool idle;	/* idle threads are shown at first; the profile was loaded with show_idle */
};

int html_write(const struct profile *p, const struct html_options *o, FILE *f, struct error *e);

/* The data of the page before compression; see html.c for its form. For tests. */
int html_data(const struct profile *p, const struct html_options *o, struct buffer *b);

#endif
