/* SPDX-License-Identifier: Apache-2.0 */
#include "jfr/segment.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define AGAIN_MAX 1000

void segment_name(uint64_t unix_ns, unsigned int again, char name[SEGMENT_NAME_LEN])
{
	time_t t = (time_t)(unix_ns / 1000000000u);
	char time[24] = "";
	struct tm tm;

	if (gmtime_r(&t, &tm))
		strftime(time, sizeof(time), "%Y%m%dT%H%M%SZ", &tm);
	if (again)
		snprintf(name, SEGMENT_NAME_LEN, "%s_%u.jfr", time, again + 1);
	else
		snprintf(name, SEGMENT_NAME_LEN, "%s.jfr", time);
}

/* Of a pattern: '0' stands for any digit. */
static bool like(const char *s, const char *pattern, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (pattern[i] == '0' ? !isdigit((unsigned char)s[i]) : s[i] != pattern[i])
			return false;
	return true;
}

bool segment_is(const char *name)
{
	static const char form[] = "00000000T000000Z";
	size_t n = strlen(name), i = sizeof(form) - 1;

	if (n < i || n >= SEGMENT_NAME_LEN || !like(name, form, i))
		return false;
	if (name[i] == '_' && isdigit((unsigned char)name[i + 1]))
		for (i++; isdigit((unsigned char)name[i]); i++)
			;
	return !strcmp(name + i, ".jfr");
}

/* One made in a directory of a group is that group's, too. */
static int directory_make(const char *dir)
{
	struct stat st;

	if (mkdir(dir, 0700))
		return errno == EEXIST ? 0 : -errno;
	if (!stat(dir, &st) && st.st_mode & S_ISGID && chmod(dir, S_ISGID | 0750))
		return -errno;
	return 0;
}

static void group_let(const char *dir, int fd)
{
	struct stat st;

	if (!stat(dir, &st) && st.st_mode & S_ISGID && fchmod(fd, 0640)) {
		/* then only the owner reads it */
	}
}

/* In a directory that somebody may remove at any time: it is made again. */
static int create_in(const char *dir, const char *path)
{
	int fd = -ENOENT, rc;

	for (int tries = 0; tries < 3 && fd == -ENOENT; tries++) {
		rc = directory_make(dir);
		if (rc)
			return rc;
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd < 0)
			fd = -errno;
		else
			group_let(dir, fd);
	}
	return fd;
}

int segment_create(const char *dir, uint64_t unix_ns, char **path)
{
	char name[SEGMENT_NAME_LEN];
	int fd = -EEXIST;

	for (unsigned int again = 0; again < AGAIN_MAX && fd == -EEXIST; again++) {
		segment_name(unix_ns, again, name);
		if (asprintf(path, "%s/%s", dir, name) < 0)
			return -ENOMEM;
		fd = create_in(dir, *path);
		if (fd < 0)
			free(*path);
	}
	return fd;
}
