/* SPDX-License-Identifier: Apache-2.0 */
#include "push/source.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/inroot.h"
#include "jfr/segment.h"

/* What follows the directory; NULL: it lies somewhere else. */
static const char *below(const char *dir, const char *path)
{
	size_t n = strlen(dir);

	if (strncmp(path, dir, n) != 0 || (path[n] != '/' && (!n || dir[n - 1] != '/')))
		return NULL;
	path += n;
	return path + strspn(path, "/");
}

bool source_is_ours(const char *dir, const char *path)
{
	const char *jvm = dir ? below(dir, path) : NULL, *slash;

	if (!dir)
		return path[0] != '\0';
	slash = jvm ? strchr(jvm, '/') : NULL;
	return slash && jvm[0] != '.' && segment_is(slash + 1);
}

static int below_open(const char *dir, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	int root = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC), fd;

	if (root < 0)
		return -errno;
	fd = (int)syscall(SYS_openat2, root, below(dir, path), &how, sizeof(how));
	fd = fd < 0 ? -errno : fd;
	close(root);
	return fd;
}

static int anywhere_open(const char *path)
{
	int fd = open(path, O_PATH | O_CLOEXEC | O_NOFOLLOW);

	return fd < 0 ? -errno : fd;
}

int source_open(const char *dir, const char *path)
{
	int at;

	if (!source_is_ours(dir, path))
		return -EACCES;
	at = dir ? below_open(dir, path) : anywhere_open(path);
	return at < 0 ? at : inroot_reopen_regular(at, O_RDONLY | O_NONBLOCK);
}
