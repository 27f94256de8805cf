/* SPDX-License-Identifier: Apache-2.0 */
#include "base/inroot.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * A path that the process keeps renaming makes openat2 give up with EAGAIN: the process could keep
 * us here for ever, so only a few attempts are made.
 */
#define TRIES 8

int inroot_open(int root, const char *path, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)(flags | O_CLOEXEC),
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int fd = -1;

	for (int i = 0; i < TRIES; i++) {
		fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	return fd < 0 ? -errno : fd;
}

const char *inroot_path(const char *root, size_t n, const char *path)
{
	return n > 1 && !strncmp(path, root, n) && path[n] == '/' ? path + n : path;
}

int inroot_reopen_regular(int at, int flags)
{
	char self[64];
	struct stat st;
	int fd;

	if (fstat(at, &st) || !S_ISREG(st.st_mode)) {
		close(at);
		return -EINVAL;
	}
	snprintf(self, sizeof(self), "/proc/self/fd/%d", at);
	fd = open(self, flags | O_CLOEXEC);
	fd = fd < 0 ? -errno : fd;
	close(at);
	return fd;
}

int inroot_open_regular(int root, const char *path, int flags)
{
	int at = inroot_open(root, path, O_PATH);

	return at < 0 ? at : inroot_reopen_regular(at, flags);
}
