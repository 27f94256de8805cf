/* SPDX-License-Identifier: Apache-2.0 */
/*
 * speedscope's own file format (https://www.speedscope.app/file-format-schema.json): times in ns.
 * One profile for each of CPU, wall and off-CPU time that there is, or of the one asked for, in
 * which the samples have the order of the tree, heaviest first; with threads, one for each thread
 * in the order of time, for which the profile must be loaded with keep_times.
 */
#ifndef GNOMON_OUT_SPEEDSCOPE_H
#define GNOMON_OUT_SPEEDSCOPE_H

#include <stdio.h>

#include "out/profile.h"

struct speedscope_options {
	const char *title;
	int dim;      /* enum dim; -1: each that has time */
	bool threads; /* of `dim`, -1: wall */
};

int speedscope_write(const struct profile *p, const struct speedscope_options *o, FILE *f,
		     struct error *e);

#endif
