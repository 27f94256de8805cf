/* SPDX-License-Identifier: Apache-2.0 */
/* For the terminal and for scripts. All take a finished profile; -ENOMEM is the only failure. */
#ifndef GNOMON_OUT_TEXT_H
#define GNOMON_OUT_TEXT_H

#include <stdio.h>

#include "out/profile.h"

/* The hottest methods on CPU, and the hottest stacks off CPU, `top` of each. */
int text_top(const struct profile *p, unsigned int top, FILE *f, struct error *e);

/* The tree of calls in `dim`, what is below `min_share` (0..1) of the whole left out. */
int text_tree(const struct profile *p, enum dim dim, double min_share, FILE *f, struct error *e);

/* "outer;inner;leaf NANOSECONDS" per line: what flame graph tools call collapsed stacks. */
int text_collapsed(const struct profile *p, enum dim dim, bool threads, FILE *f, struct error *e);

/* One paragraph: what there is, and warnings about what its numbers rest on. */
void text_head(const struct profile *p, FILE *f);

/* Where samples of that side were left out, as others count the same time, a line that says so. */
void text_dropped(const struct profile *p, int side, const char *before, FILE *f);

/* Where only part of the threads was sampled, a line that says so. */
void text_reservoir(const struct profile *p, const char *indent, FILE *f);

#endif
