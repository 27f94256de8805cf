/* SPDX-License-Identifier: Apache-2.0 */
#include "jfr/repair.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jfr/write_enc.h"
#include "jfr/write_file.h"

#define EVENT_HEAD	(2 * JFR_LEB_MAX) /* size and type */
#define CHECKPOINT_HEAD (5 * JFR_LEB_MAX)

/* Offsets in the chunk header. */
enum { AT_MAJOR = 4, AT_SIZE = 8, AT_CHECKPOINT = 16, AT_METADATA = 24, AT_STATE = 64 };

static uint64_t get_be(const uint8_t *p, unsigned int n)
{
	uint64_t v = 0;

	while (n--)
		v = v << 8 | *p++;
	return v;
}

static void set_be(uint8_t *p, uint64_t v)
{
	for (unsigned int i = 0; i < 8; i++)
		p[i] = (uint8_t)(v >> (56 - 8 * i));
}

static bool is_header(const uint8_t *h)
{
	return !memcmp(h, "FLR", 4) && get_be(h + AT_MAJOR, 2) == 2;
}

/* ---- walking --------------------------------------------------------------------------------- */

/* A window over the source, so that small events do not cost a read each. */
struct walk {
	const struct jfr_bytes *s;
	uint64_t chunk;
	uint64_t window_at;
	size_t window_len;
	uint8_t window[64 << 10];
};

/* At least `want` bytes at `at`, or as many as there are. */
static const uint8_t *peek(struct walk *k, uint64_t at, size_t want, size_t *n)
{
	if (at < k->window_at || at - k->window_at > k->window_len ||
	    k->window_len - (at - k->window_at) < want) {
		k->window_len = k->s->read(k->s->ctx, at, k->window, sizeof(k->window));
		k->window_at = at;
	}
	*n = k->window_len - (at - k->window_at);
	return k->window + (at - k->window_at);
}

struct repair_points {
	uint64_t metadata_seen;	 /* offsets in the chunk, 0: none */
	uint64_t metadata;	 /* the last one before a checkpoint of the chain */
	uint64_t checkpoint;	 /* the last whole one of the chain */
	uint64_t checkpoint_end; /* where it ends */
	uint64_t end;		 /* where the last whole event ends */
};

/*
 * A checkpoint counts if it continues the chain: its delta leads to the one before it. It vouches
 * for the metadata too: behind a chunk's end, garbage may look like an event of that type.
 */
static void note_checkpoint(struct repair_points *f, const uint8_t *p, size_t n, uint64_t at,
			    uint64_t end)
{
	uint64_t v[5] = {0};
	size_t used = 0;

	for (unsigned int i = 0; i < 5; i++) {
		size_t len = leb_decode(p + used, n - used, &v[i]);

		if (!len)
			return;
		used += len;
	}
	if (v[4] != (f->checkpoint ? f->checkpoint - at : 0))
		return;
	f->checkpoint = at;
	f->checkpoint_end = end;
	f->metadata = f->metadata_seen;
}

/* Step over events until `limit` (in the file), something that is none, or another chunk. */
static void walk_events(struct walk *k, uint64_t limit, struct repair_points *f)
{
	uint64_t at = k->chunk + JFR_HEADER_SIZE;

	*f = (struct repair_points){.end = JFR_HEADER_SIZE};
	while (at < limit) {
		uint64_t size, type;
		size_t n, a, b;
		const uint8_t *p = peek(k, at, CHECKPOINT_HEAD, &n);

		if (n >= 6 && is_header(p))
			break;
		a = leb_decode(p, n, &size);
		b = a ? leb_decode(p + a, n - a, &type) : 0;
		if (!b || size < a + b || size > limit - at)
			break;
		if (type == 0)
			f->metadata_seen = at - k->chunk;
		else if (type == 1)
			note_checkpoint(f, p, n, at - k->chunk, at - k->chunk + size);
		at += size;
		f->end = at - k->chunk;
	}
}

/* ---- judging --------------------------------------------------------------------------------- */

/* What follows a chunk in order: the end of the file, or the next. */
static bool ends_well(struct walk *k, uint64_t end)
{
	const uint8_t *p;
	size_t n;

	if (end == k->s->size)
		return true;
	p = peek(k, end, JFR_HEADER_SIZE, &n);
	return n >= JFR_HEADER_SIZE && is_header(p);
}

static bool is_event(struct walk *k, uint64_t at, uint64_t type)
{
	uint64_t size, found = ~type;
	size_t n, a;
	const uint8_t *p = peek(k, k->chunk + at, EVENT_HEAD, &n);

	a = leb_decode(p, n, &size);
	return a && leb_decode(p + a, n - a, &found) && found == type;
}

/*
 * JDK chunks may have checkpoints whose deltas are not to the one before in the file, so the chain
 * is not held against a chunk whose header and events agree.
 */
static bool is_good(struct walk *k, const uint8_t *h)
{
	uint64_t size = get_be(h + AT_SIZE, 8), checkpoint = get_be(h + AT_CHECKPOINT, 8);
	uint64_t metadata = get_be(h + AT_METADATA, 8);
	struct repair_points f;

	if (h[AT_STATE] || size < JFR_HEADER_SIZE || size > k->s->size - k->chunk ||
	    checkpoint < JFR_HEADER_SIZE || checkpoint >= size || metadata < JFR_HEADER_SIZE ||
	    metadata >= size || !ends_well(k, k->chunk + size))
		return false;
	walk_events(k, k->chunk + size, &f);
	return f.end == size && is_event(k, metadata, 0) && is_event(k, checkpoint, 1);
}

