/* SPDX-License-Identifier: Apache-2.0 */
#include "jfr/read_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- bytes ---- */

static ssize_t bytes_read(struct jfr_reader *r, void *to, size_t n, uint64_t off)
{
	ssize_t got;

	if (r->parts.n)
		return parts_read(&r->parts, to, n, off);
	got = pread(r->fd, to, n, (off_t)off);
	return got < 0 ? -errno : got;
}

static int window_fill(struct jfr_reader *r, uint64_t off, size_t n)
{
	size_t want = n > WINDOW ? n : WINDOW;

	if (want > r->win_cap) {
		uint8_t *p = realloc(r->win, want);

		if (!p)
			return -ENOMEM;
		r->win = p;
		r->win_cap = want;
	}
	r->win_off = off;
	r->win_len = 0;
	while (r->win_len < want) {
		ssize_t got =
			bytes_read(r, r->win + r->win_len, want - r->win_len, off + r->win_len);

		if (got == -EINTR)
			continue;
		if (got < 0)
			return (int)got;
		if (!got)
			break;
		r->win_len += (size_t)got;
	}
	return 0;
}

const uint8_t *reader_bytes(struct jfr_reader *r, uint64_t off, size_t n)
{
	if (off > r->size || n > r->size - off || r->failed)
		return NULL;
	if (r->fd < 0 && !r->parts.n)
		return r->mem + off;
	if (off < r->win_off || off - r->win_off > r->win_len ||
	    n > r->win_len - (off - r->win_off)) {
		r->failed = window_fill(r, off, n);
		if (r->failed || r->win_len < n) /* the file shrank */
			return NULL;
	}
	return r->win + (off - r->win_off);
}

uint64_t reader_limit(const struct jfr_reader *r, uint64_t off)
{
	return r->parts.n && off < r->size ? parts_end(&r->parts, off) : r->size;
}

void reader_problem(struct jfr_reader *r, const char *fmt, ...)
{
	struct jfr_report *rep = &r->report;
	va_list ap;

	if (rep->problems++ >= sizeof(rep->problem) / sizeof(rep->problem[0]))
		return;
	va_start(ap, fmt);
	vsnprintf(rep->problem[rep->problems - 1], sizeof(rep->problem[0]), fmt, ap);
	va_end(ap);
}

bool reader_event_head(struct jfr_reader *r, uint64_t off, uint64_t end, uint64_t *size,
		       int64_t *type)
{
	struct cursor c = {.fixed = r->fixed};
	size_t n;

	if (off >= end)
		return false;
	n = end - off < 18 ? (size_t)(end - off) : 18;
	c.p = reader_bytes(r, off, n);
	if (!c.p)
		return false;
	c.end = c.p + n;
	*size = (uint32_t)cursor_int(&c, 4);
	*type = cursor_int(&c, 8);
	return !c.bad && *size <= end - off && *size >= n - cursor_left(&c) &&
	       (*size <= EVENT_MAX || *type == 1);
}

/* ---- open and close ---- */

static int nothing_in(const char *path, struct error *e)
{
	error_set(e, -EBADMSG, EXIT_INPUT, "'%s' is empty", path);
	return error_hint(e, "nothing was recorded, or the disk was full then");
}

static int not_jfr(struct jfr_reader *r, const char *path, struct error *e)
{
	const uint8_t *h = reader_bytes(r, 0, 8);
	int rc = r->failed ? r->failed : -EBADMSG;

	if (r->failed)
		return error_set(e, rc, EXIT_INPUT, "cannot read '%s': %s", path, strerror(-rc));
	if (!r->size)
		return nothing_in(path, e);
	if (h && !memcmp(h, "FLR\0", 4)) {
		unsigned int major = h[4] << 8 | h[5], minor = h[6] << 8 | h[7];

		if (major >= 1 && major <= 2)
			return 0;
		return error_set(e, rc, EXIT_INPUT,
				 "'%s' has JFR version %u.%u, known are 1.x and 2.x", path, major,
				 minor);
	}
	error_set(e, rc, EXIT_INPUT, "'%s' is not a JFR file", path);
	if (h && h[0] == 0x1f && h[1] == 0x8b)
		return error_hint(e, "it is gzipped; try: gunzip -c FILE | gnomon ... -");
	return error_hint(e, "a recording begins with the letters FLR");
}

static int no_memory(struct error *e)
{
	return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
}

