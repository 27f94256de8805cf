/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns of names, as options give them. */
#ifndef GNOMON_BASE_PATTERN_H
#define GNOMON_BASE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

struct pattern_list {
	const char *const *v; /* globs; without * and ? it is enough that the text contains it */
	size_t n;
};

/* Does one of them fit? */
bool pattern_match(const struct pattern_list *l, const char *text);

#endif
