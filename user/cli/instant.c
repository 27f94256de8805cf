/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/instant.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/units.h"

#define S_NS	    1000000000ll
#define INSTANT_MAX 64 /* bytes of one in words */

/* ---- from words ------------------------------------------------------------------------------ */

/* Two digits, or `n`; -1 where there are none. */
static int digits(const char **s, int n)
{
	int v = 0;

	for (; n; n--, ++*s) {
		if (!isdigit((unsigned char)**s))
			return -1;
		v = v * 10 + (**s - '0');
	}
	return v;
}

static bool skip(const char **s, char c)
{
	if (**s != c)
		return false;
	++*s;
	return true;
}

/* HH:MM[:SS][Z], or with `dense` HHMMSSZ, to the end of the string. */
static bool clock_take(const char *s, bool dense, struct instant *i)
{
	i->hour = digits(&s, 2);
	if (i->hour < 0 || (!dense && !skip(&s, ':')))
		return false;
	i->minute = digits(&s, 2);
	i->second = 0;
	if (dense || skip(&s, ':'))
		i->second = digits(&s, 2);
	i->utc = skip(&s, 'Z');
	return !*s && (i->utc || !dense) && i->hour >= 0 && i->hour < 24 && i->minute >= 0 &&
	       i->minute < 60 && i->second >= 0 && i->second < 60;
}

/* What stands before the time of day; `dense` without hyphens. */
static bool date_take(const char **s, bool dense, struct instant *i)
{
	i->year = digits(s, 4);
	if (i->year < 1970 || (!dense && !skip(s, '-')))
		return false;
	i->month = digits(s, 2);
	if (i->month < 1 || i->month > 12 || (!dense && !skip(s, '-')))
		return false;
	i->day_of_month = digits(s, 2);
	return i->day_of_month >= 1 && i->day_of_month <= 31 &&
	       (skip(s, 'T') || (!dense && skip(s, ' ')));
}

static int span_parse(const char *s, uint64_t *ns)
{
	char bare[32];

	if (!duration_parse(s, ns))
		return 0;
	if (snprintf(bare, sizeof(bare), "%ss", s) >= (int)sizeof(bare))
		return -EINVAL;
	return duration_parse(bare, ns); /* seconds */
}

static bool date_is(const struct instant *i)
{
	struct tm tm = {.tm_year = i->year - 1900,
			.tm_mon = i->month - 1,
			.tm_mday = i->day_of_month,
			.tm_hour = 12};

	return timegm(&tm) != -1 && tm.tm_mday == i->day_of_month;
}

static int date_parse(const char *s, bool dense, struct instant *i)
{
	i->kind = INSTANT_DATE;
	return date_take(&s, dense, i) && clock_take(s, dense, i) && date_is(i) ? 0 : -EINVAL;
}

int instant_parse(const char *s, struct instant *i)
{
	*i = (struct instant){0};
	if (*s == '-') {
		i->kind = INSTANT_BEFORE;
		return span_parse(s + 1, &i->ns);
	}
	if (strlen(s) > 10 && s[4] == '-')
		return date_parse(s, false, i);
	if (strchr(s, 'T'))
		return date_parse(s, true, i);
	if (strchr(s, ':')) {
		i->kind = INSTANT_DAY;
		return clock_take(s, false, i) ? 0 : -EINVAL;
	}
	i->kind = INSTANT_AFTER;
	return span_parse(s, &i->ns);
}

int instant_range_parse(const char *s, struct instant *from, struct instant *to)
{
	const char *dots = strstr(s, "..");
	char first[INSTANT_MAX];

	*from = *to = (struct instant){0};
	if (!dots || dots - s >= INSTANT_MAX || (dots == s && !dots[2]))
		return -EINVAL;
	snprintf(first, sizeof(first), "%.*s", (int)(dots - s), s);
	if (first[0] && instant_parse(first, from))
		return -EINVAL;
	return dots[2] ? instant_parse(dots + 2, to) : 0;
}

/* ---- to a time ------------------------------------------------------------------------------- */

static int64_t added(int64_t at, int64_t ns)
{
	int64_t sum;

	if (__builtin_add_overflow(at, ns, &sum))
		return ns < 0 ? INT64_MIN + 1 : INT64_MAX - 1;
	return sum;
}

static int64_t tm_time(struct tm *tm, bool utc)
{
	int64_t s;

	tm->tm_isdst = -1;
	s = utc ? timegm(tm) : mktime(tm);
	return s > INT64_MAX / S_NS ? INT64_MAX - 1 : s * S_NS;
}

static int64_t date_time(const struct instant *i)
{
	struct tm tm = {.tm_year = i->year - 1900,
			.tm_mon = i->month - 1,
			.tm_mday = i->day_of_month,
			.tm_hour = i->hour,
			.tm_min = i->minute,
			.tm_sec = i->second};

	return tm_time(&tm, i->utc);
}

/* That time of the day on which `at` is, and so many days later. */
static int64_t day_time(const struct instant *i, int64_t at, int days)
{
	time_t t = (time_t)(at / S_NS);
	struct tm tm = {0};

	if (!(i->utc ? gmtime_r(&t, &tm) : localtime_r(&t, &tm)))
		return at;
	tm.tm_mday += days;
	tm.tm_hour = i->hour;
	tm.tm_min = i->minute;
	tm.tm_sec = i->second;
	return tm_time(&tm, i->utc);
}

/* The latest that is not after `at`. */
static int64_t day_until(const struct instant *i, int64_t at)
{
	int64_t t = day_time(i, at, 0);

	return t <= at ? t : day_time(i, at, -1);
}

/* The first that is after `at`. */
static int64_t day_after(const struct instant *i, int64_t at)
{
	int64_t t = day_time(i, at, 0);

	return t > at ? t : day_time(i, at, 1);
}

/* A span that does not fit into an int64_t is longer than any recording. */
static int64_t span(uint64_t ns)
{
	return ns > INT64_MAX ? INT64_MAX : (int64_t)ns;
}

/* `from` is INT64_MIN where none was said, or this is it. */
static int64_t instant_time(const struct instant *i, int64_t start, int64_t end, int64_t from)
{
	int64_t t;

	switch (i->kind) {
	case INSTANT_AFTER:
		return added(start, span(i->ns));
	case INSTANT_BEFORE:
		return added(end, -span(i->ns));
	case INSTANT_UNIX:
		return span(i->ns);
	case INSTANT_DATE:
		return date_time(i);
	default:
		if (from != INT64_MIN)
			return day_after(i, from);
		t = day_until(i, end);
		return t > start ? t : day_after(i, start);
	}
}

int instant_range(const struct instant *from, const struct instant *to, int64_t start_ns,
		  int64_t end_ns, int64_t *from_ns, int64_t *to_ns, struct error *e)
{
	*from_ns = INT64_MIN;
	*to_ns = INT64_MAX;
	if (from->kind)
		*from_ns = instant_time(from, start_ns, end_ns, INT64_MIN);
	if (to->kind)
		*to_ns = instant_time(to, start_ns, end_ns, *from_ns);
	if (*to_ns > *from_ns)
		return 0;
	return error_set(e, -EINVAL, EXIT_USAGE, "--to is not after --from");
}
