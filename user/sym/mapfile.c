/* SPDX-License-Identifier: Apache-2.0 */
#include "sym/mapfile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/inroot.h"

/*
 * Whether fd is the mapped file. `exact`: the kernel itself led us to it, so inode numbers that
 * overlayfs gives differently need not agree.
 */
static bool same_file(int fd, const struct mapping *mp, bool exact)
{
	struct statfs fs;
	struct stat st;

	if (fstat(fd, &st))
		return false;
	if (st.st_ino == mp->inode && st.st_dev == makedev(mp->major, mp->minor))
		return true;
	if (fstatfs(fd, &fs))
		return false;
	switch (fs.f_type) {
	case OVERLAYFS_SUPER_MAGIC:
		return exact || st.st_ino == mp->inode;
	case BTRFS_SUPER_MAGIC:
		return st.st_ino == mp->inode;
	default:
		return false;
	}
}

static int checked(int fd, const struct mapping *mp, bool exact)
{
	if (fd < 0 || same_file(fd, mp, exact))
		return fd;
	close(fd);
	return -ESTALE;
}

const char *mapfile_path_in_root(int proc_fd, const char *path)
{
	char root[PATH_MAX];
	ssize_t n = readlinkat(proc_fd, "root", root, sizeof(root));

	if (n > 1 && n < (ssize_t)sizeof(root) && !strncmp(path, root, n) && path[n] == '/')
		return path + n;
	return path;
}

int mapfile_open(int proc_fd, const struct mapping *mp, const char *path)
{
	char name[64];
	int fd, root;

	if (!mapping_is_file(mp))
		return -ENOENT;
	snprintf(name, sizeof(name), "map_files/%" PRIx64 "-%" PRIx64, mp->start, mp->end);
	fd = openat(proc_fd, name, O_PATH | O_CLOEXEC);
	fd = checked(fd < 0 ? -errno : fd, mp, true);
	if (fd < 0) {
		root = openat(proc_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (root < 0)
			return -errno;
		fd = checked(inroot_open(root, mapfile_path_in_root(proc_fd, path), O_PATH), mp,
			     false);
		close(root);
	}
	return fd < 0 ? fd : inroot_reopen_regular(fd, O_RDONLY);
}

int mapfile_read_memory(int proc_fd, const struct mapping *mp, size_t max, void **bytes,
			size_t *len)
{
	size_t want = mp->end - mp->start < max ? mp->end - mp->start : max;
	int fd = openat(proc_fd, "mem", O_RDONLY | O_CLOEXEC);
	ssize_t n;
	void *p;

	if (fd < 0)
		return -errno;
	p = malloc(want);
	n = p ? pread(fd, p, want, mp->start) : -1;
	if (n <= 0) {
		int rc = !p ? -ENOMEM : n < 0 ? -errno : -ENODATA;

		free(p);
		close(fd);
		return rc;
	}
	close(fd);
	*bytes = p;
	*len = n;
	return 0;
}
