/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request after the other to one destination, by libcurl. The server is not trusted: of its
 * answer 64 KB are read and a few words kept, a redirection is not followed (it would take the
 * credentials with it), and a request ends with its time.
 */
#ifndef GNOMON_SEND_HTTP_H
#define GNOMON_SEND_HTTP_H

#include <stdio.h>

#include "base/buffer.h"
#include "send/retry.h"
#include "spool/destination.h"
#include "spool/spool.h"

struct http;

/* The destination is not copied. NULL: no memory, or libcurl lacks something. */
struct http *http_new(const struct destination *d);
void http_free(struct http *h);

/* In at most `limit_ns`. */
void http_post(struct http *h, const struct payload *p, const struct buffer *body,
	       uint64_t limit_ns, struct answer *a);

/*
 * Asks for the URL itself, by no proxy, and writes the answer to `to`, of at most `most` bytes; or,
 * where that was not 200, or was larger, "!" and why.
 */
void http_get(struct http *h, uint64_t limit_ns, size_t most, FILE *to);

#endif
