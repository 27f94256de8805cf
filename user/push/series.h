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

enum series_apart {
	SERIES_GROUPS,	/* threads whose groups' names differ */
	SERIES_NAMES,	/* whose names do */
	SERIES_THREADS, /* whose names or ids do */
};

/* The Java id, which the kernel's stands for where there is none. 0: neither is known. */
static inline int64_t series_thread_id(const struct prof_thread *t)
{
	return t->java_id > 0 ? t->java_id : t->os_id;
}

struct series_form {
	uint64_t window_ns;	 /* 0: all is one window, whatever the clock says */
	bool dims[DIMS];	 /* which kinds */
	enum series_apart apart; /* what is told apart */
	bool ticks;		 /* with the times of CPU samples */
};

/* One time of a sample. */
struct series_tick {
	uint32_t sample;
	int64_t time_ns; /* since 1970, within the series */
};

struct series {
	enum dim dim;
	int64_t start_ns; /* since 1970 */
	uint64_t duration_ns;
	/*
	 * v[0] is nanoseconds. No two are of the same stack, state, link and thread (or name or
	 * group: then `thread` is any of it). Stacks that begin alike mostly stand together.
	 */
	struct pprof_sample *samples;
	size_t n;
	/* By sample, where they were asked for and `dim` is DIM_CPU; sample `base` is the first. */
	struct series_tick *ticks;
	size_t nticks;
	uint32_t base;
};

/* Its samples from `from` on, and before `to`. */
void series_part(const struct series *s, size_t from, size_t to, struct series *part);

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
