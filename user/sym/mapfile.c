/* SPDX-License-Identifier: Apache-2.0 */
#include "sym/mapfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/inroot.h"
#include "target/procfs.h"

const char *mapfile_path_in_root(int proc_fd, const char *path)
{
	char root[PATH_MAX];
	ssize_t n = proc_at_link(proc_fd, "root", root, sizeof(root));

	return n > 0 && n < (ssize_t)sizeof(root) - 1 ? inroot_path(root, (size_t)n, path) : path;
}

int mapfile_open(pid_t pid, int proc_fd, const struct mapping *mp, const char *path,
		 struct broker_file *file)
{
	const struct broker_mapping m = {
		.start = mp->start,
		.end = mp->end,
		.inode = mp->inode,
		.major = mp->major,
		.minor = mp->minor,
	};

	if (!mapping_is_file(mp))
		return -ENOENT;
	return broker_mapped(pid, proc_fd, &m, path, file);
}

int mapfile_read_memory(int proc_fd, const struct mapping *mp, size_t max, void **bytes,
			size_t *len)
{
	size_t want = mp->end - mp->start < max ? mp->end - mp->start : max;
	int fd = proc_at_open(proc_fd, "mem", O_RDONLY);
	ssize_t n;
	void *p;

	if (fd < 0)
		return fd;
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
