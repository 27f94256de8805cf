/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process may read by paths, as its user and groups have it: the rights of this process,
 * which opens everything, say nothing of that. Capabilities of the process do not count, and of an
 * access list no more than the mode shows.
 */
#ifndef GNOMON_BROKER_READER_H
#define GNOMON_BROKER_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#define READER_GROUPS 256 /* of those that it is in beyond these it is not, here */

struct reader {
	bool nobody; /* it changes between users, and reads what anybody may */
	uid_t uid;
	gid_t groups[READER_GROUPS];
	size_t ngroups;
};

/* From the text of /proc/PID/status, which is NUL terminated. False: that makes no sense. */
bool reader_parse(const char *status, struct reader *r);

/* Whether it may do that: R_OK, or of a directory X_OK. */
bool reader_may(const struct reader *r, const struct stat *st, unsigned int what);

/*
 * What `at` leads to, opened once more below `root` by its path, where each directory on the way,
 * and it itself, are ones that the process may enter; a file is one that it may read. A mere path,
 * close-on-exec, or -errno. Closes `at`.
 */
int reader_reach(const struct reader *r, int root, int at);

#endif
