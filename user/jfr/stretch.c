/* SPDX-License-Identifier: Apache-2.0 */
#include "jfr/stretch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "jfr/segment.h"

#define HEADER 68
/*
 * A chunk may hold what was a minute before its start, and no more: a sleep is told of once a
 * minute (naming/target_samples.c).
 */
#define REACH_NS 60000000000ll

static int no_memory(struct error *e)
{
	return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
}

/* ---- one file -------------------------------------------------------------------------------- */

static uint64_t be(const uint8_t *p)
{
	uint64_t v = 0;

	for (int i = 0; i < 8; i++)
		v = v << 8 | p[i];
	return v;
}

/* The chunk at p->offset; *size 0: it does not say, and reaches to the end of the file. */
static bool header_take(struct jfr_part *p, const uint8_t *h, uint64_t left, uint64_t *size)
{
	int64_t start = (int64_t)be(h + 32), span = (int64_t)be(h + 40);

	if (memcmp(h, "FLR\0", 4) || (int64_t)be(h + 56) <= 0)
		return false;
	*size = be(h + 8);
	if (*size < HEADER || *size > left || h[64] == 0xff)
		*size = 0;
	p->start_ns = start;
	if (!*size || span < 0 || __builtin_add_overflow(start, span, &p->end_ns))
		p->end_ns = INT64_MIN;
	return true;
}

static struct jfr_part *part_add(struct stretch *s, const char *path)
{
	struct jfr_part *v;

	/* room doubles */
	if (!(s->n & (s->n - 1))) {
		v = reallocarray(s->parts, s->n ? s->n * 2 : 1, sizeof(*v));
		if (!v)
			return NULL;
		s->parts = v;
	}
	v = &s->parts[s->n++];
	*v = (struct jfr_part){.path = path};
	return v;
}

/* What follows the last chunk that makes sense belongs to it, so that it is told of when read. */
static int chunks_add(struct stretch *s, const char *path, int fd, const struct stat *st)
{
	int64_t written = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
	uint64_t file = (uint64_t)st->st_size, off = 0, size;
	struct jfr_part p, *last = NULL;
	uint8_t h[HEADER];

	while (off < file && pread(fd, h, sizeof(h), (off_t)off) == HEADER &&
	       header_take(&p, h, file - off, &size)) {
		last = part_add(s, path);
		if (!last)
			return -ENOMEM;
		last->offset = off;
		last->size = size ? size : file - off;
		last->start_ns = p.start_ns;
		last->end_ns = p.end_ns != INT64_MIN ? p.end_ns : written;
		if (last->end_ns < last->start_ns)
			last->end_ns = last->start_ns;
		off += last->size;
	}
	if (last)
		last->size += file - off;
	return last ? 0 : -EBADMSG;
}

static int file_add(struct stretch *s, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), rc;
	struct stat st;

	if (fd < 0)
		return -errno;
	rc = fstat(fd, &st) ? -errno : S_ISREG(st.st_mode) ? 0 : -EINVAL;
	if (!rc)
		rc = chunks_add(s, path, fd, &st);
	close(fd);
	return rc;
}

/* ---- a directory ----------------------------------------------------------------------------- */

static int segments_only(const struct dirent *d)
{
	return segment_is(d->d_name);
}

static int names_take(struct stretch *s, const char *dir, struct dirent **v, int n)
{
	s->names = calloc((size_t)n + 1, sizeof(*s->names));
	for (int i = 0; i < n && s->names; i++) {
		if (asprintf(&s->names[i], "%s/%s", dir, v[i]->d_name) < 0) {
			s->names[i] = NULL;
			return -ENOMEM;
		}
		s->nnames++;
	}
	return s->names ? 0 : -ENOMEM;
}

/* Oldest first, as their names are. */
static int names_read(struct stretch *s, const char *dir)
{
	struct dirent **v = NULL;
	int n = scandir(dir, &v, segments_only, alphasort), rc;

	if (n < 0)
		return -errno;
	rc = names_take(s, dir, v, n);
	while (n > 0)
		free(v[--n]);
	free(v);
	return rc;
}

