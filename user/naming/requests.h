/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which requests the threads of one target work for. The kernel tells the content of a context once
 * (gn_context_rec), samples have its id; in the file a gnomon.Context stands for a stretch of one
 * thread's samples that have the same one. They are written when no more samples of that time are
 * to be expected, since records of one thread come in any order; one that comes later all the same
 * has an event of its own, which begins later and so is the one that holds.
 */
#ifndef GNOMON_NAMING_REQUESTS_H
#define GNOMON_NAMING_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

#include "jfr/write.h"
#include "kern/abi_context.h"

struct publisher;
struct requests;

/* Samples of one thread, between the first and the last of which it has no others. */
struct request_note {
	uint64_t context; /* id; 0: it works for none */
	uint32_t thread;  /* id in the file */
	uint32_t samples;
	uint64_t first_ns, last_ns; /* CLOCK_MONOTONIC */
};

/* `p` says what the keys of attributes are called, and must outlive it. NULL: no memory. */
struct requests *requests_new(struct publisher *p);
void requests_free(struct requests *r);

/* Keeps the content of a context; those that were not met for longest are forgotten. */
void requests_add(struct requests *r, const struct gn_context_rec *rec);

bool requests_has(const struct requests *r, uint64_t context);

/* Writes what was noted before where there is no more room. */
void requests_note(struct requests *r, const struct request_note *note, struct jfrw *out);

/* Writes what was noted, and before ids of the file become others. */
void requests_write(struct requests *r, struct jfrw *out);

/* Ids of the file are others from now on. */
void requests_forget_ids(struct requests *r);

#endif
