/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chunks: finding them, and loading what their events refer to. A closed chunk says where its
 * metadata and last checkpoint lie; where that leads nowhere, its events are walked one by one.
 */
#include "jfr/read_int.h"

#include <errno.h>
#include <string.h>

#define HEADER 68

static uint64_t be(const uint8_t *p, int n)
{
	uint64_t v = 0;

	while (n--)
		v = v << 8 | *p++;
	return v;
}

static bool header_plausible(const uint8_t *h)
{
	uint64_t major = be(h + 4, 2);

	return !memcmp(h, "FLR\0", 4) && major >= 1 && major <= 2 && be(h + 6, 2) < 100 &&
	       (int64_t)be(h + 56, 8) > 0;
}

/* The next header at or after off; the size of the file when there is none. */
static uint64_t header_search(struct jfr_reader *r, uint64_t off)
{
	while (off + HEADER <= r->size) {
		size_t n = r->size - off < WINDOW ? (size_t)(r->size - off) : WINDOW;
		const uint8_t *p = reader_bytes(r, off, n), *f;

		if (!p)
			break;
		for (f = p; (size_t)(p + n - f) >= HEADER; f++) {
			f = memchr(f, 'F', (size_t)(p + n - f) - HEADER + 1);
			if (!f)
				break;
			if (header_plausible(f))
				return off + (uint64_t)(f - p);
		}
		off += n - HEADER + 1;
	}
	return r->size;
}

static bool header_at(struct jfr_reader *r, uint64_t off)
{
	const uint8_t *h = off + HEADER <= r->size ? reader_bytes(r, off, HEADER) : NULL;

	return h && header_plausible(h);
}

/*
 * A chunk without an end to go by reaches as far as its events make sense, or to the next header
 * that stands where an event would begin. Elsewhere the letters of a header mean nothing: events
 * may well contain them.
 */
static void extent_find(struct jfr_reader *r)
{
	uint64_t off = r->pos, limit = reader_limit(r, r->chunk.offset), size;
	int64_t type;

	while (!header_at(r, off) && reader_event_head(r, off, limit, &size, &type))
		off += size;
	r->chunk.unfinished = true;
	r->chunk.size = off - r->chunk.offset;
	r->end = off;
}

static void header_read(struct jfr_reader *r, uint64_t off, const uint8_t *h)
{
	struct jfr_chunk *c = &r->chunk;
	uint64_t size = be(h + 8, 8), cp = be(h + 16, 8), meta = be(h + 24, 8);

	*c = (struct jfr_chunk){
		.offset = off,
		.size = size,
		.major = (uint16_t)be(h + 4, 2),
		.minor = (uint16_t)be(h + 6, 2),
		.start_ns = (int64_t)be(h + 32, 8),
		.duration_ns = (int64_t)be(h + 40, 8),
		.start_ticks = (int64_t)be(h + 48, 8),
		.ticks_per_s = (int64_t)be(h + 56, 8),
		.unfinished = h[64] != 0, /* 2.0 has the high byte of the flags there, 0 */
	};
	r->fixed = !(h[67] & 1);
	r->meta_off = meta < r->size ? off + meta : UINT64_MAX;
	r->cp_off = cp < r->size ? off + cp : UINT64_MAX;
	r->pos = off + HEADER;
	r->end = off + size;
	if (size < HEADER || size > reader_limit(r, off) - off || h[64] == 0xff)
		extent_find(r);
}

static int metadata_load(struct jfr_reader *r, uint64_t off)
{
	uint64_t size;
	int64_t type;
	const uint8_t *p;

	if (off < r->chunk.offset + HEADER || !reader_event_head(r, off, r->end, &size, &type) ||
	    type)
		return -EBADMSG;
	p = reader_bytes(r, off, size);
	return p ? metadata_parse(&r->meta, p, size, r->fixed) : r->failed ? r->failed : -EBADMSG;
}

/* Read a checkpoint behind the constants that are there already, and take it in. */
static int checkpoint_load(struct jfr_reader *r, uint64_t off, uint64_t size, bool keep,
			   int64_t *delta)
{
	struct buffer *b = &r->pools.bytes;
	size_t at = b->len;
	int rc;

	if (size > r->pool_cap || at > r->pool_cap - size) {
		const uint8_t *p = reader_bytes(r, off, size < 64 ? size : 64);

		reader_problem(r, "constants over %llu bytes left out",
			       (unsigned long long)r->pool_cap);
		r->report.pools_dropped++;
		return p ? checkpoint_delta(p, size < 64 ? size : 64, r->fixed, delta) : -EBADMSG;
	}
	for (uint64_t done = 0; done < size;) {
		size_t n = size - done < WINDOW ? (size_t)(size - done) : WINDOW;
		const uint8_t *p = reader_bytes(r, off + done, n);

		if (!p)
			return r->failed ? r->failed : -EBADMSG;
		buffer_add(b, p, n);
		done += n;
	}
	if (b->failed)
		return -ENOMEM;
	rc = pools_add(&r->pools, &r->meta, at, size, r->fixed, keep, delta);
	if (rc == -EBADMSG) {
		r->report.pools_dropped++;
		reader_problem(r, "checkpoint at offset %llu is damaged", (unsigned long long)off);
	}
	return rc;
}

