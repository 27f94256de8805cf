/* SPDX-License-Identifier: Apache-2.0 */
#include "sym/debugfile.h"

#include <errno.h>
#include <fcntl.h>
#include <lzma.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/buffer.h"
#include "base/inroot.h"
#include "broker/broker.h"
#include "sym/mapfile.h"
#include "target/procfs.h"

#define DEBUG_DIR    "/usr/lib/debug"
#define XZ_MEM_MAX   (128U << 20) /* a decoder for xz -9 needs 65 MiB */
#define CRC_FILE_MAX (512U << 20) /* larger files are not read for their CRC */

/* ---- by build id ----------------------------------------------------------------------------- */

static bool id_equal(const struct elf_build_id *a, const struct elf_build_id *b)
{
	return a->len && a->len == b->len && !memcmp(a->bytes, b->bytes, a->len);
}

/* Below whose root. */
struct below {
	pid_t pid; /* 0: our own */
	int root;
};

static int file_open(const struct below *b, const char *path)
{
	if (!b->pid && !broker_is_relied_on())
		return inroot_open_regular(b->root, path, O_RDONLY);
	return broker_below(b->pid ? b->pid : getpid(), b->root, path, NULL);
}

static int open_by_id(struct elf_file **out, const struct elf_build_id *id, const struct below *b)
{
	char path[sizeof(DEBUG_DIR) + 32 + 2 * ELF_BUILD_ID_MAX];
	int n, fd, rc;

	if (id->len < 2)
		return -ENOENT;
	n = snprintf(path, sizeof(path), DEBUG_DIR "/.build-id/%02x/", id->bytes[0]);
	for (size_t i = 1; i < id->len; i++)
		n += snprintf(path + n, sizeof(path) - n, "%02x", id->bytes[i]);
	snprintf(path + n, sizeof(path) - n, ".debug");
	fd = file_open(b, path);
	rc = fd < 0 ? fd : elf_file_open(out, fd);
	if (!rc && !id_equal(elf_file_build_id(*out), id)) {
		elf_file_close(*out);
		rc = -ENOENT;
	}
	return rc;
}

/* ---- by link --------------------------------------------------------------------------------- */

struct link {
	struct elf_bytes bytes; /* the name, NUL ended, padding, the CRC */
	uint32_t crc;
};

static int link_read(struct link *l, const struct elf_file *f)
{
	int rc = elf_file_bytes(f, ".gnu_debuglink", &l->bytes);
	const char *name = (const char *)l->bytes.data;
	size_t at;

	if (rc)
		return rc;
	at = (strlen(name) + 1 + 3) & ~(size_t)3;
	if (!name[0] || strchr(name, '/') || at + sizeof(l->crc) > l->bytes.size) {
		free(l->bytes.data);
		return -EBADMSG;
	}
	memcpy(&l->crc, l->bytes.data + at, sizeof(l->crc));
	return 0;
}

static bool crc_matches(int fd, uint32_t want)
{
	static const size_t chunk = 256 << 10;
	uint8_t *buf = malloc(chunk);
	uint64_t at = 0;
	uLong crc = crc32(0, NULL, 0);
	ssize_t n = 0;

	while (buf && at < CRC_FILE_MAX && (n = pread(fd, buf, chunk, at)) > 0) {
		crc = crc32(crc, buf, n);
		at += n;
	}
	free(buf);
	return buf && !n && crc == want;
}

/* The candidate, if it exists and belongs to a file of this build id or, without one, CRC. */
static int open_candidate(struct elf_file **out, const struct below *b, const char *path,
			  const struct elf_build_id *id, uint32_t crc)
{
	int fd = file_open(b, path), rc;

	if (fd < 0)
		return fd;
	if (!id->len && !crc_matches(fd, crc)) {
		close(fd);
		return -ENOENT;
	}
	rc = elf_file_open(out, fd);
	if (!rc && id->len && !id_equal(elf_file_build_id(*out), id)) {
		elf_file_close(*out);
		rc = -ENOENT;
	}
	return rc;
}

