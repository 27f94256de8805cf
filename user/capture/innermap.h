/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps within maps. After each update of an outer map the kernel waits until no program can hold
 * what was there before: some 15 ms for one, and as much for a hundred at once.
 */
#ifndef GNOMON_CAPTURE_INNERMAP_H
#define GNOMON_CAPTURE_INNERMAP_H

#include <stdint.h>

/* A new array of `n` values as an inner map: its descriptor, or -errno. `flags` as its creation's.
 */
int innermap_array(const void *values, uint32_t value_size, uint32_t n, uint32_t flags);

/*
 * Put map fds[i] in place of what `outer` has under keys[i], in one step where the kernel has
 * FEATURE_INNER_BATCH, else one by one. 0 or -errno: some may be in place.
 */
int innermap_put(int outer, const uint32_t *keys, const int *fds, uint32_t n);

/* Inner maps that wait to be put in place together. They are closed then. */
#define INNERMAP_WAITING_MAX 64

struct innermap_waiting {
	int outer;
	uint32_t n;
	uint32_t keys[INNERMAP_WAITING_MAX];
	int fds[INNERMAP_WAITING_MAX];
};

/* Takes `fd`, also when it fails: 0, or -errno of putting those before it in place, for want of
 * room. */
int innermap_wait(struct innermap_waiting *w, uint32_t key, int fd);
/* What waits for this key is not put in place any more. */
void innermap_forget(struct innermap_waiting *w, uint32_t key);
/* Put all in place. What could not be put waits on. 0 or -errno. */
int innermap_flush(struct innermap_waiting *w);
/* Close what waits. */
void innermap_drop(struct innermap_waiting *w);

#endif
