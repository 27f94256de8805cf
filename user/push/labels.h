/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The labels of what is sent: names and values that a server looks profiles up by. Names are made
 * of letters, digits and "_", as Prometheus has them: a "." or "-" becomes "_".
 */
#ifndef GNOMON_PUSH_LABELS_H
#define GNOMON_PUSH_LABELS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

#define LABELS_MOST 24 /* and those of the samples are no more than 30 with these */
#define LABELS_RUN                                                                                 \
	3 /* beside these: process_pid, process_runtime_name, process_runtime_version              \
	   */

struct label {
	char *name, *value;
	/*
	 * Of this run of the program: an attribute of it where there are such, and no label, which
	 * would make a series of each run.
	 */
	bool run;
};

/* By name, each name once. */
struct labels {
	struct label v[LABELS_MOST + LABELS_RUN];
	size_t n;
};

/*
 * In place of one of that name; a value of "" takes it away. Cut to what servers take, and without
 * control characters. 0, -ENOMEM, -E2BIG too many, -EINVAL: nothing of the name can be one, or it
 * begins with "__".
 */
int labels_set(struct labels *l, const char *name, const char *value);

/* The same of what is of the run: -E2BIG beyond LABELS_RUN. */
int labels_set_run(struct labels *l, const char *name, const char *value);

/* "name=value". */
int labels_parse(struct labels *l, const char *text);

/* Returns how many more labels there may be, of LABELS_MOST. */
size_t labels_room(const struct labels *l);

/* NULL: there is none. */
const char *labels_get(const struct labels *l, const char *name);

void labels_free(struct labels *l);

#endif
