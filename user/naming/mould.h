/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process of which those that name are made, as copies. It has given up what they need not have
 * (naming/confine.h), takes nothing but what it is asked for here, and reads nothing of a target;
 * and it has nothing of the session's but the memory of when it was made, stderr, what it was told
 * to keep, and the broker's descriptors. So one can be made at any time, when the session's own
 * process cannot make processes any more, and none has anything of another one. A copy is the
 * session's child, not the mould's, and ends with it.
 */
#ifndef GNOMON_NAMING_MOULD_H
#define GNOMON_NAMING_MOULD_H

#include <stddef.h>
#include <stdint.h>

struct cell;
struct mould;

#define MOULD_FDS 7

/* What a copy does, with descriptors that are its own. */
typedef void (*mould_main_fn)(void *arg, const int fds[MOULD_FDS]);

/* While there is one thread. `keep` is kept if it is any (> 0). 0 or -errno. */
int mould_start(struct mould **out, mould_main_fn main, void *arg, int keep);
void mould_stop(struct mould *m); /* copies live on. NULL is fine */

/* 0; or -errno, as when it could not give up what it has to: then there is no copy. */
int mould_copy(struct mould *m, const int fds[MOULD_FDS], struct cell **out);

/* Its own CPU time, and bytes resident that are not anybody else's. */
uint64_t mould_cpu_ns(const struct mould *m);
uint64_t mould_memory(const struct mould *m);

#endif
