/* SPDX-License-Identifier: Apache-2.0 */
#include "run/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static int in_use(const struct place *p, int fd, struct error *e)
{
	char pid[16] = "";
	ssize_t n = pread(fd, pid, sizeof(pid) - 1, 0);

	pid[n > 0 ? strspn(pid, "0123456789") : 0] = '\0';
	error_set(e, -EBUSY, EXIT_OUTPUT, "another gnomon daemon, process %s, records into '%s'",
		  pid[0] ? pid : "?", p->dir);
	return error_hint(e, "stop it, or have this one record into another 'directory'");
}

static int lock_take(struct place *p, struct error *e)
{
	char path[4096], pid[16];
	int fd, n;

	if (snprintf(path, sizeof(path), "%s/.lock", p->dir) >= (int)sizeof(path))
		return error_set(e, -ENAMETOOLONG, EXIT_OUTPUT,
				 "the name of '%.100s...' is too long", p->dir);
	fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return error_create(e, path, errno);
	if (flock(fd, LOCK_EX | LOCK_NB)) {
		in_use(p, fd, e);
		close(fd);
		return -EBUSY;
	}
	n = snprintf(pid, sizeof(pid), "%d\n", getpid());
	if (ftruncate(fd, 0) || pwrite(fd, pid, (size_t)n, 0) != n) {
		/* a full disk: then others are not told who it is */
	}
	place_leave(p);
	p->lock = fd;
	return 0;
}

/* Whether the lock file is still there: then all is as it was. */
static bool still_there(const struct place *p)
{
	struct stat st;

	return p->lock >= 0 && !fstat(p->lock, &st) && st.st_nlink;
}

/* What is made in it belongs to the group then. */
static int group_set(const struct place *p, struct error *e)
{
	struct stat st;

	if (p->gid == (uint32_t)-1)
		return 0;
	if (stat(p->dir, &st) || (st.st_gid != p->gid && chown(p->dir, (uid_t)-1, p->gid)) ||
	    chmod(p->dir, S_ISGID | 0050 | (st.st_mode & 0777)))
		return error_set(e, -errno, EXIT_OUTPUT, "cannot give '%s' to the group %u: %s",
				 p->dir, p->gid, strerror(errno));
	return 0;
}

int place_take(struct place *p, struct error *e)
{
	int rc;

	if (still_there(p))
		return 0;
	if (mkdir(p->dir, 0700) && errno != EEXIST)
		return error_create(e, p->dir, errno);
	rc = lock_take(p, e);
	return rc ? rc : group_set(p, e);
}

void place_leave(struct place *p)
{
	if (p->lock >= 0)
		close(p->lock);
	p->lock = -1;
}
