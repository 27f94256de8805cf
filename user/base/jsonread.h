/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading JSON that somebody else wrote, without a tree of it: a value is its text, in which its
 * members and elements are looked up. What is no JSON has fewer of them, and is not told apart.
 */
#ifndef GNOMON_BASE_JSONREAD_H
#define GNOMON_BASE_JSONREAD_H

#include <stdbool.h>
#include <stddef.h>

/* The text from its first byte on; what follows it may be there, too. */
struct json_value {
	const char *p, *end;
};

/* Of an object. Keys with escapes are none. False: it has no such one, or is no object. */
bool json_member(struct json_value object, const char *key, struct json_value *to);

/*
 * Each element of an array, or each member of an object with its *key (NULL: an array's):
 *
 *	struct json_value rest = array, v;
 *	while (json_next(&rest, NULL, &v))
 */
bool json_next(struct json_value *rest, struct json_value *key, struct json_value *to);

/* A string, in UTF-8 and ended by a NUL. False, and "": it is none, is cut, or does not fit. */
bool json_copy(struct json_value v, char *to, size_t size);

#endif
