/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/suggestion.h"

#include <string.h>

#define LONGEST 32 /* longer words are not compared */

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Optimal string alignment: neighbours may be swapped once. */
static size_t distance(const char *a, size_t n, const char *b, size_t m)
{
	size_t d[LONGEST + 1][LONGEST + 1];

	for (size_t i = 0; i <= n; i++)
		d[i][0] = i;
	for (size_t k = 0; k <= m; k++)
		d[0][k] = k;
	for (size_t i = 1; i <= n; i++)
		for (size_t k = 1; k <= m; k++) {
			size_t same = a[i - 1] == b[k - 1];

			d[i][k] =
				least(d[i - 1][k - 1] + !same, least(d[i - 1][k], d[i][k - 1]) + 1);
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
				d[i][k] = least(d[i][k], d[i - 2][k - 2] + 1);
		}
	return d[n][m];
}

void suggestion_offer(struct suggestion *n, const char *known)
{
	size_t len = strlen(known), far;

	if (!n->len || n->len > LONGEST || len > LONGEST)
		return;
	if (len > n->len && n->len > 2 && !strncmp(n->word, known, n->len)) {
		far = 1;
	} else {
		far = distance(n->word, n->len, known, len);
		if (far * 3 > (n->len > len ? n->len : len))
			return;
	}
	if (!n->best || far < n->distance) {
		n->best = known;
		n->distance = far;
	}
}
