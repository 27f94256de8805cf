/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens the files that another process has mapped: only regular ones, and the right ones
 * (base/inroot.h). May wait for a file system of the process's own: call from the naming thread.
 */
#ifndef GNOMON_SYM_MAPFILE_H
#define GNOMON_SYM_MAPFILE_H

#include <stddef.h>
#include <stdint.h>

#include "target/maps.h"

/*
 * Open the file of a mapping. proc_fd is an open /proc/PID. First through map_files/START-END,
 * which is the very file even when it was deleted or replaced (needs CAP_CHECKPOINT_RESTORE or
 * CAP_SYS_ADMIN), else through the root directory and the path. Device and inode must be those of
 * the mapping, -ESTALE otherwise; since the numbers of maps and of fstat() differ on overlayfs and
 * btrfs, the inode suffices there, and on overlayfs nothing is asked of map_files.
 */
int mapfile_open(int proc_fd, const struct mapping *mp, const char *path);

/*
 * What a path of /proc/PID/maps is below the root directory of the process: the kernel writes it as
 * seen from the root of the mount namespace, so after a chroot() (but not after pivot_root()) it
 * has the root's own path in front, which is cut off. Returns a part of `path`.
 */
const char *mapfile_path_in_root(int proc_fd, const char *path);

/*
 * Read a small mapping (the vDSO) from the memory of the process, as far as it is readable, at
 * most max bytes. *bytes is malloc'ed. Returns 0 or a negative errno.
 */
int mapfile_read_memory(int proc_fd, const struct mapping *mp, size_t max, void **bytes,
			size_t *len);

#endif
