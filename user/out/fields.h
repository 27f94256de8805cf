/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of an event by their names. What the event does not have is 0 or "". */
#ifndef GNOMON_OUT_FIELDS_H
#define GNOMON_OUT_FIELDS_H

#include <stddef.h>

#include "jfr/read.h"

#define FIELDS_MAX 40 /* those behind these are not read */

struct fields {
	struct jfr_reader *r;
	const struct jfr_class *cls;
	struct jfr_value v[FIELDS_MAX];
	int n;
};

/* Those of an event, or of a structure in it. False: it has none that can be read. */
bool fields_event(struct fields *f, struct jfr_reader *r, const struct jfr_event *ev);
bool fields_within(struct fields *f, const struct fields *of, const char *name);

/* Negative numbers are 0. */
uint64_t field_number(const struct fields *f, const char *name);
double field_real(const struct fields *f, const char *name);

/* ns: of a span, which the JDK writes in ticks of its own, and since 1970 of startTime. */
uint64_t field_span(const struct fields *f, const char *name);
uint64_t field_start(const struct fields *f);

/* Whole characters, as many as have room, and no control characters. */
void field_text(const struct fields *f, const char *name, char *to, size_t size);

#endif
