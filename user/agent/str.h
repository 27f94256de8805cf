/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GNOMON_AGENT_STR_H
#define GNOMON_AGENT_STR_H

#include <stdbool.h>
#include <stddef.h>

/* At most max; 0 for NULL. */
size_t str_len(const char *s, size_t max);

/* Tells whether the n bytes at a are the literal, all of it. */
bool str_same(const char *a, size_t n, const char *lit);

#endif
