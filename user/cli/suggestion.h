/* SPDX-License-Identifier: Apache-2.0 */
/* "did you mean": the word that was probably meant. Pure. */
#ifndef GNOMON_CLI_SUGGESTION_H
#define GNOMON_CLI_SUGGESTION_H

#include <stddef.h>

struct suggestion {
	const char *word; /* what was typed, `len` bytes */
	size_t len;
	const char *best; /* NULL: nothing is near */
	size_t distance;
};

/*
 * One of those known. It is the best so far if fewer letters have to be put in, left out, replaced
 * or swapped, a third of the longer word at most; or if the word is its beginning.
 */
void suggestion_offer(struct suggestion *n, const char *known);

#endif
