/* SPDX-License-Identifier: Apache-2.0 */
/* What a process that was made of this one keeps of its descriptors. */
#ifndef GNOMON_BASE_INHERIT_H
#define GNOMON_BASE_INHERIT_H

#include <stddef.h>

#define INHERIT_MAX 16

/* Closes all but the standard ones and those, at most INHERIT_MAX, which are put in order. */
void inherit_only(int *fds, size_t n);

/*
 * What a process made by fork() does first that works for whoever made it until that is gone: it
 * keeps those descriptors alone, is called `name`, has all signals blocked, and is in a session of
 * its own, so that a terminal's signals are for whoever made it.
 */
void inherit_begin(const char *name, int *fds, size_t n);

#endif
