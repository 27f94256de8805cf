/* SPDX-License-Identifier: Apache-2.0 */
#include "out/format.h"

#include <stdio.h>
#include <string.h>

struct text32 format_ns(uint64_t ns)
{
	struct text32 t;
	double s = (double)ns / 1e9;

	if (s >= 3600)
		snprintf(t.s, sizeof(t.s), "%llu h %02llu m",
			 (unsigned long long)(ns / 3600000000000),
			 (unsigned long long)(ns / 60000000000 % 60));
	else if (s >= 600)
		snprintf(t.s, sizeof(t.s), "%llu m %02llu s",
			 (unsigned long long)(ns / 60000000000),
			 (unsigned long long)(ns / 1000000000 % 60));
	else if (s >= 100)
		snprintf(t.s, sizeof(t.s), "%.0f s", s);
	else if (s >= 1)
		snprintf(t.s, sizeof(t.s), "%.*f s", s >= 10 ? 1 : 2, s);
	else if (ns >= 1000000)
		snprintf(t.s, sizeof(t.s), "%.0f ms", s * 1e3);
	else if (ns >= 1000)
		snprintf(t.s, sizeof(t.s), "%.0f us", s * 1e6);
	else
		snprintf(t.s, sizeof(t.s), "%llu%s", (unsigned long long)ns, ns ? " ns" : "");
	return t;
}

struct text32 format_count(uint64_t n)
{
	char digits[24];
	struct text32 t;
	size_t len, j = 0;

	len = (size_t)snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n);
	for (size_t i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			t.s[j++] = ',';
		t.s[j++] = digits[i];
	}
	t.s[j] = '\0';
	return t;
}

struct text32 format_bytes(uint64_t n)
{
	static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
	double v = (double)n;
	struct text32 t;
	int u = 0;

	for (; v >= 1000 && u < 4; u++)
		v /= 1000;
	snprintf(t.s, sizeof(t.s), "%.*f %s", u && v < 100 ? 1 : 0, v, units[u]);
	return t;
}

struct text32 format_share(uint64_t part, uint64_t of)
{
	struct text32 t;

	snprintf(t.s, sizeof(t.s), "%5.1f%%", of ? 100.0 * (double)part / (double)of : 0.0);
	return t;
}