static int open_by_link(struct elf_file **out, const struct elf_file *f, const struct below *b,
			const char *path)
{
	static const char *const where[] = {"%.*s%s", "%.*s.debug/%s", DEBUG_DIR "%.*s%s"};
	const char *slash = strrchr(path, '/');
	char candidate[4096];
	struct link l;
	int rc;

	if (path[0] != '/')
		return -ENOENT;
	rc = link_read(&l, f);
	if (rc)
		return rc;
	rc = -ENOENT;
	for (size_t i = 0; rc && i < sizeof(where) / sizeof(*where); i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		int n = snprintf(candidate, sizeof(candidate), where[i], (int)(slash + 1 - path),
				 path, (char *)l.bytes.data);
#pragma GCC diagnostic pop
		/* a link may name the file itself */
		if (n < (int)sizeof(candidate) && strcmp(candidate, path))
			rc = open_candidate(out, b, candidate, elf_file_build_id(f), l.crc);
	}
	free(l.bytes.data);
	return rc;
}

static bool place_of(int fd, struct statx *st)
{
	return !statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, st) &&
	       st->stx_mask & STATX_MNT_ID;
}

/* The same directory of the same mount, which no namespace has but ours. */
static bool same_root(int a, int b)
{
	struct statx x, y;

	return a >= 0 && b >= 0 && place_of(a, &x) && place_of(b, &y) &&
	       x.stx_mnt_id == y.stx_mnt_id && x.stx_ino == y.stx_ino &&
	       x.stx_dev_major == y.stx_dev_major && x.stx_dev_minor == y.stx_dev_minor;
}

/* Their root takes rights over them: it is opened where it is needed. */
static int open_theirs(struct elf_file **out, const struct elf_file *f,
		       const struct debugfile_place *place, int own_root, bool *theirs)
{
	int root = place->proc_fd < 0 ? -ENOENT
				      : proc_at_open(place->proc_fd, "root", O_PATH | O_DIRECTORY);
	struct below b = {place->pid, root};
	int rc;

	*theirs = !same_root(root, own_root);
	if (root < 0)
		return -ENOENT;
	rc = open_by_id(out, elf_file_build_id(f), &b);
	if (rc)
		rc = open_by_link(out, f, &b, mapfile_path_in_root(place->proc_fd, place->path));
	close(root);
	return rc;
}

int debugfile_open(struct elf_file **out, const struct elf_file *f,
		   const struct debugfile_place *place, bool *theirs)
{
	struct below own = {.root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)};
	int rc = own.root < 0 ? -ENOENT : open_by_id(out, elf_file_build_id(f), &own);

	*theirs = false;
	if (rc)
		rc = open_theirs(out, f, place, own.root, theirs);
	if (own.root >= 0)
		close(own.root);
	return rc;
}

/* ---- MiniDebugInfo --------------------------------------------------------------------------- */

static int xz_decode(const uint8_t *in, size_t len, struct buffer *out)
{
	lzma_stream s = LZMA_STREAM_INIT;
	lzma_ret r = lzma_stream_decoder(&s, XZ_MEM_MAX, 0);

	s.next_in = in;
	s.avail_in = len;
	while (r == LZMA_OK && out->len < DEBUGDATA_MAX) {
		s.next_out = buffer_reserve(out, 256 << 10);
		if (!s.next_out)
			r = LZMA_MEM_ERROR;
		else {
			s.avail_out = 256 << 10;
			r = lzma_code(&s, LZMA_FINISH);
			out->len += (256 << 10) - s.avail_out;
		}
	}
	lzma_end(&s);
	switch (r) {
	case LZMA_STREAM_END:
		return 0;
	case LZMA_MEM_ERROR:
		return -ENOMEM;
	case LZMA_OK:
	case LZMA_MEMLIMIT_ERROR:
		return -E2BIG;
	default:
		return -EBADMSG;
	}
}

int debugdata_open(struct elf_file **out, void **bytes, const struct elf_file *f)
{
	struct buffer plain = BUFFER_INIT;
	struct elf_bytes xz;
	int rc = elf_file_bytes(f, ".gnu_debugdata", &xz);

	if (rc)
		return rc;
	rc = xz_decode(xz.data, xz.size, &plain);
	free(xz.data);
	if (!rc)
		rc = elf_file_open_memory(out, plain.data, plain.len);
	if (rc)
		buffer_free(&plain);
	else
		*bytes = plain.data;
	return rc;
}
