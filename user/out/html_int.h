/* SPDX-License-Identifier: Apache-2.0 */
/* Writing the page's head: shared by html*.c only. */
#ifndef GNOMON_OUT_HTML_INT_H
#define GNOMON_OUT_HTML_INT_H

#include <stdio.h>

#include "out/lanes.h"
#include "out/served.h"
#include "out/told.h"

/* A JSON string that cannot end the script element it stands in; and one with its name. */
void html_string(const char *s, FILE *f);
void html_field(const char *name, const char *s, FILE *f);

/* ,"lanes":[...],"bands":[...] and what of these is missing; nothing where there are none. */
void html_lanes(const struct lanes *l, uint64_t unseen, FILE *f);

/* ,"requests":{...}; times since `start_ns`. */
void html_requests(const struct served *v, const struct told *t, int64_t start_ns, FILE *f);

#endif
