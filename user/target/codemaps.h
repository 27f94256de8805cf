/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Has a process mapped other code? Another library may come to where one was that it has closed,
 * and then no address is unknown and none is what it was. A digest of the executable mappings of
 * files tells, without a look at the others.
 */
#ifndef GNOMON_TARGET_CODEMAPS_H
#define GNOMON_TARGET_CODEMAPS_H

#include <stdint.h>

struct maps;

/*
 * *digest: of where they are, and of which files (device, inode, offset); 0 is none. proc_fd is an
 * open directory /proc/PID, of which `maps` keeps the file open; what `maps` has of it stays. By
 * PROCMAP_QUERY (Linux 6.11, fs/proc/task_mmu.c), some microseconds a mapping of code; before that
 * from the text of all mappings, which is the same digest. 0, -ESRCH when the process is gone or
 * has no memory, or another -errno.
 */
int codemaps_digest(struct maps *maps, int proc_fd, uint64_t *digest);

/* By the text alone. */
int codemaps_digest_text(struct maps *maps, int proc_fd, uint64_t *digest);

#endif
