/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who makes the next file in a directory of recordings (jfr/segment.h) where naming is a process of
 * its own and cannot: a thread of the session, as the disk may take its time. It makes files in
 * directories that it was told of and nowhere else, and so many a minute. It also passes on which
 * chunks are whole, of files there.
 */
#ifndef GNOMON_NAMING_FILER_H
#define GNOMON_NAMING_FILER_H

#include "jfr/write_file.h"

struct filer;

/*
 * `fd`, one end of a socket that keeps messages apart, stays the caller's. `told`: to whom whole
 * chunks are passed on. 0 or -errno.
 */
int filer_start(struct filer **out, int fd, const struct finished_to *told);

/* Ends the conversation, and the thread. NULL is fine. */
void filer_stop(struct filer *f);

/*
 * Files may be made there from now on; or `dir` is a file that is there, of which chunks are passed
 * on alone. 0 or -ENOMEM.
 */
int filer_allow(struct filer *f, const char *dir);

/* And no more. NULL is fine. */
void filer_deny(struct filer *f, const char *dir);

/*
 * Naming's end: what outfile_open_segments() takes, and what has the filer pass on which chunks are
 * whole. For one process; from any of its threads.
 */
const struct outfile_maker *filer_maker(int fd);
struct finished_to filer_finished(int fd);

#endif
