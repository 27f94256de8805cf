/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Series into a spool, as some protocol has them: what is too large for one payload is halved until
 * it is not.
 */
#ifndef GNOMON_PUSH_PARTS_H
#define GNOMON_PUSH_PARTS_H

#include "push/labels.h"
#include "push/series.h"
#include "spool/spool.h"

struct parts;

struct protocol {
	const char *path, *type, *encoding; /* as in struct payload */
	const char *names[DIMS];	    /* what each kind is called there; NULL: it has none */
	size_t bytes, samples;		    /* most of one payload, before compression */
	enum series_apart apart;	    /* how far threads are told apart */
	bool ticks;			    /* series have to have these */
	bool files;			    /* the profile has to have these (keep_files) */
	/* Appends what is held against `bytes`. 0 or -errno. */
	int (*encode)(const struct parts *u, const struct series *s, struct buffer *raw);
	/* Appends what is sent, made of that. */
	int (*pack)(const struct parts *u, const struct series *s, const struct buffer *raw,
		    struct buffer *body);
};

struct parts {
	const struct protocol *protocol;
	const struct profile *p;
	const struct labels *labels; /* service_name among them */
	struct spool *to;
	/* counted here */
	uint64_t payloads, samples, bytes;
	uint64_t too_large; /* samples that alone are more than a payload may be */
};

/* A series_fn; ctx is a struct parts. */
int parts_take(void *ctx, const struct series *s);

/* Without samples, to hear what the server says. 0 or -errno. */
int parts_probe(struct parts *u);

/* For protocols: gzipped. 0 or -ENOMEM. */
int parts_gzip(const struct buffer *raw, struct buffer *to);

#endif
