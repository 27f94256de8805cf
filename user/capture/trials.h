/* SPDX-License-Identifier: Apache-2.0 */
/* How each feature of capture/features.h is tried, which remembers it. */
#ifndef GNOMON_CAPTURE_TRIALS_H
#define GNOMON_CAPTURE_TRIALS_H

#include <stdbool.h>

#include "capture/features.h"

struct btf;

#define TRIALS_MAX 64 /* there are fewer */

/* A row of them. The kernel's types are read when the first asks for them. Begins as zeros. */
struct trials {
	struct btf *kernel;
	bool read;
};

/*
 * Try feature f. 0, or -errno as the kernel says it: -EACCES and -EPERM may be the verifier's of
 * the program, and may be of us.
 */
int trial_run(int f, struct trials *t);

/* Load a program that does nothing. 0, -EPERM; -EMFILE, -ENFILE, -ENOMEM. */
int trial_permitted(void);

void trials_end(struct trials *t);

#endif
