/* SPDX-License-Identifier: Apache-2.0 */
/* Points of time as options have them. Expected times are from the calendar, by `date -d`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/instant.h"

#define S	    1000000000ll
#define NOV_23_1400 (1763906400 * S) /* 2025-11-23 14:00:00 UTC */
#define MINUTE	    (60 * S)
#define HOUR	    (3600 * S)
#define DAY	    (24 * HOUR)

static void zone(const char *tz)
{
	setenv("TZ", tz, 1);
	tzset();
}

static struct instant parsed(const char *s)
{
	struct instant i;

	if (instant_parse(s, &i))
		fail_msg("'%s' is refused", s);
	return i;
}

static void forms(void **state)
{
	struct instant i = parsed("30s");

	assert_int_equal(i.kind, INSTANT_AFTER);
	assert_int_equal(i.ns, 30 * S);
	assert_int_equal(parsed("90").ns, 90 * S);
	assert_int_equal(parsed("0").ns, 0);
	i = parsed("-5m");
	assert_int_equal(i.kind, INSTANT_BEFORE);
	assert_int_equal(i.ns, 5 * MINUTE);
	i = parsed("14:05");
	assert_int_equal(i.kind, INSTANT_DAY);
	assert_int_equal(i.hour, 14);
	assert_int_equal(i.minute, 5);
	assert_false(i.utc);
	i = parsed("14:05:09Z");
	assert_int_equal(i.second, 9);
	assert_true(i.utc);
	i = parsed("2025-11-23 14:05");
	assert_int_equal(i.kind, INSTANT_DATE);
	assert_int_equal(i.year, 2025);
	assert_int_equal(i.month, 11);
	assert_int_equal(i.day_of_month, 23);
	assert_int_equal(parsed("2025-11-23T14:05:33Z").second, 33);
	i = parsed("20251123T140533Z");
	assert_int_equal(i.kind, INSTANT_DATE);
	assert_int_equal(i.minute, 5);
	assert_true(i.utc);
}

static void refused(void **state)
{
	static const char *const bad[] = {
		"",
		"-",
		"x",
		"24:00",
		"14:60",
		"14:5",
		"14:05:60",
		"1:05",
		"14:05x",
		"14:05:",
		"2025-02-30T10:00",
		"2025-13-01T10:00",
		"5x",
		"2025-11-23",
		"2025-11-23T",
		"20251123T140533",
		"--5m",
		"-14:00",
		"14:00..",
		"2025-11-23 14:05 ",
		"1969-01-01T00:00",
		"99999999999999999999s",
		"-99999999999h",
		"20251123T1405Z",
	};
	struct instant i;

	for (size_t n = 0; n < sizeof(bad) / sizeof(*bad); n++)
		if (!instant_parse(bad[n], &i))
			fail_msg("'%s' is taken", bad[n]);
}

static void check(const char *range, int64_t start, int64_t end, int64_t from, int64_t to)
{
	struct instant a, b;
	struct error e = {0};
	int64_t x, y;

	if (instant_range_parse(range, &a, &b))
		fail_msg("'%s' is refused", range);
	assert_int_equal(instant_range(&a, &b, start, end, &x, &y, &e), 0);
	if (x != from || y != to)
		fail_msg("'%s': %lld..%lld, not %lld..%lld", range, (long long)x, (long long)y,
			 (long long)from, (long long)to);
}

static void ranges(void **state)
{
	const int64_t start = NOV_23_1400 - DAY, end = NOV_23_1400 + HOUR;

	zone("UTC");
	check("30..1m", start, end, start + 30 * S, start + MINUTE);
	check("-10m..-5m", start, end, end - 10 * MINUTE, end - 5 * MINUTE);
	check("..30", start, end, INT64_MIN, start + 30 * S);
	check("-5m..", start, end, end - 5 * MINUTE, INT64_MAX);
	/* the latest such time that was recorded: today's, and yesterday's */
	check("14:00..14:05", start, end, NOV_23_1400, NOV_23_1400 + 5 * MINUTE);
	check("15:30..15:40", start, end, NOV_23_1400 - DAY + HOUR + 30 * MINUTE,
	      NOV_23_1400 - DAY + HOUR + 40 * MINUTE);
	/* over midnight, and past the end of what was recorded */
	check("23:50..00:10", start, end, NOV_23_1400 - 14 * HOUR - 10 * MINUTE,
	      NOV_23_1400 - 14 * HOUR + 10 * MINUTE);
	check("14:59..15:30", start, end, NOV_23_1400 + 59 * MINUTE, NOV_23_1400 + 90 * MINUTE);
	check("..14:30", start, end, INT64_MIN, NOV_23_1400 + 30 * MINUTE);
	/* of a recording of ten minutes that is not over then */
	check("..14:30", NOV_23_1400, NOV_23_1400 + 10 * MINUTE, INT64_MIN,
	      NOV_23_1400 + 30 * MINUTE);
	check("20251123T140000Z..2025-11-23T14:05", start, end, NOV_23_1400,
	      NOV_23_1400 + 5 * MINUTE);
}

/* By the clock of whoever reads; with a Z by that of the files. */
static void zones(void **state)
{
	const int64_t start = NOV_23_1400 - DAY, end = NOV_23_1400 + HOUR;

	zone("Europe/Berlin");
	check("15:00..15:05", start, end, NOV_23_1400, NOV_23_1400 + 5 * MINUTE);
	check("14:00Z..14:05Z", start, end, NOV_23_1400, NOV_23_1400 + 5 * MINUTE);
	check("2025-11-23T15:00..2025-11-23T14:05Z", start, end, NOV_23_1400,
	      NOV_23_1400 + 5 * MINUTE);
	/* the night of 26 October 2025 has an hour twice: 02:59:59 CEST, 02:00 CET. 03:00 is 02:00
	 * UTC */
	check("03:00..03:05", 1761436800 * S, 1761451200 * S, 1761444000 * S,
	      1761444000 * S + 5 * MINUTE);
	zone("UTC");
}

static void no_ranges(void **state)
{
	static const char *const bad[] = {"..", "14:00", "a..b", "14:00..x", "", "..14:00..15:00"};
	struct instant a, b;
	struct error e = {0};
	int64_t x, y;

	for (size_t n = 0; n < sizeof(bad) / sizeof(*bad); n++)
		if (!instant_range_parse(bad[n], &a, &b))
			fail_msg("'%s' is taken", bad[n]);
	assert_int_equal(instant_range_parse("-5m..-10m", &a, &b), 0);
	assert_true(instant_range(&a, &b, 0, HOUR, &x, &y, &e) < 0);
	assert_int_equal(e.exit, EXIT_USAGE);
	assert_int_equal(instant_range_parse("999999h..30", &a, &b), 0);
	assert_int_equal(instant_range(&a, &b, NOV_23_1400, NOV_23_1400, &x, &y, &e), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forms), cmocka_unit_test(refused),   cmocka_unit_test(ranges),
		cmocka_unit_test(zones), cmocka_unit_test(no_ranges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
