/* SPDX-License-Identifier: Apache-2.0 */
#include "sym/mapfile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Turn an O_PATH descriptor into one for reading, if it is a regular file. Closes path_fd. */
static int reopen_regular(int path_fd)
{
	char link[64];
	struct stat st;
	int fd;

	if (fstat(path_fd, &st))
		fd = -errno;
	else if (!S_ISREG(st.st_mode))
		fd = -ENOEXEC;
	else {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", path_fd);
		fd = open(link, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		if (fd < 0)
			fd = -errno;
	}
	close(path_fd);
	return fd;
}

static int path_open(int root_fd, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	long fd = syscall(SYS_openat2, root_fd, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

int regular_open(int root_fd, const char *path)
{
	int fd = path_open(root_fd, path);

	return fd < 0 ? fd : reopen_regular(fd);
}

/* `exact`: the kernel led us to the file, so only numbers that can be compared are. */
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
		fd = checked(path_open(root, mapfile_path_in_root(proc_fd, path)), mp, false);
		close(root);
	}
	return fd < 0 ? fd : reopen_regular(fd);
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
