/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands out in a recording, in words, each with the place in the page where it is seen. A
 * finding says what the recording proves, and where it ends: who held a lock where no causes were
 * recorded.
 *
 * They are of whole recordings: with a filter by thread, state, endpoint or frame there are none,
 * as "throughout" would be of what the filter left. The profile has to be loaded with show_idle.
 */
#ifndef GNOMON_OUT_FINDINGS_H
#define GNOMON_OUT_FINDINGS_H

#include <stdio.h>

#include "out/profile.h"

struct finding {
	const char *kind; /* a word: "starved" */
	char *text;	  /* sentences on one line */
	char *link; /* what the page looks at, as after its '#' (page/link.js); may be empty */
};

struct findings {
	struct finding *v; /* the worst first, as they were added */
	size_t n, cap;
	char *overview;	  /* where the time went, in a sentence */
	const char *none; /* where nothing was found: what was looked for, and what is not known */
};

/* -ENOMEM is the only failure. */
int findings_new(struct findings **f, const struct profile *p, struct error *e);
void findings_free(struct findings *f);

/* For terminals: wrapped, and with an empty line before. */
void findings_print(const struct findings *f, FILE *to);

/* For terminals, those of one kind alone, which may be none. */
void findings_print_kind(const struct findings *f, const char *kind, FILE *to);

/* The machine's CPU time that others on its host took is worth telling of. */
bool findings_says_stolen(uint64_t stolen_ns, uint64_t machine_ns);

#endif
