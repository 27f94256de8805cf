/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page: what stands out in words, the threads over time, and the flame graph of what is chosen
 * there. One file that needs nothing else: template, style and scripts (page/) and the data
 * (html_data.h), deflated, in base64.
 */
#ifndef GNOMON_OUT_HTML_H
#define GNOMON_OUT_HTML_H

#include <stdio.h>

#include "out/profile.h"
#include "out/served.h"

struct html_options {
	const char *title;
	enum dim first;		     /* shown first, if it has time */
	bool diff;		     /* it has two sides */
	bool idle;		     /* idle threads are shown at first */
	const struct served *served; /* with opt.told: what the Requests tab tells; else NULL */
};

/*
 * The profile is loaded with show_idle, as the page can hide what is idle, and with keep_times,
 * without which there is no timeline.
 */
int html_write(const struct profile *p, const struct html_options *o, FILE *f, struct error *e);

#endif
