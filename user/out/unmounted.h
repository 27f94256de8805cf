/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual threads that nobody ran: how many, and where they waited, in words. */
#ifndef GNOMON_OUT_UNMOUNTED_H
#define GNOMON_OUT_UNMOUNTED_H

#include <stdio.h>

#include "out/profile.h"

/*
 * `alone`: a profile of these alone (profile_options.unmounted), of the recording that says
 * `facts`. At most `rows` places. 0, or -ENOMEM.
 */
int unmounted_print(const struct profile *alone, const struct profile_facts *facts,
		    unsigned int rows, FILE *f, struct error *e);

#endif
