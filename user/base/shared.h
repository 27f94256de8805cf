/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that is handed to another process by its descriptor. Its size is sealed: who has it may
 * write anything into it, and take nothing of it away.
 */
#ifndef GNOMON_BASE_SHARED_H
#define GNOMON_BASE_SHARED_H

#include <stddef.h>

/*
 * Makes such memory, of zeros, and maps it at *at. Returns its descriptor, which is close-on-exec,
 * or -errno.
 */
int shared_new(const char *name, size_t bytes, void **at);

/* Maps the memory of a descriptor, which stays the caller's. NULL and errno on an error. */
void *shared_map(int fd, size_t bytes);

/*
 * Memory that processes forked between these two calls write. This process, and those that it forks
 * later, only read it. shared_begin() does what shared_new() does. shared_end() closes the
 * descriptor, and maps the memory anew at *at, to be read. 0, or -errno; the memory is gone then.
 */
int shared_begin(const char *name, size_t bytes, void **at);
int shared_end(int fd, size_t bytes, void **at);

#endif
