/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rule about stacks, as options give it: METHOD, or METHOD > CALLED for a method and what it
 * called. Both are patterns of names (pattern_match()).
 */
#ifndef GNOMON_OUT_STACKRULE_H
#define GNOMON_OUT_STACKRULE_H

#include <stdbool.h>

#include "base/error.h"

struct stackrule {
	char *text;		    /* of which the others are parts */
	const char *frame, *callee; /* callee NULL: any, and nothing */
};

/* EXIT_USAGE: it is not a rule for `what`. On any error, too, stackrule_free() is needed. */
int stackrule_parse(struct stackrule *r, const char *text, const char *what, struct error *e);
void stackrule_free(struct stackrule *r);

/* Whether the method's name fits one of a rule's two patterns. */
bool stackrule_fits(const char *pattern, const char *method);

#endif