/* What it reads from is set. */
static int reader_begin(struct jfr_reader **out, struct jfr_reader *r, uint64_t size,
			const struct jfr_options *o, const char *path, struct error *e)
{
	int rc;

	r->size = size;
	r->pool_cap = o && o->pool_cap ? o->pool_cap : 1ULL << 30;
	r->report.file_size = size;
	rc = not_jfr(r, path, e);
	if (rc) {
		jfr_reader_close(r);
		return rc;
	}
	*out = r;
	return 0;
}

static int reader_new(struct jfr_reader **out, int fd, uint64_t size, const void *mem,
		      const struct jfr_options *o, const char *path, struct error *e)
{
	struct jfr_reader *r = calloc(1, sizeof(*r));

	if (!r) {
		if (fd >= 0)
			close(fd);
		return no_memory(e);
	}
	r->fd = fd;
	r->mem = mem;
	return reader_begin(out, r, size, o, path, e);
}

int jfr_reader_open_parts(struct jfr_reader **out, const struct jfr_part *v, size_t n,
			  const char *name, const struct jfr_options *o, struct error *e)
{
	struct jfr_reader *r = calloc(1, sizeof(*r));
	uint64_t size;
	int rc;

	if (!r)
		return no_memory(e);
	r->fd = -1;
	rc = parts_init(&r->parts, v, n, &size);
	if (!rc)
		return reader_begin(out, r, size, o, name, e);
	jfr_reader_close(r);
	return rc == -ENOMEM ? no_memory(e)
			     : error_set(e, rc, EXIT_INPUT, "'%s' is too long", name);
}

int jfr_reader_open_memory(struct jfr_reader **r, const void *data, size_t len,
			   const struct jfr_options *o, struct error *e)
{
	return reader_new(r, -1, len, data, o, "memory", e);
}

/* stdin cannot be read backwards: a copy in a file without a name, gone with the process. */
static int stdin_spool(struct error *e)
{
	const char *dir = getenv("TMPDIR");
	char buf[65536], path[4096];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/gnomon.XXXXXX", dir && *dir ? dir : "/tmp");
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return error_set(e, -errno, EXIT_OUTPUT, "cannot create '%s': %s", path,
				 strerror(errno));
	unlink(path);
	while ((n = read(STDIN_FILENO, buf, sizeof(buf))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 || write(fd, buf, (size_t)n) != n) {
			int rc = errno ? -errno : -ENOSPC;

			close(fd);
			return error_set(e, rc, EXIT_INPUT,
					 "cannot copy stdin to a file in '%s': %s",
					 dir && *dir ? dir : "/tmp", strerror(-rc));
		}
	}
	return fd;
}

static int open_error(const char *path, int err, struct error *e)
{
	error_set(e, -err, EXIT_INPUT, "cannot open '%s': %s", path, strerror(err));
	if (err == EACCES || err == EPERM)
		error_hint(e, "read it as its owner or as root");
	else if (err == ENOENT)
		error_hint(e, "name a recording; '-' reads one from stdin");
	return -err;
}

static int not_regular(const char *path, bool directory, struct error *e)
{
	error_set(e, -EINVAL, EXIT_INPUT, "'%s' is %s", path,
		  directory ? "a directory" : "not a regular file");
	return error_hint(e, directory ? "name the recordings in it"
				       : "a pipe is read as: ... | gnomon COMMAND -");
}

int jfr_reader_open(struct jfr_reader **r, const char *path, const struct jfr_options *o,
		    struct error *e)
{
	struct stat st;
	int fd;

	if (!strcmp(path, "-")) {
		fd = stdin_spool(e);
		if (fd < 0)
			return fd;
	} else {
		/* not to hang on a FIFO that has no writer */
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (fd < 0)
			return open_error(path, errno, e);
	}
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return not_regular(path, S_ISDIR(st.st_mode), e);
	}
	return reader_new(r, fd, (uint64_t)st.st_size, NULL, o, path, e);
}

void jfr_reader_close(struct jfr_reader *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->ncounts; i++) {
		free(r->counts[i].name);
		free(r->counts[i].label);
	}
	free(r->counts);
	metadata_free(&r->meta);
	pools_free(&r->pools);
	free(r->win);
	parts_free(&r->parts);
	if (r->fd >= 0)
		close(r->fd);
	free(r);
}

/* ---- events ---- */

static struct jfr_count *count_of(struct jfr_reader *r, const struct jfr_class *c)
{
	struct jfr_count *v;

