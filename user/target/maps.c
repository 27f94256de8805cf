/* SPDX-License-Identifier: Apache-2.0 */
#include "target/maps.h"
#include "target/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"

#define TEXT_PIECE (64u << 10)

/* One parsed text. Path ids index `offsets`, which point into `paths`; id 0 is "". */
struct table {
	struct mapping *v;
	size_t n, cap;
	struct buffer paths;
	uint32_t *offsets;
	uint32_t n_paths, cap_paths;
	uint32_t *buckets;  /* path ids by hash, 0 = free */
	uint32_t n_buckets; /* power of two */
	size_t skipped;
};

struct maps {
	struct table t;
	uint64_t generation;
	int fd; /* of the file, -1: not open */
};

static void table_free(struct table *t)
{
	free(t->v);
	free(t->offsets);
	free(t->buckets);
	buffer_free(&t->paths);
}

/* ---- paths, each stored once --------------------------------------------------------------- */

static uint32_t path_hash(const char *s, size_t len)
{
	uint32_t h = 2166136261u; /* FNV-1a */

	for (size_t i = 0; i < len; i++)
		h = (h ^ (uint8_t)s[i]) * 16777619u;
	return h ^ h >> 15;
}

static const char *path_of(const struct table *t, uint32_t id)
{
	return id ? (const char *)t->paths.data + t->offsets[id] : "";
}

/*
 * A process chooses its paths ("[anon:...]" too), so it could make them collide: after PROBES
 * buckets a path is simply stored again.
 */
#define PROBES 32

/* The bucket of a path: the one that holds it, else a free one; NULL after too many collisions. */
static uint32_t *bucket_find(struct table *t, const char *s, size_t len)
{
	uint32_t h = path_hash(s, len);

	for (uint32_t i = 0; i < PROBES; i++) {
		uint32_t *b = &t->buckets[(h + i) & (t->n_buckets - 1)];
		const char *p = path_of(t, *b);

		if (!*b || (!strncmp(p, s, len) && !p[len]))
			return b;
	}
	return NULL;
}

static void bucket_put(struct table *t, uint32_t id)
{
	const char *s = path_of(t, id);
	uint32_t *b = bucket_find(t, s, strlen(s));

	if (b)
		*b = id;
}

static int paths_grow(struct table *t)
{
	uint32_t cap = t->cap_paths ? t->cap_paths * 2 : 64;
	uint32_t *offsets = realloc(t->offsets, cap * sizeof(*offsets));
	uint32_t *buckets = offsets ? calloc((size_t)cap * 2, sizeof(*buckets)) : NULL;

	if (offsets)
		t->offsets = offsets;
	if (!buckets)
		return -ENOMEM;
	free(t->buckets);
	t->buckets = buckets;
	t->n_buckets = cap * 2;
	t->cap_paths = cap;
	if (!t->n_paths)
		t->n_paths = 1; /* id 0 is taken */
	for (uint32_t id = 1; id < t->n_paths; id++)
		bucket_put(t, id);
	return 0;
}

/* The id of a path, NUL free. Returns 0 or -ENOMEM. */
static int path_intern(struct table *t, const char *s, size_t len, uint32_t *id)
{
	uint32_t *b;

	if (t->n_paths == t->cap_paths && paths_grow(t))
		return -ENOMEM;
	b = bucket_find(t, s, len);
	if (b && *b) {
		*id = *b;
		return 0;
	}
	t->offsets[t->n_paths] = t->paths.len;
	buffer_add(&t->paths, s, len);
	buffer_byte(&t->paths, 0);
	if (t->paths.failed)
		return -ENOMEM;
	*id = t->n_paths++;
	if (b)
		*b = *id;
	return 0;
}

/* ---- one line -------------------------------------------------------------------------------- */

struct scan {
	const char *p, *end;
};

