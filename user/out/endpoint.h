/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which samples were taken while an endpoint was served, for recordings that name endpoints: any
 * event with a text field "endpoint". (With gnomon.Context it is out/contexts.h that says it.)
 *
 *	sample with a field "endpoint"                  by that
 *	sample and event with a field "localRootSpanId" by that (datadog.Endpoint)
 *	event with "duration" and "eventThread"         samples of that thread in that time
 *
 * The last is what an application's own jdk.jfr.Event with such a field gives. Such events are
 * written when a request ends, behind the samples taken meanwhile: the file is read for them first.
 */
#ifndef GNOMON_OUT_ENDPOINT_H
#define GNOMON_OUT_ENDPOINT_H

#include "jfr/read_sample.h"
#include "jfr/stretch.h"
#include "out/profile.h"

struct endpoints;

/*
 * Find what matches `want`. Memory grows with the number of such events. EXIT_INPUT where the file
 * names no endpoint at all, EXIT_USAGE for "-", which can be read once only.
 */
int endpoints_read(struct endpoints **out, const struct stretch *s, const struct pattern_list *want,
		   struct error *e);
void endpoints_free(struct endpoints *x);

/*
 * Take the next part off *rest (a sample of the event, at first whole) whose ticks were all taken
 * while such an endpoint was served. 1 and *part; 0 when there is no more; -EOVERFLOW where a file
 * would take for ever, which no recorder's does.
 */
int endpoints_next(struct endpoints *x, struct jfr_reader *r, const struct jfr_event *ev,
		   struct jfr_sample *rest, struct jfr_sample *part);

#endif
