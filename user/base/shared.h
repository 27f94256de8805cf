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

/*
 * Memory that processes write which are made between these two, and that this one, and who is made
 * of it later, only reads. The first: as shared_new(). The second closes the descriptor, and maps
 * the memory anew at *at; 0, or -errno, and then it is gone.
 */
int shared_begin(const char *name, size_t bytes, void **at);
int shared_end(int fd, size_t bytes, void **at);

#endif
