/* SPDX-License-Identifier: Apache-2.0 */
#include "base/inherit.h"

#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

static int fd_order(const void *a, const void *b)
{
	const int *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

void inherit_only(int *fds, size_t n)
{
	unsigned int from = STDERR_FILENO + 1;

	qsort(fds, n, sizeof(*fds), fd_order);
	for (size_t i = 0; i < n; i++) {
		if (fds[i] < (int)from)
			continue;
		if ((unsigned int)fds[i] > from)
			close_range(from, (unsigned int)fds[i] - 1, 0);
		from = (unsigned int)fds[i] + 1;
	}
	close_range(from, UINT_MAX, 0);
}

void inherit_begin(const char *name, int *fds, size_t n)
{
	sigset_t all;

	inherit_only(fds, n);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setsid();
	prctl(PR_SET_NAME, name);
}
