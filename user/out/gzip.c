/* SPDX-License-Identifier: Apache-2.0 */
#include "out/gzip.h"

#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

#define GZIP_WINDOW (15 + 16) /* zlib: the largest window, and 16 asks for gzip's frame */

struct gzip {
	z_stream z;
	FILE *to;
};

static void pack(struct gzip *g, int flush)
{
	uint8_t out[65536];

	do {
		g->z.next_out = out;
		g->z.avail_out = sizeof(out);
		deflate(&g->z, flush);
		fwrite(out, 1, sizeof(out) - g->z.avail_out, g->to);
	} while (!g->z.avail_out);
}

static ssize_t on_write(void *cookie, const char *data, size_t n)
{
	struct gzip *g = cookie;
	size_t left = n;

	/* stdio hands over its buffer, or a block of the caller's */
	while (left) {
		g->z.next_in = (Bytef *)data + (n - left);
		g->z.avail_in = left < UINT32_MAX ? (uInt)left : UINT32_MAX;
		left -= g->z.avail_in;
		pack(g, Z_NO_FLUSH);
	}
	return (ssize_t)n;
}

static int on_close(void *cookie)
{
	struct gzip *g = cookie;

	pack(g, Z_FINISH);
	deflateEnd(&g->z);
	free(g);
	return 0;
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
