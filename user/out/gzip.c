/* SPDX-License-Identifier: Apache-2.0 */
#include "out/gzip.h"

#include <errno.h>
#include <stdint.h>
#include <zlib.h>

#define GZIP_WINDOW (15 + 16) /* zlib: the largest window, and 16 asks for gzip's frame */

int gzip_write(const void *data, size_t len, FILE *to)
{
	uint8_t out[65536];
	z_stream z = {0};
	int rc;

	if (len > UINT32_MAX)
		return -EFBIG;
	if (deflateInit2(&z, 6, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	z.next_in = (Bytef *)data;
	z.avail_in = (uInt)len;
	do {
		z.next_out = out;
		z.avail_out = sizeof(out);
		rc = deflate(&z, Z_FINISH);
		fwrite(out, 1, sizeof(out) - z.avail_out, to);
	} while (rc == Z_OK);
	deflateEnd(&z);
	return rc == Z_STREAM_END ? 0 : -EIO;
}
