/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes as a gzip file. */
#ifndef GNOMON_OUT_GZIP_H
#define GNOMON_OUT_GZIP_H

#include <stddef.h>
#include <stdio.h>

/* 0, or -ENOMEM, -EFBIG above 4 GiB, -EIO. What `to` could not take is told by ferror(to). */
int gzip_write(const void *data, size_t len, FILE *to);

#endif
