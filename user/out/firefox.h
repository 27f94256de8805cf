/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Firefox Profiler's processed profile format (profiler.firefox.com, also what samply writes),
 * of version FIREFOX_FORMAT, which newer ones of it upgrade by themselves. Facts:
 * github.com/firefox-devtools/profiler, src/types/profile.ts and docs-developer/CHANGELOG-formats.
 *
 * A sample is what one event of the recording stands for, at the time of its first tick, weighed in
 * milliseconds; a thread's CPU use is told by those on the CPU. Categories are what runs (Java,
 * native code, the kernel) and, of samples off the CPU, what is waited for: of their innermost
 * frame, with the state as its subcategory. Threads come with most time first.
 */
#ifndef GNOMON_OUT_FIREFOX_H
#define GNOMON_OUT_FIREFOX_H

#include <stdio.h>

#include "out/profile.h"

#define FIREFOX_FORMAT 57

struct firefox_options {
	const char *title;
	int dim;   /* enum dim; -1: wall */
	bool gzip; /* as profiler.firefox.com takes it, too */
};

/* The profile must be loaded with keep_times. */
int firefox_write(const struct profile *p, const struct firefox_options *o, FILE *f,
		  struct error *e);

#endif
