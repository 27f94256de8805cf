/* SPDX-License-Identifier: Apache-2.0 */
/* What a recording holds, and how far its numbers go. */
#ifndef GNOMON_OUT_SUMMARY_H
#define GNOMON_OUT_SUMMARY_H

#include <stdio.h>

#include "model/totals.h"
#include "out/profile.h"

/* Prints which JVM was recorded, when, for how long, and how much. */
void summary_head(const struct profile *p, const struct jfr_report *r, const char *path, FILE *f);

/* Share of good stacks, and what was lost. */
void summary_quality(const struct profile *p, const struct jfr_report *r, FILE *f);

/* CPU and wall time of up to `rows` thread groups, by state. */
int summary_groups(const struct profile *p, unsigned int rows, FILE *f, struct error *e);

/* Every kind of event with its number and bytes. */
int summary_events(const struct profile *p, FILE *f, struct error *e);

/* Prints a line for each remedy of losses for these reasons. */
void summary_remedies(const bool lost[LOSS_MAX], const char *indent, FILE *f);

#endif
