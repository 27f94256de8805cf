/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of a directory of recordings that goes on and on: a chunk each, named by the UTC time
 * at which it begins, "20261123T140500Z.jfr", so that their names are in the order of time. Names
 * of another form are somebody else's.
 */
#ifndef GNOMON_JFR_SEGMENT_H
#define GNOMON_JFR_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEGMENT_NAME_LEN 40

/* again > 0: another one of that second, "20261123T140500Z_2.jfr", which comes after it. */
void segment_name(uint64_t unix_ns, unsigned int again, char name[SEGMENT_NAME_LEN]);

bool segment_is(const char *name);

/*
 * Makes the file, and its directory where that is missing; a file that exists is never taken. Only
 * the owner can read it, and the group of the directory where that is handed on (its set-group-ID
 * bit is set). A descriptor, and *path is to be freed; or -errno.
 */
int segment_create(const char *dir, uint64_t unix_ns, char **path);

#endif
