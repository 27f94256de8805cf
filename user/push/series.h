/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile cut into windows of time, and each of these into its kinds of time: what is sent to a
 * server as one series. Windows are aligned to the clock, so that those of all hosts lie under each
 * other; the first and the last are as long as the recording was in them.
 *
 * No time is lost by the cutting: the series of one kind add up to the profile's total of it.
 */
#ifndef GNOMON_PUSH_SERIES_H
#define GNOMON_PUSH_SERIES_H

#include "out/pprof.h"

struct series_form {
	uint64_t window_ns; /* not 0 */
	bool dims[DIMS];    /* which kinds */
	bool threads;	    /* tell threads apart; else their groups alone */
};

struct series {
	enum dim dim;
	int64_t start_ns; /* since 1970 */
	uint64_t duration_ns;
	/*
	 * v[0] is nanoseconds. No two are of the same stack, state and thread (or group: then
	 * `thread` is any of it). Stacks that begin alike mostly stand together.
	 */
	struct pprof_sample *samples;
	size_t n;
};

typedef int (*series_fn)(void *ctx, const struct series *s);

/*
 * Hands over the series that have time in them, in the order of time. The profile was loaded with
 * keep_times, from one recording. 0, what `take` returned other than 0, -ENOMEM, or -E2BIG where
 * the recording claims to be longer than SERIES_WINDOWS_MOST windows, or to have more in them than
 * a recorder writes.
 */
int series_each(const struct profile *p, const struct series_form *f, series_fn take, void *ctx);

#define SERIES_WINDOWS_MOST 200000 /* 34 days of 15 s */

#endif
