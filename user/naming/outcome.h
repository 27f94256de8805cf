/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of targets and files, as naming/recorder.h and naming/crew.h tell it. */
#ifndef GNOMON_NAMING_OUTCOME_H
#define GNOMON_NAMING_OUTCOME_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "model/totals.h"

struct recorder_added {
	pid_t tgid;
	int rc;		    /* 0, or what kept it from being recorded */
	struct error error; /* then */
};

/* Figures of one target. */
typedef void (*recorder_target_fn)(void *ctx, pid_t tgid, const struct totals *t);

/* True: who waits for the end waits no longer. */
typedef bool (*recorder_enough_fn)(void *ctx);

#endif