/* From the last checkpoint to the first: what was written later wins. */
static int chain_load(struct jfr_reader *r)
{
	uint64_t off = r->cp_off, end = r->end, size;
	int64_t type, delta = 0;
	int rc;

	for (;;) {
		/* each must end before the one that pointed to it, so that this ends */
		if (off < r->chunk.offset + HEADER ||
		    !reader_event_head(r, off, end, &size, &type) || type != 1)
			return -EBADMSG;
		rc = checkpoint_load(r, off, size, true, &delta);
		if (rc || !delta)
			return rc;
		if (delta > 0 || 0 - (uint64_t)delta > off)
			return -EBADMSG;
		end = off;
		off += (uint64_t)delta;
	}
}

/*
 * Without usable offsets: the last metadata counts, and every checkpoint. Cuts the chunk where its
 * events stop making sense.
 */
static int walk_load(struct jfr_reader *r)
{
	uint64_t meta = 0, size = 0, off;
	int64_t type, delta;
	int rc;

	for (off = r->pos; reader_event_head(r, off, r->end, &size, &type); off += size)
		if (type == 0)
			meta = off;
	if (off < r->end) {
		r->report.bytes_lost += r->end - off;
		reader_problem(r, "chunk at offset %llu is cut at %llu: %llu bytes lost",
			       (unsigned long long)r->chunk.offset, (unsigned long long)off,
			       (unsigned long long)(r->end - off));
		r->end = off;
	}
	if (!meta)
		return -EBADMSG;
	rc = metadata_load(r, meta);
	if (!rc)
		rc = pools_reset(&r->pools, r->meta.nclasses);
	for (off = r->pos; !rc && reader_event_head(r, off, r->end, &size, &type); off += size) {
		if (type == 1)
			rc = checkpoint_load(r, off, size, false, &delta);
		if (rc == -EBADMSG)
			rc = 0; /* reported; the others still count */
	}
	return rc;
}

int chunk_constants(struct jfr_reader *r)
{
	uint64_t dropped = r->report.pools_dropped, problems = r->report.problems;
	int rc = r->chunk.unfinished && r->chunk.size < HEADER ? -EBADMSG : 0;

	if (!rc)
		rc = metadata_load(r, r->meta_off);
	if (!rc)
		rc = pools_reset(&r->pools, r->meta.nclasses);
	if (!rc)
		rc = chain_load(r);
	if (rc == -EBADMSG && !r->failed) {
		/* walked again from the start: what went wrong above is counted once, there */
		r->report.pools_dropped = dropped;
		r->report.problems = problems;
		rc = walk_load(r);
	}
	return rc;
}

static int chunk_start(struct jfr_reader *r)
{
	struct jfr_report *rep = &r->report;
	int64_t end;
	int rc = chunk_constants(r);

	if (rc == -EBADMSG && !r->failed) {
		rep->chunks_lost++;
		rep->bytes_lost += r->end - r->chunk.offset;
		reader_problem(r, "chunk at offset %llu has no usable metadata",
			       (unsigned long long)r->chunk.offset);
		return 0;
	}
	if (rc)
		return rc;
	r->in_chunk = true;
	r->chunk_no++;
	rep->chunks++;
	rep->chunks_unfinished += r->chunk.unfinished;
	if (r->pools.bytes.len > rep->pool_bytes)
		rep->pool_bytes = r->pools.bytes.len;
	if (rep->chunks == 1 || r->chunk.start_ns < rep->start_ns)
		rep->start_ns = r->chunk.start_ns;
	if (__builtin_add_overflow(r->chunk.start_ns, r->chunk.duration_ns, &end))
		end = r->chunk.start_ns;
	if (rep->chunks == 1 || end > rep->end_ns)
		rep->end_ns = end;
	known_find(&r->known, &r->meta);
	return 1;
}

int chunk_open(struct jfr_reader *r)
{
	while (r->next_chunk + HEADER <= r->size) {
		uint64_t off = header_search(r, r->next_chunk);
		const uint8_t *h;
		int rc;

		if (off > r->next_chunk) {
			r->report.bytes_lost += off - r->next_chunk;
			reader_problem(r, "%llu bytes at offset %llu are of no chunk or cut off",
				       (unsigned long long)(off - r->next_chunk),
				       (unsigned long long)r->next_chunk);
		}
		r->next_chunk = off;
		if (off >= r->size)
			break;
		h = reader_bytes(r, off, HEADER);
		if (!h)
			break;
		header_read(r, off, h);
		r->next_chunk = off + r->chunk.size;
		rc = chunk_start(r);
		if (rc)
			return rc;
	}
	if (!r->failed && r->next_chunk < r->size) {
		r->report.bytes_lost += r->size - r->next_chunk;
		reader_problem(r, "the last %llu bytes are cut off",
			       (unsigned long long)(r->size - r->next_chunk));
		r->next_chunk = r->size;
	}
	return r->failed;
}
