/* SPDX-License-Identifier: Apache-2.0 */
/* Writing the page's head: shared by html*.c only. */
#ifndef GNOMON_OUT_HTML_INT_H
#define GNOMON_OUT_HTML_INT_H

#include <stdio.h>

#include "out/lanes.h"

/* A JSON string that cannot end the script element it stands in; and one with its name. */
void html_string(const char *s, FILE *f);
void html_field(const char *name, const char *s, FILE *f);

/* ,"lanes":[...],"bands":[...] and what of these is missing; nothing where there are none. */
void html_lanes(const struct lanes *l, uint64_t unseen, FILE *f);

#endif
