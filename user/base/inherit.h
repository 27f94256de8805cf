/* SPDX-License-Identifier: Apache-2.0 */
/* What a process that was made of this one keeps of its descriptors. */
#ifndef GNOMON_BASE_INHERIT_H
#define GNOMON_BASE_INHERIT_H

#include <stddef.h>

#define INHERIT_MAX 16

/* Closes all but the standard ones and those, at most INHERIT_MAX, which are put in order. */
void inherit_only(int *fds, size_t n);

#endif
