/* SPDX-License-Identifier: Apache-2.0 */
/* A recording as a profile, for tests of what is shown of it; after cmocka.h. */
#ifndef GNOMON_TESTS_PROFILELOAD_H
#define GNOMON_TESTS_PROFILELOAD_H

#include "out/profile.h"

static inline struct profile *profile_of(const char *path, const struct profile_options *o)
{
	struct profile *p = NULL;

	assert_int_equal(profile_new(&p, o, NULL), 0);
	assert_int_equal(profile_load(p, path, 0, NULL, NULL), 0);
	assert_int_equal(profile_finish(p, NULL), 0);
	return p;
}

#endif
