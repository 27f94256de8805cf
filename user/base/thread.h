/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that takes no signals: those of the process are for whoever made it. */
#ifndef GNOMON_BASE_THREAD_H
#define GNOMON_BASE_THREAD_H

#include <pthread.h>
#include <stddef.h>

/* With a stack of so many bytes, 0: as many as usual. 0 or -errno. */
int thread_start(pthread_t *out, size_t stack, void *(*run)(void *arg), void *arg);

#endif
