/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several files as one recording: a window over all of them, one file open at a time, since there
 * may be more than a process may have open.
 */
#include "jfr/read_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int parts_init(struct parts *p, const struct jfr_part *v, size_t n, uint64_t *size)
{
	p->begins = calloc(n ? n : 1, sizeof(*p->begins));
	if (!p->begins)
		return -ENOMEM;
	p->v = v;
	p->n = n;
	p->fd = -1;
	*size = 0;
	for (size_t i = 0; i < n; i++) {
		p->begins[i] = *size;
		if (__builtin_add_overflow(*size, v[i].size, size))
			return -EFBIG;
	}
	return 0;
}

void parts_free(struct parts *p)
{
	if (p->n && p->fd >= 0)
		close(p->fd);
	free(p->begins);
	*p = (struct parts){.fd = -1};
}

/* The last part that begins at or before off. */
static size_t part_find(const struct parts *p, uint64_t off)
{
	size_t lo = 0, hi = p->n;

	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;

		if (p->begins[mid] <= off)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

uint64_t parts_end(const struct parts *p, uint64_t off)
{
	size_t i = part_find(p, off);

	return p->begins[i] + p->v[i].size;
}

/* -1 where the file is not there any more. */
static int part_open(struct parts *p, size_t i)
{
	if (p->v[i].opened)
		return p->v[i].fd;
	if (p->fd >= 0 && p->at == i)
		return p->fd;
	if (p->fd >= 0)
		close(p->fd);
	p->at = i;
	p->fd = open(p->v[i].path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return p->fd;
}

ssize_t parts_read(struct parts *p, void *to, size_t n, uint64_t off)
{
	size_t i = part_find(p, off);
	uint64_t in = off - p->begins[i];
	ssize_t got = -1;
	int fd;

	if (in >= p->v[i].size)
		return 0; /* behind the last */
	if (n > p->v[i].size - in)
		n = (size_t)(p->v[i].size - in);
	fd = part_open(p, i);
	if (fd >= 0)
		got = pread(fd, to, n, (off_t)(p->v[i].offset + in));
	else if (errno == ENOENT)
		got = 0;
	if (got < 0)
		return -errno;
	if (!got && i + 1 < p->n) { /* removed or made shorter meanwhile: those behind it count */
		memset(to, 0, n);
		got = (ssize_t)n;
	}
	return got;
}
