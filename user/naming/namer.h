/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The namer takes records from the queue, each to its target, names stacks as soon as they come
 * (code may be gone later), and writes JFR, one file per target process. One thread, one queue and
 * one set of symbols serve all targets. naming/recorder.h runs it, on a thread or as a process.
 */
#ifndef GNOMON_NAMING_NAMER_H
#define GNOMON_NAMING_NAMER_H

#include "naming/env.h"

struct namer;
struct queue;
struct unwinder;

struct namer_config {
	struct target_config target;
	struct queue *queue; /* the consumer's end */
	struct board *board;
	int replies, gifts;		 /* our ends (naming/reply.h) */
	const struct unwinder *unwinder; /* for REC_TABLES */
};

int namer_new(struct namer **out, const struct namer_config *cfg, struct error *e);

/* Adds a target and takes over its file's descriptor. On an error the file stays, too. */
struct target_file;
int namer_target(struct namer *r, pid_t tgid, uint32_t serial, const struct target_file *f,
		 struct error *e);

/* Makes the unwinder's tables for the targets, and keeps them up to date. It must outlive us. */
int namer_tables(struct namer *r, const struct unwinder *u, struct error *e);

/* The recording begins at `now` (CLOCK_MONOTONIC). */
void namer_start(struct namer *r, uint64_t now);

/* Takes records until the queue has ended, finishes all files, and says so. */
void namer_main(struct namer *r);

/* With `keep` the files that are not finished stay. */
void namer_free(struct namer *r, bool keep);

#endif
