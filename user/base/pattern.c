/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pattern.h"

#include <fnmatch.h>
#include <string.h>

bool pattern_match(const struct pattern_list *l, const char *text)
{
	for (size_t i = 0; i < l->n; i++) {
		const char *g = l->v[i];

		if (strpbrk(g, "*?") ? !fnmatch(g, text, 0) : strstr(text, g) != NULL)
			return true;
	}
	return false;
}
