/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a JFR file readable whose writer was killed, or that was cut or damaged: each chunk is
 * kept up to its last whole checkpoint (what follows has no names), the first one that cannot be
 * kept ends the file. Chunks that are in order are not touched.
 */
#ifndef GNOMON_JFR_REPAIR_H
#define GNOMON_JFR_REPAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Where the bytes are: a file, or memory in tests. Returns the bytes read, less than n at the end.
 */
struct jfr_bytes {
	size_t (*read)(void *ctx, uint64_t at, void *buf, size_t n);
	void *ctx;
	uint64_t size;
};

enum jfr_chunk_health {
	JFR_CHUNK_GOOD,	  /* as it should be */
	JFR_CHUNK_MENDED, /* readable with the header below */
	JFR_CHUNK_LOST,	  /* no header, metadata or checkpoint */
};

struct jfr_chunk_check {
	enum jfr_chunk_health health;
	uint64_t size; /* bytes of the chunk that are kept */
	uint8_t header[68];
};

/*
 * Judge the chunk at `at`. Time is linear in the chunk's events, memory constant. Events are only
 * stepped over, their fields are not looked at.
 */
void jfr_chunk_check(const struct jfr_bytes *s, uint64_t at, struct jfr_chunk_check *out);

struct jfr_repair {
	uint32_t chunks; /* kept */
	uint32_t mended; /* of them: those that were changed */
	uint64_t bytes_kept;
	uint64_t bytes_cut; /* from the end */
};

/*
 * Repair in place. Nothing is written to a file that is in order (mended and bytes_cut are 0) or
 * that holds nothing to keep (EXIT_INPUT). Errors of writing are EXIT_OUTPUT.
 */
int jfr_repair(const char *path, struct jfr_repair *out, struct error *e);

/*
 * Of a file that one of our writers left behind, all of whose chunks but the last are in order: the
 * last alone is looked into, and what cannot be kept is cut off. *end: how large it is then, 0 if
 * nothing is left. 0 or -errno.
 */
int jfr_repair_last(int fd, uint64_t *end);

#endif
