/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the reader only. */
#ifndef GNOMON_JFR_READ_INT_H
#define GNOMON_JFR_READ_INT_H

#include <sys/types.h>

#include "base/idmap.h"
#include "jfr/read.h"

/* How a value of a class is encoded. */
enum prim {
	PRIM_STRUCT = 0,
	PRIM_BYTE, /* boolean and byte: one raw byte */
	PRIM_CHAR,
	PRIM_SHORT,
	PRIM_INT,
	PRIM_LONG,
	PRIM_FLOAT,
	PRIM_DOUBLE,
	PRIM_STRING,
};

/* A bounded position; the first read past the end sets bad, after which everything reads as 0. */
struct cursor {
	const uint8_t *p, *end;
	bool bad;
	bool fixed; /* the chunk has no compressed integers: big-endian of full width */
};

uint64_t cursor_varint_long(struct cursor *c);

/* Most numbers of a recording are below 128. */
static inline uint64_t cursor_varint(struct cursor *c)
{
	if (c->p < c->end && !(*c->p & 0x80) && !c->bad)
		return *c->p++;
	return cursor_varint_long(c);
}

uint64_t cursor_be(struct cursor *c, int width);
void cursor_skip(struct cursor *c, uint64_t n);
static inline size_t cursor_left(const struct cursor *c)
{
	return c->bad ? 0 : (size_t)(c->end - c->p);
}

/* An integer of `width` bytes when not compressed; sign extended from that width. */
static inline int64_t cursor_int(struct cursor *c, int width)
{
	int shift = 64 - 8 * width;
	uint64_t v = c->fixed ? cursor_be(c, width) : cursor_varint(c);

	/* A negative int may come as 5 bytes or, sign extended, as 9: the low bits are the value.
	 */
	return (int64_t)(v << shift) >> shift;
}

/* Reads the header of a string: enc, then n bytes at p (3, 5), n chars (4) or a key in i (2). */
bool cursor_string(struct cursor *c, struct jfr_value *v);

struct metadata {
	struct jfr_class *classes;
	size_t nclasses, classes_cap;
	struct jfr_member *fields;
	size_t nfields, fields_cap;
	uint8_t *text;	    /* every string, NUL ended UTF-8 */
	struct idmap by_id; /* class id -> index */
	const struct jfr_class *string_class;
};

/* Parse a metadata event (with its size and type). 0, -EBADMSG or -ENOMEM; meta is reset first. */
int metadata_parse(struct metadata *m, const uint8_t *p, size_t len, bool fixed);
void metadata_free(struct metadata *m);
const struct jfr_class *metadata_class(const struct metadata *m, int64_t id);
const struct jfr_class *metadata_find(const struct metadata *m, const char *name);

/* Constant pools: raw bytes of all checkpoints, and per class a map from key to offset in them. */
struct pools {
	struct buffer bytes;
	struct idmap *maps; /* by index of the class */
	size_t nmaps;
};

int pools_reset(struct pools *p, size_t nclasses);
/*
 * Take in the checkpoint event at bytes.data[off..off+len). With `keep`, constants known already
 * stay. *delta is where the previous checkpoint lies, relative. 0, -EBADMSG (what was read before
 * the damage is kept) or -ENOMEM.
 */
int pools_add(struct pools *p, const struct metadata *m, size_t off, size_t len, bool fixed,
	      bool keep, int64_t *delta);
/* Only the delta: for a checkpoint that is not taken in. */
int checkpoint_delta(const uint8_t *p, size_t len, bool fixed, int64_t *delta);
void pools_free(struct pools *p);

/* Step over one value of a field, or of a class. False on damage. */
bool value_skip_class(const struct jfr_class *cls, struct cursor *c, int depth);
bool value_read(const struct jfr_member *f, struct cursor *c, struct jfr_value *v);

/* The fields of the usual classes, looked up once per chunk. */
struct known_classes {
	const struct jfr_class *thread, *stack, *frame, *method, *klass;
	int t_osname, t_osid, t_name, t_id, t_virtual;
	int s_trunc, s_frames;
	int f_method, f_line, f_bci, f_type;
	int m_class, m_name, m_hidden;
	int c_name;
};
void known_find(struct known_classes *k, const struct metadata *m);

/* Of a recording that is several files. */
struct parts {
	const struct jfr_part *v;
	uint64_t *begins; /* where each begins, in the whole */
	size_t n, at;	  /* the one that is open */
	int fd;
};

/* *size is that of the whole. 0, -ENOMEM or -EFBIG; freed in any case. */
int parts_init(struct parts *p, const struct jfr_part *v, size_t n, uint64_t *size);
void parts_free(struct parts *p);
/* As pread(), with -errno. What somebody has removed meanwhile reads as zeros. */
ssize_t parts_read(struct parts *p, void *to, size_t n, uint64_t off);
/* Tells where the part ends that `off` lies in. */
uint64_t parts_end(const struct parts *p, uint64_t off);

struct jfr_reader {
	int fd; /* -1: memory, or parts */
	struct parts parts;
	const uint8_t *mem;
	uint64_t size;
	uint64_t pool_cap;
	uint8_t *win;
	size_t win_cap, win_len;
	uint64_t win_off;
	uint64_t next_chunk; /* where the next header is expected */
	bool in_chunk, fixed;
	uint64_t chunk_no;
	uint64_t pos, end;
	uint64_t meta_off, cp_off; /* in the file, from the header */
	struct jfr_chunk chunk;
	struct metadata meta;
	struct pools pools;
	struct known_classes known;
	struct jfr_report report;
	struct jfr_count *counts;
	size_t ncounts;
	int failed; /* sticky negative errno */
};

/* n bytes of the file at off, valid until the next call; NULL past the end, on error (r->failed).
 */
const uint8_t *reader_bytes(struct jfr_reader *r, uint64_t off, size_t n);
/* A chunk that begins at off ends here at the latest. */
uint64_t reader_limit(const struct jfr_reader *r, uint64_t off);
void reader_problem(struct jfr_reader *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* The size and type of the event at off, which must end by `end`. False when it makes no sense. */
bool reader_event_head(struct jfr_reader *r, uint64_t off, uint64_t end, uint64_t *size,
		       int64_t *type);
/* Header, metadata and pools of the next usable chunk. 1, 0 at the end, or negative errno. */
int chunk_open(struct jfr_reader *r);
void chunk_close(struct jfr_reader *r);
/* Load the metadata and pools of the chunk whose header was read. Same results. */
int chunk_constants(struct jfr_reader *r);

#define WINDOW	   (1u << 20)
#define EVENT_MAX  (1u << 28) /* a longer event that is no checkpoint is damage */
#define COUNTS_MAX 4096	      /* kinds of events told apart in the report */
#define NEST_MAX   16	      /* structures within structures */

#endif
