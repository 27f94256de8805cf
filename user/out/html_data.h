/* SPDX-License-Identifier: Apache-2.0 */
/* What of a profile the page has, in as few bytes as possible; html_data.c tells its form. */
#ifndef GNOMON_OUT_HTML_DATA_H
#define GNOMON_OUT_HTML_DATA_H

#include "base/buffer.h"
#include "out/profile.h"

/* Before compression. -ENOMEM is the only failure. */
int html_data(const struct profile *p, struct buffer *b);

/* Tells what the page's times are rounded to: a twentieth of the shortest interval, a millisecond
 * at most. */
uint64_t html_time_unit_us(const struct profile *p);

#endif