/*
 * The header of a finished flush may be right although the bytes behind it are of one that was
 * not: then the walk over the events, which goes on to the file's end, takes in what is whole.
 */
static void mend(struct walk *k, struct jfr_chunk_check *out)
{
	struct repair_points f;

	walk_events(k, k->s->size, &f);
	if (!f.metadata || !f.checkpoint)
		return;
	out->health = JFR_CHUNK_MENDED;
	out->size = f.checkpoint_end;
	set_be(out->header + AT_SIZE, out->size);
	set_be(out->header + AT_CHECKPOINT, f.checkpoint);
	set_be(out->header + AT_METADATA, f.metadata);
	out->header[AT_STATE] = 0;
}

void jfr_chunk_check(const struct jfr_bytes *s, uint64_t at, struct jfr_chunk_check *out)
{
	struct walk k = {.s = s, .chunk = at};

	*out = (struct jfr_chunk_check){.health = JFR_CHUNK_LOST};
	if (s->read(s->ctx, at, out->header, JFR_HEADER_SIZE) < JFR_HEADER_SIZE ||
	    !is_header(out->header))
		return;
	if (is_good(&k, out->header)) {
		out->health = JFR_CHUNK_GOOD;
		out->size = get_be(out->header + AT_SIZE, 8);
		return;
	}
	mend(&k, out);
}

/* ---- files ----------------------------------------------------------------------------------- */

static size_t read_fd(void *ctx, uint64_t at, void *buf, size_t n)
{
	size_t got = 0;

	while (got < n) {
		ssize_t r = pread(*(int *)ctx, (uint8_t *)buf + got, n - got, (off_t)(at + got));

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			break;
		got += (size_t)r;
	}
	return got;
}

static int open_input(const char *path, uint64_t *size, struct error *e)
{
	int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return error_set(e, -errno, EXIT_INPUT, "cannot open '%s': %s", path,
				 strerror(errno));
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		error_set(e, -EINVAL, EXIT_INPUT, "cannot repair '%s': not a regular file", path);
		return error_hint(e, "name a recording: a file of this machine's disks");
	}
	*size = (uint64_t)st.st_size;
	return fd;
}

static int write_header(int fd, uint64_t at, const uint8_t *header)
{
	ssize_t n = pwrite(fd, header, JFR_HEADER_SIZE, (off_t)at);

	return n == JFR_HEADER_SIZE ? 0 : n < 0 ? -errno : -EIO;
}

/* Only the last chunk kept can be shorter than it was: what followed it is cut, not closed up. */
static int repair_fd(int fd, const struct jfr_bytes *s, struct jfr_repair *out)
{
	struct jfr_chunk_check c = {0};
	uint64_t at = 0;
	int rc = 0;

	while (!rc && at < s->size) {
		jfr_chunk_check(s, at, &c);
		if (c.health == JFR_CHUNK_LOST)
			break;
		out->chunks++;
		if (c.health == JFR_CHUNK_MENDED) {
			out->mended++;
			rc = write_header(fd, at, c.header);
		}
		at += c.size;
	}
	out->bytes_kept = at;
	out->bytes_cut = s->size - at;
	if (!rc && out->chunks && out->bytes_cut && ftruncate(fd, (off_t)at))
		rc = -errno;
	return rc;
}

/* Where the last chunk begins, by what the headers say. */
static uint64_t last_chunk(const struct jfr_bytes *s)
{
	uint8_t h[JFR_HEADER_SIZE];
	uint64_t at = 0, size;

	for (;;) {
		if (s->read(s->ctx, at, h, sizeof(h)) < sizeof(h) || !is_header(h))
			return at;
		size = get_be(h + AT_SIZE, 8);
		if (size < JFR_HEADER_SIZE || size > s->size - at ||
		    s->read(s->ctx, at + size, h, sizeof(h)) < sizeof(h) || !is_header(h))
			return at;
		at += size;
	}
}

int jfr_repair_last(int fd, uint64_t *end)
{
	struct jfr_bytes s = {.read = read_fd, .ctx = &fd};
	struct jfr_chunk_check c;
	struct stat st;
	uint64_t at;
	int rc = 0;

	if (fstat(fd, &st))
		return -errno;
	s.size = (uint64_t)st.st_size;
	at = last_chunk(&s);
	jfr_chunk_check(&s, at, &c);
	if (c.health == JFR_CHUNK_MENDED)
		rc = write_header(fd, at, c.header);
	*end = c.health == JFR_CHUNK_LOST ? at : at + c.size;
	return !rc && *end != s.size && ftruncate(fd, (off_t)*end) ? -errno : rc;
}

int jfr_repair(const char *path, struct jfr_repair *out, struct error *e)
{
	struct jfr_bytes s = {.read = read_fd};
	int fd, rc;

	*out = (struct jfr_repair){0};
	fd = open_input(path, &s.size, e);
	if (fd < 0)
		return fd;
	s.ctx = &fd;
	rc = repair_fd(fd, &s, out);
	if (close(fd) && !rc)
		rc = -errno;
	if (rc)
		return error_set(e, rc, EXIT_OUTPUT, "cannot write '%s': %s", path, strerror(-rc));
	if (out->chunks)
		return 0;
	error_set(e, -EINVAL, EXIT_INPUT, "cannot repair '%s': %s", path,
		  s.size ? "no JFR chunk in it can be kept" : "it is empty");
	return error_hint(e, "the file was left as it is");
}
