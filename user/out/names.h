/* SPDX-License-Identifier: Apache-2.0 */
/* Strings held once each; equal strings have equal numbers, counted from 0. */
#ifndef GNOMON_OUT_NAMES_H
#define GNOMON_OUT_NAMES_H

#include "base/buffer.h"
#include "base/idmap.h"

struct names {
	struct buffer text;
	struct buffer offs; /* size_t each */
	struct idmap by_hash;
	uint32_t n;
};

#define NAME_NONE UINT32_MAX /* out of memory */

uint32_t names_add(struct names *t, const void *s, size_t len, bool *fresh);
/* NUL ended; valid until the next addition. */
const char *names_get(const struct names *t, uint32_t i);
void names_free(struct names *t);

#endif
