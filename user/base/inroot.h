/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening what lies below another process's root directory, which that process has laid out: names,
 * kinds and links may be there to mislead. Nothing above the root is reached (openat2 with
 * RESOLVE_IN_ROOT and RESOLVE_NO_MAGICLINKS, Linux 5.6), and no FIFO or device is opened where a
 * file is wanted. A file system whose server hangs (FUSE, NFS) can still make any of this wait: for
 * files of targets see broker/broker.h.
 */
#ifndef GNOMON_BASE_INROOT_H
#define GNOMON_BASE_INROOT_H

#include <stddef.h>

/* As openat(), below `root`, an open directory: a descriptor (close-on-exec) or a negative errno.
 */
int inroot_open(int root, const char *path, int flags);

/* The same for regular files only: -EINVAL for anything else, which is not touched. */
int inroot_open_regular(int root, const char *path, int flags);

/*
 * Tells what a path of /proc/PID/maps is below the process's root, to which `root`, n bytes, is the
 * path: the kernel writes it as seen from the root of the mount namespace, so after a chroot() (but
 * not after pivot_root()) it has the root's own path in front, which is cut off. A part of `path`.
 */
const char *inroot_path(const char *root, size_t n, const char *path);

/* From a mere path (O_PATH) to a file that can be read, if it is a regular one. Closes `at`. */
int inroot_reopen_regular(int at, int flags);

#endif
