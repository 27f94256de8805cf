/* SPDX-License-Identifier: Apache-2.0 */
/* The other programs of gnomon lie where this one does. */
#ifndef GNOMON_BASE_BESIDE_H
#define GNOMON_BASE_BESIDE_H

#include <stddef.h>

/* The path of a program beside this one. A negative errno: it cannot be run. */
int beside_path(const char *program, char *to, size_t size);

#endif
