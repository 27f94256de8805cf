/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C library's heap, so that what a recorder holds is what it uses. Its defaults are made for
 * speed: with the first large block that is freed it begins to keep such blocks, each thread has
 * a heap of its own, and what is free in the middle of a heap stays.
 */
#ifndef GNOMON_BASE_MEMORY_H
#define GNOMON_BASE_MEMORY_H

/* Once, before there are threads. */
void memory_configure(void);

/* Give what is free back to the system. Takes some milliseconds. */
void memory_give_back(void);

#endif