/* One of its directories that has segments; false: there is none. */
static bool below(const char *dir, char *name, size_t cap)
{
	DIR *d = opendir(dir);
	bool has = false;
	struct dirent *ent;

	while (d && !has && (ent = readdir(d))) {
		struct stretch inner = {0};
		char *path;

		if (ent->d_name[0] == '.' || asprintf(&path, "%s/%s", dir, ent->d_name) < 0)
			continue;
		has = !names_read(&inner, path) && inner.nnames;
		snprintf(name, cap, "%s", path);
		free(path);
		stretch_free(&inner);
	}
	if (d)
		closedir(d);
	return has;
}

static int nothing_in(const char *dir, struct error *e)
{
	char name[200];

	if (below(dir, name, sizeof(name))) {
		error_set(e, -EISDIR, EXIT_INPUT, "'%s' holds directories of several JVMs", dir);
		return error_hint(e, "name one of them, such as '%s'", name);
	}
	error_set(e, -ENOENT, EXIT_INPUT, "'%s' is a directory without recordings of the daemon",
		  dir);
	return error_hint(e, "name the recordings in it");
}

static int directory_open(struct stretch *s, const char *dir, struct error *e)
{
	int rc = names_read(s, dir);

	if (rc == -ENOMEM)
		return no_memory(e);
	if (rc) {
		error_set(e, rc, EXIT_INPUT, "cannot open '%s': %s", dir, strerror(-rc));
		return rc == -EACCES ? error_hint(e, "read it as its owner or as root") : rc;
	}
	for (size_t i = 0; i < s->nnames; i++) {
		rc = file_add(s, s->names[i]);
		if (rc == -ENOMEM)
			return no_memory(e);
		/* it may go while we look, or have been cut before anything was in it */
		if (rc && rc != -ENOENT && rc != -EBADMSG)
			return error_set(e, rc, EXIT_INPUT, "cannot read '%s': %s", s->names[i],
					 strerror(-rc));
	}
	return s->n ? 0 : nothing_in(dir, e);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void bounds_find(struct stretch *s)
{
	s->known = s->n > 0;
	for (size_t i = 0; i < s->n; i++) {
		const struct jfr_part *p = &s->parts[i];

		if (!i || p->start_ns < s->start_ns)
			s->start_ns = p->start_ns;
		if (!i || p->end_ns > s->end_ns)
			s->end_ns = p->end_ns;
	}
}

struct stretch stretch_unseen(const char *path)
{
	return (struct stretch){.path = path};
}

int stretch_open(struct stretch *s, const char *path, struct error *e)
{
	struct stat st;
	int rc = 0;

	*s = stretch_unseen(path);
	if (!strcmp(path, "-") || stat(path, &st))
		return 0;
	if (S_ISDIR(st.st_mode)) {
		rc = directory_open(s, path, e);
	} else if (file_add(s, path)) {
		s->n = 0;
	}
	bounds_find(s);
	if (rc)
		stretch_free(s);
	return rc;
}

/* "2026-11-23 14:00:05", as the clock of whoever reads has it. */
static void time_text(int64_t ns, char *to, size_t cap)
{
	time_t t = (time_t)(ns / 1000000000);
	struct tm tm;

	if (!localtime_r(&t, &tm) || !strftime(to, cap, "%Y-%m-%d %H:%M:%S", &tm))
		snprintf(to, cap, "%lld s", (long long)t);
}

static int nothing_then(const struct stretch *s, struct error *e)
{
	char from[64], to[64];

	time_text(s->start_ns, from, sizeof(from));
	time_text(s->end_ns, to, sizeof(to));
	return error_set(e, -ENODATA, EXIT_INPUT,
			 "'%s' has nothing of that time: it is of %s to %s", s->path, from, to);
}

/* In nanoseconds from `start` to `at`; 0 where it is before. */
static uint64_t after(int64_t start, int64_t at)
{
	return at > start ? (uint64_t)at - (uint64_t)start : 0;
}

int stretch_cut(struct stretch *s, int64_t from, int64_t to, struct error *e)
{
	int64_t latest;
	size_t n = 0;

	if (from >= s->end_ns || to <= s->start_ns)
		return nothing_then(s, e);
	if (__builtin_add_overflow(to, REACH_NS, &latest))
		latest = INT64_MAX;
	for (size_t i = 0; i < s->n; i++)
		if (s->parts[i].end_ns >= from && s->parts[i].start_ns <= latest)
			s->parts[n++] = s->parts[i];
	if (!n || s->parts[0].start_ns >= to)
		return nothing_then(s, e);
	s->n = n;
	bounds_find(s);
	s->from_ns = from == INT64_MIN ? 0 : after(s->start_ns, from);
	s->to_ns = to == INT64_MAX ? 0 : after(s->start_ns, to);
	s->cut = true;
	return 0;
}

uint64_t stretch_ticks(const struct stretch *s, int64_t *at, int64_t step, uint64_t n)
{
	__int128 from = s->from_ns, to = s->to_ns ? (__int128)s->to_ns : INT64_MAX, first = 0, last;

	if (s->part && *at < 0)
		*at = 0;
	if (step <= 0)
		return *at >= from && *at < to ? n : 0;
	if (*at < from)
		first = (from - *at + step - 1) / step;
	last = (to - *at + step - 1) / step; /* one past */
	if (last > (__int128)n)
		last = n;
	if (first >= last)
		return 0;
	*at += (int64_t)(first * step);
	return (uint64_t)(last - first);
}

int stretch_reader(const struct stretch *s, struct jfr_reader **r, struct error *e)
{
	if (s->cut || s->nnames)
		return jfr_reader_open_parts(r, s->parts, s->n, s->path, NULL, e);
	return jfr_reader_open(r, s->path, NULL, e);
}

/* ---- out of it ------------------------------------------------------------------------------- */

/*
 * The header as it is now: of a chunk that is being written it says of ever more bytes that they
 * make sense. 1 and *size; 0: it is not there any more.
 */
static int header_now(int fd, const struct jfr_part *p, uint8_t *h, uint64_t *size)
{
	struct jfr_part ignored;
	struct stat st;

	if (fstat(fd, &st) || (uint64_t)st.st_size < p->offset ||
	    pread(fd, h, HEADER, (off_t)p->offset) != HEADER ||
	    !header_take(&ignored, h, (uint64_t)st.st_size - p->offset, size))
		return 0;
	if (!*size)
		*size = p->size;
	return 1;
}

static int bytes_copy(int fd, uint64_t off, uint64_t n, FILE *to)
{
	char part[65536];

	while (n) {
		ssize_t got =
			pread(fd, part, n < sizeof(part) ? (size_t)n : sizeof(part), (off_t)off);

		if (got < 0 && errno != EINTR)
			return -errno;
		if (!got)
			return -ENODATA;
		if (got > 0 && fwrite(part, (size_t)got, 1, to) != 1)
			return -EIO;
		off += got > 0 ? (uint64_t)got : 0;
		n -= got > 0 ? (uint64_t)got : 0;
	}
	return 0;
}

static int part_copy(const struct jfr_part *p, FILE *to)
{
	int fd = open(p->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), rc;
	uint8_t h[HEADER];
	uint64_t size;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	rc = header_now(fd, p, h, &size);
	if (rc > 0) {
		rc = fwrite(h, HEADER, 1, to) == 1 ? 0 : -EIO;
		if (!rc)
			rc = bytes_copy(fd, p->offset + HEADER, size - HEADER, to);
	}
	close(fd);
	return rc;
}

int stretch_copy(const struct stretch *s, FILE *to, struct error *e)
{
	for (size_t i = 0; i < s->n; i++) {
		int rc = part_copy(&s->parts[i], to);

		if (rc == -EIO)
			return error_set(e, rc, EXIT_OUTPUT, "cannot write it: %s",
					 strerror(errno ? errno : EIO));
		if (rc)
			return error_set(e, rc, EXIT_INPUT, "cannot read '%s': %s",
					 s->parts[i].path, strerror(-rc));
	}
	return 0;
}

void stretch_free(struct stretch *s)
{
	for (size_t i = 0; i < s->nnames; i++)
		free(s->names[i]);
	free(s->names);
	free(s->parts);
	*s = (struct stretch){0};
}
