/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens the files that another process has mapped: only regular ones, and the right ones.
 */
#ifndef GNOMON_SYM_MAPFILE_H
#define GNOMON_SYM_MAPFILE_H

#include <stddef.h>
#include <stdint.h>

#include "broker/broker.h"
#include "target/maps.h"

/*
 * Open the file of a mapping of process `pid`, of which proc_fd is the open /proc/PID: as
 * broker_mapped(), also what `file` gets.
 */
int mapfile_open(pid_t pid, int proc_fd, const struct mapping *mp, const char *path,
		 struct broker_file *file);

/* Tells what a path of /proc/PID/maps is below the root directory of the process: inroot_path(). */
const char *mapfile_path_in_root(int proc_fd, const char *path);

/*
 * Read a small mapping (the vDSO) from the memory of the process, as far as it is readable, at
 * most max bytes. *bytes is malloc'ed. Returns 0 or a negative errno.
 */
int mapfile_read_memory(int proc_fd, const struct mapping *mp, size_t max, void **bytes,
			size_t *len);

#endif
