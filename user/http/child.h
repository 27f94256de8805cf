/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run of gnomon, for one client: what it prints is read as it comes, and it is killed when
 * nobody waits for it any more.
 */
#ifndef GNOMON_HTTP_CHILD_H
#define GNOMON_HTTP_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CHILD_CPU_S 120 /* of CPU time: then the kernel ends it */

struct child {
	pid_t pid; /* 0: none */
	int out, err;
};

/* 0 or a negative errno. `argv[0]` is a name; `program` is run. */
int child_start(struct child *c, const char *program, char *const *argv);

/*
 * Waits for it to print. 0: it does not any more; -EPIPE: the client on the socket `client` has
 * gone; -ETIMEDOUT: nothing came until `deadline_ns` (CLOCK_MONOTONIC).
 */
ssize_t child_read(struct child *c, int client, uint64_t deadline_ns, void *to, size_t cap);

/*
 * Waits for its end; `kills`: which it does not choose. Its exit code, or -1 if a signal ended it;
 * *words, which may be NULL, is what it said on stderr, with control characters replaced.
 */
int child_end(struct child *c, bool kills, char *words, size_t cap);

#endif
