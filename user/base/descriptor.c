/* SPDX-License-Identifier: Apache-2.0 */
#include "base/descriptor.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/digest.h"

#define RETURN_MAX 256 /* longest return type that stays */
#define MARK_LEN   22  /* of "Lcut_0123456789abcdef;" */

/* One field type (JVMS 4.3.2); returns what follows, NULL if it is none. */
static const char *field_type(const char *s)
{
	while (*s == '[')
		s++;
	if (*s == 'L') {
		s = strchr(s, ';');
		return s ? s + 1 : NULL;
	}
	return *s && strchr("BCDFIJSZ", *s) ? s + 1 : NULL;
}

/* Where the parameters end, at ")"; NULL if they do not. */
static const char *parameters_end(const char *s)
{
	if (*s++ != '(')
		return NULL;
	while (s && *s != ')')
		s = field_type(s);
	return s;
}

bool descriptor_valid(const char *s)
{
	s = s ? parameters_end(s) : NULL;
	if (!s)
		return false;
	if (*++s == 'V')
		return !s[1];
	s = field_type(s);
	return s && !*s;
}

/* The key is no secret: an overload may take another's name only where its author wants that. */
static uint64_t digest_fixed(const char *s)
{
	static const struct digest_key key;

	return digest_of(&key, s, strlen(s)).v[0];
}

void descriptor_fit(char out[static FRAME_NAME_MAX], const char *s)
{
	size_t len = strlen(s), kept = 1, room;
	const char *end, *ret = "V", *next;

	if (len < FRAME_NAME_MAX) {
		memcpy(out, s, len + 1);
		return;
	}
	end = descriptor_valid(s) ? parameters_end(s) : NULL;
	if (end && strlen(end + 1) <= RETURN_MAX)
		ret = end + 1;
	room = FRAME_NAME_MAX - 1 - MARK_LEN - 1 - strlen(ret);
	for (next = s + 1; end && next <= end && (size_t)(next - s) <= room;) {
		kept = (size_t)(next - s);
		next = next < end ? field_type(next) : end + 1;
	}
	snprintf(out, FRAME_NAME_MAX, "%.*sLcut_%016" PRIx64 ";)%s", (int)kept, end ? s : "(",
		 digest_fixed(s), ret);
}
