/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files a follower reads, whatever it is told through its pipe (jfr/finished.h): a path is
 * believed only where it can be one of the recordings, and nothing but a regular file is opened.
 */
#ifndef GNOMON_PUSH_SOURCE_H
#define GNOMON_PUSH_SOURCE_H

#include <stdbool.h>

/*
 * Pure: `dir` has a directory for each JVM with segments in it (jfr/segment.h). NULL: recordings
 * may lie anywhere.
 */
bool source_is_ours(const char *dir, const char *path);

/*
 * A descriptor to read it by, or -errno: -EACCES where it is not ours, -EINVAL where it is no
 * regular file, which is not touched then. Below `dir` no link is followed.
 */
int source_open(const char *dir, const char *path);

#endif
