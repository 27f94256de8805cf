/* SPDX-License-Identifier: Apache-2.0 */
#include "jvm/agentstream.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

#define FDS_MAX	  1100000 /* above the kernel's default limit of open files, 1,048,576 */
#define LINK_NAME "/memfd:" GNA_MEMFD " (deleted)"
#define CHUNK	  (1u << 20)

/* The device of the kernel's internal tmpfs, on which every memfd lies. 0 if not known. */
static dev_t memfd_device(void)
{
	int fd = memfd_create("gnomon-probe", MFD_CLOEXEC);
	struct stat st = {0};

	if (fd < 0)
		return 0;
	fstat(fd, &st);
	close(fd);
	return st.st_dev;
}

static int field_read(int fd, size_t off, void *p, size_t n)
{
	ssize_t got = pread(fd, p, n, (off_t)off);

	return got < 0 ? -errno : (size_t)got != n ? -EBADMSG : 0;
}

static void path_copy(char *to, const char *from)
{
	size_t i;

	for (i = 0; i + 1 < GNA_PATH_MAX && isgraph((unsigned char)from[i]) && from[i] != ','; i++)
		to[i] = from[i];
	/* a path that is not plain is not used at all */
	to[i < GNA_PATH_MAX && from[i] ? 0 : i] = '\0';
}

static int header_accept(struct agentstream *s, int fd, const struct gna_header *h, off_t size,
			 uint64_t nonce)
{
	int i;

	if (h->magic != GNA_MAGIC || h->version != GNA_VERSION || h->data_offset != GNA_DATA)
		return -EPROTO;
	if (h->ring_size < GNA_RING_MIN || h->ring_size > GNA_RING_MAX ||
	    (h->ring_size & (h->ring_size - 1)) || (uint64_t)size < GNA_DATA + h->ring_size)
		return -EBADMSG;
	s->slot = -1;
	for (i = 0; nonce && i < GNA_SLOTS; i++)
		if (h->slot[i].nonce == nonce)
			s->slot = i;
	if (nonce && s->slot < 0)
		return -ENOENT;
	s->fd = fd;
	s->ring_size = h->ring_size;
	s->rpos = s->slot < 0 ? h->wpos : h->slot[s->slot].rpos;
	path_copy(s->path, h->path);
	return 0;
}

/*
 * Take hold of the inode first and look at it; only then open it: opening a FIFO or a device of the
 * target's could block or do something.
 */
static int candidate_open(struct agentstream *s, int fds, const char *name, dev_t dev,
			  uint64_t nonce)
{
	int hold = openat(fds, name, O_PATH | O_CLOEXEC), fd, rc;
	struct gna_header h;
	char self[64];
	struct stat st;

	if (hold < 0)
		return -errno;
	if (fstat(hold, &st) || !S_ISREG(st.st_mode) || st.st_dev != dev) {
		close(hold);
		return -ENOENT;
	}
	snprintf(self, sizeof(self), "/proc/self/fd/%d", hold);
	fd = open(self, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	close(hold);
	if (fd < 0)
		return -errno;
	rc = field_read(fd, 0, &h, sizeof(h));
	if (!rc)
		rc = header_accept(s, fd, &h, st.st_size, nonce);
	if (rc)
		close(fd);
	return rc;
}

int agentstream_open(struct agentstream *s, const struct jproc *p, uint64_t nonce)
{
	int fds = openat(p->dir, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC), i, rc = -ENOENT;
	dev_t dev = memfd_device();
	DIR *d = fds < 0 ? NULL : fdopendir(fds);
	struct dirent *de;

	s->fd = -1;
	if (!d) {
		if (fds >= 0)
			close(fds);
		return -ENOENT;
	}
	for (i = 0; i < FDS_MAX && rc && (de = readdir(d)); i++) {
		char link[sizeof(LINK_NAME) + 1];
		ssize_t n = readlinkat(fds, de->d_name, link, sizeof(link));

		if (n == sizeof(LINK_NAME) - 1 && !memcmp(link, LINK_NAME, (size_t)n))
			rc = candidate_open(s, fds, de->d_name, dev, nonce);
	}
	closedir(d);
	return rc ? -ENOENT : 0;
}

static size_t slot_offset(const struct agentstream *s, size_t field)
{
	return offsetof(struct gna_header, slot) + (size_t)s->slot * sizeof(struct gna_slot) +
	       field;
}

static void slot_write(const struct agentstream *s, size_t field, uint64_t v)
{
	/* only hints: what the target makes of them is its own affair */
	if (s->slot >= 0 && pwrite(s->fd, &v, sizeof(v), (off_t)slot_offset(s, field)) < 0)
		return;
}

static int data_read(const struct agentstream *s, uint64_t pos, uint8_t *to, size_t n)
{
	uint64_t at = pos & (s->ring_size - 1);
	size_t first = n < s->ring_size - at ? n : (size_t)(s->ring_size - at);
	int rc = field_read(s->fd, GNA_DATA + at, to, first);

	return rc || first == n ? rc : field_read(s->fd, GNA_DATA, to + first, n - first);
}

static int overtaken(struct agentstream *s, uint64_t wpos)
{
	s->rpos = wpos;
	slot_write(s, offsetof(struct gna_slot, rpos), s->rpos);
	return -EOVERFLOW;
}

static int chunk_read(struct agentstream *s, struct buffer *b, uint64_t wpos, size_t n)
{
	uint8_t *to = buffer_reserve(b, n);
	uint64_t reserve;
	int rc;

	if (!to)
		return -ENOMEM;
	rc = data_read(s, s->rpos, to, n);
	if (!rc)
		rc = field_read(s->fd, offsetof(struct gna_header, reserve), &reserve,
				sizeof(reserve));
	if (rc)
		return rc;
	/* read after the copy: what was claimed meanwhile may have been overwritten under us */
	if (reserve - s->rpos > s->ring_size)
		return overtaken(s, wpos);
	b->len += n;
	s->rpos += n;
	slot_write(s, offsetof(struct gna_slot, rpos), s->rpos);
	return 0;
}

int64_t agentstream_read(struct agentstream *s, struct buffer *b)
{
	struct gna_header h;
	int64_t total = 0;
	uint64_t left;
	int rc = field_read(s->fd, 0, &h, offsetof(struct gna_header, path));

	if (rc)
		return rc;
	left = h.wpos - s->rpos;
	if (left > s->ring_size)
		return overtaken(s, h.wpos);
	while (left) {
		size_t n = left < CHUNK ? (size_t)left : CHUNK;

		rc = chunk_read(s, b, h.wpos, n);
		if (rc)
			return rc;
		left -= n;
		total += (int64_t)n;
	}
	return !total && h.state == GNA_OFF ? -ESTALE : total;
}

int agentstream_renew(struct agentstream *s)
{
	uint64_t lease = now_ns() + GNA_LEASE_NS;

	if (s->slot < 0)
		return -EINVAL;
	slot_write(s, offsetof(struct gna_slot, lease), lease);
	return 0;
}

void agentstream_leave(struct agentstream *s)
{
	if (s->fd >= 0)
		slot_write(s, offsetof(struct gna_slot, lease), 0);
}

void agentstream_close(struct agentstream *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}
