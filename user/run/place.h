/* SPDX-License-Identifier: Apache-2.0 */
/* The directory that a daemon records into: one daemon has it at a time. */
#ifndef GNOMON_RUN_PLACE_H
#define GNOMON_RUN_PLACE_H

#include <stdint.h>

#include "base/error.h"

struct place {
	const char *dir;
	int lock; /* descriptor of DIR/.lock, which has our process id in it; -1: we do not have it
		   */
	/* whose members may read what is in it (jfr/segment.h); (uint32_t)-1: nobody */
	uint32_t gid;
};

/*
 * Makes the directory, and takes it. Once more when it is ours already: where somebody has removed
 * it, it is made again. EXIT_OUTPUT: it cannot be made, or another process has it.
 */
int place_take(struct place *p, struct error *e);
void place_leave(struct place *p);

#endif
