/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a JVM answers on its attach socket (version 1 of the protocol): foreign text, taken apart
 * by pure functions over bounded bytes, which need not end in NUL.
 */
#ifndef GNOMON_JVM_ATTACHREPLY_H
#define GNOMON_JVM_ATTACHREPLY_H

#include <stddef.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "base/error.h"

/*
 * "STATUS\nOUTPUT". 0: OUTPUT was added to `output` (may be NULL). -EPROTO: no such text.
 * -EREMOTEIO: the JVM of process `pid` says no; its first line is in e (may be NULL), cleaned.
 */
int attachreply_split(pid_t pid, const char *text, size_t len, struct buffer *output,
		      struct error *e);

/* The OUTPUT of "load": 0, or -EREMOTEIO with the JVM's first line where it did not load. */
int attachreply_loaded(pid_t pid, const char *text, size_t len, struct error *e);

#endif
