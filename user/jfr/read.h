/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reader of JDK Flight Recorder files (format 1.x and 2.x), of any producer: what an event holds
 * is taken from the metadata of its chunk. It needs nothing of gnomon but user/base.
 *
 *	struct jfr_reader *r;
 *	struct jfr_event ev;
 *	int rc = jfr_reader_open(&r, "app.jfr", NULL, &err);
 *
 *	while (!rc && (rc = jfr_reader_next(r, &ev)) > 0)
 *		rc = handle(r, &ev);
 *	jfr_reader_close(r);
 *
 * Memory does not depend on the number of events: a window of the file (1 MiB, or one event if that
 * is longer) plus the metadata and constant pools of one chunk. Pools above `pool_cap` bytes are
 * left out and reported. Events come in the order of the file, which is not that of time.
 *
 * Damage never ends a recording early: chunks that are whole are read, an unfinished chunk is read
 * as far as its events make sense, and what was skipped stands in the report. Every loop is bounded
 * by the size of the file. The file may grow or shrink meanwhile.
 *
 * Keys of constant pools, classes and fields are valid within a chunk only: jfr_event.chunk tells.
 * Nothing here is thread safe; use one reader per thread.
 */
#ifndef GNOMON_JFR_READ_H
#define GNOMON_JFR_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

struct jfr_reader;

/* ---- metadata ---- */

enum jfr_kind {
	JFR_VALUE_NONE = 0, /* no such field */
	JFR_VALUE_INT,	    /* boolean, byte, char, short, int, long: in `i` */
	JFR_VALUE_FLOAT,    /* float, double: in `d` */
	JFR_VALUE_STRING,   /* jfr_value_string() */
	JFR_VALUE_REF,	    /* constant: key in `i`, jfr_pool_get() */
	JFR_VALUE_STRUCT,   /* inline structure, jfr_value_fields() */
	JFR_VALUE_ARRAY,    /* `n` elements, jfr_array_next(); 0 if these take no bytes */
};

enum jfr_unit {
	JFR_UNIT_NONE = 0,
	JFR_UNIT_TICKS,	   /* a point or span in ticks of the chunk */
	JFR_UNIT_NS,	   /* nanoseconds */
	JFR_UNIT_MS,	   /* milliseconds */
	JFR_UNIT_S,	   /* seconds */
	JFR_UNIT_EPOCH_MS, /* milliseconds since 1970 */
	JFR_UNIT_BYTES,
	JFR_UNIT_PERCENT, /* 0..1 */
};

struct jfr_class;

struct jfr_member {
	const char *name;
	const struct jfr_class *type; /* NULL when the metadata does not declare it */
	enum jfr_unit unit;
	bool pooled; /* the event holds a key of the pool of `type` */
	bool array;
	bool point; /* unit is a point in time, not a span */
	int64_t type_id;
	int64_t annotation_id; /* internal, until units are resolved */
	const char *unit_name; /* internal */
};

struct jfr_class {
	int64_t id;
	const char *name;  /* "jdk.ExecutionSample" */
	const char *label; /* of its @Label, or NULL */
	const char *super; /* "" if none */
	bool is_event;	   /* super is jdk.jfr.Event (Oracle's old name included) */
	bool empty;	   /* a value takes no bytes */
	uint8_t prim;	   /* internal: how a value is encoded */
	int64_t label_id;  /* internal */
	size_t nfields;
	const struct jfr_member *fields;
	uint64_t events; /* read so far in this chunk */
	uint64_t bytes;
};

/* The class of that name in the current chunk, or NULL. */
const struct jfr_class *jfr_class_find(struct jfr_reader *r, const char *name);

/* Index of the field, or -1. cls may be NULL. */
int jfr_class_field(const struct jfr_class *cls, const char *name);

/* ---- reading ---- */

struct jfr_options {
	uint64_t pool_cap; /* bytes of constants of one chunk; 0 = 1 GiB */
};

struct jfr_event {
	const struct jfr_class *cls;
	uint64_t chunk;	 /* 1, 2, ...: changes with every chunk */
	uint64_t offset; /* in the file */
	const uint8_t *payload;
	const uint8_t *end; /* until the next call */
};

/* "-" reads stdin into an unlinked temporary file first, as pools stand behind the events. */
int jfr_reader_open(struct jfr_reader **r, const char *path, const struct jfr_options *o,
		    struct error *e);

/* Over memory that stays valid until close. */
int jfr_reader_open_memory(struct jfr_reader **r, const void *data, size_t len,
			   const struct jfr_options *o, struct error *e);

/* A run of bytes of a file that begins with a chunk. */
struct jfr_part {
	const char *path;
	uint64_t offset, size;
	int64_t start_ns, end_ns; /* of what is in it, since 1970; the reader does not ask */
	bool opened; /* `fd` is read, and stays the caller's: the path is for messages */
	int fd;
};

/*
 * Parts of several files, read as if they were one file behind the other; n > 0, and they stay the
 * caller's, valid until close. `name` is for messages. A file that is gone when its turn comes is
 * damage.
 */
int jfr_reader_open_parts(struct jfr_reader **r, const struct jfr_part *v, size_t n,
			  const char *name, const struct jfr_options *o, struct error *e);

