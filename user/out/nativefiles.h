/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files in which native frames lie, as gnomon.NativeFile tells: which build of a library it was
 * that a frame "libjvm.so.os::elapsed_counter" or "libjvm.so+0x1230" is of.
 */
#ifndef GNOMON_OUT_NATIVEFILES_H
#define GNOMON_OUT_NATIVEFILES_H

#include <stdbool.h>
#include <stdint.h>

#include "jfr/read.h"
#include "out/names.h"

#define FILES_MOST 4096 /* what is beyond is not known */

struct native_file {
	uint32_t name, id;	     /* of `names`; the id hexadecimal, of whole bytes, or "" */
	uint64_t start, end, offset; /* the lowest of its mappings */
	bool doubtful; /* files of different builds have that name: none of them is known */
};

struct native_files {
	struct names names;
	struct native_file *v;
	uint32_t n, cap;
};

/* An event gnomon.NativeFile. 0 or -ENOMEM. */
int native_files_event(struct native_files *f, struct jfr_reader *r, const struct jfr_event *ev);

/* The file of a frame that is called so; NULL: it is not known, or has no build id. */
const struct native_file *native_files_of(const struct native_files *f, const char *frame);

void native_files_free(struct native_files *f);

#endif
