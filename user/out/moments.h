/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples by thread, and those of a thread in the order of time; of a profile that was loaded with
 * keep_times. A thread is one under all its names (prof_thread.self).
 */
#ifndef GNOMON_OUT_MOMENTS_H
#define GNOMON_OUT_MOMENTS_H

#include "out/profile.h"

struct moment {
	uint32_t cell;
	int64_t start_ns; /* since the recording's start */
	uint64_t ns;	  /* what it stands for */
};

struct moments_thread {
	uint32_t thread; /* the name that it had last */
	uint64_t ns;	 /* of all */
	size_t first, n; /* in moments.v */
};

struct moments {
	struct moment *v;
	struct moments_thread *threads; /* most time first */
	size_t nthreads;
};

/* Those of side 0 that count towards `dim`. 0 or -ENOMEM. */
int moments_gather(struct moments *m, const struct profile *p, enum dim dim);
void moments_free(struct moments *m);

#endif