/* 1 and the next event; 0 at the end; negative errno when reading or memory fails (not damage). */
int jfr_reader_next(struct jfr_reader *r, struct jfr_event *ev);

void jfr_reader_close(struct jfr_reader *r);

/* ---- the chunk of the current event ---- */

struct jfr_chunk {
	uint64_t offset;  /* in the file */
	uint64_t size;	  /* as far as it can be read */
	int64_t start_ns; /* since 1970 */
	int64_t duration_ns;
	int64_t start_ticks;
	int64_t ticks_per_s;
	uint16_t major, minor;
	bool unfinished; /* the producer had not closed it, or the file is cut */
};

const struct jfr_chunk *jfr_reader_chunk(const struct jfr_reader *r);

/* Ticks of this chunk to ns since 1970 (a point) and to ns (a span); saturating. */
int64_t jfr_ticks_time(const struct jfr_reader *r, int64_t ticks);
int64_t jfr_ticks_span(const struct jfr_reader *r, int64_t ticks);

/* ---- what was found and what was lost ---- */

struct jfr_count {
	char *name;
	char *label;
	uint64_t events;
	uint64_t bytes;
};

struct jfr_report {
	uint64_t file_size;
	uint64_t chunks;	    /* that gave metadata */
	uint64_t chunks_unfinished; /* of these, cut or not closed */
	uint64_t chunks_lost;	    /* without usable metadata */
	uint64_t events;
	uint64_t events_unknown; /* of a type that the metadata does not declare */
	uint64_t bytes_lost;	 /* of the file, skipped */
	uint64_t pool_bytes;	 /* largest of one chunk */
	uint64_t pools_dropped;	 /* checkpoints left out: over pool_cap or damaged */
	int64_t start_ns;	 /* first chunk */
	int64_t end_ns;		 /* latest chunk end */
	uint64_t problems;	 /* how many were met; the first ones in words: */
	char problem[8][160];
	const struct jfr_count *counts; /* by name, all chunks; complete after the last event */
	size_t ncounts;
};

const struct jfr_report *jfr_reader_report(struct jfr_reader *r);

/* ---- values ---- */

struct jfr_value {
	enum jfr_kind kind;
	uint8_t enc; /* of a string */
	const struct jfr_member *field;
	union {
		int64_t i;
		double d;
	};
	uint64_t n;
	const uint8_t *p, *end;
};

/*
 * Decode the fields of an event, or of a structure whose bytes are p..end, into v[0..max-1];
 * returns their number (at most max) or -EBADMSG. Values point into the event or pool.
 */
int jfr_event_fields(struct jfr_reader *r, const struct jfr_event *ev, struct jfr_value *v,
		     int max);
int jfr_value_fields(struct jfr_reader *r, const struct jfr_value *s, struct jfr_value *v, int max);

/* The constant `ref` as a structure; false when it is missing (or the value is no reference). */
bool jfr_pool_get(struct jfr_reader *r, const struct jfr_value *ref, struct jfr_value *out);
bool jfr_pool_find(struct jfr_reader *r, const struct jfr_class *cls, int64_t key,
		   struct jfr_value *out);

/* Take the next element off an array value. */
bool jfr_array_next(struct jfr_reader *r, struct jfr_value *array, struct jfr_value *out);

/*
 * Append a string as valid UTF-8 (broken sequences become U+FFFD; no terminator). Also follows
 * references to structures that hold a single string (symbols, frame types, thread states).
 * Returns false for null and for what is no string; nothing is appended then.
 */
bool jfr_value_string(struct jfr_reader *r, const struct jfr_value *v, struct buffer *to);

/* ---- the classes every producer has ---- */

struct jfr_thread {
	struct jfr_value os_name, java_name; /* strings, or JFR_VALUE_NONE */
	int64_t os_id, java_id;
	bool is_virtual;
};

/* False when the constant is missing. */
bool jfr_thread_get(struct jfr_reader *r, const struct jfr_value *ref, struct jfr_thread *t);
/* Appends what Java calls it, or else the kernel, which has no name for a virtual thread. */
void jfr_thread_name(struct jfr_reader *r, const struct jfr_thread *t, struct buffer *to);

struct jfr_frame {
	int64_t method; /* key; equal keys are equal methods within a chunk */
	struct jfr_value method_ref;
	int64_t frame_type; /* key of the pool of frame types */
	struct jfr_value type_ref;
	int32_t line, bci;
};

/* Start over the frames of a stack, leaf first; *truncated as recorded. False when missing. */
bool jfr_stack_get(struct jfr_reader *r, const struct jfr_value *ref, struct jfr_value *frames,
		   bool *truncated);
bool jfr_stack_next(struct jfr_reader *r, struct jfr_value *frames, struct jfr_frame *f);

/*
 * Append "java.lang.String.indexOf" (class dotted). False, and nothing, when missing. *hidden (may
 * be NULL): the JVM's own glue, such as lambda forms, which `jfr print` leaves out.
 */
bool jfr_method_name(struct jfr_reader *r, const struct jfr_value *ref, struct buffer *to,
		     bool *hidden);

#endif
