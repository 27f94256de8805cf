/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the waits of a recording waited for: its gnomon.WaitCause events, which are written behind
 * the samples that they are about, so that the file is read for them first. Each wall sample is
 * then given its cause by thread, stack, state and time; a cause gives to no more samples than it
 * says, so that sums are its own.
 */
#ifndef GNOMON_OUT_WAITS_H
#define GNOMON_OUT_WAITS_H

#include "jfr/read_sample.h"
#include "jfr/stretch.h"

struct waits;

/*
 * Memory grows with the number of such events; a file may have none. EXIT_USAGE for "-", which can
 * be read once only.
 */
int waits_read(struct waits **out, const struct stretch *s, struct error *e);
void waits_free(struct waits *x);

/*
 * Take the next part off *rest (a wall sample of chunk `chunk`, at first whole) that has one cause,
 * or none. 1, *part, and its cause in words, "(TCP) 10.0.0.7:5432", or NULL; 0 when there is
 * no more.
 */
int waits_next(struct waits *x, uint64_t chunk, struct jfr_sample *rest, struct jfr_sample *part,
	       const char **cause);

#endif
