/* SPDX-License-Identifier: Apache-2.0 */
#include "base/tasks.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static int tid_order(const void *a, const void *b)
{
	const pid_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The directory has numbers, "." and "..". */
static int tids_collect(DIR *d, pid_t **tids, size_t *n)
{
	struct dirent *e;
	size_t cap = 0;

	while ((e = readdir(d))) {
		pid_t tid = atoi(e->d_name);

		if (tid <= 0)
			continue;
		if (*n == cap) {
			pid_t *p;

			cap = cap ? cap * 2 : 64;
			p = realloc(*tids, cap * sizeof(*p));
			if (!p)
				return -ENOMEM;
			*tids = p;
		}
		(*tids)[(*n)++] = tid;
	}
	return *n ? 0 : -ESRCH;
}

int tasks_read(pid_t pid, pid_t **tids, size_t *n)
{
	char path[64];
	DIR *d;
	int rc;

	*tids = NULL;
	*n = 0;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	d = opendir(path);
	if (!d)
		return errno == ENOENT ? -ESRCH : -errno;
	rc = tids_collect(d, tids, n);
	closedir(d);
	if (rc) {
		free(*tids);
		*tids = NULL;
		*n = 0;
		return rc;
	}
	qsort(*tids, *n, sizeof(**tids), tid_order);
	return 0;
}

size_t tasks_count(pid_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	/* "." and ".." and one for each: proc_task_getattr(), fs/proc/base.c */
	return !stat(path, &st) && st.st_nlink > 2 ? st.st_nlink - 2 : 0;
}