/* A number in the given base (10 or 16) that ends in `stop`, which is consumed. */
static bool scan_number(struct scan *s, unsigned int base, char stop, uint64_t *out)
{
	uint64_t v = 0;
	const char *first = s->p;

	for (; s->p < s->end; s->p++) {
		unsigned int c = (unsigned char)*s->p, d;

		if (c >= '0' && c <= '9')
			d = c - '0';
		else if (c >= 'a' && c <= 'f')
			d = c - 'a' + 10;
		else
			break;
		if (d >= base || v > (UINT64_MAX - d) / base)
			return false;
		v = v * base + d;
	}
	if (s->p == first || (s->p < s->end && *s->p != stop))
		return false;
	if (s->p < s->end)
		s->p++;
	*out = v;
	return true;
}

static bool scan_prot(struct scan *s, uint8_t *prot)
{
	static const struct {
		char c;
		uint8_t bit;
	} want[] = {{'r', MAPPING_READ},
		    {'w', MAPPING_WRITE},
		    {'x', MAPPING_EXEC},
		    {'s', MAPPING_SHARED}};

	if (s->end - s->p < 5 || s->p[4] != ' ')
		return false;
	*prot = 0;
	for (int i = 0; i < 4; i++)
		if (s->p[i] == want[i].c)
			*prot |= want[i].bit;
	s->p += 5;
	return true;
}

static bool scan_fields(struct scan *s, struct mapping *mp)
{
	uint64_t major, minor;

	if (!scan_number(s, 16, '-', &mp->start) || !scan_number(s, 16, ' ', &mp->end) ||
	    mp->start >= mp->end || !scan_prot(s, &mp->prot) ||
	    !scan_number(s, 16, ' ', &mp->offset) || !scan_number(s, 16, ':', &major) ||
	    !scan_number(s, 16, ' ', &minor) || !scan_number(s, 10, ' ', &mp->inode))
		return false;
	mp->major = major;
	mp->minor = minor;
	return true;
}

/* Undo the kernel's \012, drop " (deleted)", and intern. */
static int scan_path(struct table *t, struct scan *s, struct buffer *tmp, struct mapping *mp)
{
	static const char mark[] = " (deleted)";
	size_t len;

	while (s->p < s->end && *s->p == ' ')
		s->p++;
	if (s->p == s->end)
		return 0;
	buffer_clear(tmp);
	while (s->p < s->end) {
		if (s->end - s->p >= 4 && !memcmp(s->p, "\\012", 4)) {
			buffer_byte(tmp, '\n');
			s->p += 4;
		} else {
			buffer_byte(tmp, *s->p++);
		}
	}
	if (tmp->failed)
		return -ENOMEM;
	len = tmp->len;
	if (len > sizeof(mark) - 1 &&
	    !memcmp(tmp->data + len - (sizeof(mark) - 1), mark, sizeof(mark) - 1)) {
		len -= sizeof(mark) - 1;
		mp->deleted = 1;
	}
	return path_intern(t, (const char *)tmp->data, strnlen((const char *)tmp->data, len),
			   &mp->path);
}

/* ---- the whole text -------------------------------------------------------------------------- */

