/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/inroot.h"

/* ---- who it is ---- */

static void groups_parse(const char *at, struct reader *r)
{
	char *end;

	while (r->ngroups < READER_GROUPS) {
		unsigned long group = strtoul(at, &end, 10);

		if (end == at)
			return;
		r->groups[r->ngroups++] = (gid_t)group;
		at = end + strspn(end, " \t");
		if (*at == '\n')
			return;
	}
}

/*
 * The effective user, as which it opens files. A program that somebody else's rights come with
 * (set-user-ID) is not his who runs it: what its owner may read is not for who began it.
 */
bool reader_parse(const char *status, struct reader *r)
{
	const char *user = strstr(status, "\nUid:"), *group = strstr(status, "\nGid:");
	const char *groups = strstr(status, "\nGroups:");
	unsigned int uid[3], gid[3];

	*r = (struct reader){.nobody = true};
	if (!user || !group || sscanf(user, "\nUid: %u %u %u", &uid[0], &uid[1], &uid[2]) != 3 ||
	    sscanf(group, "\nGid: %u %u %u", &gid[0], &gid[1], &gid[2]) != 3)
		return false;
	if (uid[0] != uid[1] || uid[1] != uid[2] || gid[0] != gid[1] || gid[1] != gid[2])
		return true;
	r->nobody = false;
	r->uid = uid[1];
	r->groups[r->ngroups++] = gid[1];
	if (groups)
		groups_parse(groups + strlen("\nGroups:") + strspn(groups + 8, " \t"), r);
	return true;
}

static bool is_in(const struct reader *r, gid_t group)
{
	for (size_t i = 0; i < r->ngroups; i++)
		if (r->groups[i] == group)
			return true;
	return false;
}

/* What is its own it can make readable. */
bool reader_may(const struct reader *r, const struct stat *st, unsigned int what)
{
	if (!r->nobody && st->st_uid == r->uid)
		return true;
	if (!r->nobody && is_in(r, st->st_gid))
		return st->st_mode >> 3 & what;
	return st->st_mode & what;
}

/* ---- the way ---- */

/* As seen from this process's root, or from that of the namespace it lies in. */
static int path_of(int fd, char path[PATH_MAX])
{
	char link[32];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, PATH_MAX - 1);
	if (n < 0)
		return -errno;
	if (n == PATH_MAX - 1 || *path != '/')
		return -ESTALE;
	path[n] = '\0';
	return (int)n;
}

/* Whether it may go on from there, or read it at the end: 0 or -errno. */
static int place_check(const struct reader *r, int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	return reader_may(r, &st, S_ISDIR(st.st_mode) ? X_OK : R_OK) ? 0 : -EACCES;
}

/* Closes `dir`. The name is of one place there, and no link that is found there is followed. */
static int step(const struct reader *r, int dir, const char *name)
{
	int rc = place_check(r, dir), fd;

	fd = rc ? rc : openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (!rc && fd < 0)
		fd = -errno;
	close(dir);
	return fd;
}

/* Cuts `path` up. */
static int walk(const struct reader *r, int root, char *path)
{
	int at = fcntl(root, F_DUPFD_CLOEXEC, 0), rc;
	char *rest = NULL;

	if (at < 0)
		return -errno;
	for (char *name = strtok_r(path, "/", &rest); name && at >= 0;
	     name = strtok_r(NULL, "/", &rest))
		at = step(r, at, name);
	rc = at < 0 ? at : place_check(r, at);
	if (rc && at >= 0)
		close(at);
	return rc ? rc : at;
}

/*
 * The path has no link in it, and what it says is not believed: whatever it leads to, the process
 * may go there.
 */
int reader_reach(const struct reader *r, int root, int at)
{
	char top[PATH_MAX], path[PATH_MAX];
	int n = path_of(root, top), rc = n < 0 ? n : path_of(at, path);

	close(at);
	if (rc < 0)
		return rc;
	if (!strcmp(path, top))
		path[0] = '\0';
	return walk(r, root, (char *)inroot_path(top, (size_t)n, path));
}
