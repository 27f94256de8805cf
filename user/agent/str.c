/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/str.h"

size_t str_len(const char *s, size_t max)
{
	size_t n = 0;

	while (s && n < max && s[n])
		n++;
	return n;
}

bool str_same(const char *a, size_t n, const char *lit)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (!lit[i] || a[i] != lit[i])
			return false;
	return !lit[n];
}
