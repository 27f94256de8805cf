/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A point in a recording, as options and ranges have it:
 *
 *	30s, 1m, 90                     since its start; a bare number is of seconds
 *	-5m                             before its end
 *	14:00, 14:00:05                 a time of day
 *	2026-11-23 14:00, 2026-11-23T14:00:05
 *	20261123T140005Z                as the daemon's files are named, UTC
 *
 * Times of day are of this machine's time zone (TZ), with a Z behind them of UTC.
 */
#ifndef GNOMON_CLI_INSTANT_H
#define GNOMON_CLI_INSTANT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum instant_kind {
	INSTANT_NONE = 0,
	INSTANT_AFTER,
	INSTANT_BEFORE,
	INSTANT_DAY,
	INSTANT_DATE,
	INSTANT_UNIX, /* there are no words for it */
};

struct instant {
	enum instant_kind kind;
	bool utc;
	uint64_t ns;		       /* AFTER the start, BEFORE the end, UNIX: since 1970 */
	int hour, minute, second;      /* DAY and DATE */
	int year, month, day_of_month; /* DATE: 2026, 1 to 12, 1 to 31 */
};

/* -EINVAL: it is of no such form, or no such day. */
int instant_parse(const char *s, struct instant *out);

/* "14:00..14:05", either side may be left out. -EINVAL: it is none. */
int instant_range_parse(const char *s, struct instant *from, struct instant *to);

/*
 * Finds the times in a recording from start_ns to end_ns since 1970; INT64_MIN and INT64_MAX where
 * none is given. A time of day is the latest one that was recorded; behind a `from`, the first one
 * after it. EXIT_USAGE where `to` is not after `from`.
 */
int instant_range(const struct instant *from, const struct instant *to, int64_t start_ns,
		  int64_t end_ns, int64_t *from_ns, int64_t *to_ns, struct error *e);

#endif
