/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that is there whole or not at all: it is written under another name in the same directory
 * and takes its own at the end, or that of the file that its name is a link to. What existed is
 * kept unless `force`.
 */
#ifndef GNOMON_OUT_OUTPUT_H
#define GNOMON_OUT_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"

struct output {
	FILE *f;
	const char *path; /* NULL: stdout */
	char *behind;	  /* the file that `path` is a link to; NULL: it is none */
	char *temp;
	bool force;
};

/*
 * EXIT_USAGE where the output would be written over one of the n inputs, whatever names they go by.
 */
int output_apart(const char *path, char *const *inputs, int n, struct error *e);

/* path NULL or "-" is stdout. */
int output_open(struct output *o, const char *path, bool force, struct error *e);
/* Give the file its name, or with `rc` remove it and return rc. Reports what could not be written.
 */
int output_close(struct output *o, int rc, struct error *e);

#endif
