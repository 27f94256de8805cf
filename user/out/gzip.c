/* SPDX-License-Identifier: Apache-2.0 */
#include "out/gzip.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

#define GZIP_WINDOW (15 + 16) /* zlib: the largest window, and 16 asks for gzip's frame */

struct gzip {
	z_stream z;
	FILE *to;
};

/* 0 or -1 with errno, as stdio wants it. */
static int pack(struct gzip *g, int flush)
{
	uint8_t out[65536];

	do {
		size_t n;

		g->z.next_out = out;
		g->z.avail_out = sizeof(out);
		deflate(&g->z, flush);
		n = sizeof(out) - g->z.avail_out;
		if (fwrite(out, 1, n, g->to) != n)
			return -1;
	} while (!g->z.avail_out);
	return 0;
}

static ssize_t on_write(void *cookie, const char *data, size_t n)
{
	struct gzip *g = cookie;

	g->z.next_in = (Bytef *)data;
	g->z.avail_in = (uInt)n; /* stdio hands over its buffer, or a block of the caller's */
	if (n > UINT32_MAX) {
		errno = EFBIG;
		return 0;
	}
	return pack(g, Z_NO_FLUSH) ? 0 : (ssize_t)n;
}

static int on_close(void *cookie)
{
	struct gzip *g = cookie;
	int rc = pack(g, Z_FINISH);

	deflateEnd(&g->z);
	free(g);
	return rc;
}

FILE *gzip_open(FILE *to)
{
	cookie_io_functions_t io = {.write = on_write, .close = on_close};
	struct gzip *g = calloc(1, sizeof(*g));
	FILE *f;

	if (!g)
		return NULL;
	g->to = to;
	if (deflateInit2(&g->z, 6, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
		free(g);
		return NULL;
	}
	f = fopencookie(g, "w", io);
	if (f) {
		setvbuf(f, NULL, _IOFBF, 65536);
		return f;
	}
	deflateEnd(&g->z);
	free(g);
	return NULL;
}
