/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of a recording, the latest of each name: they hold for files that are opened later. */
#ifndef GNOMON_NAMING_LATEST_H
#define GNOMON_NAMING_LATEST_H

#include <string.h>

#include "naming/records.h"

#define LATEST_MAX 16

struct latest {
	struct rec_setting v[LATEST_MAX];
	size_t n;
};

/* Beyond LATEST_MAX names nothing is kept. */
static inline void latest_keep(struct latest *l, const struct rec_setting *set)
{
	size_t i = 0;

	while (i < l->n && strcmp(l->v[i].name, set->name))
		i++;
	if (i == LATEST_MAX)
		return;
	l->v[i] = *set;
	if (i == l->n)
		l->n++;
}

#endif
