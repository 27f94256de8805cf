/* SPDX-License-Identifier: Apache-2.0 */
/* Files as they are told apart. */
#ifndef GNOMON_BROKER_FILE_H
#define GNOMON_BROKER_FILE_H

#include <stdint.h>

/* Which file it is, also where the descriptor is one of a copy. */
struct broker_file {
	uint64_t dev, ino, size; /* dev as st_dev */
	uint64_t mtime_ns, ctime_ns;
	uint32_t uid;
	uint32_t copied; /* the descriptor is of a copy */
};

/* Tells which file an open one is; -EINVAL: no regular file. */
int broker_identify(int fd, struct broker_file *file);

/* An executable or other mapping of a file, as /proc/PID/maps has it. */
struct broker_mapping {
	uint64_t start, end, inode;
	uint32_t major, minor;
};

#endif
