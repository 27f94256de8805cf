/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output file and the thread that writes it, one job at a time. A job appends bytes and then,
 * optionally, overwrites a chunk header. The first error sticks; the file is then cut back to
 * where the failed job began, so that it stays readable.
 */
#ifndef GNOMON_JFR_WRITE_FILE_H
#define GNOMON_JFR_WRITE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "jfr/finished.h"

#define JFR_HEADER_SIZE 68

struct outfile;

/*
 * Create `path`, for who asked for the recording: a descriptor. Errors are EXIT_OUTPUT with a
 * remedy. The last component is never followed.
 */
int outfile_create(const char *path, bool overwrite, struct error *e);

/* Remove what was created so, if that still is what the path leads to. */
void outfile_remove(int fd, const char *path);

/* Takes over a descriptor, also after an error; `path` is for messages. */
int outfile_open(struct outfile **out, int fd, const char *path, struct error *e);

/* Before the first job: it goes there, and not to the beginning. */
void outfile_from(struct outfile *f, uint64_t at);

/* Likewise: who is told of what is whole, at an outfile_submit() that says so and at the end. */
void outfile_tell(struct outfile *f, const struct finished_to *to);

/* Who makes the files of a directory, where it is not who writes them. From the file's thread. */
struct outfile_maker {
	int (*make)(const char *dir, uint64_t unix_ns, char **path); /* as outfile_segment() */
	void (*unmake)(const char *dir); /* the last one, if nothing was written into it */
};

/*
 * Makes the next file in `dir` (jfr/segment.h), for who asked for the recording. Whoever removes
 * files by their age finds it locked (run/retention.h). A descriptor, and *path is to be freed; or
 * -errno.
 */
int outfile_segment(const char *dir, uint64_t unix_ns, char **path);

/*
 * Likewise, files in the directory `dir`, one after the other: none before the first
 * outfile_turn(). A job that fails is tried again each second, so that no error sticks but in
 * outfile_wait(), which gives up what cannot be written then. `maker`: NULL makes them itself.
 */
int outfile_open_segments(struct outfile **out, const char *dir, const struct outfile_maker *maker,
			  struct error *e);

/* The next job is the first of another file, which is named by that time. Only while not busy. */
void outfile_turn(struct outfile *f, uint64_t unix_ns);

/*
 * The last job was dropped, since its file had been removed or it was given up; told once. Only
 * while not busy.
 */
bool outfile_gone(struct outfile *f);

/*
 * While the disk refuses the job. Appends to it what outfile_submit() would be given next, of the
 * same chunk: false, and nothing is taken, where the job is just being tried.
 */
bool outfile_extend(struct outfile *f, struct buffer *data, const uint8_t *header, bool whole);

/* Likewise: it is given up at the next try, should that fail, too; outfile_gone() tells then. */
void outfile_abandon(struct outfile *f);

/* So many bytes the disk has refused so far, of the job that is being tried again; 0: none. */
uint64_t outfile_refused(const struct outfile *f);

/* True while a job is being written. */
bool outfile_busy(const struct outfile *f);
void outfile_wait(struct outfile *f);

/*
 * Take the bytes of *data (which gets an empty buffer in exchange) and append them; then write
 * `header` at header_at unless it is NULL. With `whole` a chunk ends there. Only while not busy.
 */
void outfile_submit(struct outfile *f, struct buffer *data, const uint8_t *header,
		    uint64_t header_at, bool whole);

/* 0 or the negative errno that sticks, with *e filled in. */
int outfile_error(const struct outfile *f, struct error *e);

/* Waits for the last job. `keep` false removes the file, or the last one. */
int outfile_close(struct outfile *f, bool keep, struct error *e);

#endif