static int mapping_order(const void *a, const void *b)
{
	const struct mapping *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static int table_add(struct table *t, const struct mapping *mp)
{
	if (t->n == MAPS_MAX)
		return -E2BIG;
	if (t->n == t->cap) {
		size_t cap = t->cap ? t->cap * 2 : 256;
		struct mapping *v = realloc(t->v, cap * sizeof(*v));

		if (!v)
			return -ENOMEM;
		t->v = v;
		t->cap = cap;
	}
	t->v[t->n++] = *mp;
	return 0;
}

static int table_line(struct table *t, const char *p, const char *end, struct buffer *tmp)
{
	struct mapping mp = {0};
	struct scan s = {p, end};
	int rc;

	if (!scan_fields(&s, &mp)) {
		t->skipped++;
		return 0;
	}
	rc = scan_path(t, &s, tmp, &mp);
	return rc ? rc : table_add(t, &mp);
}

static int table_parse(struct table *t, const char *text, size_t len)
{
	struct buffer tmp = BUFFER_INIT;
	const char *p = text, *end = text + len;
	bool sorted = true;
	int rc = len > MAPS_TEXT_MAX ? -E2BIG : 0;

	while (!rc && p < end) {
		const char *nl = memchr(p, '\n', end - p);
		size_t before = t->n;

		rc = table_line(t, p, nl ? nl : end, &tmp);
		if (t->n > before && before && t->v[before].start < t->v[before - 1].start)
			sorted = false;
		p = nl ? nl + 1 : end;
	}
	buffer_free(&tmp);
	if (!rc && !sorted) /* the kernel's own text always is */
		qsort(t->v, t->n, sizeof(*t->v), mapping_order);
	return rc;
}

static bool table_equal(const struct table *a, const struct table *b)
{
	return a->n == b->n && a->paths.len == b->paths.len &&
	       (!a->n || !memcmp(a->v, b->v, a->n * sizeof(*a->v))) &&
	       (!a->paths.len || !memcmp(a->paths.data, b->paths.data, a->paths.len));
}

struct maps *maps_new(void)
{
	struct maps *m = calloc(1, sizeof(*m));

	if (m)
		m->fd = -1;
	return m;
}

void maps_free(struct maps *m)
{
	if (!m)
		return;
	table_free(&m->t);
	maps_file_drop(m);
	free(m);
}

int maps_parse(struct maps *m, const char *text, size_t len)
{
	struct table t = {0};
	int rc = table_parse(&t, text, len);

	if (rc || (m->generation && table_equal(&t, &m->t))) {
		table_free(&t);
		return rc;
	}
	table_free(&m->t);
	m->t = t;
	m->generation++;
	return 0;
}

/* ---- the file -------------------------------------------------------------------------------- */

int maps_file(struct maps *m, int proc_fd)
{
	int fd = m->fd < 0 ? proc_at_open(proc_fd, "maps", O_RDONLY) : m->fd;

	if (fd >= 0)
		m->fd = fd;
	return fd == -ENOENT ? -ESRCH : fd;
}

void maps_file_drop(struct maps *m)
{
	if (m->fd >= 0)
		close(m->fd);
	m->fd = -1;
}

/* No text: the program of then has ended. */
static int text_read(int fd, struct buffer *text)
{
	ssize_t got = 1;

	while (got > 0 && text->len <= MAPS_TEXT_MAX) {
		void *p = buffer_reserve(text, TEXT_PIECE);

		if (!p)
			return -ENOMEM;
		got = pread(fd, p, TEXT_PIECE, (off_t)text->len);
		text->len += got > 0 ? (uint32_t)got : 0;
	}
	return got < 0 ? -errno : text->len ? 0 : -ESRCH;
}

int maps_text(struct maps *m, int proc_fd, struct buffer *text)
{
	bool kept = m->fd >= 0;
	int fd = maps_file(m, proc_fd), rc = fd < 0 ? fd : text_read(fd, text);

	if (rc != -ESRCH || !kept)
		return rc;
	maps_file_drop(m);
	fd = maps_file(m, proc_fd);
	return fd < 0 ? fd : text_read(fd, text);
}

int maps_read(struct maps *m, int proc_fd)
{
	struct buffer text = BUFFER_INIT;
	int rc = maps_text(m, proc_fd, &text);

	if (!rc)
		rc = maps_parse(m, (const char *)text.data, text.len);
	buffer_free(&text);
	return rc;
}

/* ---- queries --------------------------------------------------------------------------------- */

uint64_t maps_generation(const struct maps *m)
{
	return m->generation;
}

size_t maps_count(const struct maps *m)
{
	return m->t.n;
}

size_t maps_skipped(const struct maps *m)
{
	return m->t.skipped;
}

const struct mapping *maps_at(const struct maps *m, size_t i)
{
	return &m->t.v[i];
}

const struct mapping *maps_find(const struct maps *m, uint64_t addr)
{
	size_t lo = 0, hi = m->t.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (m->t.v[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && addr < m->t.v[lo - 1].end ? &m->t.v[lo - 1] : NULL;
}

const char *maps_path(const struct maps *m, const struct mapping *mp)
{
	return path_of(&m->t, mp->path);
}

bool mapping_is_file(const struct mapping *mp)
{
	return mp->inode && mp->path;
}
