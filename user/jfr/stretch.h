/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording by time: a file, or a directory of segments (jfr/segment.h) that is read as one
 * recording, from its oldest chunk to the one that is being written. Of it a span of time can be
 * cut: then only the chunks are read that may hold something of it.
 *
 *	struct stretch s;
 *	int rc = stretch_open(&s, "/var/lib/gnomon/shop-host-4711-20261123T091202Z", &err);
 *
 *	if (!rc)
 *		rc = stretch_cut(&s, since, until, &err);
 *	if (!rc)
 *		rc = stretch_reader(&s, &reader, &err);
 *	...
 *	jfr_reader_close(reader);
 *	stretch_free(&s);
 */
#ifndef GNOMON_JFR_STRETCH_H
#define GNOMON_JFR_STRETCH_H

#include <stdio.h>

#include "jfr/read.h"

struct stretch {
	const char *path; /* as it was given */
	struct jfr_part *parts;
	size_t n;
	/*
	 * Since 1970. A chunk whose header does not say when it ended ended when its file was
	 * written last. `known` is false of stdin and pipes, and of what cannot be read or is no
	 * recording: jfr_reader_open() says why.
	 */
	int64_t start_ns, end_ns;
	bool known;
	uint64_t from_ns, to_ns; /* what is wanted of it, since start_ns; to 0: to its end */
	bool cut;
	/*
	 * It is part of a recording whose other parts are looked at by themselves: what its chunks
	 * tell of before their start counts, too, as if it had been at their start.
	 */
	bool part;
	char **names; /* internal: paths of the parts */
	size_t nnames;
};

/*
 * The path of a file, "-" for stdin, or a directory. EXIT_INPUT for a directory without segments.
 * A file that cannot be read is no error here. Costs a read of each chunk's header.
 */
int stretch_open(struct stretch *s, const char *path, struct error *e);

/* The same of one file, unseen: nothing to be freed. */
struct stretch stretch_unseen(const char *path);

/*
 * From `since` to before `until`, since 1970 (INT64_MIN, INT64_MAX: any): drops the chunks without
 * anything of it, and moves start_ns to the first of the others. Only of a `known` stretch.
 * EXIT_INPUT where none is left.
 */
int stretch_cut(struct stretch *s, int64_t since, int64_t until, struct error *e);

/*
 * How many of a sample's n ticks, `step` apart (0 or less: all at once), are of what is wanted.
 * *at, the first one's time since the start, becomes that of the first of these.
 */
uint64_t stretch_ticks(const struct stretch *s, int64_t *at, int64_t step, uint64_t n);

/* The stretch has to live as long as the reader. */
int stretch_reader(const struct stretch *s, struct jfr_reader **r, struct error *e);

/*
 * Its chunks behind one another, which is a recording, too: each as far as it is written by now.
 * One that was removed meanwhile is left out.
 */
int stretch_copy(const struct stretch *s, FILE *to, struct error *e);

void stretch_free(struct stretch *s);

#endif
