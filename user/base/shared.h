/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that is handed to another process by its descriptor. Its size is sealed: who has it may
 * write anything into it, and take nothing of it away.
 */
#ifndef GNOMON_BASE_SHARED_H
#define GNOMON_BASE_SHARED_H

#include <stddef.h>

/* Zeros. Its descriptor, close-on-exec, and where it is mapped here; or -errno. */
int shared_new(const char *name, size_t bytes, void **at);

/* The same memory by its descriptor, which stays the caller's; NULL and errno. */
void *shared_map(int fd, size_t bytes);

#endif
