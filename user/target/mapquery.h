/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One mapping of a process, asked of the kernel without the text of them all: PROCMAP_QUERY (Linux
 * 6.11, fs/proc/task_mmu.c).
 */
#ifndef GNOMON_TARGET_MAPQUERY_H
#define GNOMON_TARGET_MAPQUERY_H

#include <stdint.h>
#include <sys/ioctl.h>

#include "target/maps.h"

#define MAPQUERY_IOCTL _IOC(_IOC_READ | _IOC_WRITE, 'f', 17, 104) /* how it is asked */

enum mapquery {
	MAPQUERY_AT,	    /* the one that holds addr */
	MAPQUERY_NEXT_FILE, /* the first that ends behind addr and is of a file */
	MAPQUERY_NEXT_CODE  /* likewise, and executable */
};

/*
 * maps_fd is an open /proc/PID/maps. No path, no prot. 0, -ENOENT: there is none, -ENOTTY or
 * -EINVAL: the kernel does not know the question, or another -errno.
 */
int mapquery(int maps_fd, enum mapquery what, uint64_t addr, struct mapping *out);

/* The same with its path (maps_path()) in `path` of `cap` bytes: "" too where it does not fit. */
int mapquery_named(int maps_fd, enum mapquery what, uint64_t addr, struct mapping *out, char *path,
		   uint32_t cap);

#endif