	for (size_t i = 0; i < r->ncounts; i++)
		if (!strcmp(r->counts[i].name, c->name))
			return &r->counts[i];
	if (r->ncounts == COUNTS_MAX) /* no real file; keeps a hostile one from costing n^2 */
		return &r->counts[COUNTS_MAX - 1];
	v = reallocarray(r->counts, r->ncounts + 1, sizeof(*v));
	if (!v)
		return NULL;
	r->counts = v;
	v += r->ncounts;
	*v = (struct jfr_count){.name = strdup(c->name), .label = strdup(c->label ? c->label : "")};
	if (!v->name || !v->label) {
		free(v->name);
		free(v->label);
		return NULL;
	}
	r->ncounts++;
	return v;
}

void chunk_close(struct jfr_reader *r)
{
	for (size_t i = 0; i < r->meta.nclasses; i++) {
		struct jfr_class *c = &r->meta.classes[i];
		struct jfr_count *n = c->events ? count_of(r, c) : NULL;

		if (!n)
			continue;
		n->events += c->events;
		n->bytes += c->bytes;
		c->events = 0;
		c->bytes = 0;
	}
	r->in_chunk = false;
}

/* The event at r->pos. 1, or 0 when it is none that the caller sees, or -EBADMSG. */
static int event_read(struct jfr_reader *r, struct jfr_event *ev)
{
	struct jfr_class *cls;
	const uint8_t *p;
	struct cursor c;
	uint64_t size;
	int64_t type;

	if (!reader_event_head(r, r->pos, r->end, &size, &type))
		return r->failed ? r->failed : -EBADMSG;
	ev->offset = r->pos;
	r->pos += size;
	if (type == 0 || type == 1)
		return 0;
	cls = (struct jfr_class *)metadata_class(&r->meta, type);
	if (!cls) {
		r->report.events_unknown++;
		return 0;
	}
	p = reader_bytes(r, ev->offset, size);
	if (!p)
		return r->failed ? r->failed : -EBADMSG;
	c = (struct cursor){.p = p, .end = p + size, .fixed = r->fixed};
	cursor_int(&c, 4);
	cursor_int(&c, 8);
	cls->events++;
	cls->bytes += size;
	r->report.events++;
	ev->cls = cls;
	ev->chunk = r->chunk_no;
	ev->payload = c.p;
	ev->end = c.end;
	return 1;
}

int jfr_reader_next(struct jfr_reader *r, struct jfr_event *ev)
{
	int rc;

	for (;;) {
		if (!r->in_chunk) {
			rc = chunk_open(r);
			if (rc <= 0)
				return rc;
		}
		if (r->pos >= r->end) {
			chunk_close(r);
			continue;
		}
		rc = event_read(r, ev);
		if (rc > 0 || (rc < 0 && rc != -EBADMSG))
			return rc;
		if (rc == -EBADMSG) {
			r->report.bytes_lost += r->end - r->pos;
			reader_problem(r, "no event at offset %llu: %llu bytes of its chunk lost",
				       (unsigned long long)r->pos,
				       (unsigned long long)(r->end - r->pos));
			r->pos = r->end;
		}
	}
}

/* ---- what is known ---- */

const struct jfr_report *jfr_reader_report(struct jfr_reader *r)
{
	r->report.counts = r->counts;
	r->report.ncounts = r->ncounts;
	return &r->report;
}

const struct jfr_chunk *jfr_reader_chunk(const struct jfr_reader *r)
{
	return &r->chunk;
}

int64_t jfr_ticks_span(const struct jfr_reader *r, int64_t ticks)
{
	__int128 ns = (__int128)ticks * 1000000000 / r->chunk.ticks_per_s;

	return ns > INT64_MAX ? INT64_MAX : ns < INT64_MIN ? INT64_MIN : (int64_t)ns;
}

int64_t jfr_ticks_time(const struct jfr_reader *r, int64_t ticks)
{
	__int128 ns = ((__int128)ticks - r->chunk.start_ticks) * 1000000000 / r->chunk.ticks_per_s +
		      r->chunk.start_ns;

	return ns > INT64_MAX ? INT64_MAX : ns < INT64_MIN ? INT64_MIN : (int64_t)ns;
}

const struct jfr_class *jfr_class_find(struct jfr_reader *r, const char *name)
{
	return metadata_find(&r->meta, name);
}

int jfr_class_field(const struct jfr_class *cls, const char *name)
{
	for (size_t i = 0; cls && i < cls->nfields; i++)
		if (!strcmp(cls->fields[i].name, name))
			return (int)i;
	return -1;
}
