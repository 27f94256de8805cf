/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes as a gzip file. */
#ifndef GNOMON_OUT_GZIP_H
#define GNOMON_OUT_GZIP_H

#include <stdio.h>

/*
 * A stream: what is written to it goes to `to`, packed, and the rest of that when it is closed.
 * `to` stays open, and its ferror() tells whether it took all. NULL: no memory.
 */
FILE *gzip_open(FILE *to);

#endif
