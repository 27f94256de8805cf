/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes payloads from a spool to their destination, the oldest first; what is to be tried again
 * lets those behind it go first. Tells on `told` what became of each (README.md beside this file).
 */
#ifndef GNOMON_SEND_COURIER_H
#define GNOMON_SEND_COURIER_H

#include <stdio.h>

#include "send/http.h"

/*
 * Until `in` ends, a byte of which says that there may be something new, and then until the spool
 * is empty, or nothing was taken for the time that is given for that. 0, or -errno where the spool
 * cannot be read.
 */
int courier_run(struct spool *s, const struct destination *d, struct http *h, int in, FILE *told);

#endif
